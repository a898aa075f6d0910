#!/bin/sh
# Runs the steps of the Dockerfile without a container engine, in a temporary folder, or in FOLDER,
# which is kept: check.sh [FOLDER]. Then it starts JupyterLab, waits until it is healthy, and asks
# it for the kernel. It takes some minutes, and fetches JupyterLab and XLA's plugin.
set -eu
temporary= lab=
finish() {
	if [ -n "$lab" ]; then
		kill "$lab" 2>/dev/null || true
		wait "$lab" || true
	fi
	if [ -n "$temporary" ]; then rm -rf "$temporary"; fi
}
# dash runs no trap of EXIT when a signal ends it.
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
source=$(cd "$(dirname "$0")/.." && pwd -P)
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	IMAGE_ROOT=$(cd "$1" && pwd -P)
else
	temporary=$(mktemp -d)
	IMAGE_ROOT=$temporary
fi
export IMAGE_ROOT
export NOTEBOOKS="$IMAGE_ROOT/notebooks" JUPYTER_DATA_DIR="$IMAGE_ROOT/data" LISTEN=127.0.0.1
export JUPYTER_CONFIG_DIR="$IMAGE_ROOT/config" JUPYTER_RUNTIME_DIR="$IMAGE_ROOT/runtime"
for step in tools jupyter plugins command kernel; do
	echo "check.sh: $step.sh"
	"$source/docker/$step.sh"
done
"$source/docker/run.sh" headwater doctor --quick
. "$source/docker/env.sh"
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT
root_flag=
if [ "$(id -u)" = 0 ]; then root_flag=--allow-root; fi
"$source/docker/lab.sh" --IdentityProvider.token=check $root_flag >"$IMAGE_ROOT/lab.log" 2>&1 &
lab=$!
tries=0
until "$source/docker/health.sh" 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 60 ] || ! kill -0 "$lab" 2>/dev/null; then
		cat "$IMAGE_ROOT/lab.log" >&2
		echo "check.sh: JupyterLab does not answer" >&2
		exit 1
	fi
	sleep 1
done
kernels=$(python -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' "http://127.0.0.1:$PORT/api/kernelspecs?token=check")
case "$kernels" in
*'"Go (Headwater)"'*) echo "check.sh: JupyterLab has the kernel" ;;
*)
	echo "check.sh: JupyterLab has no kernel Go (Headwater): $kernels" >&2
	exit 1
	;;
esac

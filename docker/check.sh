#!/bin/sh
# Runs the steps of the Dockerfile without a container engine, in a temporary folder, or in FOLDER,
# which is kept: check.sh [--quick] [FOLDER]. Before them it checks what the files promise. After
# them it starts JupyterLab, waits until it is healthy, asks it for the kernel, and ends it as
# "docker stop" does. It writes nothing outside of the folder but Go's caches.
#
# Alone it takes some minutes and fetches everything that the image gets. With --quick, which make
# test runs, it leaves out gopls, which takes minutes to compile, and takes Python's packages and
# XLA's plugin from wheels that it keeps in $WHEELS (.cache/image), so that only the first run needs
# the network.
set -eu
temporary= lab= inside= began=$(date +%s)
finish() {
	for process in $inside $lab; do
		kill -KILL "$process" 2>/dev/null || true
	done
	if [ -n "$temporary" ]; then rm -rf "$temporary"; fi
}
# dash runs no trap of EXIT when a signal ends it.
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { echo "check.sh: $(($(date +%s) - began)) s: $*"; }
die() {
	echo "check.sh: $*" >&2
	exit 1
}

quick=
if [ "${1-}" = --quick ]; then
	quick=yes
	shift
fi
for program in go python3; do
	command -v $program >/dev/null || die "$program is missing; internal/setup/setup.sh says which"
done
source=$(cd "$(dirname "$0")/.." && pwd -P)
temporary=$(mktemp -d)
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	IMAGE_ROOT=$(cd "$1" && pwd -P)
else
	IMAGE_ROOT=$temporary/image
fi
export IMAGE_ROOT
export NOTEBOOKS="$IMAGE_ROOT/notebooks" JUPYTER_DATA_DIR="$IMAGE_ROOT/data" LISTEN=127.0.0.1
export JUPYTER_CONFIG_DIR="$IMAGE_ROOT/config" JUPYTER_RUNTIME_DIR="$IMAGE_ROOT/runtime"
# Everything else that is written also goes there. Sockets are beside it, since their paths must be
# short. Nothing comes from a Headwater that this user has set up.
GOCACHE=$(go env GOCACHE)
export GOCACHE TMPDIR="$temporary" XDG_CACHE_HOME="$IMAGE_ROOT/cache"
export IPYTHONDIR="$IMAGE_ROOT/ipython" npm_config_cache="$IMAGE_ROOT/npm" # JupyterLab asks npm
export HEADWATER_MODELS="$IMAGE_ROOT/models" HF_HOME="$IMAGE_ROOT/models/huggingface"
unset HEADWATER_ENGINE HEADWATER_XLA HEADWATER_CUDA HEADWATER_COMPILE_CACHE

say "check_file.py"
python3 "$source/docker/check_file.py" "$source/docker/Dockerfile"

# wheels fills $WHEELS with what pip would fetch, unless it has been filled for the same versions.
wheels() {
	setup=$source/internal/setup
	key=$(cat "$setup/requirements.txt" "$setup/requirements-xla.txt" | cksum)
	if [ "$(cat "$WHEELS/key" 2>/dev/null)" != "$key" ]; then
		say "pip download, into $WHEELS"
		rm -rf "$WHEELS"
		mkdir -p "$WHEELS"
		python3 -m venv "$temporary/pip"
		# pip's own cache has what make setup fetched.
		set -- env XDG_CACHE_HOME= "$temporary/pip/bin/python" -m pip download --quiet \
			--disable-pip-version-check --dest "$WHEELS"
		"$@" --requirement "$setup/requirements.txt"
		if [ "$(uname -sm)" = "Linux x86_64" ]; then
			"$@" --no-deps --require-hashes --requirement "$setup/requirements-xla.txt"
		fi
		printf '%s\n' "$key" >"$WHEELS/key"
	fi
	export PIP_NO_INDEX=1 PIP_FIND_LINKS="$WHEELS"
}

tools=
if [ -n "$quick" ]; then
	WHEELS=${WHEELS:-$source/.cache/image}
	wheels
	tools=internal/tools
fi
for step in tools jupyter plugins command kernel; do
	arguments=
	if [ $step = tools ]; then arguments=$tools; fi
	say "$step.sh" $arguments
	"$source/docker/$step.sh" $arguments
done
if ls "$IMAGE_ROOT/cache/headwater" 2>/dev/null | grep -q '^engine-'; then
	die "the first cell built an engine, want the command of the image"
fi
say "headwater doctor"
"$source/docker/run.sh" headwater doctor --quick
. "$source/docker/env.sh"
python "$source/docker/check_file.py" "$source/docker/Dockerfile" \
	"$root/bin" "$root/jupyter/bin" "$root/plugins"

# isolation prints the words of a command that runs another one as process 1, as a container does,
# or nothing where the system lacks it.
isolation() {
	for user in "" "--user --map-current-user"; do
		words="unshare $user --pid --fork --mount-proc --kill-child"
		if $words true 2>/dev/null; then
			echo "$words"
			return
		fi
	done
}

PORT=$(python -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
export PORT
root_flag=
if [ "$(id -u)" = 0 ]; then root_flag=--allow-root; fi
isolated=$(isolation)
say "run.sh lab.sh${isolated:+, as process 1}"
$isolated "$source/docker/run.sh" "$source/docker/lab.sh" \
	--IdentityProvider.token=check $root_flag >"$IMAGE_ROOT/lab.log" 2>&1 &
lab=$!
tries=0
until "$source/docker/health.sh" 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 60 ] || ! kill -0 "$lab" 2>/dev/null; then
		cat "$IMAGE_ROOT/lab.log" >&2
		die "JupyterLab does not answer"
	fi
	sleep 1
done
kernels=$(python -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' \
	"http://127.0.0.1:$PORT/api/kernelspecs?token=check")
case "$kernels" in
*'"Go (Headwater)"'*) say "JupyterLab has the kernel" ;;
*) die "JupyterLab has no kernel Go (Headwater): $kernels" ;;
esac

# Process 1 gets no signal for which it has no handler, so that "docker stop" waits 10 seconds and
# kills it. A child of unshare is that process.
inside=$lab
if [ -n "$isolated" ]; then inside=$(cat "/proc/$lab/task/$lab/children"); fi
kill -TERM $inside
tries=0
while kill -0 "$lab" 2>/dev/null; do
	tries=$((tries + 1))
	if [ "$tries" -gt 80 ]; then
		cat "$IMAGE_ROOT/lab.log" >&2
		die "JupyterLab goes on for 8 s after SIGTERM, so docker stop would kill it"
	fi
	sleep 0.1
done
lab= inside=
say "JupyterLab ended when it was asked to"

#!/bin/sh
# Installs XLA's plugin for CPUs, whose hash is known, and with CUDA=cuda12 or CUDA=cuda13 the one
# for NVIDIA's GPUs, which is part of JAX and takes 4 GB. All are pinned with their hashes.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
mkdir -p "$root/plugins"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
if [ "$(uname -sm)" = "Linux x86_64" ]; then
	"$work/venv/bin/python" -m pip download --quiet --no-deps --require-hashes --dest "$work" \
		--requirement "$source/internal/setup/requirements-xla.txt"
	"$work/venv/bin/python" -m zipfile -e "$work"/xla_cpu_pjrt-*.whl "$work/wheel"
	mv "$work/wheel/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" "$root/plugins/"
fi
case "${CUDA:-}" in
'') ;;
cuda12 | cuda13)
	python3 -m venv "$root/plugins/cuda"
	"$root/plugins/cuda/bin/python" -m pip install --quiet --no-deps --require-hashes \
		--requirement "$source/docker/requirements-$CUDA.txt"
	;;
*)
	echo "plugins.sh: CUDA=$CUDA: it must be empty, cuda12 or cuda13" >&2
	exit 2
	;;
esac

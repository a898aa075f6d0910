#!/bin/sh
# Starts JupyterLab on port $PORT (8888) in $NOTEBOOKS. It prints an address with a token.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
exec jupyter lab --no-browser --ServerApp.ip="${LISTEN:-0.0.0.0}" \
	--ServerApp.port="${PORT:-8888}" --ServerApp.port_retries=0 \
	--ServerApp.root_dir="${NOTEBOOKS:-$HOME/notebooks}" \
	--MappingKernelManager.default_kernel_name=headwater "$@"

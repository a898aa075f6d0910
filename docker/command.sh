#!/bin/sh
# Builds the command headwater, which is also the engine of notebooks.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
mkdir -p "$root/bin"
cd "$source"
go build -buildvcs=false -ldflags='-s -w' -o "$root/bin/headwater" ./cmd/headwater

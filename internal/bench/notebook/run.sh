#!/usr/bin/env bash
# How long cells of a real kernel take, and how many bytes their outputs have: a table for
# docs/benchmarks.md. Usage:
# internal/setup/env internal/bench/notebook/run.sh [REPEATS [MODEL...]]
# It times the views with each MODEL: tiny and smollm2 if none is named.
#
# It installs the kernel "Go (Headwater)" in a folder of its own and runs cells as Jupyter does.
# It needs GoNB, goimports and jupyter_client, as make setup installs them.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
go build -buildvcs=false -o "$work/headwater" ./cmd/headwater
# The user's cache stays: it has the compiled packages that every later cell links.
export JUPYTER_DATA_DIR="$work/jupyter" TMPDIR="$work" HEADWATER_ENGINE="$work/headwater" GOPROXY=off
"$work/headwater" install >/dev/null
mkdir "$work/folder"
repeats=${1:-9}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- tiny smollm2
python "$here/cells.py" "$work/folder" "$repeats" "$@"

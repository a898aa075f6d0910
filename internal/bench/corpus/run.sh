#!/usr/bin/env bash
# What headwater corpus does in a second, on the embedded model and on SmolLM2 (make smollm2), as
# tables for docs/corpus.md:
#
#	internal/setup/env internal/bench/corpus/run.sh [TEXTS [REAL [PART...]]]
#
# TEXTS are for the embedded model (100000 by default) and REAL for SmolLM2 (1000); 0 leaves a model
# out. A PART is plain (generation alone) or a number of workers; by default plain, 1 and 2. Each
# part of each model leaves a file in the folder that RESULTS names, .cache/bench/corpus by default,
# and is not measured again while the file is there: start the script again after an interruption,
# and remove the folder for new figures. The tables of all that is there are printed at the end.
# BACKEND is the backend of both models, go by default; a folder keeps the results of each apart.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
cd "$root"
texts=${1:-100000} real=${2:-1000}
shift $(($# < 2 ? $# : 2))
parts=${*:-plain 1 2}
backend=${BACKEND:-go}
results=${RESULTS:-$root/.cache/bench/corpus}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -buildvcs=false -o "$work/headwater" ./cmd/headwater
go build -buildvcs=false -o "$work/bench" ./internal/bench/corpus
measure() {
	"$work/bench" --headwater "$work/headwater" --results "$results" --parts "${parts// /,}" "$@"
}
if [ "$texts" -gt 0 ]; then
	measure --model tiny --backend "$backend" --texts "$texts"
fi
if [ "$real" -gt 0 ]; then
	measure --model smollm2 --backend "$backend" --texts "$real" --shards 8 --plain "$real"
fi
echo
"$work/bench" --table --results "$results"

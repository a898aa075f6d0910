#!/usr/bin/env bash
# What headwater corpus does in a second, on the embedded model and on SmolLM2 (make smollm2), as
# tables. Usage: internal/setup/env internal/bench/corpus/run.sh [TEXTS [TEXTS_OF_SMOLLM2]]
# With 100,000 and 1,000 texts, as by default, it takes an hour or more on two cores.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd -P)
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -buildvcs=false -o "$work/headwater" ./cmd/headwater
go build -buildvcs=false -o "$work/bench" ./internal/bench/corpus
"$work/bench" --headwater "$work/headwater" --model tiny --texts "${1:-100000}"
echo
"$work/bench" --headwater "$work/headwater" --model smollm2 --texts "${2:-1000}" --shards 8 \
	--plain "${2:-1000}"

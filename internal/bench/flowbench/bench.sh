#!/usr/bin/env bash
# Installs what is missing, builds our side and runs bench.py on one processor: internal/bench/flowbench/bench.sh [ARGUMENT of bench.py...]
# About five minutes; --rounds 1 --networkx 0 shows in one that everything works.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
cd "$here/../../.."
venv=.cache/flowbench/venv
key=$(cksum <"$here/requirements.txt")
if [ "$(cat .cache/flowbench/stamp 2>/dev/null)" != "$key" ]; then
	rm -rf .cache/flowbench
	mkdir -p .cache/flowbench
	python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --no-deps --requirement "$here/requirements.txt"
	printf '%s\n' "$key" >.cache/flowbench/stamp
fi
internal/setup/env go build -buildvcs=false -o .cache/bin/flowbench ./internal/bench/flowbench
exec taskset -c 1 env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$here/bench.py" "$@"

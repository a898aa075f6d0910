#!/usr/bin/env bash
# Installs what is missing, builds our side and runs bench.py on two processors: internal/bench/peers/bench.sh [ARGUMENT of bench.py...]
# About 15 minutes; --shape tiny --rounds 2 shows in one that everything works.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
cd "$here/../../.."
internal/setup/setup.sh
internal/bench/peers/setup.sh
internal/setup/env go build -buildvcs=false -o .cache/bin/headwater ./cmd/headwater
exec internal/setup/env taskset -c 0,1 python3 internal/bench/peers/bench.py "$@"

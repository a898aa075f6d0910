#!/usr/bin/env bash
# Rehearses what runs on a machine with a GPU, without one: internal/bench/gpu/rehearse.sh [RESULTS] (default out/gpu/rehearsal)
#
# From the pack and the goldens alone, in an empty folder, with no variable of the environment, no Go and, as root, no network: all steps on XLA with small
# shapes, then a step that hangs, and the plugin of JAX for GPUs, if HEADWATER_CUDA names it, up to the missing device.
# Needs internal/bench/peers/setup.sh, and internal/bench/gpu/pack.py before.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
results=${1:-out/gpu/rehearsal}
mkdir -p "$results"
results=$(cd "$results" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp out/gpu/pack.tar.xz "$folder"
cd "$folder"
python=$root/.cache/peers/venv/bin/python
"$python" -c 'import tarfile; tarfile.open("pack.tar.xz").extractall("gpu", filter="data")'
apart=$(unshare -n true 2>/dev/null && echo "unshare -n" || true)
alone="$apart env -i PATH=$root/.cache/peers/venv/bin:/usr/bin:/bin HOME=$folder HF_HUB_OFFLINE=1"
cpu="HEADWATER_XLA=$root/.cache/xla/xla_cpu_pjrt.so"
$alone "$cpu" "$python" gpu/run.py --backend xla --small --goldens "$root/models/testdata/goldens" "$results"
# What must fail: a step that hangs, and the plugin for GPUs. The steps after them run all the same.
$alone "$cpu" "$python" gpu/run.py --backend xla --small --only hang,machine "$results/hang" || true
if [ -n "${HEADWATER_CUDA-}" ]; then
	$alone HEADWATER_CUDA="$HEADWATER_CUDA" "$python" gpu/run.py --small --only doctor,certify,machine --goldens "$root/models/testdata/goldens" "$results/cuda" || true
fi

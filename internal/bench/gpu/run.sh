#!/usr/bin/env bash
# All that is checked on a GPU:
#
#   internal/bench/gpu/run.sh build          where there are Go and a C compiler: leaves two programs in out/gpu
#   internal/bench/gpu/run.sh [RESULTS]      where there is a GPU: builds if it can, runs, writes JSON into RESULTS (default out/gpu/results)
#
# The second needs Python 3 with jax[cuda12] or jax[cuda13], whose plugin it uses; PyTorch and transformers, if there, are compared with.
# BACKEND=xla or go rehearses it without a GPU; GOLDENS names the folders of some goldens, joined by spaces, instead of all. The status is 1 if any check failed, or the GPU was not used.
set -uo pipefail

# absolute PATH: the path as seen from the folder of the caller, which is left next.
absolute() {
	case $1 in
	/*) echo "$1" ;;
	*) echo "$PWD/$1" ;;
	esac
}
results=${1:+$(absolute "$1")}
for setting in HEADWATER_CUDA HEADWATER_MODELS HEADWATER_XLA; do
	[ -z "${!setting-}" ] || export "$setting=$(absolute "${!setting}")"
done
cd "$(dirname "$0")/../../.." || exit 1

backend=${BACKEND:-cuda}
programs=out/gpu

build() {
	mkdir -p "$programs"
	CGO_ENABLED=1 GOEXPERIMENT=${GOEXPERIMENT-simd} go build -trimpath -buildvcs=false -ldflags='-s -w' \
		-o "$programs" ./cmd/headwater ./internal/bench/peers/bench
}

if [ "${1-}" = build ]; then
	build
	exit
fi
if command -v go >/dev/null && command -v "$(go env CC)" >/dev/null; then
	build || echo "gpu: cannot build here, using what is in $programs" >&2
fi
[ -x "$programs/headwater" ] || {
	echo "gpu: there is no $programs/headwater and no Go to build it: run internal/bench/gpu/run.sh build elsewhere and bring $programs along" >&2
	exit 1
}

results=${results:-$programs/results}
mkdir -p "$results" || exit 1

# Where JAX's plugin is, and the libraries that it needs. The command finds them by itself; internal/bench/peers/bench does not.
if [ "$backend" = cuda ]; then
	packages=${HEADWATER_CUDA:-$(python3 -c 'import jax_plugins, os; print(os.path.dirname(list(jax_plugins.__path__)[0]))')} || {
		echo "gpu: python3 has no jax_plugins: pip install 'jax[cuda13]', or set HEADWATER_CUDA" >&2
		exit 1
	}
	export HEADWATER_CUDA=$packages
	if [ ! -d "$packages" ]; then # it is the plugin, PACKAGES/jax_plugins/xla_cuda13/xla_cuda_plugin.so
		packages=$(dirname "$(dirname "$(dirname "$packages")")")
	fi
	for folder in "$packages"/nvidia/*/lib; do
		[ ! -d "$folder" ] || LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	done
	export LD_LIBRARY_PATH GOPJRT_CUDA_CHECKS=0
fi

failed=0
checks=()

# check NAME COMMAND...: runs it with its output in RESULTS/NAME.json, at most five minutes.
check() {
	local name=$1 start=$SECONDS
	shift
	checks+=("$name")
	if timeout 300 "$@" >"$results/$name.json" 2>"$results/$name.log"; then
		echo "gpu: $name: passed in $((SECONDS - start)) s"
		return
	fi
	failed=1
	echo "gpu: $name: FAILED: $(tail -n 1 "$results/$name.log")"
}

size=8192
[ "$backend" = cuda ] || size=512
check doctor "$programs/headwater" doctor --check --size "$size" --json
check certify-tiny "$programs/headwater" certify --backend "$backend" --json
for golden in ${GOLDENS:-models/testdata/goldens/*/}; do
	golden=${golden%/}
	[ -e "$golden/golden.safetensors" ] || continue
	check "certify-${golden##*/}" "$programs/headwater" certify --backend "$backend" --json \
		--model "$golden" --golden "$golden/golden.safetensors"
done
# A real model, where it was downloaded: its numbers, and the time of 64 explained tokens. Bring its folder along as out/gpu/models.
[ -d "$programs/models" ] && export HEADWATER_MODELS=$PWD/$programs/models
if [ -n "${HEADWATER_MODELS-}" ] && "$programs/headwater" models smollm2 >/dev/null 2>&1; then
	check certify-smollm2 "$programs/headwater" certify --backend "$backend" --json --model smollm2
	check explain-smollm2 "$programs/headwater" explain --backend "$backend" --format json --model smollm2 \
		--max-tokens 64 "The Eiffel Tower is in Paris. The Colosseum is in"
else
	echo "gpu: smollm2: left out, it is not downloaded (headwater download smollm2)"
fi
if python3 -c 'import torch, transformers' 2>/dev/null; then
	check compare python3 internal/bench/gpu/compare.py "$backend" "$programs"
else
	echo "gpu: compare: left out, python3 has no PyTorch with transformers"
fi
python3 internal/bench/gpu/summary.py "$results" "$backend" "$failed" "${checks[@]}" |
	tee "$results/summary.json" || failed=1
exit "$failed"

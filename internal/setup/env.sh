# The environment of everything that the Makefile runs. Sourced by bash; sets root and cache.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cache=$root/.cache

export PATH="$cache/bin:$root/.venv/bin:$PATH"
export JUPYTER_DATA_DIR="$cache/jupyter"
export JUPYTER_CONFIG_DIR="$cache/jupyter/config"
export JUPYTER_RUNTIME_DIR="$cache/jupyter/runtime"
export IPYTHONDIR="$cache/ipython"
export GOMLX_NO_AUTO_INSTALL=1
export PIP_DISABLE_PIP_VERSION_CHECK=1
export PYTHONDONTWRITEBYTECODE=1 # no __pycache__ beside sources

# Go, pip and Chromium want a home to write to; without one they get a place in the checkout.
if [ ! -d "${HOME:-}" ] || [ ! -w "${HOME:-}" ]; then
	export HOME="$cache/home"
	mkdir -p "$HOME"
fi

# The pure-Go backend is 5 to 10 times faster with it; another Go version may not know it.
if [ -z "${GOEXPERIMENT+set}" ] && [ "$(uname -m)" = x86_64 ] && GOEXPERIMENT=simd go env GOVERSION >/dev/null 2>&1; then
	export GOEXPERIMENT=simd
fi

if [ -z "${HEADWATER_XLA+set}" ] && [ -e "$cache/xla/xla_cpu_pjrt.so" ]; then
	export HEADWATER_XLA="$cache/xla/xla_cpu_pjrt.so"
fi

if [ -z "${HEADWATER_COMPILE_CACHE+set}" ]; then
	export HEADWATER_COMPILE_CACHE="$cache/compiled"
fi

# make smollm2 puts the model here. Without it, models that the user has downloaded are found.
if [ -z "${HEADWATER_MODELS+set}" ] && [ -e "$cache/models" ]; then
	export HEADWATER_MODELS="$cache/models"
fi

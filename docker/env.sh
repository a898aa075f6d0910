# The environment of the image, for the scripts here and for what runs in it. Sourced by sh with
# source, the checkout. Everything is below IMAGE_ROOT, which is /opt/headwater in the image.
root=${IMAGE_ROOT:-/opt/headwater}
export PATH="$root/bin:$root/jupyter/bin:$PATH"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 GOMLX_NO_AUTO_INSTALL=1

# The engine is the command, which the image has, so that no cell builds it.
export HEADWATER_ENGINE="${HEADWATER_ENGINE:-$root/bin/headwater}"

# The pure-Go backend is 5 to 10 times faster with it; other processors do not have it.
if [ "$(uname -m)" = x86_64 ]; then
	export GOEXPERIMENT=simd
fi
if [ -e "$root/plugins/xla_cpu_pjrt.so" ]; then
	export HEADWATER_XLA="${HEADWATER_XLA:-$root/plugins/xla_cpu_pjrt.so}"
fi
for packages in "$root"/plugins/cuda/lib/python3*/site-packages; do
	if [ -e "$packages/jax_plugins" ]; then
		export HEADWATER_CUDA="${HEADWATER_CUDA:-$packages}"
	fi
done

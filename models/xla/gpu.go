//go:build cgo && linux && amd64

package xla

/*
#include <dlfcn.h>
#include <stddef.h>

// headwater_gpu_memory returns how many bytes of memory the first GPU has that this process sees,
// or 0 if the driver is not there or does not say.
static size_t headwater_gpu_memory(void) {
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!driver) return 0;
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
	int (*get)(int *, int) = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
	int (*total)(size_t *, int) = (int (*)(size_t *, int))dlsym(driver, "cuDeviceTotalMem_v2");
	int device = 0;
	size_t bytes = 0;
	if (!init || !get || !total || init(0) || get(&device, 0) || total(&bytes, device)) return 0;
	return bytes;
}
*/
import "C"

// gpuMemory returns how many bytes of memory the first GPU has, 0 if that is not known.
func gpuMemory() int64 { return int64(C.headwater_gpu_memory()) }

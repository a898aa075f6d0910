//go:build cgo && linux && amd64

package xla

/*
#include <malloc.h>

// headwater_hold_memory makes the C library keep freed memory. Without M_MMAP_MAX, the system gives
// arrays of more than 32 MB each time; with several arenas, those of more than 64 MB.
static void headwater_hold_memory(int one_arena) {
#ifdef __GLIBC__
	mallopt(M_MMAP_MAX, 0);
	if (one_arena) mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
#endif
}

static void headwater_release_memory(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
*/
import "C"

import (
	"os"
	"runtime"
)

// fewProcessors is how many processors may share one arena. While XLA compiles, it takes memory on
// all of them, and many would wait for each other. With several arenas, arrays of up to 64 MB are
// held.
const fewProcessors = 4

// mallocSettings are variables by which a user chooses how the C library keeps memory.
var mallocSettings = []string{
	"GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_",
	"MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_",
}

// holdMemory makes XLA's arrays take memory that earlier arrays have left, unless the user has
// chosen otherwise. A pass of 256 tokens of GPT-2 small's shape makes 110 MB of arrays; if the
// system gives and takes them each time, it must clear 28,000 pages, an eighth of the processor
// time of the pass. releaseMemory returns what is held.
func holdMemory() {
	for _, name := range mallocSettings {
		if os.Getenv(name) != "" {
			return
		}
	}
	oneArena := C.int(0)
	if runtime.NumCPU() <= fewProcessors {
		oneArena = 1
	}
	C.headwater_hold_memory(oneArena)
}

// releaseMemory returns the memory that no array uses to the system.
func releaseMemory() { C.headwater_release_memory() }

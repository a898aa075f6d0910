//go:build cgo && linux && amd64

package xla

/*
#define _GNU_SOURCE
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>

// headwater_memory_is_chosen reports whether the user has chosen how the C library keeps memory.
static int headwater_memory_is_chosen(void) {
	static const char *names[] = {
		"GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_",
		"MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);
		if (value && *value) return 1;
	}
	return 0;
}

// headwater_share_arenas lets all threads share as many arenas as there are processors, if these
// are few. It runs before main, because a thread keeps the arena that it has once taken, and the Go
// runtime starts threads before any package is initialised. With fewer arenas, threads wait for
// each other while XLA compiles, which takes memory on all processors: SmolLM2's first token takes
// 4.1 s with one and 3.3 with two, on two processors. On more processors, where
// this was not measured, the C library chooses.
__attribute__((constructor)) static void headwater_share_arenas(void) {
#ifdef __GLIBC__
	cpu_set_t processors;
	if (sched_getaffinity(0, sizeof processors, &processors) == 0 &&
			CPU_COUNT(&processors) <= 4 && !headwater_memory_is_chosen())
		mallopt(M_ARENA_MAX, CPU_COUNT(&processors));
#endif
}

// headwater_hold_memory makes the C library keep freed memory. Without M_MMAP_MAX, the system gives
// arrays of more than 32 MB each time; with several arenas, those of more than 64 MB.
static void headwater_hold_memory(void) {
#ifdef __GLIBC__
	if (headwater_memory_is_chosen()) return;
	mallopt(M_MMAP_MAX, 0);
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

// holdMemory makes XLA's arrays take memory that earlier arrays have left, unless the user has
// chosen otherwise. A pass of 256 tokens of GPT-2 small's shape makes 110 MB of arrays; if the
// system gives and takes them each time, it must clear 28,000 pages, an eighth of the processor
// time of the pass. releaseMemory returns what is held.
func holdMemory() { C.headwater_hold_memory() }

// releaseMemory returns the memory that no array uses to the system.
func releaseMemory() { C.headwater_release_memory() }

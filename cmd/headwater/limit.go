//go:build cgo && linux

package main

// Go's runtime and the arenas of the C library reserve 1.5 GB of address space when the program
// starts. With less than 0.85 GB the runtime prints its own stack and ends before main begins, with
// less than 1.7 GB when a file is opened. A single command may run with as little as 1.1 GB, and
// end with 1.3 or 1.5, where larger pieces are reserved. So these limits are checked before Go
// starts. They are those of pure Go; what XLA takes beside is counted when it is opened.

/*
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void refuse(int resource, rlim_t least, const char *name) {
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= least)
		return;
	fprintf(stderr, "headwater: %s is limited to %llu bytes; the program takes %llu before it "
		"opens a model; raise the limit, or limit memory by a control group\n", name,
		(unsigned long long)limit.rlim_cur, (unsigned long long)least);
	_Exit(1);
}

__attribute__((constructor)) static void checkLimits(void) {
	refuse(RLIMIT_AS, 1800000000, "the address space of this process (ulimit -v)");
	refuse(RLIMIT_DATA, 350000000, "the data segment of this process (ulimit -d)");
}
*/
import "C"

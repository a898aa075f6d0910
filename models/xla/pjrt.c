//go:build cgo && linux && amd64

#include "pjrt.h"

#include <dlfcn.h>
#include <stddef.h>

extern void *headwaterCompile(pjrt_compile *args); // in Go

static pjrt_api *api;
static pjrt_function compile, execute; // a plugin's own

// open_api returns the functions of the plugin at a path, or null if it lacks one.
static pjrt_api *open_api(const char *path) {
	// The plugin stays open, because its functions are called from now on.
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library) return NULL;
	pjrt_api *(*get)(void) = (pjrt_api * (*)(void)) dlsym(library, "GetPjrtApi");
	pjrt_api *found = get ? get() : NULL;
	if (!found || found->size < sizeof(pjrt_api) || found->version.major != 0) return NULL;
	for (int i = 0; i < PJRT_FUNCTIONS; i++)
		if (!found->functions[i]) return NULL;
	return found;
}

static void *run_ahead(void *args) {
	((pjrt_execute *)args)->complete = NULL;
	return execute(args);
}

int headwater_run_ahead(const char *path) {
	pjrt_api *found = execute ? NULL : open_api(path);
	if (!found) return 0;
	execute = found->functions[PJRT_LOADED_EXECUTABLE_EXECUTE];
	found->functions[PJRT_LOADED_EXECUTABLE_EXECUTE] = run_ahead;
	return 1;
}

int headwater_replace_compile(const char *path) {
	pjrt_api *found = api ? NULL : open_api(path);
	if (!found) return 0;
	api = found;
	compile = api->functions[PJRT_CLIENT_COMPILE];
	api->functions[PJRT_CLIENT_COMPILE] = (pjrt_function)headwaterCompile;
	return 1;
}

void *headwater_compile(pjrt_compile *args) { return compile(args); }

// destroy calls one of the functions that free an object.
static void destroy(int function, void *object) {
	pjrt_destroy args = {.size = sizeof args, .object = object};
	api->functions[function](&args);
}

// failed frees an error, and returns whether there was one.
static int failed(void *error) {
	if (error) destroy(PJRT_ERROR_DESTROY, error);
	return error != NULL;
}

int headwater_serialize(void *loaded, pjrt_serialize *out) {
	pjrt_get_executable of = {.size = sizeof of, .loaded = loaded};
	if (failed(api->functions[PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE](&of))) return 0;
	*out = (pjrt_serialize){.size = sizeof *out, .executable = of.executable};
	int ok = !failed(api->functions[PJRT_EXECUTABLE_SERIALIZE](out));
	destroy(PJRT_EXECUTABLE_DESTROY, of.executable);
	return ok;
}

void headwater_release(pjrt_serialize *out) {
	if (out->release) out->release(out->owner);
}

void *headwater_load(void *client, const char *bytes, size_t size) {
	pjrt_load args = {
		.size = sizeof args, .client = client, .bytes = bytes, .bytes_size = size};
	return failed(api->functions[PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD](&args)) ? NULL
	                                                                            : args.executable;
}

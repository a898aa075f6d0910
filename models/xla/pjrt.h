// The part of PJRT's C interface (xla/pjrt/c/pjrt_c_api.h of OpenXLA) that this package needs.
// Functions and fields are only ever appended to that interface, so these places stay.

#include <stddef.h>

typedef void *(*pjrt_function)(void *args); // returns an error, or null

// The functions, by their place.
enum {
	PJRT_ERROR_DESTROY = 0,
	PJRT_CLIENT_COMPILE = 20,
	PJRT_EXECUTABLE_DESTROY = 40,
	PJRT_EXECUTABLE_SERIALIZE = 49,
	PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE = 51,
	PJRT_LOADED_EXECUTABLE_EXECUTE = 55,
	PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD = 56,
	PJRT_FUNCTIONS, // how many there must be at least
};

typedef struct {
	size_t size;
	void *extensions;
	struct {
		size_t size;
		void *extensions;
		int major, minor;
	} version;
	pjrt_function functions[PJRT_FUNCTIONS];
} pjrt_api;

typedef struct {
	size_t size;
	void *extensions;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
} pjrt_program;

typedef struct {
	size_t size;
	void *extensions;
	void *client;
	const pjrt_program *program;
	const char *options;
	size_t options_size;
	void *executable; // the result
} pjrt_compile;

typedef struct {
	size_t size;
	void *extensions;
	void *loaded;
	void *executable; // the result
} pjrt_get_executable;

typedef struct {
	size_t size;
	void *extensions;
	void *executable;
	const char *bytes; // the result, with its size
	size_t bytes_size;
	void *owner; // of the bytes, which release frees
	void (*release)(void *owner);
} pjrt_serialize;

typedef struct {
	size_t size;
	void *extensions;
	void *loaded, *options;
	const void *arguments;
	size_t devices, arguments_of_each;
	const void *outputs;
	void **complete; // the result, an event for each device, or null if none is wanted
	void *device;
} pjrt_execute;

typedef struct {
	size_t size;
	void *extensions;
	void *client;
	const char *bytes;
	size_t bytes_size;
	void *executable; // the result
	const char *options;
	size_t options_size;
} pjrt_load;

typedef struct {
	size_t size;
	void *extensions;
	void *object; // an error or an executable
} pjrt_destroy;

// headwater_replace_compile makes the plugin at a path compile with headwaterCompile. It returns
// whether it did: once in a process, for a plugin that has all of the functions above.
int headwater_replace_compile(const char *path);

// headwater_run_ahead makes the plugin at a path return from an execution when it is queued. go-xla
// waits for every execution; a device that computes on its own then idles until the next one is
// handed to it. Whoever reads a result waits for it, and gets its error. It returns whether it did:
// once in a process.
int headwater_run_ahead(const char *path);

// headwater_compile compiles as the plugin does. It returns the plugin's error, or null.
void *headwater_compile(pjrt_compile *args);

// headwater_serialize puts the bytes of an executable into out, whose release has to be called. It
// returns whether the plugin could.
int headwater_serialize(void *loaded, pjrt_serialize *out);

// headwater_release frees what headwater_serialize returned.
void headwater_release(pjrt_serialize *out);

// headwater_load returns the executable that was serialized, or null if the plugin refuses it.
void *headwater_load(void *client, const char *bytes, size_t size);

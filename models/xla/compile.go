//go:build cgo && linux && amd64

package xla

/*
#cgo LDFLAGS: -ldl
#include "pjrt.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// compiler replaces the function of a plugin that compiles a graph. A graph that the cache has is
// loaded in the place of being compiled. Without a cache, graphs are compiled in the same way, so
// that their results have the same bytes.
type compiler struct {
	cache *graphCache // may be nil
	// choosesOneDNN is whether graphs may be compiled with oneDNN; see [smallProducts].
	choosesOneDNN bool
	// unused is the reason why cache is nil although the user wants one.
	unused error
}

var (
	compilerOnce sync.Once
	theCompiler  compiler
)

// replaceCompile makes a plugin for CPUs keep compiled graphs in the user's cache, if there is one,
// and choose for each graph whether it multiplies with oneDNN. choosesOneDNN is whether the flags
// of this package make XLA use oneDNN. Only the first plugin of a process is changed.
func replaceCompile(path string, choosesOneDNN bool) {
	compilerOnce.Do(func() {
		cache, err := openGraphCache(path)
		theCompiler = compiler{cache, choosesOneDNN, err}
		C.headwater_replace_compile(textAt(append([]byte(path), 0)))
	})
}

// runAhead makes the plugin at a path queue executions instead of waiting for each, and reports
// whether it does. Results must be copied to be read, as those of a GPU are: where the host reads
// the memory of a result itself, as on CPUs, nothing would wait for it.
func runAhead(path string) bool {
	return C.headwater_run_ahead(textAt(append([]byte(path), 0))) != 0
}

// keptGraphs returns how many compiled graphs this process has stored, and why it stores none
// although the user wants that.
func keptGraphs() (graphs int, unused error) {
	if theCompiler.cache == nil {
		return 0, theCompiler.unused
	}
	return int(theCompiler.cache.written.Load()), nil
}

// headwaterCompile compiles or loads a graph. It returns an error of the plugin, or nil. What it
// leaves of memory is returned to the system: arrays are of other sizes and would come on top. The
// largest memory of an explanation of 64 tokens by Gemma 3 270M was 128 MB more without this.
//
//export headwaterCompile
func headwaterCompile(args *C.pjrt_compile) unsafe.Pointer {
	defer releaseMemory()
	code := bytesAt(args.program.code, args.program.code_size)
	options := bytesAt(args.options, args.options_size)
	if theCompiler.choosesOneDNN && smallProducts(code) {
		options = withoutOneDNN(options)
		var kept runtime.Pinner // args may be C's memory
		kept.Pin(&options[0])
		defer kept.Unpin()
		args.options, args.options_size = textAt(options), C.size_t(len(options))
	}
	cache := theCompiler.cache
	if cache == nil {
		return C.headwater_compile(args)
	}
	name := cache.name(code, options)
	if data, ok := cache.read(name); ok {
		args.executable = C.headwater_load(args.client, textAt(data), C.size_t(len(data)))
		if args.executable != nil {
			return nil
		}
		cache.remove(name)
	}
	if err := C.headwater_compile(args); err != nil {
		return err
	}
	var made C.pjrt_serialize
	if C.headwater_serialize(args.executable, &made) != 0 {
		cache.write(name, bytesAt(made.bytes, made.bytes_size))
		C.headwater_release(&made)
	}
	return nil
}

// textAt is where bytes are, for a call into C. There is at least one byte.
func textAt(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

// bytesAt are bytes of C's memory.
func bytesAt(p *C.char, size C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size))
}

//go:build cgo && linux && amd64

package xla

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("xla")

// cacheEnv is the environment variable that names the folder in which compiled graphs are kept, or
// is "off". By default it is headwater/compiled in the user's cache. A folder that others can write
// to is not used.
const cacheEnv = "HEADWATER_COMPILE_CACHE"

const (
	// graphMagic begins a file. It changes with its form, and the hash of what follows comes next.
	graphMagic = "HWGRAPH1"
	// maxGraph is the largest file that is read or written. Graphs of a layer take up to 200 KB.
	maxGraph = 64 << 20
	// maxGraphs is how many bytes the folder may take before the files unused for longest go.
	maxGraphs = 512 << 20
	// pruneAfter is after how many written files the folder is looked through again.
	pruneAfter = 200
)

// graphCache keeps compiled graphs in a folder, so that a later program need not compile them: most
// of the time until the first token of a small model is spent on that. What cannot be read, written
// or loaded is compiled as if there were no cache.
//
// A file is machine code for this processor, so neither a folder nor a file that another user owns
// or can write to is used.
type graphCache struct {
	dir string
	// machine is the part of every key that says for which plugin, processor and flags a graph was
	// compiled.
	machine []byte
	// written is how many graphs this process has stored.
	written atomic.Int64
}

// openGraphCache returns the cache for the plugin at a path; nil if it is off. The error says why
// there can be none.
func openGraphCache(plugin string) (*graphCache, error) {
	dir := os.Getenv(cacheEnv)
	if dir == "off" {
		return nil, nil
	}
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(user, "headwater", "compiled")
	}
	machine, err := machineKey(plugin)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err == nil {
		err = private(dir, info)
	}
	if err != nil {
		return nil, err
	}
	return &graphCache{dir: dir, machine: machine}, nil
}

// private returns an error unless a file or folder belongs to the user, and nobody else can write
// to it.
func private(path string, info os.FileInfo) error {
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(system.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s does not belong to user %d, or others can write to it (%v)", path,
			os.Getuid(), info.Mode())
	}
	return nil
}

// machineKey says for which plugin, processor and flags a graph is compiled. A plugin is the same
// if its path, size and time are.
func machineKey(plugin string) ([]byte, error) {
	info, err := os.Stat(plugin)
	if err != nil {
		return nil, err
	}
	processor, err := processorName("/proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s\n%s %d %d\n%s\n%d\n%s\n", graphMagic, plugin, info.Size(),
		info.ModTime().UnixNano(), processor, runtime.NumCPU(), os.Getenv("XLA_FLAGS")), nil
}

// processorName is what a file of Linux says about the first processor: its name and what it can.
func processorName(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(data), "\n\n")
	var kept []string
	for line := range strings.Lines(first) {
		key, _, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "flags":
			kept = append(kept, line)
		}
	}
	if len(kept) < 2 {
		return "", pkg.Errorf("%s does not say which processor this is", path)
	}
	return strings.Join(kept, ""), nil
}

// name is the name of the file of a graph with these options.
func (c *graphCache) name(code, options []byte) string {
	h := sha256.New()
	for _, part := range [][]byte{c.machine, options, code} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// read returns a compiled graph, and whether the cache has it as this user wrote it.
func (c *graphCache) read(name string) ([]byte, bool) {
	path := filepath.Join(c.dir, name)
	f, info, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info.Size() > maxGraph || private(path, info) != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGraph))
	if err != nil {
		return nil, false
	}
	head := len(graphMagic) + sha256.Size
	if len(data) < head || !bytes.Equal(data[:head], graphHead(data[head:])) {
		return nil, false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, now, now) // it is in use; only the order of pruning depends on it
	}
	return data[head:], true
}

// graphHead is the beginning of the file of a compiled graph.
func graphHead(graph []byte) []byte {
	sum := sha256.Sum256(graph)
	return append([]byte(graphMagic), sum[:]...)
}

// write keeps a compiled graph if it can.
func (c *graphCache) write(name string, graph []byte) {
	head := graphHead(graph)
	if len(head)+len(graph) > maxGraph {
		return
	}
	if atomicfile.WritePrivate(filepath.Join(c.dir, name), append(head, graph...)) != nil {
		return // it is compiled again
	}
	if c.written.Add(1)%pruneAfter == 1 {
		c.prune(maxGraphs)
	}
}

func (c *graphCache) remove(name string) { _ = os.Remove(filepath.Join(c.dir, name)) }

// graphFile matches the names of the cache's files; no others are removed.
var graphFile = regexp.MustCompile(`^[0-9a-f]{40}$`)

// prune removes the files unused for longest until the others take no more than limit bytes.
func (c *graphCache) prune(limit int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && graphFile.MatchString(e.Name()) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	total := int64(0)
	for _, f := range files {
		if total += f.Size(); total > limit {
			c.remove(f.Name())
		}
	}
}

// mostOperations is how many operations the matrix products of a graph may take for it to be
// compiled without oneDNN.
const mostOperations = 5e9

// smallProducts is whether the products of a graph are too small for oneDNN to be worth compiling
// the graph again in every program: XLA cannot keep a graph that uses oneDNN. code is StableHLO as
// text.
//
// docs/benchmarks.md has the figures: XLA's own products take up to 1.4 times as long, some
// milliseconds for a graph of this size, and compiling takes seconds.
func smallProducts(code []byte) bool {
	operations := 0.0
	for {
		at := bytes.Index(code, []byte(`"stablehlo.dot_general"`))
		if at < 0 {
			return operations <= mostOperations
		}
		code = code[at+1:]
		n, ok := productOperations(code[:min(len(code), 2000)])
		if !ok {
			return false
		}
		operations += n
	}
}

var (
	contracting  = regexp.MustCompile(`lhs_contracting_dimensions = \[([0-9, ]*)\]`)
	productTypes = regexp.MustCompile(`: \(tensor<([0-9x]*)\w+>, tensor<[^>]*>\) -> ` +
		`tensor<([0-9x]*)\w+>`)
)

// productOperations is how many operations the product at the beginning of text takes: two for each
// number of the result and each number that is summed for it.
func productOperations(text []byte) (n float64, ok bool) {
	axes, types := contracting.FindSubmatch(text), productTypes.FindSubmatch(text)
	if axes == nil || types == nil {
		return 0, false
	}
	left, result := dimensions(types[1]), dimensions(types[2])
	n = 2
	for _, d := range result {
		n *= d
	}
	for axis := range strings.SplitSeq(string(axes[1]), ",") {
		k, err := strconv.Atoi(strings.TrimSpace(axis))
		if err != nil || k < 0 || k >= len(left) {
			return 0, false
		}
		n *= left[k]
	}
	return n, true
}

// dimensions are those of a type such as 12x576x.
func dimensions(text []byte) (all []float64) {
	for d := range strings.SplitSeq(strings.TrimSuffix(string(text), "x"), "x") {
		if n, err := strconv.ParseFloat(d, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// withoutOneDNN adds to the options of a compilation, a CompileOptionsProto, that oneDNN is not
// used: an entry {"xla_cpu_use_onednn": false} of env_option_overrides, its field 7.
func withoutOneDNN(options []byte) []byte {
	const name = "xla_cpu_use_onednn"
	entry := append([]byte{1<<3 | 2, byte(len(name))}, name...)
	// The value is an OptionOverrideProto with bool_field, its field 2, false.
	entry = append(entry, 2<<3|2, 2, 2<<3, 0)
	return append(append(bytes.Clone(options), 7<<3|2, byte(len(entry))), entry...)
}

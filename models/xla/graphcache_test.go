//go:build cgo && linux && amd64

package xla

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

var must = testhelp.Must // ends a test at an error

func TestGraphCache(t *testing.T) {
	c := &graphCache{dir: t.TempDir(), machine: []byte("this one")}
	name := c.name([]byte("code"), []byte("options"))
	for _, other := range []string{
		c.name([]byte("code "), []byte("options")), c.name([]byte("code"), []byte("options ")),
		c.name([]byte("codeo"), []byte("ptions")),
		(&graphCache{machine: []byte("another")}).name([]byte("code"), []byte("options")),
	} {
		if other == name {
			t.Errorf("two graphs have the name %s", name)
		}
	}
	if !graphFile.MatchString(name) {
		t.Errorf("%s is no name of a file of the cache", name)
	}
	if _, ok := c.read(name); ok {
		t.Error("a graph that was never written can be read")
	}
	graph := []byte("a compiled graph")
	c.write(name, graph)
	if got, ok := c.read(name); !ok || !bytes.Equal(got, graph) {
		t.Errorf("read %q, %v; want %q", got, ok, graph)
	}
	whole, err := os.ReadFile(filepath.Join(c.dir, name))
	must(t, err)
	for at := range whole { // every byte counts
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		replace(t, filepath.Join(c.dir, name), damaged)
		if _, ok := c.read(name); ok {
			t.Errorf("a graph with byte %d changed is read", at)
		}
		replace(t, filepath.Join(c.dir, name), whole[:at])
		if _, ok := c.read(name); ok {
			t.Errorf("a graph that ends after %d bytes is read", at)
		}
	}
}

func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

// The files unused for longest go, and no file that the cache has not written.
func TestPrune(t *testing.T) {
	c := &graphCache{dir: t.TempDir()}
	var names []string
	for i := range 4 {
		name := c.name([]byte{byte(i)}, nil)
		replace(t, filepath.Join(c.dir, name), make([]byte, 100))
		used := time.Unix(int64(1000+i), 0)
		must(t, os.Chtimes(filepath.Join(c.dir, name), used, used))
		names = append(names, name)
	}
	replace(t, filepath.Join(c.dir, "notes.txt"), make([]byte, 1000))
	c.prune(250)
	for i, name := range append(names, "notes.txt") {
		_, err := os.Stat(filepath.Join(c.dir, name))
		if there, want := err == nil, i >= 2; there != want {
			t.Errorf("file %d is there: %v, want %v", i, there, want)
		}
	}
}

// A folder to which others can write has no cache, and neither has a user who wants none.
func TestOpenGraphCache(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "plugin.so")
	replace(t, plugin, []byte("plugin"))
	open := func(dir string) *graphCache {
		t.Setenv(cacheEnv, dir)
		cache, err := openGraphCache(plugin)
		if wanted := dir != "off"; (cache == nil && wanted) != (err != nil) {
			t.Errorf("the cache %s is used: %v, with error %v", dir, cache != nil, err)
		}
		return cache
	}
	dir := filepath.Join(t.TempDir(), "new", "cache")
	cache := open(dir)
	if cache == nil {
		t.Fatal("no cache in a new folder")
	}
	cache.write("a", []byte("graph"))
	cache.dir = plugin // in which nothing can be written
	cache.write("b", []byte("graph"))
	if n := cache.written.Load(); n != 1 {
		t.Errorf("%d graphs were stored, want 1", n)
	}
	must(t, os.Chmod(dir, 0o770))
	if open(dir) != nil {
		t.Error("a cache in a folder to which the group can write")
	}
	if open("off") != nil {
		t.Error("a cache though it is off")
	}
	if open(plugin) != nil {
		t.Error("a cache in a file")
	}
	must(t, os.Remove(plugin))
	if open(filepath.Join(t.TempDir(), "cache")) != nil {
		t.Error("a cache for a plugin that is missing")
	}
}

// Compiled graphs are machine code: they are readable for the user alone whatever the umask is, and
// what others own or can write to is not loaded. Nothing waits for a named pipe.
func TestGraphsAreSafe(t *testing.T) {
	umask := syscall.Umask(0)
	defer syscall.Umask(umask)
	c := &graphCache{dir: t.TempDir()}
	path := filepath.Join(c.dir, "a")
	if err := os.WriteFile(path, nil, 0o666); err != nil { // one that an older program wrote
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o666, 0} {
		if mode != 0 {
			must(t, os.Chmod(path, mode))
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		c.write("a", []byte("graph"))
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("the mode is %v, %v; want 0600", info.Mode(), err)
		}
	}
	for _, damage := range []struct {
		name string
		do   func() error
	}{
		{"the group can write", func() error { return os.Chmod(path, 0o620) }},
		{"others can write", func() error { return os.Chmod(path, 0o602) }},
		{"another user's", func() error { return os.Chown(path, 12345, -1) }},
		{"a named pipe", func() error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
		}},
		{"a folder", func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
	} {
		c.remove("a")
		c.write("a", []byte("graph"))
		if _, ok := c.read("a"); !ok {
			t.Errorf("%s: the graph cannot be read before", damage.name)
		}
		if err := damage.do(); err != nil {
			t.Logf("%s: not tried: %v", damage.name, err)
			continue
		}
		read := make(chan bool, 1)
		go func() {
			_, ok := c.read("a")
			read <- ok
		}()
		select {
		case ok := <-read:
			if ok {
				t.Errorf("%s: the graph is loaded", damage.name)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: reading waits", damage.name)
		}
	}
}

// bytesEnv makes [TestBytesWithoutCache] a child that writes what its graphs compute.
const bytesEnv = "HEADWATER_TEST_BYTES"

// A graph computes the same bytes whether compiled graphs can be kept or not, and also when it is
// loaded. Each way is a process, because the plugin is changed once.
func TestBytesWithoutCache(t *testing.T) {
	if os.Getenv(bytesEnv) != "" {
		writeBytes(t)
		return
	}
	if _, err := xlaplugin.Find(); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	replace(t, file, nil)
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(open, 0o700))
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	want := ""
	for _, c := range []struct{ name, cache string }{
		{"compiled and kept", kept}, {"loaded", kept}, {"off", "off"},
		{"no folder can be made", filepath.Join(file, "cache")}, {"others can write", open},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBytesWithoutCache$", "-test.v")
		cmd.Env = append(os.Environ(), bytesEnv+"=1", cacheEnv+"="+c.cache)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		_, got, ok := strings.Cut(string(out), "result: ")
		got, _, _ = strings.Cut(got, "\n")
		if !ok || want != "" && got != want {
			t.Errorf("%s: the result has the hash %q, want %q", c.name, got, want)
		}
		want = got
	}
	if names, err := os.ReadDir(kept); err != nil || len(names) == 0 {
		t.Errorf("no graph was kept, %v", err)
	}
}

// writeBytes multiplies two matrices of random numbers, and writes the hash of the result.
func writeBytes(t *testing.T) {
	backend, err := backends.Open("xla")
	must(t, err)
	const rows, inner = 48, 576
	random := rand.New(rand.NewPCG(1, 2))
	matrix := func(rows, columns int) [][]float32 {
		all := make([][]float32, rows)
		for i := range all {
			all[i] = make([]float32, columns)
			for j := range all[i] {
				all[i][j] = float32(random.NormFloat64())
			}
		}
		return all
	}
	product := graph.MustNewExec(backend, func(x, y *graph.Node) *graph.Node {
		return graph.Dot(graph.Softmax(graph.Dot(x, y).Product()), y).Product()
	})
	defer product.Finalize()
	got := product.MustCall(matrix(rows, inner), matrix(inner, inner))[0].Value()
	fmt.Printf("result: %x\n", sha256.Sum256(fmt.Appendf(nil, "%v", got)))
}

func TestProcessorName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpuinfo")
	replace(t, path, []byte("processor\t: 0\nmodel name\t: One\ncpu MHz\t: 1234\nflags\t: a b\n\n"+
		"processor\t: 1\nmodel name\t: Two\nflags\t: c\n"))
	got, err := processorName(path)
	if want := "model name\t: One\nflags\t: a b"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	replace(t, path, []byte("model name\t: One\n"))
	if _, err := processorName(path); err == nil {
		t.Error("a processor without flags has a name")
	}
}

const product = `%%1 = "stablehlo.dot_general"(%%0, %%0) {
      dot_dimension_numbers = #stablehlo.dot<
  lhs_batching_dimensions = [0],
  rhs_batching_dimensions = [0],
  lhs_contracting_dimensions = [%s],
  rhs_contracting_dimensions = [2]
>,
    } : (tensor<%s>, tensor<3x7x5xf32>) -> tensor<%s>
`

func TestProductOperations(t *testing.T) {
	for _, c := range []struct {
		axes, left, result string
		want               float64
		ok                 bool
	}{
		{"2", "3x4x5xf32", "3x4x7xf32", 2 * 3 * 4 * 7 * 5, true},
		{"1, 2", "3x4x5xbf16", "3x7xbf16", 2 * 3 * 7 * 4 * 5, true},
		{"0", "5xf32", "f32", 2 * 5, true},
		{"", "f32", "f32", 0, false},
		{"3", "3x4x5xf32", "3x4x7xf32", 0, false},
		{"2", "?xf32", "3xf32", 0, false},
	} {
		text := fmt.Sprintf(product, c.axes, c.left, c.result)
		got, ok := productOperations([]byte(text))
		if got != c.want || ok != c.ok {
			t.Errorf("%v: %v, %v; want %v, %v", c, got, ok, c.want, c.ok)
		}
		if small := smallProducts([]byte(text + text)); small != c.ok {
			t.Errorf("%v: small %v, want %v", c, small, c.ok)
		}
	}
	large := fmt.Sprintf(product, "2", "100x1000x1000xf32", "100x1000x10xf32")
	if !smallProducts([]byte(large)) || smallProducts([]byte(large+large+large)) {
		t.Error("the products of a graph do not add up")
	}
}

// Graphs are loaded from the cache: a graph in whose place the cache has another one computes what
// that one does. Damaged files are compiled again.
func TestGraphsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	t.Setenv(cacheEnv, dir)
	backend, err := backends.Open("xla")
	if err != nil {
		t.Skip("no XLA plugin: ", err)
	}
	add := func(term float64) float32 {
		sum := graph.MustNewExec(backend, func(x *graph.Node) *graph.Node {
			return graph.AddScalar(x, term)
		})
		defer sum.Finalize()
		return sum.MustCall(float32(10))[0].Value().(float32)
	}
	file := func(known ...string) string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		must(t, err)
		for _, name := range names {
			if len(known) == 0 || name != known[0] {
				return name
			}
		}
		t.Fatalf("the cache has %v", names)
		return ""
	}
	check := func(what string, got, want float32) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("compiled", add(1), 11)
	one := file()
	check("compiled", add(2), 12)
	two := file(one)
	check("loaded", add(1), 11)
	good, err := os.ReadFile(one)
	must(t, err)
	other, err := os.ReadFile(two)
	must(t, err)
	replace(t, one, other)
	check("another graph in its place", add(1), 12)
	for name, data := range map[string][]byte{
		"truncated": good[:len(good)-1], "empty": nil,
		"no graph": append(graphHead([]byte("no graph")), "no graph"...),
	} {
		replace(t, one, data)
		check(name, add(1), 11)
		if _, ok := theCompiler.cache.read(filepath.Base(one)); !ok {
			t.Errorf("%s: the file was not written again", name)
		}
		check(name+", then loaded", add(1), 11)
	}
}

// Package deps holds the import policy of the project: the picture in CONTRIBUTING as a table,
// checked against the code.
//
// The tables state a policy. A build that breaks one is wrong, not the table: an edge is added only
// when the layers are meant to change, and the commit that does so says why. A new package needs a
// row.
package deps

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/headwater-ml/headwater/"

// allowed is, for every package of the project, what its code may import beyond the standard
// library, internal/errorkind and internal/message, which say what errors are: paths of our own
// without the module's name, and prefixes of foreign paths. "..." at the end takes all packages
// below as well. A package may stand here before it exists.
var allowed = map[string][]string{
	// Names of plugins, sums over rows.
	"internal/errorkind":  nil,
	"internal/message":    nil,
	"internal/rowmath":    nil,
	"internal/jsonread":   {"github.com/go-json-experiment/json/jsontext"},
	"internal/registry":   nil,
	"internal/budget":     {"attribution/trace"},
	"internal/atomicfile": nil,
	"internal/kernel":     nil,
	"internal/hostmemory": nil,

	// Models with given answers, for the tests of methods.
	"internal/fakemodel": {"attribution/trace"},

	// What models and methods share; producers and consumers meet here.
	"attribution/trace": {"internal/jsonread"},

	// Texts divided into words, sentences, turns and ranges: no model and no numbers.
	"attribution/units": {"attribution/trace", "github.com/rivo/uniseg"},

	// Methods over a trace: no graphs, no notebooks, no drawing.
	"attribution": {
		"attribution/trace", "attribution/aggregation", "internal/maxflow",
		"attribution/scorer", "attribution/units", "internal/budget", "internal/registry",
		"internal/rowmath", gonum,
	},
	"attribution/aggregation": {
		"attribution/trace", "internal/maxflow",
		"internal/registry", "internal/rowmath", gonum,
	},
	"internal/maxflow": {"attribution/trace", gonum},
	"attribution/scorer": {
		"attribution/trace", "attribution/aggregation", "internal/budget",
		"internal/registry", "internal/rowmath", gonum,
	},
	"attribution/focus": {"attribution/trace", "internal/rowmath"},
	// Studies of a text beside the methods. None knows another; the first links them all.
	"attribution/study": {"internal/study/..."},
	"internal/study/heads": {
		"attribution", "attribution/trace", "attribution/units", "internal/rowmath",
	},
	"internal/study/lens":   {"attribution", "attribution/trace"},
	"internal/study/patch":  {"attribution", "attribution/trace", gonum},
	"internal/study/scores": {"attribution", "attribution/trace", "internal/rowmath"},
	"internal/study/verdict": {
		"attribution", "attribution/scorer", "attribution/trace", "attribution/units",
		"internal/rowmath",
	},
	"internal/study/without": {
		"attribution", "attribution/trace", "attribution/units", "internal/rowmath",
	},
	"attribution/evaluate": {
		"attribution", "attribution/trace", "attribution/scorer", "attribution/units",
		"internal/rowmath", gonum,
	},
	// Two explanations with the same columns.
	"internal/compare": {
		"attribution", "attribution/trace", "attribution/units", "internal/message",
		"internal/rowmath",
	},
	// Which sentence of documents caused an answer.
	"internal/sources": {
		"attribution", "attribution/trace", "attribution/evaluate", "attribution/units",
		"internal/rowmath",
	},
	"internal/tasks": {
		"attribution/evaluate", "attribution/trace",
	},
	"attribution/attributiontest": {
		"attribution", "attribution/trace", "attribution/aggregation", "attribution/scorer", gonum,
	},

	// The model: graphs, weights, tokens. It knows what a trace is, and nothing of attribution.
	"models/spec":            nil,
	"internal/checkpoint":    {"internal/atomicfile", "internal/jsonread", "golang.org/x/sys/..."},
	"internal/hub":           {"internal/atomicfile", "github.com/gofrs/flock"},
	"internal/ollama":        {"internal/atomicfile"},
	"internal/chat":          {"internal/jsonread", "golang.org/x/text/..."},
	"internal/sentencepiece": nil,
	"internal/tokenizer": {
		"internal/jsonread", "internal/sentencepiece",
		"github.com/rivo/uniseg", "golang.org/x/text/...",
		"github.com/dlclark/regexp2", // in a test alone: the reference of its regular expressions
	},
	"models/family": {"internal/registry", "models/spec"},
	"internal/gguf": {
		"internal/checkpoint", "internal/sentencepiece", "models/family", "models/spec",
	},
	"internal/gguf/gguftest": {"internal/checkpoint"},

	// A transformer: weights, graphs over them, programs, passes and questions, each on those
	// before it.
	"models/transformer/internal/host": {gomlx, compute},
	"models/transformer/internal/codes": {
		"models/spec", "models/transformer/internal/host", gomlx, compute,
	},
	"models/transformer/internal/graph": {
		"attribution/trace", "internal/registry", "models/spec",
		"models/transformer/internal/codes",
		gomlx, compute,
	},
	"models/transformer/internal/logit": {
		"attribution/trace", "internal/rowmath", "models/spec", "models/transformer/internal/codes",
		"models/transformer/internal/graph", gomlx, compute,
	},
	"models/transformer/internal/program": {
		"models/transformer/internal/codes", "models/transformer/internal/host", gomlx, compute,
	},
	"models/transformer/internal/edit": {
		"attribution/trace", "models/spec", "models/transformer/internal/codes",
		"models/transformer/internal/graph", "models/transformer/internal/host",
		"models/transformer/internal/program", gomlx, compute,
	},
	"models/transformer/internal/run": {
		"attribution/trace", "models/spec", "models/transformer/internal/codes",
		"models/transformer/internal/edit",
		"models/transformer/internal/graph", "models/transformer/internal/host",
		"models/transformer/internal/logit", "models/transformer/internal/program", gomlx, compute,
	},
	"models/transformer/internal/ask": {
		"attribution/trace", "models/spec", "models/transformer/internal/codes",
		"models/transformer/internal/edit",
		"models/transformer/internal/graph", "models/transformer/internal/host",
		"models/transformer/internal/logit", "models/transformer/internal/program",
		"models/transformer/internal/run", gomlx, compute,
	},
	"models/transformer": {
		"attribution/trace", "models/spec", "models/transformer/internal/...", gomlx, compute,
	},
	// What graphs run on.
	"internal/backends": {"attribution/trace", gomlx, compute},
	"internal/planted":  {"internal/checkpoint"},
	"internal/tiny":     {"internal/checkpoint", "internal/tokenizer"},
	"models": {
		"attribution/trace", "internal/atomicfile", "internal/backends", "internal/hostmemory",
		"internal/rowmath", "internal/chat", "internal/checkpoint", "internal/gguf", "internal/hub",
		"internal/ollama", "internal/planted", "internal/tiny", "internal/tokenizer",
		"models/family", "models/spec", "models/transformer", gomlx, compute,
	},
	"models/modeltest": {
		"attribution/trace", "internal/backends", "internal/checkpoint", "internal/modelgolden",
		"internal/testhelp", "models/family", "models/spec", "models/transformer", gomlx, compute,
	},
	"models/xla": {
		"internal/backends", "internal/atomicfile", "internal/xlaplugin",
		"github.com/gomlx/go-xla/...", gomlx,
		"golang.org/x/sys/cpu",
	},
	"internal/xlaplugin": {"internal/atomicfile", "github.com/gomlx/go-xla/installer"},
	"internal/golden":    {"internal/checkpoint", "models/transformer"},
	// For tests alone.
	"internal/modelgolden": {
		"attribution/trace", "internal/backends", "internal/checkpoint", "internal/golden",
		"internal/testhelp", "models/family", "models/spec", "models/transformer", gomlx, compute,
	},
	"internal/mutant":           nil, // for tests alone
	"internal/testhelp":         nil, // for tests alone
	"internal/testhelp/hostile": nil,
	"internal/certificate": {
		"attribution/trace", "internal/golden", "models", "internal/checkpoint", "models/spec",
		"models/transformer",
	},
	"internal/train": {
		"internal/checkpoint", "internal/tiny", "internal/tokenizer", "models/family",
		"models/spec", "models/transformer", gomlx, compute,
	},

	// Values to bytes.
	"gonbext/render": {
		"attribution", "attribution/trace", "internal/compare", "attribution/evaluate",
		"attribution/focus", "internal/study/...", "attribution/units", "internal/sources",
		"gonbext/render/chart", "internal/registry", "internal/rowmath",
		"github.com/dop251/goja", // in a test alone: it runs the scripts of pictures
	},
	"gonbext/render/rendertest": {
		"attribution", "attribution/trace", "gonbext/render", "internal/testhelp/hostile",
	},
	"gonbext/render/chart": nil,
	// What comes out when a published figure is made again: cells show it.
	"internal/reproduction": {"gonbext/render/chart"},
	// The only package besides the benchmarks that draws files: the command and the engine link it.
	"internal/export/figure": {
		"attribution", "internal/compare", "gonbext/render", "gonbext/render/chart",
		"gonum.org/v1/plot/...",
		"golang.org/x/image/...", // the outlines of its font
	},

	// Explanations as files: the command and the engine link it.
	"internal/export": {
		"internal/study/...", "attribution/units",
		"attribution", "internal/compare", "attribution/trace", "gonbext/render",
		"internal/export/figure", "internal/atomicfile", "internal/checkpoint", "internal/jsonread",
		"github.com/parquet-go/parquet-go/...",
	},

	// What a cell calls, light; and what serves it.
	"gonbext": {
		"internal/study/patch", "attribution/units",
		"attribution", "internal/sources", "attribution/trace", "internal/engine",
		"gonbext/render", "gonbext/render/chart", "internal/reproduction",
		"internal/atomicfile", gonum,
		"github.com/janpfeifer/gonb/gonbui/...",
	},
	"internal/engine": {
		"attribution/study",
		"attribution", "internal/sources", "attribution/trace", "internal/jsonread",
	},
	"internal/engine/server": {
		"attribution", "internal/sources", "attribution/trace", "internal/engine",
	},
	"gonbext/local": {"attribution", "attribution/study", "attribution/trace", "internal/engine",
		"internal/engine/server", "internal/backends", "internal/hostmemory", "internal/hub",
		"models", "models/transformer"},

	// Records of a data set, explained in shards that many machines share.
	"internal/corpus": {
		"internal/study/scores", "internal/study/without",
		"attribution", "attribution/trace", "internal/atomicfile", "internal/jsonread",
		"internal/corpus/bucket", "github.com/parquet-go/parquet-go/...", "golang.org/x/text/...",
	},
	"internal/corpus/bucket":            {"github.com/minio/minio-go/v7/..."},
	"internal/corpus/bucket/buckettest": nil,
	// A page of a corpus: it draws charts, which the machines that make shards do not need.
	"internal/corpus/report": {
		"gonbext/render", "gonbext/render/chart", "internal/export/figure", "internal/corpus",
		"internal/rowmath",
	},

	// Where layers are joined: what all commands share, and a folder for each family of them.
	"internal/cli": {
		"attribution/study",
		"attribution", "attribution/trace", "gonbext/render", "internal/atomicfile",
		"internal/checkpoint", "internal/corpus", "internal/gguf",
		"internal/backends", "internal/hub", "internal/jsonread", "internal/xlaplugin", "models",
		"models/xla", cobra, "github.com/spf13/pflag", "github.com/schollz/progressbar/v3",
	},
	"internal/cli/clitest": {
		"attribution", "internal/checkpoint", "internal/cli", "internal/testhelp",
	},
	"cmd/headwater":        {"cmd/headwater/...", "internal/cli"},
	"cmd/headwater/bench":  commands,
	"cmd/headwater/corpus": commands,
	"cmd/headwater/engine": slices.Concat(commands, []string{
		"cmd/headwater/explain", "internal/engine", "gonbext/local",
	}),
	"cmd/headwater/explain": slices.Concat(commands, []string{"internal/engine"}),
	"cmd/headwater/figures": commands,
	"cmd/headwater/machine": commands,
	"cmd/headwater/trace":   commands,
	// The figures of the documents: what the command and the engine make.
	"internal/figures": {
		"attribution", "attribution/trace", "attribution/evaluate",
		"internal/tasks", "attribution/focus",
		"gonbext/render", "gonbext/render/chart", "internal/export/figure",
		"internal/reproduction", "internal/rowmath", "models/spec",
		"internal/tiny",
	},
	"cmd/train-tiny":        {"internal/backends", "internal/tiny", "internal/train", "models/xla"},
	"internal/deps":         nil,
	"internal/e2e":          {everything},
	"internal/e2e/backends": {everything},
	"internal/e2e/browser":  {everything},
	"internal/e2e/chromium": {"github.com/chromedp/...", "github.com/google/go-cmp/cmp"},
	"internal/e2e/cluster":  {"internal/e2e/command", "github.com/parquet-go/parquet-go"},
	"internal/e2e/command":  nil,
	"internal/e2e/fixture": {"attribution", "attribution/trace", "gonbext/render",
		"internal/backends", "models"},
	"internal/e2e/firstminutes": {"internal/e2e/command"},
	"internal/e2e/hostile":      {everything},
	"internal/e2e/methods":      {everything},
	"internal/e2e/mutation": {"internal/e2e/command", "internal/checkpoint",
		"internal/gguf/gguftest"},
	"internal/e2e/notebook":   {"internal/e2e/command", "internal/e2e/published"},
	"internal/e2e/published":  {"internal/testhelp", "golang.org/x/mod/..."},
	"internal/e2e/realmodels": {everything},
	"internal/e2e/release":    {"internal/e2e/published", "golang.org/x/mod/..."},
	"internal/bench/corpus": {"internal/bench/meter", "models", "internal/tiny", "models/xla",
		"github.com/parquet-go/parquet-go"},
	"internal/bench/batch": {"attribution", "attribution/trace", "internal/bench/meter",
		"models", "models/xla"},
	"internal/bench/meter": {"attribution/trace", "models"},
	"internal/bench/flowbench": {"attribution", "internal/maxflow",
		"attribution/trace", "internal/bench/flowmaps", "internal/bench/meter", "models"},
	"internal/bench/flowmaps": nil,
	"internal/bench/growth": {"attribution", "attribution/trace", "internal/bench/meter",
		"models", "internal/checkpoint", "models/xla", gonum, "gonum.org/v1/plot/..."},
	"internal/bench/methodpage": {"attribution/evaluate", "attribution/trace",
		"gonum.org/v1/plot/..."},
	"internal/bench/quantized": {"attribution/trace", "internal/backends", "internal/bench/meter",
		"internal/gguf", "models/transformer", "models/xla", compute},
	"internal/prose": nil,
	"internal/site":  {"github.com/yuin/goldmark/..."}, // the documents as pages
}

const (
	gonum      = "gonum.org/v1/gonum/..."
	gomlx      = "github.com/gomlx/gomlx/..."
	compute    = "github.com/gomlx/compute/..."
	cobra      = "github.com/spf13/cobra"
	everything = "..."
)

// commands is what a family of commands may import: layers to join, but no other family. The
// engine makes the files of a cell as explain does.
var commands = []string{
	"attribution/...", "gonbext/render", "models/...", "internal/...", cobra,
	"github.com/spf13/pflag", "github.com/schollz/progressbar/v3",
}

// allowedInTests is what any test may import as well, and allowedOutside what the external tests
// and the examples of a package may, which compile apart from it.
var (
	allowedInTests = []string{
		"github.com/google/go-cmp/cmp/...", "internal/mutant", "internal/testhelp/...",
	}
	allowedOutside = map[string][]string{
		"attribution": {
			"attribution/attributiontest", "attribution/study", "internal/study/...",
			"internal/checkpoint",
			"internal/fakemodel", "models", "models/...",
		},
		"attribution/aggregation": {"attribution/attributiontest", "internal/fakemodel"},
		"attribution/scorer":      {"attribution/attributiontest", "internal/fakemodel"},
		// The example of Run, and models with given rows.
		"attribution/evaluate": {"internal/fakemodel", "models", "internal/planted",
			"internal/tiny"},
		"internal/sources": {"internal/fakemodel", "models"},
		"attribution/focus": {
			"models", "internal/checkpoint", "models/spec",
		}, // parity with real blocks
		"internal/study/heads":   {"internal/fakemodel"},
		"internal/export/figure": {"internal/study/patch"},
		"internal/study/patch":   {"internal/planted", "models"}, // planted paths, parity
		"internal/study/verdict": {"internal/fakemodel", "internal/registry", "models"},
		"internal/study/without": {"internal/study/scores", "internal/fakemodel", "models"},
		"internal/maxflow":       {"internal/bench/flowmaps"},
		"gonbext":                {"internal/study/...", "models", "models/..."},
		"gonbext/render":         {"gonbext/render/rendertest", "models"}, // every view
		"models": {"attribution", "models/...", "internal/checkpoint",
			"internal/gguf/gguftest", "internal/modelgolden"},
		// The two ends of one protocol are tested together.
		"internal/engine":        {"internal/engine/server", "internal/fakemodel"},
		"internal/engine/server": {"internal/study/...", "internal/fakemodel"},
		// A parity test opens real checkpoints.
		"models/transformer": {
			"internal/checkpoint", "internal/modelgolden", "internal/rowmath", "models/family",
			"models/modeltest", "models/xla",
		},
		// The mixings, which are registered by the package above.
		"models/transformer/internal/graph": {"models/transformer"},
		"models/family":                     {"models/modeltest"},
		"internal/gguf":                     {"internal/gguf/gguftest", "internal/tokenizer"},
		"internal/planted":                  {"attribution/trace", "models"},
		"internal/figures":                  {"models"},
		// A bucket in memory.
		"internal/corpus":        {"internal/corpus/bucket/buckettest"},
		"internal/corpus/bucket": {"internal/corpus/bucket/buckettest"},
		// A plan for a model with given answers.
		"internal/corpus/report": {"attribution"},
		"internal/train":         {"models"},
	}
)

// forbidden is what must not be linked into a package, directly or through others.
var forbidden = map[string][]string{
	"attribution/...": {"github.com/gomlx/...", "github.com/janpfeifer/...",
		"gonum.org/v1/plot/...", "models/...", "net"},
	"models": {"github.com/gomlx/go-xla/...", "github.com/janpfeifer/...",
		"gonum.org/v1/plot/..."},
	"models/transformer": {"github.com/gomlx/go-xla/..."},
	"models/family":      {"github.com/gomlx/go-xla/..."},
	"gonbext/render": {"github.com/gomlx/...", "github.com/janpfeifer/...",
		"gonum.org/v1/plot/...", "net", "os/exec"},
	"internal/export/figure": {"github.com/gomlx/...", "github.com/janpfeifer/...", "models/..."},
	"internal/engine": {"github.com/gomlx/...", "github.com/janpfeifer/...",
		"gonum.org/v1/plot/..."},
	"gonbext": {"github.com/gomlx/...", "gonum.org/v1/plot/...", "models/...",
		"internal/checkpoint", "internal/gguf"},
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath   string
	ForTest      string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

func TestImports(t *testing.T) {
	pkgs := list(t, "CGO_ENABLED=1")
	for _, path := range slices.Sorted(maps.Keys(pkgs)) {
		name, ours := strings.CutPrefix(path, module)
		if !ours {
			continue
		}
		p := pkgs[path]
		row, ok := allowed[name]
		if !ok {
			t.Errorf("%s has no row in the table: say what it may import", name)
			continue
		}
		row = append(slices.Clone(row), "internal/errorkind", "internal/message")
		check(t, pkgs, name, "", p.Imports, row)
		if strings.HasPrefix(name, "cmd/headwater") { // a test runs the commands of all families
			row = slices.Concat(row, commands, []string{"cmd/headwater/..."})
		}
		// A package's own external tests import it.
		row = slices.Concat(row, allowedInTests, []string{name})
		check(t, pkgs, name, "'s tests", p.TestImports, row)
		outside := slices.Concat(row, allowedOutside[name])
		check(t, pkgs, name, "'s external tests", p.XTestImports, outside)
	}
}

func check(t *testing.T, pkgs map[string]listed, name, whose string, imports, row []string) {
	t.Helper()
	for _, path := range imports {
		if pkgs[path].Standard || path == "C" || matchesAny(row, path) {
			continue
		}
		t.Errorf("%s%s may not import %s; allowed are the standard library and %q",
			name, whose, path, row)
	}
}

func TestForbidden(t *testing.T) {
	pkgs := list(t, "CGO_ENABLED=1")
	for _, pattern := range slices.Sorted(maps.Keys(forbidden)) {
		for _, path := range slices.Sorted(maps.Keys(pkgs)) {
			if !matches(pattern, path) {
				continue
			}
			for _, dep := range pkgs[path].Deps {
				if matchesAny(forbidden[pattern], dep) {
					t.Errorf("%s links %s, which %s must not", path, dep, pattern)
				}
			}
		}
	}
}

// Without cgo nothing links XLA, or the project would not build without a C compiler.
func TestWithoutCgo(t *testing.T) {
	pkgs := list(t, "CGO_ENABLED=0")
	for path := range pkgs {
		if strings.HasPrefix(path, "github.com/gomlx/go-xla/") {
			t.Errorf("%s is linked without cgo", path)
		}
	}
}

// A pattern that matched everything, or nothing, would make the tables above say nothing.
func TestMatches(t *testing.T) {
	cases := []struct {
		pattern, path string
		want          bool
	}{
		{"models", module + "models", true},
		{"models", module + "models/xla", false},
		{"models", "models", false},
		{"models/...", module + "models", true},
		{"models/...", module + "models/spec", true},
		{"models/...", module + "modelsx", false},
		{gonum, "gonum.org/v1/gonum/mat", true},
		{gonum, "gonum.org/v1/plot", false},
		{"net", "net", true},
		{"net", "net/http", false},
		{everything, "example.com/x", true},
	}
	for _, c := range cases {
		if got := matches(c.pattern, c.path); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

// matches returns whether an import path is meant by a pattern: a foreign one as it is, one of ours
// without the module's name, and "..." at the end for everything below.
func matches(pattern, path string) bool {
	if pattern == everything {
		return true
	}
	first, _, _ := strings.Cut(pattern, "/")
	if slices.Contains([]string{"attribution", "models", "gonbext", "cmd", "internal"}, first) {
		pattern = module + pattern
	}
	tree, below := strings.CutSuffix(pattern, "/...")
	return path == tree || below && strings.HasPrefix(path, tree+"/")
}

// list returns the packages of the module and all that they and their tests link, by import path.
// Variants that are compiled for a test are left out: their imports stand in TestImports and
// XTestImports.
func list(t *testing.T, env string) map[string]listed {
	t.Helper()
	touchSources(t)
	cmd := exec.Command("go", "list", "-deps", "-test",
		"-json=ImportPath,ForTest,Standard,Imports,TestImports,XTestImports,Deps", module+"...")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	pkgs := make(map[string]listed)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") {
			pkgs[p.ImportPath] = p
		}
	}
}

// touchSources looks at every source file, so that go test runs this test again when one has
// changed: it does not see what the go command that we start reads.
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && len(d.Name()) > 2 && d.Name()[0] == '.' {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".go" || d.Name() == "go.mod" {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

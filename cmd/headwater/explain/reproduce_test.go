package explain

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/export"
)

// A figure, a table and a graph of one run are made again byte for byte; of a changed file the
// command names the difference, with the status of an error.
func TestReproduce(t *testing.T) {
	save(t, "--methods", "rollout,flow", "-o", "a.svg", "-o", "a.parquet",
		"-o", "a.neuronpedia.json", "--size", "column")
	for _, name := range []string{"a.svg", "a.parquet", "a.neuronpedia.json"} {
		out := headwater.Output(t, "reproduce", name)
		if want := name + ": made again, byte for byte the same\n"; out != want {
			t.Errorf("reproduce %s = %q, want %q", name, out, want)
		}
	}
	file, err := os.ReadFile("a.svg")
	must(t, err)
	for _, c := range []struct{ old, with, want string }{
		{`"hash":"`, `"hash":"0`, "a.svg: model hash: 0"},
		{`"prompt":"the keys`, `"prompt":"the key`, "a.svg: prompt tokens: ["},
		{`"version":"`, `"version":"v0.0.1-`, "a.svg: apart from the version, byte for byte"},
	} {
		changed := bytes.Replace(file, []byte(c.old), []byte(c.with), 1)
		if bytes.Equal(changed, file) {
			t.Fatalf("the file has no %s", c.old)
		}
		must(t, os.WriteFile("a.svg", changed, 0o600))
		_, out, _ := headwater.Execute(t, "", "reproduce", "a.svg")
		if !strings.Contains(out, c.want) {
			t.Errorf("with %s it says %q, want %q", c.with, out, c.want)
		}
	}
}

// TestReproducePage: the page of each view is made again byte for byte, with all that flags say of
// how it looks, and so is JSON in a file.
func TestReproducePage(t *testing.T) {
	for _, flags := range [][]string{
		{},
		{"--filter", "--palette", "perceptual"},
		{"--by", "word", "--methods", "rollout"},
		{"--view", "layers"},
		{"--view", "layers", "--token", "0,1", "--methods", "raw", "--filter"},
		{"--view", "heads", "--palette", "perceptual"},
		{"--view", "flow", "--token", "1", "--source", "2"},
		{"--view", "flow"},
		{"--view", "maps", "--methods", "raw", "--layer", "2"},
		{"--token", "1", "--prove", "opening"},
		{"--view", "lens"},
		{"--view", "lens", "--token", "1", "--set", "foils=2"},
		{"--view", "compare", "--methods", "direct,value-zeroing", "--by", "word"},
		{"--view", "compare", "--methods", "raw@2,raw@5"},
		{"--against", "the key to the cabinet", "--methods", "rollout"},
	} {
		t.Chdir(t.TempDir())
		headwater.Output(t, append([]string{
			"explain", "--backend", "go", "--max-tokens", "2", "-o", "a.html", clitest.Prompt,
		}, flags...)...)
		want := "a.html: made again, byte for byte the same\n"
		if out := headwater.Output(t, "reproduce", "a.html"); out != want {
			t.Errorf("%v: %q, want %q", flags, out, want)
		}
	}
	headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "2", "--token", "1",
		"-o", "token.html", "-o", "a.json", clitest.Prompt)
	for _, name := range []string{"token.html", "a.json"} {
		want := name + ": made again, byte for byte the same\n"
		if out := headwater.Output(t, "reproduce", name); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	}
	out := headwater.Output(t, "explain", "--backend", "go", "--format", "json", clitest.Prompt)
	clitest.Write(t, "b.json", []byte(out))
	status, _, said := headwater.Execute(t, "", "reproduce", "b.json")
	if status != cli.StatusError || !strings.Contains(said, "files of other commands have none") {
		t.Errorf("status %d, %q", status, said)
	}
}

// TestReproducePath: a file has no path of its model, only the last part of it; with the same model
// by another path it is made again byte for byte.
func TestReproducePath(t *testing.T) {
	data, err := filepath.Abs(filepath.Join(clitest.Root, "internal", "tiny", "data"))
	must(t, err)
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"one", "two"} {
		must(t, os.Symlink(data, filepath.Join(dir, name)))
	}
	headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1", "--model", dir+"/one",
		"-o", "a.html", "-o", "a.svg", "-o", "b.svg", "--view", "compare", clitest.Prompt)
	for _, name := range []string{"a.html", "a.svg", "b.svg"} {
		file, err := os.ReadFile(name)
		if err != nil || bytes.Contains(file, []byte(dir)) {
			t.Errorf("%s: %v, or it has the path of the model", name, err)
		}
		want := name + ": made again, byte for byte the same\n"
		for _, path := range []string{"./one", "two"} {
			if out := headwater.Output(t, "reproduce", "--model", path, name); out != want {
				t.Errorf("with %s: %q, want %q", path, out, want)
			}
		}
	}
}

// TestReproduceBackendOfB: the models of a comparison may have run on two backends, as a model on
// XLA beside an embedded one, and each runs on its own again unless a flag names one for both.
func TestReproduceBackendOfB(t *testing.T) {
	made := func(name, hash, backend string, local bool) *export.Made {
		m := export.MadeModel{Name: name, Hash: hash, Backend: backend, Local: local}
		return &export.Made{Model: m}
	}
	for name, c := range map[string]struct {
		a, b           *export.Made
		given          cli.ModelFlags
		model, backend string
	}{
		"embedded": {
			made("data", "1", "xla", true), made("tiny-alibi", "2", "go", false),
			cli.ModelFlags{Model: "path/to/data"},
			"tiny-alibi", "go",
		},
		"equal weights": {
			made("tiny", "1", "go", false), made("data", "1", "xla", true),
			cli.ModelFlags{},
			"tiny", "xla",
		},
		"flag": {
			made("data", "1", "xla", true), made("tiny", "2", "go", false),
			cli.ModelFlags{Model: "path/to/data", Backend: "xla"},
			"tiny", "xla",
		},
	} {
		c.a.Against = c.b
		a, err := modelOf(c.a, c.given)
		must(t, err)
		b, err := modelOfB(c.a, c.given, a)
		if err != nil || b.Model != c.model || b.Backend != c.backend {
			t.Errorf("%s: side B is %q on %q, %v; want %q on %q", name, b.Model, b.Backend, err,
				c.model, c.backend)
		}
	}
}

// A file from anybody cannot name a path to open, and another file is refused.
func TestReproduceRefusals(t *testing.T) {
	dir := save(t, "-o", "a.json")
	file, err := os.ReadFile("a.json")
	must(t, err)
	for _, name := range []string{
		"/etc", "../x", "a/../b", "~/x", ".", "a/b/c", `a\\b`, "", "a/", "a/.b", "a b",
	} {
		changed := bytes.Replace(file, []byte(`"model":{"name":"tiny"`),
			[]byte(`"model":{"name":"`+name+`"`), 2)
		at := bytes.LastIndex(changed, []byte(`"headwater":`))
		changed = append(bytes.Clone(file[:bytes.LastIndex(file, []byte(`"headwater":`))]),
			changed[at:]...)
		must(t, os.WriteFile("b.json", changed, 0o600))
		_, _, said := headwater.Execute(t, "", "reproduce", "b.json")
		if !strings.Contains(said, "name the model with --model") {
			t.Errorf("model %q: %q, want that it is refused", name, said)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "c.svg"), []byte("<svg/>"), 0o600))
	for name, text := range map[string]string{"c.html": "<!DOCTYPE html><p>", "c.json": "{"} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, want := range map[string]string{
		"c.svg": "it is not a figure that Headwater saved", "none.svg": "no such file",
		"c.html": "or its origin was removed: files of explain -o", "c.json": "it was cut short",
	} {
		status, _, said := headwater.Execute(t, "", "reproduce", name)
		if status != cli.StatusError || !strings.Contains(said, want) {
			t.Errorf("%s: status %d, %q; want %q", name, status, said, want)
		}
	}
}

// What reproduce refuses names the file and the key in it.
func TestReproduceNamesKeys(t *testing.T) {
	save(t, "-o", "a.json")
	file, err := os.ReadFile("a.json")
	must(t, err)
	for _, c := range []struct{ old, changed, want string }{
		{`"options":{`, `"options":{"shell":"rm",`, `cannot be read: unknown field "shell"`},
		{`"prompt_ids":[`, `"prompt_ids":["a",`, `cannot be read: "prompt_ids" is a string`},
		{`"max_tokens":2`, `"max_tokens":99999`, `its key "options": `},
		{`"options":{`, `"options":{"methods":["foo"],`, `its keys "prompt" and "options": unknown method "foo"`},
		{`"backend":"go"`, `"backend":"abacus"`, `its key "model.backend" is "abacus"`},
		{`"dtype":"float32"`, `"dtype":"float8"`, `its key "model.dtype" is "float8"`},
		{`"format":"json"`, `"format":"json","by":"page"`, `its key "by": grouping "page"`},
	} {
		at := bytes.LastIndex(file, []byte(`"headwater":`))
		changed := bytes.Replace(file[at:], []byte(c.old), []byte(c.changed), 1)
		if bytes.Equal(changed, file[at:]) {
			t.Fatalf("%s is not in the file", c.old)
		}
		must(t, os.WriteFile("b.json", slices.Concat(file[:at], changed), 0o600))
		_, _, said := headwater.Execute(t, "", "reproduce", "b.json")
		if !strings.Contains(said, "b.json: ") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, want %q", c.changed, said, c.want)
		}
	}
}

// A model of the Hub that a file names and that is not here is not asked for. The user may name it.
func TestReproduceAsksNobody(t *testing.T) {
	requests := atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, "no", http.StatusNotFound)
	}))
	defer server.Close()
	for key, value := range map[string]string{
		"HF_ENDPOINT": server.URL, "HF_HUB_CACHE": t.TempDir(), "HF_HUB_OFFLINE": "",
		"TRANSFORMERS_OFFLINE": "", "HF_TOKEN": "secret",
	} {
		t.Setenv(key, value)
	}
	const name = "somebody/model"
	save(t, "-o", "a.json")
	corpusOf(t, name)
	file, err := os.ReadFile("a.json")
	must(t, err)
	at := bytes.LastIndex(file, []byte(`"headwater":`))
	changed := bytes.Replace(file[at:], []byte(`"name":"tiny"`), []byte(`"name":"`+name+`"`), 1)
	must(t, os.WriteFile("b.json", slices.Concat(file[:at], changed), 0o600))
	for _, args := range [][]string{{"reproduce", "b.json"}, {"corpus", "run", "corpus"}} {
		status, _, said := headwater.Execute(t, "", args...)
		for _, want := range []string{
			name + " is not on this machine", "a file named it",
			"headwater download " + name + " brings it, or name a model with --model",
		} {
			if status != cli.StatusError || !strings.Contains(said, want) {
				t.Errorf("%v: status %d, %q; want %q", args, status, said, want)
			}
		}
		if n := requests.Swap(0); n != 0 {
			t.Errorf("%v: %d requests", args, n)
		}
		_, _, said = headwater.Execute(t, "", append(args, "--model", name)...)
		if n := requests.Swap(0); n == 0 {
			t.Errorf("%v --model: no request, %q", args, said)
		}
	}
}

// corpusOf plans a corpus in the folder corpus, and gives its model another name.
func corpusOf(t *testing.T, name string) {
	t.Helper()
	must(t, os.WriteFile("in.txt", []byte("the keys\n"), 0o600))
	headwater.Output(t, "corpus", "plan", "in.txt", "corpus", "--backend", "go",
		"--max-tokens", "1")
	path := filepath.Join("corpus", corpus.ManifestName)
	plan, err := os.ReadFile(path)
	must(t, err)
	changed := bytes.Replace(plan, []byte(`"tiny"`), []byte(`"`+name+`"`), 1)
	if bytes.Equal(changed, plan) {
		t.Fatal("the plan does not name its model")
	}
	must(t, os.WriteFile(path, changed, 0o600))
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/models"
)

// save runs explain with files in an empty folder and returns the folder.
func save(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	mustExecute(t, "", append([]string{
		"explain", "--backend", "go", "--max-tokens", "2", prompt,
	}, args...)...)
	return dir
}

// A figure, a table and a graph of one run are made again byte for byte; of a changed file the
// command says what differs, with the status of an error.
func TestReproduce(t *testing.T) {
	save(t, "--methods", "rollout,flow", "-o", "a.svg", "-o", "a.parquet",
		"-o", "a.neuronpedia.json", "--size", "column")
	for _, name := range []string{"a.svg", "a.parquet", "a.neuronpedia.json"} {
		out := mustExecute(t, "", "reproduce", name)
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
		_, out, _ := execute(t, "", "reproduce", "a.svg")
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
		{"--view", "compare", "--methods", "direct,value-zeroing", "--by", "word"},
		{"--view", "compare", "--methods", "raw@2,raw@5"},
		{"--against", "the key to the cabinet", "--methods", "rollout"},
	} {
		t.Chdir(t.TempDir())
		mustExecute(t, "", append([]string{
			"explain", "--backend", "go", "--max-tokens", "2", "-o", "a.html", prompt,
		}, flags...)...)
		want := "a.html: made again, byte for byte the same\n"
		if out := mustExecute(t, "", "reproduce", "a.html"); out != want {
			t.Errorf("%v: %q, want %q", flags, out, want)
		}
	}
	mustExecute(t, "", "explain", "--backend", "go", "--max-tokens", "2", "--token", "1", "-o",
		"token.html", "-o", "a.json", prompt)
	for _, name := range []string{"token.html", "a.json"} {
		want := name + ": made again, byte for byte the same\n"
		if out := mustExecute(t, "", "reproduce", name); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	}
	out := mustExecute(t, "", "explain", "--backend", "go", "--format", "json", prompt)
	write(t, "b.json", []byte(out))
	status, _, said := execute(t, "", "reproduce", "b.json")
	if status != statusError || !strings.Contains(said, "files of other commands have none") {
		t.Errorf("status %d, %q", status, said)
	}
}

// TestReproducePath: a file has no path of its model, only the last part of it; with the same model
// by another path it is made again byte for byte.
func TestReproducePath(t *testing.T) {
	data, err := filepath.Abs(filepath.Join("..", "..", "models", "tiny", "data"))
	must(t, err)
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"one", "two"} {
		must(t, os.Symlink(data, filepath.Join(dir, name)))
	}
	mustExecute(t, "", "explain", "--backend", "go", "--max-tokens", "1", "--model", dir+"/one",
		"-o", "a.html", "-o", "a.svg", "-o", "b.svg", "--view", "compare", prompt)
	for _, name := range []string{"a.html", "a.svg", "b.svg"} {
		file, err := os.ReadFile(name)
		if err != nil || bytes.Contains(file, []byte(dir)) {
			t.Errorf("%s: %v, or it has the path of the model", name, err)
		}
		want := name + ": made again, byte for byte the same\n"
		for _, path := range []string{"./one", "two"} {
			if out := mustExecute(t, "", "reproduce", "--model", path, name); out != want {
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
		given          modelFlags
		model, backend string
	}{
		"embedded": {
			made("data", "1", "xla", true), made("tiny-alibi", "2", "go", false),
			modelFlags{model: "path/to/data"},
			"tiny-alibi", "go",
		},
		"equal weights": {
			made("tiny", "1", "go", false), made("data", "1", "xla", true),
			modelFlags{},
			"tiny", "xla",
		},
		"flag": {
			made("data", "1", "xla", true), made("tiny", "2", "go", false),
			modelFlags{model: "path/to/data", backend: "xla"},
			"tiny", "xla",
		},
	} {
		c.a.Against = c.b
		a, err := modelOf(c.a, c.given)
		must(t, err)
		b, err := modelOfB(c.a, c.given, a)
		if err != nil || b.model != c.model || b.backend != c.backend {
			t.Errorf("%s: side B is %q on %q, %v; want %q on %q", name, b.model, b.backend, err,
				c.model, c.backend)
		}
	}
}

// TestSaveSideA: a table has one explanation, and of a comparison of two it says so.
func TestSaveSideA(t *testing.T) {
	t.Chdir(t.TempDir())
	_, _, said := execute(t, "", "explain", "--backend", "go", "--max-tokens", "1", "--against",
		"the key to the cabinet", "-o", "a.csv", "-o", "a.svg", prompt)
	if strings.Count(said, "numbers of side A alone") != 1 || !strings.Contains(said, "a.csv: it") {
		t.Errorf("it says %q", said)
	}
}

// A graph of flow needs no --methods, and with several the picture is the same.
func TestSaveGraph(t *testing.T) {
	save(t, "--view", "flow", "-o", "a.svg", "-o", "b.html")
	a, b := read(t, "a.svg"), read(t, "b.html")
	save(t, "--view", "flow", "--methods", "direct,flow", "-o", "a.svg", "-o", "b.html",
		"-o", "c.json")
	if !bytes.Equal(drawnOf(a), drawnOf(read(t, "a.svg"))) {
		t.Error("the graph without --methods differs from that of direct and flow")
	}
	_, one, _ := bytes.Cut(b, []byte("<body"))
	_, two, _ := bytes.Cut(read(t, "b.html"), []byte("<body"))
	if len(one) == 0 || !bytes.Equal(one, two) {
		t.Error("the page without --methods differs from that of direct and flow")
	}
	if e := parseExplanation(t, read(t, "c.json")); !slices.Equal(e.Order, []string{"direct", "flow"}) {
		t.Errorf("JSON has the methods %v", e.Order)
	}
	save(t, "-o", "a.neuronpedia.json")
	args := []string{"explain", "--backend", "go", "--max-tokens", "2", "--view", "flow", prompt}
	if got, want := mustExecute(t, "", append(args, "--methods", "flow")...),
		mustExecute(t, "", args...); got != want {
		t.Errorf("--view flow --methods flow shows\n%s\nwant\n%s", got, want)
	}
}

// What cannot be saved is said before a model is opened, and leaves nothing behind.
func TestSaveRefusals(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"known are .txt, .svg, .pdf, .png", []string{"-o", "a.jpg"}},
		{"the directory no/ does not exist", []string{"-o", "a.svg", "-o", "no/a.svg"}},
		{"it is given twice", []string{"-o", "a.svg", "-o", "a.svg"}},
		{"it is given twice", []string{"-o", "a.svg", "-o", "./a.svg"}},
		{"want some text", []string{"--contrast", ""}},
		{"name flow in --methods", []string{
			"-o", "a.neuronpedia.json", "-o", "a.svg", "--view", "heads",
		}},
		{"--view does nothing here", []string{"-o", "a.neuronpedia.json", "--view", "maps"}},
		{"name flow in --methods", []string{"-o", "a.neuronpedia.json", "--methods", "raw"}},
		{"name flow in --methods", []string{
			"-o", "a.svg", "--view", "flow", "--methods", "direct,rollout",
		}},
		{"no-such-model", []string{"-o", "a.svg", "--view", "flow"}},
		{"headwater: --size \"a4\" is unknown; known are column, double, slide\n", []string{
			"-o", "a.svg", "--size", "a4",
		}},
		{"headwater: --view \"foo\" is unknown; known are heatmap, text, layers, flow, compare, ", []string{
			"-o", "a.svg", "--view", "foo",
		}},
		{"--view \"head5\" is unknown; did you mean heads or head? known are", []string{
			"--view", "head5",
		}},
		{"--view \"graph\" is unknown; known are heatmap,", []string{"--view", "graph"}},
		{"a number from 4 to 48", []string{"-o", "a.svg", "--font", "0"}},
		{"there is no page and no text of one head", []string{"--view", "head", "-o", "a.html"}},
		{"token 1; a page of heads has all tokens", []string{
			"-o", "a.svg",
			"--view", "heads", "--token", "1", "-o", "a.html",
		}},
		{"--view compare compares two methods", []string{
			"-o", "a.html", "--view", "compare", "--methods", "raw",
		}},
		{"--by does nothing here", []string{
			"-o", "a.html", "--view", "flow", "--methods", "flow", "--by", "word",
		}},
		{"no-such-model", []string{"--view", "heads", "-o", "c.svg"}},
		{"--by does nothing here", []string{
			"-o", "a.svg", "--view", "heads", "--by", "word",
		}},
		{"--filter does nothing here", []string{
			"-o", "a.svg", "--view", "head", "--filter",
		}},
		{"there are no maps of method \"direct\"", []string{
			"-o", "a.svg", "--view", "maps", "--methods", "direct",
		}},
		{"tokens of the model as they are, without --by, --target and --filter", []string{
			"-o", "a.neuronpedia.json", "-o", "a.svg", "--by", "word",
		}},
		{"--by does nothing here", []string{
			"-o", "a.svg", "--view", "maps", "--by", "word",
		}},
		{"--token does nothing here", []string{
			"-o", "a.svg", "--view", "maps", "--token", "1",
		}},
		{"a head is named by its layer and its number; give both, or none", []string{
			"-o", "a.svg", "--view", "head", "--head", "1",
		}},
		{"a head is named by its layer and its number; give both, or none", []string{
			"-o", "a.svg", "--view", "head", "--layer", "30",
		}},
		{"--head does nothing here: it is for figures of the view head\n", []string{
			"-o", "a.svg", "--head", "12",
		}},
		{"--layer does nothing here", []string{
			"-o", "a.svg", "--layer", "1", "--view", "heads",
		}},
		{"several tokens are for a picture of layers", []string{
			"-o", "a.svg", "--view", "text", "--token", "0,1",
		}},
		{"want a whole number from 0", []string{"-o", "a.svg", "--token", "0,-1"}},
		{"no-such-model", []string{"--view", "flow", "-o", "c.svg", "--view", "flow"}},
		{"--against does nothing here: it is for text, html, figures of the view compare", []string{
			"--against", "x", "-o", "c.svg", "--view", "heatmap",
		}},
		{"--against does nothing here", []string{
			"--against", "x", "-o", "a.csv", "-o", "a.html", "--view", "heads",
		}},
		{"--against-model does nothing here", []string{
			"--against-model", "x", "-o", "a.svg", "--view", "flow", "--methods", "flow",
		}},
		{"no-such-model", []string{"--against", "x", "-o", "c.svg", "--view", "compare"}},
		{"no-such-model", []string{"--view", "compare"}},
		{"no-such-model", []string{"--view", "heads", "-o", "-", "-o", "a.csv", "-o", "a.json"}},
		{"no-such-model", []string{"--view", "flow", "-o", "b.html", "-o", "a.html"}},
		{"--view does nothing here: it is for text, html, figures of every view\n", []string{
			"-o", "f.csv", "-o", "f.json", "--view", "heads",
		}},
		{"--size does nothing here: it is for figures of every view\n", []string{
			"-o", "f.json", "--size", "slide",
		}},
		{"no-such-model", []string{"-o", "f.csv", "--layer", "1"}},
		{"no-such-model", []string{"-o", "f.neuronpedia.json", "--token", "1"}},
		{"no-such-model", []string{
			"-o", "f.csv", "-o", "f.svg", "--view", "heads",
		}},
		{"no-such-model", []string{"-o", "a.svg", "--view", "maps", "--methods", "classic"}},
		{"no-such-model", []string{
			"-o", "f.csv", "-o", "f.svg", "--view", "heads", "--methods", "direct",
		}},
	} {
		status, _, said := execute(t, "", append([]string{
			"explain", "--model", "no-such-model", prompt,
		}, c.args...)...)
		if status == statusOK || !strings.Contains(said, c.want) {
			t.Errorf("%q: status %d, %q; want %q", c.args, status, said, c.want)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("%d files are left", len(all))
	}
}

// If one file cannot be made, none appears.
func TestSaveAllOrNone(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	status, _, said := execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		"-o", "a.csv", "-o", "a.svg", "--view", "text",
		"--token", "7", prompt)
	if status != statusUsage || !strings.Contains(said, "--token 7; the only one of the") {
		t.Errorf("status %d, %q", status, said)
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("%d files are left", len(all))
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
		_, _, said := execute(t, "", "reproduce", "b.json")
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
		status, _, said := execute(t, "", "reproduce", name)
		if status != statusError || !strings.Contains(said, want) {
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
		_, _, said := execute(t, "", "reproduce", "b.json")
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
		status, _, said := execute(t, "", args...)
		for _, want := range []string{
			name + " is not on this machine", "a file named it",
			"headwater download " + name + " brings it, or name a model with --model",
		} {
			if status != statusError || !strings.Contains(said, want) {
				t.Errorf("%v: status %d, %q; want %q", args, status, said, want)
			}
		}
		if n := requests.Swap(0); n != 0 {
			t.Errorf("%v: %d requests", args, n)
		}
		_, _, said = execute(t, "", append(args, "--model", name)...)
		if n := requests.Swap(0); n == 0 {
			t.Errorf("%v --model: no request, %q", args, said)
		}
	}
}

// corpusOf plans a corpus in the folder corpus, and gives its model another name.
func corpusOf(t *testing.T, name string) {
	t.Helper()
	must(t, os.WriteFile("in.txt", []byte("the keys\n"), 0o600))
	mustExecute(t, "", "corpus", "plan", "in.txt", "corpus", "--backend", "go", "--max-tokens", "1")
	path := filepath.Join("corpus", corpus.ManifestName)
	plan, err := os.ReadFile(path)
	must(t, err)
	changed := bytes.Replace(plan, []byte(`"tiny"`), []byte(`"`+name+`"`), 1)
	if bytes.Equal(changed, plan) {
		t.Fatal("the plan does not name its model")
	}
	must(t, os.WriteFile(path, changed, 0o600))
}

// The graph of flow explains the token that the flags name, and its flow is the number of the
// method.
func TestSavedGraph(t *testing.T) {
	save(t, "--methods", "flow", "-o", "g.neuronpedia.json", "-o", "e.json",
		"--token", "1", "--source", "2")
	file, err := os.ReadFile("g.neuronpedia.json")
	must(t, err)
	made, err := export.Read(file)
	must(t, err)
	if made.FlowSource == nil || *made.FlowSource != 2 || *made.Show.Token != 1 {
		t.Errorf("the file shows token %v from %v, want 1 from 2", made.Show.Token, made.FlowSource)
	}
	text, err := os.ReadFile("e.json")
	must(t, err)
	e := parseExplanation(t, text)
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	made.Show.Source = made.FlowSource
	made.Show.Kind = render.KindFlow
	recorded, err := made.Show.Record(t.Context(), m, e, made.Options)
	must(t, err)
	g := recorded.Flow
	want := e.Methods["flow"].At(1, 2, 0)
	if diff := g.Cut.Flow - want; diff > 1e-6 || diff < -1e-6 { // two runs of the model in float32
		t.Errorf("the flow of the graph is %v, that of the method %v", g.Cut.Flow, want)
	}
}

// What a view shows is saved as a figure, in which a new run finds the same bytes: comparisons of
// methods, prompts and models, heads, layers of several tokens and the graph of flow.
func TestSavedViews(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		kind render.Kind
	}{
		"methods":   {[]string{"--view", "compare", "--methods", "direct,raw"}, render.KindCompare},
		"figure":    {[]string{"--view", "compare", "--filter"}, render.KindCompare},
		"prompts":   {[]string{"--against", "the key to the cabinet", "--by", "word"}, render.KindCompare},
		"models":    {[]string{"--against-model", "tiny-alibi"}, render.KindCompare},
		"heads":     {[]string{"--view", "heads"}, render.KindHeads},
		"head":      {[]string{"--view", "head"}, render.KindHead},
		"this head": {[]string{"--view", "head", "--head", "2", "--layer", "1"}, render.KindHead},
		"layers":    {[]string{"--view", "layers", "--methods", "raw"}, render.KindLayers},
		"two of them": {
			[]string{"--view", "layers", "--methods", "raw", "--token", "1,0"}, render.KindLayers,
		},
		"two layers": {
			[]string{"--view", "compare", "--methods", "value-zeroing@2,value-zeroing@4"},
			render.KindCompare,
		},
		"layers of prompts": {
			[]string{"--against", "the key to the cabinet", "--methods", "raw@1,raw@3"},
			render.KindCompare,
		},
		"maps":         {[]string{"--view", "maps"}, render.KindMaps},
		"maps of five": {[]string{"--view", "maps", "--methods", "rollout", "--layer", "5"}, render.KindMaps},
		"one map": {
			[]string{"--view", "map", "--layer", "3", "--methods", "direct,raw"},
			render.KindMap,
		},
		"flow":  {[]string{"--view", "flow", "--token", "1", "--source", "2"}, render.KindFlow},
		"layer": {[]string{"--methods", "raw", "--layer", "1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			save(t, append(c.args, "-o", "a.svg")...)
			file, err := os.ReadFile("a.svg")
			must(t, err)
			made, err := export.Read(file)
			if err != nil || made.Show.Kind != c.kind {
				t.Fatalf("the file shows %+v, %v; want %q", made, err, c.kind)
			}
			two := strings.Contains(name, "prompts") || name == "models"
			if (made.Against != nil) != two {
				t.Errorf("side B was made by %+v", made.Against)
			}
			out := mustExecute(t, "", "reproduce", "a.svg")
			if want := "a.svg: made again, byte for byte the same\n"; out != want {
				t.Errorf("reproduce says %q, want %q", out, want)
			}
		})
	}
}

// A layer or a head that the model lacks is an error once the model is open, before it runs, and a
// decoder is not compared with an encoder.
func TestSavedViewsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for want, args := range map[string][]string{
		`--layer 40; "tiny" has layers 0 to 5`: {"--layer", "40"},
		`--methods raw@6; "tiny" has layers 0 to 5`: {
			"--view", "compare", "--methods", "raw@1,raw@6",
		},
		`--head 8; "tiny" has heads 0 to 7`: {
			"--view", "head", "--layer", "1", "--head", "8",
		},
		"a decoder and an encoder cannot be compared": {"--against-model", "tiny-mlm"},
	} {
		status, _, said := execute(t, "", append([]string{
			"explain", "--backend", "go", "--max-tokens", "1", "-o", "a.svg",
			prompt,
		}, args...)...)
		if status != statusUsage || !strings.Contains(said, want) {
			t.Errorf("%q: status %d, %q; want %q", args, status, said, want)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("%d files are left", len(all))
	}
}

// A chart of a cell is drawn in the format of its name, and says that a cell drew it.
func TestDrawPicture(t *testing.T) {
	const picture = `{"columns":1,"charts":[{"Kind":"lines","Series":[{"X":[0,1],"Y":[1,2]}]}]}`
	t.Chdir(t.TempDir())
	for _, file := range []string{"a.svg", "a.pdf", "a.png", "a.tex"} {
		data, _, err := drawPicture(json.RawMessage(picture), file,
			json.RawMessage(`{"size":"column"}`))
		must(t, err)
		must(t, os.WriteFile(file, data, 0o600))
		_, _, said := execute(t, "", "reproduce", file)
		if !strings.Contains(said, file+": it is a chart that a cell drew with headwater") {
			t.Errorf("reproduce says %q", said)
		}
	}
	for _, c := range []struct{ file, look, want string }{
		{"a.csv", "", "a chart is saved as .svg, .pdf, .png or .tex"},
		{"a.bmp", "", "known are .svg"},
		{"a.svg", `{"size":"colum"}`, "did you mean column"},
		{"a.svg", `[]`, "cannot be read"},
	} {
		_, _, err := drawPicture(json.RawMessage(picture), c.file, json.RawMessage(c.look))
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want a usage error with %q", c.file, c.look, err, c.want)
		}
	}
	if notebook, _, err := drawPicture(json.RawMessage(picture), "", nil); err != nil ||
		!bytes.HasPrefix(notebook, []byte("\x89PNG")) {
		t.Errorf("for a notebook: %v, %.8q", err, notebook)
	}
}

// TestEncodeFile makes the files of a notebook: what the picture shows, unless the cell asks for
// something else, and of the bytes of the command.
func TestEncodeFile(t *testing.T) {
	save(t, "--max-tokens", "1", "--methods", "rollout,flow", "--by", "word", "--filter",
		"-o", "a.svg", "-o", "a.html", "-o", "a.csv", "-o", "a.inseq.json")
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	opts := attribution.Options{MaxTokens: 1, Methods: []string{"rollout", "flow"}}
	e, err := attribution.Explain(t.Context(), m, prompt, opts)
	must(t, err)
	e.Origin, err = originOf(engine.Request{
		Text: []byte(prompt), Model: engine.Model{DType: m.DType()},
	}, opts)
	must(t, err)
	filter, err := json.Marshal(attribution.DefaultFilter())
	must(t, err)
	encode := func(file, shown, asked string) ([]byte, error) {
		data, _, err := encodeFile(t.Context(), server.File{
			Picture: engine.Picture{Explanation: e, Show: json.RawMessage(shown)},
			Name:    file, Asked: json.RawMessage(asked), Tracer: m,
		})
		return data, err
	}
	words := `{"by":"word","filter":` + string(filter) + `}`
	for _, file := range []string{"a.svg", "a.html", "a.csv", "a.inseq.json"} {
		want, err := os.ReadFile(file)
		must(t, err)
		got, err := encode(file, words, `{}`)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s as the picture: %v, not the bytes of the command", file, err)
		}
	}
	for shown, class := range map[string]string{
		`{"kind":"heads","token":0}`:     `hw-heads"`,
		`{"kind":"flow"}`:                `hw-flow"`,
		`{"kind":"layers","tokens":[0]}`: `hw-layers"`,
		`{"kind":"maps","layer":1}`:      `hw-maps"`,
		`{"kind":"compare"}`:             "A − B",
	} {
		page, err := encode("a.html", shown, "")
		if err != nil || !bytes.Contains(page, []byte(class)) {
			t.Errorf("the page of %s: %v, or it lacks %s", shown, err, class)
		}
	}
	plain, err := encode("a.svg", "", "")
	must(t, err)
	for name, c := range map[string]struct {
		shown, asked string
		same         bool
	}{
		"tokens again":         {words, `{"by":"token","filter":[]}`, true},
		"a layer of the other": {`{"layer":1}`, `{"method":"flow"}`, false},
		"another layer":        {"", `{"layer":1}`, false},
		"two layers":           {`{"layer":1}`, `{"layer":5}`, true},
		"layers drawn":         {`{"kind":"layers","tokens":[0]}`, "", false},
		"compare drawn":        {`{"kind":"compare","method":"flow","against_method":"rollout"}`, "", false},
		"matrix of layers":     {`{"kind":"layers","tokens":[0]}`, `{"kind":"heatmap"}`, true},
		"matrix of a compare":  {`{"kind":"compare","against_method":"flow"}`, `{"kind":"heatmap"}`, true},
		"a graph of a picture": {words, `{"kind":"flow"}`, false},
		"graph":                {`{"kind":"flow","source":1}`, "", false},
		"heads":                {words, `{"kind":"heads"}`, false},
		"compare":              {words, `{"kind":"compare"}`, false},
		"maps":                 {words, `{"kind":"maps"}`, false},
		"map":                  {`{"kind":"maps","layer":1}`, `{"kind":"map"}`, false},
		"two of its layers":    {"", `{"kind":"compare","method":"rollout@1","against_method":"rollout@2"}`, false},
		"layers":               {`{"layer":1}`, `{"kind":"layers","tokens":[0]}`, false},
	} {
		got, err := encode("a.svg", c.shown, c.asked)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.same != bytes.Equal(drawnOf(got), drawnOf(plain)) {
			t.Errorf("%s: it is as without, or not: want %v", name, c.same)
		}
	}
	for name, c := range map[string]struct{ file, figure, want string }{
		"format":       {"a.bmp", "", "known are .svg"},
		"kind":         {"a.svg", `{"kind":"heatmp"}`, "did you mean heatmap"},
		"field":        {"a.svg", `{"colour":1}`, "colour"},
		"method":       {"a.svg", `{"method":"direct"}`, "direct"},
		"layer":        {"a.svg", `{"layer":40}`, `layer 40; method "rollout" has layers 0 to 5`},
		"one layer":    {"a.svg", `{"layer":1,"method":"flow"}`, "AllLevels"},
		"below 0":      {"a.svg", `{"layer":-1}`, "layer -1; they count from 0"},
		"grouping":     {"a.svg", `{"by":"wrd"}`, "did you mean word"},
		"page of head": {"a.html", `{"kind":"head"}`, "there is no page and no text of one head"},
		"heads token":  {"a.html", `{"kind":"heads","token":0}`, "a page of heads has all tokens"},
		"heads filter": {"a.svg", `{"kind":"heads","filter":["x"]}`, "leave By and Filter empty"},
		"no head":      {"a.svg", `{"kind":"head","layer":1,"head":8}`, "heads 0 to 7"},
		"compare":      {"a.svg", `{"kind":"compare","against_method":"x"}`, "no method"},
		"no layer":     {"a.svg", `{"kind":"compare","method":"rollout@40"}`, "layers 0 to 5"},
		"no number":    {"a.svg", `{"kind":"compare","method":"rollout@x"}`, "rollout@x"},
		"maps by":      {"a.svg", `{"kind":"maps","by":"word"}`, "leave By and Filter empty"},
		"maps of none": {"a.svg", `{"kind":"maps","method":"direct"}`, "direct"},
		"map layer":    {"a.svg", `{"kind":"map","layer":40}`, "layers 0 to 5"},
		"maps token":   {"a.svg", `{"kind":"maps","token":1}`, "a picture of maps has all tokens"},
		"graph by":     {"a.svg", `{"kind":"flow","by":"word"}`, "leave By and Filter empty"},
		"graph token":  {"a.svg", `{"kind":"flow","token":9}`, "generated token 9"},
		"graph from":   {"a.svg", `{"kind":"flow","source":99}`, "source token 99"},
	} {
		_, err := encode(c.file, words, c.figure)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a usage error with %q", name, err, c.want)
		}
	}
}

// An explanation that a file of JSON has is saved as the command saved it beside that file, with
// the same origin; one that says nothing of its origin, or that a program grouped, cannot be made
// again.
func TestEncodeFileOfFile(t *testing.T) {
	save(t, "--methods", "rollout", "--by", "word", "--layer", "2", "-o", "a.json", "-o", "a.svg")
	text, err := os.ReadFile("a.json")
	must(t, err)
	var e attribution.Explanation
	must(t, json.Unmarshal(text, &e))
	encode := func(e attribution.Explanation) []byte {
		data, _, err := encodeFile(t.Context(), server.File{
			Picture: engine.Picture{Explanation: &e}, Name: "a.svg",
		})
		must(t, err)
		return data
	}
	want, err := os.ReadFile("a.svg")
	must(t, err)
	if !bytes.Equal(encode(e), want) {
		t.Error("the figure of an explanation that was read is another one")
	}
	unknown := e
	unknown.Origin = nil
	must(t, os.WriteFile("a.svg", encode(unknown), 0o600))
	if _, _, said := execute(t, "", "reproduce", "a.svg"); !strings.Contains(said, "not in it") {
		t.Errorf("reproduce says %q of an explanation without an origin", said)
	}
	for _, origin := range []string{`{"form":1,"options":{"max_tokens":-1}}`, `{"form":9}`, `[`} {
		wrong := e
		wrong.Origin = json.RawMessage(origin)
		_, _, err := encodeFile(t.Context(), server.File{
			Picture: engine.Picture{Explanation: &wrong}, Name: "a.svg",
		})
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "the origin of") {
			t.Errorf("origin %s: %v", origin, err)
		}
	}
}

// TestEncodeFileOfView refuses a file that would have the numbers of one of two explanations.
func TestEncodeFileOfView(t *testing.T) {
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	e, err := attribution.Explain(t.Context(), m, prompt,
		attribution.Options{MaxTokens: 1, Methods: []string{"rollout", "flow"}})
	must(t, err)
	for name, c := range map[string]struct {
		file, shown, asked, want string
		against                  bool
	}{
		"page of layers": {"a.html", `{"kind":"layers"}`, "", "", false},
		"page of two":    {"a.html", `{"kind":"compare"}`, "", "", true},
		"numbers of two": {"a.csv", `{"kind":"compare"}`, "", "one of the two explanations", true},
		"page of matrix": {"a.html", `{"kind":"layers","tokens":[0]}`, `{"kind":"heatmap"}`, "", false},
		"numbers":        {"a.csv", `{"kind":"compare","against_method":"a"}`, "", "", false},
		"figure of two":  {"a.svg", `{"kind":"compare"}`, "", "", true},
	} {
		p := engine.Picture{Explanation: e, Show: json.RawMessage(c.shown)}
		if c.against {
			p.Against = e
		}
		_, _, err := encodeFile(t.Context(), server.File{
			Picture: p, Name: c.file, Asked: json.RawMessage(c.asked), Tracer: m,
		})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// drawnOf returns an SVG without what it says of its origin.
func drawnOf(svg []byte) []byte {
	_, drawn, _ := bytes.Cut(svg, []byte("</metadata>"))
	return drawn
}

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

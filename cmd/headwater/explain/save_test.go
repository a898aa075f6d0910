package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
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
	headwater.Output(t, append([]string{
		"explain", "--backend", "go", "--max-tokens", "2", clitest.Prompt,
	}, args...)...)
	return dir
}

// TestSaveSideA: a table has one explanation, and of a comparison of two it says so.
func TestSaveSideA(t *testing.T) {
	t.Chdir(t.TempDir())
	_, _, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		"--against", "the key to the cabinet", "-o", "a.csv", "-o", "a.svg", clitest.Prompt)
	if strings.Count(said, "numbers of side A alone") != 1 || !strings.Contains(said, "a.csv: it") {
		t.Errorf("it says %q", said)
	}
}

// A note names the method of a figure of one of several that were named; there is none for the
// default methods and for a page, which has all.
func TestSaveOneMethod(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{
			"--methods rollout,direct -o a.svg", "a.svg: it has the matrix of rollout alone; to " +
				"draw another of rollout, direct, name it first in --methods",
		},
		{"--methods rollout,raw --view map -o a.svg", "it has the map of rollout alone"},
		{"--methods rollout,direct -o a.html -o a.csv", ""},
		{"--methods rollout,direct --view compare -o a.svg", ""},
		{"-o a.svg", ""},
	} {
		t.Chdir(t.TempDir())
		_, _, said := headwater.Execute(t, "", append([]string{
			"explain", "--backend", "go", "--max-tokens", "1", clitest.Prompt,
		}, strings.Fields(c.args)...)...)
		if strings.Contains(said, "alone") != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: it says %q, want %q", c.args, said, c.want)
		}
	}
}

// A graph of flow needs no --methods, and with several the picture is the same.
func TestSaveGraph(t *testing.T) {
	save(t, "--view", "flow", "-o", "a.svg", "-o", "b.html")
	a, b := clitest.Read(t, "a.svg"), clitest.Read(t, "b.html")
	save(t, "--view", "flow", "--methods", "direct,flow", "-o", "a.svg", "-o", "b.html",
		"-o", "c.json")
	if !bytes.Equal(drawnOf(a), drawnOf(clitest.Read(t, "a.svg"))) {
		t.Error("the graph without --methods differs from that of direct and flow")
	}
	_, one, _ := bytes.Cut(b, []byte("<body"))
	_, two, _ := bytes.Cut(clitest.Read(t, "b.html"), []byte("<body"))
	if len(one) == 0 || !bytes.Equal(one, two) {
		t.Error("the page without --methods differs from that of direct and flow")
	}
	if e := clitest.ParseExplanation(t, clitest.Read(t, "c.json")); !slices.Equal(e.Order, []string{"direct", "flow"}) {
		t.Errorf("JSON has the methods %v", e.Order)
	}
	save(t, "-o", "a.neuronpedia.json")
	args := []string{"explain", "--backend", "go", "--max-tokens", "2", "--view", "flow", clitest.Prompt}
	if got, want := headwater.Output(t, append(args, "--methods", "flow")...),
		headwater.Output(t, args...); got != want {
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
		{"headwater: --view \"foo\" is unknown; known are heatmap, compare, experts, flow, ", []string{
			"-o", "a.svg", "--view", "foo",
		}},
		{"--view \"head5\" is unknown; did you mean head or heads? known are", []string{
			"--view", "head5",
		}},
		{"--view \"graph\" is unknown; known are heatmap,", []string{"--view", "graph"}},
		{"a number from 4 to 48", []string{"-o", "a.svg", "--font", "0"}},
		{"there is no page and no text of one head", []string{"--view", "head", "-o", "a.html"}},
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
		{"a picture of one head, and a head without a layer; give both, or none", []string{
			"-o", "a.svg", "--view", "head", "--head", "1",
		}},
		{"a picture of one head, and a layer without a head; give both, or none", []string{
			"-o", "a.svg", "--view", "head", "--layer", "30",
		}},
		{"--head does nothing here (svg of the view heatmap): it is for --view head\n", []string{
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
		{"--against does nothing here (svg of the view heatmap): it is for --view compare", []string{
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
		{"--view does nothing here (csv, json of the view heads): it is for -o a.txt, a.html, a.svg, a.pdf, a.png, a.tex\n", []string{
			"-o", "f.csv", "-o", "f.json", "--view", "heads",
		}},
		{"--size does nothing here (json of the view heatmap): it is for -o a.svg, a.pdf, a.png, a.tex\n", []string{
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
		status, _, said := headwater.Execute(t, "", append([]string{
			"explain", "--model", "no-such-model", clitest.Prompt,
		}, c.args...)...)
		if status == cli.StatusOK || !strings.Contains(said, c.want) {
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
	status, _, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		"-o", "a.csv", "-o", "a.svg", "--view", "text", "--token", "7", clitest.Prompt)
	if status != cli.StatusUsage || !strings.Contains(said, "--token 7; the only one of the") {
		t.Errorf("status %d, %q", status, said)
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("%d files are left", len(all))
	}
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
	e := clitest.ParseExplanation(t, text)
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	made.Show.Source = made.FlowSource
	made.Show.Kind = render.KindFlow
	recorded, err := made.Show.Record(t.Context(), m, e, made.Options)
	must(t, err)
	g := recorded["flow graph"].(*attribution.FlowGraph)
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
		"experts": {
			[]string{"--view", "experts", "--layer", "1", "--token", "0", "--model", clitest.Mixture(t, "olmoe")},
			render.KindExperts,
		},
		"lens":  {[]string{"--view", "lens"}, render.KindLens},
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
			again := []string{"reproduce", "a.svg"}
			if c.kind == render.KindExperts { // of a folder, which no file has
				again = append(again, c.args[len(c.args)-2:]...)
			}
			out := headwater.Output(t, again...)
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
		"tiny has no experts to show": {"--view", "experts"},
		"--layer 2; ": {
			"--view", "experts", "--layer", "2", "--model", clitest.Mixture(t, "olmoe"),
		},
		"a decoder and an encoder cannot be compared": {"--against-model", "tiny-mlm"},
	} {
		status, _, said := headwater.Execute(t, "", append([]string{
			"explain", "--backend", "go", "--max-tokens", "1", "-o", "a.svg",
			clitest.Prompt,
		}, args...)...)
		if status != cli.StatusUsage || !strings.Contains(said, want) {
			t.Errorf("%q: status %d, %q; want %q", args, status, said, want)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("%d files are left", len(all))
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
	e, err := attribution.Explain(t.Context(), m, clitest.Prompt, opts)
	must(t, err)
	e.Origin, err = OriginOf(engine.Request{
		Text: []byte(clitest.Prompt), Model: engine.Model{DType: m.DType()},
	}, opts)
	must(t, err)
	filter, err := json.Marshal(attribution.DefaultFilter())
	must(t, err)
	encode := func(file, shown, asked string) ([]byte, error) {
		data, _, err := EncodeFile(t.Context(), server.File{
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
		`{"kind":"heads","token":0}`:     `hm-heads"`,
		`{"kind":"flow"}`:                `hm-flow"`,
		`{"kind":"layers","tokens":[0]}`: `hm-layers"`,
		`{"kind":"maps","layer":1}`:      `hm-maps"`,
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
		"heads token":  {"a.html", `{"kind":"heads","token":9}`, "token 9; the explanation has "},
		"heads filter": {"a.svg", `{"kind":"heads","filter":["x"]}`, "leave By and Filter empty"},
		"no word":      {"a.html", `{"word":"no"}`, `no generated word is "no"; `},
		"word of flow": {"a.neuronpedia.json", `{"word":"no"}`, `no generated word is "no"; `},
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
		data, _, err := EncodeFile(t.Context(), server.File{
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
	_, _, said := headwater.Execute(t, "", "reproduce", "a.svg")
	if !strings.Contains(said, "not in it") {
		t.Errorf("reproduce says %q of an explanation without an origin", said)
	}
	for _, origin := range []string{`{"form":1,"options":{"max_tokens":-1}}`, `{"form":9}`, `[`} {
		wrong := e
		wrong.Origin = json.RawMessage(origin)
		_, _, err := EncodeFile(t.Context(), server.File{
			Picture: engine.Picture{Explanation: &wrong}, Name: "a.svg",
		})
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "the origin of") {
			t.Errorf("origin %s: %v", origin, err)
		}
	}
}

// TestEncodeFileOfView refuses a file that would have the numbers of one of two explanations. The
// notes of the others begin with their contents.
func TestEncodeFileOfView(t *testing.T) {
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	e, err := attribution.Explain(t.Context(), m, clitest.Prompt,
		attribution.Options{MaxTokens: 1, Methods: []string{"rollout", "flow"}})
	must(t, err)
	for name, c := range map[string]struct {
		file, shown, asked string
		against            bool
		contents, want     string
	}{
		"page of layers": {"a.html", `{"kind":"layers"}`, "", false, "layers of rollout, flow", ""},
		"page of two": {
			"a.html", `{"kind":"compare"}`, "", true, "comparison of rollout and rollout", "",
		},
		"numbers of two": {"a.csv", `{"kind":"compare"}`, "", true, "", "one of the two explanations"},
		"page of matrix": {
			"a.html", `{"kind":"layers","tokens":[0]}`, `{"kind":"heatmap"}`, false,
			"matrix of rollout, flow", "",
		},
		"numbers": {
			"a.csv", `{"kind":"compare","against_method":"a"}`, "", false,
			"values of rollout, flow", "",
		},
		"figure of two": {
			"a.svg", `{"kind":"compare"}`, "", true,
			"6.75 in, comparison of rollout and rollout", "",
		},
		"figure": {
			"a.svg", "", `{"method":"flow","size":"column"}`, false, "3.25 in, matrix of flow", "",
		},
		"figure of heads": {
			"a.png", `{"kind":"heads"}`, "", false, "6.75 in, attention heads", "",
		},
	} {
		p := engine.Picture{Explanation: e, Show: json.RawMessage(c.shown)}
		if c.against {
			p.Against = e
		}
		_, notes, err := EncodeFile(t.Context(), server.File{
			Picture: p, Name: c.file, Asked: json.RawMessage(c.asked), Tracer: m,
		})
		if err == nil && notes[0] != c.contents {
			t.Errorf("%s: the file has %q, want %q", name, notes[0], c.contents)
		}
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

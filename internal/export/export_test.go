package export_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/study/without"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// explanation has three prompt and two generated tokens, with every level of rollout, [2,3,2], one
// of flow and a scorer.
func explanation() *attribution.Explanation {
	e := &attribution.Explanation{
		Version: attribution.Version,
		Prompt: attribution.Prompt{
			Text: "the =1+1 key", Texts: []string{"the", " =1+1", " key"}, IDs: []int{5, 6, 7},
			Offsets: make([][2]int, 3), Special: make([]bool, 3),
		},
		Steps: []attribution.GeneratedToken{
			{ID: 8, Text: " is", Probability: 0.5}, {ID: 9, Text: " \"red\"", Probability: 0.25},
		},
		Order: []string{"rollout", "flow", "direct"},
		Methods: map[string]*attribution.Result{
			"rollout": {
				Options: map[string]string{"residual": "0.5"}, Layers: []int{3, 4},
				Shape: [3]int{2, 3, 2}, Shown: []int{1, 1}, Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share},
				Rows: [][]float64{{.1, .3, .5}, {.2, .4, .4}, {.1, .2, .3}, {.2, .3, .4}}, OtherMass: []float64{0, 0, .4, .1},
			},
			"flow": {
				Options: map[string]string{}, Layers: []int{4}, Shape: [3]int{2, 3, 1},
				Shown: []int{0, 0}, Rows: [][]float64{{.6, .7, .8}, {.5, .5, .5}}, OtherMass: []float64{0, 0}, Unit: "flow",
			},
			"direct": {
				Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Scorer: true, Combined: true, AddsUp: true}, Layers: []int{4},
				Shape: [3]int{2, 3, 1}, Shown: []int{0, 0}, Unit: "logit",
				Rows: [][]float64{{-1, 0, 2}, {1, math.Pi, -2}}, OtherMass: []float64{0, 0},
			},
		},
		Warnings: []string{},
	}
	e.Model.Name, e.Model.Hash, e.Model.Backend = "/home/ada/models/gpt2", "abc", "go"
	e.Model.Family = "gpt2"
	return e
}

// flow is a graph of one layer over the tokens of the prompt.
func flow() *attribution.FlowGraph {
	return &attribution.FlowGraph{
		Layers: []int{0}, Tokens: 3, Widths: []float64{1, 0, 0, .5, .5, 0, .3, .01, .69},
		Path: []int{2, 0},
		Cut: &attribution.Cut{
			Target: 2, Source: 0, Flow: .3,
			Edges: []attribution.CutEdge{{Layer: 0, Target: 2, Source: 0, Width: .3}},
		},
	}
}

func options() export.Options {
	return export.Options{
		Recorded: render.Recorded{"flow graph": flow()},
		Made: export.NewMade("the =1+1 key", attribution.Options{MaxTokens: 2},
			units.Grouping{}, "float32", "v1.2.3"),
	}
}

func encode(t *testing.T, e *attribution.Explanation, f export.Format, o export.Options) []byte {
	t.Helper()
	data, _, err := export.Encode(e, f, o)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return data
}

// Every format gives the same bytes twice, says how it was made, and names no folder.
func TestFormats(t *testing.T) {
	for _, f := range export.Formats() {
		first := encode(t, explanation(), f, options())
		if !bytes.Equal(first, encode(t, explanation(), f, options())) {
			t.Errorf("%s: two runs differ", f)
		}
		if bytes.Contains(first, []byte("/home")) {
			t.Errorf("%s: the file has a path of the machine", f)
		}
		made, err := export.Read(first)
		if f == export.CSV {
			if err == nil || !strings.Contains(err.Error(), "has no place") {
				t.Errorf("csv: %v, want that it has no place", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if made.Prompt != "the =1+1 key" || made.Model.Name != "gpt2" || !made.Model.Local ||
			made.Model.Hash != "abc" || made.Version != "v1.2.3" || made.Format != f ||
			made.Options.MaxTokens != 2 || !slices.Equal(made.PromptIDs, []int{5, 6, 7}) ||
			!slices.Equal(made.StepIDs, []int{8, 9}) || made.Model.DType != "float32" {
			t.Errorf("%s: read %+v", f, made)
		}
		if d := made.Difference(explanation(), options()); d != nil {
			t.Errorf("%s: the same explanation differs: %q", f, d)
		}
	}
}

// A layer that was asked for has the values of generated tokens too, as the layer shown has.
func TestGeneratedOfLayer(t *testing.T) {
	e, o := explanation(), options()
	r := e.Methods["rollout"]
	r.Rows[2], r.Rows[3] = append(r.Rows[2], .4), append(r.Rows[3], .1)
	o.Layer = new(3)
	got := string(encode(t, e, export.CSV, o))
	if want := "rollout,3,true,1,9,\" \"\"red\"\"\",3,8, is,0.4,"; !strings.Contains(
		strings.ReplaceAll(got, `" is"`, " is"), want) {
		t.Errorf("%s\nlacks %s", got, want)
	}
}

// A verdict is about the layer that a picture shows by itself: files of another one lack it.
func TestVerdictOfLayer(t *testing.T) {
	e, o := explanation(), options()
	e.Steps[0].Studies.Set(verdict.Name, &verdict.Verdict{
		Method: "rollout", Rows: [2]int{0, 1}, Replacement: "delete", Whole: 0.5, Tells: true,
		Trials:  []verdict.Trial{{Kind: verdict.Without, Sources: []int{2}, Text: "key", P: 0.125}},
		Control: &verdict.Control{Draws: 1, Mean: 0.5, Interval: [2]float64{0.5, 0.5}},
	})
	for layer, want := range map[int]bool{3: false, 4: true} { // rollout opens at layer 4
		o.Layer = &layer
		for format, words := range map[export.Format]string{
			export.JSON: `"verdict":`, export.TeX: "without another word",
		} {
			if got := string(encode(t, e, format, o)); strings.Contains(got, words) != want {
				t.Errorf("layer %d, %s: %q is there: %v, want %v", layer, format, words, !want,
					want)
			}
		}
	}
	if verdict.Of(e.Steps[0]) == nil {
		t.Error("the explanation was changed")
	}
}

// Each difference is named, with the largest distance of the numbers and where it is.
func TestDifference(t *testing.T) {
	made, err := export.Read(encode(t, explanation(), export.SVG, options()))
	must(t, err)
	e, o := explanation(), options()
	e.Model.Hash, e.Steps[1].ID, o.Made.Version = "abd", 10, "v1.2.4"
	e.Methods["rollout"].Options["residual"] = "0.25"
	e.Methods["rollout"].Row(1, 1)[1] += 0.125 // the level shown
	got := strings.Join(made.Difference(e, o), "\n")
	for _, want := range []string{
		"model hash: abc in the file, abd now",
		"version of headwater: v1.2.3 in the file, v1.2.4 now",
		"generated tokens: [8 9] in the file, [8 10] now",
		`setting residual of rollout: "0.5" in the file, "0.25" now`,
		"numbers: those of rollout differ",
		"differ by at most 0.125, at generated token 1, prompt token 1: 0.3 in the file, 0.425 now",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// CSV and Parquet have a row for every number, and the texts of CSV are no formulas.
func TestTables(t *testing.T) {
	e := explanation()
	e.Steps[0].Scores = &trace.TokenScores{Entropy: 2, Surprisal: 1.5, Rank: 3}
	e.Steps[0].Studies.Set(without.Name, &without.Difference{KL: 0.25, Gain: -4})
	e.Studies.Set(scores.Name, &scores.Prompt{nil, {Entropy: 5, Surprisal: 6, Rank: 7}, nil})
	e.Steps[0].Text = "\xf0\x9f" // the first half of a character
	all, err := csv.NewReader(bytes.NewReader(encode(t, e, export.CSV, options()))).ReadAll()
	must(t, err)
	const numbers = 12 + 6 + 6
	if len(all) != numbers+1 {
		t.Fatalf("%d rows, want %d and the names", len(all), numbers)
	}
	// Rollout, token 0, layer 3, source 1: M[0,1,0].
	want := []string{
		"rollout", "3", "false", "0", "8", "\ufffd", "1", "6", "' =1+1", "0.3", "share of attention",
		"2", "1.5", "3", "0.25", "-4", "5", "6", "7", "", "f09f", "",
	}
	if !slices.Equal(all[2], want) {
		t.Errorf("row %q, want %q", all[2], want)
	}
	if last := all[numbers]; last[0] != "direct" || last[1] != "" || last[9] != "-2" {
		t.Errorf("last row %q, want direct without a layer and -2", last)
	}
	type number struct {
		Method string   `parquet:"method"`
		Layer  *int32   `parquet:"layer,optional"`
		Source string   `parquet:"source_text"`
		Value  float64  `parquet:"value"`
		KL     *float64 `parquet:"target_kl,optional"`
		Rank   *int32   `parquet:"source_rank,optional"`
		Target []byte   `parquet:"target_bytes,optional"`
	}
	file := encode(t, e, export.Parquet, options())
	got, err := parquet.Read[number](bytes.NewReader(file), int64(len(file)))
	if err != nil || len(got) != numbers {
		t.Fatalf("%d rows, %v; want %d", len(got), err, numbers)
	}
	if r := got[1]; r.Method != "rollout" || *r.Layer != 3 || r.Source != " =1+1" || r.Value != .3 {
		t.Errorf("row %+v, want rollout, layer 3, \" =1+1\", 0.3", r)
	}
	if r := got[1]; string(r.Target) != "\xf0\x9f" || r.KL == nil || *r.KL != .25 ||
		r.Rank == nil || *r.Rank != 7 {
		t.Errorf("row %+v, want KL 0.25 of the target and rank 7 of the source", r)
	}
	if r := got[numbers-2]; r.KL != nil || r.Value != math.Pi || r.Layer != nil {
		t.Errorf("row %+v, want π without a layer", r)
	}
}

// The tensors of Inseq are safetensors in base64: 5 rows of tokens, 2 columns of generated ones.
func TestInseq(t *testing.T) {
	var top struct {
		Type       []string `json:"__instance_type__"`
		Attributes struct {
			Sequences []struct {
				Attributes struct {
					Target []struct {
						Type       []string       `json:"__instance_type__"`
						Attributes map[string]any `json:"attributes"`
					} `json:"target"`
					Values string            `json:"target_attributions"`
					Scores map[string]string `json:"sequence_scores"`
				} `json:"attributes"`
			} `json:"sequence_attributions"`
		} `json:"attributes"`
	}
	file := encode(t, explanation(), export.Inseq, options())
	must(t, json.Unmarshal(file, &top))
	if !slices.Equal(top.Type, []string{"inseq.data.attribution", "FeatureAttributionOutput"}) {
		t.Errorf("type %q", top.Type)
	}
	s := top.Attributes.Sequences[0].Attributes
	if len(s.Target) != 5 || s.Target[3].Attributes["token"] != " is" || len(s.Scores) != 2 {
		t.Errorf("%d tokens, %d other methods; want 5 and 2", len(s.Target), len(s.Scores))
	}
	data, err := base64.StdEncoding.DecodeString(s.Values)
	must(t, err)
	if !bytes.Contains(data, []byte(`"shape":[5,2]`)) {
		t.Errorf("the tensor begins %q, want shape [5,2]", data[:80])
	}
	// The last level of rollout, source 0: 0.2 for token 0 and 0.2 for token 1.
	values := data[len(data)-5*2*4:]
	first := math.Float32frombits(uint32(values[0]) | uint32(values[1])<<8 | uint32(values[2])<<16 |
		uint32(values[3])<<24)
	if first != 0.2 {
		t.Errorf("the first value is %v, want 0.2", first)
	}
	e := explanation()
	e.Model.Bidirectional = true
	if _, _, err := export.Encode(e, export.Inseq, options()); err == nil {
		t.Error("an encoder has a form of Inseq")
	}
}

// Every link joins two nodes, every node has what the schema requires, and edges that no flow to
// the target uses are left out: the one of width 0.01, and those of token 1.
func TestNeuronpedia(t *testing.T) {
	var g struct {
		Metadata map[string]any   `json:"metadata"`
		QParams  map[string]any   `json:"qParams"`
		Nodes    []map[string]any `json:"nodes"`
		Links    []struct {
			Source, Target string
			Weight         float64
			Cut            bool
		} `json:"links"`
	}
	if err := json.Unmarshal(encode(t, explanation(), export.Neuronpedia, options()),
		&g); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"slug", "scan", "prompt_tokens", "prompt"} {
		if g.Metadata[key] == nil {
			t.Errorf("metadata has no %s", key)
		}
	}
	nodes := map[string]bool{}
	for _, n := range g.Nodes {
		for _, key := range []string{
			"node_id", "feature", "layer", "ctx_idx", "feature_type", "jsNodeId", "clerp",
		} {
			if n[key] == nil {
				t.Errorf("node %v has no %s", n, key)
			}
		}
		nodes[n["node_id"].(string)] = true
	}
	if len(g.Nodes) != 4 { // two tokens, the target after the layer, the prediction
		t.Errorf("%d nodes, want 4: %v", len(g.Nodes), g.Nodes)
	}
	if len(g.Links) != 3 {
		t.Errorf("%d links, want 3: %v", len(g.Links), g.Links)
	}
	cut := 0
	for _, l := range g.Links {
		if !nodes[l.Source] || !nodes[l.Target] {
			t.Errorf("link %+v joins what is no node", l)
		}
		if l.Cut {
			cut++
		}
	}
	if cut != 1 {
		t.Errorf("%d links are in the cut, want 1", cut)
	}
	for _, id := range g.QParams["pinnedIds"].([]any) {
		if !nodes[id.(string)] {
			t.Errorf("%v is pinned and no node", id)
		}
	}
}

// The end of a name says the format; another is an error that lists them.
func TestFormatOf(t *testing.T) {
	for path, want := range map[string]export.Format{
		"a.svg": export.SVG, "B.PDF": export.PDF, "x/a.json": export.JSON,
		"a.inseq.json": export.Inseq, "a.neuronpedia.JSON": export.Neuronpedia,
		"a.html": export.HTML, "a.HTM": export.HTML,
	} {
		if got, err := export.FormatOf(path); got != want || err != nil {
			t.Errorf("FormatOf(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"a", "a.jpg", "svg", "a.svgz", "a.txt", ""} {
		if _, err := export.FormatOf(path); err == nil || !strings.Contains(err.Error(),
			"known are .svg, .pdf, .png, .tex, .html, .csv, .parquet, .json") {
			t.Errorf("FormatOf(%q): %v, want the known formats", path, err)
		}
	}
	if got, err := export.FormatOf("a.TXT", export.Text); got != export.Text || err != nil {
		t.Errorf("FormatOf(a.TXT, Text) = %q, %v", got, err)
	}
	if _, err := export.FormatOf(""); err == nil || !strings.HasPrefix(err.Error(),
		`export: the name "" does not end`) {
		t.Errorf("no name: %v", err)
	}
}

// TestNotUTF8: a prompt with bytes that JSON cannot have is saved, with a remark that it cannot be
// made again; CSV never can.
func TestNotUTF8(t *testing.T) {
	for _, prompt := range []string{"a\xffb", "日本"} {
		o := options()
		o.Made.Prompt = prompt
		for _, f := range export.Formats() {
			_, remarks, err := export.Encode(explanation(), f, o)
			said := strings.Contains(strings.Join(remarks, " "), "it cannot be made again")
			if want := prompt == "a\xffb" && f != export.CSV; err != nil || said != want {
				t.Errorf("%s of %q: remarks %q, %v; want one: %v", f, prompt, remarks, err, want)
			}
		}
	}
}

// A damaged or hostile file is an error and nothing else.
func FuzzRead(f *testing.F) {
	for _, format := range export.Formats() {
		data, _, err := export.Encode(explanation(), format, options())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte(`{"headwater":{"form":1,"options":{"max_tokens":-5}}}`))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<20 {
			t.Skip()
		}
		made, err := export.Read(file)
		if err == nil && made.Options.Check() != nil {
			t.Error("options that are invalid were accepted")
		}
	})
}

// What the file says of its origin is read strictly.
func TestParseMade(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "no valid JSON",
		`{"form":2}`:                "has form 2; this program reads form 1",
		`{"form":1,"shell":"rm"}`:   `cannot be read: unknown field "shell"`,
		`{"form":1,"format":"exe"}`: `its key "format" is "exe"`,
		`{"form":1,"format":"svg","options":{"max_tokens":99999}}`: `its key "options": attribution`,
		`{"form":1,"format":"svg","options":{"max_tokens":"a"}}`:   `cannot be read: "options.max_tokens" is a string, want a number`,
		`{"form":1,"format":"svg","show":{"kind":"pie"}}`:          "picture pie is unknown",
	} {
		if _, err := export.ParseMade([]byte(text)); err == nil ||
			!strings.Contains(strings.ReplaceAll(err.Error(), `"pie"`, "pie"), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Hostile texts leave valid JSON, a page without a script of theirs, CSV without a formula, and an
// origin that is still read.
func TestHostileTexts(t *testing.T) {
	pieces := []string{
		"<script>alert(1)</script>", "</title>", `">`, "'", "=cmd|' /C calc'!A0", "@SUM(1)", "\r\n",
		"\x00", "\xff", "\u202e", "\u2028", "(p=", "]]>", `\`, `"headwater":{"form":2}`, "{", "中",
		`<meta name="headwater" content="{}">`, "+1", "-1", "\t=1", "https://example.com",
	}
	scripts := func(page []byte) int { return bytes.Count(bytes.ToLower(page), []byte("<script")) }
	own := scripts(encode(t, explanation(), export.HTML, options()))
	for n := range 200 {
		e := explanation()
		for j := range e.Prompt.Texts {
			e.Prompt.Texts[j] = pieces[(n*7+j)%len(pieces)] + pieces[(n+3*j)%len(pieces)]
		}
		e.Prompt.Text = strings.Join(e.Prompt.Texts, "")
		e.Steps[0].Text, e.Model.Name = pieces[n%len(pieces)], pieces[(n+5)%len(pieces)]
		e.Model.Note = pieces[(n+9)%len(pieces)]
		o := options()
		o.Made.Prompt = strings.ToValidUTF8(e.Prompt.Text, "\ufffd")
		for _, f := range []export.Format{
			export.HTML, export.JSON, export.Inseq, export.Neuronpedia, export.CSV, export.Parquet,
		} {
			data := encode(t, e, f, o)
			switch f {
			case export.CSV:
				rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
				if err != nil {
					t.Fatalf("%q: %v", e.Prompt.Texts, err)
				}
				for _, row := range rows[1:] {
					for _, cell := range []string{row[5], row[8]} {
						if strings.IndexAny(strings.TrimSpace(cell), "=+-@|%") == 0 {
							t.Fatalf("the cell %q is a formula", cell)
						}
					}
				}
				continue
			case export.HTML:
				if n := scripts(data); n != own {
					t.Fatalf("the page has %d scripts after %q, want its own %d", n,
						e.Prompt.Texts, own)
				}
			case export.Parquet:
			default:
				if !json.Valid(data) {
					t.Fatalf("%s is no valid JSON after %q", f, e.Prompt.Texts)
				}
			}
			made, err := export.Read(data)
			if err != nil || made.Prompt != o.Made.Prompt {
				t.Fatalf("%s: prompt %q, %v; want %q", f, made.Prompt, err, o.Made.Prompt)
			}
		}
	}
}

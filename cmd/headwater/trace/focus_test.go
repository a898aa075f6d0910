package trace

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// focusJSON is what a reader of the JSON sees.
type focusJSON struct {
	Version int
	Model   *struct{ Name string }
	Index   string
	Layers  int
	Heads   int
	Texts   []struct {
		Tokens           []string
		Targets, Sources int
	}
	Lines []struct {
		Quantity string
		Values   [][]float64
		Order    [][]int
		Together []float64
	}
	Rows []struct {
		Text, Layer, Head int
		Probability       [][]float64
		Content           [][]float64
		QueryBias         [][]float64 `json:"query_bias"`
		ALiBi             [][]float64
		Markers           []struct {
			Target, Source, Rank int
			Kind                 string
			Probability          float64
		}
		Breakdown *struct {
			Minimum []float64
			Points  []struct {
				Target, Source, Rank int
				Coordinates          []float64
			}
		}
		Biases []struct{ Source int }
	}
	Updates []struct {
		Text, Layer, Head    int
		Target, Source       []int
		Magnitude, Alignment []*float64
	}
	Effects []struct {
		Head      int
		Source    []int
		Magnitude []*float64
	}
	Ellipse *struct {
		HalfWidth  float64 `json:"half_width"`
		HalfHeight float64 `json:"half_height"`
	}
	LeftOut []string `json:"left_out"`
}

func focusOf(t *testing.T, args ...string) (r focusJSON) {
	t.Helper()
	out := headwater.Output(t, append([]string{"focus", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

func nearAll(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
}

// With the norm's bias folded, probabilities and the sum of content and query-bias stay, and a part
// of the one counts as the other.
func TestFocusFold(t *testing.T) {
	args := []string{"--layer", "3", "--head", "4", "the keys to the cabinet"}
	plain := focusOf(t, args...).Rows[0]
	fold := focusOf(t, append([]string{"--fold-norm-bias"}, args...)...).Rows[0]
	drop := focusOf(t, append([]string{"--drop-key-bias"}, args...)...).Rows[0]
	moved := 0.0
	for i, p := range plain.Probability {
		for j := range p {
			sum := plain.Content[i][j] + plain.QueryBias[i][j]
			if d := fold.Content[i][j] + fold.QueryBias[i][j] - sum; math.Abs(d) > 1e-4 {
				t.Errorf("target %d source %d: the sum differs by %g", i, j, d)
			}
			if math.Abs(fold.Probability[i][j]-p[j]) > 1e-5 ||
				math.Abs(drop.Probability[i][j]-p[j]) > 1e-5 {
				t.Errorf("target %d source %d: %g, %g and %g, want equal probabilities", i, j,
					p[j], fold.Probability[i][j], drop.Probability[i][j])
			}
			moved = max(moved, math.Abs(fold.QueryBias[i][j]-plain.QueryBias[i][j]))
		}
	}
	if moved < 1e-3 {
		t.Errorf("query-bias moved by %g", moved)
	}
}

// The triples that the document published give the probabilities that it published.
func TestFocusPublished(t *testing.T) {
	bias, alibi := []float32{5.635853, -.028408, -1.973696}, []float32{0, .0441895, .0883789}
	data := []float32{-2.499432, 0, 0, -2.499432, 2.879041, 0, -2.549861, .337021, .658404}
	for _, row := range [][]float32{bias, alibi} {
		data = append(data, row...)
		data = append(data, row...)
		data = append(data, row...)
	}
	in := clitest.Safetensors(t, checkpoint.Tensor{Name: "terms", Shape: []int{3, 3, 3}, Data: data})
	r := focusOf(t, "--input", in, "--layer", "0", "--head", "0")
	rows := r.Rows[0]
	for i, want := range [][]float64{{1}, {.560108, .439892}, {.927294, .060285, .012421}} {
		nearAll(t, "published row", rows.Probability[i], want)
	}
	nearAll(t, "bias", rows.QueryBias[2], []float64{5.635853, -.028408, -1.973696})
	nearAll(t, "minimum", rows.Breakdown.Minimum, []float64{-2.549861, 5.635853, 0})
	for _, m := range rows.Markers {
		if m.Source != 0 || m.Rank != 0 || m.Kind != "Zero" {
			t.Errorf("marker %+v", m)
		}
	}
	want := []string{
		"the update of a head needs hidden [L,T,D]; the input has terms",
		"the effect of a token needs hidden [L,T,D]; the input has terms",
	}
	if diff := cmp.Diff(want, r.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if r.Model != nil || r.Texts[0].Tokens != nil || r.Updates != nil {
		t.Errorf("model %v, tokens %v, updates %v; want none", r.Model, r.Texts[0].Tokens,
			r.Updates)
	}
}

// Tensors that headwater trace wrote give what the model gives.
func TestFocusOfTrace(t *testing.T) {
	const text = "the keys to the cabinet"
	in := filepath.Join(t.TempDir(), "in.safetensors")
	headwater.Output(t, "trace", "--text", text, "-o", in, "--taps",
		"terms,scores,attention,head-added,value-output,hidden")
	args := []string{"--layer", "4", "--head", "3", "--index", "target", "--exclude-first"}
	model := focusOf(t, append(args, text)...)
	file := focusOf(t, append(args, "--input", in)...)
	if model.Model.Name != "tiny" || len(model.Texts[0].Tokens) != 6 || model.Index != "target" {
		t.Errorf("model %v, tokens %q, index %q", model.Model, model.Texts[0].Tokens, model.Index)
	}
	model.Model = nil
	if diff := cmp.Diff(model, file); diff != "" {
		t.Errorf("from the model and from the file (-model +file):\n%s", diff)
	}
	if len(model.Rows) != 1 || len(model.Updates) != 1 || len(model.Effects) != 1 {
		t.Errorf("%d rows, %d updates, %d effects; want one head", len(model.Rows),
			len(model.Updates), len(model.Effects))
	}
	for _, source := range model.Updates[0].Source {
		if source == 0 {
			t.Error("a target that looks at the first token is there")
		}
	}
}

// Lines are means over texts, each of them a head of each layer once; two runs give equal bytes.
func TestFocusTexts(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "texts"), filepath.Join(dir, "out.json")
	clitest.Write(t, path, []byte("the keys to the cabinet\n\nthe key is here\n"))
	args := []string{"focus", "--json", "--file", path, "--layer", "2", "-o", out}
	headwater.Output(t, args...)
	first, err := os.ReadFile(out)
	must(t, err)
	if stdout := headwater.Output(t, args[:len(args)-2]...); stdout != string(first) {
		t.Error("two runs differ")
	}
	var both focusJSON
	must(t, json.Unmarshal(first, &both))
	one, two := focusOf(t, "the keys to the cabinet"), focusOf(t, "the key is here")
	for k, f := range both.Lines {
		for l, values := range f.Values {
			for h, x := range values {
				want := (one.Lines[k].Values[l][h] + two.Lines[k].Values[l][h]) / 2
				if math.Abs(x-want) > 1e-12 {
					t.Fatalf("%s of layer %d head %d is %v, want %v", f.Quantity, l, h, x, want)
				}
			}
			heads, last := slices.Clone(f.Order[l]), math.Inf(-1)
			for _, h := range heads {
				if values[h] < last {
					t.Errorf("%s of layer %d: %v is not the order of %v", f.Quantity, l, heads,
						values)
				}
				last = values[h]
			}
			slices.Sort(heads)
			for h := range heads {
				if heads[h] != h {
					t.Errorf("%s of layer %d: heads %v", f.Quantity, l, f.Order[l])
				}
			}
		}
	}
	// Two texts, and in each all heads together and each of them.
	if n := 2 * (both.Heads + 1); len(both.Updates) != n || len(both.Effects) != n ||
		both.Updates[0].Head != -1 || both.Rows != nil || both.Ellipse == nil {
		t.Errorf("%d updates and %d effects, want %d", len(both.Updates), len(both.Effects), n)
	}
	table := headwater.Output(t, "focus", "--layer", "1", "--head", "0", "the keys to the cabinet")
	for _, want := range []string{
		"1 text of 6 tokens, 6 layers of 8 heads", "self-continuous", "\n    5  ",
		`0 "<bos>": 0 "<bos>" 1.000`, "text 0, head 0:    magnitude 0.",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q:\n%s", want, table)
		}
	}
	together := focusOf(t, "--layer", "1", "--head", "together", "the keys")
	if together.Rows[0].Head != -1 || together.Rows[0].Content != nil ||
		len(together.Updates) != 1 || len(together.LeftOut) != 1 {
		t.Errorf("together: %+v", together)
	}
}

// An encoder's targets see all sources.
func TestFocusBidirectional(t *testing.T) {
	zero := checkpoint.Tensor{Name: "terms", Shape: []int{3, 2, 2}, Data: make([]float32, 12)}
	in := clitest.Safetensors(t, zero)
	r := focusOf(t, "--input", in, "--layer", "0", "--head", "0", "--bidirectional")
	nearAll(t, "row 0", r.Rows[0].Probability[0], []float64{.5, .5})
	r = focusOf(t, "--input", in, "--input", in, "--layer", "0", "--head", "0", "--ranks", "2")
	nearAll(t, "row 0 without it", r.Rows[1].Probability[0], []float64{1})
	if len(r.Texts) != 2 || r.Rows[1].Text != 1 || len(r.Rows[0].Breakdown.Points) != 3 {
		t.Errorf("%d texts, %+v", len(r.Texts), r.Rows)
	}
}

// Numbers of float64 keep all their digits: no float32 is 0.1, and none is next to 16 by 1e-9. A
// tensor of float32 beside them stays what it is.
func TestFocusFloat64(t *testing.T) {
	in := clitest.Safetensors(t,
		checkpoint.Tensor{
			Name: "terms", Shape: []int{3, 2, 2},
			Data: []float64{0, 0, 16, 16 + 1e-9, .1, 0, .1, .1, 0, 0, 0, 0},
		},
		checkpoint.Tensor{Name: "hidden", Shape: []int{2, 1}, Data: []float32{1, 2}},
		checkpoint.Tensor{Name: "head-output", Shape: []int{2, 1}, Data: []float64{.1, .1}},
	)
	r := focusOf(t, "--input", in, "--layer", "0", "--head", "0")
	row := r.Rows[0]
	if got := row.Content[1][1] - row.Content[1][0]; math.Abs(got-1e-9) > 1e-14 {
		t.Errorf("scores differ by %g, want 1e-9", got)
	}
	if row.QueryBias[0][0] != .1 || *r.Updates[0].Magnitude[1] != .05 {
		t.Errorf("query bias %v and magnitude %v, want 0.1 and 0.05", row.QueryBias[0][0],
			*r.Updates[0].Magnitude[1])
	}
	cut := clitest.Safetensors(t, checkpoint.Tensor{
		Name: "terms", Shape: []int{3, 1, 1}, Data: []float64{1, math.Inf(1), 0},
	})
	headwater.CheckRefusals(t, []clitest.Refusal{{
		"infinity", []string{"focus", "-o", "OUT", "--input", cut}, "", 1,
		`tensor "terms": row 1 column 0 is +Inf; want finite numbers`,
	}})
}

// Among heads that are equally largest the table names the first one.
func TestFocusFirstAmongEquals(t *testing.T) {
	in := clitest.Safetensors(t, checkpoint.Tensor{
		Name: "attention", Shape: []int{1, 3, 2, 2},
		Data: []float32{1, 0, 1, 0, 1, 0, .5, .5, 1, 0, 1, 0},
	})
	table := headwater.Output(t, "focus", "--input", in)
	// self-fraction, self-continuous, first-fraction, concentration
	want := "    0   0.500  0.500      0   0.583  0.750      1   1.000  1.000      0   " +
		"0.833  1.000      0\n"
	if !strings.Contains(table, want) {
		t.Errorf("the table is\n%swant the line\n%s", table, want)
	}
}

// A model with sinks: what trace writes is read, and rows keep the sums that they have. Without
// attention the softmax of its scores would lack the sink.
func TestFocusSinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sinks.safetensors")
	record := func(taps string) {
		headwater.Output(t, "trace", "--backend", "go", "-m",
			filepath.Join(clitest.Goldens, "gpt_oss"), "--ids", "5,6,7", "--taps", taps, "-o", path)
	}
	record("attention,terms,scores")
	r := focusOf(t, "--input", path, "--layer", "2", "--head", "1")
	want := clitest.Floats(t, clitest.OpenFile(t, path), "attention")[9*9+6:][:3]
	if got := r.Rows[0].Probability[2]; !slices.Equal(got, want) {
		t.Errorf("row %v; want %v as recorded", got, want)
	}
	record("terms,scores")
	status, _, stderr := headwater.Execute(t, "", "focus", "--input", path)
	if status != 1 || !strings.Contains(stderr, "record the tensor attention too") {
		t.Errorf("without attention: status %d, %s", status, stderr)
	}
	path = clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 2},
		Data: []float32{.5, 0, .25, .25}})
	if _, _, stderr = headwater.Execute(t, "", "focus", "--input", path); !strings.Contains(stderr,
		"note: rows of attention sum to less than 1. What rows lack is taken for the part of sinks") {
		t.Errorf("an import: %s; want a remark", stderr)
	}
}

// A model whose layers see the last tokens alone: a trace of a longer text says so. Without
// attention its zeros could be taken for scores; with it, sources outside the window have no
// probability and are not in the breakdown.
func TestFocusWindow(t *testing.T) {
	const ids, T, window = "5,6,7,8,9,10,11,12,13,14,15,16", 12, 5
	path := filepath.Join(t.TempDir(), "window.safetensors")
	record := func(name, ids, taps string) {
		headwater.Output(t, "trace", "--backend", "go", "-m",
			filepath.Join(clitest.Goldens, name), "--ids", ids, "--taps", taps, "-o", path)
	}
	for _, name := range []string{"mistral", "gemma2", "gemma3"} {
		for _, taps := range []string{"terms", "scores", "terms,scores,hidden"} {
			record(name, ids, taps)
			if got := clitest.OpenFile(t, path).Metadata()["window"]; got != "5" {
				t.Errorf("%s: window %q in the metadata, want 5", name, got)
			}
			status, stdout, stderr := headwater.Execute(t, "", "focus", "--input", path)
			if want := "record attention too (headwater trace --taps terms,attention)"; status != 1 ||
				stdout != "" || !strings.Contains(stderr, want) {
				t.Errorf("%s with %s: status %d, error %q; want 1, %q", name, taps, status, stderr,
					want)
			}
		}
		record(name, ids, "terms,scores,attention")
		rows := focusOf(t, "--input", path, "--layer", "0", "--head", "1", "--ranks", "12").Rows[0]
		for i, row := range rows.Probability {
			sum := 0.0
			for j, p := range row {
				if sum += p; (p == 0) != (j <= i-window) {
					t.Errorf("%s: target %d, source %d: %v", name, i, j, p)
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s: target %d: sum %v", name, i, sum)
			}
		}
		points := rows.Breakdown.Points
		if want := 1 + 2 + 3 + 4 + 5*(T-4); len(points) != want { // min(i+1, window) of each row
			t.Errorf("%s: %d points, want %d", name, len(points), want)
		}
		for _, p := range points {
			if p.Source <= p.Target-window {
				t.Errorf("%s: target %d does not see source %d", name, p.Target, p.Source)
			}
		}
		record(name, "5,6,7,8,9", "terms") // nothing is outside
		if got, ok := clitest.OpenFile(t, path).Metadata()["window"]; ok {
			t.Errorf("%s: window %q of a short text", name, got)
		}
		headwater.Output(t, "focus", "--input", path)
	}
	record("mistral_nowindow", ids, "terms")
	if got, ok := clitest.OpenFile(t, path).Metadata()["window"]; ok {
		t.Errorf("window %q without windows", got)
	}
}

func TestFocusRefusals(t *testing.T) {
	in := clitest.Safetensors(t, checkpoint.Tensor{Name: "terms", Shape: []int{3, 2, 2}, Data: make([]float32, 12)})
	other := clitest.Safetensors(t, checkpoint.Tensor{Name: "attn", Shape: []int{2, 2}, Data: make([]float32, 4)})
	two := clitest.Safetensors(t, checkpoint.Tensor{
		Name: "attention", Shape: []int{2, 1, 1, 1}, Data: []float32{1, 1},
	})
	short := clitest.Safetensors(t, checkpoint.Tensor{Name: "terms", Shape: []int{2, 2, 2}, Data: make([]float32, 8)})
	big := clitest.Safetensors(t, checkpoint.Tensor{
		Name: "attention", Shape: []int{1, 1, 600, 600}, Data: make([]float32, 360000),
	})
	bad := filepath.Join(t.TempDir(), "bad.safetensors")
	must(t, checkpoint.WriteFile(bad, []checkpoint.Tensor{{
		Name: "terms", Shape: []int{3, 1, 1}, Data: make([]float32, 3),
	}}, map[string]string{"tokens": `["a","b"]`}))
	focus := func(args ...string) []string { return append([]string{"focus", "-o", "OUT"}, args...) }
	gpt2 := filepath.Join(clitest.Goldens, "gpt2")
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"nothing", focus(), "", 2, "focus needs one of texts, --file and --input"},
		{"two inputs", focus("a", "--input", in), "", 2, "focus needs one of texts"},
		{"an empty text", focus("the", ""), "", 2, "text 2 is empty"},
		{"head alone", focus("--head", "1", "the"), "", 2, "--head goes with --layer"},
		{"index alone", focus("--index", "target", "the"), "", 2, "--index goes with --layer"},
		{"index", focus("--index", "source", "the"), "", 2, `--index "source": unknown index "source"; known are current, target`},
		{"head", focus("--layer", "0", "--head", "x", "the"), "", 2, `--head "x": want together or a whole number`},
		{"layer", focus("--layer", "-1", "the"), "", 2, `--layer "-1": want a whole number from 0`},
		{"no such layer", focus("--layer", "6", "the"), "", 2, "--layer 6; tiny has 6 layers, from 0 to 5"},
		{"no such head", focus("--layer", "0", "--head", "8", "the"), "", 2, "--head 8; tiny has 8 heads, from 0 to 7"},
		{"model of a file", focus("--input", in, "--model", "gpt2"), "", 2, "--model does not go with --input"},
		{"folded file", focus("--input", in, "--fold-norm-bias"), "", 2, "--fold-norm-bias does not go with --input"},
		{"nothing to fold", focus("--model", filepath.Join(clitest.Goldens, "llama"), "--fold-norm-bias", "the"), "", 1, "its norms have no bias"},
		{"direction of a model", focus("--bidirectional", "the"), "", 2, "--bidirectional goes with --input"},
		{"no such layer of a file", focus("--input", in, "--layer", "1"), "", 2, "layer 1; there are 1"},
		{"no texts", focus("--file", "-"), "\n \n", 2, "standard input has no text"},
		{"missing file", focus("--input", "/nope"), "", 1, "headwater: open /nope: no such file"},
		{"missing texts", focus("--file", "/nope"), "", 1, "/nope: no such file"},
		{"no tensor", focus("--input", other), "", 1, `it has no tensor that focus reads; these are "terms", "scores"`},
		{"shape", focus("--input", short), "", 1, `tensor "terms" has shape [2 2 2]; want 3 terms`},
		{"another model", focus("--input", two, "--input", in), "", 1, "text 1 has 1 layers of 1 heads; the texts before it have 2 of 1"},
		{"tokens", focus("--input", bad), "", 1, "tokens has 2 texts, and there are 1 sources; want a text for each"},
		{"memory", focus("--input", big, "--max-memory", "68MB"), "", 1, "focus on its tensors needs about"},
		{"model without a tokenizer", focus("--model", gpt2, "the"), "", 1, "(headwater trace --ids)"},
	})
}

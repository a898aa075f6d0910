package explain

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// writeTensors writes a file of tensors with metadata and returns its path.
func writeTensors(
	t *testing.T, about map[string]string, tensors ...checkpoint.Tensor,
) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.safetensors")
	must(t, checkpoint.WriteFile(path, tensors, about))
	return path
}

// The embedded model's scores are queries times the unit vectors as keys, which all heads share. So
// the attention that is computed from them is the one that the model records, in every view.
func TestShowQueries(t *testing.T) {
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	tokens, err := m.Encode(clitest.Prompt, trace.SpecialsAuto)
	must(t, err)
	var ids []int
	var texts []string
	for _, token := range tokens {
		ids, texts = append(ids, token.ID), append(texts, token.Text)
	}
	recorded, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Scores, trace.Attention})
	must(t, err)
	scores, attention := recorded[0], recorded[1]
	L, T := scores.Shape[0], scores.Shape[3]
	unit := make([]float32, L*T*T)
	for i := range L * T {
		unit[i*T+i%T] = 1
	}
	list, err := json.Marshal(texts)
	must(t, err)
	about := map[string]string{"tokens": string(list)}
	want := writeTensors(t, about, checkpoint.Tensor{
		Name: "attention", Shape: attention.Shape, Data: attention.Data,
	})
	about["scale"] = "1"
	got := writeTensors(t, about, checkpoint.Tensor{
		Name: "q", Shape: scores.Shape, Data: scores.Data,
	}, checkpoint.Tensor{Name: "k", Shape: []int{L, 1, T, T}, Data: unit})

	const methods = "raw,rollout,flow"
	a := clitest.ParseExplanation(t,
		[]byte(headwater.Output(t, "show", "--methods", methods, "--format", "json", want)))
	b := clitest.ParseExplanation(t,
		[]byte(headwater.Output(t, "show", "--methods", methods, "--format", "json", got)))
	for _, method := range strings.Split(methods, ",") {
		for i, x := range slices.Concat(a.Methods[method].Rows...) {
			// The model's softmax is in float32; worst seen 2e-7.
			if y := slices.Concat(b.Methods[method].Rows...)[i]; math.Abs(x-y) > 2e-6 {
				t.Errorf("%s: number %d is %v, want %v", method, i, y, x)
			}
		}
	}
	if n := len(b.Warnings); n != 1 || !strings.Contains(b.Warnings[0], "the softmax of 1 q·k") {
		t.Errorf("warnings %q", b.Warnings)
	}
	for _, view := range []string{"heads", "flow", "maps"} {
		a := headwater.Output(t, "show", "--view", view, want)
		b := headwater.Output(t, "show", "--view", view, got)
		without := func(text string) string {
			lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
				return strings.HasPrefix(line, "note") || strings.HasPrefix(line, "⚠")
			})
			return strings.Join(lines, "\n")
		}
		if diff := cmp.Diff(without(a), without(b)); diff != "" {
			t.Errorf("--view %s (-attention +queries):\n%s", view, diff)
		}
	}
	headwater.Output(t, "attribute", "--input", got, "--cut", "3:0")
}

// Hidden states alone are shown by how alike they are. Beside attention they are shown too, unless
// methods are asked for. The last states of the three tokens are (1,0), (0,2), (3,4).
func TestShowHidden(t *testing.T) {
	about := map[string]string{"tokens": `["a"," b"," c"]`}
	hidden := checkpoint.Tensor{
		Name: "hidden", Shape: []int{3, 3, 2},
		Data: []float32{1, 1, 1, 1, 1, 1, 2, 1, -2, -1, 1, 3, 1, 0, 0, 2, 3, 4},
	}
	rows := []float32{1, 0, 0, .5, .5, 0, .25, .5, .25}
	attention := checkpoint.Tensor{
		Name: "attention", Shape: []int{2, 3, 3}, Data: append(rows, rows...),
	}
	alone, both := writeTensors(t, about, hidden), writeTensors(t, about, attention, hidden)
	for _, c := range []struct {
		order []string
		args  []string
	}{
		{[]string{"similarity"}, []string{alone}},
		{[]string{"rollout", "similarity"}, []string{both}},
		{[]string{"raw"}, []string{"--methods", "raw", both}},
	} {
		e := clitest.ParseExplanation(t, []byte(headwater.Output(t, append([]string{
			"show", "--format", "json",
		}, c.args...)...)))
		if diff := cmp.Diff(c.order, e.Order); diff != "" {
			t.Errorf("%q: order (-want +got):\n%s", c.args, diff)
		}
		r := e.Methods["similarity"]
		if r == nil {
			continue
		}
		if diff := cmp.Diff([]float64{.6, .8, 1}, r.Row(0, r.Top())); diff != "" {
			t.Errorf("%q: row of c (-want +got):\n%s", c.args, diff)
		}
	}
	text := headwater.Output(t, "show", alone)
	for _, want := range []string{
		"How alike the hidden states of tokens are", "similarity", "0.60", "0.80",
		"cosine of hidden states, layer 1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %q", text, want)
		}
	}
	text = headwater.Output(t, "show", "--view", "layers", "--format", "html", both)
	for _, want := range []string{"most from", "most like", "rollout", "similarity"} {
		if !strings.Contains(text, want) {
			t.Errorf("--view layers: %.2000s\nwant %q", text, want)
		}
	}
	text = headwater.Output(t, "show", "--view", "layers", alone)
	if want := "Layer by layer: how alike the hidden states"; !strings.Contains(text, want) {
		t.Errorf("%s\nwant %q", text, want)
	}
	headwater.Output(t, "show", "-o", filepath.Join(t.TempDir(), "a.svg"), alone)

	// What rests on a sink is not said better by states that are alike.
	sunk := make([]float32, 0, 18)
	for range 2 {
		sunk = append(sunk, 1, 0, 0, 1, 0, 0, 1, 0, 0)
	}
	attention.Data = sunk
	text = headwater.Output(t, "show", "--set", "residual=0",
		writeTensors(t, about, attention, hidden))
	if !strings.Contains(text, "not coloured") || strings.Contains(text, "says more") {
		t.Errorf("%s\nwant a row without colours, and no method that says more", text)
	}
}

// What headwater trace records is shown as it is.
func TestShowTracedHidden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.safetensors")
	headwater.Output(t, "trace", "--text", clitest.Prompt, "--taps", "attention,hidden", "-o", path)
	e := clitest.ParseExplanation(t,
		[]byte(headwater.Output(t, "show", "--format", "json", path)))
	rollout, similarity := e.Methods["rollout"], e.Methods["similarity"]
	if diff := cmp.Diff(rollout.Layers, similarity.Layers); diff != "" {
		t.Errorf("layers (-rollout +similarity):\n%s", diff)
	}
}

// Queries, keys and states that do not fit are one line that names what is needed.
func TestShowTensorRefusals(t *testing.T) {
	const two = `["a","b"]`
	tensor := func(name string, shape ...int) checkpoint.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = 1
		}
		return checkpoint.Tensor{Name: name, Shape: shape, Data: data}
	}
	nan := checkpoint.Tensor{
		Name: "hidden", Shape: []int{2, 2, 1}, Data: []float32{1, 1, 1, float32(math.NaN())},
	}
	for _, c := range []struct {
		want    string
		tensors []checkpoint.Tensor
		about   map[string]string
		args    []string
	}{
		{
			`tensor "q" has shape [1 2 3 4]; want [L,H,2,E] for its 2 tokens`,
			[]checkpoint.Tensor{tensor("q", 1, 2, 3, 4), tensor("k", 1, 1, 3, 4)},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`tensor "k" has shape [1 3 2 4], and q has [1 2 2 4]; want [1,G,2,4] with a G that ` +
				"divides 2",
			[]checkpoint.Tensor{tensor("q", 1, 2, 2, 4), tensor("k", 1, 3, 2, 4)},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`keys are in tensor "k", and there is no tensor "q"`,
			[]checkpoint.Tensor{tensor("k", 1, 3, 2, 4)},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`scale in its metadata is "1/8"; want what q·k is multiplied by`,
			[]checkpoint.Tensor{tensor("q", 1, 1, 2, 4), tensor("k", 1, 1, 2, 4)},
			map[string]string{"tokens": two, "scale": "1/8"},
			nil,
		},
		{
			`tensor "hidden" has shape [2 3 4]; want [L+1,2,D] for its 2 tokens, without an axis ` +
				"of the batch",
			[]checkpoint.Tensor{tensor("hidden", 2, 3, 4)},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`tensor "hidden" has shape [1 2 2 4]; want [L+1,T,D]`,
			[]checkpoint.Tensor{tensor("hidden", 1, 2, 2, 4)},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`tensor "hidden": state 1 token 1 number 0 is NaN`,
			[]checkpoint.Tensor{nan},
			map[string]string{"tokens": two},
			nil,
		},
		{
			`has no tensor "attention", which method raw needs; it has "hidden"`,
			[]checkpoint.Tensor{tensor("hidden", 2, 2, 1)},
			map[string]string{"tokens": two},
			[]string{"--view", "heads"},
		},
		{
			"its metadata has no tokens", []checkpoint.Tensor{tensor("hidden", 2, 2, 1)}, nil, nil,
		},
	} {
		path := writeTensors(t, c.about, c.tensors...)
		status, _, said := headwater.Execute(t, "", append([]string{"show", path}, c.args...)...)
		if status == cli.StatusOK || !strings.Contains(said, c.want) ||
			strings.Count(strings.TrimSpace(said), "\n") > 0 {
			t.Errorf("status %d, %q; want one line with %q", status, said, c.want)
		}
	}
}

package attribution_test

import (
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// twoStacks returns an explanation of a source of two tokens and a control token, with rows of a
// method over them, the start of the target, and the target before each token.
func twoStacks(quantity attribution.Quantity, rows ...[]float64) *attribution.Explanation {
	e := &attribution.Explanation{
		Model: trace.Info{
			Head: trace.NextToken, EncoderLayers: 2, Layers: 4, Heads: 1, Vocab: 9,
		},
		Prompt: attribution.Prompt{
			Text: "a b", IDs: []int{1, 2, 0, 9}, Texts: []string{"a", " b", "</s>", "<pad>"},
			Offsets: [][2]int{{0, 1}, {1, 3}, {3, 3}, {3, 3}},
			Special: []bool{false, false, true, true},
		},
		Order: []string{"alti"},
	}
	r := &attribution.Result{
		Facts:  attribution.Facts{Quantity: quantity, AddsUp: true, Combined: true},
		Layers: []int{3}, Shape: [3]int{len(rows), 4, 1}, Rows: rows,
	}
	for t, row := range rows {
		other := 0.0
		for _, x := range row[4:] {
			other += x
		}
		r.OtherMass, r.Shown = append(r.OtherMass, other), append(r.Shown, 3)
		e.Steps = append(e.Steps, attribution.GeneratedToken{ID: t + 3, Text: " t"})
	}
	e.Methods = map[string]*attribution.Result{"alti": r}
	return e
}

// TestSourceContribution divides rows whose parts are known. The first has 0.5+0.2+0.1 of 1 on the
// source; the second, whose sum is 2, has 0.6 of it.
func TestSourceContribution(t *testing.T) {
	rows := [][]float64{{.5, .2, .1, .2}, {.3, .2, .1, .4, 1}}
	got := twoStacks(attribution.Share, rows...).SourceContribution("alti")
	if len(got) != 2 || math.Abs(got[0]-.8) > 1e-15 || math.Abs(got[1]-.3) > 1e-15 {
		t.Errorf("the source contributes %v, want 0.8 and 0.3", got)
	}
	rows[1][0] = -.3
	got = twoStacks(attribution.Share, rows...).SourceContribution("alti")
	if math.Abs(got[0]-.8) > 1e-15 || !math.IsNaN(got[1]) {
		t.Errorf("of a row with a value below 0 the source contributes %v, want NaN", got[1])
	}
	if got := twoStacks(attribution.Amount, rows...).SourceContribution("alti"); got != nil {
		t.Errorf("of values that are no shares the source contributes %v, want nothing", got)
	}
	one := twoStacks(attribution.Share, rows...)
	one.Model.EncoderLayers = 0
	if got := one.SourceContribution("alti"); got != nil {
		t.Errorf("in a model of one stack the source contributes %v, want nothing", got)
	}
}

// TestLinks: a token is linked with what speaks most for it of the source, not with what speaks
// against it, a control token or the target.
func TestLinks(t *testing.T) {
	e := twoStacks(attribution.Amount, []float64{.1, -.2, .9, .5}, []float64{0, 0, 1, 1, 1},
		[]float64{.3, .3, 0, 0, 1, 1})
	if got := e.Links("alti"); !slices.Equal(got, []int{0, -1, 0}) {
		t.Errorf("links %v, want 0, none and 0", got)
	}
	e.Steps[2].Special = true
	if got := e.Links("alti"); got[2] != -1 {
		t.Errorf("a control token of the target is linked with %d", got[2])
	}
	if e.Model.EncoderLayers = 0; e.Links("alti") != nil || e.Links("none") != nil {
		t.Error("a model of one stack has links")
	}
}

// TestTwoStacksSink: no word of a source is a sink, as the first token of a prompt is; what rests
// on the token with which the target begins is one.
func TestTwoStacksSink(t *testing.T) {
	for at, want := range []bool{false, false, true, true} {
		row := []float64{.1, .1, .1, .1}
		row[at] = .7
		sinks, err := twoStacks(attribution.Share, row).Sinks("alti", attribution.ShownLevel)
		must(t, err)
		if is := len(sinks) == 1 && sinks[0].Position == at; is != want {
			t.Errorf("token %d with most of the row is a sink: %v, want %v", at, is, want)
		}
	}
}

// TestLayerNames names the layers of one stack and of two.
func TestLayerNames(t *testing.T) {
	for _, c := range []struct {
		encoder, layer         int
		label, name, lastThree string
	}{
		{0, 3, "3", "layer 3", "layers 1 to 3"},
		{2, 1, "encoder 1", "encoder 1", "encoder 0 to decoder 1 cross"},
		{2, 2, "decoder 0 self", "decoder 0 self", "encoder 0 to decoder 1 cross"},
		{2, 5, "decoder 1 cross", "decoder 1 cross", "encoder 0 to decoder 1 cross"},
	} {
		of := trace.Info{EncoderLayers: c.encoder, Layers: 6}
		first, last := 1, 3
		if c.encoder > 0 {
			first, last = 0, 5
		}
		if label, name := of.LayerLabel(c.layer), of.LayerName(c.layer); label != c.label ||
			name != c.name || of.LayerRange(first, last) != c.lastThree {
			t.Errorf("%+v: %q, %q, %q", c, label, name, of.LayerRange(first, last))
		}
	}
}

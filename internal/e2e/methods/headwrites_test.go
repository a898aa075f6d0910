package methods

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/models"
)

// writtenPrompts are of several kinds: names, facts, lists, code, and words that occur before.
var writtenPrompts = []string{
	"When Mary and John went to the store, John gave a drink to",
	"After Tom and Anna went to the park, Tom gave a ball to",
	"The capital of France is",
	"The Eiffel Tower is in the city of",
	"red, green, blue, red, green,",
	"def area(width, height):\n    return width *",
	"data = json.load(file)\nsave(path, data)\nprint(",
	"The keys to the cabinet",
	"Alice has a cat. Bob has a dog. Alice has a",
	"Monday, Tuesday, Wednesday,",
	"The opposite of hot is",
	"Water boils at a temperature of 100 degrees",
}

// TestSmolLM2HeadWrites compares the head that a picture of heads names, and the one that it would
// name by what heads look at, with the one without which what is explained falls most, each taken
// away where the token is predicted, by its mean over the text. docs/views.md has what it prints.
func TestSmolLM2HeadWrites(t *testing.T) {
	if os.Getenv("HEADWATER_HEAD_WRITES") == "" {
		t.Skip("takes minutes; HEADWATER_HEAD_WRITES=1 asks for it")
	}
	m := nameModel(t)
	H := m.Info().Heads
	var first, among [2]int // of the head that wrote most and the one that looks most
	for _, prompt := range writtenPrompts {
		e, err := attribution.Explain(t.Context(), m, prompt, attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": heads.Random},
			Alternatives: 8,
		})
		must(t, err)
		g := e.Steps[0]
		fall := withoutHeads(t, m, e.Prompt.IDs, &g)
		attention, err := m.Trace(t.Context(), e.TokenIDs(), []trace.Tap{trace.Attention})
		must(t, err)
		e.Steps[0].Studies = nil
		looks, err := render.Heads{Explanation: e, Attention: attention[0]}.OpenHead(nil)
		must(t, err)
		named, needed := strongestFirst(heads.Wrote(g).Heads)[0], strongestFirst(fall)
		var rank [2]int
		for i, head := range []int{named, looks.Layer*H + looks.Head} {
			if rank[i] = slices.Index(needed, head) + 1; rank[i] == 1 {
				first[i]++
			}
			if rank[i] <= 3 {
				among[i]++
			}
		}
		t.Logf("%-22.22q %-9q wrote most %d.%d %+.2f, rank %d; looks most %d.%d, rank %d; without "+
			"%d.%d %+.2f", prompt, strings.TrimSpace(g.Text), named/H, named%H,
			heads.Wrote(g).Heads[named], rank[0], looks.Layer, looks.Head, rank[1], needed[0]/H,
			needed[0]%H, -fall[needed[0]])
	}
	t.Logf("of %d: the head that wrote most is the one without which most is lost %d times, among "+
		"the first three %d times; the one that looks most %d and %d times", len(writtenPrompts),
		first[0], among[0], first[1], among[1])
	if first[0] < first[1] || among[0] < among[1] {
		t.Error("what heads look at finds those that are needed more often than what they wrote")
	}
}

// withoutHeads returns, for each head, by how much the logit of the next token over the mean of its
// foils falls without the head at the last token, [L,H].
func withoutHeads(
	t *testing.T, m *models.Model, ids []int, g *attribution.GeneratedToken,
) (fall []float64) {
	t.Helper()
	var foils []int
	for _, a := range g.Alternatives {
		if a.ID != g.ID && len(foils) < heads.Wrote(*g).Foils {
			foils = append(foils, a.ID)
		}
	}
	run := func(edits ...trace.Edit) (value float64, context trace.Tensor) {
		out, err := m.Run(t.Context(), ids, []trace.Tap{trace.Logits, trace.Context}, edits)
		must(t, err)
		V := out[0].Shape[1]
		last := out[0].Data[(len(ids)-1)*V:]
		value = float64(last[g.ID])
		for _, id := range foils {
			value -= float64(last[id]) / float64(len(foils))
		}
		return value, out[1]
	}
	whole, context := run()
	if math.Abs(whole-heads.Wrote(*g).Value) > 1e-3 {
		t.Fatalf("the logit over its foils is %v, and the explanation says %v", whole, heads.Wrote(*g).Value)
	}
	L, H, T, E := context.Shape[0], context.Shape[1], context.Shape[2], context.Shape[3]
	for i := range L * H {
		value, _ := run(trace.Edit{
			Tap: trace.Context, Layers: []int{i / H}, Heads: []int{i % H},
			Positions: []int{T - 1}, Change: trace.SetMean, Shape: []int{T, 1, 1, 1, E},
			Value: context.Data[i*T*E:][:T*E],
		})
		fall = append(fall, whole-value)
	}
	return fall
}

// TestHeadWritesAgainstContrast: what heads wrote is what a gradient through the final norm gives
// of their outputs.
func TestHeadWritesAgainstContrast(t *testing.T) {
	m := nameModel(t)
	prompt := writtenPrompts[0]
	e, err := attribution.Explain(t.Context(), m, prompt, attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": heads.Random},
		Contrast: " John",
	})
	must(t, err)
	foil, err := m.Encode(" John", trace.SpecialsOff)
	must(t, err)
	want := writtenByHeads(t, m, e.Prompt.IDs, &patch.Result{
		Answer: patch.Token{ID: e.Steps[0].ID}, Foil: patch.Token{ID: foil[0].ID},
		CleanDifference: heads.Wrote(e.Steps[0]).Value,
	})
	for i, x := range heads.Wrote(e.Steps[0]).Heads {
		if math.Abs(x-want[i]) > 2e-3 { // in float32, of up to 2.9; the worst is below 1e-3
			t.Errorf("head %d wrote %v, want %v", i, x, want[i])
		}
	}
}

package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// editTol bounds what a batch or the cache may change under edits, as sums run in another order.
const editTol = 2e-5

// editable are the taps of a golden that can be edited.
func (g *golden) editable() []trace.Tap {
	return slices.DeleteFunc(trace.EditableTaps(), func(tap trace.Tap) bool {
		return !slices.Contains(allTaps(g.model.Spec), tap)
	})
}

// run is a pass over one text under edits.
func (g *golden) run(t testing.TB, ids []int, edits []trace.Edit,
	taps ...trace.Tap,
) []trace.Tensor {
	t.Helper()
	texts, err := g.model.Forward(context.Background(), transformer.Batch{
		IDs: [][]int{ids}, Edits: [][]trace.Edit{edits},
	}, taps)
	must(t, err)
	return texts[0]
}

// end is what a golden's head says, or the final stream of one without.
func (g *golden) end() trace.Tap {
	if g.model.Spec.Head == spec.NoHead {
		return trace.Final
	}
	return trace.Logits
}

// TestEditOfOwnValues: a tap that is set to what it has changes nothing, and one that is set to
// something else has that.
func TestEditOfOwnValues(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		for _, tap := range g.editable() {
			plain := g.take(t, tap, g.end())
			own := plain[tap]
			edit := trace.Edit{
				Tap: tap, Change: trace.SetValue, Shape: own.Shape, Value: own.Data,
			}
			got := g.run(t, g.ids, []trace.Edit{edit}, g.end())[0]
			tol := 0.0
			if tap == trace.HeadOutput || tap == trace.Attention { // sums in another order
				tol = 1e-5
			}
			check(t, fmt.Sprintf("logits with the tap %s set to itself", tap), got.Data,
				plain[g.end()].Data, tol)

			// With a number added, then scaled: one acts on what the other left.
			half := []trace.Edit{
				{Tap: tap, Change: trace.AddValue, Factor: 2, Value: []float32{0.125}},
				{Tap: tap, Change: trace.Scale, Factor: 0.5},
			}
			if tap == trace.Attention || tap == trace.Router { // norms may divide by their size
				half = half[1:]
			}
			first := own.Data[:len(own.Data)/own.Shape[0]] // later layers see the change
			want := slices.Clone(first)
			for i := range want {
				want[i] *= 0.5
				if len(half) > 1 {
					want[i] += 2 * 0.125 * 0.5
				}
			}
			changed := g.run(t, g.ids, half, tap, g.end())
			check(t, fmt.Sprintf("tap %s read under an edit", tap), changed[0].Data[:len(want)],
				want, 1e-5)
			if d, _ := worst(changed[1].Data, got.Data); d < 1e-5 && len(half) > 1 {
				t.Errorf("half of %s changes the logits by %g", tap, d)
			}
		}
	})
}

// someEdits are edits of every tap of a golden, in another layer each, at heads and positions among
// n tokens.
func (g *golden) someEdits(n int) (all []trace.Edit) {
	s := g.model.Spec
	for i, tap := range g.editable() {
		e := trace.Edit{
			Tap: tap, Layers: []int{i % s.Layers}, Positions: []int{n - 1, 1},
			Change: trace.Scale, Factor: -0.5,
		}
		if tap == trace.Router {
			e.Layers = []int{s.Layers - 1}
		}
		add := trace.Edit{
			Tap: tap, Layers: e.Layers, Change: trace.AddValue, Factor: 0.5,
			Value: []float32{float32(i%3) - 0.75},
		}
		if tap == trace.Attention || tap == trace.Context || tap == trace.HeadOutput {
			e.Heads, add.Heads = []int{1}, []int{s.Heads - 1, 0}
		}
		all = append(all, e, add)
	}
	return all
}

// TestEditsOfBatch: each text of a batch has its own edits, whichever side is padded, and gets what
// it gets alone; one without edits what it gets without.
func TestEditsOfBatch(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		texts := g.threeTexts()
		all := g.someEdits(len(texts[2]))
		batch := transformer.Batch{IDs: texts, Edits: [][]trace.Edit{all[:4], all, nil}}
		for _, left := range []bool{false, true} {
			if left && g.model.Spec.Bidirectional {
				continue
			}
			batch.PadLeft = left
			out, err := g.model.Forward(context.Background(), batch, []trace.Tap{g.end()})
			must(t, err)
			for i, ids := range texts {
				alone := g.run(t, ids, batch.Edits[i], g.end())
				check(t, fmt.Sprintf("left=%v text %d", left, i), out[i][0].Data, alone[0].Data,
					editTol)
			}
		}
	})
}

// TestEditsOfQueries: a prediction under edits is that of the pass under them.
func TestEditsOfQueries(t *testing.T) {
	g := openGolden(t, "llama")
	all := g.someEdits(len(g.ids))
	var queries []trace.Query
	for i := range all {
		queries = append(queries, trace.Query{
			IDs: g.ids, Edits: all[:i],
			Objective: trace.Objective{Quantity: trace.Logit, Position: len(g.ids) - 1, Token: 7},
		})
	}
	got, err := g.model.Predict(context.Background(), queries)
	must(t, err)
	for i, q := range queries {
		logits := g.run(t, g.ids, q.Edits, trace.Logits)[0]
		want := logits.Data[len(logits.Data)-g.model.Spec.Vocab+7]
		if math.Abs(got[i]-float64(want)) > editTol {
			t.Errorf("query %d: %g, want %g", i, got[i], want)
		}
	}
}

// TestEditsOnTheCache: tokens that follow on the cache get the logits of a pass over the whole
// text, where edits name positions of the prompt, later ones, and all; by steps, and several at
// once.
func TestEditsOnTheCache(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && (r.Stretch > 0 || r.LongFrequencies != nil) &&
			r.Original < 11 {
			t.Skip("the length of its text turns all its keys")
		}
		const prompt = 7
		edits := g.someEdits(prompt)
		for i := range edits {
			if edits[i].Positions != nil {
				edits[i].Positions = []int{1, 4, prompt + 1}
			}
		}
		ids := g.ids[:min(len(g.ids), 11)]
		// Positions from the end are of the prompt, and the same ones for a pass over the whole.
		ask := append(slices.Clone(edits), trace.Edit{
			Tap: trace.Hidden, Layers: []int{1}, Positions: []int{-1}, Change: trace.SetZero,
		})
		whole := slices.Clone(ask)
		whole[len(whole)-1].Positions = []int{prompt - 1}
		want := g.run(t, ids, whole, trace.Logits)[0].Data
		v := g.model.Spec.Vocab
		for _, extends := range []bool{false, true} {
			s, err := g.model.NewSession([]trace.MixingAsk{{Name: "attention"}}, 0)
			must(t, err)
			defer s.Close()
			s.Edit(ask...)
			out, err := s.Prompt(context.Background(), ids[:prompt], nil)
			must(t, err)
			check(t, "prompt", out.Logits, want[(prompt-1)*v:prompt*v], editTol)
			at := prompt
			if extends {
				_, err := s.Extend(context.Background(), ids[at:at+2], nil)
				must(t, err)
				at += 2
			}
			for ; at < len(ids); at++ {
				out, err := s.Step(context.Background(), ids[at])
				must(t, err)
				check(t, fmt.Sprintf("extends=%v position %d", extends, at), out.Logits,
					want[at*v:(at+1)*v], editTol)
			}
		}
	})
}

// TestAllHeadsAreTheAttention: without a bias, zero for every head is zero for the attention.
func TestAllHeadsAreTheAttention(t *testing.T) {
	g := openGolden(t, "llama")
	var got [][]float32
	for _, tap := range []trace.Tap{trace.HeadOutput, trace.Context, trace.AttentionOutput} {
		edit := trace.Edit{Tap: tap, Layers: []int{1}, Change: trace.SetZero}
		got = append(got, g.run(t, g.ids, []trace.Edit{edit}, trace.Logits)[0].Data)
	}
	check(t, "heads", got[0], got[2], 0)
	check(t, "contexts", got[1], got[2], 0)
}

// TestKnockout: a source whose attention is set to zero is as if its value were zero for the
// targets that are named.
func TestKnockout(t *testing.T) {
	g := openGolden(t, "llama")
	n := len(g.ids)
	cut := trace.Edit{
		Tap: trace.Attention, Layers: []int{1}, Sources: []int{2}, Change: trace.SetZero,
	}
	zero := trace.Edit{
		Tap: trace.Value, Layers: []int{1}, Positions: []int{2}, Change: trace.SetZero,
	}
	check(t, "all targets", g.run(t, g.ids, []trace.Edit{cut}, trace.Logits)[0].Data,
		g.run(t, g.ids, []trace.Edit{zero}, trace.Logits)[0].Data, 1e-5)
	// Of the last target alone nothing changes before it.
	cut.Positions = []int{-1}
	v := g.model.Spec.Vocab
	got := g.run(t, g.ids, []trace.Edit{cut}, trace.Logits)[0].Data
	plain := g.take(t, trace.Logits)[trace.Logits].Data
	check(t, "targets before", got[:(n-1)*v], plain[:(n-1)*v], 0)
	if d, _ := worst(got[(n-1)*v:], plain[(n-1)*v:]); d < 1e-3 {
		t.Errorf("the last target changes by %g", d)
	}
}

// TestEditsCompileNothing: other numbers, positions, heads and layers need no other graph.
func TestEditsCompileNothing(t *testing.T) {
	g := openGolden(t, "llama")
	for i := range 3 {
		g.run(t, g.ids, []trace.Edit{
			{
				Tap: trace.HeadOutput, Layers: []int{i}, Heads: []int{i, 3}, Change: trace.AddValue,
				Positions: []int{i}, Factor: float64(i) + 1, Value: []float32{float32(i)},
			},
			{Tap: trace.Hidden, Layers: []int{i + 1}, Positions: []int{-i - 1}, Change: trace.SetZero},
		}, trace.Logits)
		graphs, _ := g.model.Compiled()
		if i == 0 {
			defer func(first int) {
				if graphs != first {
					t.Errorf("%d graphs after three runs, %d after one", graphs, first)
				}
			}(graphs)
		}
	}
}

// TestEditShapes: a value may have every shape that its documentation describes, in every tap: axes
// on the left are missing, or an axis has the size 1 and stands for all. A tap without heads has no
// axis of them, or one of size 1. The tap then has those numbers.
func TestEditShapes(t *testing.T) {
	for _, name := range []string{"gpt2", "qwen2_moe"} {
		g := openGolden(t, name)
		layers, positions := []int{0, g.model.Spec.Layers - 1}, []int{2, 3, 1}
		for _, tap := range g.editable() {
			plain := g.take(t, tap)[tap]
			width, heads := plain.Shape[len(plain.Shape)-1], g.model.Spec.Heads
			if len(plain.Shape) == 3 {
				heads = 1
			}
			if tap == trace.Attention { // of the sources 0 and 1
				width = 2
			}
			if tap == trace.Router { // layer 1 has no experts
				layers = []int{0, 2}
			}
			for kind := range 5 << 4 { // how many axes there are, and which of them have size 1
				axes, full := kind>>4, [4]int{len(layers), heads, len(positions), width}
				for axis := range full {
					shared := axis == 1 && (tap == trace.KeyVector || tap == trace.Value)
					missing := axis < 4-axes && !(axes == 3 && heads == 1)
					if missing || kind>>axis&1 == 1 || shared {
						full[axis] = 1
					}
				}
				e := trace.Edit{
					Tap: tap, Layers: layers, Positions: positions, Change: trace.SetValue,
					Shape: slices.Clone(full[4-axes:]),
				}
				if axes == 3 && heads == 1 { // no axis of heads
					e.Shape = []int{full[0], full[2], full[3]}
				}
				if tap == trace.Attention {
					e.Sources = []int{0, 1}
				}
				for i := range full[0] * full[1] * full[2] * full[3] {
					e.Value = append(e.Value, float32(i+1)/64)
				}
				got := g.run(t, g.ids, []trace.Edit{e}, tap)[0]
				for i, l := range layers {
					for h := range heads {
						for j, p := range positions {
							row := at(got, l, h, p)
							if heads == 1 {
								row = at(got, l, p)
							}
							for c := range width {
								place := i % full[0]
								for axis, k := range []int{h, j, c} {
									place = place*full[axis+1] + k%full[axis+1]
								}
								if row[c] != e.Value[place] {
									t.Fatalf("%s %v: number %d of layer %d, head %d, position %d "+
										"is %v, want %v", tap, e.Shape, c, l, h, p, row[c],
										e.Value[place])
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestEditsThatDoNotFit: an error names the tap and the place, and what the model has.
func TestEditsThatDoNotFit(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		golden string
		edit   trace.Edit
		want   string
	}{
		"tap":       {"llama", trace.Edit{Tap: "scores", Change: trace.SetZero}, `"scores" cannot be`},
		"change":    {"llama", trace.Edit{Tap: trace.Hidden, Change: "halve"}, `"halve" is unknown`},
		"layer":     {"llama", trace.Edit{Tap: trace.Value, Layers: []int{3}, Change: trace.SetZero}, "layer 3 is not in 0..2"},
		"stream":    {"llama", trace.Edit{Tap: trace.Hidden, Layers: []int{4}, Change: trace.SetZero}, "layer 4 is not in 0..3"},
		"head":      {"llama", trace.Edit{Tap: trace.Context, Heads: []int{-1}, Change: trace.SetZero}, "head -1 is not in 0..3"},
		"no heads":  {"llama", trace.Edit{Tap: trace.Hidden, Heads: []int{0}, Change: trace.SetZero}, "no heads"},
		"shared":    {"llama", trace.Edit{Tap: trace.KeyVector, Heads: []int{1}, Change: trace.SetZero}, "heads 0 to 1 share it"},
		"differ":    {"llama", trace.Edit{Tap: trace.Value, Heads: []int{2, 3}, Change: trace.SetValue, Shape: []int{2, 1, 1}, Value: []float32{1, 2}}, "heads 2 and 3 share it"},
		"position":  {"llama", trace.Edit{Tap: trace.Hidden, Positions: []int{-13}, Change: trace.SetZero}, "position -13 is not in -12..11"},
		"twice":     {"llama", trace.Edit{Tap: trace.Hidden, Positions: []int{11, -1}, Change: trace.SetZero}, "position 11 is named twice"},
		"sources":   {"llama", trace.Edit{Tap: trace.Value, Sources: []int{1}, Change: trace.SetZero}, "only attention has sources"},
		"shape":     {"llama", trace.Edit{Tap: trace.Context, Change: trace.SetValue, Shape: []int{2}, Value: []float32{1, 2}}, "its value has the shape [2]"},
		"size":      {"llama", trace.Edit{Tap: trace.Context, Change: trace.SetValue, Shape: []int{1 << 40, 1 << 40}, Value: []float32{1, 2}}, "2 numbers do not have the shape"},
		"nan":       {"llama", trace.Edit{Tap: trace.Hidden, Change: trace.SetValue, Value: []float32{nan}}, "number 0 of the value is NaN"},
		"factor":    {"llama", trace.Edit{Tap: trace.Hidden, Change: trace.Scale, Factor: math.Inf(1)}, "the factor +Inf"},
		"nothing":   {"llama", trace.Edit{Tap: trace.Hidden, Change: trace.AddValue, Value: []float32{1}}, "changes nothing"},
		"no value":  {"llama", trace.Edit{Tap: trace.Hidden, Change: trace.SetMean}, "do not go together"},
		"value":     {"llama", trace.Edit{Tap: trace.Hidden, Change: trace.SetZero, Value: []float32{1}}, "do not go together"},
		"parallel":  {"falcon7", trace.Edit{Tap: trace.HiddenAfterAttention, Change: trace.SetZero}, "at once"},
		"experts":   {"llama", trace.Edit{Tap: trace.Router, Change: trace.SetZero}, "no experts"},
		"one dense": {"qwen2_moe", trace.Edit{Tap: trace.Router, Layers: []int{1}, Change: trace.SetZero}, "layer 1 has no experts"},
	} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, c.golden)
			_, err := g.model.Forward(context.Background(), transformer.Batch{
				IDs: [][]int{g.ids}, Edits: [][]trace.Edit{{c.edit}},
			}, []trace.Tap{trace.Logits})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestExtendMemoryUnderEdits: the estimate of more tokens on the cache has the inputs of the edits,
// what attention keeps and what is added to it, on the host and on the device, and their values.
func TestExtendMemoryUnderEdits(t *testing.T) {
	g := openGolden(t, "gpt2")
	m := g.changed(t, func(string, []float32) {})
	m.MaxBytes = 1
	need := func(edits ...trace.Edit) int64 {
		s, err := m.NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		s.Edit(edits...)
		var refused *trace.MemoryError
		if _, err := s.Extend(t.Context(), g.ids, nil); !errors.As(err, &refused) {
			t.Fatalf("error %v, want that the memory does not suffice", err)
		}
		return refused.Need
	}
	heads, n := m.Spec.Heads, len(g.ids)
	edit := trace.Edit{
		Tap: trace.Attention, Change: trace.SetValue, Shape: []int{1}, Value: []float32{0},
	}
	want := int64(4*4*heads*n*transformer.Bucket(n) + 4)
	if got := need(edit) - need(); got != want {
		t.Errorf("an edit of attention takes %d bytes, want %d", got, want)
	}
}

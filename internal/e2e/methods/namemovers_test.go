package methods

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/models"
)

// namePrompts are prompts of indirect objects: A and B are the names in the order of the first
// clause, and S is the one who gives. The other one gets.
var namePrompts = []string{
	"When <A> and <B> went to the store, <S> gave a drink to",
	"After <A> and <B> went to the park, <S> gave a ball to",
	"Then <A> and <B> were at the office, and <S> gave a letter to",
	"While <A> and <B> were working at the station, <S> gave a book to",
}

var namePairs = [][2]string{{"Mary", "John"}, {"Tom", "Anna"}}

// TestNameMovers compares, on SmolLM2, the heads that patching finds for the indirect object with
// those that direct attribution names, over 16 pairs of prompts: each prompt once with either name
// as the giver, and with the names in either order. docs/methods.md has what it prints with -v.
func TestNameMovers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real model 4,400 times")
	}
	folder, err := filepath.Abs("../../../.cache/models")
	must(t, err)
	t.Setenv("HEADWATER_MODELS", folder)
	if at, err := hub.Local("smollm2", hub.Options{Models: folder}); err != nil || at == "" {
		t.Skip("the model is not there; make smollm2 brings it")
	}
	m, err := models.Open("smollm2", models.Options{Backend: "go"})
	must(t, err)
	info := m.Info()
	all := info.Layers * info.Heads
	patched, direct := make([]float64, all), make([]float64, all)
	var top, estimates []float64
	pairs := 0
	for _, prompt := range namePrompts {
		for _, names := range namePairs {
			for _, order := range [][2]string{names, {names[1], names[0]}} {
				texts := [2][]trace.Token{}
				for i, giver := range []string{order[1], order[0]} {
					text := strings.NewReplacer("<A>", order[0], "<B>", order[1], "<S>",
						giver).Replace(prompt)
					texts[i], err = m.Encode(text, trace.SpecialsAuto)
					must(t, err)
				}
				r, err := patch.Map(t.Context(), m, patch.Options{
					Clean: texts[0], Corrupted: texts[1], Place: patch.LastHeads, Estimate: true,
				})
				must(t, err)
				if got := strings.TrimSpace(r.Answer.Text); got != order[0] {
					t.Fatalf("the model answers %q, and %q gets it", got, order[0])
				}
				written := writtenByHeads(t, m, trace.IDs(texts[0]), r)
				for k := range patched {
					patched[k] += r.Recovery[k]
					direct[k] += written[k]
				}
				top = append(top, overlap(r.Recovery, written, 5))
				estimates = append(estimates, *r.Correlation)
				pairs++
			}
		}
	}
	for k := range patched {
		patched[k] /= float64(pairs)
		direct[k] /= float64(pairs)
	}
	byPatch, byDirect := strongestFirst(patched), strongestFirst(direct)
	for rank := range 8 {
		name := func(k int) string { return fmt.Sprintf("%d.%d", k/info.Heads, k%info.Heads) }
		a, b := byPatch[rank], byDirect[rank]
		t.Logf("%d: patched %s %.1f %% (direct %+.2f); direct %s %+.2f (patched %.1f %%)", rank+1,
			name(a), 100*patched[a], direct[a], name(b), direct[b], 100*patched[b])
	}
	lowest := byPatch[len(byPatch)-1]
	t.Logf("lowest patched %d.%d %.1f %% (direct %+.2f)", lowest/info.Heads, lowest%info.Heads,
		100*patched[lowest], direct[lowest])
	correlation := stat.Correlation(patched, direct, nil)
	t.Logf("%d pairs, correlation %.2f, %.0f of 5 in common, %.1f of 5 for one pair, estimates %.3f",
		pairs, correlation, overlap(patched, direct, 5), stat.Mean(top, nil),
		stat.Mean(estimates, nil))
}

// writtenByHeads returns what each head wrote of the logit of the answer minus that of the foil at
// the last position, [L,H], with the final norm as it was. The final stream is set to the head's
// part a alone, made as long as the stream x was, so that its norm divides by the same number:
//
//	m(a |x|/|a|) |a|/|x| = a·γ·(W_answer - W_foil)/rms(x)
func writtenByHeads(t *testing.T, m *models.Model, ids []int, r *patch.Result) []float64 {
	t.Helper()
	out, err := m.Run(t.Context(), ids, []trace.Tap{trace.Hidden, trace.HeadAdded}, nil)
	must(t, err)
	L, H, T, D := out[1].Shape[0], out[1].Shape[1], out[1].Shape[2], out[1].Shape[3]
	length := func(x []float32) float64 {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum)
	}
	stream := length(out[0].Data[(L*T+T-1)*D:][:D])
	written := make([]float64, L*H)
	queries, factors := make([]trace.Query, L*H), make([]float64, L*H)
	for k := range written {
		a := slices.Clone(out[1].Data[(k*T+T-1)*D:][:D])
		factors[k] = length(a) / stream
		for i := range a {
			a[i] = float32(float64(a[i]) / factors[k])
		}
		queries[k] = trace.Query{
			IDs: ids,
			Edits: []trace.Edit{{
				Tap: trace.Hidden, Layers: []int{L}, Positions: []int{T - 1},
				Change: trace.SetValue, Shape: []int{D}, Value: a,
			}},
			Objective: trace.Objective{
				Quantity: trace.Logit, Position: T - 1, Token: r.Answer.ID, Contrast: &r.Foil.ID,
			},
		}
	}
	values, err := m.Predict(t.Context(), queries)
	must(t, err)
	for k, x := range values {
		written[k] = x * factors[k]
	}
	return written
}

// strongestFirst returns the indices of values, the largest value first.
func strongestFirst(values []float64) []int {
	order := make([]int, len(values))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// overlap returns how many of the n largest values of a are among those of b.
func overlap(a, b []float64, n int) (common float64) {
	most := strongestFirst(b)[:n]
	for _, k := range strongestFirst(a)[:n] {
		if slices.Contains(most, k) {
			common++
		}
	}
	return common
}

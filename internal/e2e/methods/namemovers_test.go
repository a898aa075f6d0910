package methods

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla" // some ten times as fast
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

// nameModel returns SmolLM2, which all tests share, and skips a test where it is not there.
func nameModel(t *testing.T) *models.Model {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a real model thousands of times")
	}
	m, err := openNameModel()
	must(t, err)
	if m == nil {
		t.Skip("the model is not there; make smollm2 brings it")
	}
	return m
}

var openNameModel = sync.OnceValues(func() (*models.Model, error) {
	at, err := hub.Local("smollm2", hub.Options{Models: "../../../.cache/models"})
	if err != nil || at == "" {
		return nil, nil
	}
	return models.Open(at, models.Options{})
})

// eachNamePair calls do with 16 pairs of prompts, in which the other name gives, and with who gets
// it in the first one. Names stand in either order.
func eachNamePair(
	t *testing.T, m *models.Model, do func(clean, corrupted []trace.Token, answer string),
) {
	t.Helper()
	for _, prompt := range namePrompts {
		for _, names := range namePairs {
			for _, order := range [][2]string{names, {names[1], names[0]}} {
				texts := [2][]trace.Token{}
				for i, giver := range []string{order[1], order[0]} {
					text := strings.NewReplacer("<A>", order[0], "<B>", order[1], "<S>",
						giver).Replace(prompt)
					var err error
					texts[i], err = m.Encode(text, trace.SpecialsAuto)
					must(t, err)
				}
				do(texts[0], texts[1], order[0])
			}
		}
	}
}

// TestNameMovers compares, on SmolLM2, the heads that patching finds for the indirect object with
// those that direct attribution names. The two strongest and the most negative one are the same.
// docs/measured/heads.md has what it prints with -v.
func TestNameMovers(t *testing.T) {
	m := nameModel(t)
	info := m.Info()
	patched := make([]float64, info.Layers*info.Heads)
	direct := make([]float64, info.Layers*info.Heads)
	var top, estimates []float64
	pairs := 0.0
	eachNamePair(t, m, func(clean, corrupted []trace.Token, answer string) {
		r, err := patch.Map(t.Context(), m, patch.Options{
			Clean: clean, Corrupted: corrupted, Place: patch.LastHeads, Estimate: patch.Beside,
		})
		must(t, err)
		if got := strings.TrimSpace(r.Answer.Text); got != answer {
			t.Fatalf("the model answers %q, and %q gets it", got, answer)
		}
		written := writtenByHeads(t, m, trace.IDs(clean), r)
		for k := range patched {
			patched[k] += r.Recovery[k]
			direct[k] += written[k]
		}
		top = append(top, overlap(r.Recovery, written, 5))
		estimates = append(estimates, *r.Correlation)
		pairs++
	})
	for k := range patched {
		patched[k] /= pairs
		direct[k] /= pairs
	}
	name := func(k int) string { return fmt.Sprintf("%d.%d", k/info.Heads, k%info.Heads) }
	byPatch, byDirect := strongestFirst(patched), strongestFirst(direct)
	for rank := range 8 {
		a, b := byPatch[rank], byDirect[rank]
		t.Logf("%d: patched %s %.1f %% (direct %+.2f); direct %s %+.2f (patched %.1f %%)", rank+1,
			name(a), 100*patched[a], direct[a], name(b), direct[b], 100*patched[b])
	}
	last := len(byPatch) - 1
	t.Logf("lowest: patched %s %.1f %%, direct %s %+.2f", name(byPatch[last]),
		100*patched[byPatch[last]], name(byDirect[last]), direct[byDirect[last]])
	t.Logf("%.0f pairs, correlation %.2f, %.0f of 5 in common, %.1f of 5 for one pair, estimates %.3f",
		pairs, stat.Correlation(patched, direct, nil), overlap(patched, direct, 5),
		stat.Mean(top, nil), stat.Mean(estimates, nil))
	if !slices.Equal(byPatch[:2], byDirect[:2]) || byPatch[last] != byDirect[last] {
		t.Error("the name movers of both are not the same")
	}
}

// TestPathsToNameMover: the heads that patching finds and that write nothing of the answer do not
// act through the strongest name mover: less than a twentieth of the difference passes on each way.
// A way takes twenty seconds of processor time, so only -v takes keys, values and more than one
// pair.
func TestPathsToNameMover(t *testing.T) {
	m := nameModel(t)
	info, pairs := m.Info(), 0.0
	means := map[trace.Tap][]float64{}
	ways := []trace.Tap{trace.QueryVector, trace.Logits}
	if testing.Verbose() {
		ways = append(ways, trace.KeyVector, trace.Value)
	}
	eachNamePair(t, m, func(clean, corrupted []trace.Token, _ string) {
		if pairs == 1 && !testing.Verbose() {
			return
		}
		pairs++
		for _, way := range ways {
			o := patch.Options{Clean: clean, Corrupted: corrupted, Place: patch.Path}
			if way != trace.Logits {
				o.Receiver = patch.Node{Kind: patch.HeadNode, Layer: 23, Head: 3, Through: way}
			}
			r, err := patch.Map(t.Context(), m, o)
			must(t, err)
			if means[way] == nil {
				means[way] = make([]float64, len(r.Recovery))
			}
			for k, x := range r.Recovery {
				means[way][k] += x
			}
		}
	})
	for _, way := range ways {
		for k := range means[way] {
			means[way][k] /= pairs
		}
		order, said := strongestFirst(means[way]), ""
		for _, k := range slices.Concat(order[:5], order[len(order)-3:]) {
			said += fmt.Sprintf(" %d.%d %.1f %%", k/info.Heads, k%info.Heads, 100*means[way][k])
		}
		t.Logf("%.0f pairs to 23.3 through its %s:%s", pairs, way, said)
		for _, k := range []int{20 * info.Heads, 19*info.Heads + 2} {
			x := means[way][k]
			t.Logf("%d.%d: %.1f %%", k/info.Heads, k%info.Heads, 100*x)
			if way != trace.Logits && math.Abs(x) > .05 {
				t.Errorf("%d.%d acts through the %s of head 23.3", k/info.Heads, k%info.Heads, way)
			}
		}
	}
	if best := strongestFirst(means[trace.Logits])[0]; best != 23*info.Heads+3 {
		t.Errorf("head %d.%d writes most into the logits", best/info.Heads, best%info.Heads)
	}
}

// writtenByHeads returns what each head wrote of m, the logit of the answer minus that of the foil,
// at the last position, [L,H], with the final norm as it was. Of the final stream x, whose norm is
// |x|, one gradient gives that of each part a of it:
//
//	m = g·x √D/|x|,  ∂m/∂x = (g - x (g·x)/|x|²) √D/|x|,  g·a √D/|x| = a·∂m/∂x + m (a·x)/|x|²
//
// The gradient at the last layer's feed-forward output is that of x, to which it is added.
func writtenByHeads(t *testing.T, m *models.Model, ids []int, r *patch.Result) []float64 {
	t.Helper()
	out, err := m.Run(t.Context(), ids, []trace.Tap{trace.Hidden, trace.HeadAdded}, nil)
	must(t, err)
	L, H, T, D := out[1].Shape[0], out[1].Shape[1], out[1].Shape[2], out[1].Shape[3]
	all, err := m.Gradients(t.Context(), []trace.Query{{IDs: ids, Objective: trace.Objective{
		Quantity: trace.Logit, Position: T - 1, Token: r.Answer.ID, Contrast: &r.Foil.ID,
	}}}, trace.WithTaps)
	must(t, err)
	at := slices.Index(trace.GradientTaps(), trace.FeedForwardOutput)
	slope := all[0].Taps[at].Data[((L-1)*T+T-1)*D:][:D]
	x := out[0].Data[(L*T+T-1)*D:][:D]
	written := make([]float64, L*H)
	for k := range written {
		a := out[1].Data[(k*T+T-1)*D:][:D]
		written[k] = dot(a, slope) + r.CleanDifference*dot(a, x)/dot(x, x)
	}
	return written
}

func dot(x, y []float32) (sum float64) {
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
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

package transformer_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/models/spec"
)

// edges64 is a model in float64, node by node, with nothing of the graph.
type edges64 struct {
	golden *golden
	graph  trace.EdgeGraph
	query  trace.Query
}

// edited is x, [T][·], of a tap of layer l and head h, -1 for no head, under the edits of the
// query, which scale.
func (e *edges64) edited(tap trace.Tap, l, h int, x [][]float64) [][]float64 {
	x = slices.Clone(x)
	for _, edit := range e.query.Edits {
		if edit.Tap != tap || !slices.Contains(edit.Layers, l) ||
			h >= 0 && edit.Heads != nil && !slices.Contains(edit.Heads, h) {
			continue
		}
		for t := range x {
			if edit.Positions == nil || slices.Contains(edit.Positions, t) {
				x[t] = scaled(x[t], edit.Factor)
			}
		}
	}
	return x
}

// edgeEdits change what nodes compute.
var edgeEdits = []trace.Edit{
	{Tap: trace.Value, Layers: []int{1}, Change: trace.Scale, Factor: .7},
	{Tap: trace.Attention, Layers: []int{0}, Heads: []int{1}, Change: trace.Scale, Factor: .5},
	{Tap: trace.Context, Layers: []int{0, 1}, Heads: []int{0}, Change: trace.Scale, Factor: 1.5},
	{Tap: trace.HeadOutput, Layers: []int{1}, Heads: []int{1}, Change: trace.SetZero},
	{
		Tap: trace.FeedForwardOutput, Layers: []int{0}, Positions: []int{2}, Change: trace.Scale,
		Factor: -.4,
	},
}

// reader is what receiver v reads: by default stream, [T][D], the sum of what sent has, [·][T][D].
type reader func(v int, stream [][]float64, sent [][][]float64) [][]float64

func wholeStream(_ int, stream [][]float64, _ [][][]float64) [][]float64 { return stream }

func addRows(x, y [][]float64, times float64) [][]float64 {
	z := make([][]float64, len(x))
	for t := range x {
		z[t] = plus(x[t], scaled(y[t], times))
	}
	return z
}

// run returns the value of the query, what every sender adds and what every receiver reads in a run
// without changes, from the stream x before layer 0.
func (e *edges64) run(x [][]float64, read reader) (value float64, sent, reads [][][]float64) {
	s, heads := e.golden.model.Spec, e.graph.Heads
	sent = [][][]float64{x}
	receiver := func(stream [][]float64) [][]float64 {
		v := len(reads)
		reads = append(reads, stream)
		return read(v, stream, sent)
	}
	for l := range s.Layers {
		weight := func(name string) []float32 {
			return e.golden.params[fmt.Sprintf("blocks.%d.%s", l, name)]
		}
		inputs := make([][3][][]float64, heads)
		for part := range 3 {
			for h := range heads {
				inputs[h][part] = receiver(x)
			}
		}
		var b *layer
		outputs := make([][][]float64, heads)
		whole := make([][]float64, len(x))
		for h := range heads {
			if h == 0 || !sameInputs(inputs[h], inputs[h-1]) { // nearly all heads read the same
				b = newLayerOf(s, l, weight, inputs[h], false)
			}
			b.value[h] = e.edited(trace.Value, l, h, b.value[h])
			b.attention[h] = e.edited(trace.Attention, l, h, b.attention[h])
			var contexts [][]float64
			for t := range x {
				contexts = append(contexts, b.context(h, t, -1))
			}
			for _, context := range e.edited(trace.Context, l, h, contexts) {
				outputs[h] = append(outputs[h], b.headOutput(h, context))
			}
			outputs[h] = e.edited(trace.HeadOutput, l, h, outputs[h])
			for t, y := range outputs[h] {
				if h == 0 {
					whole[t] = make([]float64, len(y))
					if s.OutputBias {
						whole[t] = wide(weight("output.bias"))
					}
				}
				whole[t] = plus(whole[t], y)
			}
		}
		middle := make([][]float64, len(x))
		for t := range x {
			added := whole[t]
			if s.NormAfter {
				added = b.norm("attention-after-norm", whole[t])
				for h := range heads {
					outputs[h][t] = b.normedPart("attention-after-norm", outputs[h][t], whole[t])
				}
			}
			middle[t] = plus(x[t], scaled(added, orOne(s.ResidualScale)))
		}
		sent = append(sent, outputs...)
		before := middle
		if s.Order == spec.Parallel {
			before = x
		}
		fed := make([][]float64, len(x))
		next := make([][]float64, len(x))
		for t, u := range receiver(before) {
			switch {
			case s.SharedNorm:
				u = b.norm("attention-norm", u)
			default:
				u = b.norm("mlp-norm", u)
			}
			fed[t] = b.mlp(u)
		}
		fed = e.edited(trace.FeedForwardOutput, l, -1, fed)
		for t := range fed {
			if s.NormAfter {
				fed[t] = b.norm("mlp-after-norm", fed[t])
			}
			next[t] = plus(middle[t], fed[t])
		}
		sent, x = append(sent, fed), next
	}
	position := e.query.Position
	if s.Head == spec.ClassifierHead {
		position = readsAt(s, e.query.IDs)
	}
	scores := e.golden.headed(receiver(x)[position])
	value = e.golden.asked(scores, e.query.Quantity, e.query.Token)
	if e.query.Contrast != nil {
		value -= e.golden.asked(scores, e.query.Quantity, *e.query.Contrast)
	}
	return value, sent, reads
}

// sameInputs reports whether two heads read the same rows, and not only equal ones.
func sameInputs(a, b [3][][]float64) bool {
	for part := range a {
		if &a[part][0] != &b[part][0] {
			return false
		}
	}
	return true
}

func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// eachSummed runs do on every golden whose stream is a sum, with a query and a corrupted text,
// without edits and under edits.
func eachSummed(
	t *testing.T, do func(t *testing.T, e *edges64, corrupted []int, runs trace.EdgeRuns),
) {
	eachHeaded(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		graph, err := g.model.EdgeGraph()
		if err != nil {
			if s := g.model.Spec; s.Order != spec.PostNorm && !s.NormedResidual ||
				!errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "no sum of") {
				t.Fatal(err)
			}
			t.Skip("its stream is not a sum")
		}
		q := g.question(t, g.ids)
		corrupted := slices.Clone(g.ids)
		corrupted[1] = (corrupted[1] + 3) % g.model.Spec.Vocab
		corrupted[len(corrupted)-3] = (corrupted[len(corrupted)-3] + 5) % g.model.Spec.Vocab
		for _, q.Edits = range [][]trace.Edit{nil, edgeEdits} {
			runs, err := g.model.PatchEdges(t.Context(), q.IDs, corrupted, q.Edits, q.Objective)
			must(t, err)
			do(t, &edges64{g, graph, q}, corrupted, runs)
			runs.Close()
		}
	})
}

func (e *edges64) start(ids []int) [][]float64 {
	return e.golden.embedded64(ids, e.golden.rowsOf(ids))
}

// TestEdgeScores: the score of an edge is the difference quotient of the float64 model in which
// what its receiver reads moves along what its sender adds, averaged over the steps.
func TestEdgeScores(t *testing.T) {
	eachSummed(t, func(t *testing.T, e *edges64, corrupted []int, runs trace.EdgeRuns) {
		starts := [2][][]float64{e.start(e.query.IDs), e.start(corrupted)}
		_, clean, _ := e.run(starts[0], wholeStream)
		_, other, _ := e.run(starts[1], wholeStream)
		for _, steps := range []int{1, 3} {
			scores, err := runs.Scores(t.Context(), steps)
			must(t, err)
			random, most, furthest := rand.New(rand.NewPCG(1, 2)), 0.0, 0.0
			for _, x := range scores {
				most = max(most, math.Abs(x))
			}
			for n := range 16 {
				v := random.IntN(e.graph.Receivers())
				if n < 2 {
					v = e.graph.Receivers() - 1 - n // the logits and the last feed-forward part
				}
				u, want := random.IntN(e.graph.Reads(v)), 0.0
				change := addRows(clean[u], other[u], -1)
				for k := 1; k <= steps; k++ {
					x := addRows(starts[1], addRows(starts[0], starts[1], -1),
						float64(k)/float64(steps))
					moved := func(by float64) float64 {
						value, _, _ := e.run(x, func(at int, stream [][]float64,
							_ [][][]float64,
						) [][]float64 {
							if at == v {
								return addRows(stream, change, by)
							}
							return stream
						})
						return value
					}
					want += (moved(step) - moved(-step)) / (2 * step) / float64(steps)
				}
				furthest = max(furthest, math.Abs(scores[v*e.graph.Senders()+u]-want)/most)
			}
			if !(furthest <= gradientTol) || most < 1e-5 {
				t.Errorf("%d steps: a score is %g of the largest, %g, from the difference quotient",
					steps, furthest, most)
			}
			for v := range e.graph.Receivers() {
				for u := e.graph.Reads(v); u < e.graph.Senders(); u++ {
					if scores[v*e.graph.Senders()+u] != 0 {
						t.Fatalf("receiver %d has a score from sender %d, which it does not read",
							v, u)
					}
				}
			}
		}
	})
}

// TestEdgeRuns: a run of some edges gives what the float64 model gives in which every receiver
// reads its own corrupted input with the changes that its edges bring.
func TestEdgeRuns(t *testing.T) {
	eachSummed(t, func(t *testing.T, e *edges64, corrupted []int, runs trace.EdgeRuns) {
		mClean, _, _ := e.run(e.start(e.query.IDs), wholeStream)
		mOther, other, reads := e.run(e.start(corrupted), wholeStream)
		u, random := e.graph.Senders(), rand.New(rand.NewPCG(3, 4))
		for _, share := range []float64{0, 1, .9, .5, .1} {
			keep := make([]bool, u*e.graph.Receivers())
			for i := range keep {
				keep[i] = random.Float64() < share
			}
			want, _, _ := e.run(e.start(e.query.IDs), func(v int, _ [][]float64,
				sent [][][]float64,
			) [][]float64 {
				x := reads[v]
				for i := range e.graph.Reads(v) {
					if keep[v*u+i] {
						x = addRows(x, addRows(sent[i], other[i], -1), 1)
					}
				}
				return x
			})
			got, err := runs.Run(t.Context(), keep)
			must(t, err)
			if d := math.Abs(got - want); !(d <= valueTol) {
				t.Errorf("share %g: %g, want %g", share, got, want)
			}
			if end, ok := map[float64]float64{0: mOther, 1: mClean}[share]; ok &&
				math.Abs(want-end) > 1e-9 {
				t.Errorf("share %g: %g, and the run without changes gives %g", share, want, end)
			}
		}
	})
}

// TestEdgesOfEditedQueries: under edits of queries, keys and values, also of heads that share
// them, a run of all edges is the clean run and one of none the corrupted run.
func TestEdgesOfEditedQueries(t *testing.T) {
	for _, name := range []string{"gpt2", "llama", "gemma3", "bloom", "falcon7"} {
		g := openGolden(t, name)
		q := g.question(t, g.ids)
		corrupted := slices.Clone(g.ids)
		corrupted[1] = (corrupted[1] + 3) % g.model.Spec.Vocab
		for _, tap := range []trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value} {
			own := g.take(t, tap)[tap]
			e, err := trace.Edit{
				Tap: tap, Layers: []int{1}, Positions: []int{2, 4}, Change: trace.AddValue,
				Factor: .5,
			}.From(own)
			must(t, err)
			q.Edits = []trace.Edit{{
				Tap: tap, Layers: []int{0}, Change: trace.Scale, Factor: .3,
			}, e}
			other := q
			other.IDs = corrupted
			want, err := g.model.Predict(t.Context(), []trace.Query{q, other})
			must(t, err)
			plain := q
			plain.Edits = nil
			unedited, err := g.model.Predict(t.Context(), []trace.Query{plain})
			must(t, err)
			runs, err := g.model.PatchEdges(t.Context(), q.IDs, corrupted, q.Edits, q.Objective)
			must(t, err)
			graph, err := g.model.EdgeGraph()
			must(t, err)
			for i, kept := range []bool{true, false} {
				keep := slices.Repeat([]bool{kept}, graph.Senders()*graph.Receivers())
				got, err := runs.Run(t.Context(), keep)
				must(t, err)
				if d := math.Abs(got - want[i]); !(d <= valueTol) {
					t.Errorf("%s, edges of %s kept %v: %g, want %g", name, tap, kept, got, want[i])
				}
			}
			runs.Close()
			if math.Abs(want[0]-unedited[0]) < 10*valueTol {
				t.Errorf("%s: the edit of %s changes nothing", name, tap)
			}
		}
	}
}

// TestEdgeGraph: edges are counted as Hanna et al. count them; GPT-2 small has 32,491.
func TestEdgeGraph(t *testing.T) {
	gpt2 := trace.EdgeGraph{Layers: 12, Heads: 12}
	if n := gpt2.Edges(); n != 32491 || gpt2.Senders() != 157 || gpt2.Receivers() != 445 {
		t.Errorf("%d edges, %d senders, %d receivers", n, gpt2.Senders(), gpt2.Receivers())
	}
	gpt2.Parallel = true
	if n := gpt2.Edges(); n != 32491-144 {
		t.Errorf("%d edges of parallel blocks", n)
	}
}

// TestEdgesRefused: texts that do not align and marks of too few edges are errors.
func TestEdgesRefused(t *testing.T) {
	g := openGolden(t, "gpt2")
	q := g.question(t, g.ids)
	if _, err := g.model.PatchEdges(t.Context(), g.ids, g.ids[1:], nil, q.Objective); err == nil {
		t.Error("texts of different lengths are taken")
	}
	small := g.model.WithMaxBytes(1 << 16)
	if _, err := small.PatchEdges(t.Context(), g.ids, g.ids, nil, q.Objective); errorkind.Of(err) !=
		errorkind.Memory {
		t.Errorf("64 KiB are enough: %v", err)
	}
	runs, err := g.model.PatchEdges(t.Context(), g.ids, g.ids, nil, q.Objective)
	must(t, err)
	defer runs.Close()
	if _, err := runs.Run(t.Context(), make([]bool, 3)); err == nil {
		t.Error("3 marks are taken")
	}
	if _, err := runs.Scores(t.Context(), 0); err == nil {
		t.Error("0 steps are taken")
	}
}

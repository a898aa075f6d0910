package focus_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// random are tensors of random numbers as nested slices, and the same for focus.New.
type random struct {
	L, H, T, E, D int
	terms         [][][][][]float64 // [L][H][3][T][T]
	value         [][][][]float64   // [L][H][T][E]
	weight        [][][][]float64   // [L][H][E][D]
	hidden        [][][]float64     // [L+1][T][D]
}

func newRandom(rng *rand.Rand) *random {
	r := &random{L: 2, H: 3, T: 7, E: 2, D: 5}
	number := func() float64 { return float64(float32(rng.NormFloat64())) }
	list := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = number()
		}
		return x
	}
	matrix := func(n, m int) [][]float64 {
		x := make([][]float64, n)
		for i := range x {
			x[i] = list(m)
		}
		return x
	}
	for range r.L {
		var terms [][][][]float64
		var value, weight [][][]float64
		for range r.H {
			terms = append(terms, [][][]float64{
				matrix(r.T, r.T), matrix(r.T, r.T), matrix(r.T, r.T),
			})
			value, weight = append(value, matrix(r.T, r.E)), append(weight, matrix(r.E, r.D))
		}
		r.terms, r.value, r.weight = append(r.terms, terms), append(r.value, value),
			append(r.weight, weight)
	}
	for range r.L + 1 {
		r.hidden = append(r.hidden, matrix(r.T, r.D))
	}
	return r
}

// probability is the softmax of target i over the sources up to it, without the maximum that code
// subtracts.
func (r *random) probability(l, h, i int) []float64 {
	p, sum := make([]float64, r.T), 0.0
	for j := 0; j <= i; j++ {
		p[j] = math.Exp(r.terms[l][h][0][i][j] + r.terms[l][h][1][i][j] + r.terms[l][h][2][i][j])
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}

// ranks are how many sources have a larger probability, [T].
func ranks(p []float64) []int {
	n := make([]int, len(p))
	for j := range p {
		for k := range p {
			if p[k] > p[j] || p[k] == p[j] && k < j {
				n[j]++
			}
		}
	}
	return n
}

// vector is W_O^h times the value of a source, [D].
func (r *random) vector(l, h, j int) []float64 {
	x := make([]float64, r.D)
	for d := range x {
		for e := range r.E {
			x[d] += r.value[l][h][j][e] * r.weight[l][h][e][d]
		}
	}
	return x
}

// update is what a head adds at target i: the weighted sum of the vectors.
func (r *random) update(l, h, i int) []float64 {
	x := make([]float64, r.D)
	for j, p := range r.probability(l, h, i) {
		for d, v := range r.vector(l, h, j) {
			x[d] += p * v
		}
	}
	return x
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func length(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// given returns tensors of these names.
func (r *random) given(names ...string) []trace.Tensor {
	all := map[string]trace.Tensor{
		"terms": filled("terms", []int{r.L, r.H, 3, r.T, r.T}, func(x []int) float64 {
			return r.terms[x[0]][x[1]][x[2]][x[3]][x[4]]
		}),
		"attention": filled("attention", []int{r.L, r.H, r.T, r.T}, func(x []int) float64 {
			return r.probability(x[0], x[1], x[2])[x[3]]
		}),
		"value": filled("value", []int{r.L, r.H, r.T, r.E}, func(x []int) float64 {
			return r.value[x[0]][x[1]][x[2]][x[3]]
		}),
		"output-weight": filled("output-weight", []int{r.L, r.H, r.E, r.D},
			func(x []int) float64 { return r.weight[x[0]][x[1]][x[2]][x[3]] }),
		"head-output": filled("head-output", []int{r.L, r.H, r.T, r.D}, func(x []int) float64 {
			return r.update(x[0], x[1], x[2])[x[3]]
		}),
		"head-added": filled("head-added", []int{r.L, r.H, r.T, r.D}, func(x []int) float64 {
			return r.update(x[0], x[1], x[2])[x[3]]
		}),
		"value-output": filled("value-output", []int{r.L, r.H, r.T, r.D}, func(x []int) float64 {
			return r.vector(x[0], x[1], x[2])[x[3]]
		}),
		"context": filled("context", []int{r.L, r.H, r.T, r.E}, func(x []int) float64 {
			sum := 0.0
			for j, p := range r.probability(x[0], x[1], x[2]) {
				sum += p * r.value[x[0]][x[1]][j][x[3]]
			}
			return sum
		}),
		"hidden": filled("hidden", []int{r.L + 1, r.T, r.D}, func(x []int) float64 {
			return r.hidden[x[0]][x[1]][x[2]]
		}),
	}
	var some []trace.Tensor
	for _, name := range names {
		some = append(some, all[name])
	}
	return some
}

// bruteTol is float32 rounding of derived inputs such as head-output.
const bruteTol = 2e-6

func close(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= bruteTol*max(1, math.Abs(want))) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestBruteForce computes every quantity again from nested slices, for each set of tensors that is
// enough.
func TestBruteForce(t *testing.T) {
	for seed := range uint64(4) {
		r := newRandom(rand.New(rand.NewPCG(seed, 14)))
		for _, names := range [][]string{
			{"terms", "value", "output-weight", "hidden"},
			{"terms", "attention", "context", "value-output", "output-weight", "hidden"},
			{"attention", "head-output", "value-output", "hidden"},
			{"attention", "head-added", "value-output", "hidden"},
			{"attention", "value", "output-weight", "hidden"},
		} {
			x := text(t, r.given(names...)...)
			for l := range r.L {
				for h := range r.H {
					r.checkHead(t, x, l, h, slices.Contains(names, "terms"))
					r.checkLines(t, x, l, h)
				}
				for h := focus.Together; h < r.H; h++ {
					r.checkUpdates(t, x, l, h)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, tensors %v", seed, names)
			}
		}
	}
}

func (r *random) checkHead(t *testing.T, x *focus.Text, l, h int, terms bool) {
	t.Helper()
	rows := head(t, x, l, h)
	var marked []focus.Point
	for i := range r.T {
		p := r.probability(l, h, i)
		rank := ranks(p[:i+1])
		for place, j := range rows.Ranked(i) {
			if rank[j] != place {
				t.Errorf("rank of %d, %d is %d, want %d", i, j, place, rank[j])
			}
		}
		for place := range i + 1 {
			j, above := slices.Index(rank, place), 0.0
			for k := range i + 1 {
				if rank[k] < place {
					above += p[k]
				}
			}
			if above < .5 && place < 11 {
				marked = append(marked, focus.Point{Target: i, Source: j, Self: i, Rank: place})
			}
		}
		for j := range p {
			close(t, "probability", rows.Row(i)[j], p[j])
		}
	}
	got := rows.Markers()
	if len(got) != len(marked) {
		t.Fatalf("%d markers, want %d", len(got), len(marked))
	}
	var smallest [3]float64
	for k, g := range got {
		w := marked[k]
		if g.Target != w.Target || g.Source != w.Source || g.Self != w.Self || g.Rank != w.Rank {
			t.Errorf("marker %+v, want %+v", g, w)
		}
		if !terms {
			continue
		}
		for term := range g.Terms {
			close(t, "term", g.Terms[term], r.terms[l][h][term][g.Target][g.Source])
		}
		close(t, "score", g.Score, g.Terms[0]+g.Terms[1]+g.Terms[2])
	}
	if !terms {
		return
	}
	b, err := rows.Breakdown(2)
	if err != nil || len(b.Points) != 2*r.T-1 {
		t.Fatalf("breakdown of %v, %v", b, err)
	}
	for k := range smallest {
		smallest[k] = math.Inf(1)
		for i := range r.T {
			rank := ranks(r.probability(l, h, i)[:i+1])
			for j := range i + 1 {
				if rank[j] < 2 {
					smallest[k] = min(smallest[k], r.terms[l][h][k][i][j])
				}
			}
		}
		close(t, "minimum", b.Minimum[k], smallest[k])
	}
}

func (r *random) checkLines(t *testing.T, x *focus.Text, l, h int) {
	t.Helper()
	want := map[focus.Quantity]float64{}
	for i := range r.T {
		p := r.probability(l, h, i)
		sorted := slices.Clone(p)
		slices.Sort(sorted)
		want[focus.Concentration] += (sorted[r.T-1] - sorted[r.T-2]) / float64(r.T)
		want[focus.SelfContinuous] += p[i] / float64(r.T)
		if rank := ranks(p); rank[i] == 0 {
			want[focus.SelfFraction] += 1 / float64(r.T)
		}
		if rank := ranks(p); rank[0] == 0 {
			want[focus.FirstFraction] += 1 / float64(r.T)
		}
	}
	for _, q := range focus.Quantities() {
		got, err := x.Measure(q, l, h)
		must(t, err)
		close(t, string(q), got, want[q])
	}
}

func (r *random) checkUpdates(t *testing.T, x *focus.Text, l, h int) {
	t.Helper()
	heads := []int{h}
	if h == focus.Together {
		heads = []int{0, 1, 2}
	}
	sum := func(of func(l, h, i int) []float64, i int) []float64 {
		all := make([]float64, len(of(l, 0, i)))
		for _, h := range heads {
			for d, v := range of(l, h, i) {
				all[d] += v
			}
		}
		return all
	}
	effects, err := x.Effects(l, h)
	must(t, err)
	for _, opts := range []focus.UpdateOptions{
		{},
		{Index: focus.IndexTarget},
		{ExcludeFirst: true},
		{Index: focus.IndexTarget, ExcludeFirst: true},
	} {
		got, err := x.Updates(l, h, opts)
		must(t, err)
		for i := range r.T {
			j := slices.Index(ranks(sum(r.probability, i)), 0)
			close(t, "effect", effects[i].Magnitude,
				length(sum(r.vector, j))/length(r.hidden[l][j]))
			if opts.ExcludeFirst && j == 0 {
				continue
			}
			at := i
			if opts.Index == focus.IndexTarget {
				at = j
			}
			c, stream := sum(r.update, at), r.hidden[l][at]
			if len(got) == 0 || got[0].Target != i || got[0].Source != j || got[0].Head != h {
				t.Fatalf("target %d source %d is missing in %+v", i, j, got)
			}
			close(t, "magnitude", got[0].Magnitude, length(c)/length(stream))
			close(t, "alignment", got[0].Alignment, dot(c, stream)/length(c)/length(stream))
			got = got[1:]
		}
		if len(got) > 0 {
			t.Errorf("%d more updates", len(got))
		}
	}
}

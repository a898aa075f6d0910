package attribution

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// queriesAndKeys returns an input of queries [L,H,T,E] and keys [L,G,T,E].
func queriesAndKeys(queries, keys []int, q, k []float32) Input {
	return InMemory([]trace.Tensor{
		{Name: Queries, Shape: queries, Data: q}, {Name: Keys, Shape: keys, Data: k},
	})
}

// computedAttention reads all of the attention of an input, a head at a time.
func computedAttention(t *testing.T, in Input, scale float64) (shape []int, data []float32) {
	t.Helper()
	in, err := in.WithAttention(scale)
	must(t, err)
	if len(in.Tensors) != 1 || in.Tensors[0].Name != "attention" {
		t.Fatalf("tensors %v, want attention in the place of q and k", in.Tensors)
	}
	shape = in.Tensors[0].Shape
	square := shape[2] * shape[3]
	data = make([]float32, shape[0]*shape[1]*square)
	for first := 0; first < len(data); first += square {
		must(t, in.Tensors[0].Read(data[first:first+square], first))
	}
	return shape, data
}

// Two heads share the keys (1,0), (0,ln 4), (-1,0) of one layer, of size E = 2, with scale 1. The
// queries of head 0 are (·,·), (0,1), (ln 3,0): scores of row 1 are 0, ln 4, so its attention is
// 1/5, 4/5; those of row 2 are ln 3, 0, -ln 3, so 3 : 1 : 1/3 = 9/13, 3/13, 1/13. Those of head 1
// are 0: each row is uniform over the sources up to its target.
func TestAttentionOfQueries(t *testing.T) {
	ln3, ln4 := float32(math.Log(3)), float32(math.Log(4))
	in := queriesAndKeys([]int{1, 2, 3, 2}, []int{1, 1, 3, 2},
		[]float32{7, -3, 0, 1, ln3, 0, 0, 0, 0, 0, 0, 0}, []float32{1, 0, 0, ln4, -1, 0})
	shape, got := computedAttention(t, in, 1)
	if diff := cmp.Diff([]int{1, 2, 3, 3}, shape); diff != "" {
		t.Errorf("shape (-want +got):\n%s", diff)
	}
	want := []float32{
		1, 0, 0, 1. / 5, 4. / 5, 0, 9. / 13, 3. / 13, 1. / 13,
		1, 0, 0, 1. / 2, 1. / 2, 0, 1. / 3, 1. / 3, 1. / 3,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-7)); diff != "" { // float32
		t.Errorf("attention (-want +got):\n%s", diff)
	}
}

// Random queries and keys of 2 layers, 6 heads and 3 groups of keys give the softmax that the
// definition gives, with the default scale 1/√E, and any piece of it reads the same numbers.
func TestAttentionOfRandomQueries(t *testing.T) {
	const L, H, G, T, E = 2, 6, 3, 5, 7
	random := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(3 * random.NormFloat64())
		}
		return x
	}
	q, k := normal(L*H*T*E), normal(L*G*T*E)
	in := queriesAndKeys([]int{L, H, T, E}, []int{L, G, T, E}, q, k)
	_, got := computedAttention(t, in, 0)
	for l := range L {
		for h := range H {
			for i := range T {
				var exp [T]float64
				sum := 0.0
				for j := range i + 1 {
					score := 0.0
					for e := range E {
						score += float64(q[((l*H+h)*T+i)*E+e]) * float64(k[((l*G+h/2)*T+j)*E+e])
					}
					exp[j] = math.Exp(score / math.Sqrt(E))
					sum += exp[j]
				}
				for j := range T {
					x := float64(got[((l*H+h)*T+i)*T+j])
					if math.Abs(x-exp[j]/sum) > 1e-7 { // float32
						t.Errorf("attention[%d,%d,%d,%d] is %v, want %v", l, h, i, j, x, exp[j]/sum)
					}
				}
			}
		}
	}
	computed, err := in.WithAttention(0)
	must(t, err)
	const first, n = T*T - 3, T + 4 // the end of head 0 and the beginning of head 1
	piece := make([]float32, n)
	must(t, computed.Tensors[0].Read(piece, first))
	if diff := cmp.Diff(got[first:first+n], piece); diff != "" {
		t.Errorf("a piece (-want +got):\n%s", diff)
	}
}

// Scores far beyond what exp of a float64 can give have a softmax.
func TestAttentionOfLargeScores(t *testing.T) {
	in := queriesAndKeys([]int{1, 1, 2, 1}, []int{1, 1, 2, 1}, []float32{3e38, 3e38},
		[]float32{-3e38, 3e38})
	_, got := computedAttention(t, in, 1)
	if diff := cmp.Diff([]float32{1, 0, 0, 1}, got); diff != "" {
		t.Errorf("attention (-want +got):\n%s", diff)
	}
}

// The methods take queries and keys like the attention that they give, and a warning says that it
// was computed.
func TestAttributeQueries(t *testing.T) {
	in := queriesAndKeys([]int{1, 1, 2, 1}, []int{1, 1, 2, 1}, []float32{1, 1},
		[]float32{0, float32(math.Log(3))})
	in, err := in.WithAttention(1)
	must(t, err)
	a, err := Attribute(t.Context(), in, Options{Methods: []string{"raw"}})
	must(t, err)
	near := cmpopts.EquateApprox(0, 1e-7)
	if diff := cmp.Diff([]float64{1, 0, .25, .75}, a.Methods["raw"].Data, near); diff != "" {
		t.Errorf("raw (-want +got):\n%s", diff)
	}
	const want = "Attention was computed from q and k, as the softmax of 1 q·k over the sources up " +
		"to each target: without position biases, caps and windows of a model."
	if diff := cmp.Diff([]string{want}, a.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	raw := Options{Methods: []string{"raw"}}
	if _, err := Attribute(ctx, in, raw); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that ended", err)
	}
}

// Queries and keys that do not fit are errors that name the tensor, its shape or the number, and
// what is needed.
func TestQueriesRefusals(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		want  string
		q, k  []int
		data  []float32 // of q; nil for zeros
		scale float64
	}{
		{
			`tensor "q" has shape [1 2 2 3 4]; want [L,H,T,E]: layers, heads, tokens, numbers of a ` +
				"head, without an axis of the batch",
			[]int{1, 2, 2, 3, 4},
			[]int{2, 2, 3, 4},
			nil, 0,
		},
		{`tensor "k" has shape [2 3 4]`, []int{2, 2, 3, 4}, []int{2, 3, 4}, nil, 0},
		{`tensor "q" has shape [2 0 3 4]`, []int{2, 0, 3, 4}, []int{2, 2, 3, 4}, nil, 0},
		{
			`tensor "k" has shape [1 2 3 4], and q has [2 2 3 4]; want [2,G,3,4] with a G that ` +
				"divides 2",
			[]int{2, 2, 3, 4},
			[]int{1, 2, 3, 4},
			nil, 0,
		},
		{`want [1,G,2,1] with a G that divides 3`, []int{1, 3, 2, 1}, []int{1, 2, 2, 1}, nil, 0},
		{`want [1,G,2,1]`, []int{1, 1, 2, 1}, []int{1, 1, 2, 2}, nil, 0},
		{`want [1,G,2,1]`, []int{1, 1, 2, 1}, []int{1, 1, 3, 1}, nil, 0},
		{`want [1,G,2,1]`, []int{1, 1, 2, 1}, []int{1, 2, 2, 1}, nil, 0},
		{
			`tensor "q": layer 0 head 1 token 1 number 0 is NaN; want a finite number`,
			[]int{1, 2, 2, 1},
			[]int{1, 1, 2, 1},
			[]float32{0, 0, 0, nan},
			0,
		},
		{`tensor "q": layer 1 head 0 token 0 number 1 is +Inf`, []int{2, 1, 1, 2}, []int{2, 1, 1, 2}, []float32{0, 0, 0, inf}, 0},
		{"scale -1", []int{1, 1, 1, 1}, []int{1, 1, 1, 1}, nil, -1},
		{"scale NaN", []int{1, 1, 1, 1}, []int{1, 1, 1, 1}, nil, math.NaN()},
		{"scale 1e+300; want a number above 0", []int{1, 1, 1, 1}, []int{1, 1, 1, 1}, nil, 1e300},
	} {
		size := func(shape []int) []float32 {
			n := 1
			for _, s := range shape {
				n *= s
			}
			return make([]float32, n)
		}
		q := c.data
		if q == nil {
			q = size(c.q)
		}
		in, err := queriesAndKeys(c.q, c.k, q, size(c.k)).WithAttention(c.scale)
		if err == nil {
			_, err = Attribute(t.Context(), in, Options{Methods: []string{"raw"}})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("q %v, k %v: error %v, want %q", c.q, c.k, err, c.want)
		}
	}
	one := InMemory([]trace.Tensor{{Name: Queries, Shape: []int{1, 1, 1, 1}, Data: []float32{0}}})
	if _, err := one.WithAttention(0); err == nil ||
		!strings.Contains(err.Error(), `queries are in tensor "q", and there is no tensor "k"`) {
		t.Errorf("error %v for queries alone", err)
	}
	one.Tensors = append(one.Tensors, TensorReader{Name: "attention"})
	if in, err := one.WithAttention(0); err != nil || len(in.Tensors) != 2 {
		t.Errorf("%v, error %v beside attention; want the input as it is", in.Tensors, err)
	}
}

// One head of queries and one of keys are kept; more than the budget is refused before anything is
// read.
func TestQueriesNeedMemory(t *testing.T) {
	shape := []int{1, 1, 2, 1 << 40}
	read := func([]float32, int) error { t.Error("it was read"); return nil }
	in := Input{Memory: trace.Memory{Left: 1 << 30}, Tensors: []TensorReader{
		{Name: Queries, Shape: shape, Read: read}, {Name: Keys, Shape: shape, Read: read},
	}}
	_, err := in.WithAttention(0)
	var memory *trace.MemoryError
	if !errors.As(err, &memory) || memory.Need != 2*4*2<<40 {
		t.Errorf("error %v, want one of memory", err)
	}
}

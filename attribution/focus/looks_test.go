package focus_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
)

// A head that looks far back from one token alone comes before one that looks at the token before
// from everywhere, though this one gives it more.
func TestLooksDistance(t *testing.T) {
	const T, from = 8, 6
	a := focus.Attention{
		Layers: 1, Heads: 2, Tokens: T, Data: make([]float32, 2*T*T), Ignored: make([]bool, T),
	}
	a.Ignored[0] = true // head 1 gives it most
	for i := range T {
		a.Data[i*T+max(i-1, 0)] = 0.9
		far := 0
		if i == from {
			far = 2
		}
		a.Data[(T+i)*T+far] = 0.8
	}
	looks := a.Looks(from)
	if len(looks) != 2 || looks[0].Head != 1 || looks[0].Token != 2 || looks[1].Head != 0 ||
		looks[1].Token != from-1 {
		t.Errorf("%+v, want head 1 at token 2, then head 0 at token %d", looks, from-1)
	}
	if got := a.AtDistance(0, 0, from, from-1); math.Abs(got-0.9) > 1e-6 {
		t.Errorf("head 0 gives %g to the token before from elsewhere, want 0.9", got)
	}
	if got := a.AtDistance(0, 1, from, 2); got != 0 {
		t.Errorf("head 1 gives %g to what is as far from elsewhere, want 0", got)
	}
}

// A head that looks at the token which is then predicted is listed by its whole share, though it
// looks there from everywhere: before one of the same layer that looks elsewhere with less, and, in
// a higher layer, before one that looks there with as much.
func TestLooksCopies(t *testing.T) {
	const T, from, copied = 8, 6, 2
	a := focus.Attention{
		Layers: 2, Heads: 2, Tokens: T, Data: make([]float32, 4*T*T), Ignored: make([]bool, T),
	}
	for i := copied; i < T; i++ {
		a.Data[i*T+copied] = 0.6            // 0.0
		a.Data[(2*T+i)*T+copied] = 0.6      // 1.0
		a.Data[(3*T+from)*T+copied+1] = 0.6 // 1.1, from here alone
	}
	order := func() (heads []int) {
		for _, b := range a.Looks(from) {
			heads = append(heads, 10*b.Layer+b.Head)
		}
		return heads
	}
	if got := order(); !slices.Equal(got, []int{11}) {
		t.Errorf("heads %d, want 1.1 alone: the others look there from everywhere", got)
	}
	a.Copied = func(i, j int) bool { return i == from && j == copied }
	if got := order(); !slices.Equal(got, []int{10, 11, 0}) {
		t.Errorf("heads %d, want 1.0, 1.1 and 0.0", got)
	}
}

// Looks agrees with the formula, computed again for each head and token.
func TestLooksBruteForce(t *testing.T) {
	const L, H, T, tolerance = 2, 3, 6, 1e-12 // sums in another order
	random := rand.New(rand.NewPCG(3, 4))
	for trial := range 40 {
		a := focus.Attention{
			Layers: L, Heads: H, Tokens: T, Bidirectional: trial%2 == 1,
			Data: make([]float32, L*H*T*T), Ignored: make([]bool, T),
		}
		a.Ignored[random.IntN(T)] = trial%3 == 0
		words := [T]int{} // of which the next one of each token is predicted there
		for k := range words {
			words[k] = random.IntN(3)
		}
		copied := func(i, j int) bool { return trial%4 > 1 && words[(i+1)%T] == words[j] }
		if trial%4 > 0 {
			a.Copied = copied
		}
		sees := func(i, j int) bool { return a.Bidirectional || j <= i }
		for k := range a.Data {
			if sees(k/T%T, k%T) {
				a.Data[k] = random.Float32()
			}
		}
		at := func(l, h, i, j int) float64 { return float64(a.Data[l*H*T*T+h*T*T+i*T+j]) }
		i := random.IntN(T)
		var want []focus.Look
		for l := range L {
			for h := range H {
				look, most := focus.Look{Layer: l, Head: h}, 0.0
				for j := range T {
					if !sees(i, j) || j == i || a.Ignored[j] {
						continue
					}
					from, others, far, equal := 0.0, 0.0, 0.0, 0.0
					for u := range T {
						if u != j && sees(u, j) {
							from, others = from+at(l, h, u, j), others+1
						}
						v := u - (i - j)
						if u != i && v >= 0 && v < T && sees(u, v) && !a.Ignored[v] {
							far, equal = far+at(l, h, u, v), equal+1
						}
					}
					excess := at(l, h, i, j) - from/others
					amount := excess
					if copied(i, j) {
						amount = at(l, h, i, j)
					}
					if amount > most {
						most = amount
						look.Token, look.Share, look.Over = j, at(l, h, i, j), excess
						if equal > 0 {
							look.Over -= far / equal / 2
						}
						look.Rank = look.Over
						if copied(i, j) {
							look.Rank = look.Share
						}
						if l < L/2 {
							look.Rank /= 2
						}
					}
				}
				if most > 0 {
					want = append(want, look)
				}
			}
		}
		slices.SortStableFunc(want, func(x, y focus.Look) int {
			return map[bool]int{true: -1, false: 1}[x.Rank > y.Rank]
		})
		got := a.Looks(i)
		if len(got) != len(want) {
			t.Fatalf("trial %d: %d heads, want %d", trial, len(got), len(want))
		}
		for k, x := range got {
			y := want[k]
			if math.Abs(x.Rank-y.Rank) > tolerance || math.Abs(x.Over-y.Over) > tolerance ||
				x.Layer != y.Layer || x.Head != y.Head ||
				x.Token != y.Token || x.Share != y.Share {
				t.Fatalf("trial %d, from token %d: %+v at %d, want %+v", trial, i, x, k, y)
			}
		}
	}
}

// Writers are ordered by the size of what they wrote, whatever its sign, and look at the token with
// the largest share that is not ignored: from token 2, head 0 at token 1, head 1 at itself, and
// head 2 at the ignored token 0 alone.
func TestWriters(t *testing.T) {
	a := focus.Attention{
		Layers: 1, Heads: 3, Tokens: 3, Data: make([]float32, 27),
		Ignored: []bool{true, false, false},
	}
	copy(a.Data[6:], []float32{.5, .375, .125})
	copy(a.Data[9+6:], []float32{.5, .125, .375})
	a.Data[18+6] = 1
	want := []focus.Look{
		{Head: 1, Token: 2, Share: .375, Wrote: -3}, {Head: 2, Token: -1, Wrote: 2},
		{Head: 0, Token: 1, Share: .375, Wrote: 1},
	}
	if got := a.Writers(2, []float64{1, -3, 2}); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Strongest chooses heads by what they give a token more than elsewhere, and lists them in the
// order of their ranks, those of a layer apart; of a layer that has none among the first, its best
// one. Best is the head that a picture opens.
func TestStrongest(t *testing.T) {
	const T, from = 8, 6
	a := focus.Attention{
		Layers: 3, Heads: 1, Tokens: T, Data: make([]float32, 3*T*T), Ignored: make([]bool, T),
	}
	for i := range T {
		for layer, near := range []float32{0.9, 0.1, 0.2} { // what each gives the token before
			a.Data[(layer*T+i)*T+max(i-1, 0)] = near
		}
	}
	a.Data[(T+from)*T+2], a.Data[(2*T+from)*T+2] = 0.6, 0.8 // and from here alone one far back
	for _, c := range []struct {
		name            string
		layer, k        int
		ofLayer, others []int
		best            int
	}{
		{"no layer, two of three", -1, 2, nil, []int{2, 1}, 2},
		{"no layer, all", -1, 3, nil, []int{2, 1, 0}, 2},
		{"a layer that is among them", 1, 2, []int{1}, []int{2}, 1},
		{"a layer that is not", 0, 1, []int{0}, []int{2}, 0},
		{"a layer that is not there", 7, 2, nil, []int{2, 1}, 2},
	} {
		layers := func(list []focus.Look) (all []int) {
			for _, b := range list {
				all = append(all, b.Layer)
			}
			return all
		}
		ofLayer, others := a.Strongest(from, c.layer, c.k)
		if !slices.Equal(layers(ofLayer), c.ofLayer) || !slices.Equal(layers(others), c.others) {
			t.Errorf("%s: %+v and %+v, want layers %v and %v", c.name, ofLayer, others, c.ofLayer,
				c.others)
		}
		if best, ok := a.Best(from, c.layer); !ok || best.Layer != c.best {
			t.Errorf("%s: the best is %+v, %t; want layer %d", c.name, best, ok, c.best)
		}
	}
	empty := focus.Attention{
		Layers: 1, Heads: 1, Tokens: 1, Data: []float32{1}, Ignored: make([]bool, 1),
	}
	if best, ok := empty.Best(0, 0); ok {
		t.Errorf("%+v is the best head of a text of one token, want none", best)
	}
}

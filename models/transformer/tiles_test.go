package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// tiledTol is how far a prompt in tiles may be from one pass over the whole: rounding of float32 in
// sums of another order.
const tiledTol = 1e-5

// tiledAsks are mixings whose rows come with the pass, of one target and of all, and that cost a
// pass for each pair.
var tiledAsks = []trace.MixingAsk{
	{Name: "attention"},
	{Name: "attention", AllRows: true},
	{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
	{Name: "attention", Heads: trace.Heads{Fusion: trace.MaxHeads}},
	{Name: "value-zeroing"},
	{Name: "alti", AllRows: true},
}

// TestTiledPrompt: logits, rows of every kind and the parts of a logit are those of one pass over
// the whole prompt, in every decoder, with tiles that end within the prompt and with it, and so are
// those of the steps after it.
func TestTiledPrompt(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		n := len(g.ids) - 2
		whole := tiledTexts(t, g, g.model, n)
		for _, targets := range []int{1, 3, n, 2 * n} {
			tiled := tiledTexts(t, g, g.model.InTiles(1, targets, 4), n)
			for i, got := range tiled {
				what := fmt.Sprintf("tiles of %d, %d tokens", targets, n+i)
				check(t, what+": logits", got.out.Logits, whole[i].out.Logits, logitsTol)
				for k, rows := range got.out.Rows {
					ask := tiledAsks[k]
					name := fmt.Sprintf("%s: %s %s all=%v", what, ask.Name, ask.Heads, ask.AllRows)
					check(t, name,
						shares(rows), shares(whole[i].out.Rows[k]), tiledTol)
				}
				near64(t, what+": parts", got.terms, whole[i].terms, partTol)
				check(t, what+": row of a layer", got.late, whole[i].late, oneRowTol)
			}
		}
	})
}

// tiledText is what a session says after its prompt or a step.
type tiledText struct {
	out   *transformer.Output
	terms []float64
	late  []float32
}

// tiledTexts are the results of the first n tokens of a golden, and of each later token.
func tiledTexts(t *testing.T, g *golden, m *transformer.Model, n int) []tiledText {
	t.Helper()
	ctx := context.Background()
	s, err := m.NewSession(tiledAsks, len(g.ids))
	must(t, err)
	defer s.Close()
	must(t, s.KeepTerms())
	out, err := s.Prompt(ctx, g.ids[:n], nil)
	must(t, err)
	var all []tiledText
	for {
		terms, err := s.Terms(ctx, g.logitQuery(0, 3).Objective)
		must(t, err)
		late, err := s.RowsOfLayer(ctx, 1, trace.MixingAsk{Name: "value-zeroing"})
		must(t, err)
		all = append(all, tiledText{out, terms.Attention, late.Data})
		if s.Length() == len(g.ids) {
			return all
		}
		out, err = s.Step(ctx, g.ids[s.Length()])
		must(t, err)
	}
}

// shares are rows divided by their sums: some mixings have a unit of their own.
func shares(rows trace.Rows) []float32 {
	data := slices.Clone(rows.Data)
	for at := 0; at < len(data); at += rows.S {
		row, sum := data[at:at+rows.S], float32(0)
		for _, x := range row {
			sum += x
		}
		for i := range row {
			if sum > 0 {
				row[i] /= sum
			}
		}
	}
	return data
}

// TestMultiply: vectors times the rows of a layer are those of the rows that a pass returns, with
// residual and sums of rows, for mixings with and without a unit of their own, after a prompt and
// after a step.
func TestMultiply(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && (r.LongFrequencies != nil || r.Stretch > 0) {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		const K = 3
		n := len(g.ids) - 1
		for _, q := range []trace.Product{
			{Mixing: "attention", Residual: 0.5},
			{Mixing: "attention", Heads: trace.Heads{Fusion: trace.MaxHeads}, Residual: 0.25},
			{Mixing: "attention", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}},
			{Mixing: "alti"},
			{Mixing: "norms", Residual: 0.5, Scaled: true},
			{Mixing: "value-zeroing"},
		} {
			ask := trace.MixingAsk{Name: q.Mixing, Heads: q.Heads, AllRows: true}
			for _, tile := range []int{2, 5, 64} {
				m := g.model.InTiles(1, tile, 4)
				s, err := m.NewSession(nil, 0)
				must(t, err)
				s.KeepStreams()
				_, err = s.Prompt(context.Background(), g.ids[:n], nil)
				must(t, err)
				for {
					T := s.Length()
					rows := prompt(t, g.model, []trace.MixingAsk{ask}, g.ids[:T]).Rows[0]
					for l := range rows.L {
						q.Layer, q.K, q.Left = l, K, make([]float64, K*T)
						for i := range q.Left {
							if i%T != 1 { // not every target takes part
								q.Left[i] = float64((7*i)%11) / 11
							}
						}
						got, err := s.Multiply(context.Background(), q)
						must(t, err)
						near64(t, fmt.Sprintf("%s %s, layer %d, %d tokens, tiles of %d", q.Mixing,
							q.Heads, l, T, tile), got, multiplied(rows, l, q), productTol)
					}
					if T == len(g.ids) {
						break
					}
					_, err = s.Step(context.Background(), g.ids[T])
					must(t, err)
				}
				s.Close()
			}
		}
	})
}

// productTol is for sums of up to 16 shares in float32; worst seen 3e-6, of alti.
const productTol = 1e-5

// multiplied is Left·rownorm((1-r)C + rI) by definition.
func multiplied(rows trace.Rows, l int, q trace.Product) []float64 {
	T := rows.S
	out := make([]float64, q.K*T)
	for t := range T {
		c := make([]float64, T)
		sum := 0.0
		for s, x := range rows.Row(l, 0, t) {
			c[s] = float64(x)
			sum += c[s]
		}
		if q.Scaled && sum > 0 {
			for s := range c {
				c[s] /= sum
			}
		}
		sum = 0
		for s := range c {
			c[s] *= 1 - q.Residual
			if s == t {
				c[s] += q.Residual
			}
			sum += c[s]
		}
		for k := range q.K {
			for s := range c {
				if sum > 0 {
					out[k*T+s] += q.Left[k*T+t] * c[s] / sum
				}
			}
		}
	}
	return out
}

// TestMultiplyOneTarget: a vector with one entry costs one target, and gives that row.
func TestMultiplyOneTarget(t *testing.T) {
	g := openGolden(t, "llama")
	s, err := g.model.InTiles(1, 4, 4).NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	s.KeepStreams()
	_, err = s.Prompt(context.Background(), g.ids, nil)
	must(t, err)
	T := len(g.ids)
	rows := prompt(t, g.model, []trace.MixingAsk{{Name: "attention", AllRows: true}}, g.ids).Rows[0]
	for at := range T {
		q := trace.Product{Mixing: "attention", Layer: 1, K: 1, Left: make([]float64, T)}
		q.Left[at] = 1
		got, err := s.Multiply(context.Background(), q)
		must(t, err)
		near64(t, fmt.Sprint("target ", at), got, multiplied(rows, 1, q), productTol)
	}
	got, err := s.Multiply(context.Background(), trace.Product{
		Mixing: "attention", Residual: 0.5, K: 2, Left: make([]float64, 2*T),
	})
	must(t, err)
	if slices.ContainsFunc(got, func(x float64) bool { return x != 0 }) {
		t.Errorf("zeros times rows are %v", got)
	}
}

// TestMultiplyAfterLostTokens: streams of tokens that a stopped step or Cut took away do not count,
// and those that Extend read are missed.
func TestMultiplyAfterLostTokens(t *testing.T) {
	ctx := context.Background()
	product := func(lose func(*transformer.Session)) ([]float64, error) {
		g := openGolden(t, "bloom")
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		s.KeepStreams()
		_, err = s.Prompt(ctx, g.ids[:8], nil)
		must(t, err)
		lose(s)
		for _, id := range []int{1, 2, 3} {
			_, err = s.Step(ctx, id)
			must(t, err)
		}
		q := trace.Product{Mixing: "attention", K: 1, Left: ones(s.Length())}
		q.Left[8] = 5
		return s.Multiply(ctx, q)
	}
	want, err := product(func(*transformer.Session) {})
	must(t, err)
	for name, lose := range map[string]func(*transformer.Session){
		"a stopped step": func(s *transformer.Session) {
			_, err := s.Step(&stopAfter{Context: ctx, calls: 2}, 5)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		},
		"a token cut off": func(s *transformer.Session) {
			_, err := s.Step(ctx, 5)
			must(t, err)
			must(t, s.Cut(8))
		},
	} {
		got, err := product(lose)
		must(t, err)
		near64(t, name, got, want, productTol)
	}
	const missing = "streams of 8 tokens were kept, and the text has 13"
	if _, err = product(func(s *transformer.Session) {
		_, err := s.Extend(ctx, []int{5, 6}, nil)
		must(t, err)
	}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v, want %q", err, missing)
	}
}

// TestMultiplyRefuses: what cannot be answered is an error.
func TestMultiplyRefuses(t *testing.T) {
	g := openGolden(t, "gpt2")
	T := len(g.ids)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	each := trace.Heads{Fusion: trace.EachHead}
	for name, c := range map[string]struct {
		ctx     context.Context
		forgets bool
		q       trace.Product
		want    string
	}{
		"nothing kept": {
			forgets: true, q: trace.Product{Mixing: "attention", K: 1, Left: make([]float64, T)},
			want: "the session has to keep streams",
		},
		"layer":   {q: trace.Product{Layer: 9}, want: "layer 9 is not in 0..2"},
		"sizes":   {q: trace.Product{K: 2, Left: make([]float64, T)}, want: "for 2 rows of"},
		"nothing": {q: trace.Product{}, want: "0 numbers for 0 rows"},
		"heads":   {q: trace.Product{K: 1, Left: make([]float64, T), Heads: each}, want: "one row for all heads"},
		"mixing":  {q: trace.Product{K: 1, Left: make([]float64, T), Mixing: "attentoin"}, want: `mixing "attentoin" is unknown`},
		"stopped": {ctx: done, q: trace.Product{K: 1, Left: ones(T), Mixing: "attention"}, want: "stopped at target 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := g.model.InTiles(1, 4, 4).NewSession(nil, 0)
			must(t, err)
			defer s.Close()
			if !c.forgets {
				s.KeepStreams()
			}
			_, err = s.Prompt(context.Background(), g.ids, nil)
			must(t, err)
			if c.ctx == nil {
				c.ctx = context.Background()
			}
			_, err = s.Multiply(c.ctx, c.q)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if c.ctx == done && !errors.Is(err, context.Canceled) {
				t.Errorf("error %v does not wrap that of the context", err)
			}
		})
	}
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// TestTiledStops: a long prompt stops within a layer when its context is done.
func TestTiledStops(t *testing.T) {
	g := openGolden(t, "llama")
	s, err := g.model.InTiles(1, 4, 4).NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	_, err = s.Prompt(ctx, g.ids, func(trace.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "layer 0") {
		t.Errorf("error %v, want one that says layer 0", err)
	}
}

// TestTiledMemory: what a prompt in tiles needs grows with its length and not with its square, is
// far below one array of the scores of all heads, and includes what the session keeps.
func TestTiledMemory(t *testing.T) {
	m := transformer.ForSizes(&gpt2Medium)
	tiled := func(n int, streams bool) float64 {
		return float64(m.Estimate(transformer.Need{
			Tokens: n, Slots: n, Tile: m.TileOf(n), Streams: streams,
			Asks: []trace.MixingAsk{{Name: "attention"}},
		}))
	}
	const n = 32_768
	if ratio := tiled(n, true) / tiled(n/2, true); ratio > 2.1 {
		t.Errorf("twice the tokens need %.2f times as much, want about 2", ratio)
	}
	scores := 4.0 * 16 * n * n
	if need := tiled(n, true); need > scores/5 {
		t.Errorf("%d tokens need %.3g bytes, and the scores of one layer alone %.3g", n, need,
			scores)
	}
	streams := 4.0 * 24 * 1024 * n
	if d := tiled(n, true) - tiled(n, false); d != streams {
		t.Errorf("streams of %d tokens need %.3g bytes, want %.3g", n, d, streams)
	}
	cache := 2 * 4.0 * 24 * 1024 * n
	if need := tiled(n, false); need < cache {
		t.Errorf("%d tokens need %.3g bytes, less than their keys and values, %.3g", n, need, cache)
	}
}

// TestTiledRefused: a long prompt that needs more than it may take is refused before anything is
// computed.
func TestTiledRefused(t *testing.T) {
	g := openGolden(t, "llama")
	m := g.model.InTiles(1, 4, 4).WithMaxBytes(10_000)
	s, err := m.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	need := s.PromptBytes(len(g.ids))
	_, err = s.Prompt(context.Background(), g.ids, nil)
	var refusal *trace.MemoryError
	if !errors.As(err, &refusal) || refusal.Left != 10_000 || refusal.Need != need {
		t.Errorf("error %v, want a refusal of %d bytes", err, need)
	}
	if graphs := m.Graphs(); len(graphs) != 0 {
		t.Errorf("graphs were built: %v", graphs)
	}
}

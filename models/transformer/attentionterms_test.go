package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestTermsOnTheCache: the parts that a session reads from its cache are those of a pass of their
// own over the whole text, of every decoder, after the prompt, after a step and after the cache
// grew; against nothing, a contrast and foils. Models of three layers take two graphs for that.
func TestTermsOnTheCache(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		// Cached keys stay as they were turned, as in the reference, so a step is not a pass.
		r := g.model.Spec.Rotary
		turned := r != nil && (r.LongFrequencies != nil || r.Stretch > 0)
		s, err := g.model.TermsAtOnce(2).NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		must(t, s.KeepTerms())
		n := len(g.ids) - 2
		_, err = s.Prompt(context.Background(), g.ids[:n], nil)
		must(t, err)
		for {
			q := g.logitQuery(n-1, 3)
			q.IDs = g.ids[:n]
			foils := q
			foils.Foils = []int{0, 1, 5, 7, 2}
			for name, q := range map[string]trace.Query{
				"alone": q, "contrast": against(q, 0), "foils": foils,
			} {
				got, err := s.Terms(context.Background(), q.Objective)
				must(t, err)
				want := g.terms(t, q)
				name = fmt.Sprintf("%s of %d tokens", name, n)
				if got.L != want.L || got.S != want.S {
					t.Fatalf("%s: %d layers and %d sources, want %d and %d", name, got.L, got.S,
						want.L, want.S)
				}
				near64(t, name, got.Attention, want.Attention, partTol)
				near64(t, name+" value", []float64{got.Value}, []float64{want.Value}, sumTol)
			}
			if n == len(g.ids) || turned {
				return
			}
			_, err = s.Step(context.Background(), g.ids[n])
			must(t, err)
			n++
		}
	})
}

// TestTermsByHead: the part of each head is what its own vectors become in float64, of every
// decoder, and the parts of all heads add up to the part of a source.
func TestTermsByHead(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		r := g.text64(t)
		s, err := g.model.TermsAtOnce(2).NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		must(t, s.KeepTerms())
		s.SplitTerms()
		_, err = s.Prompt(context.Background(), g.ids, nil)
		must(t, err)
		got, err := s.Terms(context.Background(), g.logitQuery(len(g.ids)-1, 3).Objective)
		must(t, err)
		H := r.spec.Heads
		heads := make([]int, H)
		for h := range heads {
			heads[h] = h
		}
		want := r.logitTerms(len(g.ids)-1, 3, heads...).Attention
		near64(t, "parts of heads", got.ByHead, want, partTol)
		sums := make([]float64, got.L*got.S)
		for i, x := range got.ByHead {
			sums[i/got.S/H*got.S+i%got.S] += x
		}
		near64(t, "sums over heads", sums, got.Attention, sumTol)
	})
}

// TestTermsAfterGrowing: the slots of a pass need not be those of the cache.
func TestTermsAfterGrowing(t *testing.T) {
	g := openGolden(t, "llama")
	s, err := g.model.NewSession(nil, 0)
	must(t, err)
	defer s.Close()
	must(t, s.KeepTerms())
	ids := g.ids[:4]
	_, err = s.Prompt(context.Background(), ids, nil)
	must(t, err)
	for len(ids) < 40 { // beyond the 32 slots of the first cache
		ids = append(ids[:len(ids):len(ids)], g.ids[len(ids)%len(g.ids)])
		_, err := s.Step(context.Background(), ids[len(ids)-1])
		must(t, err)
		if n := len(ids); n != 31 && n != 33 && n != 40 {
			continue
		}
		q := g.logitQuery(len(ids)-1, 3)
		q.IDs = ids
		got, err := s.Terms(context.Background(), q.Objective)
		must(t, err)
		near64(t, fmt.Sprint(len(ids)), got.Attention, g.terms(t, q).Attention, partTol)
	}
}

// TestTermsRefuse: what cannot be answered is an error, not numbers.
func TestTermsRefuse(t *testing.T) {
	g := openGolden(t, "gpt2")
	open := func(keep bool) *transformer.Session {
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		t.Cleanup(s.Close)
		if keep {
			must(t, s.KeepTerms())
			_, err = s.Prompt(context.Background(), g.ids, nil)
			must(t, err)
		}
		return s
	}
	logit := trace.Objective{Quantity: trace.Logit}
	zero := 0
	for name, c := range map[string]struct {
		s *transformer.Session
		o trace.Objective
	}{
		"nothing kept": {open(false), logit},
		"probability":  {open(true), trace.Objective{Quantity: trace.Probability}},
		"token below":  {open(true), trace.Objective{Quantity: trace.Logit, Token: -1}},
		"token above":  {open(true), trace.Objective{Quantity: trace.Logit, Token: 1 << 20}},
		"foil above":   {open(true), trace.Objective{Quantity: trace.Logit, Foils: []int{1 << 20}}},
		"both":         {open(true), trace.Objective{Quantity: trace.Logit, Contrast: &zero, Foils: []int{1}}},
	} {
		if terms, err := c.s.Terms(context.Background(), c.o); err == nil {
			t.Errorf("%s: %d parts, want an error", name, len(terms.Attention))
		}
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := open(true).Terms(done, logit); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
}

// TestRowsOfLayer: the row of one layer is the row that a pass returns of all layers, of every
// decoder, mixing and layer, after the prompt, after steps and after the cache grew.
func TestRowsOfLayer(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		asks := []trace.MixingAsk{
			{Name: "value-zeroing"},
			{Name: "value-zeroing-euclidean-final-norm"},
			{Name: "value-zeroing", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}},
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}},
			{Name: "alti"},
		}
		s, err := g.model.NewSession(asks, 0)
		must(t, err)
		defer s.Close()
		must(t, s.KeepTerms())
		out, err := s.Prompt(context.Background(), g.ids[:len(g.ids)-2], nil)
		must(t, err)
		for step := 0; ; step++ {
			for i, ask := range asks {
				want := out.Rows[i]
				for l := range want.L {
					got, err := s.RowsOfLayer(context.Background(), l, ask)
					must(t, err)
					if got.L != 1 || got.N != 1 || got.H != want.H || got.S != s.Length() ||
						got.First != s.Length()-1 {
						t.Fatalf("%s: %+v", ask.Name, got)
					}
					for h := range got.H {
						check(t, fmt.Sprintf("%s step %d layer %d head %d", ask.Name, step, l, h),
							got.Row(0, h, 0), want.Row(l, h, want.N-1), oneRowTol)
					}
				}
			}
			if step == 2 {
				return
			}
			out, err = s.Step(context.Background(), g.ids[len(g.ids)-2+step])
			must(t, err)
		}
	})
}

// oneRowTol bounds a row by itself against that of a step over all layers: two graphs round lengths
// of 20 differently.
const oneRowTol = 1e-5 // worst seen 3.8e-6, of alti

// TestRowsOfLayerRefuses: what cannot be answered is an error.
func TestRowsOfLayerRefuses(t *testing.T) {
	g := openGolden(t, "gpt2")
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		keep  bool
		layer int
		ask   trace.MixingAsk
	}{
		"nothing kept": {context.Background(), false, 0, trace.MixingAsk{Name: "attention"}},
		"below":        {context.Background(), true, -1, trace.MixingAsk{Name: "attention"}},
		"above":        {context.Background(), true, g.model.Spec.Layers, trace.MixingAsk{Name: "attention"}},
		"mixing":       {context.Background(), true, 0, trace.MixingAsk{Name: "nothing"}},
		"head":         {context.Background(), true, 0, trace.MixingAsk{Name: "attention", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1 << 20}}},
		"ended":        {done, true, 0, trace.MixingAsk{Name: "attention"}},
	} {
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		if c.keep {
			must(t, s.KeepTerms())
		}
		_, err = s.Prompt(context.Background(), g.ids, nil)
		must(t, err)
		_, err = s.RowsOfLayer(c.ctx, c.layer, c.ask)
		if err == nil || (c.ctx == done) != errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		s.Close()
	}
}

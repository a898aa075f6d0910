package transformer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// lensAt returns the scores of the lens at each position, [T][L+1][V].
func lensAt(t *testing.T, m *transformer.Model, ids []int) [][][]float32 {
	t.Helper()
	var positions []int
	for at := range ids {
		positions = append(positions, at)
	}
	all := make([][][]float32, len(ids))
	q := trace.LensQuery{IDs: ids, Positions: positions}
	err := m.Lens(context.Background(), q, func(i int, scores []float32) error {
		all[i] = columnsOf(m, scores)
		return nil
	})
	must(t, err)
	return all
}

// columnsOf returns the columns of scores, [V,L+1], one after another.
func columnsOf(m *transformer.Model, scores []float32) [][]float32 {
	n := m.Spec.Layers + 1
	columns := make([][]float32, n)
	for i, x := range scores {
		columns[i%n] = append(columns[i%n], x)
	}
	return columns
}

// TestLens compares the lens with the head, computed in float64, of the hidden states that the
// reference recorded. The last layer has the reference's own logits, and those of the tap.
func TestLens(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		if g.model.Spec.Head != spec.LanguageHead {
			t.Skip("its head scores no tokens")
		}
		layers, T := g.model.Spec.Layers, len(g.ids)
		hidden := func(name string) []float32 { return g.Recorded(t, name) }
		got := lensAt(t, g.model, g.ids)
		for l := range layers {
			data := hidden(fmt.Sprintf("hidden.%d", l))
			for p := range T {
				x := data[p*len(data)/T : (p+1)*len(data)/T]
				check(t, fmt.Sprintf("layer %d, position %d", l, p), got[p][l],
					narrow(g.headed(wide(x))), logitsTol)
			}
		}
		own, err := g.model.Trace(context.Background(), g.ids, []trace.Tap{trace.Logits})
		must(t, err)
		logits := hidden("logits")
		for p := range T {
			what := fmt.Sprintf("the last layer, position %d", p)
			check(t, what, got[p][layers], logits[p*len(logits)/T:(p+1)*len(logits)/T], logitsTol)
			check(t, what+": tap", got[p][layers], at(own[0], p), 1e-6)
		}
	})
}

// TestLensOnCache: the lens of each step on the cache is that of a pass over the whole text.
func TestLensOnCache(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		if r := g.model.Spec.Rotary; r != nil && (r.LongFrequencies != nil || r.Stretch > 0) {
			t.Skip("cached keys stay as they were turned, as in the reference")
		}
		ids := slices.Concat(g.ids, g.ids, g.ids) // 36 tokens, more than 32 slots
		full := lensAt(t, g.model, ids)
		s, err := g.model.NewSession(nil, 0)
		must(t, err)
		defer s.Close()
		if err := s.Lens(nil); err == nil || !strings.Contains(err.Error(), "has to keep") {
			t.Errorf("without streams: %v", err)
		}
		s.KeepLens()
		_, err = s.Prompt(context.Background(), ids[:5], nil)
		for n := 5; ; n++ {
			must(t, err)
			must(t, s.Lens(func(scores []float32) error {
				for l, own := range columnsOf(g.model, scores) {
					check(t, fmt.Sprintf("%d tokens, layer %d", n, l), own, full[n-1][l], logitsTol)
				}
				return nil
			}))
			if n == len(ids) {
				return
			}
			_, err = s.Step(context.Background(), ids[n])
		}
	})
}

// TestLensRefuses: a head that scores classes, a position outside the text, and too little memory.
func TestLensRefuses(t *testing.T) {
	for _, c := range []struct {
		golden string
		at     int
		bytes  int64
		want   string
	}{
		{"bert_cls", 0, 0, "the head of the bert model scores no tokens"},
		{"gpt2", 12, 0, "position 12 is not in 0..11"},
		{"gpt2", 0, 1000, "for 12 tokens needs about"},
	} {
		g := openGolden(t, c.golden)
		g.model.MaxBytes = c.bytes
		err := g.model.Lens(context.Background(), trace.LensQuery{IDs: g.ids, Positions: []int{c.at}},
			func(int, []float32) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.golden, err, c.want)
		}
	}
}

package transformer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// readAt reads a text and asks the head at one position.
func readAt(t testing.TB, m *transformer.Model, ids []int, position int,
	asks []trace.MixingAsk,
) *transformer.Output {
	t.Helper()
	r, err := m.Read(context.Background(), ids, nil, asks, nil, nil)
	must(t, err)
	defer r.Close()
	logits, err := r.Logits(position)
	must(t, err)
	return &transformer.Output{Logits: logits[0], Rows: r.Rows}
}

// TestRead: at every position the head gives what the tap of logits gives there; a classifier gives
// the same at each.
func TestRead(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		head := g.model.Spec.Head
		var want taken
		if head != spec.NoHead {
			want = g.take(t, trace.Logits)
		}
		for position := range g.ids {
			out := readAt(t, g.model, g.ids, position, nil)
			where := fmt.Sprintf("position %d", position)
			switch head {
			case spec.NoHead:
				if out.Logits != nil {
					t.Errorf("%s: %d logits of a model without a head", where, len(out.Logits))
				}
			case spec.ClassifierHead:
				check(t, where, out.Logits, want[trace.Logits].Data, tapTol)
				if len(out.Logits) != g.model.Spec.Classes {
					t.Errorf("%s: %d classes, want %d", where, len(out.Logits),
						g.model.Spec.Classes)
				}
			default:
				check(t, where, out.Logits, at(want[trace.Logits], position), tapTol)
			}
		}
	})
}

// TestLogitsOfPositions: asked at several positions at once, in any order and twice at one, the
// head gives what it gives when the text is read for each, also where the number of positions is
// rounded up.
func TestLogitsOfPositions(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		rounding := g.changed(t, func(string, []float32) {})
		rounding.RoundUp()
		positions := []int{len(g.ids) - 1, 0, 3, 0}
		for what, m := range map[string]*transformer.Model{
			"as many":    g.model,
			"rounded up": rounding,
		} {
			r, err := m.Read(context.Background(), g.ids, nil, nil, nil, nil)
			must(t, err)
			defer r.Close()
			got, err := r.Logits(positions...)
			must(t, err)
			if len(got) != len(positions) {
				t.Fatalf("%s: scores at %d positions, want %d", what, len(got), len(positions))
			}
			for i, at := range positions {
				check(t, fmt.Sprintf("%s, position %d", what, at), got[i],
					readAt(t, g.model, g.ids, at, nil).Logits, tapTol)
			}
		}
	})
}

// TestReadRows: rows of attention are those of the tap, heads fused.
func TestReadRows(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		attention := g.take(t, trace.Attention)[trace.Attention]
		spec, n := g.model.Spec, len(g.ids)
		rows := g.rows(t, trace.MixingAsk{Name: "attention"},
			trace.MixingAsk{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}})
		for _, r := range rows {
			if r.First != 0 || r.N != n || r.S != n || r.L != spec.Layers {
				t.Fatalf("rows %d..+%d over %d sources in %d layers, want all %d in %d", r.First,
					r.N, r.S, r.L, n, spec.Layers)
			}
		}
		for l := range spec.Layers {
			for target := range n {
				mean := make([]float64, n)
				for h := range spec.Heads {
					row := at(attention, l, h, target)
					check(t, fmt.Sprintf("layer %d head %d target %d", l, h, target),
						rows[1].Row(l, h, target), row, tapTol)
					mean = plus(mean, wide(row))
				}
				for s := range mean {
					mean[s] /= float64(spec.Heads)
				}
				check(t, fmt.Sprintf("layer %d target %d", l, target), rows[0].Row(l, 0, target),
					narrow(mean), tapTol)
			}
		}
	})
}

func TestReadRefusals(t *testing.T) {
	g := openGolden(t, "bert")
	read := func(ids []int, asks ...trace.MixingAsk) error {
		_, err := g.model.Read(context.Background(), ids, nil, asks, nil, nil)
		return err
	}
	r, err := g.model.Read(context.Background(), g.ids, nil, nil, nil, nil)
	must(t, err)
	defer r.Close()
	ask := func(positions ...int) error {
		_, err := r.Logits(positions...)
		return err
	}
	_, generating := g.model.NewSession(nil, 0)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"before the text", ask(-1), "position -1 is not in 0..11"},
		{"after the text", ask(0, 12), "position 12 is not in 0..11"},
		{"no tokens", read(nil), "there are no tokens to run on"},
		{"id", read([]int{96}), "id 96 of token 0 is outside the vocabulary of 96"},
		{"mixing", read(g.ids, trace.MixingAsk{Name: "norm"}), `mixing "norm" is unknown`},
		{"generation", generating, "bert is an encoder: it reads a whole text and does not generate"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, c.err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = g.model.Read(ctx, g.ids, nil, nil, nil, nil)
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("Read after cancel = %v, want an error that wraps %v", err, context.Canceled)
	}
}

// TestReadDoesNotChangeItsAsks: the caller's asks stay as they are.
func TestReadDoesNotChangeItsAsks(t *testing.T) {
	g := openGolden(t, "bert")
	asks := []trace.MixingAsk{{Name: "attention"}}
	_, err := g.model.Read(context.Background(), g.ids, nil, asks, nil, nil)
	must(t, err)
	if asks[0].AllRows {
		t.Error("Read has changed the caller's asks")
	}
}

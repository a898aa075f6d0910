package transformer_test

import (
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// mixingFunc is a mixing whose graph code may be anything.
type mixingFunc struct {
	mix     func(b *transformer.Block) *Node
	perPair bool
}

func (m mixingFunc) Mix(b *transformer.Block, _ trace.Heads) *Node { return m.mix(b) }
func (mixingFunc) Check(trace.Heads) error                         { return nil }
func (m mixingFunc) PerPair() bool                                 { return m.perPair }

// What the graph code of a mixing gets wrong is an error that names it, and never numbers.
func TestBrokenMixings(t *testing.T) {
	model, ids := openGolden(t, "gpt2").model, []int{1, 2, 3}
	for _, c := range []struct {
		name, want string
		mix        func(b *transformer.Block) *Node
	}{
		{"heads-apart", "3, 3], want (Float32)[1, 3, 3]: [B,N,S], heads mean", func(b *transformer.Block) *Node { return b.Attention }},
		{"one-number", "Mix returns (Float32), want", func(b *transformer.Block) *Node { return ReduceAllSum(b.Attention) }},
		{"one-column", "[1, 3, 1], want", func(b *transformer.Block) *Node { return ReduceAndKeep(ReduceMean(b.Attention, 1), ReduceSum, -1) }},
		{"nothing", "Mix returns nil, want [B,N,S]", func(*transformer.Block) *Node { return nil }},
		{"shapes-that-do-not-fit", "Mul", func(b *transformer.Block) *Node { return Mul(b.Attention, b.Input) }},
		{"an-index", "index out of range", func(b *transformer.Block) *Node { return []*Node{}[b.Input.Rank()] }},
		{"a-panic", "of its own", func(*transformer.Block) *Node { panic("of its own") }},
	} {
		for kind, perPair := range map[string]bool{"": false, "-per-pair": true} {
			name := "broken-" + c.name + kind
			t.Run(c.name+kind, func(t *testing.T) {
				transformer.RegisterMixing(name, mixingFunc{c.mix, perPair})
				defer transformer.UnregisterMixing(name)
				_, err := model.Read(t.Context(), ids, nil, []trace.MixingAsk{{Name: name}}, nil,
					nil)
				if err == nil || !strings.Contains(err.Error(),
					"mixing "+name+": ") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want one that names %s and has %q", err, name, c.want)
				}
			})
		}
	}
}

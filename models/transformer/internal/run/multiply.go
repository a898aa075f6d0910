package run

import (
	"context"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// streams are the residual streams before every layer, of all tokens of a session.
type streams struct {
	layers [][]float32 // [L] of [n,D]
	room   int         // for how many tokens memory is taken at once
}

// emptied returns streams of no tokens with room for so many; nil for nil.
func (s *streams) emptied(room int) *streams {
	if s == nil {
		return nil
	}
	s.layers, s.room = nil, room
	return s
}

// keep takes the stream before the next layer l, of all tokens of a prompt.
func (s *streams) keep(l int, x []float32) {
	if l == 0 {
		s.layers = nil
	}
	s.layers = append(s.layers, x)
}

// add keeps the stream of token n before layer l, [1,1,D], after those of the n tokens before it. A
// stream that a stopped step left there is replaced. Nothing is kept on nil streams, or if those of
// earlier tokens are missing, as after [Session.Extend].
func (s *streams) add(l, n int, x *tensors.Tensor) error {
	if s == nil || l >= len(s.layers) {
		return nil
	}
	return host.Read(x, func(data []float32) {
		if len(s.layers[l]) < n*len(data) {
			return
		}
		have := s.layers[l][:n*len(data)]
		if cap(have) < len(have)+len(data) {
			// Room for all at once: append would double the memory.
			have = append(make([]float32, 0, max(s.room*len(data), len(have)*9/8)+len(data)),
				have...)
		}
		s.layers[l] = append(have, data...)
	})
}

// cut leaves the streams of the first n tokens of a model of that width.
func (s *streams) cut(n, width int) {
	if s == nil {
		return
	}
	for l, have := range s.layers {
		s.layers[l] = have[:min(len(have), n*width)]
	}
}

// KeepStreams makes every later pass keep what [Session.Multiply] reads: the residual stream before
// each layer, 4·L·T·D bytes. It is called before [Session.Prompt].
func (s *Session) KeepStreams() { s.streams = &streams{} }

// Multiply returns rows times the rows of one layer, Left·Â, [K,T], where Â = rownorm((1-r)C + rI)
// and C are the rows of a mixing for all T tokens of the text so far; see [trace.Product]. Â is
// computed again tile by tile from the streams and the keys, and is never stored: a call costs what
// the mixing costs for all targets whose column of Left is not zero, and K·T²/2 multiplications.
//
// It returns an error without passes that kept the streams of all tokens, for a layer, a mixing or
// heads that do not exist, for sizes that do not fit, a [*trace.MemoryError], and one that wraps
// ctx.Err().
func (s *Session) Multiply(ctx context.Context, q trace.Product) ([]float64, error) {
	n := s.Length()
	if s.streams == nil || len(s.streams.layers) != s.m.Spec.Layers || s.cache == nil {
		return nil, pkg.Errorf("no products with rows: the session has to keep " +
			"streams, and to read a text")
	}
	if q.Layer < 0 || q.Layer >= s.m.Spec.Layers {
		return nil, pkg.Errorf("layer %d is not in 0..%d", q.Layer, s.m.Spec.Layers-1)
	}
	if have := len(s.streams.layers[q.Layer]) / s.m.Spec.Width; have < n {
		return nil, pkg.Errorf("streams of %d tokens were kept, and the text has %d: "+
			"products need a text whose tokens were read by Prompt and Step", have, n)
	}
	if q.K < 1 || len(q.Left) != q.K*n {
		return nil, pkg.Errorf("%d numbers for %d rows of %d tokens", len(q.Left), q.K, n)
	}
	if q.Heads.Fusion == trace.EachHead {
		return nil, pkg.Errorf("a product needs one row for all heads, not one of each")
	}
	asks, err := graph.LookupMixings(s.m.Spec, trace.MixingAsk{Name: q.Mixing, Heads: q.Heads})
	if err != nil {
		return nil, err
	}
	p := multiplication{s: s, q: q, ask: asks[0], out: make([]float64, q.K*n)}
	if err := p.run(ctx); err != nil {
		return nil, pkg.Errorf("%s products with %s of layer %d, %d tokens: %w",
			s.m.Spec.Family, q.Mixing, q.Layer, n, err)
	}
	return p.out, nil
}

// multiplication is one call of [Session.Multiply].
type multiplication struct {
	s   *Session
	q   trace.Product
	ask graph.Asked
	out []float64 // [K,T]
}

func (p *multiplication) run(ctx context.Context) error {
	m, n := p.s.m, p.s.Length()
	t := &TiledLayer{Model: m, Layer: p.q.Layer, Tokens: n, Stream: p.s.streams.layers[p.q.Layer]}
	defer t.Free()
	if err := t.Read(p.s.cache.of(p.q.Layer)); err != nil {
		return err
	}
	// As in the prompt, so that one more token needs no new graphs.
	size := m.TileOf(p.s.cache.slots)
	if p.ask.PerPair() {
		size = min(size, rowsOfTile(m.tileSlots(n)*m.Spec.InnerWidth()))
	}
	first, last := p.targets()
	if first == last { // one target, as at the top of a chain of products
		return p.tile(t, first, 1)
	}
	for at := first / size * size; at <= last; at += size {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at target %d: %w", at, err)
		}
		if err := p.tile(t, at, size); err != nil {
			return err
		}
	}
	return nil
}

// targets returns the first and the last target whose column of Left is not zero; the last target
// twice if there is none.
func (p *multiplication) targets() (first, last int) {
	n := p.s.Length()
	first, last = n-1, -1
	for i, x := range p.q.Left {
		if x != 0 {
			first, last = min(first, i%n), max(last, i%n)
		}
	}
	if last < 0 {
		return n - 1, n - 1
	}
	return first, last
}

// tile adds what size targets from position at on contribute.
func (p *multiplication) tile(t *TiledLayer, at, size int) error {
	m, n, K := p.s.m, p.s.Length(), p.q.K
	rows := K
	if m.Machine.PromptStep > 1 { // few sizes, so that few graphs are compiled
		rows = host.RoundUp(K, 8)
	}
	count := min(size, n-at)
	left, err := m.Machine.Filled([]int{rows, size}, func(data []float32) {
		for k := range K {
			for i := range count {
				data[k*size+i] = float32(p.q.Left[k*n+at+i])
			}
		}
	})
	if err != nil {
		return err
	}
	residual := tensors.FromScalar(float32(p.q.Residual))
	defer host.Free(left, residual)
	return t.tile(at, size, func(in []*tensors.Tensor) error {
		out, err := m.Machine.Execute(p.program(), append(in[:len(in):len(in)], left, residual)...)
		if err != nil {
			return err
		}
		defer host.Free(out...)
		return p.put(out, at, count)
	})
}

// program is the graph of a tile. After the inputs of [TiledLayer.tile] come left, [K,N], and the
// weight r of the residual. It returns left·(1-r)C of the normalised rows, [K,S], and what the
// residual of each target becomes, [N].
func (p *multiplication) program() program.Program {
	// The graph is kept with the model, so nothing else of the session may stay in it.
	model, l, ask, scaled := p.s.m, p.q.Layer, p.ask, p.q.Scaled
	kind, weights := graph.KindOf(model.Spec, l, ask)
	return program.New(
		fmt.Sprintf("product %s %sscaled=%v", kind, graph.Describe(ask), scaled),
		weights,
		func(w codes.Weights, in []*Node) []*Node {
			b := BlockOfTile(model, w, l, in)
			rows := Squeeze(graph.VisibleRows(b, ask), 0) // [N,S]
			left, residual := in[5], in[6]
			mixed, kept := normalised(rows, residual, scaled) // [N] each
			product := b.Einsum("kn,ns->ks", Mul(left, InsertAxes(mixed, 0)), rows)
			return []*Node{product, kept}
		},
	)
}

// normalised returns the factors of a row and of the identity in rownorm((1-r)C + rI), [N] each,
// for rows C [N,S]. With scaled, C is divided by its sum first. A row that is all zero stays so.
func normalised(rows, residual *Node, scaled bool) (mixed, kept *Node) {
	sum := ReduceSum(rows, -1) // [N]
	inverse := func(x *Node) *Node {
		positive := GreaterThan(x, ZerosLike(x))
		return Where(positive, Reciprocal(Where(positive, x, OnesLike(x))), ZerosLike(x))
	}
	share := OnesLike(sum)
	if scaled {
		share = inverse(sum)
		sum = ConvertDType(GreaterThan(sum, ZerosLike(sum)), dtypes.Float32)
	}
	kept = inverse(Add(Mul(OneMinus(residual), sum), residual))
	mixed = Mul(Mul(kept, share), OneMinus(residual))
	return mixed, Mul(kept, residual)
}

// put adds the results of a tile: the product with C, and the residual of its own targets, which is
// added in float64.
func (p *multiplication) put(out []*tensors.Tensor, at, count int) error {
	n := p.s.Length()
	slots := out[0].Shape().Dimensions[1]
	if err := host.Read(out[0], func(data []float32) {
		for k := range p.q.K {
			to := p.out[k*n : (k+1)*n]
			for j, x := range data[k*slots : k*slots+min(at+count, n)] {
				to[j] += float64(x)
			}
		}
	}); err != nil {
		return err
	}
	return host.Read(out[1], func(kept []float32) {
		for k := range p.q.K {
			for i := range count {
				p.out[k*n+at+i] += p.q.Left[k*n+at+i] * float64(kept[i])
			}
		}
	})
}

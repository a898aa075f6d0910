package transformer

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// latest is what the last pass of a session did to its last token, which [Session.Terms] and
// [Session.RowsOfLayer] read.
type latest struct {
	// input and output are each layer's input and attention output, [L,D]; attention is [L,H,S]
	// for the S slots that the pass had. final is the residual stream after the last layer, [D].
	input, output, attention, final []float32
	// logits are [V].
	logits []float32
}

// KeepTerms makes every later pass keep what [Session.Terms] and [Session.RowsOfLayer] need. It is
// called before [Session.Prompt]. rows are what RowsOfLayer will be asked for, so that their graphs
// can be compiled while the prompt is read. It returns an error for a mixing that does not exist
// and heads that it cannot fuse.
func (s *Session) KeepTerms(rows ...trace.MixingAsk) error {
	mixes, err := s.m.mixings(rows)
	if err != nil {
		return err
	}
	s.terms, s.late, s.lateMixes = true, slices.Clone(rows), mixes
	for i := range s.late {
		s.late[i].AllRows = false
	}
	return nil
}

// Terms returns what the last token of the text read from each source in each layer for the sum of
// logits that of names: the attention part of [Model.LogitTerms], from what the cache holds. o must
// have the quantity [trace.Logit]; its position is not used. It costs a product by each layer's
// output projection, L·D² multiplications, and L·H·S·E for S sources; for blocks that normalise
// after the feed-forward layer (OPT-350m) that layer too. It returns an error without a pass that
// kept its terms, for an objective that the model does not have, and one that wraps ctx.Err().
func (s *Session) Terms(
	ctx context.Context, o trace.Objective,
) (*trace.AttentionTerms, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the parts of token %d: %w", s.Length(),
			err)
	}
	o.Position = s.Length() - 1
	if s.latest == nil || o.Quantity != trace.Logit {
		return nil, fmt.Errorf("transformer: no parts of the %s of the last token; the session "+
			"has to keep them, and the quantity is %s", o.Quantity, trace.Logit)
	}
	if err := checkObjective(s.m.Spec, o, s.Length()); err != nil {
		return nil, err
	}
	terms := &trace.AttentionTerms{
		L: s.m.Spec.Layers, S: s.Length(),
		Attention: make([]float64, s.m.Spec.Layers*s.Length()),
		Value:     objectiveValue(s.m.Spec, o, s.latest.logits),
	}
	if err := s.readTerms(ctx, o, terms.Attention); err != nil {
		return nil, fmt.Errorf("transformer: %s parts of token %d: %w", s.m.Spec.Family,
			s.Length(), err)
	}
	return terms, nil
}

// readTerms puts the terms, [L,S], into dst. Layers have a graph each, the same for all of them:
// one graph of 30 layers takes XLA more than a second to compile.
func (s *Session) readTerms(ctx context.Context, o trace.Objective, dst []float64) error {
	m, n := s.m, s.Length()
	along, err := s.logitDirection(o)
	if err != nil {
		return err
	}
	along, err = m.layersBack(ctx, along, func(l int, along *tensors.Tensor) (
		*tensors.Tensor, error,
	) {
		out, err := s.termsOfLayer(l, along)
		if err != nil {
			return nil, err
		}
		defer free(out[1])
		return out[0], read(out[1], func(data []float32) { // [slots]
			for j := range n {
				dst[l*n+j] = float64(data[j])
			}
		})
	})
	free(along)
	return err
}

// logitDirection returns the direction on the residual stream after the last layer, [1,1,D].
func (s *Session) logitDirection(o trace.Objective) (*tensors.Tensor, error) {
	m := s.m
	ids, weights := askedScores(m.Spec, o)
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(s.latest.final, 1, 1, m.Spec.Width),
		tensors.FromFlatDataAndDimensions(ids, len(ids)),
		tensors.FromFlatDataAndDimensions(weights, len(weights)),
	}
	defer free(inputs...)
	return m.directionOnCache(inputs[0], inputs[1], inputs[2])
}

// directionOnCache returns the directions on x, the residual streams after the last layer, [P,1,D]
// both, for scores ids and weights; see [builder.beforeHead].
func (m *Model) directionOnCache(x, ids, weights *tensors.Tensor) (*tensors.Tensor, error) {
	length := tensors.FromScalar(int32(1)) // only a positive number is needed
	defer free(length)
	out, err := m.run("direction on the cache", endsWeights, func(w byName, in []*Node) []*Node {
		d := m.builder(w, text{length: in[0]})
		return []*Node{d.beforeHead(in[1], in[2], in[3]).along}
	}, length, x, ids, weights)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// termsOfLayer returns, given the direction after layer l, the one before it, [1,1,D], and the
// parts of the layer's sources, [slots].
func (s *Session) termsOfLayer(l int, along *tensors.Tensor) ([]*tensors.Tensor, error) {
	m, k := s.m, s.latest
	H, D := m.Spec.Heads, m.Spec.Width
	attention, err := m.filled([]int{1, H, 1, s.slots}, func(data []float32) {
		had := len(k.attention) / (m.Spec.Layers * H)
		for h := range H { // of sources that have a token; the other slots are empty
			copy(data[h*s.slots:][:s.Length()], k.attention[(l*H+h)*had:])
		}
	})
	if err != nil {
		return nil, err
	}
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(k.input[l*D:(l+1)*D], 1, 1, D),
		tensors.FromFlatDataAndDimensions(k.output[l*D:(l+1)*D], 1, 1, D),
		attention,
	}
	defer free(inputs...)
	return m.termsOnCache(l, inputs[0], inputs[1], attention, s.cache.value(l), along)
}

// termsOnCache returns, given the directions after layer l, those before it, [P,1,D] both, and the
// parts of the layer's sources, [P,S]. input and output are the layer's input and attention output,
// [P,1,D], attention is [P,H,1,S], and value [P,G,S,E].
func (m *Model) termsOnCache(
	l int, input, output, attention, value, along *tensors.Tensor,
) ([]*tensors.Tensor, error) {
	length := tensors.FromScalar(int32(1)) // only a positive number is needed
	defer free(length)
	return m.run("terms on the cache", ofLayer(l), func(w byName, in []*Node) []*Node {
		t := m.termsOf(w, l, in)
		return []*Node{t.input.along, t.sources}
	}, length, input, output, attention, value, along)
}

// lastTensors is how many tensors [keptOf] gives.
const lastTensors = 4

// keptOf is what a layer did to the targets of a block, in the order of [latest.add]: its input,
// [B,N,D], attention output, [B,N,D], attention, [B,H,N,S], and output, [B,N,D].
func keptOf(b *Block) []*Node {
	return []*Node{b.Input, b.AttentionOutput, b.Attention, b.Output}
}

// keptAt is [keptOf] for one target of each text, N is 1; for at see [oneRow].
func keptAt(b *Block, at *Node) []*Node {
	all := keptOf(b)
	for i, x := range all {
		all[i] = oneRow(x, at)
	}
	return all
}

// add appends what [keptOf] collected of one target in one layer or, stacked, in all of them. Of
// the outputs only the last counts, [D].
func (k *latest) add(own []*tensors.Tensor, width int) error {
	k.final = k.final[:0]
	for i, to := range []*[]float32{&k.input, &k.output, &k.attention, &k.final} {
		if err := read(own[i], func(data []float32) { *to = append(*to, data...) }); err != nil {
			return err
		}
	}
	k.final = k.final[len(k.final)-width:]
	return nil
}

// RowsOfLayer returns the row of a mixing for the last token of the text in layer l alone, L and N
// are 1, from what the cache holds. It costs what the mixing costs in that layer, and a pass keeps
// what it needs if it keeps terms; see [Session.KeepTerms]. It returns an error without such a
// pass, for a layer or a mixing that does not exist, for heads that the mixing cannot fuse, and one
// that wraps ctx.Err().
func (s *Session) RowsOfLayer(
	ctx context.Context, l int, ask trace.MixingAsk,
) (trace.Rows, error) {
	if err := ctx.Err(); err != nil {
		return trace.Rows{}, fmt.Errorf("transformer: stopped before the row of token %d: %w",
			s.Length(), err)
	}
	if s.latest == nil || s.cache == nil {
		return trace.Rows{}, fmt.Errorf("transformer: no row of a single layer: " +
			"the session has to keep terms, and to read a text")
	}
	if l < 0 || l >= s.m.Spec.Layers {
		return trace.Rows{}, fmt.Errorf("transformer: layer %d is not in 0..%d", l,
			s.m.Spec.Layers-1)
	}
	mixes, err := s.m.mixings([]trace.MixingAsk{ask})
	if err != nil {
		return trace.Rows{}, err
	}
	ask.AllRows = false
	rows := emptyRows(s.m.Spec, ask, s.Length())
	rows.L, rows.Data = 1, rows.Data[:rows.H*rows.S]
	if err := s.rowOfLayer(l, ask, mixes[0], &rows); err != nil {
		return trace.Rows{}, fmt.Errorf("transformer: %s token %d, layer %d: %s: %w",
			s.m.Spec.Family, s.Length(), l, ask.Name, err)
	}
	return rows, nil
}

// rowOfLayer fills in the row of a mixing in layer l. The last token is a tile of one target over
// all slots of the cache, so that one graph serves until the cache grows.
func (s *Session) rowOfLayer(l int, ask trace.MixingAsk, mix Mixing, rows *trace.Rows) error {
	m, D := s.m, s.m.Spec.Width
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(s.latest.input[l*D:(l+1)*D], 1, 1, D),
		tensors.FromScalar(int32(s.Length() - 1)),
		tensors.FromScalar(int32(s.Length())),
	}
	defer free(inputs...)
	out, err := m.runTile(l, ask, mix,
		append(inputs[:len(inputs):len(inputs)], s.cache.of(l)...))
	if err != nil {
		return err
	}
	defer free(out)
	return putRows(rows, 0, out)
}

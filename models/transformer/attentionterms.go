package transformer

import (
	"context"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// latest is what the last pass of a session did to its last token, which [Session.Terms] reads.
type latest struct {
	// input and output are each layer's input and attention output, [L,D]; attention is [L,H,S]
	// for the S slots that the pass had. final is the residual stream after the last layer, [D].
	input, output, attention, final []float32
	// logits are [V].
	logits []float32
}

// KeepTerms makes every later pass keep what [Session.Terms] needs. It is called before
// [Session.Prompt].
func (s *Session) KeepTerms() { s.terms = true }

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
	out, err := s.sourceTerms(o)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s parts of token %d: %w", s.m.Spec.Family,
			s.Length(), err)
	}
	defer free(out...)
	layers, n := s.m.Spec.Layers, s.Length()
	terms := &trace.AttentionTerms{
		L: layers, S: n, Attention: make([]float64, 0, layers*n),
		Value: objectiveValue(s.m.Spec, o, s.latest.logits),
	}
	return terms, read(out[0], func(data []float32) { // [L,slots]
		for l := range layers {
			for _, x := range data[l*s.slots:][:n] {
				terms.Attention = append(terms.Attention, float64(x))
			}
		}
	})
}

// sourceTerms runs the graph of [Session.Terms], [L,slots].
func (s *Session) sourceTerms(o trace.Objective) ([]*tensors.Tensor, error) {
	m, k := s.m, s.latest
	L, H, D := m.Spec.Layers, m.Spec.Heads, m.Spec.Width
	attention, err := m.filled([]int{L, 1, H, 1, s.slots}, func(data []float32) {
		had := len(k.attention) / (L * H)
		for row := range L * H { // of sources that have a token; more slots or fewer are empty
			copy(data[row*s.slots:][:s.Length()], k.attention[row*had:(row+1)*had])
		}
	})
	if err != nil {
		return nil, err
	}
	ids, weights := askedScores(m.Spec, o)
	inputs := []*tensors.Tensor{
		tensors.FromScalar(int32(s.Length())),
		tensors.FromFlatDataAndDimensions(k.final, 1, 1, D),
		tensors.FromFlatDataAndDimensions(ids, len(ids)),
		tensors.FromFlatDataAndDimensions(weights, len(weights)),
		tensors.FromFlatDataAndDimensions(k.input, L, 1, 1, D),
		tensors.FromFlatDataAndDimensions(k.output, L, 1, 1, D),
		attention,
	}
	defer free(inputs...) // not the cache, which is added below
	own := len(inputs)
	for l := range L {
		inputs = append(inputs, s.cache.all[2*l+1])
	}
	return m.run("terms on the cache", allWeights, func(w byName, in []*Node) []*Node {
		d := m.builder(w, text{length: in[0]})
		return []*Node{d.sourceTerms(in[1:own], in[own:])}
	}, inputs...)
}

// sourceTerms builds the parts of a sum of logits that attention read for one target, [L,S], from
// the tensors of [latest] and the values of each layer, [1,G,S,E].
func (d *builder) sourceTerms(in, values []*Node) *Node {
	along := d.beforeHead(in[0], in[1], in[2]).along
	slice := func(x *Node, l int) *Node { return Squeeze(SliceAxis(x, 0, AxisRange(l, l+1)), 0) }
	terms := make([]*Node, d.spec.Layers)
	for l := d.spec.Layers - 1; l >= 0; l-- {
		b := &Block{
			Input: slice(in[3], l), AttentionOutput: slice(in[4], l),
			Attention: slice(in[5], l), sources: cache{value: values[l]},
			spec: d.spec, layer: l, product: d.product, w: d.w.in(ofLayer(l)),
		}
		t := b.termsAlong(along)
		terms[l], along = t.sources, t.input.along
	}
	return Stack(terms, 0)
}

// lastTensors is how many tensors [ofLast] gives.
const lastTensors = 4

// ofLast collects what a layer did to the last token of a text: its input, [1,1,D], attention
// output, [1,1,D], attention, [1,H,1,S], and output, [1,1,D].
func ofLast(d *builder, b *Block) []*Node {
	at := AddScalar(d.length, -1)
	return []*Node{
		oneRow(b.Input, at), oneRow(b.AttentionOutput, at), oneRow(b.Attention, at),
		oneRow(b.Output, at),
	}
}

// add appends what [ofLast] collected in one layer or, stacked, in all of them. Of the outputs
// only the last counts, [D].
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

package transformer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// lastToken is what a pass did to the last token of each of its P texts, which the backend keeps.
type lastToken struct {
	// input and output are each layer's input and attention output, [P,1,D]; attention is
	// [P,H,1,S]. final is the residual stream after the last layer, [P,1,D].
	input, output, attention []*tensors.Tensor
	final                    *tensors.Tensor
}

func (k *lastToken) free() {
	free(k.final)
	for _, all := range [][]*tensors.Tensor{k.input, k.output, k.attention} {
		free(all...)
	}
}

// latest is what the last pass of a session did to its last token, which [Session.Terms] and
// [Session.RowsOfLayer] read: P is 1 and S the slots of the cache.
type latest struct {
	lastToken
	logits []float32 // [V]
}

func (k *latest) free() {
	if k != nil {
		k.lastToken.free()
	}
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

// readTerms puts the terms, [L,S], into dst.
func (s *Session) readTerms(ctx context.Context, o trace.Objective, dst []float64) error {
	along, err := s.logitDirection(o)
	if err != nil {
		return err
	}
	n := s.Length()
	return s.m.termsOnCache(ctx, &s.latest.lastToken, s.cache.value, along,
		func(l int, parts []float32) { // [slots]
			for j := range n {
				dst[l*n+j] = float64(parts[j])
			}
		})
}

// logitDirection returns the direction on the residual stream after the last layer, [1,1,D].
func (s *Session) logitDirection(o trace.Objective) (*tensors.Tensor, error) {
	m := s.m
	ids, weights := askedScores(m.Spec, o)
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(ids, len(ids)),
		tensors.FromFlatDataAndDimensions(weights, len(weights)),
	}
	defer free(inputs...)
	return m.directionOnCache(s.latest.final, inputs[0], inputs[1])
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

// mostTermLayers is how many layers one graph of [Model.termsOnCache] takes. A call costs 0.15 to
// 0.4 ms whatever it computes, and XLA compiles a layer in 28 ms.
const mostTermLayers = 12

// termGraphs yields the layers, begin to end-1, of each graph of [Model.termsOnCache], from the
// last layer to the first. All have the same number of layers and share one compiled graph. The
// graph of the first layers may have fewer, and is then compiled apart.
func (m *Model) termGraphs(yield func(begin, end int) bool) {
	most := mostTermLayers
	if m.termsAtOnce > 0 {
		most = m.termsAtOnce
	}
	each := evenly(m.Spec.Layers, most)
	for end := m.Spec.Layers; end > 0; end -= each {
		if !yield(max(0, end-each), end) {
			return
		}
	}
}

// termsOnCache calls use with the parts of the sources of each layer, [P·S], from the last layer to
// the first. along are the directions after the last layer, [P,1,D], which it frees, and value
// returns the values of a layer, [P,G,S,E].
func (m *Model) termsOnCache(
	ctx context.Context, k *lastToken, value func(l int) *tensors.Tensor, along *tensors.Tensor,
	use func(l int, parts []float32),
) error {
	length := tensors.FromScalar(int32(1)) // only a positive number is needed
	defer func() { free(along, length) }()
	for begin, end := range m.termGraphs {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at layer %d on the way back: %w", end-1, err)
		}
		inputs := []*tensors.Tensor{length, along}
		for l := begin; l < end; l++ {
			inputs = append(inputs, k.attention[l], value(l))
			if normsOnTheWay(m.Spec) {
				inputs = append(inputs, k.input[l], k.output[l])
			}
		}
		out, err := m.execute(m.termsProgram(begin, end, along.Shape().Dimensions[0]), inputs...)
		if err != nil {
			return fmt.Errorf("layers %d to %d on the way back: %w", begin, end-1, err)
		}
		free(along)
		along = out[0]
		err = read(out[1], func(data []float32) {
			size := len(data) / (end - begin)
			for l := end - 1; l >= begin; l-- {
				use(l, data[(l-begin)*size:][:size])
			}
		})
		free(out[1])
		if err != nil {
			return err
		}
	}
	return nil
}

// normsOnTheWay reports whether the direction on the stream passes a norm within a layer, for which
// that layer's input and attention output have to be known.
func normsOnTheWay(s *spec.Spec) bool {
	return s.Order == spec.PostNorm || s.NormAfter || s.NormedResidual
}

// termsProgram is the graph that returns, given a positive number and the directions after layer
// end-1 for so many texts, those before layer begin, [P,1,D] both, and the parts of the sources of
// the layers between, [layers,P,S]. Its other inputs are, for each layer, its attention and values
// and, with [normsOnTheWay], its input and attention output. Every further input would cost 1.5 to
// 3 µs.
func (m *Model) termsProgram(begin, end, texts int) program {
	norms := normsOnTheWay(m.Spec)
	var weights []string
	columns := make([]bool, end-begin) // whether a layer's output projection is in codes by columns
	for l := begin; l < end; l++ {
		which, inCodes := ofLayer(l), byColumns+ofLayer(l)
		switch {
		case norms:
		case texts == 1 && len(m.weightsOf(inCodes).names) > 0:
			columns[l-begin] = true
			which += "output.bias " + inCodes
		default:
			which += "output."
		}
		weights = append(weights, which)
	}
	return program{
		fmt.Sprintf("terms of layers %v on the cache", columns), strings.Join(weights, " "),
		func(w byName, in []*Node) []*Node {
			each := 2 // inputs of a layer
			if norms {
				each = 4
			}
			length, along, parts := in[0], in[1], make([]*Node, end-begin)
			for l := end - 1; l >= begin; l-- {
				own := in[2+each*(l-begin):][:each]
				layer := targetNodes{attention: own[0], value: own[1]}
				if norms {
					layer.input, layer.output = own[2], own[3]
				}
				t := m.termsOf(w, l, length, layer, along)
				along, parts[l-begin] = t.input.along, t.sources
			}
			return []*Node{along, Stack(parts, 0)}
		},
	}
}

// lastTensors is how many tensors [keptAt] gives.
const lastTensors = 4

// keptOf is what a layer did to the targets of a block besides its output: its attention output,
// [B,N,D], and attention, [B,H,N,S].
func keptOf(b *Block) []*Node { return []*Node{b.AttentionOutput, b.Attention} }

// keptAt is what a layer did to one target of each text, in the order of [lastToken.add]: its
// input, [B,1,D], what [keptOf] gives, with N = 1, and its output, [B,1,D]. For at see [oneRow]; it
// is nil if the block has no other target.
func keptAt(b *Block, at *Node) []*Node {
	all := slices.Concat([]*Node{b.Input}, keptOf(b), []*Node{b.Output})
	if at == nil {
		return all
	}
	for i, x := range all {
		all[i] = oneRow(x, at)
	}
	return all
}

// add adds what [keptAt] returned of the next layer, which k frees from then on. Of the outputs
// only the last counts.
func (k *lastToken) add(own []*tensors.Tensor) {
	free(k.final)
	k.input, k.output = append(k.input, own[0]), append(k.output, own[1])
	k.attention, k.final = append(k.attention, own[2]), own[3]
}

// addFirst is add for a pass over the first n tokens of a text. Their attention, [1,H,1,S], gets
// the slots of the cache, so that what reads it has one graph.
func (k *latest) addFirst(m *Model, own []*tensors.Tensor, n, slots int) error {
	k.add(own)
	H, last := m.Spec.Heads, len(k.attention)-1
	passed := k.attention[last]
	defer free(passed)
	k.attention[last] = nil
	var failed error
	err := read(passed, func(had []float32) {
		k.attention[last], failed = m.filled([]int{1, H, 1, slots}, func(data []float32) {
			for h := range H {
				copy(data[h*slots:][:n], had[h*len(had)/H:])
			}
		})
	})
	return errors.Join(err, failed)
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
	at := []*tensors.Tensor{
		tensors.FromScalar(int32(s.Length() - 1)), tensors.FromScalar(int32(s.Length())),
	}
	defer free(at...)
	inputs := slices.Concat([]*tensors.Tensor{s.latest.input[l]}, at, s.cache.of(l))
	out, err := s.m.execute(s.m.tileProgram(l, ask, mix), inputs...)
	if err != nil {
		return err
	}
	defer free(out...)
	return putRows(rows, 0, out[0])
}

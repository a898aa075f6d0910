package transformer

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
)

// inputs are what all graphs of a pass get: the tokens of its texts. Every step of a pass runs in
// a graph of its own, so that the results of a layer are on the host, or freed, before the next
// layer begins; see [inputs.layers].
type inputs struct {
	m    *core
	kind inputKind
	// tensors are the ids [B,N], the length of the longest text, and the optional inputs of kind.
	tensors []*tensors.Tensor
	// edits are those of the pass, nil for none.
	edits *passEdits
}

// inputKind is which optional inputs there are, [B,N] each: token types, positions, and 1 for
// every slot that holds a token.
type inputKind struct{ types, positions, real bool }

// nodes makes the text of a graph from its inputs, and returns the inputs that are left.
func (k inputKind) nodes(in []*Node) (text, []*Node) {
	t := text{ids: in[0], length: in[1]}
	in = in[2:]
	for _, optional := range []struct {
		is bool
		to **Node
	}{{k.types, &t.types}, {k.positions, &t.positions}, {k.real, &t.real}} {
		if optional.is {
			*optional.to, in = in[0], in[1:]
		}
	}
	return t, in
}

// textInputs are the inputs of one text of tokens of type 0.
func (m *core) textInputs(ids []int) *inputs {
	return m.batchInputs(Batch{IDs: [][]int{ids}}, m.padded(len(ids)))
}

// batchInputs are the inputs of a batch, each text filled up to so many rows. They are [B,N] each,
// 0 in the padding. Padding on the right is not seen by a decoder's tokens, and the length hides it
// from an encoder in a single text, so only other padding, and a classifier that has to find the
// last token of each text, need marks of the real slots. Positions are the slots, unless some
// tokens take no position or the padding is on the left.
func (m *core) batchInputs(batch Batch, padded int) *inputs {
	n, longest := len(batch.IDs), batch.longest()
	ids, types := make([]int32, n*padded), make([]int32, n*padded)
	positions, real := make([]int32, n*padded), make([]float32, n*padded)
	for i, text := range batch.IDs {
		at := i*padded + batch.begin(i, longest)
		copy(positions[at:], tokenPositions(m.Spec, text, len(text)))
		for t, id := range text {
			ids[at+t], real[at+t] = int32(id), 1
			if batch.Types != nil {
				types[at+t] = int32(batch.Types[i][t])
			}
		}
	}
	t := &inputs{m: m, kind: inputKind{
		types:     batch.Types != nil,
		positions: batch.PadLeft || m.Spec.SkipPosition,
		real: n > 1 && (batch.PadLeft || m.Spec.Bidirectional ||
			m.Spec.Head == spec.ClassifierHead),
	}}
	t.tensors = []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(ids, n, padded),
		withBoundaries(m.Spec, longest, batch.IDs...),
	}
	// The tensors have the order in which inputKind.nodes takes them.
	if t.kind.types {
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(types, n, padded))
	}
	if t.kind.positions {
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(positions, n, padded))
	}
	if t.kind.real {
		t.tensors = append(t.tensors, tensors.FromFlatDataAndDimensions(real, n, padded))
	}
	return t
}

// run executes a graph over the texts. what names it, and which the weights that it gets, as in
// [Model.run].
func (f *inputs) run(what, which string, build func(d *builder, in []*Node) []*Node,
	more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	m, kind := f.m, f.kind // nothing else of this pass may stay in the graph
	inputs := append(append([]*tensors.Tensor(nil), f.tensors...), more...)
	return f.m.machine.run(fmt.Sprintf("%s %+v", what, kind), which, func(w byName, in []*Node) []*Node {
		of, rest := kind.nodes(in)
		return build(m.builder(w, of), rest)
	}, inputs...)
}

// embed returns the residual stream before block 0, [B,N,D].
func (f *inputs) embed() (*tensors.Tensor, error) {
	return only(f.run("embed", endsWeights, func(d *builder, _ []*Node) []*Node {
		return []*Node{d.embed()}
	}))
}

// end runs a graph over x, the residual stream after the last block, [B,N,D], with the weights
// outside the layers. what names the graph in its key.
func (f *inputs) end(x *tensors.Tensor, what string,
	of func(d *builder, x *Node, in []*Node) []*Node, more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	return f.run("end "+what, endsWeights, func(d *builder, in []*Node) []*Node {
		return of(d, in[0], in[1:])
	}, append([]*tensors.Tensor{x}, more...)...)
}

// scoresAt calls use with what the head computes at one position of each text, [K], from the
// residual stream x after the last block. It calls nothing for a model without a head.
func (f *inputs) scoresAt(x *tensors.Tensor, at []int, use func(i int, scores []float32)) error {
	if f.m.Spec.Head == spec.NoHead {
		return nil
	}
	positions := int32Tensor(at)
	defer free(positions)
	out, err := f.end(x, "scores", func(d *builder, x *Node, in []*Node) []*Node {
		return []*Node{d.headAt(x, in[0])}
	}, positions)
	if err != nil {
		return err
	}
	defer free(out...)
	return read(out[0], func(data []float32) {
		size := len(data) / len(at)
		for i := range at {
			use(i, data[i*size:(i+1)*size])
		}
	})
}

// tokenPositions returns the positions of ids, filled up to n: tokens with [spec.Spec.SkipID] are
// at -1 and do not count. Those of the target of two stacks begin at 0 again, and all count,
// because a target is also read token by token.
func tokenPositions(s *spec.Spec, ids []int, n int) []int32 {
	at := make([]int32, n)
	next, boundary := int32(0), boundaryOf(s, ids)
	for i, id := range ids {
		if s.Encoder > 0 && i == boundary {
			next = 0
		}
		if s.SkipPosition && id == s.SkipID && (s.Encoder == 0 || i < boundary) {
			at[i] = -1
			continue
		}
		at[i] = next
		next++
	}
	return at
}

// padded is how many rows are computed for n tokens: n rounded up where shapes are compiled, but
// not beyond the context.
func (m *core) padded(n int) int {
	padded := n
	if m.machine.promptStep > 1 {
		padded = bucket(n)
	}
	if m.Spec.Context > 0 && m.Spec.Encoder == 0 {
		padded = max(n, min(padded, m.Spec.Context))
	}
	return padded
}

// idle reports whether layer l leaves every token after a prompt as it is: those are tokens of the
// target, and the encoder works on the source.
func idleOnCache(s *spec.Spec, l int) bool { return s.Stack(l) == spec.Encoding }

// withBoundaries is an int32 number of a pass, followed by the boundary of each text in a model of
// two stacks, where it is a vector: graphs get the boundaries wherever they get that number.
func withBoundaries(s *spec.Spec, number int, texts ...[]int) *tensors.Tensor {
	if s.Encoder == 0 {
		return tensors.FromScalar(int32(number))
	}
	numbers := []int{number}
	for _, ids := range texts {
		numbers = append(numbers, boundaryOf(s, ids))
	}
	return int32Tensor(numbers)
}

// embedded returns the residual stream before block 0, [B,N,D], for rows of the embedding,
// [B,N,W].
func (f *inputs) embedded(rows *tensors.Tensor) (*tensors.Tensor, error) {
	return only(f.run("embedded", endsWeights, func(d *builder, in []*Node) []*Node {
		return []*Node{copyOfInput(d.embedded(in[0]), in[0])}
	}, rows))
}

// rows returns the rows of the embedding, [B,N,W].
func (f *inputs) rows() (*tensors.Tensor, error) {
	return only(f.run("rows", endsWeights, func(d *builder, _ []*Node) []*Node {
		return []*Node{d.rows()}
	}))
}

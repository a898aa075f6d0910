package run

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Inputs are what all graphs of a pass get: the tokens of its texts. Every step of a pass runs in
// a graph of its own, so that the results of a layer are on the host, or freed, before the next
// layer begins; see [Inputs.Layers].
type Inputs struct {
	m    *Model
	kind inputKind
	// tensors are the ids [B,N], the length of the longest text, and the optional inputs of kind.
	tensors []*tensors.Tensor
	// Edits are those of the pass, nil for none.
	Edits *edit.Pass
}

// inputKind is which optional inputs there are, [B,N] each: token types, positions, and 1 for
// every slot that holds a token.
type inputKind struct{ types, positions, real bool }

// nodes makes the text of a graph from its inputs, and returns the inputs that are left.
func (k inputKind) nodes(in []*Node) (graph.Text, []*Node) {
	t := graph.Text{IDs: in[0], Length: in[1]}
	in = in[2:]
	for _, optional := range []struct {
		is bool
		to **Node
	}{{k.types, &t.Types}, {k.positions, &t.Positions}, {k.real, &t.Real}} {
		if optional.is {
			*optional.to, in = in[0], in[1:]
		}
	}
	return t, in
}

// TextInputs are the inputs of one text of tokens of type 0.
func (m *Model) TextInputs(ids []int) *Inputs {
	return m.BatchInputs(Batch{IDs: [][]int{ids}}, m.Padded(len(ids)))
}

// BatchInputs are the inputs of a batch, each text filled up to so many rows. They are [B,N] each,
// 0 in the padding. Padding on the right is not seen by a decoder's tokens, and the length hides it
// from an encoder in a single text, so only other padding, and a classifier that has to find the
// last token of each text, need marks of the real slots. Positions are the slots, unless some
// tokens take no position or the padding is on the left.
func (m *Model) BatchInputs(batch Batch, padded int) *Inputs {
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
	t := &Inputs{m: m, kind: inputKind{
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

// Run executes a graph over the texts. what names it, and which the weights that it gets, as in
// [program.Machine.Run].
func (f *Inputs) Run(what, which string, build func(d *graph.Builder, in []*Node) []*Node,
	more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	m, kind := f.m, f.kind // nothing else of this pass may stay in the graph
	inputs := append(append([]*tensors.Tensor(nil), f.tensors...), more...)
	return f.m.Machine.Run(fmt.Sprintf("%s %+v", what, kind), which,
		func(w codes.Weights, in []*Node) []*Node {
			of, rest := kind.nodes(in)
			return build(m.Builder(w, of), rest)
		}, inputs...)
}

// Embed returns the residual stream before block 0, [B,N,D].
func (f *Inputs) Embed() (*tensors.Tensor, error) {
	return host.Only(f.Run("embed", codes.EndsWeights, func(d *graph.Builder, _ []*Node) []*Node {
		return []*Node{d.Embed()}
	}))
}

// End runs a graph over x, the residual stream after the last block, [B,N,D], with the weights
// outside the layers. what names the graph in its key.
func (f *Inputs) End(x *tensors.Tensor, what string,
	of func(d *graph.Builder, x *Node, in []*Node) []*Node, more ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	return f.Run("end "+what, codes.EndsWeights, func(d *graph.Builder, in []*Node) []*Node {
		return of(d, in[0], in[1:])
	}, append([]*tensors.Tensor{x}, more...)...)
}

// ScoresAt calls use with what the head computes at one position of each text, [K], from the
// residual stream x after the last block. It calls nothing for a model without a head.
func (f *Inputs) ScoresAt(x *tensors.Tensor, at []int, use func(i int, scores []float32)) error {
	if f.m.Spec.Head == spec.NoHead {
		return nil
	}
	positions := host.Int32Tensor(at)
	defer host.Free(positions)
	out, err := f.End(x, "scores", func(d *graph.Builder, x *Node, in []*Node) []*Node {
		return []*Node{d.HeadAt(x, in[0])}
	}, positions)
	if err != nil {
		return err
	}
	defer host.Free(out...)
	return host.Read(out[0], func(data []float32) {
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
	next, boundary := int32(0), graph.BoundaryOf(s, ids)
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

// Padded is how many rows are computed for n tokens: n rounded up where shapes are compiled, but
// not beyond the context.
func (m *Model) Padded(n int) int {
	padded := n
	if m.Machine.PromptStep > 1 {
		padded = host.Bucket(n)
	}
	if m.Spec.Context > 0 && m.Spec.Encoder == 0 {
		padded = max(n, min(padded, m.Spec.Context))
	}
	return padded
}

// idleOnCache reports whether layer l leaves every token after a prompt as it is: those are tokens
// of the target, and the encoder works on the source.
func idleOnCache(s *spec.Spec, l int) bool { return s.Stack(l) == spec.Encoding }

// withBoundaries is an int32 number of a pass, followed by the boundary of each text in a model of
// two stacks, where it is a vector: graphs get the boundaries wherever they get that number.
func withBoundaries(s *spec.Spec, number int, texts ...[]int) *tensors.Tensor {
	if s.Encoder == 0 {
		return tensors.FromScalar(int32(number))
	}
	numbers := []int{number}
	for _, ids := range texts {
		numbers = append(numbers, graph.BoundaryOf(s, ids))
	}
	return host.Int32Tensor(numbers)
}

// Embedded returns the residual stream before block 0, [B,N,D], for rows of the embedding,
// [B,N,W].
func (f *Inputs) Embedded(rows *tensors.Tensor) (*tensors.Tensor, error) {
	return host.Only(f.Run("embedded", codes.EndsWeights,
		func(d *graph.Builder, in []*Node) []*Node {
			return []*Node{graph.CopyOfInput(d.Embedded(in[0]), in[0])}
		}, rows))
}

// Rows returns the rows of the embedding, [B,N,W].
func (f *Inputs) Rows() (*tensors.Tensor, error) {
	return host.Only(f.Run("rows", codes.EndsWeights, func(d *graph.Builder, _ []*Node) []*Node {
		return []*Node{d.Rows()}
	}))
}

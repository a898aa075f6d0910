package ask

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Gradients implements [transformer.Model.Gradients].
func Gradients(ctx context.Context, m *run.Model, queries []trace.Query, rule trace.Backward) (
	[]trace.Gradient, error,
) {
	return GradientsIn(ctx, m, queries, rule, Batching{})
}

// GradientsIn implements [transformer.Model.GradientsIn].
func GradientsIn(ctx context.Context, m *run.Model, queries []trace.Query, rule trace.Backward,
	how Batching,
) ([]trace.Gradient, error) {
	if rule < trace.TrueGradient || rule > trace.WithTaps {
		return nil, pkg.Errorf("there is no rule %d of differentiation", rule)
	}
	for i, q := range queries {
		if q.Quantity == trace.Margin {
			return nil, pkg.Errorf("query %d asks for the gradient of the %s; "+
				"take one of %v", i, q.Quantity, trace.Quantities())
		}
	}
	var taps []trace.Tap
	if rule == trace.WithTaps {
		taps = trace.GradientTaps()
	}
	gradients, answered := make([]trace.Gradient, len(queries)), 0
	edits := editsOf(queries)
	batches, err := queryBatches(m, queries, how, func(tokens, texts int) run.Need {
		return run.Need{
			Tokens: tokens, Texts: texts, Head: true, Gradient: true,
			AttentionGradient: rule == trace.WithAttention, Taps: taps, Edits: edits,
		}
	})
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		w := backwardPass{queryBatch: b, rule: rule, gradients: gradients}
		err := w.run(ctx)
		host.Free(w.hidden...)
		if err != nil {
			return nil, pkg.Errorf("%s gradient of %d texts of up to %d tokens: %w",
				m.Spec.Family, len(b.at), b.longest, err)
		}
		if answered += len(b.at); how.Done != nil {
			how.Done(answered)
		}
	}
	return gradients, nil
}

// backwardPass is a batch that goes through the layers and back.
type backwardPass struct {
	queryBatch
	rule trace.Backward
	// hidden are the rows of the embedding, [B,N,W], and the residual stream before each layer and
	// after the last one, [B,N,D]. The way back takes them from the end.
	hidden    []*tensors.Tensor
	gradients []trace.Gradient
}

// run computes the derivative of each text's number f by the chain rule, from the scores z of the
// head back to the rows e of the embedding:
//
//	∂f/∂x_L = ∂f/∂z · ∂z/∂x_L,  ∂f/∂x_l = ∂f/∂x_{l+1} · ∂x_{l+1}/∂x_l,  ∂f/∂e = ∂f/∂x_0 · ∂x_0/∂e
//
// ∂f/∂z is computed on the host in float64. Each further step is one graph, which differentiates
// the sum over all entries of its output times what came from above: the product with the
// transposed Jacobian, without the Jacobian. The texts of a batch do not depend on each other, so
// one sum serves all of them.
func (w *backwardPass) run(ctx context.Context) error {
	if err := w.forward(ctx); err != nil {
		return err
	}
	d, err := w.fromHead()
	if err != nil {
		return err
	}
	if d, err = w.inputs.Edits.StreamBack(w.m.Spec.Layers, d); err != nil {
		return err
	}
	if d, err = w.m.LayersBack(ctx, d, w.layer); err != nil {
		return err
	}
	last := d
	defer host.Free(last)
	d, err = w.derived("embedding", codes.EndsWeights,
		func(b *graph.Builder, x *Node, in []*Node) *Node {
			return ReduceAllSum(Mul(b.Embedded(x), in[0]))
		}, d)
	if err != nil {
		return err
	}
	defer host.Free(d)
	return w.keep(d)
}

// fromHead is the derivative with respect to the stream after the last layer, the last of hidden.
func (w *backwardPass) fromHead() (*tensors.Tensor, error) {
	slopes, err := w.slopes()
	if err != nil {
		return nil, err
	}
	defer host.Free(slopes)
	return w.derived("scores", codes.EndsWeights,
		func(b *graph.Builder, x *Node, in []*Node) *Node {
			return ReduceAllSum(Mul(b.HeadAt(x, in[0]), in[1]))
		}, host.Int32Tensor(w.positions()), slopes)
}

// forward runs the batch through all layers and fills in hidden.
func (w *backwardPass) forward(ctx context.Context) (err error) {
	if w.inputs.Edits, err = w.m.WholeTexts(w.batch, w.padded); err != nil {
		return err
	}
	// The query's own rows, as integrated gradients bring them, or those of its ids.
	rows, err := w.embeddings()
	if rows == nil && err == nil {
		rows, err = w.inputs.Rows()
	}
	if err != nil {
		return err
	}
	w.hidden = append(w.hidden, rows)
	x, err := w.inputs.Embedded(rows)
	if err != nil {
		return err
	}
	return w.through(ctx, x)
}

// through runs the stream x before layer 0 through all layers and adds to hidden.
func (w *backwardPass) through(ctx context.Context, x *tensors.Tensor) error {
	for step, err := range w.inputs.Layers(ctx, x, "", nil) {
		if err != nil {
			return err
		}
		// Without nil the loop would free it; the way back does.
		w.hidden = append(w.hidden, step.In)
		x, step.In = step.Out, nil
	}
	w.hidden = append(w.hidden, x)
	return nil
}

// slopes fills in the value of each query, and returns its derivative with respect to the scores at
// its position, [B,K]. It is 0 for queries that only fill the batch up.
func (w *backwardPass) slopes() (*tensors.Tensor, error) {
	var slopes []float32
	x := w.hidden[len(w.hidden)-1]
	err := w.inputs.ScoresAt(x, w.positions(), func(i int, scores []float32) {
		d := make([]float32, len(scores))
		if i < len(w.at) {
			o := w.queries[i].Objective
			w.gradients[w.at[i]].Value = logit.ObjectiveValue(w.m.Spec, o, scores)
			logit.ObjectiveSlope(w.m.Spec, o, scores, d)
		}
		slopes = append(slopes, d...)
	})
	for i, at := range w.at {
		if err == nil {
			err = w.checkEdited(i, w.gradients[at].Value)
		}
	}
	if err != nil {
		return nil, err
	}
	return tensors.FromFlatDataAndDimensions(slopes, len(w.queries),
		len(slopes)/len(w.queries)), nil
}

// pop removes the last of hidden and returns it.
func (w *backwardPass) pop() *tensors.Tensor {
	x := w.hidden[len(w.hidden)-1]
	w.hidden = w.hidden[:len(w.hidden)-1]
	return x
}

// derived returns the derivative, with respect to the last of hidden, of the number that of builds
// from it, and frees that hidden state.
func (w *backwardPass) derived(what, which string,
	of func(d *graph.Builder, x *Node, in []*Node) *Node,
	more ...*tensors.Tensor,
) (*tensors.Tensor, error) {
	x := w.pop()
	defer host.Free(x)
	rule := w.rule
	return host.Only(w.inputs.Run(fmt.Sprintf("back %d %s", rule, what), which,
		func(d *graph.Builder, in []*Node) []*Node {
			d.Differentiate(rule)
			return Gradient(of(d, in[0], in[1:]), in[0])
		}, append([]*tensors.Tensor{x}, more...)...))
}

// layer takes the derivative with respect to the residual stream after layer l to that before it.
// The layer is computed again, because its intermediate results were not kept. The attention's
// derivative is that of f with respect to the probabilities, as if they could be changed one by
// one.
func (w *backwardPass) layer(l int, after *tensors.Tensor) (*tensors.Tensor, error) {
	x, rule := w.pop(), w.rule
	defer host.Free(x)
	edited, edits, err := w.inputs.Edits.Layer(l)
	if err != nil {
		return nil, err
	}
	defer host.Free(edits...)
	key := fmt.Sprintf("back %d %s%s", rule, graph.LayerKind(w.m.Spec, l), edit.Key(edited))
	out, err := w.inputs.Run(key, codes.OfLayer(l),
		func(d *graph.Builder, in []*Node) []*Node {
			in, d.Edits = graph.CutEdits(in, edited)
			d.Differentiate(rule)
			at := []*Node{in[0]}
			if rule == trace.WithTaps {
				at = append(at, w.addZeros(d, in[0])...)
			}
			b, _ := d.Block(l, in[0])
			value := ReduceAllSum(Mul(b.Output, in[1]))
			if rule != trace.WithAttention {
				return Gradient(value, at...)
			}
			by := Gradient(value, in[0], b.Attention)
			// A source that a target cannot see has attention 0 in every text. Autodiff gives that
			// entry a derivative too, which means nothing and is left out.
			return []*Node{by[0], b.Attention, Mul(by[1], graph.VisibleTo(b))}
		}, append([]*tensors.Tensor{x, after}, edits...)...)
	if err != nil {
		return nil, err
	}
	defer host.Free(out[1:]...)
	switch rule {
	case trace.WithAttention:
		err = w.keepAttention(l, out[1], out[2])
	case trace.WithTaps:
		err = w.keepTaps(l, out)
	}
	if err != nil {
		return out[0], err
	}
	return w.inputs.Edits.StreamBack(l, out[0])
}

// addZeros adds zeros to the taps of [trace.GradientTaps] inside a block on x, [B,N,D], as edits,
// and returns them: the derivative with respect to what is added is that with respect to the tap.
func (w *backwardPass) addZeros(d *graph.Builder, x *Node) (zeros []*Node) {
	if d.Edits == nil {
		d.Edits = map[trace.Tap]graph.EditNodes{}
	}
	for _, tap := range trace.GradientTaps()[1:] {
		dims := slices.Clone(x.Shape().Dimensions)
		rows, width := edit.Axes(w.m.Spec, tap)
		if rows > 0 {
			dims = slices.Insert(dims, 1, rows)
		}
		of := func(n int) shapes.Shape {
			dims[len(dims)-1] = n
			return shapes.Make(x.DType(), dims...)
		}
		e := graph.EditNodes{Keep: Ones(x.Graph(), of(1)), Value: Zeros(x.Graph(), of(width))}
		zeros = append(zeros, e.Value)
		if edit, ok := d.Edits[tap]; ok {
			e = graph.EditNodes{Keep: edit.Keep, Value: Add(edit.Value, e.Value)}
		}
		d.Edits[tap] = e
	}
	return zeros
}

// keepAttention copies the attention of layer l and its derivative, [B,H,N,S] each, without
// padding. A text of n tokens keeps [L,H,n,n], which is filled from the last layer to the first.
func (w *backwardPass) keepAttention(l int, attention, derivative *tensors.Tensor) error {
	for _, part := range []struct {
		from *tensors.Tensor
		to   func(g *trace.Gradient) *[]float32
	}{
		{attention, func(g *trace.Gradient) *[]float32 { return &g.Attention }},
		{derivative, func(g *trace.Gradient) *[]float32 { return &g.AttentionData }},
	} {
		dims := part.from.Shape().Dimensions[1:]
		err := host.Read(part.from, func(data []float32) {
			size := len(data) / len(w.queries)
			for i, at := range w.at {
				n := len(w.queries[i].IDs)
				to, kept := part.to(&w.gradients[at]), dims[0]*n*n
				if *to == nil {
					*to = make([]float32, w.m.Spec.Layers*kept)
				}
				run.Cut((*to)[l*kept:(l+1)*kept], data[i*size:(i+1)*size], dims, []int{0, 0, 0},
					[]int{dims[0], n, n})
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keepTaps copies the derivatives with respect to taps in layer l, each [B,N,D] or [B,H,N,E],
// without padding.
func (w *backwardPass) keepTaps(l int, derivatives []*tensors.Tensor) error {
	for k, part := range derivatives {
		dims := part.Shape().Dimensions[1:]
		err := host.Read(part, func(data []float32) {
			size := len(data) / len(w.queries)
			for i, at := range w.at {
				keep, kept := slices.Clone(dims), 1
				keep[len(keep)-2] = len(w.queries[i].IDs)
				for _, n := range keep {
					kept *= n
				}
				g := &w.gradients[at]
				if len(g.Taps) == k {
					tap := trace.GradientTaps()[k]
					g.Taps = append(g.Taps, trace.Tensor{
						Name: string(tap), Axes: graph.Taps[tap].Axes,
						Shape: append([]int{w.m.Spec.Layers}, keep...),
						Data:  make([]float32, w.m.Spec.Layers*kept),
					})
				}
				run.Cut(g.Taps[k].Data[l*kept:], data[i*size:(i+1)*size], dims,
					make([]int, len(dims)), keep)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep copies the derivative with respect to the embedding, [B,N,W], without padding.
func (w *backwardPass) keep(derivative *tensors.Tensor) error {
	width := w.m.Spec.Embedded()
	return host.Read(derivative, func(data []float32) {
		for i, at := range w.at {
			n := len(w.queries[i].IDs)
			w.gradients[at].Data = append([]float32(nil),
				data[i*w.padded*width:(i*w.padded+n)*width]...)
		}
	})
}

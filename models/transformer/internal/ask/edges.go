package ask

import (
	"context"
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// EdgeGraph implements [transformer.Model.EdgeGraph].
func EdgeGraph(s *spec.Spec) (trace.EdgeGraph, error) {
	s, why := s, ""
	switch {
	case s.Encoder > 0:
		why = "it has two stacks"
	case s.Order == spec.PostNorm:
		why = "its blocks normalise the residual stream after each addition"
	case s.NormedResidual:
		why = "its blocks add to a normalised residual stream"
	}
	if why != "" {
		return trace.EdgeGraph{}, trace.Usagef("edges of the %s model: %s, so its residual stream "+
			"is no sum of what heads and feed-forward parts add; patch another kind of place",
			s.Family, why)
	}
	return trace.EdgeGraph{
		Layers: s.Layers, Heads: s.Heads, Parallel: s.Order == spec.Parallel,
	}, nil
}

// edgeRuns are two runs whose edges are patched. Memory: change has U·N·D numbers, sent as many,
// and the streams 2L·N·D; a pass over the layers adds two arrays of the size of change, and a layer
// a stream for each of its 3H+1 receivers. [transformer.Model.PatchEdges] checks that they fit.
type edgeRuns struct {
	m *run.Model
	g trace.EdgeGraph
	// query is the clean one, of T tokens in N rows.
	query queryBatch
	kept  []*tensors.Tensor // all that Close frees
	// start is the stream of the clean run before layer 0, [1,N,D].
	start *tensors.Tensor
	// Of the corrupted run: streams is the residual stream before each layer and after the last
	// one, [L+1] of [1,N,D], middles what the feed-forward part of each layer reads, [L] of
	// [1,N,D], and sent what the senders of each layer add, [L] of [H+1,N,D].
	streams, middles, sent []*tensors.Tensor
	// change is what each sender adds in the clean run minus what it adds in the corrupted one,
	// [U,N,D].
	change *tensors.Tensor
}

// edgeRows is a number of rows that the rows of a text are rounded up to.
const edgeRows = 8

// PatchEdges implements [transformer.Model.PatchEdges].
func PatchEdges(ctx context.Context, m *run.Model, clean, corrupted []int, edits []trace.Edit,
	o trace.Objective,
) (trace.EdgeRuns, error) {
	g, err := EdgeGraph(m.Spec)
	if err == nil {
		err = trace.CheckEdgeEdits(edits)
	}
	if err != nil {
		return nil, err
	}
	if len(clean) != len(corrupted) {
		return nil, pkg.Errorf("edges between %d and %d tokens; want as many", len(clean),
			len(corrupted))
	}
	e := &edgeRuns{m: m, g: g}
	queries := []trace.Query{
		{IDs: clean, Edits: edits, Objective: o}, {IDs: corrupted, Edits: edits, Objective: o},
	}
	for _, q := range queries {
		if err := checkQuery(m.Spec, q); err != nil {
			return nil, err
		}
	}
	n := run.Need{
		Tokens: len(clean), Head: true, Gradient: true, Edges: true, Edits: [][]trace.Edit{edits},
	}
	if err := m.CheckMemory(n); err != nil {
		return nil, err
	}
	changes, err := e.record(ctx, queries)
	if err == nil {
		e.change, err = e.keep(m.Machine.Filled([]int{g.Senders(), e.query.padded, m.Spec.Width},
			func(data []float32) { copy(data, changes) }))
	}
	if err != nil {
		e.Close()
		return nil, pkg.Errorf("edges of %d tokens: %w", len(clean), err)
	}
	return e, nil
}

// Close implements [trace.EdgeRuns].
func (e *edgeRuns) Close() {
	host.Free(e.kept...)
	e.kept = nil
}

// keep keeps a tensor until Close.
func (e *edgeRuns) keep(t *tensors.Tensor, err error) (*tensors.Tensor, error) {
	if err == nil {
		e.kept = append(e.kept, t)
	}
	return t, err
}

// record runs the corrupted and then the clean query. It returns what each sender adds in the clean
// run minus what it adds in the corrupted one, [U,N,D].
func (e *edgeRuns) record(
	ctx context.Context, queries []trace.Query,
) (change []float32, err error) {
	for _, i := range []int{1, 0} {
		q := batchOf(e.m, queries, []int{i}, Batching{Texts: 1})
		// A row costs as much as H of another pass, so fewer are padding.
		q.padded = min(q.padded, host.RoundUp(q.longest, edgeRows))
		q.inputs = e.m.BatchInputs(q.batch, q.padded)
		if q.inputs.Edits, err = e.m.WholeTexts(q.batch, q.padded); err != nil {
			return nil, err
		}
		e.query = q
		at := 0
		add := func(t *tensors.Tensor) error {
			return host.Read(t, func(data []float32) {
				for _, x := range data {
					if i == 1 {
						change = append(change, -x)
					} else {
						change[at] += x
					}
					at++
				}
			})
		}
		x, err := q.inputs.Embed()
		if err == nil {
			err = add(x)
		}
		if err != nil {
			return nil, err
		}
		for step, err := range q.inputs.Layers(ctx, x, "edges", sentBy) {
			if err == nil {
				err = add(step.Collected[0])
			}
			if err != nil {
				return nil, err
			}
			x = step.Out
			switch { // what is kept is freed by Close
			case i == 1:
				e.streams = append(e.streams, step.In)
				e.sent = append(e.sent, step.Collected[0])
				e.middles = append(e.middles, step.Collected[1])
				e.kept = append(append(e.kept, step.In), step.Collected...)
				step.In, step.Collected = nil, nil
			case step.Layer == 0:
				e.start, e.kept, step.In = step.In, append(e.kept, step.In), nil
			}
		}
		if e.kept = append(e.kept, x); i == 1 {
			e.streams = append(e.streams, x)
		}
	}
	return change, nil
}

// sentBy are what the senders of a layer add, [H+1,N,D], and what its feed-forward part reads.
func sentBy(_ *graph.Builder, b *graph.Block, _ graph.Cache, _ []*Node) []*Node {
	middle := beforeFeedForward(b, b.Input)
	return []*Node{joinSent(b, feedForwardAdded(b, middle)), middle}
}

// joinSent joins what the heads add, and the feed-forward part added [1,N,D], to [H+1,N,D].
func joinSent(b *graph.Block, added *Node) *Node {
	return Concatenate([]*Node{Squeeze(graph.HeadsAdded(b), 0), added}, 0)
}

// beforeFeedForward is the stream that the feed-forward part reads, given that before the block,
// [B,N,D].
func beforeFeedForward(b *graph.Block, x *Node) *Node {
	if graph.LayerOf(b).Spec.Order == spec.Parallel {
		return x
	}
	return withAttention(b, x)
}

// withAttention is the stream x before the block with what the attention adds, [B,N,D].
func withAttention(b *graph.Block, x *Node) *Node {
	l := graph.LayerOf(b)
	if l.Spec.Order == spec.Parallel {
		return Add(x, b.AttentionOutput)
	}
	return Add(x, l.Norm(b.AttentionOutput, "attention-after-norm"))
}

// feedForwardAdded is what the feed-forward part adds to the residual stream where it reads x,
// [B,N,D].
func feedForwardAdded(b *graph.Block, x *Node) *Node {
	l := graph.LayerOf(b)
	added := func(u *Node) *Node { return l.Edited(trace.FeedForwardOutput, l.MLP(u)) }
	if l.Spec.Order != spec.Parallel {
		return l.Norm(added(l.Norm(x, "mlp-norm")), "mlp-after-norm")
	}
	return added(l.Norm(x, l.ParallelNorm()))
}

// product2 is x [R,K] times y [K,M].
func product2(d *graph.Builder, x, y *Node) *Node { return d.Product.Dot(x, 1, y, 0) }

// headShape is that of a stream x [1,N,D] for each of n receivers, [n,N,D].
func headShape(n int, x *Node) shapes.Shape {
	dims := x.Shape().Dimensions
	return shapes.Make(x.DType(), n, dims[1], dims[2])
}

// flat is x [R,N,D] as [R,ND].
func flat(x *Node) *Node { return Reshape(x, x.Shape().Dimensions[0], -1) }

// Scores implements [trace.EdgeRuns]: edge attribution patching with integrated gradients (EAP-IG,
// Hanna et al. 2024; k counts from 1, as in the paper, while the code of its authors counts from
// 0). One step is edge attribution patching (Syed et al. 2023, arXiv 2310.10348). Each step costs a
// gradient in which the projections of every head are computed apart.
func (e *edgeRuns) Scores(ctx context.Context, steps int) ([]float64, error) {
	if steps < 1 {
		return nil, pkg.Errorf("%d steps; want 1 or more", steps)
	}
	scores := make([]float64, e.g.Receivers()*e.g.Senders())
	for k := 1; k <= steps; k++ {
		x, err := e.between(float32(k) / float32(steps))
		if err == nil {
			err = e.addScores(ctx, x, 1/float64(steps), scores)
		}
		if err != nil {
			return nil, pkg.Errorf("step %d of the scores of edges: %w", k, err)
		}
	}
	return scores, nil
}

// between is the stream before layer 0 at a part of the way from the corrupted to the clean run.
func (e *edgeRuns) between(part float32) (*tensors.Tensor, error) {
	share := tensors.FromScalar(part)
	defer host.Free(share)
	return host.Only(e.m.Machine.Run("edges between", codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			return []*Node{Add(in[0], Mul(in[2], Sub(in[1], in[0])))}
		}, e.streams[0], e.start, share))
}

// addScores adds a share of the scores by the gradient of the run from x, the stream before layer
// 0, which it frees.
func (e *edgeRuns) addScores(ctx context.Context, x *tensors.Tensor, share float64,
	scores []float64,
) error {
	w := backwardPass{queryBatch: e.query, gradients: make([]trace.Gradient, 1)}
	defer func() { host.Free(w.hidden...) }()
	if err := w.through(ctx, x); err != nil {
		return err
	}
	d, err := w.fromHead()
	if err != nil {
		return err
	}
	add := func(first int, t *tensors.Tensor) error {
		defer host.Free(t)
		return host.Read(t, func(data []float32) {
			u := e.g.Senders()
			for i, x := range data {
				if v := first + i/u; i%u < e.g.Reads(v) {
					scores[v*u+i%u] += share * float64(x)
				}
			}
		})
	}
	atEnd, err := host.Only(e.m.Machine.Run("edges of the logits", codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			return []*Node{ReduceSum(Mul(flat(in[0]), flat(in[1])), -1)}
		}, d, e.change))
	if err == nil {
		err = add(e.g.Receivers()-1, atEnd)
	}
	if err != nil {
		host.Free(d)
		return err
	}
	d, err = e.m.LayersBack(ctx, d, func(l int, after *tensors.Tensor) (*tensors.Tensor, error) {
		x := w.pop()
		defer host.Free(x)
		out, err := e.layer("edges back ", l, func(d *graph.Builder, in []*Node) []*Node {
			return edgeScores(d, l, in[0], in[1], in[2])
		}, x, after, e.change)
		if err != nil {
			return nil, err
		}
		return out[0], add(l*(3*e.g.Heads+1), out[1])
	})
	host.Free(d)
	return err
}

// layer runs a graph of layer l under the edits.
func (e *edgeRuns) layer(what string, l int, of func(d *graph.Builder, in []*Node) []*Node,
	in ...*tensors.Tensor,
) ([]*tensors.Tensor, error) {
	edited, edits, err := e.query.inputs.Edits.Layer(l)
	if err != nil {
		return nil, err
	}
	defer host.Free(edits...)
	return e.query.inputs.Run(what+graph.LayerKind(e.m.Spec, l)+edit.Key(edited),
		codes.OfLayer(l),
		func(d *graph.Builder, in []*Node) []*Node {
			in, d.Edits = graph.CutEdits(in, edited)
			return of(d, in)
		}, append(in, edits...)...)
}

// edgeScores returns the derivative of a number with respect to the stream x before layer l, given
// that with respect to the stream after it, [1,N,D] each, and the product of the derivative with
// respect to what each receiver of the layer reads with change [U,N,D]: [3H+1,U].
func edgeScores(d *graph.Builder, l int, x, after, change *Node) []*Node {
	d.Differentiate(trace.TrueGradient)
	dims := x.Shape().Dimensions
	at := []*Node{x}
	for range 3 {
		at = append(at, Zeros(x.Graph(), headShape(d.Spec.Heads, x)))
	}
	at = append(at, ZerosLike(x))
	b := d.HeadBlock(l, Add(x, at[1]), Add(x, at[2]), Add(x, at[3]))
	added := feedForwardAdded(b, Add(beforeFeedForward(b, x), at[4]))
	value := ReduceAllSum(Mul(Add(withAttention(b, x), added), after))
	g := Gradient(value, at...)
	rows := Reshape(Concatenate(g[1:], 0), -1, dims[1]*dims[2])
	return []*Node{g[0], d.Product.Dot(rows, 1, flat(change), 1)}
}

// Run implements [trace.EdgeRuns]. Every receiver reads what it reads in the corrupted run, and of
// every sender whose edge is kept what that adds now minus what it adds there. Senders come before
// their receivers, so one pass over the layers computes them all. A run of all edges is the clean
// run, and one of none the corrupted run.
func (e *edgeRuns) Run(ctx context.Context, keep []bool) (value float64, err error) {
	u, heads := e.g.Senders(), e.g.Heads
	if len(keep) != u*e.g.Receivers() {
		return 0, pkg.Errorf("%d marks of edges; want %d", len(keep), u*e.g.Receivers())
	}
	// mask returns 1 for the edges that n receivers keep, [n,U].
	mask := func(first, n int) (*tensors.Tensor, error) {
		return e.m.Machine.Filled([]int{n, u}, func(data []float32) {
			for i := range data {
				if data[i] = 0; i%u < e.g.Reads(first+i/u) && keep[first*u+i] {
					data[i] = 1
				}
			}
		})
	}
	delta, err := e.onlyInput()
	if err != nil {
		return 0, err
	}
	defer func() { host.Free(delta) }()
	for l := range e.g.Layers {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("stopped at layer %d: %w", l, err)
		}
		receiver, sender := l*(3*heads+1), 1+l*(heads+1)
		kept, err := mask(receiver, 3*heads+1)
		if err != nil {
			return 0, err
		}
		place := make([]float32, u*(heads+1))
		for i := range heads + 1 {
			place[(sender+i)*(heads+1)+i] = 1
		}
		at := tensors.FromFlatDataAndDimensions(place, u, heads+1)
		keep := func(d *graph.Builder, in []*Node) []*Node { return []*Node{edgesKept(d, l, in)} }
		next, err := host.Only(e.layer("edges kept ", l, keep, delta, e.streams[l], e.middles[l],
			e.sent[l], kept, at))
		host.Free(kept, at)
		if err != nil {
			return 0, fmt.Errorf("layer %d: %w", l, err)
		}
		host.Free(delta)
		delta = next
	}
	in, err := mask(e.g.Receivers()-1, 1)
	if err != nil {
		return 0, err
	}
	defer host.Free(in)
	x, err := host.Only(e.query.inputs.End(e.streams[e.g.Layers], "edges kept",
		func(d *graph.Builder, x *Node, in []*Node) []*Node {
			read := product2(d, in[1], flat(in[0]))
			return []*Node{Add(x, Reshape(read, x.Shape().Dimensions...))}
		}, delta, in))
	if err != nil {
		return 0, err
	}
	defer host.Free(x)
	err = e.query.inputs.ScoresAt(x, e.query.positions(), func(_ int, scores []float32) {
		value = logit.ObjectiveValue(e.m.Spec, e.query.queries[0].Objective, scores)
	})
	return value, err
}

// onlyInput is change with 0 for all senders but the embedding, [U,N,D]: no other one has run.
func (e *edgeRuns) onlyInput() (*tensors.Tensor, error) {
	return host.Only(e.m.Machine.Run("edges of the input", codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			first := SliceAxis(in[0], 0, AxisRange(0, 1))
			rest := ZerosLike(SliceAxis(in[0], 0, AxisRange(1)))
			return []*Node{Concatenate([]*Node{first, rest}, 0)}
		}, e.change))
}

// edgesKept runs layer l with the edges that are kept. in are delta [U,N,D], what each sender adds
// minus what it adds in the corrupted run, 0 for those that have not run; stream, middle and sent
// of the corrupted run; the mask of edges, [3H+1,U]; and the places of its senders, [U,H+1]. It
// returns the next delta.
func edgesKept(d *graph.Builder, l int, in []*Node) *Node {
	delta, stream, middle, sent, mask, place := in[0], in[1], in[2], in[3], in[4], in[5]
	heads := d.Spec.Heads
	of := func(x *Node, axis, from, to int) *Node { return SliceAxis(x, axis, AxisRange(from, to)) }
	read := func(stream *Node, from, to int) *Node { // of the receivers [from,to)
		changed := product2(d, of(mask, 0, from, to), flat(delta))
		return Add(stream, Reshape(changed, headShape(to-from, stream).Dimensions...))
	}
	send := func(from, to int, added *Node) {
		now := flat(Sub(added, of(sent, 0, from, to)))
		delta = Add(delta, Reshape(product2(d, of(place, 1, from, to), now),
			delta.Shape().Dimensions...))
	}
	b := d.HeadBlock(l, read(stream, 0, heads), read(stream, heads, 2*heads),
		read(stream, 2*heads, 3*heads))
	send(0, heads, Squeeze(graph.HeadsAdded(b), 0))
	send(heads, heads+1, feedForwardAdded(b, read(middle, 3*heads, 3*heads+1)))
	return delta
}

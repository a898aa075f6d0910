package run

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// texts are B texts that grow token by token, each in a row of its own, with their keys and values
// in every layer: what a [Session] of one text and a [BatchSession] share.
//
// Two things look alike and stay apart. A further token is not a pass over a text of one token on
// the cache, which takes 3.5 times as long on XLA and 7.6 times in pure Go, because its graph
// copies the cache. The tiles of a long prompt are not pieces on the cache either: the last digits
// would change, and the turn of keys where it depends on the length.
type texts struct {
	m    *Model
	asks []graph.Asked
	// lengths has the number of tokens of the text in each row, 0 for a free row, and boundaries
	// that of the tokens of the source in a model of two stacks.
	lengths, boundaries []int
	cache               *store
	// terms says that passes keep what [Session.Terms] reads: latest. It is nil before the first
	// pass, after [Session.Cut] and [Session.Extend], and if a pass failed for which the cache
	// grew.
	terms  bool
	byHead bool // they have the part of each head
	latest *Latest
	// streams are what [Session.Multiply] reads, nil if nothing is kept for it.
	streams *streams
	// edits are those of the only text, nil for none.
	edits []edit.Placed
	// eachLayer, if not nil, is called with every layer of a step, when its keys and values are in
	// the cache.
	eachLayer func(step *LayerStep) error
}

// Output is what one pass returns.
type Output struct {
	// Logits are the scores after the last token, [V]; nil without a head.
	Logits []float32
	// Rows has one entry for each mixing asked for.
	Rows []trace.Rows
}

// pass is a pass over the first tokens of texts, for rows of a cache with so many slots.
func (s *texts) pass(ids [][]int, rows []int, slots int) *pass {
	return &pass{
		m: s.m, asks: s.asks, texts: ids, most: len(s.lengths), slots: slots,
		latest: s.newLatest(rows),
	}
}

// newEdits are the edits of a pass over n tokens of the only text from position first on, which has
// so many rows and sources.
func (s *texts) newEdits(first, n, rows, slots int) *edit.Pass {
	return edit.OnCache(s.m.Machine, s.m.Spec, s.edits, first, n, rows, slots)
}

// newLatest is what a pass over the texts in rows fills in, nil if nothing is kept.
func (s *texts) newLatest(rows []int) *Latest {
	if !s.terms {
		return nil
	}
	return &Latest{rows: rows, texts: len(s.lengths)}
}

// keep replaces what [Session.Terms] reads by what a pass filled in.
func (s *texts) keep(k *Latest, out []*Output) {
	s.latest.Free()
	s.latest = k
	if k == nil {
		return
	}
	for _, o := range out {
		k.logits = append(k.logits, o.Logits)
	}
}

// freeCache frees the cache and what the last pass kept, which has the same slots.
func (s *texts) freeCache() {
	if s.cache != nil {
		s.cache.free()
	}
	s.latest.Free()
	s.cache, s.latest = nil, nil
}

// tokens are the ids, [B,1], of the next tokens, 0 in rows that stay, and their slots, [B], in a
// model of two stacks followed by the boundaries, [2B].
func (s *texts) tokens(rows, ids []int) []*tensors.Tensor {
	next := make([]int, len(s.lengths))
	for i, row := range rows {
		next[row] = ids[i]
	}
	slots := s.lengths
	if s.m.Spec.Encoder > 0 {
		slots = slices.Concat(slots, s.boundaries)
	}
	return []*tensors.Tensor{host.Int32Tensor(next, len(next), 1), host.Int32Tensor(slots)}
}

// stepBuilder builds graphs of a decode step, whose first inputs are [texts.tokens]. A token goes
// into the slot after its text, and its own row sees it too.
func stepBuilder(m *Model, w codes.Weights, in []*Node) *graph.Builder {
	t := graph.Text{IDs: in[0], First: in[1]}
	if n := in[0].Shape().Dimensions[0]; m.Spec.Encoder > 0 {
		t.First = Slice(in[1], AxisRange(0, n))
		t.Boundary = Slice(in[1], AxisRange(n, 2*n))
	}
	t.Length = OnePlus(ReduceAllMax(t.First))
	d := m.Builder(w, t)
	d.OfTargetAlone = t.Boundary != nil
	return d
}

// step runs the layers on one token of each text in rows, [B,1,D], each in a graph of its own,
// which layers of one kind share. One graph of all layers would take XLA as many times longer to
// compile, 4 s for 30 layers, and a token would not be faster. The texts of other rows stay as they
// are.
func (s *texts) step(ctx context.Context, rows, ids []int) ([]*Output, error) {
	m, token := s.m, s.tokens(rows, ids)
	defer host.Free(token...)
	embedding := program.New("step embed", codes.EndsWeights,
		func(w codes.Weights, in []*Node) []*Node {
			return []*Node{stepBuilder(m, w, in).Embed()}
		})
	out, kept := s.stepOutputs(rows), s.newLatest(rows)
	defer func() { kept.Free() }() // unless the session has it by then
	projected := s.cache.projected != nil
	layer := func(l int,
		edited []trace.Tap) program.Program {
		return s.stepProgram(l, projected, edited)
	}
	edits := s.newEdits(s.lengths[0], 1, 1, s.cache.slots)
	x, err := s.onCache(ctx, token, embedding, edits, layer, func(step *LayerStep) error {
		return s.keepStep(step, rows, out, kept)
	})
	if err != nil {
		return nil, err
	}
	defer func() { host.Free(x) }()
	scores, err := m.Machine.Run("step logits", codes.EndsWeights,
		func(w codes.Weights, in []*Node) []*Node {
			d := stepBuilder(m, w, in)
			return []*Node{d.Logits(d.Final(Squeeze(in[2], 1)))}
		}, token[0], token[1], x)
	if err != nil {
		return nil, err
	}
	defer host.Free(scores...)
	if err := host.Read(scores[0], func(data []float32) {
		width := len(data) / len(s.lengths)
		for i, row := range rows {
			out[i].Logits = slices.Clone(data[row*width : (row+1)*width])
		}
	}); err != nil {
		return nil, err
	}
	if kept != nil {
		kept.Final, x = x, nil
		s.keep(kept, out)
		kept = nil
	}
	for _, row := range rows {
		s.lengths[row]++
	}
	return out, nil
}

// stepOutputs have the rows that a step fills in: those of its tokens alone.
func (s *texts) stepOutputs(rows []int) []*Output {
	asks, lengths := slices.Clone(s.asks), make([]int, len(rows))
	for i := range asks {
		asks[i].AllRows = false
	}
	for i, row := range rows {
		lengths[i] = s.lengths[row] + 1
	}
	return emptyOutputs(s.m.Spec, asks, lengths)
}

// onCache runs all layers on new tokens after the cache and returns the stream after the last one.
// The inputs of every graph begin with text; those of a layer go on with the stream, the layer's
// keys and values, [B,G,slots,E] each, and if it is projected, those of [projectedCache.inputs].
func (s *texts) onCache(ctx context.Context, text []*tensors.Tensor, embedding program.Program,
	edits *edit.Pass, layer func(l int, edited []trace.Tap) program.Program,
	keep func(step *LayerStep) error,
) (*tensors.Tensor, error) {
	x, err := host.Only(s.m.Machine.Execute(embedding, text...))
	if err != nil {
		return nil, err
	}
	run := func(l int, x *tensors.Tensor) ([]*tensors.Tensor, error) {
		if idleOnCache(s.m.Spec, l) && edits == nil {
			return nil, nil
		}
		projected, err := s.cache.projected.inputs(l)
		if err != nil {
			return nil, err
		}
		edited, own, err := edits.Layer(l)
		if err != nil {
			return nil, err
		}
		defer host.Free(own...)
		inputs := slices.Concat(text, []*tensors.Tensor{x}, s.cache.of(l), projected, own)
		return s.m.Machine.Execute(layer(l, edited), inputs...)
	}
	for step, err := range s.m.Layers(ctx, x, edits, run) {
		if err != nil {
			return nil, err
		}
		if err := keep(step); err != nil {
			return nil, fmt.Errorf("layer %d: %w", step.Layer, err)
		}
		x = step.Out
	}
	return x, nil
}

// keepStep keeps the keys and values of the new tokens in a layer, puts their rows of each mixing
// into out and what [Session.Terms] needs into kept.
func (s *texts) keepStep(step *LayerStep, rows []int, out []*Output, kept *Latest) error {
	l, made := step.Layer, step.Collected
	if err := s.streams.add(l, s.lengths[0], step.In); err != nil {
		return err
	}
	if step.idle() {
		return s.keepIdle(step, rows, out, kept)
	}
	if kept != nil {
		last := len(made) - graph.KeptTensors(s.m.Spec, l)
		kept.Input, kept.Output = append(kept.Input, step.In), append(kept.Output, made[last])
		kept.Attention = append(kept.Attention, made[last+1])
		var sum *tensors.Tensor
		if last+2 < len(made) {
			sum = made[last+2]
		}
		kept.sum, made = append(kept.sum, sum), made[:last]
		step.In, step.Collected = nil, made
	}
	all := make([]stretch, len(rows))
	for i, row := range rows {
		all[i] = stretch{from: row, to: row, first: s.lengths[row], n: 1}
	}
	if err := s.cache.put(l, made[:2], all...); err != nil {
		return err
	}
	if s.eachLayer != nil {
		if err := s.eachLayer(step); err != nil {
			return err
		}
	}
	made = made[2:]
	for k := range s.asks {
		if err := putRows(out, k, l, rows, made[k]); err != nil {
			return err
		}
	}
	return s.cache.projected.put(l, made[len(s.asks):], s.lengths[0])
}

// keepIdle is [texts.keepStep] for a layer that leaves the new tokens as they are: each looks at
// itself, and nobody reads its keys and values.
func (s *texts) keepIdle(step *LayerStep, rows []int, out []*Output, kept *Latest) error {
	if kept != nil {
		kept.Input, kept.Output = append(kept.Input, nil), append(kept.Output, nil)
		kept.Attention, kept.sum = append(kept.Attention, nil), append(kept.sum, nil)
	}
	for i, row := range rows {
		for k := range s.asks {
			r := &out[i].Rows[k]
			for h := range r.H {
				r.Row(step.Layer, h, 0)[s.lengths[row]] = 1
			}
		}
	}
	if s.eachLayer != nil {
		return s.eachLayer(step)
	}
	return nil
}

// stepProgram is the graph of layer l in a step. Its inputs are those of [texts.onCache], with
// [texts.tokens] first. It returns the stream after the layer, what [keptOnCache] gives, the row of
// every mixing, [B,(H,)1,slots], what the cache keeps of the token beside them,
// [graph.cachedSources.own], and with terms what [graph.KeptOf] gives.
func (s *texts) stepProgram(l int, projected bool, edited []trace.Tap) program.Program {
	// The graph is kept with the model, so nothing else of this session may stay in it.
	model, asks, terms := s.m, s.asks, s.terms
	kind, weights := graph.KindOf(model.Spec, l, asks...)
	return program.New(
		fmt.Sprintf("step %s %sterms=%v projected=%v%s", kind, graph.Describe(asks...), terms,
			projected, edit.Key(edited)),
		weights,
		func(w codes.Weights, in []*Node) []*Node {
			in, edits := graph.CutEdits(in, edited)
			d := stepBuilder(model, w, in)
			d.Edits = edits
			b, now := d.StepBlock(l, in[2], graph.Cache{Key: in[3], Value: in[4]})
			var own []*Node
			if projected {
				own = graph.UseCachedSources(b, now.Value, in[5:])
			}
			rows := make([]*Node, len(asks))
			// First the mixings that compute the block's output together with their own, then the
			// others.
			for _, shares := range []bool{true, false} {
				for i, ask := range asks {
					if ask.SharesOutput() == shares {
						rows[i] = graph.VisibleRows(b, ask) // [B,(H,)1,slots]
					}
				}
				graph.Finish(b) // of what shared it, the rest may read it
			}
			out := slices.Concat([]*Node{b.Output}, keptOnCache(model, b, now), rows)
			if projected {
				out = append(out, own...)
			}
			if terms {
				out = append(out, graph.KeptOf(b)...)
			}
			return out
		},
	)
}

// keptOnCache are the keys and values of the targets of a block that follow a cache, [B,G,N,E]
// each, as [store.put] takes them: outside the memory of the host those of all slots.
func keptOnCache(m *Model, b *graph.Block, now graph.Cache) []*Node {
	if !m.Machine.OnHost {
		now = graph.SourcesOf(b)
	}
	return []*Node{now.Key, now.Value}
}

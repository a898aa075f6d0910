package transformer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Session is a text that grows token by token, with its keys and values in every layer. It belongs
// to one goroutine.
type Session struct {
	m     *Model
	asks  []trace.MixingAsk
	mixes []Mixing
	// ids are the tokens so far, slots is how many the cache can hold, and room how many are
	// expected in the end.
	ids   []int
	slots int
	room  int
	cache *store
	// terms says that passes keep what [Session.Terms] reads: latest. It is nil before the first
	// pass, after [Session.Cut] and [Session.Extend], and if a pass failed for which the cache
	// grew.
	terms  bool
	latest *latest
	// late are the rows that [Session.RowsOfLayer] will be asked for.
	late      []trace.MixingAsk
	lateMixes []Mixing
	// streams are what [Session.Multiply] reads, nil if nothing is kept for it.
	streams *streams
	// preparing are compilations under way.
	preparing sync.WaitGroup
}

// Output is what one pass returns.
type Output struct {
	// Logits are the scores after the last token, [V]; nil without a head.
	Logits []float32
	// Rows has one entry for each mixing asked for.
	Rows []trace.Rows
}

// NewSession starts an empty text. asks are the mixings whose rows every pass returns. The text is
// expected to have room tokens in the end, so that its cache need not grow; 0 means unknown. It
// returns an error for an encoder, for a mixing that does not exist or cannot fuse heads as asked,
// and for a head that the model does not have.
func (m *Model) NewSession(asks []trace.MixingAsk, room int) (*Session, error) {
	if err := m.checkGenerates(); err != nil {
		return nil, err
	}
	mixes, err := m.mixings(asks)
	if err != nil {
		return nil, err
	}
	return &Session{m: m, asks: asks, mixes: mixes, room: min(room, mostSlots)}, nil
}

// checkGenerates returns an error for an encoder and for a classifier.
func (m *Model) checkGenerates() error {
	kind := "an encoder"
	switch {
	case m.Spec.Bidirectional:
	case m.Spec.Classifies():
		kind = "a classifier"
	default:
		return nil
	}
	return fmt.Errorf("transformer: %s is %s: it reads a whole text and does not generate",
		m.Spec.Family, kind)
}

// mixings looks up the mixings of asks.
func (m *Model) mixings(asks []trace.MixingAsk) ([]Mixing, error) {
	var mixes []Mixing
	for _, ask := range asks {
		mix, err := LookupMixing(ask.Name)
		if err != nil {
			return nil, err
		}
		if ask.Heads.Fusion == trace.OneHead && (ask.Heads.Head < 0 ||
			ask.Heads.Head >= m.Spec.Heads) {
			return nil, fmt.Errorf("transformer: head %d is not in 0..%d", ask.Heads.Head,
				m.Spec.Heads-1)
		}
		if err := mix.Check(ask.Heads); err != nil {
			return nil, err
		}
		mixes = append(mixes, mix)
	}
	return mixes, nil
}

// Prompt runs the first tokens of a text all at once and returns the scores after the last one and
// the rows. Mixings that cost a pass per pair are computed layer by layer, and progress, if not
// nil, is told of each. It returns an error for ids that the model cannot take, a
// [*trace.MemoryError], and one that wraps ctx.Err() within a layer.
func (s *Session) Prompt(ctx context.Context, ids []int,
	progress func(trace.Progress),
) (*Output, error) {
	if err := s.m.CheckIDs(ids); err != nil {
		return nil, err
	}
	kept := s.m.newStore(s.slotsFor(len(ids)))
	p := pass{
		m: s.m, asks: s.asks, mixes: s.mixes, ids: ids, slots: kept.slots,
		keep: func(_ int, key, value *tensors.Tensor) error {
			return kept.addLayer(key, value, len(ids))
		},
	}
	inTiles := s.streams != nil || s.m.inTiles(len(ids))
	p.begins = func(p *pass) {
		bytes, projects := s.m.projectsSteps(s.asks, s.mixes, len(ids), kept.slots, s.room, p.spare)
		if projects && !inTiles {
			s.cache.forget() // what the next text does not need, before its own is made
			kept.projected = s.m.newProjectedCache()
			p.spare -= bytes
		}
		s.prepare(ctx, len(ids), kept)
	}
	if s.terms {
		p.latest = &latest{}
	}
	run := p.output
	if inTiles {
		run = (&tiledPrompt{pass: p, streams: s.streams.emptied(kept.slots)}).output
	}
	out, err := run(ctx, progress)
	if err != nil {
		kept.free()
		p.latest.free()
		return nil, err
	}
	s.freeCache()
	s.cache, s.ids, s.slots = kept, append([]int(nil), ids...), kept.slots
	if s.latest = p.latest; s.terms {
		s.latest.logits = out.Logits
	}
	return out, nil
}

// slotsFor returns how many slots a cache gets that begins with n tokens.
func (s *Session) slotsFor(n int) int {
	size := bucket
	if s.room > n && slices.ContainsFunc(s.mixes, Mixing.PerPair) {
		size = pairBucket
	}
	return size(max(n+1, s.room) + s.spare())
}

// spare is how many slots stay free after the text: one where mixings share the block's output,
// which takes the place of a source among theirs; see [Block.AfterEach]. Without it the product
// would get one more column, which costs a sixth more where that begins another vector of the
// processor, as after 80 or 144 slots.
func (s *Session) spare() int {
	if slices.ContainsFunc(s.mixes, sharesOutput) {
		return 1
	}
	return 0
}

// Step runs one more token and returns the scores after it and its rows, [L,(H,)1,S].
func (s *Session) Step(ctx context.Context, id int) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped at token %d: %w", s.Length(), err)
	}
	if s.m.Spec.Context > 0 && s.Length()+1 > s.m.Spec.Context {
		return nil, fmt.Errorf("transformer: %d tokens are more than the context of %d",
			s.Length()+1, s.m.Spec.Context)
	}
	if id < 0 || id >= s.m.Spec.Vocab {
		return nil, fmt.Errorf("transformer: id %d of token %d is outside the vocabulary of %d", id,
			s.Length(), s.m.Spec.Vocab)
	}
	if r := s.m.Spec.Rotary; r != nil && r.LongFrequencies != nil && s.Length() == r.Original {
		return s.rerun(ctx, id)
	}
	if err := s.grow(); err != nil {
		return nil, err
	}
	out, err := s.step(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s token %d: %w", s.m.Spec.Family, s.Length(), err)
	}
	s.ids = append(s.ids, id)
	return out, nil
}

// step runs the layers on token id, each in a graph of its own, which layers of one kind share.
// One graph of all layers would take XLA as many times longer to compile, 4 s for 30 layers, and
// a token would not be faster.
func (s *Session) step(ctx context.Context, id int) (*Output, error) {
	token := []*tensors.Tensor{idTensor([]int{id}, 1), tensors.FromScalar(int32(s.Length()))}
	defer free(token...)
	model := s.m
	embedded, err := model.run("step embed", endsWeights,
		func(w byName, in []*graph.Node) []*graph.Node {
			return []*graph.Node{model.stepBuilder(w, in).embed()}
		}, token...)
	if err != nil {
		return nil, err
	}
	x := embedded[0]
	defer func() { free(x) }()
	result := &Output{Rows: make([]trace.Rows, len(s.asks))}
	for i, ask := range s.asks {
		ask.AllRows = false
		result.Rows[i] = emptyRows(s.m.Spec, ask, s.Length()+1)
	}
	var kept *latest
	if s.terms {
		kept = &latest{}
	}
	defer func() { kept.free() }() // unless the session has it by then
	for l := range s.m.Spec.Layers {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped at layer %d: %w", l, err)
		}
		after, err := s.stepLayer(l, token, x, result.Rows, kept)
		if err != nil {
			free(after)
			return nil, fmt.Errorf("layer %d: %w", l, err)
		}
		if kept == nil {
			free(x)
		} else {
			kept.input = append(kept.input, x)
		}
		x = after
	}
	scores, err := model.run("step logits", endsWeights,
		func(w byName, in []*graph.Node) []*graph.Node {
			d := model.stepBuilder(w, in)
			return []*graph.Node{d.logits(d.final(graph.Reshape(in[2], d.spec.Width)))}
		}, token[0], token[1], x)
	if err != nil {
		return nil, err
	}
	defer free(scores...)
	if result.Logits, err = floats(scores[0]); err != nil {
		return nil, err
	}
	if kept != nil {
		kept.final, kept.logits, x = x, result.Logits, nil
		s.latest.free()
		s.latest, kept = kept, nil
	}
	return result, nil
}

// stepLayer runs layer l on x, the residual stream of the new token, and returns the stream after
// it, [1,1,D] both. It keeps the token's key and value, and puts its row of each mixing into rows
// and what [Session.Terms] needs into kept.
func (s *Session) stepLayer(
	l int, token []*tensors.Tensor, x *tensors.Tensor, rows []trace.Rows, kept *latest,
) (*tensors.Tensor, error) {
	if err := s.streams.add(l, s.Length(), x); err != nil {
		return nil, err
	}
	projected, err := s.cache.projected.inputs(l)
	if err != nil {
		return nil, err
	}
	inputs := slices.Concat(token, []*tensors.Tensor{x}, s.cache.of(l), projected)
	out, err := s.m.execute(s.stepProgram(l, s.cache.projected != nil), inputs...)
	if err != nil {
		return nil, err
	}
	made := out
	if kept != nil {
		last := len(out) - 2
		kept.output = append(kept.output, out[last])
		kept.attention = append(kept.attention, out[last+1])
		made = out[:last]
	}
	defer free(made[1:]...)
	if err := s.cache.put(l, out[1:3], s.Length()); err != nil {
		return out[0], err
	}
	if err := s.cache.projected.put(l, made[3+len(rows):], s.Length()); err != nil {
		return out[0], err
	}
	for i := range rows {
		if err := putRows(&rows[i], l, out[3+i]); err != nil {
			return out[0], err
		}
	}
	return out[0], nil
}

// stepProgram is the graph of layer l in a step. Its inputs are the token's id [1,1], its slot, the
// stream [1,1,D], the layer's keys and values, [1,G,slots,E] each, and if it is projected, those of
// [projectedCache.inputs]. It returns what [builder.step] does, but outside the memory of the host
// the keys and values of all slots, as [store.put] takes them.
func (s *Session) stepProgram(l int, projected bool) program {
	// The graph is kept with the model, so nothing else of this session may stay in it.
	model, asks, mixes, terms := s.m, s.asks, s.mixes, s.terms
	kind, weights := model.kindOf(l, mixes...)
	return program{
		fmt.Sprintf("step %s %sterms=%v projected=%v", kind, describe(asks), terms, projected),
		weights,
		func(w byName, in []*graph.Node) []*graph.Node {
			d := model.stepBuilder(w, in)
			past := cache{key: in[3], value: in[4]}
			out := d.step(l, in[2], past, in[5:], asks, mixes, terms)
			if !model.onHost {
				out[1] = replaceSlot(past.key, out[1], in[1])
				out[2] = replaceSlot(past.value, out[2], in[1])
			}
			return out
		},
	}
}

// prepare compiles, while the prompt is read, the graphs that the first tokens need afterwards, for
// the cache that it fills: those of [Session.Terms], if passes keep them, of the rows that
// [Session.RowsOfLayer] will be asked for, and of a step, if one is to follow n tokens. Where
// compiling costs nothing it does nothing. An error is left to the call that needs the graph.
// [Session.Close] waits for it, at most for one graph once ctx is done.
func (s *Session) prepare(ctx context.Context, n int, kept *store) {
	if s.m.promptStep == 1 {
		return
	}
	integer, number := dtypes.Int32, dtypes.Float32
	spec := s.m.Spec
	scalar := shapes.Make(integer)
	stream := shapes.Make(number, 1, 1, spec.Width)
	past := shapes.Make(number, 1, spec.Groups(), kept.slots, spec.HeadWidth)
	attention := shapes.Make(number, 1, spec.Heads, 1, kept.slots)
	step := []shapes.Shape{shapes.Make(integer, 1, 1), scalar, stream, past, past}
	projected := kept.projected != nil
	if projected {
		step = append(step, projectedShapes(spec, kept.slots)...)
	}
	type wanted struct {
		program
		inputs []shapes.Shape
	}
	var all, steps []wanted // in the order in which they are needed
	if s.terms {
		for begin, end := range s.m.termGraphs {
			inputs := []shapes.Shape{scalar, stream}
			for range end - begin {
				inputs = append(inputs, attention, past)
				if normsOnTheWay(spec) {
					inputs = append(inputs, stream, stream)
				}
			}
			all = append(all, wanted{s.m.termsProgram(begin, end, 1), inputs})
		}
	}
	for l := range spec.Layers { // layers of one kind have the same program
		for i, ask := range s.late {
			all = append(all, wanted{
				s.m.tileProgram(l, ask, s.lateMixes[i]),
				[]shapes.Shape{stream, scalar, scalar, past, past},
			})
		}
		if s.room > n {
			steps = append(steps, wanted{s.stepProgram(l, projected), step})
		}
	}
	all = append(all, steps...)
	// One after another, because the pass compiles at the same time.
	s.preparing.Go(func() {
		for _, g := range all {
			if ctx.Err() != nil {
				return
			}
			_, _, _ = s.m.compile(g.program, g.inputs, nil)
		}
	})
}

// stepBuilder builds graphs of a decode step, whose first inputs are the token's id and its slot.
// The token goes into slot Length of the cache, and its own row sees Length+1 sources.
func (m *Model) stepBuilder(w byName, in []*graph.Node) *builder {
	return m.builder(w, text{ids: in[0], first: in[1], length: graph.OnePlus(in[1])})
}

// rerun runs the whole text with one more token, because the new length changes how all keys are
// turned.
func (s *Session) rerun(ctx context.Context, id int) (*Output, error) {
	asks := s.asks
	defer func() { s.asks = asks }()
	s.asks = append([]trace.MixingAsk(nil), asks...)
	for i := range s.asks {
		s.asks[i].AllRows = false
	}
	return s.Prompt(ctx, append(s.ids, id), nil)
}

// Length returns how many tokens the text has.
func (s *Session) Length() int { return len(s.ids) }

// grow adds slots to the cache if it has none for another token.
func (s *Session) grow() error {
	if s.Length()+s.spare() < s.slots {
		return nil
	}
	grown, err := s.cache.grown(bucket(s.slots+1), s.Length())
	if err != nil {
		return fmt.Errorf("transformer: growing the cache beyond %d tokens: %w", s.slots, err)
	}
	s.freeCache()
	s.cache, s.slots = grown, grown.slots
	return nil
}

// CachesSources reports whether the session keeps, beside the keys and values, what each source
// adds before the feed-forward part, so that a row of Value Zeroing after a step costs about half.
// It does so where XLA computes on a CPU, the model has up to about 140 million parameters, the
// rest of the text is expected to be long enough and the memory is there, until the cache grows or
// several tokens come at once.
func (s *Session) CachesSources() bool { return s.cache != nil && s.cache.projected != nil }

// Close frees the cache. The session must not be used afterwards.
func (s *Session) Close() {
	s.preparing.Wait()
	s.freeCache()
}

// freeCache frees the cache and what the last pass kept, which has the same slots.
func (s *Session) freeCache() {
	if s.cache != nil {
		s.cache.free()
	}
	s.latest.free()
	s.cache, s.latest = nil, nil
}

// step builds layer l for one token, x [1,1,D], after the cache past. projected is empty, or the
// inputs of [projectedCache.inputs]. It returns the stream after the layer, the token's key and
// value, [1,G,1,E] each, the row of every mixing, [1,1,(H,)1,S], what the cache keeps of the token
// beside them, [cachedSources.own], and with terms what [keptOf] gives.
func (d *builder) step(
	l int, x *graph.Node, past cache, projected []*graph.Node, asks []trace.MixingAsk,
	mixes []Mixing, terms bool,
) []*graph.Node {
	b, now := d.stepBlock(l, x, past)
	if len(projected) > 0 {
		b.cached = newCachedSources(b, now.value, projected)
	}
	rows := make([]*graph.Node, len(asks))
	// First the mixings that compute the block's output together with their own, then the others.
	for _, shares := range []bool{true, false} {
		for i, m := range mixes {
			if sharesOutput(m) == shares {
				rows[i] = graph.InsertAxes(visibleRows(b, m, asks[i]), 0)
			}
		}
		b.finish() // of what shared it, the rest may read it
	}
	out := append([]*graph.Node{b.Output, now.key, now.value}, rows...)
	if b.cached != nil {
		out = append(out, b.cached.own...)
	}
	if terms {
		out = append(out, keptOf(b)...)
	}
	return out
}

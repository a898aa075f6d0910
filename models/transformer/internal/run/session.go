package run

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// Session is a text that grows token by token, with its keys and values in every layer. It belongs
// to one goroutine.
type Session struct {
	texts // one
	// ids are the tokens so far, and room is how many are expected in the end.
	ids  []int
	room int
	// late are the rows that [Session.RowsOfLayer] will be asked for.
	late []graph.Asked
	// wanted are the edits of [Session.Edit], which the first pass places.
	wanted []trace.Edit
	// lens says that [Session.Lens] will be called.
	lens bool
	// preparing are compilations under way.
	preparing sync.WaitGroup
}

// NewSession implements [transformer.Model.NewSession].
func (m *Model) NewSession(asks []trace.MixingAsk, room int) (*Session, error) {
	if err := CheckGenerates(m.Spec); err != nil {
		return nil, err
	}
	mixings, err := graph.LookupMixings(m.Spec, asks...)
	if err != nil {
		return nil, err
	}
	return &Session{
		texts: texts{m: m, asks: mixings, lengths: []int{0}}, room: min(room, host.MostSlots),
	}, nil
}

// CheckGenerates returns an error for an encoder and for a classifier.
func CheckGenerates(s *spec.Spec) error {
	kind := "an encoder"
	switch {
	case s.Bidirectional:
	case s.Classifies():
		kind = "a classifier"
	default:
		return nil
	}
	return pkg.Errorf("%s is %s: it reads a whole text and does not generate", s.Family, kind)
}

// Prompt runs the first tokens of a text all at once and returns the scores after the last one and
// the rows. Mixings that cost a pass per pair are computed layer by layer, and progress, if not
// nil, is told of each. It returns an error for ids that the model cannot take, a
// [*trace.MemoryError], and one that wraps ctx.Err() within a layer.
func (s *Session) Prompt(ctx context.Context, ids []int,
	progress func(trace.Progress),
) (*Output, error) {
	if err := CheckIDs(s.m.Spec, ids); err != nil {
		return nil, err
	}
	if err := s.placeEdits(len(ids)); err != nil {
		return nil, err
	}
	kept := s.m.newStore(s.slotsFor(len(ids)))
	p := s.pass([][]int{ids}, []int{0}, kept.slots)
	p.edits = s.newEdits(0, len(ids), s.m.Padded(len(ids)), s.m.Padded(len(ids)))
	p.keep = func(_ int, now []*tensors.Tensor) error { return kept.addLayer(now, len(ids)) }
	inTiles := s.inTiles(len(ids))
	p.begins = func(p *pass) {
		bytes, projects := projectsSteps(s.m, s.asks, len(ids), kept.slots, s.room, p.spare)
		if projects && !inTiles && s.wanted == nil { // an edit changes what a source adds
			s.cache.forget() // what the next text does not need, before its own is made
			kept.projected = newProjectedCache(s.m)
			p.spare -= bytes
		}
		s.prepare(ctx, len(ids), kept)
	}
	var out []*Output
	err := p.alone(ctx, s.promptNeed(len(ids)), func() (err error) {
		if inTiles {
			t := &tiledPrompt{pass: p, streams: s.streams.emptied(kept.slots)}
			out, err = t.output(ctx, progress)
			return err
		}
		out, err = p.output(ctx, progress)
		return err
	})
	if err != nil {
		kept.free()
		p.latest.Free()
		return nil, err
	}
	s.freeCache()
	s.cache, s.ids, s.lengths[0] = kept, append([]int(nil), ids...), len(ids)
	s.boundaries = []int{graph.BoundaryOf(s.m.Spec, ids)}
	if k := p.latest; k != nil { // whose stream is that which the last layer returned
		last := s.newEdits(len(ids)-1, 1, 1, 1)
		if k.Final, err = last.Stream(s.m.Spec.Layers, k.Final); err != nil {
			k.Free()
			return nil, err
		}
	}
	s.keep(p.latest, out)
	return out[0], nil
}

// PromptBytes returns about how many bytes [Session.Prompt] needs for n tokens besides the weights.
func (s *Session) PromptBytes(n int) int64 { return s.m.Estimate(s.promptNeed(n)) }

// promptNeed is what a prompt of n tokens needs.
func (s *Session) promptNeed(n int) Need {
	need := Need{
		Tokens: n, Asks: graph.AsksOf(s.asks), Slots: s.slotsFor(n), Terms: s.terms,
		Streams: s.streams != nil, Lens: s.lens, Edits: [][]trace.Edit{s.wanted},
	}
	if s.inTiles(n) {
		need.Tile = s.m.TileOf(need.Slots)
	}
	return need
}

// inTiles reports whether a prompt of n tokens is computed in tiles. One under edits never is.
func (s *Session) inTiles(n int) bool {
	return s.wanted == nil && (s.streams != nil || s.m.inTiles(n))
}

// Edit makes every later pass run under edits. It is called before [Session.Prompt] or the first
// [Session.Extend], whose tokens are the prompt: positions from the end count from its end. They
// may be edited after it, too, when the text has grown. Rows of mixings are those of the edited
// blocks. The error for edits that do not fit the model, or what the passes are to keep, is of the
// first pass.
func (s *Session) Edit(edits ...trace.Edit) { s.wanted = edits }

// placeEdits places the edits that are wanted, for a prompt of n tokens, unless they are.
func (s *Session) placeEdits(n int) (err error) {
	switch {
	case s.wanted == nil || s.edits != nil:
		return nil
	case s.streams != nil:
		return pkg.Errorf("products with rows are not computed under edits")
	}
	most := mostTokens(s.m.Spec)
	if s.room > 0 {
		most = s.room
	}
	s.edits, err = edit.Place(s.m.Spec, s.wanted, n, max(n+1, most))
	return err
}

// mostTokens is how many tokens a text may have where nothing is known about its end.
func mostTokens(s *spec.Spec) int {
	switch {
	case s.Context > 0 && s.Encoder > 0: // source and target
		return 2 * s.Context
	case s.Context > 0:
		return s.Context
	}
	return math.MaxInt
}

// slotsFor returns how many slots a cache gets that begins with n tokens.
func (s *Session) slotsFor(n int) int {
	size := host.Bucket
	if s.room > n && slices.ContainsFunc(s.asks, graph.Asked.PerPair) {
		size = host.PairBucket
	}
	return size(max(n+1, s.room) + s.spare())
}

// spare is how many slots stay free after the text: one where mixings share the block's output,
// which takes the place of a source among theirs; see [graph.Block.AfterEach]. Without it the
// product would get one more column, which costs a sixth more where that begins another vector of
// the processor, as after 80 or 144 slots.
func (s *Session) spare() int {
	if slices.ContainsFunc(s.asks, graph.Asked.SharesOutput) {
		return 1
	}
	return 0
}

// Step runs one more token and returns the scores after it and its rows, [L,(H,)1,S].
func (s *Session) Step(ctx context.Context, id int) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("stopped at token %d: %w", s.Length(), err)
	}
	length := s.Length() + 1
	if s.m.Spec.Encoder > 0 {
		length -= s.boundaries[0]
	}
	if s.m.Spec.Context > 0 && length > s.m.Spec.Context {
		return nil, pkg.Errorf("%d tokens are more than the context of %d", length,
			s.m.Spec.Context)
	}
	if id < 0 || id >= s.m.Spec.Vocab {
		return nil, pkg.Errorf("id %d of token %d is outside the vocabulary of %d", id,
			s.Length(), s.m.Spec.Vocab)
	}
	if r := s.m.Spec.Rotary; r != nil && r.LongFrequencies != nil && s.Length() == r.Original {
		return s.rerun(ctx, id)
	}
	if err := s.reserve(s.Length() + 1); err != nil {
		return nil, err
	}
	out, err := s.step(ctx, []int{0}, []int{id})
	if err != nil {
		return nil, pkg.Errorf("%s token %d: %w", s.m.Spec.Family, s.Length(), err)
	}
	s.ids = append(s.ids, id)
	return out[0], nil
}

// prepare compiles, while the prompt is read, the graphs that the first tokens need afterwards, for
// the cache that it fills: those of [Session.Terms], if passes keep them, of the rows that
// [Session.RowsOfLayer] will be asked for, and of a step, if one is to follow n tokens. Where
// compiling costs nothing it does nothing. An error is left to the call that needs the graph.
// [Session.Close] waits for it, at most for one graph once ctx is done.
func (s *Session) prepare(ctx context.Context, n int, kept *store) {
	if s.m.Machine.PromptStep == 1 || s.m.Spec.Encoder > 0 {
		return
	}
	integer, number := dtypes.Int32, dtypes.Float32
	spec := s.m.Spec
	scalar := shapes.Make(integer)
	stream := shapes.Make(number, 1, 1, spec.Width)
	keys := shapes.Make(number, 1, spec.Groups(), kept.slots, spec.HeadWidth)
	values := shapes.Make(number, 1, spec.Groups(), kept.slots, spec.ValueWidth())
	attention := shapes.Make(number, 1, spec.Heads, 1, kept.slots)
	step := []shapes.Shape{
		shapes.Make(integer, 1, 1), shapes.Make(integer, 1), stream, keys, values,
	}
	projected := kept.projected != nil
	if projected {
		step = append(step, projectedShapes(spec, kept.slots)...)
	}
	type wanted struct {
		program.Program
		inputs []shapes.Shape
	}
	var all, steps []wanted // in the order in which they are needed
	if s.terms {
		for begin, end := range s.m.termGraphs {
			inputs := []shapes.Shape{scalar, stream}
			if oneTermGraph(s.m.Spec, begin, end) {
				inputs = []shapes.Shape{
					scalar, shapes.Make(integer, 1, askedStep),
					shapes.Make(number, 1, askedStep),
					stream,
				}
			}
			for range end - begin {
				inputs = append(inputs, attention, values)
				if logit.NormsOnTheWay(spec) {
					inputs = append(inputs, stream, stream)
				}
				if graph.SumsBeforeNorm(spec, begin) { // as in every layer of one stack
					inputs = append(inputs, stream)
				}
			}
			all = append(all, wanted{termsProgram(s.m, begin, end, 1, s.byHead), inputs})
		}
	}
	edits := s.newEdits(n, 1, 1, kept.slots)
	for l := range spec.Layers { // layers of one kind and with the same edits have one program
		edited, ofEdits := edits.ProgramOf(l)
		for _, ask := range s.late {
			inputs := []shapes.Shape{stream, scalar, scalar, keys, values}
			row := wanted{tileProgram(s.m, l, ask, edited), append(inputs, ofEdits...)}
			if s.wanted == nil {
				row = wanted{rowProgram(s.m, l, ask, 0), append(inputs, attention, stream, stream)}
			}
			all = append(all, row)
		}
		if s.room > n {
			inputs := slices.Concat(step, ofEdits)
			steps = append(steps, wanted{s.stepProgram(l, projected, edited), inputs})
		}
	}
	all = append(all, steps...)
	// One after another, because the pass compiles at the same time.
	s.preparing.Go(func() {
		for _, g := range all {
			if ctx.Err() != nil {
				return
			}
			_, _, _, _ = s.m.Machine.Compile(g.Program, g.inputs, nil)
		}
	})
}

// rerun runs the whole text with one more token, because the new length changes how all keys are
// turned.
func (s *Session) rerun(ctx context.Context, id int) (*Output, error) {
	asks := s.asks
	defer func() { s.asks = asks }()
	s.asks = slices.Clone(asks)
	for i := range s.asks {
		s.asks[i].AllRows = false
	}
	return s.Prompt(ctx, append(s.ids, id), nil)
}

// Length returns how many tokens the text has.
func (s *Session) Length() int { return s.lengths[0] }

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
	s.latest.Free()
	s.cache, s.latest = nil, nil
}

// TokensOf are the tokens of a session's text, which must not be changed.
func TokensOf(s *Session) []int { return s.ids }

// SlotsOf is for how many tokens the cache of a session has room.
func SlotsOf(s *Session) int { return s.cache.slots }

// Prepared waits for what is compiled while the prompt is read.
func Prepared(s *Session) { s.preparing.Wait() }

// StartText is a session of a text of which a pass adds the layers, by [AddLayer].
func StartText(m *Model, ids []int) *Session {
	return &Session{
		texts: texts{m: m, lengths: []int{len(ids)}, cache: m.newStore(host.Bucket(len(ids) + 1))},
		ids:   slices.Clone(ids),
	}
}

// AddLayer adds the key and value of the next layer, of which the first n slots count.
func AddLayer(s *Session, now []*tensors.Tensor, n int) error { return s.cache.addLayer(now, n) }

// EachLayer calls use with every layer of later steps, and its keys and values; nil ends that.
func EachLayer(s *Session, use func(step *LayerStep, past []*tensors.Tensor) error) {
	if s.eachLayer = nil; use != nil {
		s.eachLayer = func(step *LayerStep) error { return use(step, s.cache.of(step.Layer)) }
	}
}

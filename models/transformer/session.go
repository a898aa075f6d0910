package transformer

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Session is a text that grows: its keys and values in every layer. It belongs to one goroutine.
type Session struct {
	m     *Model
	asks  []trace.MixingAsk
	mixes []Mixing
	// ids are the tokens so far; slots is how many the cache has room for, and room how many are expected in the end.
	ids   []int
	slots int
	room  int
	// cache is key and value of every layer in turn, 2L tensors [1,G,slots,E].
	cache []*tensors.Tensor
}

// Output is what one pass returns.
type Output struct {
	// Logits is [V], those of the last token fed; nil without a head.
	Logits []float32
	// Rows has one entry for each mixing asked for.
	Rows []trace.Rows
}

// NewSession starts an empty text that will have about room tokens in the end (0: unknown), so that its cache need not grow.
// asks are the mixings whose rows every pass returns; an error names one that is unknown or that cannot fuse heads as asked.
func (m *Model) NewSession(asks []trace.MixingAsk, room int) (*Session, error) {
	if m.Spec.Bidirectional {
		return nil, fmt.Errorf("transformer: %s is an encoder: it reads a whole text and does not generate", m.Spec.Family)
	}
	mixes, err := m.mixings(asks)
	if err != nil {
		return nil, err
	}
	return &Session{m: m, asks: asks, mixes: mixes, room: room}, nil
}

// mixings looks up what is asked for.
func (m *Model) mixings(asks []trace.MixingAsk) ([]Mixing, error) {
	var mixes []Mixing
	for _, ask := range asks {
		mix, err := LookupMixing(ask.Name)
		if err != nil {
			return nil, err
		}
		if ask.Heads.Fusion == trace.OneHead && (ask.Heads.Head < 0 || ask.Heads.Head >= m.Spec.Heads) {
			return nil, fmt.Errorf("transformer: head %d is not in 0..%d", ask.Heads.Head, m.Spec.Heads-1)
		}
		if err := mix.Check(ask.Heads); err != nil {
			return nil, err
		}
		mixes = append(mixes, mix)
	}
	return mixes, nil
}

// Prompt feeds the first tokens of a text, all at once. Mixings that cost a pass per pair are computed layer by layer,
// and progress, if not nil, is told of each.
func (s *Session) Prompt(ctx context.Context, ids []int, progress func(trace.Progress)) (*Output, error) {
	if err := s.m.CheckIDs(ids); err != nil {
		return nil, err
	}
	p := pass{m: s.m, asks: s.asks, mixes: s.mixes, ids: ids, read: len(ids) - 1}
	p.slots = max(s.m.fed(len(ids)), bucket(max(len(ids)+1, s.room)))
	out, err := p.run(ctx, progress)
	if err != nil {
		return nil, err
	}
	s.Close()
	s.cache, s.ids, s.slots = p.cache, append([]int(nil), ids...), p.slots
	return out, nil
}

// Step feeds one token more.
func (s *Session) Step(ctx context.Context, id int) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped at token %d: %w", s.Length(), err)
	}
	if s.m.Spec.Context > 0 && s.Length()+1 > s.m.Spec.Context {
		return nil, fmt.Errorf("transformer: %d tokens are more than the context of %d", s.Length()+1, s.m.Spec.Context)
	}
	if id < 0 || id >= s.m.Spec.Vocab {
		return nil, fmt.Errorf("transformer: id %d of token %d is outside the vocabulary of %d", id, s.Length(), s.m.Spec.Vocab)
	}
	if r := s.m.Spec.Rotary; r != nil && r.LongFrequencies != nil && s.Length() == r.Original {
		return s.again(ctx, id)
	}
	if err := s.grow(); err != nil {
		return nil, err
	}
	rec := recording{asks: s.asks, mixes: s.mixes, perPairInside: true}
	inputs := append([]*tensors.Tensor{idTensor([]int{id}, 1), tensors.FromScalar(int32(s.Length()))}, s.cache...)
	out, err := s.m.run("step "+rec.key(), "", func(w Weights, in []*graph.Node) []*graph.Node {
		d := newBuilder(s.m.Spec, w, text{ids: in[0], first: in[1], length: graph.OnePlus(in[1])})
		return d.step(in[2:], rec)
	}, inputs...)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s token %d: %w", s.m.Spec.Family, s.Length(), err)
	}
	return s.stepOutput(out, id)
}

// again feeds the whole text with one token more, whose length changes how all of its keys are turned.
func (s *Session) again(ctx context.Context, id int) (*Output, error) {
	asks := s.asks
	defer func() { s.asks = asks }()
	s.asks = append([]trace.MixingAsk(nil), asks...)
	for i := range s.asks {
		s.asks[i].AllRows = false
	}
	return s.Prompt(ctx, append(s.ids, id), nil)
}

// stepOutput takes the new cache and reads the logits and the row of each mixing.
func (s *Session) stepOutput(out []*tensors.Tensor, id int) (*Output, error) {
	logits, err := floats(out[0])
	if err != nil {
		return nil, err
	}
	s.Close()
	s.cache, out = out[1:1+2*s.m.Spec.Layers], out[1+2*s.m.Spec.Layers:]
	s.ids = append(s.ids, id)
	result := &Output{Logits: logits, Rows: make([]trace.Rows, len(s.asks))}
	for i, ask := range s.asks {
		data, err := floats(out[i])
		if err != nil {
			return nil, err
		}
		result.Rows[i] = cutRows(data, s.m.Spec, ask.Heads, 1, s.slots, s.Length()-1, s.Length())
	}
	return result, nil
}

// Length returns how many tokens the text has.
func (s *Session) Length() int { return len(s.ids) }

// grow adds slots to the cache if it is full.
func (s *Session) grow() error {
	if s.Length() < s.slots {
		return nil
	}
	slots := bucket(s.slots + 1)
	added := slots - s.slots
	grown, err := s.m.run(fmt.Sprintf("grow by %d", added), "no weights", func(_ Weights, in []*graph.Node) []*graph.Node {
		out := make([]*graph.Node, len(in))
		for i, x := range in {
			out[i] = graph.GrowRight(x, 2, added, 0)
		}
		return out
	}, s.cache...)
	if err != nil {
		return fmt.Errorf("transformer: growing the cache beyond %d tokens: %w", s.slots, err)
	}
	s.Close()
	s.cache, s.slots = grown, slots
	return nil
}

// Close frees the cache. The session must not be used afterwards.
func (s *Session) Close() {
	for _, t := range s.cache {
		t.MustFinalizeAll()
	}
	s.cache = nil
}

// cutRows copies targets first.. and sources 0..end-1 out of data, [L,H,n,s], whose n targets start at first; H is 1 unless each
// head was asked for, and the targets beyond end are left out.
func cutRows(data []float32, spec *Spec, heads trace.Heads, n, s, first, end int) trace.Rows {
	r := trace.Rows{First: first, L: spec.Layers, H: 1, N: end - first, S: end}
	if heads.Fusion == trace.EachHead {
		r.H = spec.Heads
	}
	r.Data = make([]float32, 0, r.L*r.H*r.N*r.S)
	for lh := range r.L * r.H {
		for t := range r.N {
			at := (lh*n + t) * s
			r.Data = append(r.Data, data[at:at+r.S]...)
		}
	}
	return r
}

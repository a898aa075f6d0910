package transformer

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Session is a text that grows: its keys and values in every layer. It belongs to one goroutine.
type Session struct {
	m      *Model
	asks   []trace.MixingAsk
	mixes  []Mixing
	length int
	slots  int
	// cache is key and value of every layer in turn, 2L tensors [1,H,slots,E].
	cache []*tensors.Tensor
}

// Output is what one pass returns.
type Output struct {
	// Logits is [V], those of the last token fed.
	Logits []float32
	// Rows has one entry for each mixing asked for.
	Rows []trace.Rows
}

// NewSession starts an empty text. asks are the mixings whose rows every pass returns; an error names one that is unknown or
// that cannot fuse heads as asked.
func (m *Model) NewSession(asks []trace.MixingAsk) (*Session, error) {
	s := &Session{m: m, asks: asks}
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
		s.mixes = append(s.mixes, mix)
	}
	return s, nil
}

// Prompt feeds the first tokens of a text, all at once. Mixings that cost a pass per pair are computed layer by layer,
// and progress, if not nil, is told of each.
func (s *Session) Prompt(ctx context.Context, ids []int, progress func(trace.Progress)) (*Output, error) {
	if err := s.m.CheckIDs(ids); err != nil {
		return nil, err
	}
	if err := s.m.checkMemory(len(ids), s.keptArrays()); err != nil {
		return nil, err
	}
	fed := s.m.fed(len(ids))
	s.length, s.slots = len(ids), max(fed, roundUp(len(ids)+1, slotStep))
	rec := recording{asks: s.asks, mixes: s.mixes, blocks: s.anyPerPair()}
	slots := s.slots // the graph is built again for other shapes when this session has grown
	key := fmt.Sprintf("prompt slots=%d %s", slots, rec.key())
	out, err := s.m.run(key, "", func(w Weights, in []*graph.Node) []*graph.Node {
		d := &decoder{spec: s.m.Spec, w: w}
		return d.prompt(in[0], in[1], slots, rec)
	}, idTensor(ids, fed), tensors.FromScalar(int32(len(ids)-1)))
	if err != nil {
		return nil, fmt.Errorf("transformer: %s prompt of %d tokens: %w", s.m.Spec.Family, len(ids), err)
	}
	logits, err := floats(out[0])
	if err != nil {
		return nil, err
	}
	s.cache, out = out[1:1+2*s.m.Spec.Layers], out[1+2*s.m.Spec.Layers:]
	rows, err := s.promptRows(ctx, out, fed, progress)
	return &Output{Logits: logits, Rows: rows}, err
}

// promptRows cuts the rows of a prompt out of what its graph returned, and computes those that cost a pass per pair.
func (s *Session) promptRows(ctx context.Context, out []*tensors.Tensor, fed int, progress func(trace.Progress)) ([]trace.Rows, error) {
	var record *blockRecord
	if s.anyPerPair() {
		var err error
		if record, err = s.m.readBlocks(out[len(out)-blockArrays:], s.length, fed); err != nil {
			return nil, err
		}
	}
	all := make([]trace.Rows, len(s.asks))
	for i, ask := range s.asks {
		first := 0
		if !ask.AllRows {
			first = s.length - 1
		}
		if s.mixes[i].PerPair() {
			rows, err := s.m.pairRows(ctx, record, ask, first, progress)
			if err != nil {
				return nil, err
			}
			all[i] = rows
			continue
		}
		data, err := floats(out[0])
		if err != nil {
			return nil, err
		}
		out = out[1:]
		all[i] = cutRows(data, s.m.Spec, ask.Heads, 0, fed, fed, first, s.length)
	}
	return all, nil
}

// Step feeds one token more.
func (s *Session) Step(ctx context.Context, id int) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped at token %d: %w", s.length, err)
	}
	if s.m.Spec.Context > 0 && s.length+1 > s.m.Spec.Context {
		return nil, fmt.Errorf("transformer: %d tokens are more than the context of %d", s.length+1, s.m.Spec.Context)
	}
	if id < 0 || id >= s.m.Spec.Vocab {
		return nil, fmt.Errorf("transformer: id %d of token %d is outside the vocabulary of %d", id, s.length, s.m.Spec.Vocab)
	}
	if err := s.grow(); err != nil {
		return nil, err
	}
	rec := recording{asks: s.asks, mixes: s.mixes, perPairInside: true}
	inputs := append([]*tensors.Tensor{idTensor([]int{id}, 1), tensors.FromScalar(int32(s.length))}, s.cache...)
	out, err := s.m.run("step "+rec.key(), "", func(w Weights, in []*graph.Node) []*graph.Node {
		d := &decoder{spec: s.m.Spec, w: w, position: in[1]}
		return d.step(in[0], in[2:], rec)
	}, inputs...)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s token %d: %w", s.m.Spec.Family, s.length, err)
	}
	return s.stepOutput(out)
}

// stepOutput takes the new cache and reads the logits and the row of each mixing.
func (s *Session) stepOutput(out []*tensors.Tensor) (*Output, error) {
	logits, err := floats(out[0])
	if err != nil {
		return nil, err
	}
	for _, t := range s.cache {
		t.MustFinalizeAll()
	}
	s.cache, out = out[1:1+2*s.m.Spec.Layers], out[1+2*s.m.Spec.Layers:]
	s.length++
	result := &Output{Logits: logits, Rows: make([]trace.Rows, len(s.asks))}
	for i, ask := range s.asks {
		data, err := floats(out[i])
		if err != nil {
			return nil, err
		}
		result.Rows[i] = cutRows(data, s.m.Spec, ask.Heads, s.length-1, 1, s.slots, s.length-1, s.length)
	}
	return result, nil
}

// Length returns how many tokens the text has.
func (s *Session) Length() int { return s.length }

// grow adds slots to the cache if it is full.
func (s *Session) grow() error {
	if s.length < s.slots {
		return nil
	}
	grown, err := s.m.run("grow", "no weights", func(_ Weights, in []*graph.Node) []*graph.Node {
		out := make([]*graph.Node, len(in))
		for i, x := range in {
			out[i] = graph.GrowRight(x, 2, slotStep, 0)
		}
		return out
	}, s.cache...)
	if err != nil {
		return fmt.Errorf("transformer: growing the cache beyond %d tokens: %w", s.slots, err)
	}
	for _, t := range s.cache {
		t.MustFinalizeAll()
	}
	s.cache = grown
	s.slots += slotStep
	return nil
}

// Close frees the cache. The session must not be used afterwards.
func (s *Session) Close() {
	for _, t := range s.cache {
		t.MustFinalizeAll()
	}
	s.cache = nil
}

// keptArrays is how many arrays [H,T,T] a prompt's pass returns.
func (s *Session) keptArrays() int {
	kept := 0
	for _, ask := range s.asks {
		if ask.Heads.Fusion == trace.EachHead {
			kept += s.m.Spec.Layers
		}
	}
	if s.anyPerPair() {
		kept += s.m.Spec.Layers
	}
	return kept
}

// anyPerPair is whether a mixing needs the blocks themselves.
func (s *Session) anyPerPair() bool {
	for _, m := range s.mixes {
		if m.PerPair() {
			return true
		}
	}
	return false
}

// recording is what a graph returns besides logits and cache.
type recording struct {
	asks  []trace.MixingAsk
	mixes []Mixing
	// perPairInside puts mixings that cost a pass per pair into the graph itself.
	perPairInside bool
	// blocks returns what pairRows needs of every layer.
	blocks bool
}

// key names the recording.
func (r recording) key() string {
	var b strings.Builder
	for _, ask := range r.asks {
		fmt.Fprintf(&b, "%s/%s ", ask.Name, ask.Heads)
	}
	return fmt.Sprintf("%sinside=%v blocks=%v", b.String(), r.perPairInside, r.blocks)
}

// cutRows copies targets first..end-1 and sources 0..end-1 out of data, [L,H,n,s] whose first target is position begin; H is 1
// unless each head was asked for.
func cutRows(data []float32, spec *Spec, heads trace.Heads, begin, n, s, first, end int) trace.Rows {
	r := trace.Rows{First: first, L: spec.Layers, H: 1, N: end - first, S: end}
	if heads.Fusion == trace.EachHead {
		r.H = spec.Heads
	}
	r.Data = make([]float32, 0, r.L*r.H*r.N*r.S)
	for lh := range r.L * r.H {
		for t := first; t < end; t++ {
			at := (lh*n + t - begin) * s
			r.Data = append(r.Data, data[at:at+r.S]...)
		}
	}
	return r
}

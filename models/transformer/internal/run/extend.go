package run

import (
	"context"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// extendRows is how many tokens [Session.Extend] runs at a time. It bounds the scores of a layer,
// [H,extendRows,S].
const extendRows = 256

// headRows is how many targets the head scores at a time, [headRows,V].
const headRows = 32

// Cut shortens the text of the session to its first n tokens, whose keys and values stay. It costs
// nothing. It returns an error if the text has fewer than n tokens.
func (s *Session) Cut(n int) error {
	if n < 0 || n > s.Length() {
		return pkg.Errorf("a text of %d tokens cannot be cut to %d", s.Length(), n)
	}
	// The slots of the other tokens keep finite numbers, which no target sees.
	s.latest.Free()
	s.ids, s.lengths[0], s.latest = s.ids[:n], n, nil
	s.streams.cut(n, s.m.Spec.Width)
	return nil
}

// Extend runs several more tokens, at most 256 at once, on the keys and values of the text so far,
// which may be empty. next are the tokens that follow the last len(next) of ids. Extend returns
// the log-probability of each, in nats: ln softmax(logits)[next]. It returns no rows of mixings.
//
// If a rotary embedding depends on the length of the text (long-context Phi-3 models, dynamic
// scaling), keys that are in the cache keep the turn of the length at which they were computed;
// the ids of one call have that of the length after it.
//
// It returns an error for ids that the model cannot take, for a model without a head that scores
// tokens, and for more next tokens than ids; a [*trace.MemoryError]; and one that wraps ctx.Err()
// within a layer. After an error of a pass, the text has the tokens of the passes before it.
func (s *Session) Extend(ctx context.Context, ids, next []int) ([]float64, error) {
	var all []float64
	err := extendWith(ctx, s, ids, next, func(_ int, logits []float32) error {
		all = append(all, logit.LogProbability(logits, next[len(all)]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// extendWith is [Session.Extend], and calls use with the position and the scores that predict each
// of next.
func extendWith(ctx context.Context, s *Session, ids, next []int,
	use func(position int, logits []float32) error,
) error {
	total := s.Length() + len(ids)
	if err := s.checkExtension(ids, next, total); err != nil {
		return err
	}
	if err := s.placeEdits(len(ids)); err != nil {
		return err
	}
	s.cache.forget()
	if err := s.reserve(total); err != nil {
		return err
	}
	scored := len(ids) - len(next) // the first of ids whose next token is asked for
	for at := 0; at < len(ids); at += extendRows {
		n := min(extendRows, len(ids)-at)
		first := min(max(scored-at, 0), n)
		err := s.extend(ctx, ids[at:at+n], total, first, use)
		if err != nil {
			return pkg.Errorf("%s tokens %d to %d: %w", s.m.Spec.Family,
				s.Length(), s.Length()+n-1, err)
		}
	}
	return nil
}

// checkExtension checks the arguments of Extend; total is the length of the text after it.
func (s *Session) checkExtension(ids, next []int, total int) error {
	if err := CheckVocabulary(s.m.Spec, ids); err != nil {
		return err
	}
	if s.m.Spec.Encoder > 0 && (s.Length() == 0 || slices.Contains(ids, s.m.Spec.Boundary())) {
		return pkg.Errorf("%s has an encoder, which reads the source at once", s.m.Spec.Family)
	}
	longest := total - graph.BoundaryIn(s.m.Spec, s.ids)
	if limit := s.m.Spec.Context; limit > 0 && longest > limit {
		return pkg.Errorf("%d tokens are more than the context of %d", longest, limit)
	}
	if len(next) > len(ids) {
		return pkg.Errorf("%d next tokens for %d tokens", len(next), len(ids))
	}
	if len(next) > 0 {
		if s.m.Spec.Head == spec.NoHead {
			return pkg.Errorf("the %s model has no head, so no next token has a "+
				"probability", s.m.Spec.Family)
		}
		if err := CheckVocabulary(s.m.Spec, next); err != nil {
			return err
		}
	}
	return s.checkExtensionMemory(total, min(extendRows, len(ids)), len(next) > 0)
}

// checkExtensionMemory returns a [*trace.MemoryError] if n more tokens of a text of total tokens do
// not fit: the keys and values of the text, the scores and streams of a layer, and its edits.
func (s *Session) checkExtensionMemory(total, n int, scores bool) error {
	m, spec := s.m, s.m.Spec
	slots, rows := float64(host.Bucket(total)), float64(m.Padded(n))
	bytes := 4 * float64(spec.Layers) * slots * float64(spec.CacheWidth())
	bytes += passArrays * 4 * float64(spec.Heads) * rows * slots
	bytes += 4 * rows * (10*float64(spec.Width) + 2*float64(spec.InnerWidth()))
	bytes += editBytes(spec, edit.Taps(s.wanted), rows, slots) + 4*float64(edit.Values(s.wanted))
	if scores {
		bytes += 2*4*headRows*float64(logit.Scored(spec)) + m.headTable(Need{Head: true, Texts: 2})
	}
	if bytes <= float64(m.Limit()) {
		return nil
	}
	return m.refused("keys and values", 1, total, int64(min(bytes, maxEstimate)),
		"take a shorter text or fewer taps")
}

// reserve makes the cache large enough for so many tokens.
func (s *Session) reserve(total int) error {
	slots := host.Bucket(max(total+s.spare(), s.room))
	switch {
	case s.cache == nil:
		empty, err := s.m.emptyStore(1, slots)
		if err != nil {
			return err
		}
		s.cache = empty
	case s.cache.slots < total+s.spare():
		grown, err := s.cache.grown(slots, s.Length())
		if err != nil {
			return pkg.Errorf("growing the cache beyond %d tokens: %w", s.cache.slots, err)
		}
		s.freeCache()
		s.cache = grown
	}
	return nil
}

// extend runs ids in one pass. length is that of the whole text, for rotary embeddings that depend
// on it. It calls use with the position and the scores after each of ids[first:].
func (s *Session) extend(ctx context.Context, ids []int, length, first int,
	use func(position int, logits []float32) error,
) error {
	n := len(ids)
	padded := n
	if s.m.Machine.PromptStep > 1 { // not [Model.Padded]: a text may end at the end of the context
		padded = host.Bucket(n)
	}
	begin := tensors.FromScalar(int32(s.Length()))
	text := []*tensors.Tensor{
		host.IDTensor(ids, padded), begin, withBoundaries(s.m.Spec, length, s.ids),
		tensors.FromScalar(int32(s.Length() + n)),
	}
	defer host.Free(text...)
	edits := s.newEdits(s.Length(), n, padded, s.cache.slots)
	x, err := s.onCache(ctx, text, s.m.extensionEmbedding(), edits, s.m.extensionLayer,
		func(step *LayerStep) error {
			if step.idle() {
				return nil
			}
			into := stretch{first: s.Length(), n: n}
			return s.cache.put(step.Layer, step.Collected, into)
		})
	if err != nil {
		return err
	}
	defer host.Free(x)
	before := s.Length()
	if err := readLogits(s.m, x, first, n, func(i int, logits []float32) error {
		return use(before+i, logits)
	}); err != nil {
		return err
	}
	s.latest.Free()
	s.ids, s.latest = append(s.ids, ids...), nil
	s.lengths[0] = len(s.ids)
	return nil
}

// extensionText is the text of a graph whose inputs are ids [1,N], the slot of the first of them,
// the length of the whole text, and that with these ids.
func (m *Model) extensionText(w codes.Weights, in []*Node) *graph.Builder {
	return m.Builder(w, graph.Text{IDs: in[0], First: in[1], Length: in[2]})
}

// extensionEmbedding is the graph of the residual stream before block 0, [1,N,D].
func (m *Model) extensionEmbedding() program.Program {
	return program.New("extend embed", codes.EndsWeights,
		func(w codes.Weights, in []*Node) []*Node {
			return []*Node{m.extensionText(w, in).Embed()}
		})
}

// extensionLayer is the graph of layer l for several tokens after a cache. Its inputs are those of
// [Model.extensionText], the stream x [1,N,D] and the layer's keys and values, [1,G,S,E] each. It
// returns the stream after the layer and what [keptOnCache] gives.
func (m *Model) extensionLayer(l int, edited []trace.Tap) program.Program {
	kind, weights := graph.KindOf(m.Spec, l)
	key := "extend " + kind + edit.Key(edited)
	return program.New(key, weights, func(w codes.Weights, in []*Node) []*Node {
		in, edits := graph.CutEdits(in, edited)
		d := m.extensionText(w, in)
		d.Edits = edits
		b, now := d.ExtendBlock(l, in[4], graph.Cache{Key: in[5], Value: in[6]}, in[3])
		return append([]*Node{b.Output}, keptOnCache(m, b, now)...)
	})
}

// readLogits calls use with the scores of the targets [first,end), of the residual stream x after
// the last block, [1,N,D].
func readLogits(m *Model, x *tensors.Tensor, first, end int,
	use func(i int, logits []float32) error,
) error {
	if first == end {
		return nil
	}
	var stream []float32
	width := m.Spec.Width
	if err := host.Read(x, func(data []float32) {
		stream = append(stream, data[first*width:end*width]...)
	}); err != nil {
		return err
	}
	for at := first; at < end; at += headRows {
		n := min(headRows, end-at)
		positions := make([]int, n)
		if m.Machine.PromptStep > 1 {
			positions = make([]int, headRows)
		}
		for i := range n {
			positions[i] = i
		}
		part, err := m.Machine.Filled([]int{1, len(positions), width}, func(data []float32) {
			copy(data, stream[(at-first)*width:(at-first+n)*width])
		})
		if err != nil {
			return err
		}
		r := &Reading{inputs: m.TextInputs(positions), length: len(positions), x: part}
		logits, err := r.Logits(positions...)
		r.Close()
		if err != nil {
			return err
		}
		for i, scores := range logits[:n] {
			if err := use(at+i, scores); err != nil {
				return err
			}
		}
	}
	return nil
}

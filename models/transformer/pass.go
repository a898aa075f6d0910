package transformer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like the formulas, as GoMLX's own does
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// pass feeds a whole text at once and returns the rows of mixings.
type pass struct {
	m     *Model
	asks  []trace.MixingAsk
	mixes []Mixing
	ids   []int
	// read is the position at which the head looks.
	read int
	// slots is how many a cache is made for; cache is what was made, 2L tensors, none of an encoder.
	slots int
	cache []*tensors.Tensor
}

// Read feeds a whole text, of T tokens, at once and returns the scores of the head at one position and the rows of every target:
// how an encoder is explained. Asks are as in [Model.NewSession]; their AllRows does not matter. It returns an error for ids that
// the model cannot take and a position outside the text.
func (m *Model) Read(ctx context.Context, ids []int, position int, asks []trace.MixingAsk, progress func(trace.Progress)) (*Output, error) {
	if err := m.CheckIDs(ids); err != nil {
		return nil, err
	}
	if position < 0 || position >= len(ids) {
		return nil, fmt.Errorf("transformer: position %d is not in 0..%d", position, len(ids)-1)
	}
	asks = slices.Clone(asks)
	for i := range asks {
		asks[i].AllRows = true
	}
	mixes, err := m.mixings(asks)
	if err != nil {
		return nil, err
	}
	p := pass{m: m, asks: asks, mixes: mixes, ids: ids, read: position}
	defer p.free()
	return p.run(ctx, progress)
}

func (p *pass) free() {
	for _, t := range p.cache {
		t.MustFinalizeAll()
	}
}

// run executes the pass.
func (p *pass) run(ctx context.Context, progress func(trace.Progress)) (*Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("transformer: stopped before the prompt: %w", err)
	}
	if err := p.m.checkMemory(len(p.ids)*len(p.ids), p.keptArrays()); err != nil {
		return nil, err
	}
	spec, fed := p.m.Spec, p.m.fed(len(p.ids))
	if spec.Head == NoHead && spec.Bidirectional && len(p.asks) == 0 {
		return &Output{}, nil // a graph must return something
	}
	rec := recording{asks: p.asks, mixes: p.mixes, blocks: p.anyPerPair()}
	slots := p.slots // a builder serves later passes of the same key as well, so it keeps nothing of this one
	key := fmt.Sprintf("prompt slots=%d %s", slots, rec.key())
	out, err := p.m.run(key, "", func(w Weights, in []*Node) []*Node {
		rec := rec
		rec.last = AddScalar(in[1], -1)
		d := newBuilder(spec, w, text{ids: in[0], length: in[1], positions: optional(in[3:])})
		return d.prompt(in[2], slots, rec)
	}, p.inputs(fed)...)
	if err != nil {
		return nil, fmt.Errorf("transformer: %s prompt of %d tokens: %w", spec.Family, len(p.ids), err)
	}
	result := &Output{}
	if spec.Head != NoHead {
		if result.Logits, err = floats(out[0]); err != nil {
			return nil, err
		}
		out = out[1:]
	}
	if !spec.Bidirectional {
		p.cache, out = out[:2*spec.Layers], out[2*spec.Layers:]
	}
	result.Rows, err = p.rows(ctx, out, fed, progress)
	return result, err
}

// inputs are the ids [1,fed], the length, the position read, and the positions if they are not the slots.
func (p *pass) inputs(fed int) []*tensors.Tensor {
	in := []*tensors.Tensor{idTensor(p.ids, fed), tensors.FromScalar(int32(len(p.ids))), tensors.FromScalar(int32(p.read))}
	if p.m.Spec.SkipPosition {
		in = append(in, tensors.FromFlatDataAndDimensions(p.m.Spec.positions(p.ids, fed), 1, fed))
	}
	return in
}

// optional returns the first of nodes, nil if there is none.
func optional(nodes []*Node) *Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

// positions returns the positions of ids, filled up to n: those of [Spec.SkipID] are -1 and count for nothing.
func (s *Spec) positions(ids []int, n int) []int32 {
	at := make([]int32, n)
	next := int32(0)
	for i, id := range ids {
		if s.SkipPosition && id == s.SkipID {
			at[i] = -1
			continue
		}
		at[i] = next
		next++
	}
	return at
}

// rows cuts the rows out of what the graph returned, and computes those that cost a pass per pair.
func (p *pass) rows(ctx context.Context, out []*tensors.Tensor, fed int, progress func(trace.Progress)) ([]trace.Rows, error) {
	var record *blockRecord
	if p.anyPerPair() {
		var err error
		if record, err = p.m.readBlocks(out[len(out)-blockArrays:], len(p.ids), fed); err != nil {
			return nil, err
		}
	}
	all := make([]trace.Rows, len(p.asks))
	for i, ask := range p.asks {
		first, targets := 0, fed
		if !ask.AllRows {
			first, targets = len(p.ids)-1, 1
		}
		if p.mixes[i].PerPair() {
			rows, err := p.m.pairRows(ctx, record, ask, first, progress)
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
		all[i] = cutRows(data, p.m.Spec, ask.Heads, targets, fed, first, len(p.ids))
	}
	return all, nil
}

// keptArrays is how many arrays [H,T,T] the pass returns.
func (p *pass) keptArrays() int {
	kept := 0
	for _, ask := range p.asks {
		if ask.Heads.Fusion == trace.EachHead && ask.AllRows {
			kept += p.m.Spec.Layers
		}
	}
	if p.anyPerPair() {
		kept += p.m.Spec.Layers
	}
	return kept
}

// anyPerPair is whether a mixing needs the blocks themselves.
func (p *pass) anyPerPair() bool { return slices.ContainsFunc(p.mixes, Mixing.PerPair) }

// recording is what a graph returns besides logits and cache.
type recording struct {
	asks  []trace.MixingAsk
	mixes []Mixing
	// perPairInside puts mixings that cost a pass per pair into the graph itself.
	perPairInside bool
	// blocks returns what pairRows needs of every layer.
	blocks bool
	// last is the slot of the last token: asks for its row alone return [.., 1, S]. It is nil in a step, which has one row.
	last *Node
}

// key names the recording.
func (r recording) key() string {
	var b strings.Builder
	for _, ask := range r.asks {
		fmt.Fprintf(&b, "%s/%s all=%v ", ask.Name, ask.Heads, ask.AllRows)
	}
	return fmt.Sprintf("%sinside=%v blocks=%v", b.String(), r.perPairInside, r.blocks)
}

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// Latest is what the last pass of a session did to the last token of each of its texts, which
// [Session.Terms] and [Session.RowsOfLayer] read. The backend keeps the tensors, which have a place
// for each text b of the session.
type Latest struct {
	// rows are the places of the texts of the pass, texts is how many places there are, and logits
	// are the scores of each of rows, [V].
	rows   []int
	texts  int
	logits [][]float32
	// Input and Output are each layer's input and Attention output, [B,1,D]; attention is
	// [B,H,1,slots]. sum is what [graph.SumBeforeNorm] gives, [B,1,D], nil in layers where
	// [graph.SumsBeforeNorm] is false. All are nil for layers that left the tokens as they were.
	// Final is the residual stream after the last layer, [B,1,D].
	Input, Output, Attention, sum []*tensors.Tensor
	Final                         *tensors.Tensor
}

// Free frees what is kept, also nothing.
func (k *Latest) Free() {
	if k == nil {
		return
	}
	host.Free(k.Final)
	for _, all := range [][]*tensors.Tensor{k.Input, k.Output, k.Attention, k.sum} {
		host.Free(all...)
	}
}

// stream is the residual stream before layer l, or after the last layer, [B,1,D].
func (k *Latest) stream(l int) *tensors.Tensor {
	for ; l < len(k.Input); l++ {
		if k.Input[l] != nil {
			return k.Input[l]
		}
	}
	return k.Final
}

// KeepTerms makes every later pass keep what [Session.Terms] and [Session.RowsOfLayer] need. It is
// called before [Session.Prompt]. rows are what RowsOfLayer will be asked for, so that their graphs
// can be compiled while the prompt is read. It returns an error for a mixing that does not exist
// and heads that it cannot fuse.
func (s *Session) KeepTerms(rows ...trace.MixingAsk) error {
	late, err := graph.LookupMixings(s.m.Spec, rows...)
	if err != nil {
		return err
	}
	s.terms, s.late = true, late
	for i := range s.late {
		s.late[i].AllRows = false
	}
	return nil
}

// SplitTerms makes what [Session.Terms] returns have the part of each head. It is called before
// [Session.Prompt].
func (s *Session) SplitTerms() { s.byHead = true }

// Terms returns what the last token of the text read from each source in each layer for the sum of
// logits that of names: the attention part of [transformer.Model.LogitTerms], from what the cache
// holds. o must have the quantity [trace.Logit]; its position is not used. It costs a product by
// each layer's output projection, L·D² multiplications, and L·H·S·E for S sources. It returns an
// error without a pass that kept its terms, for an objective that the model does not have, and one
// that wraps ctx.Err().
func (s *Session) Terms(
	ctx context.Context, o trace.Objective,
) (*trace.AttentionTerms, error) {
	all, err := s.lastTerms(ctx, []*trace.Objective{&o})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Terms returns, for each text of the last pass, what [Session.Terms] returns for the objective at
// the same place, nil for a nil objective. It returns an error without a pass that kept its terms,
// for a quantity other than [trace.Logit], for an objective that the model does not have, and one
// that wraps ctx.Err().
func (s *BatchSession) Terms(
	ctx context.Context, objectives []*trace.Objective,
) ([]*trace.AttentionTerms, error) {
	return s.lastTerms(ctx, objectives)
}

// lastTerms is [BatchSession.Terms].
func (s *texts) lastTerms(
	ctx context.Context, objectives []*trace.Objective,
) ([]*trace.AttentionTerms, error) {
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("stopped before the parts of a token: %w", err)
	}
	k := s.latest
	if k == nil || len(objectives) != len(k.rows) {
		return nil, pkg.Errorf("%d objectives for the parts of the last tokens; "+
			"the session has to keep them, one for each text of a pass", len(objectives))
	}
	all, asked := make([]*trace.AttentionTerms, len(objectives)), false
	for i, o := range objectives {
		if o == nil {
			continue
		}
		at, n := *o, s.lengths[k.rows[i]]
		at.Position = n - 1
		if at.Quantity != trace.Logit {
			return nil, pkg.Errorf("text %d: the quantity %q is not a sum of parts; "+
				"take %s", i, at.Quantity, trace.Logit)
		}
		if err := logit.CheckObjective(s.m.Spec, at, n); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
		asked, all[i] = true, &trace.AttentionTerms{
			L: s.m.Spec.Layers, S: n, Attention: make([]float64, s.m.Spec.Layers*n),
			Value: logit.ObjectiveValue(s.m.Spec, at, k.logits[i]),
		}
		if s.byHead {
			all[i].ByHead = make([]float64, s.m.Spec.Layers*s.m.Spec.Heads*n)
		}
	}
	if !asked {
		return all, nil
	}
	if err := s.readTerms(ctx, objectives, all); err != nil {
		return nil, pkg.Errorf("%s parts of a token of %d texts: %w", s.m.Spec.Family,
			len(all), err)
	}
	return all, nil
}

// readTerms fills in the attention parts.
func (s *texts) readTerms(
	ctx context.Context, objectives []*trace.Objective, all []*trace.AttentionTerms,
) error {
	kept := s.termsKept()
	heads, slots := 1, s.cache.slots
	if s.byHead {
		heads = s.m.Spec.Heads
	}
	asked := AskedTensors(s.m.Spec, objectives, s.latest.rows, s.latest.texts)
	defer host.Free(asked...)
	return s.termsOnCache(ctx, asked, func(l int, parts []float32) { // [B,heads,slots]
		for i, terms := range all {
			for h := range heads {
				if terms == nil {
					continue
				}
				own := parts[(s.latest.rows[i]*heads+h)*slots:]
				for j := range terms.S {
					terms.Attention[l*terms.S+j] += kept[l] * float64(own[j])
					if s.byHead {
						terms.ByHead[(l*heads+h)*terms.S+j] = kept[l] * float64(own[j])
					}
				}
			}
		}
	})
}

// termsKept is what the attention parts of each layer are multiplied by, [L]: what edits multiply
// on the way to the logit, they multiply in the parts. What edits put in comes from no source.
func (s *texts) termsKept() []float64 {
	all := make([]float64, s.m.Spec.Layers)
	kept := float64(s.streamKept(trace.Hidden, len(all)))
	for l := len(all) - 1; l >= 0; l-- {
		kept *= float64(s.streamKept(trace.HiddenAfterAttention, l))
		all[l] = kept * float64(s.streamKept(trace.AttentionOutput, l))
		kept *= float64(s.streamKept(trace.Hidden, l))
	}
	return all
}

// streamKept is the factor by which edits multiply a tap without heads in layer l, at the last
// token of the only text; 1 without edits.
func (s *texts) streamKept(tap trace.Tap, l int) float32 {
	return edit.Kept(s.edits, tap, l, s.lengths[0]-1)
}

// directionProgram is the graph of the directions on the residual stream after the last layer,
// [B,1,D], given a positive number, what [AskedTensors] gives and that stream; see
// [logit.BeforeHead].
func directionProgram(m *Model) program.Program {
	return program.New("direction on the cache", codes.EndsWeights,
		func(w codes.Weights, in []*Node) []*Node {
			return []*Node{directions(m, w, in)}
		})
}

// directions builds the directions of [directionProgram].
func directions(m *Model, w codes.Weights, in []*Node) *Node {
	return logit.BeforeHead(m.Builder(w, graph.Text{Length: in[0]}), in[3], in[1], in[2]).Along
}

// mostTermLayers is how many layers one graph of [texts.termsOnCache] takes. A call costs 0.15 to
// 0.4 ms whatever it computes, and XLA compiles a layer in 28 ms.
const mostTermLayers = 12

// termGraphs yields the layers, begin to end-1, of each graph of [texts.termsOnCache], from the
// last layer to the first. All have the same number of layers and share one compiled graph. The
// graph of the first layers may have fewer, and is then compiled apart. The encoder's layers, which
// leave a target as it is, have no part.
func (m *Model) termGraphs(yield func(begin, end int) bool) {
	most := mostTermLayers
	if m.TermsAtOnce > 0 {
		most = m.TermsAtOnce
	}
	first := m.Spec.Encoder
	each := host.Evenly(m.Spec.Layers-first, most)
	for end := m.Spec.Layers; end > first; end -= each {
		if !yield(max(first, end-each), end) {
			return
		}
	}
}

// oneTermGraph reports whether the layers begin to end-1 are all that have parts. Their graph then
// computes the directions after the last layer too, which saves a call. Where several graphs are
// one, compiled once, it does not.
func oneTermGraph(s *spec.Spec, begin, end int) bool {
	return begin == s.Encoder && end == s.Layers
}

// termsOnCache calls use with the parts of the sources of each layer, [B·slots] or, of each head,
// [B·H·slots], from the last layer to the first, for what [AskedTensors] gives.
func (s *texts) termsOnCache(
	ctx context.Context, asked []*tensors.Tensor, use func(l int, parts []float32),
) error {
	m, k := s.m, s.latest
	length := tensors.FromScalar(int32(1)) // only a positive number is needed
	// from is what the graph of the next layers begins with, and along the directions in it.
	from := append([]*tensors.Tensor{length}, append(asked[:len(asked):len(asked)], k.Final)...)
	var along *tensors.Tensor
	defer func() { host.Free(along, length) }()
	for begin, end := range m.termGraphs {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at layer %d on the way back: %w", end-1, err)
		}
		if end == m.Spec.Layers && !oneTermGraph(m.Spec, begin, end) {
			var err error
			if along, err = host.Only(m.Machine.Execute(directionProgram(m), from...)); err != nil {
				return err
			}
			from = []*tensors.Tensor{length, along}
		}
		inputs := slices.Clone(from)
		for l := begin; l < end; l++ {
			inputs = append(inputs, k.Attention[l], s.cache.value(l))
			if logit.NormsOnTheWay(m.Spec) {
				inputs = append(inputs, k.Input[l], k.Output[l])
			}
			if graph.SumsBeforeNorm(m.Spec, l) {
				inputs = append(inputs, k.sum[l])
			}
		}
		out, err := m.Machine.Execute(termsProgram(m, begin, end, k.texts, s.byHead), inputs...)
		if err != nil {
			return fmt.Errorf("layers %d to %d on the way back: %w", begin, end-1, err)
		}
		host.Free(along)
		along = out[0]
		from = []*tensors.Tensor{length, along}
		err = host.Read(out[1], func(data []float32) {
			size := len(data) / (end - begin)
			for l := end - 1; l >= begin; l-- {
				use(l, data[(l-begin)*size:][:size])
			}
		})
		host.Free(out[1])
		if err != nil {
			return err
		}
	}
	return nil
}

// termsProgram is the graph that returns, given a positive number and the directions after layer
// end-1 for so many texts, those before layer begin, [P,1,D] both, and the parts of the sources of
// the layers between, [layers,P,S], or of each head, [layers,P,H,S]. With [oneTermGraph] it gets
// the inputs of [directionProgram] in the place of those two. Its other inputs are, for each layer,
// its attention and values and, with [logit.NormsOnTheWay], its input and attention output, and
// with [graph.SumsBeforeNorm] that sum. Every further input would cost 1.5 to 3 µs.
func termsProgram(m *Model, begin, end, texts int, byHead bool) program.Program {
	norms := logit.NormsOnTheWay(m.Spec)
	var weights []string
	columns := make([]bool, end-begin) // whether a layer's output projection is in codes by columns
	for l := begin; l < end; l++ {
		which, inCodes := codes.OfLayer(l), codes.ByColumns+codes.OfLayer(l)
		switch {
		case norms:
			own := which
			for _, name := range []string{"attention-norm", "attention-after-norm", "mlp-norm"} {
				which += name + ". " + own
			}
			which += "output."
		case texts == 1 && len(m.Machine.WeightsOf(inCodes).Names) > 0:
			columns[l-begin] = true
			which += "output.bias " + inCodes
		default:
			which += "output."
		}
		weights = append(weights, which)
	}
	key := fmt.Sprintf("terms of layers %v on the cache, by head %v", columns, byHead)
	for l := begin; l < end && m.Spec.Encoder > 0; l++ {
		key += fmt.Sprintf(" stack=%d", m.Spec.Stack(l))
	}
	whole := oneTermGraph(m.Spec, begin, end)
	if whole {
		key, weights = key+" from the head", append(weights, codes.EndsWeights)
	}
	return program.New(
		key,
		strings.Join(weights, " "),
		func(w codes.Weights, in []*Node) []*Node {
			length, along, parts := in[0], in[1], make([]*Node, end-begin)
			layers, rest := make([]logit.TargetNodes, end-begin), 2
			if whole {
				along, rest = directions(m, w, in), 4
			}
			in = in[rest:]
			next := func() *Node { first := in[0]; in = in[1:]; return first }
			for l := begin; l < end; l++ {
				k := logit.TargetNodes{Attention: next(), Value: next()}
				if norms {
					k.Input, k.Output = next(), next()
				}
				if graph.SumsBeforeNorm(m.Spec, l) {
					k.Sum = next()
				}
				layers[l-begin] = k
			}
			for l := end - 1; l >= begin; l-- {
				t := logit.TermsOf(m.Builder(w, graph.Text{Length: length}), l, layers[l-begin],
					along)
				along, parts[l-begin] = t.Input.Along, t.Sources
				if byHead {
					parts[l-begin] = t.Heads
				}
			}
			return []*Node{along, Stack(parts, 0)}
		},
	)
}

// addPrompt adds what [graph.KeptAt] returned of the next layer, for a pass over the first tokens
// of texts. It puts them in their places, and gives their attention the slots of the cache, so that
// what reads it has one graph. What it keeps as it is becomes nil in own.
func (k *Latest) addPrompt(m *Model, own []*tensors.Tensor, slots int) error {
	placed := make([]*tensors.Tensor, len(own))
	for i, t := range own {
		if i != graph.LastAttention && k.texts == 1 { // it is in its place
			placed[i], own[i] = t, nil
			continue
		}
		dims := slices.Clone(t.Shape().Dimensions)
		each, last := t.Shape().Size()/dims[0], dims[len(dims)-1]
		dims[0] = k.texts
		if i == graph.LastAttention {
			dims[len(dims)-1] = slots
		}
		var err error
		placed[i], err = m.Machine.FilledFrom(t, dims, func(to, from []float32) {
			size := len(to) / k.texts
			for i, row := range k.rows {
				host.CopySlots(to[row*size:(row+1)*size], from[i*each:(i+1)*each], each/last,
					min(last, dims[len(dims)-1]))
			}
		})
		if err != nil {
			host.Free(placed...)
			return err
		}
	}
	host.Free(k.Final)
	k.Input, k.Output = append(k.Input, placed[0]), append(k.Output, placed[1])
	k.Attention, k.Final = append(k.Attention, placed[graph.LastAttention]), placed[len(placed)-1]
	var sum *tensors.Tensor
	if len(placed) > graph.LastAttention+2 {
		sum = placed[graph.LastAttention+1]
	}
	k.sum = append(k.sum, sum)
	return nil
}

// RowsOfLayer returns the row of a mixing for the last token of the text in layer l alone, L and N
// are 1, from what the cache holds. It costs what the mixing costs in that layer, and a pass keeps
// what it needs if it keeps terms; see [Session.KeepTerms]. It returns an error without such a
// pass, for a layer or a mixing that does not exist, for heads that the mixing cannot fuse, and one
// that wraps ctx.Err().
func (s *Session) RowsOfLayer(
	ctx context.Context, l int, ask trace.MixingAsk,
) (trace.Rows, error) {
	if err := ctx.Err(); err != nil {
		return trace.Rows{}, pkg.Errorf("stopped before the row of token %d: %w", s.Length(), err)
	}
	if s.latest == nil || s.cache == nil {
		return trace.Rows{}, pkg.Errorf("no row of a single layer: " +
			"the session has to keep terms, and to read a text")
	}
	if l < 0 || l >= s.m.Spec.Layers {
		return trace.Rows{}, pkg.Errorf("layer %d is not in 0..%d", l, s.m.Spec.Layers-1)
	}
	ask.AllRows = false
	asks, err := graph.LookupMixings(s.m.Spec, ask)
	if err != nil {
		return trace.Rows{}, err
	}
	rows := emptyRows(s.m.Spec, ask, s.Length())
	rows.L, rows.Data = 1, rows.Data[:rows.H*rows.S]
	if err := s.rowOfLayer(l, asks[0], &rows); err != nil {
		return trace.Rows{}, pkg.Errorf("%s token %d, layer %d: %s: %w",
			s.m.Spec.Family, s.Length(), l, ask.Name, err)
	}
	return rows, nil
}

// rowOfLayer fills in the row of a mixing in layer l. The last token is a tile of one target over
// all slots of the cache, so that one graph serves until the cache grows.
func (s *Session) rowOfLayer(l int, ask graph.Asked, rows *trace.Rows) error {
	if idleOnCache(s.m.Spec, l) { // the token looks at itself
		for h := range rows.H {
			rows.Row(0, h, 0)[rows.S-1] = 1
		}
		return nil
	}
	at := []*tensors.Tensor{
		tensors.FromScalar(int32(s.Length() - 1)), withBoundaries(s.m.Spec, s.Length(), s.ids),
	}
	defer host.Free(at...)
	k := s.latest
	inputs := slices.Concat([]*tensors.Tensor{k.Input[l]}, at, s.cache.of(l))
	var p program.Program
	if s.edits == nil {
		p = rowProgram(s.m, l, ask, s.sourcesOf(l, ask))
		inputs = append(inputs, k.Attention[l], k.Output[l], k.stream(l+1))
	} else {
		edited, edits, err := s.newEdits(s.Length()-1, 1, 1, s.cache.slots).Layer(l)
		if err != nil {
			return err
		}
		defer host.Free(edits...)
		p, inputs = tileProgram(s.m, l, ask, edited), append(inputs, edits...)
	}
	out, err := s.m.Machine.Execute(p, inputs...)
	if err != nil {
		return err
	}
	defer host.Free(out...)
	return putTile(rows, 0, out[0], rows.First, 1)
}

// sourcesOf returns how many slots of the cache the row of a mixing in layer l needs: those of the
// source, rounded up, where a layer reads the source alone and the mixing says nothing of the
// target itself; else 0, for all.
func (s *Session) sourcesOf(l int, ask graph.Asked) int {
	if !ask.ZeroesSources() || s.m.Spec.Stack(l) != spec.Crossing {
		return 0
	}
	n := host.RoundUp(graph.BoundaryOf(s.m.Spec, s.ids), host.SlotStep/2)
	if n >= s.cache.slots {
		return 0
	}
	return n
}

// rowProgram is the graph of the row of a mixing in layer l, [1,(H,)1,S], over the first so many
// slots, 0 for all, from what the pass kept. After the inputs of [tileProgram] come the
// attention, [1,H,1,S], the attention output and the stream after the layer, [1,1,D] each. What a
// mixing does not read of the layer is not computed again: queries, keys and scores, as a rule.
func rowProgram(m *Model, l int, ask graph.Asked, sources int) program.Program {
	kind, weights := graph.KindOf(m.Spec, l, ask)
	return program.New(
		fmt.Sprintf("tile %s %skept, over the first %d", kind, graph.Describe(ask), sources),
		weights,
		func(w codes.Weights, in []*Node) []*Node {
			first := func(x *Node, axis int) *Node {
				if sources == 0 {
					return x
				}
				return SliceAxis(x, axis, AxisRange(0, sources))
			}
			b := BlockOfTile(m, w, l,
				append(slices.Clone(in[:3]), first(in[3], 2), first(in[4], 2)))
			graph.Replaced(b, first(in[5], 3), in[6], in[7])
			return []*Node{graph.VisibleRows(b, ask)}
		},
	)
}

// askedStep is what [AskedTensors] rounds the number of scores up to. By default there are 5 foils.
const askedStep = 8

// AskedTensors are the scores and factors of [logit.AskedScores] for objectives of the texts in
// rows, of so many texts, [texts,N] each. A nil objective asks for none. N is a multiple of
// askedStep, so that with a contrast, with a few foils and without any they are inputs of one
// graph.
func AskedTensors(s *spec.Spec, objectives []*trace.Objective, rows []int,
	texts int,
) []*tensors.Tensor {
	ids, weights, most := make([][]int32, texts), make([][]float32, texts), 0
	for i, o := range objectives {
		if o != nil {
			ids[rows[i]], weights[rows[i]] = logit.AskedScores(s, *o)
			most = max(most, len(ids[rows[i]]))
		}
	}
	most = host.RoundUp(most, askedStep)
	flatIDs, flatWeights := make([]int32, texts*most), make([]float32, texts*most)
	for i := range ids {
		copy(flatIDs[i*most:], ids[i])
		copy(flatWeights[i*most:], weights[i])
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(flatIDs, texts, most),
		tensors.FromFlatDataAndDimensions(flatWeights, texts, most),
	}
}

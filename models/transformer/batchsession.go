package transformer

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// BatchSession is a [Session] of several texts that grow together: the weights are read once for
// all of them. It has room for B texts. Each of them has a row with a length of its own, and when
// a text ends, its row can get another one. A text gets the numbers that it gets alone, up to
// rounding. It belongs to one goroutine.
type BatchSession struct {
	m     *Model
	asks  []trace.MixingAsk
	mixes []Mixing
	terms bool
	// lengths has the number of tokens of the text in each row, 0 for a free row.
	lengths []int
	cache   *batchCache
	latest  *batchLatest
}

// batchLatest is what the last pass did to the last token of each of its texts, for
// [BatchSession.Terms].
type batchLatest struct {
	// rows are the rows of the session that were asked for, and at their places in the tensors.
	rows, at []int
	// lengths are the lengths of their texts after the pass.
	lengths []int
	lastToken
	value  []*tensors.Tensor // of each layer, [P,G,S,E]; nil where it is that of the cache
	logits [][]float32       // of each of rows
}

func (k *batchLatest) free() {
	if k == nil {
		return
	}
	k.lastToken.free()
	free(k.value...)
}

// BatchAsk is what a [BatchSession] is opened for.
type BatchAsk struct {
	// Asks are the mixings whose rows every pass returns.
	Asks []trace.MixingAsk
	// Terms says that [BatchSession.Terms] will be called.
	Terms bool
	// Texts is the number of rows, and Tokens the length of the longest text in the end.
	Texts, Tokens int
}

// need is what the largest pass of the session does.
func (a BatchAsk) need() need {
	return need{
		Tokens: a.Tokens, Texts: a.Texts, Asks: a.Asks, Slots: a.Texts * bucket(a.Tokens),
		Terms: a.Terms, Head: true,
	}
}

// BatchBytes returns about how many bytes a session needs besides the weights: keys and values, and
// its largest pass.
func (m *Model) BatchBytes(ask BatchAsk) int64 { return m.estimate(ask.need()) }

// CheckBatch returns an error if the model cannot run what is asked for in a batch: it is an
// encoder, a mixing costs a pass for each pair of tokens or cannot fuse heads as asked, or the
// length of a text changes how all its keys are turned.
func (m *Model) CheckBatch(ask BatchAsk) error {
	_, err := m.batchMixings(ask)
	return err
}

// batchMixings looks up the mixings of a batch, with the errors of [Model.CheckBatch].
func (m *Model) batchMixings(ask BatchAsk) ([]Mixing, error) {
	if err := m.checkGenerates(); err != nil {
		return nil, err
	}
	mixes, err := m.mixings(ask.Asks)
	if err != nil {
		return nil, err
	}
	for i, mix := range mixes {
		if mix.PerPair() {
			return nil, fmt.Errorf("transformer: %s costs a pass for each pair of tokens, "+
				"which batches do not compute; run one text at a time", ask.Asks[i].Name)
		}
	}
	if r := m.turnedByLength(ask.Tokens); r != nil {
		return nil, fmt.Errorf("transformer: beyond %d tokens the length of a %s text turns all "+
			"its keys; run one text at a time", r.Original, m.Spec.Family)
	}
	return mixes, nil
}

// NewBatchSession opens a session without texts. It returns an error of [Model.CheckBatch] and a
// [*trace.MemoryError] if the session would need more memory than a pass may take.
func (m *Model) NewBatchSession(ask BatchAsk) (*BatchSession, error) {
	if ask.Texts < 1 || ask.Tokens < 1 {
		return nil, fmt.Errorf("transformer: a batch of %d texts of %d tokens; "+
			"want at least 1 of both", ask.Texts, ask.Tokens)
	}
	mixes, err := m.batchMixings(ask)
	if err != nil {
		return nil, err
	}
	if err := m.checkMemory(ask.need()); err != nil {
		return nil, err
	}
	cache, err := m.newBatchCache(ask.Texts, bucket(ask.Tokens))
	if err != nil {
		return nil, fmt.Errorf("transformer: keys and values of %d texts: %w", ask.Texts, err)
	}
	return &BatchSession{
		m: m, asks: ask.Asks, mixes: mixes, terms: ask.Terms, cache: cache,
		lengths: make([]int, ask.Texts),
	}, nil
}

// Length returns the number of tokens of the text in a row, 0 for a free row.
func (s *BatchSession) Length(row int) int { return s.lengths[row] }

// Free ends the text in a row.
func (s *BatchSession) Free(row int) { s.lengths[row] = 0 }

// Close frees the cache. The session must not be used afterwards.
func (s *BatchSession) Close() {
	s.latest.free()
	s.cache.free()
	s.latest, s.cache = nil, nil
}

// Prompt runs the first tokens of several texts in one pass, puts them into rows, [P], and returns
// for each what [Session.Prompt] returns. It returns an error for a row that has a text, for ids
// that the model cannot take or that are more than the session has slots, and one that wraps
// ctx.Err() within a layer. After an error the rows are free.
func (s *BatchSession) Prompt(ctx context.Context, rows []int, texts [][]int) ([]*Output, error) {
	if len(texts) == 0 || len(rows) != len(texts) {
		return nil, fmt.Errorf("transformer: %d texts for %d rows", len(texts), len(rows))
	}
	lengths := make([]int, len(texts))
	for i, ids := range texts {
		if err := s.m.CheckIDs(ids); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
		if len(ids) > s.cache.slots {
			return nil, fmt.Errorf("transformer: text %d has %d tokens; this session has %d slots",
				i, len(ids), s.cache.slots)
		}
		if s.lengths[rows[i]] != 0 {
			return nil, fmt.Errorf("transformer: row %d has a text", rows[i])
		}
		lengths[i] = len(ids)
	}
	p := &batchPrompt{s: s, rows: rows, texts: texts, lengths: lengths}
	out, err := p.run(ctx)
	if err != nil {
		p.latest.free()
		return nil, fmt.Errorf("transformer: %s prompts of %d texts: %w", s.m.Spec.Family,
			len(texts), err)
	}
	for i, row := range rows {
		s.lengths[row] = lengths[i]
	}
	s.keep(p.latest, out)
	return out, nil
}

// keep replaces what [BatchSession.Terms] reads.
func (s *BatchSession) keep(k *batchLatest, out []*Output) {
	s.latest.free()
	s.latest = k
	if k == nil {
		return
	}
	for _, o := range out {
		k.logits = append(k.logits, o.Logits)
	}
}

// batchPrompt is the pass that reads several texts.
type batchPrompt struct {
	s       *BatchSession
	rows    []int
	texts   [][]int
	lengths []int
	latest  *batchLatest
}

// inputs are the texts padded on the right, where a decoder's tokens do not see it, and filled up
// with empty ones to a number of texts of which there are few.
func (p *batchPrompt) inputs() *inputs {
	m := p.s.m
	count := m.batchTexts(len(p.texts), len(p.s.lengths))
	longest := slices.Max(p.lengths)
	padded := m.padded(longest)
	flat := make([]int32, count*padded)
	for i, ids := range p.texts {
		for t, id := range ids {
			flat[i*padded+t] = int32(id)
		}
	}
	return &inputs{m: m, tensors: []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(flat, count, padded),
		tensors.FromScalar(int32(longest)),
	}}
}

// BatchSlots returns how many slots the cache of a text of so many tokens has. Texts with as many
// slots can share a session without waste.
func BatchSlots(tokens int) int { return bucket(tokens) }

// BatchTexts returns how many rows a session for n texts should have: n, but at most most, and the
// next power of two where every size is compiled.
func (m *Model) BatchTexts(n, most int) int { return m.batchTexts(min(n, most), most) }

// BatchPrompts returns how many of n waiting texts should be read in one pass in a session of so
// many rows: all, or a power of two where every size is compiled.
func (m *Model) BatchPrompts(n, rows int) int {
	if m.promptStep == 1 || n == rows {
		return n
	}
	power := 1
	for 2*power <= n {
		power *= 2
	}
	return power
}

// batchTexts is how many texts a pass over n has: the next power of two where shapes are compiled,
// but not more than most.
func (m *Model) batchTexts(n, most int) int {
	if m.promptStep == 1 {
		return n
	}
	power := 1
	for power < n {
		power *= 2
	}
	return max(n, min(power, most))
}

// ends are the last slot of each text, [P].
func (p *batchPrompt) ends(count int) *tensors.Tensor {
	at := make([]int32, count)
	for i, n := range p.lengths {
		at[i] = int32(n - 1)
	}
	return tensors.FromFlatDataAndDimensions(at, count)
}

// run sends the texts through all layers, [P,N,D] each, and returns what the head says at the end
// of each text.
func (p *batchPrompt) run(ctx context.Context) ([]*Output, error) {
	s := p.s
	inputs := p.inputs()
	ends := p.ends(inputs.tensors[0].Shape().Dimensions[0])
	defer free(ends)
	x, err := inputs.embed()
	if err != nil {
		return nil, err
	}
	// The graph is kept with the model, so nothing else of this pass may stay in it.
	asks, mixes, terms := s.asks, s.mixes, s.terms
	collect := func(_ *builder, b *Block, now cache, more []*graph.Node) []*graph.Node {
		out := []*graph.Node{now.key, now.value}
		for i, mix := range mixes {
			rows := visibleRows(b, mix, asks[i])
			if !asks[i].AllRows {
				rows = oneRow(rows, more[0])
			}
			out = append(out, rows)
		}
		if terms {
			out = append(out, keptAt(b, more[0])...)
		}
		return out
	}
	out := make([]*Output, len(p.texts))
	for i, n := range p.lengths {
		out[i] = &Output{}
		for _, ask := range asks {
			out[i].Rows = append(out[i].Rows, emptyRows(s.m.Spec, ask, n))
		}
	}
	if terms {
		p.latest = &batchLatest{rows: p.rows, lengths: p.lengths}
		for i := range p.rows {
			p.latest.at = append(p.latest.at, i)
		}
	}
	what := fmt.Sprintf("batch of %sterms=%v", describe(asks), terms)
	for step, err := range inputs.layers(ctx, x, what, collect, ends) {
		if err != nil {
			return nil, err
		}
		if err := p.layer(step, out); err != nil {
			return nil, err
		}
		x = step.out
	}
	defer free(x)
	return out, p.head(inputs, x, ends, out)
}

// layer keeps the keys and values of a layer and puts its rows into out.
func (p *batchPrompt) layer(step *layerStep, out []*Output) error {
	s, l, c := p.s, step.layer, step.collected
	if err := s.cache.prompts(l, c[:2], p.rows, p.lengths); err != nil {
		return err
	}
	if err := putBatchRows(out, l, c[2:2+len(s.asks)]); err != nil {
		return err
	}
	if k := p.latest; k != nil {
		own := c[2+len(s.asks):]
		k.add(own)
		k.value = append(k.value, c[1])
		step.collected = append([]*tensors.Tensor{c[0]}, c[2:2+len(s.asks)]...) // the rest is kept
	}
	return nil
}

// head puts the scores at the end of each text into out.
func (p *batchPrompt) head(
	inputs *inputs, x, ends *tensors.Tensor, out []*Output,
) error {
	scores, err := inputs.end(x, "scores",
		func(d *builder, x *graph.Node, in []*graph.Node) []*graph.Node {
			return []*graph.Node{d.headAt(x, in[0])}
		}, ends)
	if err != nil {
		return err
	}
	defer free(scores...)
	at := make([]int, len(out))
	for i := range at {
		at[i] = i
	}
	return putLogits(scores[0], at, out)
}

// putLogits gives out[i] row at[i] of the scores, [P,V].
func putLogits(scores *tensors.Tensor, at []int, out []*Output) error {
	width := scores.Shape().Size() / scores.Shape().Dimensions[0]
	return read(scores, func(data []float32) {
		for i, row := range at {
			out[i].Logits = slices.Clone(data[row*width : (row+1)*width])
		}
	})
}

// putBatchRows copies rows of layer l, [P,(H,)N,S] for each mixing, to the outputs of the first
// texts, without the padding at the end of targets and sources.
func putBatchRows(out []*Output, l int, rows []*tensors.Tensor) error {
	for k, t := range rows {
		dims := t.Shape().Dimensions
		n, s := dims[len(dims)-2], dims[len(dims)-1]
		size := t.Shape().Size() / dims[0]
		err := read(t, func(data []float32) {
			for i, o := range out {
				copyRows(&o.Rows[k], l, data[i*size:(i+1)*size], n, s)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyRows copies the first targets and sources of data, [H,n,s], to layer l of r.
func copyRows(r *trace.Rows, l int, data []float32, n, s int) {
	for h := range r.H {
		for t := range r.N {
			copy(r.Row(l, h, t), data[(h*n+t)*s:])
		}
	}
}

// Step runs one more token of each text in rows: ids, [len(rows)]. The texts of other rows stay as
// they are. It returns for each what [Session.Step] returns. It returns an error for a free row,
// for an id outside the vocabulary, for a text that has no slot left, and one that wraps ctx.Err()
// within a layer; then no text has changed.
func (s *BatchSession) Step(ctx context.Context, rows, ids []int) ([]*Output, error) {
	if len(rows) == 0 || len(rows) != len(ids) {
		return nil, fmt.Errorf("transformer: %d tokens for %d texts", len(ids), len(rows))
	}
	for i, row := range rows {
		switch n := s.lengths[row]; {
		case n == 0:
			return nil, fmt.Errorf("transformer: row %d has no text", row)
		case n == s.cache.slots:
			return nil, fmt.Errorf("transformer: row %d has %d tokens, one for each slot", row, n)
		case ids[i] < 0 || ids[i] >= s.m.Spec.Vocab:
			return nil, fmt.Errorf("transformer: id %d of token %d is outside the vocabulary of %d",
				ids[i], n, s.m.Spec.Vocab)
		}
	}
	step := &batchStep{s: s, rows: rows, ids: ids}
	out, err := step.run(ctx)
	if err != nil {
		step.latest.free()
		return nil, fmt.Errorf("transformer: %s token of %d texts: %w", s.m.Spec.Family, len(rows),
			err)
	}
	for _, row := range rows {
		s.lengths[row]++
	}
	s.keep(step.latest, out)
	return out, nil
}

// batchStep is the pass over one token of each text.
type batchStep struct {
	s         *BatchSession
	rows, ids []int
	latest    *batchLatest
}

// tokens are the ids, [B,1], and the slots, [B], of the new tokens; 0 in rows that stay.
func (p *batchStep) tokens() []*tensors.Tensor {
	n := len(p.s.lengths)
	ids, slots := make([]int32, n), make([]int32, n)
	for i, row := range p.rows {
		ids[row], slots[row] = int32(p.ids[i]), int32(p.s.lengths[row])
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(ids, n, 1), tensors.FromFlatDataAndDimensions(slots, n),
	}
}

// batchBuilder builds graphs of a step, whose first inputs are [batchStep.tokens].
func (m *Model) batchBuilder(w byName, in []*graph.Node) *builder {
	length := graph.OnePlus(graph.ReduceAllMax(in[1]))
	return m.builder(w, text{ids: in[0], first: in[1], length: length})
}

// run sends the tokens through all layers, [B,1,D] each.
func (p *batchStep) run(ctx context.Context) ([]*Output, error) {
	s, m := p.s, p.s.m
	tokens := p.tokens()
	defer free(tokens...)
	embedded, err := m.run("step batch embed", endsWeights,
		func(w byName, in []*graph.Node) []*graph.Node {
			return []*graph.Node{m.batchBuilder(w, in).embed()}
		}, tokens...)
	if err != nil {
		return nil, err
	}
	x := embedded[0]
	defer func() { free(x) }()
	out := make([]*Output, len(p.rows))
	for i, row := range p.rows {
		out[i] = &Output{}
		for _, ask := range s.asks {
			ask.AllRows = false
			out[i].Rows = append(out[i].Rows, emptyRows(m.Spec, ask, s.lengths[row]+1))
		}
	}
	if s.terms {
		p.latest = &batchLatest{rows: p.rows, at: p.rows}
		for _, row := range p.rows {
			p.latest.lengths = append(p.latest.lengths, s.lengths[row]+1)
		}
	}
	for l := range m.Spec.Layers {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped at layer %d: %w", l, err)
		}
		after, err := p.layer(l, tokens, x, out)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", l, err)
		}
		if p.latest == nil {
			free(x)
		} else {
			p.latest.input = append(p.latest.input, x)
		}
		x = after
	}
	scores, err := m.run("step batch logits", endsWeights,
		func(w byName, in []*graph.Node) []*graph.Node {
			d := m.batchBuilder(w, in)
			return []*graph.Node{d.logits(d.final(graph.Squeeze(in[2], 1)))}
		}, tokens[0], tokens[1], x)
	if err != nil {
		return nil, err
	}
	defer free(scores...)
	if p.latest != nil {
		p.latest.final, x = x, nil
	}
	return out, putLogits(scores[0], p.rows, out)
}

// layer runs layer l on x, the residual stream of the new tokens, and returns the stream after it,
// [B,1,D] both. It keeps keys and values and puts the rows of the mixings into out.
func (p *batchStep) layer(
	l int, tokens []*tensors.Tensor, x *tensors.Tensor, out []*Output,
) (after *tensors.Tensor, err error) {
	s := p.s
	past := s.cache.of(l)
	made, err := s.m.execute(s.stepProgram(l), tokens[0], tokens[1], x, past[0], past[1])
	if err != nil {
		return nil, err
	}
	if k := p.latest; k != nil {
		last := len(made) - 2
		k.output, k.attention = append(k.output, made[last]), append(k.attention, made[last+1])
		made = made[:last]
	}
	defer free(made[1:]...)
	defer func() {
		if err != nil {
			free(made[0])
			after = nil
		}
	}()
	if err := s.cache.tokens(l, made[1:3], p.rows, s.lengths); err != nil {
		return nil, err
	}
	for k, rows := range made[3:] {
		size := rows.Shape().Size() / len(s.lengths)
		err := read(rows, func(data []float32) {
			for i, row := range p.rows {
				copyRows(&out[i].Rows[k], l, data[row*size:(row+1)*size], 1, s.cache.slots)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return made[0], nil
}

// stepProgram is the graph of layer l in a step. Its inputs are [batchStep.tokens], the stream
// [B,1,D], and the layer's keys and values, [B,G,slots,E] each.
func (s *BatchSession) stepProgram(l int) program {
	// The graph is kept with the model, so nothing else of this session may stay in it.
	model, asks, mixes, terms := s.m, s.asks, s.mixes, s.terms
	kind, weights := model.kindOf(l, mixes...)
	return program{
		fmt.Sprintf("step batch %s %sterms=%v", kind, describe(asks), terms), weights,
		func(w byName, in []*graph.Node) []*graph.Node {
			d := model.batchBuilder(w, in)
			b, now := d.stepBlock(l, in[2], cache{key: in[3], value: in[4]})
			b.finish()
			out := []*graph.Node{b.Output, now.key, now.value}
			for i, mix := range mixes {
				out = append(out, visibleRows(b, mix, asks[i]))
			}
			if terms {
				out = append(out, keptOf(b)...)
			}
			return out
		},
	}
}

// Terms returns, for each text of the last pass, what [Session.Terms] returns for the objective at
// the same place, nil for a nil objective. It returns an error without a pass that kept its terms,
// for a quantity other than [trace.Logit], for an objective that the model does not have, and one
// that wraps ctx.Err().
func (s *BatchSession) Terms(
	ctx context.Context, objectives []*trace.Objective,
) ([]*trace.AttentionTerms, error) {
	k := s.latest
	if k == nil || len(objectives) != len(k.rows) {
		return nil, fmt.Errorf("transformer: %d objectives for the parts of the last tokens; "+
			"the session has to keep them, one for each text of a pass", len(objectives))
	}
	all := make([]*trace.AttentionTerms, len(objectives))
	for i, o := range objectives {
		if o == nil {
			continue
		}
		at, n := *o, k.lengths[i]
		at.Position = n - 1
		if at.Quantity != trace.Logit {
			return nil, fmt.Errorf("transformer: text %d: the quantity %q is not a sum of parts; "+
				"take %s", i, at.Quantity, trace.Logit)
		}
		if err := checkObjective(s.m.Spec, at, n); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
		all[i] = &trace.AttentionTerms{
			L: s.m.Spec.Layers, S: n, Attention: make([]float64, s.m.Spec.Layers*n),
			Value: objectiveValue(s.m.Spec, at, k.logits[i]),
		}
	}
	if !slices.ContainsFunc(objectives, func(o *trace.Objective) bool { return o != nil }) {
		return all, nil
	}
	if err := s.readTerms(ctx, objectives, all); err != nil {
		return nil, fmt.Errorf("transformer: %s parts of a token of %d texts: %w", s.m.Spec.Family,
			len(all), err)
	}
	return all, nil
}

// readTerms fills in the attention parts.
func (s *BatchSession) readTerms(
	ctx context.Context, objectives []*trace.Objective, all []*trace.AttentionTerms,
) error {
	along, err := s.directions(objectives)
	if err != nil {
		return err
	}
	value, texts := s.cache.value, along.Shape().Dimensions[0]
	if given := s.latest.value; given != nil {
		value = func(l int) *tensors.Tensor { return given[l] }
	}
	return s.m.termsOnCache(ctx, &s.latest.lastToken, value, along,
		func(l int, parts []float32) { // [P,S]
			slots := len(parts) / texts
			for i, terms := range all {
				if terms == nil {
					continue
				}
				for j := range terms.S {
					terms.Attention[l*terms.S+j] = float64(parts[s.latest.at[i]*slots+j])
				}
			}
		})
}

// directions returns the directions on the residual stream after the last layer, [P,1,D].
func (s *BatchSession) directions(objectives []*trace.Objective) (*tensors.Tensor, error) {
	m, k := s.m, s.latest
	texts, most := k.final.Shape().Dimensions[0], 0
	ids, weights := make([][]int32, texts), make([][]float32, texts)
	for i, o := range objectives {
		if o != nil {
			ids[k.at[i]], weights[k.at[i]] = askedScores(m.Spec, *o)
			most = max(most, len(ids[k.at[i]]))
		}
	}
	flatIDs, flatWeights := make([]int32, texts*most), make([]float32, texts*most)
	for i := range ids {
		copy(flatIDs[i*most:], ids[i])
		copy(flatWeights[i*most:], weights[i])
	}
	scores := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(flatIDs, texts, most),
		tensors.FromFlatDataAndDimensions(flatWeights, texts, most),
	}
	defer free(scores...)
	return m.directionOnCache(k.final, scores[0], scores[1])
}

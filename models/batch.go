package models

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// CheckBatch returns an error that says why texts of at most so many tokens in the end cannot run
// together with what is asked of them: the model is an encoder, a mixing costs a pass for each pair
// of tokens, rows of single layers, products with rows or the lens are asked for, or the length of
// a text changes its keys.
func (m *Model) CheckBatch(ask trace.Ask, tokens int) error {
	if ask.Terms != nil && len(ask.Terms.Rows) > 0 {
		return pkg.Errorf("rows of single layers are asked for, " +
			"which batches do not compute; run one text at a time")
	}
	if len(ask.Edits) > 0 {
		return errEditedBatch
	}
	if ask.Sampling.Beams > 1 {
		return pkg.Errorf("a search with beams is of one text; run one text at a time")
	}
	if ask.Lens > 0 {
		return pkg.Errorf("what the head reads in every layer is asked for, " +
			"which batches do not compute; run one text at a time")
	}
	if ask.Products {
		return pkg.Errorf("products with the rows of layers are asked for, " +
			"which batches do not compute; run one text at a time")
	}
	if err := m.graph.CheckBatch(batchAsk(ask, 1, tokens)); err != nil || !m.info.Reads() {
		return err
	}
	return pkg.Errorf("the model has no head that scores tokens, so it reads; " +
		"run one text at a time")
}

var errEditedBatch = pkg.Errorf("texts under edits do not run together; run one text at a time")

// BatchBytes returns about how many bytes so many texts take together beside the weights: keys,
// values, and the largest pass. [Model.Budget] is how many there are.
func (m *Model) BatchBytes(ask trace.Ask, texts, tokens int) int64 {
	return m.graph.BatchBytes(batchAsk(ask, texts, tokens))
}

func batchAsk(ask trace.Ask, texts, tokens int) transformer.BatchAsk {
	return transformer.BatchAsk{
		Asks: ask.Mixings, Terms: ask.Terms != nil, Texts: texts, Tokens: tokens,
	}
}

// Batch runs texts together, at most so many of them at a time; see [trace.Batcher]. Texts whose
// caches have the same size run together. When a quarter of their places is free, waiting texts
// take them. Each text that the model would refuse alone has a step with that error. The error of
// the batch is that the texts do not ask for the same, one of [Model.CheckBatch], a
// [*trace.MemoryError], or one that wraps ctx.Err().
func (m *Model) Batch(ctx context.Context, texts []trace.BatchText, most int) iter.Seq2[
	[]trace.BatchStep, error,
] {
	return func(yield func([]trace.BatchStep, error) bool) {
		if most < 1 {
			yield(nil, pkg.Errorf("a batch of %d texts; at least 1 is needed", most))
			return
		}
		all, refused, err := m.batchTexts(texts)
		if err != nil {
			yield(nil, err)
			return
		}
		if len(refused) > 0 && !yield(refused, nil) {
			return
		}
		for len(all) > 0 {
			slots := all[0].slots
			n := slices.IndexFunc(all, func(t *batchText) bool { return t.slots != slots })
			if n < 0 {
				n = len(all)
			}
			if !m.runBatch(ctx, all[:n], most, yield) {
				return
			}
			all = all[n:]
		}
	}
}

// batchText is a text of a batch.
type batchText struct {
	chooser
	index int
	// ids is the prompt, slots the size of the cache that the text needs, and room how many tokens
	// the model reads of it.
	ids         []int
	slots, room int
	// row is the row of the session, and length is how many tokens the model has read.
	row, length int
	// next is the token that the model reads next.
	next int
	// p are the probabilities of the latest prediction, [V], while the text is running.
	p []float64
}

// batchTexts checks texts and returns them by the sizes of their caches, and by length among those
// of one size. refused has those that the model refuses.
func (m *Model) batchTexts(texts []trace.BatchText) (
	all []*batchText, refused []trace.BatchStep, err error,
) {
	for i, text := range texts {
		if first := texts[0].Ask; !slices.Equal(text.Ask.Mixings, first.Mixings) ||
			(text.Ask.Terms == nil) != (first.Terms == nil) {
			return nil, nil, pkg.Errorf("text %d of the batch asks for other rows or "+
				"terms than the first; run texts that ask for the same together", i)
		}
		c, err := m.newChooser(text.IDs, text.Ask)
		if err == nil {
			err = m.graph.CheckIDs(text.IDs)
		}
		if err == nil && len(text.Ask.Edits) > 0 {
			err = errEditedBatch
		}
		if err != nil {
			refused = append(refused, trace.BatchStep{Text: i, Err: err, Last: true})
			continue
		}
		room := c.room(len(text.IDs))
		all = append(all, &batchText{
			chooser: *c, index: i, ids: text.IDs, room: room, slots: m.graph.BatchSlots(room),
		})
	}
	slices.SortStableFunc(all, func(a, b *batchText) int {
		return cmp.Or(cmp.Compare(a.slots, b.slots), cmp.Compare(len(a.ids), len(b.ids)))
	})
	return all, refused, nil
}

// batch is texts whose caches have the same size.
type batch struct {
	m       *Model
	session *transformer.BatchSession
	waiting []*batchText
	// running has the text of each row of the session, nil for a free row, and p the memory for
	// its probabilities, [V].
	running []*batchText
	p       [][]float64
}

// runBatch runs texts whose caches have the same size. It reports whether the caller goes on.
func (m *Model) runBatch(
	ctx context.Context, texts []*batchText, most int,
	yield func([]trace.BatchStep, error) bool,
) bool {
	longest := 0
	for _, t := range texts {
		longest = max(longest, t.room)
	}
	rows := m.graph.BatchTexts(len(texts), most)
	session, err := m.graph.NewBatchSession(batchAsk(texts[0].ask, rows, longest))
	if err != nil {
		yield(nil, err)
		return false
	}
	defer session.Close()
	b := &batch{
		m: m, session: session, waiting: texts, running: make([]*batchText, rows),
		p: make([][]float64, rows),
	}
	for {
		steps, err := b.pass(ctx)
		if err != nil {
			yield(nil, err)
			return false
		}
		if len(steps) == 0 {
			return true
		}
		if !yield(steps, nil) {
			return false
		}
	}
}

// pass runs one pass: the prompts of waiting texts if enough rows are free, else one token of each
// running text. It returns nothing if all texts have ended.
func (b *batch) pass(ctx context.Context) ([]trace.BatchStep, error) {
	var now []*batchText
	var free, rows []int
	for row, t := range b.running {
		if t == nil {
			free = append(free, row)
		} else {
			now, rows = append(now, t), append(rows, row)
		}
	}
	if len(b.waiting) > 0 && (len(now) == 0 || 4*len(free) >= len(b.running)) {
		return b.prompts(ctx, free)
	}
	if len(now) == 0 {
		return nil, nil
	}
	ids := make([]int, len(now))
	for i, t := range now {
		ids[i] = t.next
	}
	out, err := b.session.Step(ctx, rows, ids)
	if err != nil {
		return nil, err
	}
	return b.choose(ctx, now, out)
}

// prompts puts waiting texts into free rows.
func (b *batch) prompts(ctx context.Context, free []int) ([]trace.BatchStep, error) {
	n := b.m.graph.BatchPrompts(min(len(free), len(b.waiting)), len(b.running))
	now := b.waiting[:n]
	b.waiting = b.waiting[n:]
	ids := make([][]int, n)
	for i, t := range now {
		ids[i], t.row, t.p = t.ids, free[i], b.p[free[i]]
		b.running[t.row] = t
	}
	out, err := b.session.Prompt(ctx, free[:n], ids)
	if err != nil {
		return nil, err
	}
	return b.choose(ctx, now, out)
}

// choose makes the steps of a pass over texts, and frees the rows of those that end.
func (b *batch) choose(
	ctx context.Context, texts []*batchText, out []*transformer.Output,
) ([]trace.BatchStep, error) {
	steps := make([]trace.BatchStep, len(texts))
	inParallel(len(texts), func(i int) { steps[i] = texts[i].step(out[i]) })
	if texts[0].ask.Terms != nil {
		choosers := make([]*chooser, len(texts))
		objectives := make([]*trace.Objective, len(texts))
		for i, t := range texts {
			choosers[i] = &t.chooser
			if next := steps[i].Step.Next; next != nil {
				o := t.objective(next, t.p)
				objectives[i] = &o
			}
		}
		terms, err := termsOf(ctx, choosers, objectives, b.session.Terms)
		if err != nil {
			return nil, err
		}
		for i := range steps {
			steps[i].Step.Terms = terms[i]
		}
	}
	for i, t := range texts {
		if steps[i].Last {
			b.session.Free(t.row)
			b.running[t.row], b.p[t.row], t.p = nil, t.p, nil // texts that have ended hold nothing
		}
	}
	return steps, nil
}

// step chooses the next token after a pass and returns the text's step.
func (t *batchText) step(out *transformer.Output) trace.BatchStep {
	step := trace.Step{First: t.length, Count: 1, Rows: out.Rows}
	if t.length == 0 {
		step.Count = len(t.ids)
	}
	t.length += step.Count
	last := t.done
	if !t.done {
		if err := t.m.checkLogits(out.Logits); err != nil {
			return trace.BatchStep{Text: t.index, Err: err, Last: true}
		}
		t.p = softmaxInto(t.p, out.Logits)
		step.Next = t.predict(out.Logits, t.p, t.length-1)
		t.next, last = step.Next.Token.ID, !t.more()
	}
	return trace.BatchStep{Text: t.index, Step: step, Last: last}
}

// inParallel calls f for 0..n-1 on all processors.
func inParallel(n int, f func(i int)) {
	var all sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for k := range workers {
		all.Go(func() {
			for i := k; i < n; i += workers {
				f(i)
			}
		})
	}
	all.Wait()
}

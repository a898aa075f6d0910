package attribution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/budget"
)

// Text is one of the texts of [ExplainAll].
type Text struct {
	Prompt string
	// Continuation, if not empty, takes the place of [Options.Continuation].
	Continuation string
	// Pair, if not empty, takes the place of [Options.Pair].
	Pair string
	// Messages and Tools, if not nil, take the place of those of [Options.Conversation].
	Messages []trace.Message
	Tools    json.RawMessage
}

// Options returns the options for the text: what it has takes the place of what opts have for all.
// A continuation is explained whole, so it replaces the limit of tokens, too.
func (t Text) Options(opts Options) Options {
	if t.Continuation != "" {
		opts.Continuation, opts.MaxTokens = t.Continuation, 0
	}
	opts.Pair = cmp.Or(t.Pair, opts.Pair)
	if t.Messages != nil {
		opts.Conversation.Messages = t.Messages
	}
	if t.Tools != nil {
		opts.Conversation.Tools = t.Tools
	}
	return opts
}

// Batching is how many texts [ExplainAll] runs together. The zero value takes the defaults.
type Batching struct {
	// Texts is the largest number of texts in a pass of the model. 0 means 32, or as many as fit
	// the memory if those are fewer. Another number changes the last digits of the numbers, so a
	// program whose results must have the same bytes on every machine gives one.
	Texts int
	// Window is how many texts are read ahead and sorted by length, so that texts of like length
	// run together. 0 means 16 times Texts.
	Window int
}

// defaultBatch is the default of [Batching.Texts].
const defaultBatch = 32

// windowBatches is how many batches a window has by default.
const windowBatches = 16

// Explained is what [ExplainAll] gives for one text.
type Explained struct {
	// Index is the place of the text in the input, from 0.
	Index int
	// Explanation and Err are what [Explain] would return.
	Explanation *Explanation
	Err         error
}

// ExplainAll explains each text as [Explain] would explain it alone, with the same tokens and, up
// to rounding, the same numbers. It yields a text as soon as it is explained, so the order is not
// that of the input. The same texts in the same order give the same results in the same order.
//
// Texts of like length run through the model together if the model is a [trace.Batcher] and can do
// so with these options. Otherwise they run one at a time: all texts if the model is an encoder,
// those explained by mixings that cost a pass for each pair of tokens, and those with a verdict, a
// lens or scores of other texts. A scorer that asks the model again does so for one text at a time.
//
// An error belongs to one text, and other texts go on. A batch of [Batching.Texts] that does not
// fit the memory is a [trace.MemoryError] for each of its texts. If ctx is done, texts that were
// read and are not explained get an error that wraps ctx.Err(), and no more texts are read.
func ExplainAll(
	ctx context.Context, m trace.Model, texts iter.Seq[Text], opts Options, how Batching,
) iter.Seq[Explained] {
	return func(yield func(Explained) bool) {
		m, wrong := trace.Between(m, opts.From, opts.To)
		w := window{m: m, how: how}
		size := how.window()
		index := 0
		for text := range texts {
			r, err := (*run)(nil), wrong
			if err == nil {
				r, err = newRun(m, text.Prompt, text.Options(opts))
			}
			if err != nil {
				if !yield(Explained{Index: index, Err: err}) {
					return
				}
			} else {
				w.add(r, index)
			}
			index++
			if len(w.texts) >= size && !w.explain(ctx, yield) {
				return
			}
			if ctx.Err() != nil {
				break
			}
		}
		w.explain(ctx, yield)
	}
}

// window returns how many texts are read ahead.
func (b Batching) window() int {
	if b.Window > 0 {
		return b.Window
	}
	if b.Texts > 0 {
		return windowBatches * b.Texts
	}
	return windowBatches * defaultBatch
}

// window is texts that are sorted by length before they run.
type window struct {
	m     trace.Model
	how   Batching
	texts []*queued
}

// queued is a text of a window.
type queued struct {
	*run
	index int
	// err ends the text; done says that it was yielded.
	err  error
	done bool
}

func (w *window) add(r *run, index int) { w.texts = append(w.texts, &queued{run: r, index: index}) }

// length returns how many tokens a text has in the end.
func (q *queued) length() int { return len(q.ids) + q.tokens }

// explain explains the texts of the window and empties it. It reports whether the caller goes on.
func (w *window) explain(ctx context.Context, yield func(Explained) bool) bool {
	texts := w.texts
	w.texts = nil
	var together, alone []*queued
	batcher, ok := w.m.(trace.Batcher)
	for _, q := range texts {
		// What is tested or read after the last token is so for one text at a time.
		if ok && !q.opts.Afterwards() && batcher.CheckBatch(q.ask, q.length()) == nil {
			together = append(together, q)
		} else {
			alone = append(alone, q)
		}
	}
	if len(together) > 0 && !w.explainTogether(ctx, batcher, together, yield) {
		return false
	}
	for _, q := range alone {
		e, err := q.explain(ctx, w.m)
		if !q.yield(e, err, yield) {
			return false
		}
	}
	return true
}

// yield yields a text and drops what it holds.
func (q *queued) yield(e *Explanation, err error, yield func(Explained) bool) bool {
	q.run, q.done = nil, true
	return yield(Explained{Index: q.index, Explanation: e, Err: err})
}

// explainTogether explains texts in batches.
func (w *window) explainTogether(
	ctx context.Context, m trace.Batcher, texts []*queued, yield func(Explained) bool,
) bool {
	most, err := w.how.fit(m, texts)
	if err != nil {
		for _, q := range texts {
			if !q.yield(nil, err, yield) {
				return false
			}
		}
		return true
	}
	all := make([]trace.BatchText, len(texts))
	for i, q := range texts {
		all[i] = trace.BatchText{IDs: q.ids, Ask: q.ask}
	}
	var failed error
	for steps, err := range m.Batch(ctx, all, most) {
		if err != nil {
			failed = err
			break
		}
		addSteps(ctx, texts, steps)
		for _, step := range steps {
			q := texts[step.Text]
			if q.done || !step.Last && q.err == nil {
				continue
			}
			if q.err == nil {
				q.err = q.end(ctx)
			}
			e, err := q.finish(q.soFar(q.err), q.err)
			if !q.yield(e, err, yield) {
				return false
			}
		}
	}
	for _, q := range texts {
		if q.done {
			continue
		}
		err := q.end(ctx)
		if failed != nil {
			err = q.wrap(ctx, failed)
		}
		e, err := q.finish(q.soFar(err), err)
		if !q.yield(e, err, yield) {
			return false
		}
	}
	return true
}

// addSteps adds the steps of one pass to their texts, several texts at once unless somebody watches
// them or a scorer asks the model again.
func addSteps(ctx context.Context, texts []*queued, steps []trace.BatchStep) {
	add := func(step trace.BatchStep) {
		q := texts[step.Text]
		if q.done {
			return
		}
		err := step.Err
		if err == nil {
			err = q.addStep(ctx, step.Step)
		}
		if err != nil {
			q.err = q.wrap(ctx, err)
		}
	}
	workers := min(len(steps), runtime.GOMAXPROCS(0))
	for _, step := range steps {
		if q := texts[step.Text]; !q.done && !q.private() {
			workers = 1
		}
	}
	var all sync.WaitGroup
	for k := range workers {
		all.Go(func() {
			for i := k; i < len(steps); i += workers {
				add(steps[i])
			}
		})
	}
	all.Wait()
}

// private reports whether a step concerns nobody but its text.
func (r *run) private() bool {
	if r.opts.OnStep != nil || r.opts.OnProgress != nil {
		return false
	}
	for _, m := range r.plan.methods {
		if m.scorer != nil && m.live == nil {
			return false
		}
	}
	return true
}

// fit returns how many of the texts may run together: as many as were chosen, or up to the default
// as many as fit the memory.
func (b Batching) fit(m trace.Batcher, texts []*queued) (int, error) {
	longest := texts[0]
	for _, q := range texts {
		if q.length() > longest.length() {
			longest = q
		}
	}
	check := func(n int) error {
		tokens := longest.length()
		need := float64(m.BatchBytes(longest.ask, n, tokens)) +
			float64(n)*longest.plan.bytes(len(longest.ids), longest.tokens)
		return budget.Check(m, need, fmt.Sprintf("a batch of %d texts of up to %d tokens", n,
			tokens), "run fewer texts at a time")
	}
	if b.Texts > 0 {
		n := min(b.Texts, len(texts))
		return n, check(n)
	}
	n := min(defaultBatch, len(texts))
	for n > 1 && check(n) != nil {
		n /= 2
	}
	return n, check(n)
}

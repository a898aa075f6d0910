package run

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// BatchSession is a [Session] of several texts that grow together: the weights are read once for
// all of them. It has room for B texts. Each of them has a row with a length of its own, and when
// a text ends, its row can get another one. A text gets the numbers that it gets alone, up to
// rounding. It belongs to one goroutine.
type BatchSession struct{ texts }

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
func (a BatchAsk) need() Need {
	return Need{
		Tokens: a.Tokens, Texts: a.Texts, Asks: a.Asks, Slots: a.Texts * host.Bucket(a.Tokens),
		Terms: a.Terms, Head: true,
	}
}

// BatchBytes implements [transformer.Model.BatchBytes].
func (m *Model) BatchBytes(ask BatchAsk) int64 { return m.Estimate(ask.need()) }

// CheckBatch implements [transformer.Model.CheckBatch].
func (m *Model) CheckBatch(ask BatchAsk) error {
	_, err := m.batchMixings(ask)
	return err
}

// batchMixings looks up the mixings of a batch, with the errors of [transformer.Model.CheckBatch].
func (m *Model) batchMixings(ask BatchAsk) ([]graph.Asked, error) {
	if err := CheckGenerates(m.Spec); err != nil {
		return nil, err
	}
	asks, err := graph.LookupMixings(m.Spec, ask.Asks...)
	if err != nil {
		return nil, err
	}
	for _, a := range asks {
		if a.PerPair() {
			return nil, pkg.Errorf("%s costs a pass for each pair of tokens, "+
				"which batches do not compute; run one text at a time", a.Name)
		}
	}
	if r := TurnedByLength(m.Spec, ask.Tokens); r != nil {
		return nil, pkg.Errorf("beyond %d tokens the length of a %s text turns all "+
			"its keys; run one text at a time", r.Original, m.Spec.Family)
	}
	return asks, nil
}

// NewBatchSession implements [transformer.Model.NewBatchSession].
func (m *Model) NewBatchSession(ask BatchAsk) (*BatchSession, error) {
	if ask.Texts < 1 || ask.Tokens < 1 {
		return nil, pkg.Errorf("a batch of %d texts of %d tokens; "+
			"want at least 1 of both", ask.Texts, ask.Tokens)
	}
	asks, err := m.batchMixings(ask)
	if err != nil {
		return nil, err
	}
	if err := m.CheckMemory(ask.need()); err != nil {
		return nil, err
	}
	cache, err := m.emptyStore(ask.Texts, host.Bucket(ask.Tokens))
	if err != nil {
		return nil, pkg.Errorf("keys and values of %d texts: %w", ask.Texts, err)
	}
	return &BatchSession{texts{
		m: m, asks: asks, terms: ask.Terms, cache: cache,
		lengths: make([]int, ask.Texts), boundaries: make([]int, ask.Texts),
	}}, nil
}

// Length returns the number of tokens of the text in a row, 0 for a free row.
func (s *BatchSession) Length(row int) int { return s.lengths[row] }

// Free ends the text in a row.
func (s *BatchSession) Free(row int) { s.lengths[row] = 0 }

// Close frees the cache. The session must not be used afterwards.
func (s *BatchSession) Close() { s.freeCache() }

// Prompt runs the first tokens of several texts in one pass, puts them into rows, [P], and returns
// for each what [Session.Prompt] returns. It returns an error for a row that has a text, for ids
// that the model cannot take or that are more than the session has slots, and one that wraps
// ctx.Err() within a layer. After an error the rows are free.
func (s *BatchSession) Prompt(ctx context.Context, rows []int, texts [][]int) ([]*Output, error) {
	if len(texts) == 0 || len(rows) != len(texts) {
		return nil, pkg.Errorf("%d texts for %d rows", len(texts), len(rows))
	}
	lengths := make([]int, len(texts))
	for i, ids := range texts {
		if err := CheckIDs(s.m.Spec, ids); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
		if len(ids) > s.cache.slots {
			return nil, pkg.Errorf("text %d has %d tokens; this session has %d slots",
				i, len(ids), s.cache.slots)
		}
		if s.lengths[rows[i]] != 0 {
			return nil, pkg.Errorf("row %d has a text", rows[i])
		}
		lengths[i] = len(ids)
	}
	p := s.pass(texts, rows, s.cache.slots)
	p.keep = func(l int, now []*tensors.Tensor) error {
		return s.cache.putTexts(l, now, rows, lengths)
	}
	out, err := p.output(ctx, nil)
	if err != nil {
		p.latest.Free()
		return nil, pkg.Errorf("%s prompts of %d texts: %w", s.m.Spec.Family, len(texts), err)
	}
	for i, row := range rows {
		s.lengths[row], s.boundaries[row] = lengths[i], graph.BoundaryOf(s.m.Spec, texts[i])
	}
	s.keep(p.latest, out)
	return out, nil
}

// BatchTexts implements [transformer.Model.BatchTexts].
func (m *Model) BatchTexts(n, most int) int { return m.TextsOfPass(min(n, most), most) }

// BatchPrompts implements [transformer.Model.BatchPrompts].
func (m *Model) BatchPrompts(n, rows int) int {
	if m.Machine.PromptStep == 1 || n == rows {
		return n
	}
	return 1 << (bits.Len(uint(max(n, 1))) - 1)
}

// TextsOfPass is how many texts a pass over n has: the next power of two where shapes are compiled,
// but not more than most.
func (m *Model) TextsOfPass(n, most int) int {
	if m.Machine.PromptStep == 1 {
		return n
	}
	return max(n, min(1<<bits.Len(uint(n-1)), most))
}

// Step runs one more token of each text in rows: ids, [len(rows)]. The texts of other rows stay as
// they are. It returns for each what [Session.Step] returns. It returns an error for a free row,
// for an id outside the vocabulary, for a text that has no slot left, and one that wraps ctx.Err()
// within a layer; then no text has changed.
func (s *BatchSession) Step(ctx context.Context, rows, ids []int) ([]*Output, error) {
	if len(rows) == 0 || len(rows) != len(ids) {
		return nil, pkg.Errorf("%d tokens for %d texts", len(ids), len(rows))
	}
	for i, row := range rows {
		switch n := s.lengths[row]; {
		case n == 0:
			return nil, pkg.Errorf("row %d has no text", row)
		case n == s.cache.slots:
			return nil, pkg.Errorf("row %d has %d tokens, one for each slot", row, n)
		case ids[i] < 0 || ids[i] >= s.m.Spec.Vocab:
			return nil, pkg.Errorf("id %d of token %d is outside the vocabulary of %d",
				ids[i], n, s.m.Spec.Vocab)
		}
	}
	out, err := s.step(ctx, rows, ids)
	if err != nil {
		return nil, pkg.Errorf("%s token of %d texts: %w", s.m.Spec.Family, len(rows), err)
	}
	return out, nil
}

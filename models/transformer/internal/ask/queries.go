package ask

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Batching is how many queries run at once. The zero value takes the defaults.
type Batching struct {
	// Texts is the largest number of texts in a pass; 0 means 16, or 32 of texts that begin alike,
	// and fewer for long texts. A pass takes fewer texts where they would not fit the memory.
	Texts int
	// Done, if not nil, is called after each pass with the number of queries that are answered.
	Done func(answered int)
}

// A pass takes at most this many texts by default, and this many tokens: more are not faster, and
// a pass stops later when its context ends.
const (
	batchTexts  = 16
	batchTokens = 4096
)

// queryBatch is queries that run in one pass. Its texts, B with the copies that fill it up, are
// padded on the right to the same length.
type queryBatch struct {
	m *run.Model
	// queries may be followed by copies of the first, so that few shapes are compiled; at has the
	// index of each query that counts.
	queries []trace.Query
	at      []int
	// longest is the length of the longest text, and padded that of all texts with their padding.
	longest, padded int
	batch           run.Batch
	inputs          *run.Inputs
}

// checkQuery returns an error if the model cannot answer q.
func checkQuery(s *spec.Spec, q trace.Query) error {
	if err := run.CheckIDs(s, q.IDs); err != nil {
		return err
	}
	alone := run.Batch{IDs: [][]int{q.IDs}, Types: run.RowOrNil(q.Types)}
	if err := run.CheckTypes(s, alone); err != nil {
		return err
	}
	if err := logit.CheckObjective(s, q.Objective, len(q.IDs)); err != nil {
		return err
	}
	if _, err := edit.Place(s, q.Edits, len(q.IDs), len(q.IDs)); err != nil {
		return err
	}
	if q.Embeddings == nil {
		return nil
	}
	width := s.Embedded()
	if len(q.Embeddings) != len(q.IDs)*width {
		return pkg.Errorf("%d numbers of embedding for %d tokens of width %d",
			len(q.Embeddings), len(q.IDs), width)
	}
	for i, x := range q.Embeddings {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return pkg.Errorf("the embedding of token %d has the number %v", i/width, x)
		}
	}
	return nil
}

// checkQueries returns an error if the model cannot answer one of the queries, or not so.
func checkQueries(s *spec.Spec, queries []trace.Query, how Batching) error {
	if how.Texts < 0 {
		return pkg.Errorf("%d texts at once; take 1 or more, or 0 for the default", how.Texts)
	}
	for i, q := range queries {
		if err := checkQuery(s, q); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	return nil
}

// queryBatches divides queries among passes. The texts of a pass have about the same length and
// rotate alike, and either all or none bring their embeddings. memory is what a pass over so many
// texts of so many tokens needs.
func queryBatches(m *run.Model, queries []trace.Query, how Batching,
	need func(tokens, texts int) run.Need,
) ([]queryBatch, error) {
	if err := checkQueries(m.Spec, queries, how); err != nil {
		return nil, err
	}
	order := make([]int, len(queries))
	for i := range order {
		order[i] = i
	}
	// Texts of one length waste no padding. The sort is stable, so the same queries give the same
	// batches.
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := queries[i], queries[j]
		return cmp.Or(cmp.Compare(passGroup(m.Spec, a), passGroup(m.Spec, b)),
			cmp.Compare(len(a.IDs), len(b.IDs)))
	})
	var all []queryBatch
	for len(order) > 0 {
		first := passGroup(m.Spec, queries[order[0]])
		group := slices.IndexFunc(order,
			func(i int) bool { return passGroup(m.Spec, queries[i]) != first })
		if group < 0 {
			group = len(order)
		}
		// The last text of a group is its longest.
		n, err := batchSize(m, len(queries[order[group-1]].IDs), how, need)
		if err != nil {
			return nil, err
		}
		n = min(n, group)
		all, order = append(all, batchOf(m, queries, order[:n], how)), order[n:]
	}
	return all, nil
}

// passGroup returns the same number for queries that may run in one pass. That is twice the bucket
// of its length, and one more with embeddings of its own.
func passGroup(s *spec.Spec, q trace.Query) int {
	n := len(q.IDs)
	size := host.Bucket(n)
	if run.TurnedByLength(s, n) != nil {
		size = -n // the longest text of a pass would turn the keys of all
	}
	if q.Embeddings != nil {
		return 2*size + 1
	}
	return 2 * size
}

// batchSize returns how many queries of up to so many tokens run in one pass.
func batchSize(m *run.Model, tokens int, how Batching,
	need func(tokens, texts int) run.Need,
) (int, error) {
	n := cmp.Or(how.Texts, max(1, min(batchTexts, batchTokens/tokens)))
	check := func() error { return m.CheckMemory(need(tokens, filledUp(m, n, how))) }
	for n > 1 && check() != nil {
		n /= 2
	}
	return n, check()
}

// filledUp returns how many texts a pass over n queries has with the copies that fill it up.
func filledUp(m *run.Model, n int, how Batching) int {
	return m.TextsOfPass(n, cmp.Or(how.Texts, batchTexts))
}

// batchOf makes a batch of the queries with those indices.
func batchOf(m *run.Model, queries []trace.Query, at []int, how Batching) queryBatch {
	b := queryBatch{m: m, at: at}
	for _, i := range at {
		b.queries = append(b.queries, queries[i])
		b.longest = max(b.longest, len(queries[i].IDs))
	}
	b.padded = m.Padded(b.longest)
	for len(b.queries) < filledUp(m, len(at), how) {
		b.queries = append(b.queries, b.queries[0])
	}
	batch := &b.batch
	for _, q := range b.queries {
		batch.IDs = append(batch.IDs, q.IDs)
	}
	if slices.ContainsFunc(b.queries, func(q trace.Query) bool { return q.Edits != nil }) {
		for _, q := range b.queries {
			batch.Edits = append(batch.Edits, q.Edits)
		}
	}
	if slices.ContainsFunc(b.queries, func(q trace.Query) bool { return q.Types != nil }) {
		for _, q := range b.queries {
			types := make([]int, len(q.IDs))
			copy(types, q.Types)
			batch.Types = append(batch.Types, types)
		}
	}
	b.inputs = m.BatchInputs(b.batch, b.padded)
	return b
}

// embeddings returns the embeddings that the queries bring, [B,N,W], nil if they bring none.
func (b *queryBatch) embeddings() (*tensors.Tensor, error) {
	if b.queries[0].Embeddings == nil {
		return nil, nil
	}
	width := b.m.Spec.Embedded()
	return b.m.Machine.Filled([]int{len(b.queries), b.padded, width}, func(data []float32) {
		for i, q := range b.queries {
			copy(data[i*b.padded*width:], q.Embeddings)
		}
	})
}

// positions are where the head reads, [B].
func (b *queryBatch) positions() []int {
	at := make([]int, len(b.queries))
	for i, q := range b.queries {
		at[i] = targetOf(b.m.Spec, q)
	}
	return at
}

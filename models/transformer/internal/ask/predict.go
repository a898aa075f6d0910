package ask

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Predict implements [transformer.Model.Predict].
func Predict(ctx context.Context, m *run.Model, queries []trace.Query) ([]float64, error) {
	return PredictIn(ctx, m, queries, Batching{})
}

// PredictIn implements [transformer.Model.PredictIn].
func PredictIn(ctx context.Context, m *run.Model, queries []trace.Query, how Batching) (
	[]float64, error,
) {
	values, answered := make([]float64, len(queries)), 0
	pass := func(at []int, longest int, predict func(context.Context, []float64) error) error {
		if err := predict(ctx, values); err != nil {
			return pkg.Errorf("%s pass of %d texts of up to %d tokens: %w",
				m.Spec.Family, len(at), longest, err)
		}
		if answered += len(at); how.Done != nil {
			how.Done(answered)
		}
		return nil
	}
	trees, err := PrefixTrees(m, queries, how)
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		if err := pass(t.at, slices.Max(t.positions)+1, t.predict); err != nil {
			return nil, err
		}
	}
	if trees != nil {
		return values, nil
	}
	edits := editsOf(queries)
	batches, err := queryBatches(m, queries, how,
		func(tokens, texts int) run.Need {
			return run.Need{Tokens: tokens, Texts: texts, Head: true, Edits: edits}
		})
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		if err := pass(b.at, b.longest, b.predict); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// predict puts the values of the batch in their places.
func (b *queryBatch) predict(ctx context.Context, values []float64) error {
	var err error
	if b.inputs.Edits, err = b.m.WholeTexts(b.batch, b.padded); err != nil {
		return err
	}
	x, err := b.embed()
	if err != nil {
		return err
	}
	for step, err := range b.inputs.Layers(ctx, x, "", nil) {
		if err != nil {
			return err
		}
		x = step.Out
	}
	defer host.Free(x)
	if err := b.inputs.ScoresAt(x, b.positions(), func(i int, scores []float32) {
		if i < len(b.at) {
			values[b.at[i]] = logit.ObjectiveValue(b.m.Spec, b.queries[i].Objective, scores)
		}
	}); err != nil {
		return err
	}
	for i, at := range b.at {
		if err := b.checkEdited(i, values[at]); err != nil {
			return err
		}
	}
	return nil
}

// editsOf are the edits of each query.
func editsOf(queries []trace.Query) [][]trace.Edit {
	edits := make([][]trace.Edit, len(queries))
	for i, q := range queries {
		edits[i] = q.Edits
	}
	return edits
}

// checkEdited returns an error that names the edits if the value of query i under them is NaN or
// infinite.
func (b *queryBatch) checkEdited(i int, x float64) error {
	if edits := b.queries[i].Edits; len(edits) > 0 && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return fmt.Errorf("query %d: %w", b.at[i], trace.Edited(edits,
			fmt.Errorf("the prediction is %v", x)))
	}
	return nil
}

// embed returns the residual stream before block 0, [B,N,D].
func (b *queryBatch) embed() (*tensors.Tensor, error) {
	rows, err := b.embeddings()
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return b.inputs.Embed()
	}
	defer host.Free(rows)
	return b.inputs.Embedded(rows)
}

// Embed implements [transformer.Model.Embed].
func Embed(ctx context.Context, m *run.Model, ids []int) ([]float32, error) {
	if err := run.CheckVocabulary(m.Spec, ids); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("stopped before the embedding: %w", err)
	}
	rows, err := m.TextInputs(ids).Rows()
	if err != nil {
		return nil, pkg.Errorf("embedding of %d tokens: %w", len(ids), err)
	}
	defer host.Free(rows)
	var out []float32
	n := len(ids) * m.Spec.Embedded() // without padding
	err = host.Read(rows, func(data []float32) { out = append(out, data[:n]...) })
	return out, err
}

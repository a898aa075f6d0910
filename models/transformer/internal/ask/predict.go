package ask

import (
	"context"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
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
	x, first, err := b.streamBeforeEdits(ctx)
	if err != nil {
		return err
	}
	for step, err := range b.inputs.LayerRange(ctx, first, b.m.Spec.Layers, x, "", nil) {
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

// streamBeforeEdits returns the residual stream before layer first, [B,N,D]. If all texts have the
// same tokens, that is the first layer in which edits change something, and the layers below it
// ran for one text; otherwise it is 0. Activation patching edits one layer after the other, so that
// about half of its work is left.
func (b *queryBatch) streamBeforeEdits(ctx context.Context) (
	x *tensors.Tensor, first int, err error,
) {
	first = b.inputs.Edits.Begins(b.m.Spec.Layers)
	if first == 0 || !b.equalTexts() {
		x, err = b.embed()
		return x, 0, err
	}
	one := queryBatch{m: b.m, queries: b.queries[:1], padded: b.padded}
	one.batch.IDs = b.batch.IDs[:1]
	if b.batch.Types != nil {
		one.batch.Types = b.batch.Types[:1]
	}
	one.inputs = b.m.BatchInputs(one.batch, b.padded)
	if x, err = one.embed(); err != nil {
		return nil, 0, err
	}
	for step, err := range one.inputs.LayerRange(ctx, 0, first, x, "", nil) {
		if err != nil {
			return nil, 0, err
		}
		x = step.Out
	}
	defer host.Free(x)
	texts := len(b.queries)
	x, err = host.Only(b.m.Machine.Run(fmt.Sprintf("stream of %d equal texts", texts),
		codes.NoWeights, func(_ codes.Weights, in []*Node) []*Node {
			shape := in[0].Shape()
			return []*Node{BroadcastToDims(in[0], texts, shape.Dim(1), shape.Dim(2))}
		}, x))
	return x, first, err
}

// equalTexts reports whether the batch has more than two texts, and all of the same tokens.
func (b *queryBatch) equalTexts() bool {
	for i, ids := range b.batch.IDs {
		if !slices.Equal(ids, b.batch.IDs[0]) || b.queries[i].Embeddings != nil ||
			b.batch.Types != nil && !slices.Equal(b.batch.Types[i], b.batch.Types[0]) {
			return false
		}
	}
	return len(b.batch.IDs) > 2
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

package models

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Predict returns the number that each query asks for, of texts of any lengths. It returns an error that names the query whose text,
// position, token or contrast the model does not have, a [*transformer.MemoryError], and one that wraps ctx.Err() within a layer.
func (m *Model) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	return m.PredictIn(ctx, queries, transformer.Batching{})
}

// PredictIn is [Model.Predict] in batches of a size of one's choice, with word of how far it is: for many queries.
func (m *Model) PredictIn(ctx context.Context, queries []trace.Query, how transformer.Batching) ([]float64, error) {
	values, err := m.graph.PredictIn(ctx, queries, how)
	return values, m.queryError(err)
}

// Embed returns the rows of the embedding of ids, [T,W], before positions are added, scaled or normalised; W is the width of the
// residual stream but in models that project their embedding (ELECTRA, OPT-350m).
func (m *Model) Embed(ctx context.Context, ids []int) ([]float32, error) {
	rows, err := m.graph.Embed(ctx, ids)
	return rows, m.queryError(err)
}

// Gradients returns what each query asks for, how it changes with the embedding of the text and, by the rule WithAttention, with the
// attention of every layer, about three times the work of [Model.Predict]; see [transformer.Model.Gradients]. Texts may be of different
// lengths. Errors are those of [Model.Predict].
func (m *Model) Gradients(ctx context.Context, queries []trace.Query, rule trace.Backward) ([]trace.Gradient, error) {
	return m.GradientsIn(ctx, queries, rule, transformer.Batching{})
}

// GradientsIn is [Model.Gradients] in batches of a size of one's choice, with word of how far it is.
func (m *Model) GradientsIn(ctx context.Context, queries []trace.Query, rule trace.Backward, how transformer.Batching) ([]trace.Gradient, error) {
	gradients, err := m.graph.GradientsIn(ctx, queries, rule, how)
	return gradients, m.queryError(err)
}

// queryError adds the flag that allows more memory, and the package.
func (m *Model) queryError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("models: %s: %w", m.info.Name, orMore(err))
}

// Replacement returns the token that stands for one taken away, and whether the model has it: kind is mask, unknown, pad or end, each as
// the tokenizer's configuration names it or, if that is silent, as most do. Some checkpoints name one token for several kinds.
func (m *Model) Replacement(kind string) (id int, ok bool) {
	id, ok = m.standIns[kind]
	return id, ok
}

// findStandIns returns the tokens of [Model.Replacement] of a directory whose tokens with a role are specials and whose end-of-text ids
// are eos.
func (m *Model) findStandIns(dir *checkpoint.Dir, specials map[string]string, eos []int) map[string]int {
	found := map[string]int{}
	add := func(kind string, id int) {
		if _, known := found[kind]; !known && id >= 0 && id < m.spec.Vocab {
			found[kind] = id
		}
	}
	add("mask", m.mask)
	for _, file := range []map[string]any{dir.Generation, dir.Config} {
		if number, ok := file["pad_token_id"].(json.Number); ok {
			if id, err := strconv.Atoi(number.String()); err == nil {
				add("pad", id)
			}
		}
	}
	for _, id := range eos {
		add("end", id)
	}
	if m.tokenizer == nil {
		return found
	}
	for _, named := range []struct{ kind, text string }{
		{"unknown", specials["unk_token"]},
		{"unknown", "[UNK]"},
		{"unknown", "<unk>"},
		{"pad", specials["pad_token"]},
		{"pad", "[PAD]"},
		{"pad", "<pad>"},
		{"end", specials["eos_token"]},
		{"end", specials["sep_token"]},
		{"end", "[SEP]"},
		{"end", "</s>"},
	} {
		if id, ok := m.tokenizer.ID(named.text); ok && named.text != "" {
			add(named.kind, id)
		}
	}
	return found
}

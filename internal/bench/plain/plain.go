// Package plain is what benchmarks compare attribution of many short texts with: generation of the
// same texts in batches, without any attribution.
package plain

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// Openings are beginnings of English sentences, for models without examples of their own.
var Openings = []string{
	"The keys to the cabinet", "In the morning she", "My favourite city is", "When it rains",
	"The capital of France is", "Two plus two equals", "He opened the door and", "The old man",
	"A long time ago", "If you want to learn", "The first thing to do", "Water boils at",
	"After the war ended", "She looked at him", "The best way to cook rice", "Scientists found",
}

// Generate generates up to so many tokens after each prompt, so many texts at a time, and returns
// how many tokens that were. It returns the first error of the tokenizer, the model or one text.
func Generate(
	ctx context.Context, m *models.Model, prompts []string, tokens, texts int,
) (generated int, err error) {
	all := make([]trace.BatchText, len(prompts))
	for i, prompt := range prompts {
		ids, err := m.Encode(prompt, trace.SpecialsAuto)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			all[i].IDs = append(all[i].IDs, id.ID)
		}
		all[i].Ask.MaxTokens = tokens
	}
	for steps, err := range m.Batch(ctx, all, texts) {
		if err != nil {
			return 0, err
		}
		for _, step := range steps {
			if step.Err != nil {
				return 0, step.Err
			}
			generated++
		}
	}
	return generated, nil
}

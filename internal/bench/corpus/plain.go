//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/tiny"
)

// prompts returns the texts: documents of the grammar for the embedded models, and beginnings of
// English sentences for others. They depend on their number alone.
func (b *bench) prompts() []string {
	all := make([]string, b.texts)
	random := rand.New(rand.NewPCG(1, 2))
	grammar := tiny.New(tiny.Train)
	kinds := tiny.Kinds()
	for i := range all {
		if _, embedded := tiny.Lookup(b.model); embedded {
			document := grammar.Document(random, kinds[i%len(kinds)])
			all[i] = document.Prompt(document.Answers[0])
			continue
		}
		all[i] = english[random.IntN(len(english))]
		for range random.IntN(3) {
			all[i] = english[random.IntN(len(english))] + " " + all[i]
		}
	}
	return all
}

// english begins sentences.
var english = []string{
	"The keys to the cabinet", "In the morning she", "My favourite city is", "When it rains",
	"The capital of France is", "Two plus two equals", "He opened the door and", "The old man",
	"A long time ago", "If you want to learn", "The first thing to do", "Water boils at",
	"After the war ended", "She looked at him", "The best way to cook rice", "Scientists found",
}

func writeInput(path string, prompts []string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriter(file)
	enc := json.NewEncoder(buffer)
	for i, prompt := range prompts {
		record := map[string]any{"id": i, "text": prompt}
		if err := enc.Encode(record); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// generate measures plain generation in batches, after a run that compiles. It is the one place
// that knows how texts are generated without attribution.
func (b *bench) generate(ctx context.Context, prompts []string, r *result) error {
	m, err := models.OpenContext(ctx, b.model, models.Options{Backend: b.backend})
	if err != nil {
		return err
	}
	r.Measured = len(prompts)
	for range 2 {
		began := time.Now()
		if r.Generated, err = b.generateAll(ctx, m, prompts); err != nil {
			return err
		}
		r.Seconds = time.Since(began).Seconds()
	}
	return nil
}

// generateAll generates all texts and returns how many tokens that were.
func (b *bench) generateAll(
	ctx context.Context, m *models.Model, prompts []string,
) (tokens int, err error) {
	texts := make([]trace.BatchText, len(prompts))
	for i, prompt := range prompts {
		ids, err := m.Encode(prompt, trace.SpecialsAuto)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			texts[i].IDs = append(texts[i].IDs, id.ID)
		}
		texts[i].Ask.MaxTokens = b.tokens
	}
	for steps, err := range m.Batch(ctx, texts, b.batch) {
		if err != nil {
			return 0, err
		}
		for _, step := range steps {
			if step.Err != nil {
				return 0, step.Err
			}
			tokens++
		}
	}
	return tokens, nil
}

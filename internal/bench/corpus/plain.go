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

	"github.com/headwater-ml/headwater/internal/bench/plain"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
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
		all[i] = plain.Openings[random.IntN(len(plain.Openings))]
		for range random.IntN(3) {
			all[i] = plain.Openings[random.IntN(len(plain.Openings))] + " " + all[i]
		}
	}
	return all
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

// generate measures plain generation in batches, after a run that compiles.
func (b *bench) generate(ctx context.Context, prompts []string, r *result) error {
	m, err := models.OpenContext(ctx, b.model, models.Options{Backend: b.backend})
	if err != nil {
		return err
	}
	r.Measured = len(prompts)
	for range 2 {
		began := time.Now()
		if r.Generated, err = plain.Generate(ctx, m, prompts, b.tokens, b.batch); err != nil {
			return err
		}
		r.Seconds = time.Since(began).Seconds()
	}
	return nil
}

//go:build unix

// Package meter is what benchmarks share: what this process has used, medians, and what they
// compare attribution of many short texts with, generation of the same texts in batches.
package meter

import (
	"context"
	"slices"
	"syscall"
	"time"

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
		encoded, err := m.Encode(prompt, trace.SpecialsAuto)
		if err != nil {
			return 0, err
		}
		all[i].IDs, all[i].Ask.MaxTokens = trace.IDs(encoded), tokens
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

// Used returns how long processors have worked for this process, and its largest memory in MB.
func Used() (processor time.Duration, peak float64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), float64(usage.Maxrss) / 1e3
}

// Processor returns how long processors work for this process until the function that it returns is
// called, which may be called several times.
func Processor() (since func() time.Duration) {
	began, _ := Used()
	return func() time.Duration {
		now, _ := Used()
		return now - began
	}
}

// Median returns the middle of values, of an even number the mean of the two in the middle.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

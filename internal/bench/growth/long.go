package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// plain is generation without an explanation.
const plain = "plain"

// opened opens the embedded model, or writes and opens one with random weights, and returns a
// prompt of so many tokens.
func opened(of string, tokens int, backend string) (*models.Model, string, error) {
	if of == "tiny" {
		m, err := models.Open(of, models.Options{Backend: backend})
		if err != nil {
			return nil, "", err
		}
		prompt, err := promptOf(m, tokens)
		return m, prompt, err
	}
	s, err := shapeNamed(of)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of the system for such files
	if err := s.write(dir); err != nil {
		return nil, "", err
	}
	m, err := models.Open(dir, models.Options{Backend: backend})
	if err != nil {
		return nil, "", err
	}
	words := make([]string, tokens)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", (i*i*7+i*13)%s.vocab)
	}
	return m, strings.Join(words, " "), nil
}

// measurePlain generates twice; the second time counts.
func measurePlain(m *models.Model, prompt string) (measurement, error) {
	tokens, err := m.Encode(prompt, trace.SpecialsAuto)
	if err != nil {
		return measurement{}, err
	}
	var ids []int
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	r := measurement{Method: plain, Tokens: len(ids), Backend: m.Info().Backend}
	for range 2 {
		begin, first := time.Now(), time.Time{}
		for _, err := range m.Steps(context.Background(), ids, trace.Ask{MaxTokens: generated}) {
			if err != nil {
				return r, err
			}
			if first.IsZero() {
				first = time.Now()
			}
		}
		r.First = first.Sub(begin).Seconds()
		r.Next = time.Since(first).Seconds() / (generated - 1)
	}
	return r, nil
}

package models

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// ErrNothingMasked is what errors.Is finds in the refusal of a text in which a model that fills in missing tokens finds none
// missing.
var ErrNothingMasked = errors.New("the text has no masked token")

// head is what package trace calls the model's head.
func (m *Model) head() trace.Head {
	switch m.spec.Head {
	case spec.ClassifierHead:
		return trace.Classes
	case spec.TokenHead:
		return trace.TokenClasses
	case spec.NoHead:
		return trace.NoHead
	}
	if m.spec.Bidirectional {
		return trace.MaskedToken
	}
	return trace.NextToken
}

// headPositions is how many predictions of an encoder are made at a time: enough that the weights of its head, the largest of the
// model, are not read for each, and few enough that their scores need little memory and the first does not wait for the last.
const headPositions = 32

// read yields the steps of an encoder: all rows with the first prediction, then one prediction after the other.
func (m *Model) read(ctx context.Context, ids []int, ask trace.Ask, yield func(trace.Step, error) bool) {
	positions, err := m.positions(ids, ask)
	if err != nil {
		yield(trace.Step{}, err)
		return
	}
	reading, err := m.graph.Read(ctx, ids, ask.Mixings, ask.Progress)
	if err != nil {
		yield(trace.Step{}, orMore(err))
		return
	}
	defer reading.Close()
	step := trace.Step{Count: len(ids), Rows: reading.Rows}
	for some := range slices.Chunk(positions, headPositions) {
		logits, err := reading.Logits(some...)
		if err != nil {
			yield(trace.Step{}, err)
			return
		}
		for i, at := range some {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, fmt.Errorf("models: stopped at position %d: %w", at, err))
				return
			}
			step.Next = m.scored(ids, at, logits[i], ask.Alternatives)
			if !yield(step, nil) {
				return
			}
			step = trace.Step{First: len(ids)}
		}
	}
}

// positions returns the targets to explain: those asked for, or what the head reads.
func (m *Model) positions(ids []int, ask trace.Ask) ([]int, error) {
	switch {
	case len(ask.Continuation) > 0 || ask.OwnRow:
		return nil, fmt.Errorf("models: %s is an encoder: it reads a text and does not continue it", m.info.Name)
	case len(ask.Positions) > 0:
		for _, at := range ask.Positions {
			if at < 0 || at >= len(ids) {
				return nil, fmt.Errorf("models: position %d is not in 0..%d, the tokens of the text", at, len(ids)-1)
			}
		}
		return ask.Positions, nil
	case m.head() != trace.MaskedToken:
		return []int{0}, nil
	case m.mask < 0:
		return nil, fmt.Errorf("models: %s names no mask token, so say which positions to explain", m.info.Name)
	}
	var masked []int
	for i, id := range ids {
		if id == m.mask {
			masked = append(masked, i)
		}
	}
	if masked == nil {
		mask := m.tokenText(m.mask)
		return nil, fmt.Errorf("models: %s fills in missing tokens, and %w: write %s where one is missing, "+
			"or say which positions to explain", m.info.Name, ErrNothingMasked, mask)
	}
	return masked, nil
}

// scored returns what the head says at a position.
func (m *Model) scored(ids []int, at int, logits []float32, alternatives int) *trace.Prediction {
	next := &trace.Prediction{Position: at}
	switch m.head() {
	case trace.NoHead:
		next.Token, next.Unscored = m.shown(ids[at]), true
		return next
	case trace.MaskedToken:
		m.rank(next, softmax(logits), alternatives, m.shown)
		return next
	}
	next.Class = true
	if len(logits) > 1 {
		m.rank(next, softmax(logits), alternatives, m.class)
		return next
	}
	if m.head() == trace.Classes { // one class is a value and no choice
		next.Token, next.Unscored = trace.Token{Text: strconv.FormatFloat(float64(logits[0]), 'g', 4, 32)}, true
		return next
	}
	p := 1 / (1 + math.Exp(-float64(logits[0])))
	m.rank(next, []float64{1 - p, p}, alternatives, func(id int) trace.Token {
		return trace.Token{ID: id, Text: [...]string{"original", "replaced"}[id]}
	})
	return next
}

// rank fills in the most probable entry and its alternatives.
func (m *Model) rank(next *trace.Prediction, p []float64, alternatives int, named func(id int) trace.Token) {
	best := mostProbable(p, 1)[0]
	next.Token, next.Probability = named(best), p[best]
	for _, id := range mostProbable(p, alternatives) {
		next.Alternatives = append(next.Alternatives, trace.Alternative{Token: named(id), Probability: p[id]})
	}
}

// shown is a token that stands nowhere in a text.
func (m *Model) shown(id int) trace.Token {
	return trace.Token{ID: id, Text: m.tokenText(id), Special: m.special(id)}
}

// class is a class as a token.
func (m *Model) class(id int) trace.Token {
	if id < len(m.spec.Labels) && m.spec.Labels[id] != "" {
		return trace.Token{ID: id, Text: m.spec.Labels[id]}
	}
	return trace.Token{ID: id, Text: fmt.Sprintf("class %d", id)}
}

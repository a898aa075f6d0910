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

// ErrNothingMasked is in the error for a text without a mask token, if the model predicts masked
// tokens and no positions were chosen.
var ErrNothingMasked = errors.New("the text has no masked token")

// head returns the kind of the model's head, as package trace names it.
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

// headPositions is how many positions an encoder's head computes at a time. Its weights are
// the largest of the model and are read once for all of them. More positions would need more memory
// and delay the first prediction.
const headPositions = 32

// read yields an encoder's steps: all rows with the first prediction, then the other
// predictions one by one.
func (m *Model) read(ctx context.Context, ids []int, ask trace.Ask,
	yield func(trace.Step, error) bool,
) {
	positions, err := m.positions(ids, ask)
	if err != nil {
		yield(trace.Step{}, err)
		return
	}
	reading, err := m.graph.Read(ctx, ids, ask.Mixings, ask.Progress)
	if err != nil {
		yield(trace.Step{}, err)
		return
	}
	defer reading.Close()
	step := trace.Step{Count: len(ids), Rows: reading.Rows}
	for chunk := range slices.Chunk(positions, headPositions) {
		logits, err := reading.Logits(chunk...)
		if err != nil {
			yield(trace.Step{}, err)
			return
		}
		for i, at := range chunk {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, fmt.Errorf("models: stopped at position %d: %w", at, err))
				return
			}
			step.Next = m.prediction(ids, at, logits[i], ask.Alternatives)
			if !yield(step, nil) {
				return
			}
			step = trace.Step{First: len(ids)}
		}
	}
}

// positions returns the targets to explain: those that were asked for, or else the masked tokens,
// or the first token for a head that reads no mask token.
func (m *Model) positions(ids []int, ask trace.Ask) ([]int, error) {
	switch {
	case len(ask.Continuation) > 0 || ask.OwnRow:
		return nil, fmt.Errorf("models: %s is an encoder: it reads a text "+
			"and does not continue it", m.info.Name)
	case len(ask.Positions) > 0:
		for _, at := range ask.Positions {
			if at < 0 || at >= len(ids) {
				return nil, fmt.Errorf("models: position %d is not in 0..%d, "+
					"the tokens of the text", at, len(ids)-1)
			}
		}
		return ask.Positions, nil
	case m.head() != trace.MaskedToken:
		return []int{0}, nil
	case m.mask < 0:
		return nil, fmt.Errorf("models: %s names no mask token, "+
			"so say which positions to explain", m.info.Name)
	}
	var masked []int
	for i, id := range ids {
		if id == m.mask {
			masked = append(masked, i)
		}
	}
	if masked == nil {
		mask := m.TokenText(m.mask)
		return nil, fmt.Errorf("models: %s fills in missing tokens, and %w: "+
			"write %s where one is missing, or say which positions to explain",
			m.info.Name, ErrNothingMasked, mask)
	}
	return masked, nil
}

// prediction returns what the head predicts at a position.
func (m *Model) prediction(ids []int, at int, logits []float32,
	alternatives int,
) *trace.Prediction {
	next := &trace.Prediction{Position: at}
	switch m.head() {
	case trace.NoHead:
		next.Token, next.Unscored = m.token(ids[at]), true
		return next
	case trace.MaskedToken:
		m.rank(next, softmax(logits), alternatives, m.token)
		return next
	}
	next.Class = true
	if len(logits) > 1 {
		m.rank(next, softmax(logits), alternatives, m.class)
		return next
	}
	if m.head() == trace.Classes { // one class: the model returns a value and chooses nothing
		next.Token.Text = strconv.FormatFloat(float64(logits[0]), 'g', 4, 32)
		next.Unscored = true
		return next
	}
	p := 1 / (1 + math.Exp(-float64(logits[0])))
	m.rank(next, []float64{1 - p, p}, alternatives, func(id int) trace.Token {
		return trace.Token{ID: id, Text: [...]string{"original", "replaced"}[id]}
	})
	return next
}

// rank sets the most probable token and its alternatives. token describes an id.
func (m *Model) rank(next *trace.Prediction, p []float64, alternatives int,
	token func(id int) trace.Token,
) {
	best := mostProbable(p, 1)[0]
	next.Token, next.Probability = token(best), p[best]
	for _, id := range mostProbable(p, alternatives) {
		next.Alternatives = append(next.Alternatives,
			trace.Alternative{Token: token(id), Probability: p[id]})
	}
}

// token describes a token without a place in a text.
func (m *Model) token(id int) trace.Token {
	return trace.Token{ID: id, Text: m.TokenText(id), Special: m.special(id)}
}

// class describes a class as a token, whose text is the label.
func (m *Model) class(id int) trace.Token {
	if id < len(m.spec.Labels) && m.spec.Labels[id] != "" {
		return trace.Token{ID: id, Text: m.spec.Labels[id]}
	}
	return trace.Token{ID: id, Text: fmt.Sprintf("class %d", id)}
}

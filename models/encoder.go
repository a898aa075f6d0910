package models

import (
	"cmp"
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
	s := m.spec
	switch {
	case s.Head == spec.ClassifierHead && (s.Scoring == spec.OneOf || s.Classes == 1 &&
		s.Scoring == spec.Quantity):
		return trace.Classes
	case s.Head == spec.ClassifierHead:
		return trace.Labels
	case s.Head == spec.TokenHead:
		return trace.TokenClasses
	case s.Head == spec.SpanHead:
		return trace.Spans
	case s.Head == spec.NoHead:
		return trace.NoHead
	case s.Bidirectional:
		return trace.MaskedToken
	}
	return trace.NextToken
}

// numbers reports whether the head's scores are numbers without a probability.
func (m *Model) numbers() bool {
	return m.spec.Classifies() && m.spec.Scoring == spec.Quantity
}

// headPositions is how many positions an encoder's head computes at a time. Its weights are
// the largest of the model and are read once for all of them. More positions would need more memory
// and delay the first prediction.
const headPositions = 32

// target is what is explained: the class that the head gives a position. class is -1 for the most
// probable one, and for heads that score no classes.
type target struct{ position, class int }

// read yields the steps of a model that reads: all rows with the first prediction, then the other
// predictions one by one.
func (m *Model) read(ctx context.Context, ids []int, ask trace.Ask,
	yield func(trace.Step, error) bool,
) {
	if err := m.checkReading(ids, ask); err != nil {
		yield(trace.Step{}, err)
		return
	}
	reading, err := m.graph.Read(ctx, ids, ask.Types, ask.Mixings, ask.Edits, ask.Progress)
	if err != nil {
		yield(trace.Step{}, err)
		return
	}
	defer reading.Close()
	targets, among, err := m.targets(ids, ask, reading.Logits)
	if err != nil {
		yield(trace.Step{}, err)
		return
	}
	step := trace.Step{Count: len(ids), Rows: reading.Rows}
	for chunk := range slices.Chunk(targets, headPositions) {
		positions := make([]int, len(chunk))
		for i, t := range chunk {
			positions[i] = t.position
		}
		logits, err := reading.Logits(positions...)
		if err != nil {
			yield(trace.Step{}, err)
			return
		}
		for i, t := range chunk {
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, pkg.Errorf("stopped at position %d: %w", t.position, err))
				return
			}
			if err := m.checkLogits(logits[i]); err != nil && len(ask.Edits) > 0 {
				yield(trace.Step{}, trace.Edited(ask.Edits, err))
				return
			}
			step.Next = m.prediction(ids, t, logits[i], ask.Alternatives)
			if among != nil {
				step.Next.Probability = among[t.class][t.position]
			}
			if !yield(step, nil) {
				return
			}
			step = trace.Step{First: len(ids)}
		}
	}
}

// checkReading returns an error for what a model that reads cannot be asked, before it runs.
func (m *Model) checkReading(ids []int, ask trace.Ask) error {
	if len(ask.Continuation) > 0 {
		return pkg.Errorf("%s reads a text and does not continue it", m.info.Name)
	}
	for _, at := range ask.Positions {
		if at < 0 || at >= len(ids) {
			return pkg.Errorf("position %d is not in 0..%d, the tokens of the text", at, len(ids)-1)
		}
	}
	if n := len(ask.Positions); m.head() == trace.Spans && n > 2 {
		return pkg.Errorf("%d positions; %s finds an answer, which has a start and an end",
			n, m.info.Name)
	}
	if a := ask.Answers; a[0] < 0 || a[1] > len(ids) || a[0] > a[1] {
		return pkg.Errorf("answers at positions %d to %d of %d tokens", a[0], a[1], len(ids))
	}
	if len(ask.Positions) > 0 || m.head() != trace.MaskedToken {
		return nil
	}
	if m.mask < 0 {
		return pkg.Errorf("%s names no mask token, so say which positions to explain", m.info.Name)
	}
	if !slices.Contains(ids, m.mask) {
		return pkg.Errorf("%s fills in missing tokens, and %w: write %s where one is missing, or "+
			"say which positions to explain", m.info.Name, ErrNothingMasked, m.TokenText(m.mask))
	}
	return nil
}

// targets returns what to explain: the positions that were asked for, or those of [trace.Ask]. With
// the head Spans, among is the probability of each position as the start and as the end, [2][T].
func (m *Model) targets(ids []int, ask trace.Ask,
	logits func(positions ...int) ([][]float32, error),
) (all []target, among [][]float64, err error) {
	text := make([]int, len(ids))
	for i := range ids {
		text[i] = i
	}
	switch head := m.head(); {
	case head == trace.Spans:
		scores, err := logits(text...)
		if err != nil {
			return nil, nil, err
		}
		all, among = m.span(ids, scores, ask.Answers)
		for i, at := range ask.Positions {
			all[i].position = at
		}
		return all[:cmp.Or(len(ask.Positions), 2)], among, nil
	case len(ask.Positions) > 0:
		text = ask.Positions
	case head == trace.Labels:
		scores, err := logits(0)
		if err != nil {
			return nil, nil, err
		}
		return m.labels(m.spec.ReadsAt(ids), scores[0]), nil, nil
	case head == trace.MaskedToken:
		text = slices.DeleteFunc(text, func(i int) bool { return ids[i] != m.mask })
	case head == trace.TokenClasses:
		scores, err := logits(text...)
		if err != nil {
			return nil, nil, err
		}
		text = m.unusual(ids, scores)
	default:
		text = []int{m.spec.ReadsAt(ids)}
	}
	for _, at := range text {
		all = append(all, target{at, -1})
	}
	return all, nil, nil
}

// labels returns the classes whose probability is above one half, the highest score first; that one
// alone if there is none, and all if the scores are numbers.
func (m *Model) labels(at int, logits []float32) (all []target) {
	p := sigmoids(logits)
	for i, k := range mostProbable(p, len(p)) {
		if i == 0 || p[k] > 0.5 || m.spec.Scoring == spec.Quantity {
			all = append(all, target{at, k})
		}
	}
	return all
}

// unusual returns the positions of the text's tokens that do not have the class "O", or, if no
// class is called so, the class that most tokens have; the first of the tokens if all have it.
func (m *Model) unusual(ids []int, logits [][]float32) []int {
	classes := m.classCount()
	var text []int
	count := make([]int, classes)
	class := make([]int, len(ids))
	for i, scores := range logits {
		class[i] = mostProbable(m.probabilities(scores), 1)[0]
		if !m.special(ids[i]) {
			text = append(text, i)
			count[class[i]]++
		}
	}
	usual := slices.Index(count, slices.Max(count))
	for k := range classes {
		if m.class(k).Text == "O" {
			usual = k
		}
	}
	text = append(text, 0) // a text of control tokens alone
	found := slices.DeleteFunc(slices.Clone(text[:len(text)-1]),
		func(i int) bool { return class[i] == usual })
	if len(found) == 0 {
		return text[:1]
	}
	return found
}

// answerTokens is how many tokens an answer has at most, as in the reference's pipeline.
const answerTokens = 15

// span returns the start and the end of the best answer within the range, and the probability of
// each position as either, [2][T]: the softmax over the tokens of the range that are no control
// tokens, or over all tokens if there is no other. The best answer has the largest sum of both
// scores; the earliest counts among equals.
func (m *Model) span(ids []int, logits [][]float32, within [2]int) ([]target, [][]float64) {
	allowed := make([]bool, len(ids))
	for i, id := range ids {
		allowed[i] = !m.special(id) && (within == [2]int{} || i >= within[0] && i < within[1])
	}
	any := slices.Contains(allowed, true)
	var scores [2][]float32
	for k := range scores {
		scores[k] = slices.Repeat([]float32{float32(math.Inf(-1))}, len(ids))
		for i := range ids {
			if allowed[i] || !any {
				scores[k][i] = logits[i][k]
			}
		}
	}
	best, start, end := math.Inf(-1), 0, 0
	for i := range ids {
		for j := i; j < min(len(ids), i+answerTokens); j++ {
			if sum := float64(scores[0][i]) + float64(scores[1][j]); sum > best {
				best, start, end = sum, i, j
			}
		}
	}
	return []target{{start, 0}, {end, 1}}, [][]float64{softmax(scores[0]), softmax(scores[1])}
}

// prediction returns what the head predicts of a target.
func (m *Model) prediction(ids []int, t target, logits []float32,
	alternatives int,
) *trace.Prediction {
	next := &trace.Prediction{Position: t.position}
	switch head := m.head(); {
	case head == trace.NoHead:
		next.Token, next.Unscored = m.token(ids[t.position]), true
	case head == trace.MaskedToken:
		m.rank(next, softmax(logits), alternatives, m.token)
		next.Scores = scoresOf(logits, next.Token.ID)
	case head == trace.Spans:
		next.Class, next.Token = true, m.class(t.class)
	case m.spec.Scoring == spec.Quantity: // the model returns a value and chooses nothing
		next.Class, next.Unscored = true, true
		next.Token = trace.Token{ID: max(0, t.class), Text: m.number(t.class, logits)}
	default:
		p := m.probabilities(logits)
		m.rank(next, p, alternatives, m.class)
		if next.Class = true; t.class >= 0 {
			next.Token, next.Probability = m.class(t.class), p[t.class]
		}
		if m.spec.Discriminates() {
			logits = []float32{0, logits[0]} // of which p is the softmax
		} else if m.spec.Scoring == spec.AnyOf {
			return next // each class is its own distribution
		}
		next.Scores = scoresOf(logits, next.Token.ID)
	}
	return next
}

// number writes a score that is a number, with the name of its class if there are several.
func (m *Model) number(class int, logits []float32) string {
	text := strconv.FormatFloat(float64(logits[max(0, class)]), 'g', 4, 32)
	if len(logits) > 1 {
		return m.class(max(0, class)).Text + " " + text
	}
	return text
}

// probabilities are those of the classes, by what their scores mean.
func (m *Model) probabilities(logits []float32) []float64 {
	switch {
	case m.spec.Discriminates():
		p := sigmoids(logits)[0]
		return []float64{1 - p, p}
	case m.spec.Scoring == spec.AnyOf:
		return sigmoids(logits)
	}
	return softmax(logits)
}

// sigmoids returns 1/(1+exp(-x)) of each logit.
func sigmoids(logits []float32) []float64 {
	p := make([]float64, len(logits))
	for i, x := range logits {
		p[i] = 1 / (1 + math.Exp(-float64(x)))
	}
	return p
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

// classCount is how many classes the head tells apart.
func (m *Model) classCount() int {
	if m.spec.Discriminates() {
		return 2
	}
	return m.spec.Classes
}

// class describes a class as a token, whose text is the label.
func (m *Model) class(id int) trace.Token {
	switch {
	case m.spec.Discriminates():
		return trace.Token{ID: id, Text: [...]string{"original", "replaced"}[id]}
	case id < len(m.spec.Labels) && m.spec.Labels[id] != "":
		return trace.Token{ID: id, Text: m.spec.Labels[id]}
	}
	return trace.Token{ID: id, Text: fmt.Sprintf("class %d", id)}
}

package logit

import (
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/models/spec"
)

// Scored returns how many entries a head scores: the vocabulary or the classes. One score per
// token, as in ELECTRA's discriminator, counts as two classes; see [twoScores].
func Scored(s *spec.Spec) int {
	switch {
	case s.Discriminates():
		return 2
	case s.Classifies():
		return s.Classes
	}
	return s.Vocab
}

// twoScores are the scores of a discriminator whose one score x means the probability
// 1/(1+exp(-x)), which is the softmax of 0 and x.
func twoScores(s *spec.Spec, scores []float32) []float32 {
	if s.Discriminates() {
		return []float32{0, scores[0]}
	}
	return scores
}

// rivals are the scores whose softmax is the probability of a class: all of them or, where each
// class applies or not, 0 and its own, which is 1/(1+exp(-x)).
func rivals(s *spec.Spec, scores []float32, class int) []float32 {
	if independent(s) {
		return []float32{0, scores[class]}
	}
	return scores
}

// independent reports whether each class applies or not, whatever the scores of the others.
func independent(s *spec.Spec) bool { return s.Scoring == spec.AnyOf && !s.Discriminates() }

// CheckObjective returns an error if a text of n tokens does not have what o asks for.
func CheckObjective(s *spec.Spec, o trace.Objective, n int) error {
	if s.Head == spec.NoHead {
		return pkg.Errorf("the %s model has no head, so nothing is predicted", s.Family)
	}
	if _, err := trace.ParseQuantity(string(o.Quantity)); err != nil &&
		o.Quantity != trace.Margin {
		return err
	}
	if s.Head != spec.ClassifierHead && (o.Position < 0 || o.Position >= n) {
		return pkg.Errorf("position %d is not in 0..%d", o.Position, n-1)
	}
	if len(o.Foils) > 0 && (o.Contrast != nil || o.Quantity != trace.Logit) {
		return pkg.Errorf("%d foils; they need the quantity %s and no contrast",
			len(o.Foils), trace.Logit)
	}
	what := "the vocabulary"
	if s.Head != spec.LanguageHead {
		what = "the classes"
	}
	for i, w := range o.Sum() {
		if w.Token < 0 || w.Token >= Scored(s) {
			name := "token"
			if i > 0 {
				name = "contrast"
			}
			return pkg.Errorf("%s %d is not in 0..%d, %s", name, w.Token, Scored(s)-1, what)
		}
	}
	if s.Scoring == spec.Quantity && o.Quantity != trace.Logit {
		return pkg.Errorf("the scores of the %s model are numbers that have no %s; "+
			"take %s", s.Family, o.Quantity, trace.Logit)
	}
	return nil
}

// ObjectiveValue returns the number that o asks for, from the scores of its position, computed in
// float64. With scores z and token a it is
//
//	logit z_a,  log-probability z_a - log Σ_i exp z_i,  probability exp z_a / Σ_i exp z_i
//
// each minus that of the contrast, with the sum over [rivals]. If these are all scores, the sum
// cancels in a difference of log-probabilities, so it is the difference of the logits.
func ObjectiveValue(s *spec.Spec, o trace.Objective, scores []float32) float64 {
	scores = twoScores(s, scores)
	if o.Quantity == trace.Margin {
		if independent(s) {
			return float64(scores[o.Token])
		}
		return margin(scores, o.Token)
	}
	of := func(id int) float64 { return float64(scores[id]) }
	if o.Quantity != trace.Logit {
		of = func(id int) float64 {
			most, sum := rowmath.SoftmaxSum(rivals(s, scores, id))
			if o.Quantity == trace.Probability {
				return math.Exp(float64(scores[id])-most) / sum
			}
			return float64(scores[id]) - (most + math.Log(sum))
		}
	}
	sum := o.Sum()
	if len(sum) > 1 && o.Quantity != trace.Probability && !independent(s) {
		// What moves all scores is left out before it costs digits.
		of = func(id int) float64 { return float64(scores[id]) }
	}
	value := 0.0
	for _, w := range sum {
		value += w.Weight * of(w.Token)
	}
	return value
}

// margin returns the score of a token minus the largest score of any other.
func margin(scores []float32, token int) float64 {
	most := math.Inf(-1)
	for i, x := range scores {
		if i != token {
			most = max(most, float64(x))
		}
	}
	return float64(scores[token]) - most
}

// ObjectiveSlope puts the derivative of [ObjectiveValue] with respect to each score into dst,
// which is as long as scores. e_a is 1 at token a and 0 elsewhere, p the softmax:
//
//	logit e_a,  log-probability e_a - p,  probability p_a (e_a - p)
//
// each times its factor in [trace.Objective.Sum]. Of classes that apply or not, only the score of
// the class itself counts.
func ObjectiveSlope(s *spec.Spec, o trace.Objective, scores, dst []float32) {
	two := twoScores(s, scores)
	d := make([]float64, len(two))
	for _, w := range o.Sum() {
		id, factor := w.Token, w.Weight
		most, sum := rowmath.SoftmaxSum(rivals(s, two, id))
		if o.Quantity == trace.Probability {
			factor *= math.Exp(float64(two[id])-most) / sum
		}
		d[id] += factor
		if o.Quantity == trace.Logit {
			continue
		}
		for i, x := range two {
			if independent(s) && i != id {
				continue
			}
			d[i] -= factor * rowmath.Exp(float64(x)-most) / sum
		}
	}
	// Of two scores that stand for one, the first is the constant 0 and has no derivative.
	for i := range dst {
		dst[i] = float32(d[len(two)-len(dst)+i])
	}
}

// LogProbability returns ln softmax(scores)[id], computed in float64.
func LogProbability(scores []float32, id int) float64 {
	most, sum := rowmath.SoftmaxSum(scores)
	return float64(scores[id]) - most - math.Log(sum)
}

// AskedScores returns which scores of the head o wants, [N], and the factor of each. N is 2 or
// more, so that a query with a contrast and one without share a graph. A discriminator has one
// score, that of its second class.
func AskedScores(s *spec.Spec, o trace.Objective) (ids []int32, weights []float32) {
	for _, w := range o.Sum() {
		ids, weights = append(ids, int32(w.Token)), append(weights, float32(w.Weight))
	}
	if len(ids) == 1 {
		ids, weights = append(ids, 0), append(weights, 0)
	}
	if s.Discriminates() {
		for i, id := range ids {
			weights[i] *= float32(id)
			ids[i] = 0
		}
	}
	return ids, weights
}

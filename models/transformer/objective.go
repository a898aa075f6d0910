package transformer

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// scored returns how many entries a head scores: the vocabulary or the classes. One score per
// token, as in ELECTRA's discriminator, counts as two classes; see [twoScores].
func scored(s *spec.Spec) int {
	switch s.Head {
	case spec.ClassifierHead:
		return s.Classes
	case spec.TokenHead:
		return max(2, s.Classes)
	}
	return s.Vocab
}

// twoScores are the scores of a discriminator whose one score x means the probability
// 1/(1+exp(-x)), which is the softmax of 0 and x.
func twoScores(s *spec.Spec, scores []float32) []float32 {
	if s.Head == spec.TokenHead && s.Classes == 1 {
		return []float32{0, scores[0]}
	}
	return scores
}

// checkObjective returns an error if a text of n tokens does not have what o asks for.
func checkObjective(s *spec.Spec, o trace.Objective, n int) error {
	if s.Head == spec.NoHead {
		return fmt.Errorf("transformer: the %s model has no head, so nothing is predicted",
			s.Family)
	}
	if _, err := trace.ParseQuantity(string(o.Quantity)); err != nil &&
		o.Quantity != trace.Margin {
		return err
	}
	if s.Head != spec.ClassifierHead && (o.Position < 0 || o.Position >= n) {
		return fmt.Errorf("transformer: position %d is not in 0..%d", o.Position, n-1)
	}
	asked, what := []int{o.Token}, "the vocabulary"
	if o.Contrast != nil {
		asked = append(asked, *o.Contrast)
	}
	if s.Head != spec.LanguageHead {
		what = "the classes"
	}
	for i, id := range asked {
		if id < 0 || id >= scored(s) {
			return fmt.Errorf("transformer: %s %d is not in 0..%d, %s",
				[]string{"token", "contrast"}[i], id, scored(s)-1, what)
		}
	}
	if scored(s) == 1 && o.Quantity != trace.Logit {
		return fmt.Errorf("transformer: the %s model scores one class, "+
			"whose %s is always the same; take %s", s.Family, o.Quantity, trace.Logit)
	}
	return nil
}

// objectiveValue returns the number that o asks for, from the scores of its position, computed in
// float64.
func objectiveValue(s *spec.Spec, o trace.Objective, scores []float32) float64 {
	scores = twoScores(s, scores)
	if o.Quantity == trace.Margin {
		return margin(scores, o.Token)
	}
	of := func(id int) float64 { return float64(scores[id]) }
	if o.Quantity != trace.Logit {
		most, sum := softmaxSum(scores)
		shift := most + math.Log(sum)
		of = func(id int) float64 { return float64(scores[id]) - shift }
		if o.Quantity == trace.Probability {
			of = func(id int) float64 { return math.Exp(float64(scores[id])-most) / sum }
		}
	}
	if o.Contrast == nil {
		return of(o.Token)
	}
	if o.Quantity != trace.Probability { // what moves all scores is left out before it costs digits
		return float64(scores[o.Token]) - float64(scores[*o.Contrast])
	}
	return of(o.Token) - of(*o.Contrast)
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

// objectiveSlope puts the derivative of [objectiveValue] with respect to each score into dst,
// which is as long as scores. e_a is 1 at token a and 0 elsewhere, p the softmax:
//
//	logit e_a,  log-probability e_a - p,  probability p_a (e_a - p)
//
// each minus that of the contrast.
func objectiveSlope(s *spec.Spec, o trace.Objective, scores, dst []float32) {
	two := twoScores(s, scores)
	d := make([]float64, len(two))
	most, sum := softmaxSum(two)
	add := func(id int, sign float64) {
		factor := sign
		if o.Quantity == trace.Probability {
			factor *= math.Exp(float64(two[id])-most) / sum
		}
		d[id] += factor
		if o.Quantity == trace.Logit {
			return
		}
		for i, x := range two {
			d[i] -= factor * math.Exp(float64(x)-most) / sum
		}
	}
	add(o.Token, 1)
	if o.Contrast != nil {
		add(*o.Contrast, -1)
	}
	for i := range dst {
		dst[i] = float32(d[len(two)-len(dst)+i])
	}
}

// softmaxSum returns the largest score, and the sum of exp(score - largest), which cannot
// overflow.
func softmaxSum(scores []float32) (most, sum float64) {
	most = math.Inf(-1)
	for _, x := range scores {
		most = max(most, float64(x))
	}
	for _, x := range scores {
		sum += math.Exp(float64(x) - most)
	}
	return most, sum
}

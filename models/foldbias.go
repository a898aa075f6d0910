package models

import (
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// foldable returns an error if the bias of the norm before attention cannot be moved into the
// biases of query, key and value without changing the model.
func foldable(name string, s *spec.Spec) error {
	reason := ""
	switch {
	case !s.NormBias():
		reason = "its norms have no bias"
	case s.Order == spec.PostNorm || s.NormedResidual:
		reason = "what attention reads is also what is added to its output"
	case s.SharedNorm:
		reason = "the feed-forward part reads the same norm"
	case !s.ProjectionBias:
		reason = "query, key and value have no bias"
	}
	if reason != "" {
		return pkg.Errorf("the bias of the norm of %s cannot be folded: %s", name, reason)
	}
	return nil
}

// keyBiasDroppable returns an error if the bias of the key changes the attention of a model.
func keyBiasDroppable(name string, s *spec.Spec) error {
	reason := ""
	switch {
	case !s.ProjectionBias:
		reason = "it has none"
	case s.Positions == spec.RotaryPositions:
		reason = "under rotary positions its part of the score is not the same for all sources"
	case s.QueryKeyNorm:
		reason = "its keys are normed"
	case s.ScoreCap > 0:
		reason = "its scores are capped"
	}
	if reason != "" {
		return pkg.Errorf("the bias of the key of %s cannot be dropped: %s", name, reason)
	}
	return nil
}

const (
	normBias = "attention-norm.bias"
	biasEnd  = ".bias"
)

// projection returns the part of the name of a bias before ".bias", and whether it is that of a
// query, key or value.
func projection(name string) (string, bool) {
	part, is := strings.CutSuffix(name, biasEnd)
	for _, end := range []string{".query", ".key", ".value"} {
		if is && strings.HasSuffix(part, end) {
			return part, true
		}
	}
	return "", false
}

// folded returns a loader that moves the bias β of the norm before attention into the biases of
// query, key and value:
//
//	b̃ = b + W β,  β̃ = 0
//
// so that W ũ + b̃ = W u + b, of the norm's output u = ũ + β.
func folded(load spec.Loader, s *spec.Spec) spec.Loader {
	return func(p spec.Param, put func(first int, values []float32)) error {
		if strings.HasSuffix(p.Name, normBias) {
			put(0, make([]float32, p.Shape[0]))
			return nil
		}
		part, is := projection(p.Name)
		if !is {
			return load(p, put)
		}
		block := part[:strings.LastIndex(part, ".")+1]
		beta, err := whole(load, spec.Param{Name: block + normBias, Shape: []int{s.Width}})
		if err != nil {
			return err
		}
		bias, err := whole(load, p)
		if err != nil {
			return err
		}
		width := p.Shape[0]
		weight, err := whole(load, spec.Param{
			Name: part + ".weight", Shape: []int{s.Width, width},
		})
		if err != nil {
			return err
		}
		for e := range bias {
			sum := float64(bias[e])
			for d, b := range beta {
				sum += float64(b) * float64(weight[d*width+e])
			}
			bias[e] = float32(sum)
		}
		put(0, bias)
		return nil
	}
}

// withoutKeyBias returns a loader whose biases of keys are 0.
func withoutKeyBias(load spec.Loader) spec.Loader {
	return func(p spec.Param, put func(first int, values []float32)) error {
		if strings.HasSuffix(p.Name, ".key"+biasEnd) {
			put(0, make([]float32, p.Shape[0]))
			return nil
		}
		return load(p, put)
	}
}

// whole loads all values of a parameter.
func whole(load spec.Loader, p spec.Param) ([]float32, error) {
	n := 1
	for _, size := range p.Shape {
		n *= size
	}
	all := make([]float32, n)
	err := load(p, func(first int, values []float32) { copy(all[first:], values) })
	return all, err
}

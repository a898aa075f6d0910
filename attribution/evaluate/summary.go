package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Summary summarises a measure over many inputs.
type Summary struct {
	// Mean and SD are over the N inputs that have the measure. SD is the standard deviation of a
	// sample, 0 if N is 1.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Low and High are a 95 % confidence interval of the mean: percentiles of the means of 2,000
	// bootstrap samples from a fixed seed.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
	// Skipped is the number of inputs without the measure, such as a correlation with a constant
	// row.
	Skipped int `json:"skipped"`
}

// Summarize returns the summary of values. NaN and infinities are skipped and counted: a mean with
// one of them says nothing about the others.
func Summarize(values []float64) Summary {
	var s Summary
	var finite []float64
	for _, v := range values {
		if rowmath.NotFinite(v) {
			s.Skipped++
			continue
		}
		finite = append(finite, v)
	}
	if s.N = len(finite); s.N == 0 {
		return s
	}
	s.Mean = mean(finite)
	s.Low, s.High = s.Mean, s.Mean
	if s.N == 1 {
		return s
	}
	for _, v := range finite {
		s.SD += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(s.SD / float64(s.N-1))
	// Percentiles of resampled means need no assumption on how the values are distributed. The seed
	// is fixed, so that equal values give equal intervals.
	const draws = 2000
	rng := rand.New(rand.NewPCG(1, 95))
	means := make([]float64, draws)
	for i := range means {
		sum := 0.0
		for range finite {
			sum += finite[rng.IntN(len(finite))]
		}
		means[i] = sum / float64(s.N)
	}
	slices.Sort(means)
	s.Low, s.High = means[draws/40], means[draws-1-draws/40]
	return s
}

// mean returns the mean of values.
func mean(values []float64) float64 { return rowmath.Total(values) / float64(len(values)) }

// String writes the mean and its interval, and how many cases are without.
func (s Summary) String() string {
	if s.N == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.3f [%.3f, %.3f]", s.Mean, s.Low, s.High)
	if s.Skipped > 0 {
		text += fmt.Sprintf(" (%d without)", s.Skipped)
	}
	return text
}

package evaluate

import "math"

// Agreement is how similarly methods rank the tokens of the same predictions.
type Agreement struct {
	// Methods name the rows and columns.
	Methods []string `json:"methods"`
	// Spearman is [n][n]: rank correlations over predictions. Those of constant rows are skipped
	// and counted.
	Spearman [][]Summary `json:"spearman"`
}

// Agree returns the agreement of methods. scores[i][c], [T], has the scores of method i for
// prediction c. Values are ranked with their signs.
func Agree(methods []string, scores [][][]float64) Agreement {
	a := Agreement{Methods: methods, Spearman: make([][]Summary, len(methods))}
	for i := range methods {
		a.Spearman[i] = make([]Summary, len(methods))
		for j := range i {
			a.Spearman[i][j] = a.Spearman[j][i]
		}
		for j := i; j < len(methods); j++ {
			a.Spearman[i][j] = Summarize(Correlations(scores[i], scores[j]))
		}
	}
	return a
}

// Correlations returns the rank correlation of a[c] and b[c] for each c, NaN if one of them is
// constant.
func Correlations(a, b [][]float64) []float64 {
	out := make([]float64, len(a))
	for c := range a {
		rho, ok := Spearman(a[c], b[c])
		if !ok {
			rho = math.NaN()
		}
		out[c] = rho
	}
	return out
}

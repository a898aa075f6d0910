package evaluate

import "math"

// Agreement is how alike methods rank the tokens of the same predictions.
type Agreement struct {
	// Methods name the rows and columns.
	Methods []string `json:"methods"`
	// Spearman is [n][n], rank correlations over predictions; those with a constant are skipped and
	// counted.
	Spearman [][]Summary `json:"spearman"`
}

// Agree returns the agreement of methods, of which scores has rows: scores[i][c] is [T] of method i
// for prediction c. Signs count.
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

// Correlations returns the rank correlation of each pair of rows, NaN where one is constant.
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

package evaluate

import (
	"fmt"
	"math"
)

// Agreement is how similarly methods rank the tokens of the same predictions.
type Agreement struct {
	// Methods name the rows and columns.
	Methods []string `json:"methods"`
	// Spearman is [n][n]: rank correlations over predictions. Those of constant rows are skipped
	// and counted.
	Spearman [][]Summary `json:"spearman"`
}

// agree returns the agreement of methods. scores[i][c], [T], has the scores of method i for
// prediction c. Values are ranked with their signs. It panics if there are not as many scores as
// methods, or if methods have other numbers of predictions or tokens.
func agree(methods []string, scores [][][]float64) Agreement {
	if len(methods) != len(scores) {
		panic(fmt.Sprintf("evaluate: %d methods, and scores of %d", len(methods), len(scores)))
	}
	a := Agreement{Methods: methods, Spearman: make([][]Summary, len(methods))}
	for i := range methods {
		a.Spearman[i] = make([]Summary, len(methods))
		for j := range i {
			a.Spearman[i][j] = a.Spearman[j][i]
		}
		for j := i; j < len(methods); j++ {
			a.Spearman[i][j] = Summarize(correlations(scores[i], scores[j]))
		}
	}
	return a
}

// correlations returns the rank correlation of a[c] and b[c] for each c, NaN if one of them is
// constant or has NaN. It panics if the lengths differ.
func correlations(a, b [][]float64) []float64 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("evaluate: scores of %d and %d predictions", len(a), len(b)))
	}
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

package rowmath

import (
	"math"
	"math/rand/v2"
	"testing"
)

// naive returns softmax(logits) by its formula.
func naive(logits []float32) (p []float64) {
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	for _, x := range logits {
		p = append(p, math.Exp(float64(x))/sum)
	}
	return p
}

// TestScores compares entropy, surprisal, rank and divergence with their formulas.
func TestScores(t *testing.T) {
	const tol = 1e-12
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		x, y := make([]float32, 40), make([]float32, 40)
		for i := range x {
			x[i], y[i] = float32(3*rng.NormFloat64()), float32(3*rng.NormFloat64())
		}
		p, q, token := naive(x), naive(y), rng.IntN(len(x))
		entropy, divergence, rank := 0.0, 0.0, 1
		for i := range p {
			entropy -= p[i] * math.Log(p[i])
			divergence += p[i] * math.Log(p[i]/q[i])
			if p[i] > p[token] {
				rank++
			}
		}
		h, s, r := Scores(x, token)
		if math.Abs(h-entropy) > tol || math.Abs(s+math.Log(p[token])) > tol || r != rank {
			t.Errorf("Scores = %v %v %v, want %v %v %v", h, s, r, entropy, -math.Log(p[token]),
				rank)
		}
		if d := Divergence(x, y); math.Abs(d-divergence) > tol {
			t.Errorf("Divergence = %v, want %v", d, divergence)
		}
		if d := Divergence(x, x); d != 0 {
			t.Errorf("Divergence from itself = %v", d)
		}
	}
}

// TestScoresAtTheEnds: equal logits have entropy ln V and the best rank; logits far apart neither
// overflow nor give NaN, and a token below all others has a finite surprisal.
func TestScoresAtTheEnds(t *testing.T) {
	if h, s, r := Scores([]float32{7, 7, 7, 7}, 2); math.Abs(h-math.Log(4)) > 1e-15 ||
		math.Abs(s-math.Log(4)) > 1e-15 || r != 1 {
		t.Errorf("equal logits: %v %v %v, want ln 4, ln 4, 1", h, s, r)
	}
	far := []float32{3e4, -3e4, 0}
	if h, s, r := Scores(far, 1); h != 0 || s != 6e4 || r != 3 {
		t.Errorf("logits far apart: %v %v %v, want 0, 60000, 3", h, s, r)
	}
	if d := Divergence(far, []float32{-3e4, 3e4, 0}); d != 6e4 {
		t.Errorf("divergence of certain predictions is %v, want 60000", d)
	}
}

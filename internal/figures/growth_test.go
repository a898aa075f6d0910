package figures

import (
	"math"
	"testing"
)

// Two causal tokens, whose second one gives a half of its attention to each: Â has the rows (1,0)
// and (¼,¾). After two layers the flow from the second token to the first is min(1, ¼+¼) = ½, and
// to itself 1-¼ = ¾, the narrowest edge of the only path. The rows of rollout take 2·2² products.
func TestGrowthKnown(t *testing.T) {
	layer := []float64{1, 0, 0.25, 0.75}
	weights := append(append([]float64(nil), layer...), layer...)
	looked, row := flowOperations(weights, 2, 2, 1)
	for j, want := range []float64{0.5, 0.75} {
		if math.Abs(row[j]-want) > 1e-12 {
			t.Errorf("flow to input %d is %v, want %v", j, row[j], want)
		}
	}
	// Each search looks at 2 edges of (2,1), at 4 of a token in the middle and at 2 of an input. To
	// input 0: 2+4 by (1,0), 2+4 by (1,1), and 2+4+2 without a path. To itself: 2+4+4 by (1,1), and
	// 2+4+2 without a path.
	if looked != 20+18 {
		t.Errorf("%d edges looked at, want 38", looked)
	}
	one, all := rolloutOperations(weights, 2, 2, 1)
	if one != 8 || all != 8 {
		t.Errorf("%d multiplications of a row and %d of the product, want 2·2² and 2³", one, all)
	}
}

// The exponents of 5·d²·n³ are 2 and 3.
func TestExponents(t *testing.T) {
	lengths := []int{2, 4, 8}
	var operations [][]float64
	for d := 2.0; d <= 4; d++ {
		var row []float64
		for _, n := range lengths {
			row = append(row, 5*d*d*math.Pow(float64(n), 3))
		}
		operations = append(operations, row)
	}
	if p, q := exponents(operations, lengths); math.Abs(p-2) > 1e-9 || math.Abs(q-3) > 1e-9 {
		t.Errorf("exponents %v and %v, want 2 and 3", p, q)
	}
}

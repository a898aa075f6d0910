package rowmath

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	worst := 0.0
	check := func(x float64) {
		got, want := Exp(x), math.Exp(x)
		if want == got || math.IsNaN(want) && math.IsNaN(got) {
			return
		}
		units := math.Abs(got-want) / (math.Nextafter(want, math.Inf(1)) - want)
		worst = max(worst, units)
		if !(units <= 2) {
			t.Fatalf("Exp(%v) = %v, want %v: %v units apart", x, got, want, units)
		}
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, -1, 5e-324, -5e-324, math.Inf(1), math.Inf(-1), math.NaN(),
		700, -700, math.Nextafter(700, 0), math.Nextafter(-700, 0), 709.7, 710, -745, -746,
		math.Ln2 / 64, -math.Ln2 / 64,
	} {
		check(x)
	}
	for i := range 1_000_000 {
		check(-720 + 1440*float64(i)/1_000_000)
		check(-40 * float64(i) / 1_000_000)
		check(float64(i-500_000) * 1e-9)
	}
	t.Logf("at most %.2f units in the last place from math.Exp", worst)
}

func BenchmarkExp(b *testing.B) {
	row := make([]float64, 4096)
	for i := range row {
		row[i] = -float64(i) / 100
	}
	sum := 0.0
	for b.Loop() {
		for _, x := range row {
			sum += Exp(x)
		}
	}
	_ = sum
}

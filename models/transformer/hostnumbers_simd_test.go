//go:build amd64 && goexperiment.simd

package transformer

import (
	"math"
	"simd/archsimd"
	"testing"
)

// TestTiles: the functions of every processor compute the same tile.
func TestTiles(t *testing.T) {
	const in = 96
	x, w := make([]float32, tileRows*in), make([]float32, tileColumns*in)
	for i := range x {
		x[i] = float32(i%17) - 7.5
	}
	for i := range w {
		w[i] = float32(i%23) / 4
	}
	var want [tileRows * tileColumns]float32
	multiplyTilePlain(&want, x, w)
	for name, f := range map[string]struct {
		has      bool
		multiply func(y *[tileRows * tileColumns]float32, x, w []float32)
	}{
		"AVX2":    {archsimd.X86.AVX2() && archsimd.X86.FMA(), multiplyTileVectors},
		"AVX-512": {archsimd.X86.AVX512(), multiplyTileWide},
	} {
		if !f.has {
			continue
		}
		var got [tileRows * tileColumns]float32
		f.multiply(&got, x, w)
		for i := range got {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-3) { // sums reach 3,000
				t.Fatalf("%s: number %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
}

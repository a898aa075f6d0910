package run

import (
	"slices"
	"testing"
)

func TestTurn(t *testing.T) {
	for _, c := range []struct{ n, rows, stride int }{
		{1, 1, 1},
		{2, 3, 2},
		{3, 40, 5},
		{17, 33, 17},
		{1, 100, 3},
	} {
		src := make([]float32, c.rows*c.stride)
		for i := range src {
			src[i] = float32(i)
		}
		want := make([]float32, 0, c.n*c.rows)
		for k := range c.n {
			for r := range c.rows {
				want = append(want, src[r*c.stride+k])
			}
		}
		got := make([]float32, c.n*c.rows)
		turn(got, src, c.n, c.rows, c.stride)
		if !slices.Equal(got, want) {
			t.Errorf("turn of %d columns of %d rows, stride %d: %v, want %v", c.n, c.rows, c.stride,
				got, want)
		}
	}
}

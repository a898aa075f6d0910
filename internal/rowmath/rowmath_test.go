package rowmath

import (
	"math"
	"slices"
	"testing"
)

func TestAt(t *testing.T) {
	data := []float64{1, 2, 3, 4, 5, 6}
	row := At(data, 1, 2)
	if !slices.Equal(row, []float64{3, 4}) {
		t.Errorf("row 1 of width 2 is %v, want [3 4]", row)
	}
	row[0] = 9
	if data[2] != 9 {
		t.Error("the row does not alias the matrix")
	}
	if row = append(row, 7); data[4] != 5 {
		t.Errorf("appending to a row changes the next row: %v, %v", row, data)
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name     string
		row      []float64
		residual float64
		want     []float64
		ok       bool
	}{
		{"without a residual", []float64{1, 3, 0}, 0, []float64{0.25, 0.75, 0}, true},
		{"half a residual", []float64{1, 0, 0}, 0.5, []float64{0.5, 0.5, 0}, true},
		// (1-¼)·[2,0,0] + ¼·[0,1,0] = [1½, ¼, 0], whose sum is 7/4.
		{"after the sum", []float64{2, 0, 0}, 0.25, []float64{6. / 7, 1. / 7, 0}, true},
		{"residual alone", []float64{0, 0, 0}, 0.5, []float64{0, 1, 0}, true},
		{"zeros", []float64{0, 0, 0}, 0, []float64{0, 0, 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := slices.Clone(c.row)
			if ok := Normalize(row, 1, c.residual); ok != c.ok {
				t.Errorf("Normalize returns %v, want %v", ok, c.ok)
			}
			for s := range row {
				if math.Abs(row[s]-c.want[s]) > 1e-15 {
					t.Fatalf("Normalize(%v) gives %v, want %v", c.row, row, c.want)
				}
			}
		})
	}
}

func TestDivideBySum(t *testing.T) {
	row := []float64{1, 1, 2}
	if !DivideBySum(row) || !slices.Equal(row, []float64{0.25, 0.25, 0.5}) {
		t.Errorf("[1 1 2] becomes %v, want [0.25 0.25 0.5]", row)
	}
	if DivideBySum(nil) {
		t.Error("an empty row has no sum, but DivideBySum returns true")
	}
}

func TestTotal(t *testing.T) {
	// The last two sums differ because 1 + 1e16 is 1e16 in float64.
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{1, 2, 3.5}, 6.5},
		{[]float64{1, 1e16, -1e16}, 0},
		{[]float64{1e16, -1e16, 1}, 1},
	} {
		if got := Total(c.values); got != c.want {
			t.Errorf("Total(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestIndexInvalid(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		row  []float64
		want int
	}{
		{nil, -1},
		{[]float64{0, 1, math.MaxFloat64}, -1},
		{[]float64{math.Copysign(0, -1)}, -1},
		{[]float64{0, -1e-300, nan}, 1},
		{[]float64{0, 1, nan}, 2},
		{[]float64{inf, nan}, 0},
		{[]float64{1, -inf}, 1},
	} {
		if got := IndexInvalid(c.row); got != c.want {
			t.Errorf("IndexInvalid(%v) = %d, want %d", c.row, got, c.want)
		}
	}
	if got := IndexInvalid([]float32{1, float32(inf)}); got != 1 {
		t.Errorf("IndexInvalid of float32 numbers = %d, want 1", got)
	}
}

func TestCopyAbove(t *testing.T) {
	dst := make([]float64, 4)
	CopyAbove(dst, []float32{0.25, 0.5, 0.75, float32(math.NaN())}, 0.5)
	if want := []float64{0, 0.5, 0.75, 0}; !slices.Equal(dst, want) {
		t.Errorf("entries from 0.5 on are %v, want %v", dst, want)
	}
}

func TestPickFallingDot(t *testing.T) {
	row := []float64{1, 3, 3, -2}
	if got := Falling(row, nil); !slices.Equal(got, []int{1, 2, 0, 3}) {
		t.Errorf("falling positions are %v", got)
	}
	some := []int{3, 2, 1}
	if got := Falling(row, some); !slices.Equal(got, []int{2, 1, 3}) || some[0] != 3 {
		t.Errorf("falling positions among %v are %v", some, got)
	}
	if got := Pick(row, some); !slices.Equal(got, []float64{-2, 3, 3}) {
		t.Errorf("picked %v", got)
	}
	if got := Dot(row, []float64{2, 1, 0, 0.5}); got != 4 {
		t.Errorf("the product is %v, want 4", got)
	}
}

package codes

import "testing"

func TestRoundBFloat16(t *testing.T) {
	for _, c := range []struct{ x, want float32 }{
		{1, 1}, {0.044194173, 0.044189453}, {1 + 1.0/256, 1}, {1 + 3.0/256, 1 + 4.0/256}, {-1 - 3.0/256, -1 - 4.0/256}, {0, 0},
	} {
		if got := RoundBFloat16(c.x); got != c.want {
			t.Errorf("roundBFloat16(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

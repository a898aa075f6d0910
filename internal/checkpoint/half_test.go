package checkpoint

import (
	"math"
	"testing"
)

// half returns the value of a binary16 by the definition in IEEE 754, without the code under test.
func half(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	case 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

func TestFloat16AllValues(t *testing.T) {
	for i := range 1 << 16 {
		want := half(uint16(i))
		got := Float16(i).Float32()
		if math.IsNaN(want) {
			if back := NewFloat16(got); got == got || half(uint16(back)) == half(uint16(back)) {
				t.Fatalf("Float16(%#04x) = %v and back %#04x, want NaN twice", i, got, back)
			}
			continue
		}
		if math.Float64bits(float64(got)) != math.Float64bits(want) {
			t.Fatalf("Float16(%#04x).Float32() = %v, want %v", i, got, want)
		}
		if back := NewFloat16(got); back != Float16(i) {
			t.Fatalf("NewFloat16(%v) = %#04x, want %#04x", got, back, i)
		}
	}
}

// The middle between two neighbours of the same sign is rounded to the even one; any other number
// is rounded to the nearer one.
func TestNewFloat16RoundsToNearestEven(t *testing.T) {
	// up to the largest finite value, whose upper neighbour would be 65536
	for i := range uint16(0x7c00) {
		up := half(i + 1)
		if i == 0x7bff {
			up = 65536
		}
		middle := float32((half(i) + up) / 2) // 12 bits, exact in float32
		even := i + i&1
		for _, sign := range []uint16{0, 0x8000} {
			s := float32(1 - 2*int(sign>>15))
			cases := []struct {
				x    float32
				want uint16
			}{
				{middle, even},
				{math.Nextafter32(middle, 0), i},
				{math.Nextafter32(middle, 1e9), i + 1},
			}
			for _, c := range cases {
				if got := NewFloat16(s * c.x); got != Float16(sign|c.want) {
					t.Fatalf("NewFloat16(%v) = %#04x, want %#04x", s*c.x, got, sign|c.want)
				}
			}
		}
	}
}

func TestBFloat16(t *testing.T) {
	for i := range 1 << 16 {
		want := float64(math.Float32frombits(uint32(i) << 16))
		got := BFloat16(i).Float32()
		if math.IsNaN(want) {
			if back := newBFloat16(got).Float32(); got == got || back == back {
				t.Fatalf("BFloat16(%#04x) = %v and back %v, want NaN twice", i, got, back)
			}
			continue
		}
		if float64(got) != want || newBFloat16(got) != BFloat16(i) {
			t.Fatalf("BFloat16(%#04x) = %v and back %#04x, want %v", i, got, newBFloat16(got), want)
		}
	}
	// 1 is 0x3f80; its last bit is 2^-7, so the middle to the next value is 1 + 2^-8.
	cases := []struct {
		name string
		x    float32
		want BFloat16
	}{
		{"tie to even below", 1 + 1.0/256, 0x3f80},
		{"tie to even above", 1 + 3.0/256, 0x3f82},
		{"above the middle", 1 + 1.0/256 + 1.0/65536, 0x3f81},
		{"below the middle", 1 + 1.0/256 - 1.0/65536, 0x3f80},
		{"negative tie", -1 - 3.0/256, 0xbf82},
		{"too large", math.MaxFloat32, 0x7f80},
		{"NaN whose payload is cut", math.Float32frombits(0x7f800001), 0x7fc0},
	}
	for _, c := range cases {
		if got := newBFloat16(c.x); got != c.want {
			t.Errorf("%s: newBFloat16(%v) = %#04x, want %#04x", c.name, c.x, got, c.want)
		}
	}
}

// newBFloat16 rounds to the nearest BFloat16; of two that are equally near it takes the one whose
// last bit is 0. NaN stays NaN.
func newBFloat16(x float32) BFloat16 {
	bits := math.Float32bits(x)
	if x != x {
		// A quiet NaN: with the payload cut off it would become an infinity.
		return BFloat16(bits>>16) | 0x40
	}
	return BFloat16(roundShift(bits&0x7fffffff, 16)) | BFloat16(bits>>16&0x8000)
}

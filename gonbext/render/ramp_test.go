package render

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// minContrast is level AA of WCAG 2.1 for normal text.
const minContrast = 4.5

var black, white = chart.Black, chart.White

// rgb is an sRGB colour.
type rgb = chart.RGB

// steps is how many colours of an arm of the ramp are looked at.
const steps = 64

// contrast returns the contrast ratio of WCAG 2.1, from 1 to 21.
func contrast(a, b rgb) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance returns the relative luminance of WCAG 2.1.
func luminance(c rgb) float64 {
	var lin [3]float64
	for i, v := range c {
		if x := float64(v) / 255; x <= 0.04045 {
			lin[i] = x / 12.92
		} else {
			lin[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*lin[0] + 0.7152*lin[1] + 0.0722*lin[2]
}

// TestContrast uses the examples of WCAG: black on white is 21, #777 on white 4.48.
func TestContrast(t *testing.T) {
	if got := contrast(black, white); math.Abs(got-21) > 1e-9 {
		t.Errorf("contrast(black, white) = %v, want 21", got)
	}
	if got := contrast(rgb{0x77, 0x77, 0x77}, white); math.Abs(got-4.48) > 0.005 {
		t.Errorf("contrast(#777, white) = %.3f, want 4.48", got)
	}
}

// lightness is CIE L*, another measure than the one the ramp is made with.
func lightness(c rgb) float64 { return 116*math.Cbrt(luminance(c)) - 16 }

func TestRampIsEven(t *testing.T) {
	for name, sign := range map[string]float64{"blue": 1, "rust": -1} {
		at := func(i int) float64 { return lightness(chart.Ramp("", sign*float64(i)/steps)) }
		first, last := at(0), at(steps)
		if first < 97 || last > 30 {
			t.Errorf("%s: lightness from %.1f to %.1f, want from 97 or more to 30 or less", name,
				first, last)
		}
		for i := 1; i <= steps; i++ {
			fall := at(i-1) - at(i)
			even := (first - last) / steps
			if fall < 0.5*even || fall > 1.6*even {
				t.Errorf("%s: step %d falls by %.2f in lightness, even would be %.2f", name, i,
					fall, even)
			}
		}
	}
}

// TestRampPalettes checks the ramps of files for every palette of HTML: their lightness is even and
// the same in all, and text on them is legible.
func TestRampPalettes(t *testing.T) {
	if c := contrast(chart.Missing, chart.Missing.Legible()); c < minContrast {
		t.Errorf("text on what is missing has contrast %.2f", c)
	}
	for _, name := range PaletteNames() {
		for _, sign := range []float64{1, -1} {
			if name != PaletteNames()[0] && sign > 0 && chart.Ramp(name, 1) == chart.Ramp("", 1) {
				t.Errorf("%s has the colours of the default", name)
			}
			for i := range steps + 1 {
				x := sign * float64(i) / steps
				got := chart.Ramp(name, x)
				if off := lightness(got) - lightness(chart.Ramp("", x)); math.Abs(off) > 4 {
					t.Errorf("%s: %v has lightness %.1f, %.1f from that of the default", name, x,
						lightness(got), off)
				}
				if c := contrast(got, got.Legible()); c < minContrast {
					t.Errorf("%s: text on %v has contrast %.2f", name, x, c)
				}
			}
		}
	}
}

func TestRampEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float64
		want rgb
	}{
		{"both arms begin at the same neutral", math.Copysign(0, -1), chart.Ramp("", 0)},
		{"beyond", 7, chart.Ramp("", 1)},
		{"infinite", math.Inf(1), chart.Ramp("", 1)},
		{"minus infinite", math.Inf(-1), chart.Ramp("", -1)},
		{"not a number", math.NaN(), chart.Missing},
	} {
		if got := chart.Ramp("", c.x); got != c.want {
			t.Errorf("%s: chart.Ramp(%v) = %v, want %v", c.name, c.x, got, c.want)
		}
	}
}

// A value outside a cell has no unit of its own: it can be read alone.
func TestSmallValues(t *testing.T) {
	s := newScale("score", attribution.Amount, []float64{-3e-5, 2e-5})
	for v, want := range map[float64]string{
		-2.55e-5: "-2.55e-05", 1.2e-6: "+1.2e-06", 0: "0",
		math.NaN(): "NaN",
	} {
		if got := s.value(v); got != want {
			t.Errorf("value(%v) = %q, want %q", v, got, want)
		}
	}
	for limit, want := range map[float64]string{
		0.1: "", 0.05: "×10⁻³", 0.001: "×10⁻³",
		0.0005: "×10⁻⁶", 1e-12: "×10⁻¹²", 300: "",
	} {
		if got := newScale("score", attribution.Amount, []float64{limit}).times(); got != want {
			t.Errorf("unit of numbers up to %v: %q, want %q", limit, got, want)
		}
	}
}

// A row of small values has more digits than the scale, which is that of the largest row.
func TestScaleUpTo(t *testing.T) {
	signed := newScale("score", attribution.Amount, []float64{-3, 2})
	for _, c := range []struct {
		name    string
		s       scale
		largest float64
		want    string
	}{
		{"as large", signed, 3, "+0.04"},
		{"a fiftieth", signed, 0.06, "+0.043"},
		{"nothing", signed, 0, "+0.04"},
		{"next to nothing", signed, 1e-9, "+0.04"},
		{"shares", newScale("share", attribution.Share, []float64{0.5}), 0.06, "4.3"},
		{"in a unit of its own", newScale("score", attribution.Amount, []float64{-0.03}), 0.002, "+43.0"},
	} {
		if got := c.s.upTo(c.largest).number(0.043); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name, unit string
		values     []float64
		value      float64 // looked at
		at         float64
		low, high  string
		number     string
	}{
		{"share", "share of attention", []float64{0.02, 0.137}, 0.1, 0.5, "0 %", "20 %", "10.0"},
		{"share at most 1", "share of attention", []float64{0.9}, 0.5, 0.5, "0 %", "100 %", "50.0"},
		{"number", "flow", []float64{0.3}, 0.25, 0.5, "0", "0.5", "0.25"},
		{"small share", "share", []float64{0.004}, 0.0025, 0.5, "0 %", "0.5 %", "0.25"},
		{"small number", "flow", []float64{0.004}, 0.00125, 0.25, "0", "0.005", "1.25"},
		{"tens of thousandths", "flow", []float64{0.04}, 0.0125, 0.25, "0", "0.05", "12.5"},
		{"a thousandth", "flow", []float64{0.001}, 0.001, 1, "0", "0.001", "1.00"},
		{"a tenth", "flow", []float64{0.1}, 0.0125, 0.125, "0", "0.1", "0.013"},
		{"signed", "score", []float64{-3, 2}, -2.5, -0.5, "-5", "5", "-2.50"},
		{"signed, above zero", "score", []float64{-3, 2}, 2.5, 0.5, "-5", "5", "+2.50"},
		{"signed, written as zero", "score", []float64{-3, 2}, 0.001, 0.0002, "-5", "5", "0.00"},
		{"signed and less than one", "score", []float64{-0.3}, 0.0125, 0.025, "-0.5", "0.5", "+0.013"},
		{"signed and small", "score", []float64{-3e-5, 2e-5}, -2.5e-5, -0.5, "-5e-05", "5e-05", "-25.0"},
		{"signed shares", "share", []float64{-0.3}, 0.1, 0.2, "-50 %", "50 %", "+10.0"},
		{"lift", "lift (1 = uniform attention)", []float64{0.3, 3}, 2, 0.5, "÷4", "×4", "2.00"},
		{"lift of nothing", "lift", []float64{1, 3}, 0, -1, "÷4", "×4", "0.00"},
		{"negative lift", "lift", []float64{1}, -1, nan, "÷2", "×2", "-1.00"},
		{"empty", "flow", nil, 0.5, 0.5, "0", "1", "0.50"},
		{"constant zero", "share", []float64{0, 0}, 0, 0, "0 %", "100 %", "0.0"},
		{"infinity is not in the range", "flow", []float64{inf, 2, nan}, inf, 1, "0", "2", "∞"},
		{"not a number", "flow", []float64{nan}, nan, nan, "0", "1", "NaN"},
		{"tiny", "flow", []float64{5e-324}, 0, 0, "0", "1", "0.00"},
		{"huge", "flow", []float64{1e308}, 1e308, 1, "0", "1e+308", "1.0e+308"},
		{"one but for rounding", "flow", []float64{1 + 0x1p-52}, 0.5, 0.5, "0", "1", "0.50"},
		{"more than one", "flow", []float64{1.001}, 0.5, 0.25, "0", "2", "0.50"},
		{"lift of two but for rounding", "lift", []float64{2 + 0x1p-51}, 2, 1, "÷2", "×2", "2.00"},
		{"no negative zero", "flow", []float64{1}, -0.001, -0.001, "0", "1", "0.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScale(c.unit, ofUnit(c.unit).Quantity, c.values)
			if got := s.at(c.value); got != c.at && !(math.IsNaN(got) && math.IsNaN(c.at)) {
				t.Errorf("at(%v) = %v, want %v", c.value, got, c.at)
			}
			if low, high := s.ends(); low != c.low || high != c.high {
				t.Errorf("ends = %q, %q, want %q, %q", low, high, c.low, c.high)
			}
			if got := s.number(c.value); got != c.number {
				t.Errorf("number(%v) = %q, want %q", c.value, got, c.number)
			}
		})
	}
}

package render

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// dichromat returns what somebody sees who lacks one kind of cones: red, green or blue, after
// Viénot, Brettel and Mollon (1999) for red and green, and for blue by leaving out the axis from
// blue to yellow.
func dichromat(kind string, c rgb) (x, y, z float64) {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	r, g, b := linear(c[0]), linear(c[1]), linear(c[2])
	switch kind {
	case "red":
		both := 0.11238*r + 0.88762*g
		return both, both, 0.00401*r - 0.00401*g + b
	case "green":
		both := 0.29275*r + 0.70725*g
		return both, both, -0.02234*r + 0.02234*g + b
	default:
		return r, g, (r + g) / 2
	}
}

// TestThemesColorBlind holds the two sides of every theme apart for eyes that lack one kind of
// cones.
func TestThemesColorBlind(t *testing.T) {
	for _, theme := range themes {
		for _, sides := range [][2][levels]string{
			{theme.above, theme.below}, {theme.aboveDark, theme.belowDark},
		} {
			for _, kind := range []string{"red", "green", "blue"} {
				for i := range levels {
					x, y, z := dichromat(kind, rgbOf(sides[0][i]))
					u, v, w := dichromat(kind, rgbOf(sides[1][i]))
					d := math.Sqrt((x-u)*(x-u) + (y-v)*(y-v) + (z-w)*(z-w))
					if d < 0.03 { // the darkest steps are the closest, next to black
						t.Errorf("%s: steps %d and %d differ by %.3f without %s cones", theme.name,
							i+1, -i-1, d, kind)
					}
				}
			}
		}
	}
}

func TestStep(t *testing.T) {
	signed := newScale("score", attribution.Amount, []float64{-2, 1.1}).tight([]float64{-2, 1.1})
	lift := newScale("lift", attribution.Lift, []float64{0.3, 3})
	for _, c := range []struct {
		name string
		s    scale
		x    float64
		want int
	}{
		{"nothing", signed, 0, 0},
		{"below the first step", signed, 0.08, 0},
		{"the first step", signed, 0.09, 1},
		{"full", signed, 2, levels},
		{"beyond", signed, 9, levels},
		{"negative", signed, -1, -5},
		{"not a number", signed, math.NaN(), 0},
		{"infinite", signed, math.Inf(-1), -levels},
		{"neutral lift", lift, 1, 0},
		{"half", lift, 0.5, -5},
	} {
		if got := stepOf(c.s.at(c.x)); got != c.want {
			t.Errorf("%s: the step of %v is %d, want %d", c.name, c.x, got, c.want)
		}
	}
}

// TestTight derives limits by hand: the next number of two digits.
func TestTight(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{2.99, -0.1}, 3},
		{[]float64{-2.13, math.Inf(1), math.NaN()}, 2.2},
		{[]float64{0.0041}, 0.0041},
		{[]float64{2}, 2},
		{nil, 1},
	} {
		got := newScale("score", attribution.Amount, c.values).tight(c.values).limit
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("limit of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

// The sheet of a picture that was run also applies to pictures of the same page that the notebook
// does not trust, which have lost their palette's name: a colour without a value would paint white
// letters on white.
func TestSheetNeedsNoPalette(t *testing.T) {
	sheet := boardSheet()
	uses := regexp.MustCompile(`var\((--[pnoz]\d?)\)`)
	for _, use := range uses.FindAllStringSubmatch(sheet, -1) {
		declared := regexp.MustCompile(`(?:^|\})\.hm\{[^}]*` + use[1] + `:`)
		if !declared.MatchString(sheet) {
			t.Errorf("%s has no value without data-palette", use[1])
		}
	}
	if n := strings.Count(sheet, "data-palette="); n != len(themes)-1 {
		t.Errorf("%d palettes with a name, want all but the default", n)
	}
}

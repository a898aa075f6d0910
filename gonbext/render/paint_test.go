package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	imagecolor "image/color"
	"image/png"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// over returns the colour of a paint over a background, as a browser draws it.
func over(t *testing.T, p *palette, paint int, background rgb) rgb {
	t.Helper()
	var r, g, b, a int
	style := strings.TrimPrefix(p.style(paint), "background:#")
	if _, err := fmt.Sscanf(style, "%1x%1x%1x%1x", &r, &g, &b, &a); err != nil {
		t.Fatalf("paint %d has style %q: %v", paint, style, err)
	}
	var out rgb
	for i, c := range []int{r, g, b} {
		x := float64(a)/15*float64(17*c) + (1-float64(a)/15)*float64(background[i])
		out[i] = uint8(math.Round(x))
	}
	return out
}

// TestPaintContrast holds every paint to the contrast of text on light and dark hosts, and the
// steps to even differences of lightness.
func TestPaintContrast(t *testing.T) {
	for _, p := range palettes {
		t.Run(p.name, func(t *testing.T) { checkPalette(t, p) })
	}
}

func checkPalette(t *testing.T, p *palette) {
	t.Helper()
	for name, host := range map[string]struct{ background, text rgb }{
		"light": {white, black},
		"dark":  {rgb{17, 17, 17}, white},
		"black": {black, white},
	} {
		for paint := -levels; paint <= nanPaint; paint++ {
			if paint == 0 {
				continue
			}
			c := over(t, p, paint, host.background)
			if got := contrast(c, host.text); got < minContrast {
				t.Errorf("%s: text on paint %d, %v, has contrast %.2f, want %v", name, paint, c,
					got, minContrast)
			}
		}
		if name == "black" {
			continue // no theme of a notebook is; lightness rises steeply next to black
		}
		for _, sign := range []int{1, -1} {
			last := lightness(host.background)
			end := lightness(over(t, p, sign*levels, host.background))
			even := math.Abs(end-last) / levels
			for i := 1; i <= levels; i++ {
				l := lightness(over(t, p, sign*i, host.background))
				if d := math.Abs(l - last); d < 0.4*even || d > 1.7*even {
					t.Errorf("%s: step %d differs by %.1f in lightness, even would be %.1f", name,
						sign*i, d, even)
				}
				last = l
			}
		}
	}
}

// channels returns a colour #rgba, and its opacity.
func channels(t *testing.T, hex string) (c rgb, opacity float64) {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 16)
	if err != nil || len(hex) != 5 {
		t.Fatalf("%q is no colour with an opacity", hex)
	}
	for i := range c {
		c[i] = uint8(17 * (n >> (12 - 4*i) & 15))
	}
	return c, float64(n&15) / 15
}

// blend returns a colour with an opacity on a background.
func blend(c rgb, opacity float64, background rgb) (out rgb) {
	for i := range out {
		out[i] = uint8(math.Round(opacity*float64(c[i]) + (1-opacity)*float64(background[i])))
	}
	return out
}

// TestDarkSteps holds the steps as dark hosts see them, below a layer of their own hue, to the
// contrast of text, to rising lightness, and the palest of them to as much contrast with the
// background as on white. The filter of images gives each the same opacity.
func TestDarkSteps(t *testing.T) {
	const least = 1.3 // of the palest steps on white
	layers := regexp.MustCompile(`"(#\w+)"\]\{--hwo:var\(--hwd\)(#\w{4})\}`).
		FindAllStringSubmatch(styleSheet, -1)
	table := regexp.MustCompile(`tableValues='([^']*)'`).FindStringSubmatch(styleSheet)
	if table == nil {
		t.Fatal("the style sheet has no filter of images")
	}
	inImages := strings.Fields(table[1])
	for _, p := range palettes {
		for _, side := range [][levels]string{p.above, p.below} {
			for _, host := range []rgb{{17, 17, 17}, {30, 30, 30}} {
				last, even := lightness(host), 0.0
				for i, hex := range side {
					color, opacity := channels(t, hex)
					c, both := blend(color, opacity, host), opacity
					for _, layer := range layers {
						if strings.HasPrefix(hex, layer[1]) {
							color, opacity := channels(t, layer[2])
							c, both = blend(color, opacity, c), 1-(1-both)*(1-opacity)
						}
					}
					image, _ := strconv.ParseFloat(inImages[int(math.Round(15*opacity))], 64)
					if math.Abs(image-both) > 0.001 {
						t.Errorf("%s: %s has opacity %.3f, and %g in images", p.name, hex, both,
							image)
					}
					if got := contrast(c, white); got < minContrast {
						t.Errorf("%s: text on %s has contrast %.2f", p.name, hex, got)
					}
					if got := contrast(c, host); i == 0 && got < least {
						t.Errorf("%s: %s has contrast %.2f with %v, want %v", p.name, hex, got,
							host, least)
					}
					rise := lightness(c) - last
					if even == 0 {
						even = (lightness(blend(color, 1, host)) - last) / levels
					}
					if rise < 0.4*even {
						t.Errorf("%s: %s is lighter than the step before by %.1f on %v, even would be "+
							"%.1f", p.name, hex, rise, host, even)
					}
					last = lightness(c)
				}
			}
		}
	}
}

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

// TestPalettesColorBlind holds the two sides of every palette apart for eyes that lack one kind of
// cones.
func TestPalettesColorBlind(t *testing.T) {
	for _, p := range palettes {
		for _, kind := range []string{"red", "green", "blue"} {
			for i := 1; i <= levels; i++ {
				x, y, z := dichromat(kind, over(t, p, i, white))
				u, v, w := dichromat(kind, over(t, p, -i, white))
				d := math.Sqrt((x-u)*(x-u) + (y-v)*(y-v) + (z-w)*(z-w))
				if d < 0.018*float64(i) {
					t.Errorf("%s: steps %d and %d differ by %.3f without %s cones", p.name, i, -i,
						d, kind)
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
		{"below a twelfth", signed, 0.16, 0},
		{"a twelfth", signed, 0.17, 1},
		{"full", signed, 2, levels},
		{"beyond", signed, 9, levels},
		{"negative", signed, -1, -3},
		{"not a number", signed, math.NaN(), nanPaint},
		{"infinite", signed, math.Inf(-1), -levels},
		{"neutral lift", lift, 1, 0},
		{"half", lift, 0.5, -3},
	} {
		if got := c.s.step(c.x); got != c.want {
			t.Errorf("%s: step(%v) = %d, want %d", c.name, c.x, got, c.want)
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

// TestImage reads an image back: each cell has the colour of its paint, and negative cells are
// hatched.
func TestImage(t *testing.T) {
	g := grid{{0, 1, levels}, {-levels, sinkPaint, nanPaint}}
	address := g.png(palettes[0], 8, 8)
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(address, imageStart))
	must(t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	must(t, err)
	if b := picture.Bounds(); b.Dx() != 24 || b.Dy() != 16 {
		t.Fatalf("the image is %v", b)
	}
	for i, row := range g {
		for j, paint := range row {
			var seen []imagecolor.Color
			for p := range 64 {
				c := imagecolor.NRGBAModel.Convert(picture.At(8*j+p%8, 8*i+p/8))
				if !slices.Contains(seen, c) {
					seen = append(seen, c)
				}
			}
			want := 1
			if paint < 0 {
				want = 2
			}
			color := palettes[0].image()[paletteIndex(paint)]
			if len(seen) != want || !slices.Contains(seen, color) {
				t.Errorf("cell %d,%d of paint %d has colours %v", i, j, paint, seen)
			}
		}
	}
	if got := (grid{}).png(palettes[0], 1, 1); !strings.HasPrefix(got, imageStart) {
		t.Errorf("an empty image is %q", got)
	}
}

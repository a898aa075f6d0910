package render

import "math"

// color is one entry of a ramp: a background and a text colour that is legible on it.
type color struct {
	background, text rgb
}

// rgb is an sRGB colour.
type rgb [3]uint8

var (
	black = rgb{0, 0, 0}
	white = rgb{255, 255, 255}
	// undefined is the colour of NaN.
	undefined = color{rgb{176, 176, 176}, black}
)

// steps is the number of colours from neutral to full.
const steps = 64

// The anchors of both arms of the ramp in OKLCH: lightness, chroma, hue in degrees. Lightness falls
// by the same amount from anchor to anchor and is interpolated linearly, so that equal steps look
// equal. Both arms have the same lightness, so they look alike in grey and to colour-blind readers,
// and both begin at the same neutral colour.
var (
	blueArm = [5][3]float64{
		{0.985, 0.006, 240},
		{0.820, 0.075, 236},
		{0.655, 0.112, 244},
		{0.490, 0.125, 256},
		{0.325, 0.105, 264},
	}
	rustArm = [5][3]float64{
		{0.985, 0.006, 240},
		{0.820, 0.085, 66},
		{0.655, 0.120, 54},
		{0.490, 0.112, 44},
		{0.325, 0.078, 38},
	}
	positive = arm(blueArm)
	negative = arm(rustArm)
)

// ramp returns the colour of x: 0 is neutral, 1 the deepest blue, -1 the deepest rust. Values
// beyond are clamped, and NaN is grey. Shares use only the positive half, signed values both.
func ramp(x float64) color {
	switch {
	case math.IsNaN(x):
		return undefined
	case x < 0:
		return negative[step(-x)]
	}
	return positive[step(x)]
}

// step returns the entry of an arm for x ≥ 0.
func step(x float64) int { return int(math.Round(min(x, 1) * steps)) }

// arm interpolates the anchors in OKLab.
func arm(anchors [5][3]float64) (colors [steps + 1]color) {
	for i := range colors {
		at := float64(i) / steps * float64(len(anchors)-1)
		k := min(int(at), len(anchors)-2)
		f := at - float64(k)
		var lab [3]float64
		p, q := oklab(anchors[k]), oklab(anchors[k+1])
		for c := range lab {
			lab[c] = (1-f)*p[c] + f*q[c]
		}
		background := srgb(lab)
		colors[i] = color{background, legible(background)}
	}
	return colors
}

// legible returns black or white, whichever has more contrast. One of them always reaches 4.58,
// more than the 4.5 of WCAG level AA.
func legible(background rgb) rgb {
	if contrast(background, black) >= contrast(background, white) {
		return black
	}
	return white
}

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

func oklab(lch [3]float64) [3]float64 {
	sin, cos := math.Sincos(lch[2] * math.Pi / 180)
	return [3]float64{lch[0], lch[1] * cos, lch[1] * sin}
}

// srgb converts OKLab (Ottosson 2020, "A perceptual color space for image processing") to sRGB.
func srgb(lab [3]float64) rgb {
	l := cube(lab[0] + 0.3963377774*lab[1] + 0.2158037573*lab[2])
	m := cube(lab[0] - 0.1055613458*lab[1] - 0.0638541728*lab[2])
	s := cube(lab[0] - 0.0894841775*lab[1] - 1.2914855480*lab[2])
	return rgb{
		gamma(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		gamma(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		gamma(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
	}
}

func cube(x float64) float64 { return x * x * x }

func gamma(x float64) uint8 {
	x = min(max(x, 0), 1)
	if x <= 0.0031308 {
		x *= 12.92
	} else {
		x = 1.055*math.Pow(x, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * x))
}

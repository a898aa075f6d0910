package chart

import (
	"cmp"
	"fmt"
	"math"
)

// RGB is an sRGB colour.
type RGB [3]uint8

// String returns the colour as #rrggbb.
func (c RGB) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// Colours with a meaning of their own.
var (
	// Missing is the colour of NaN.
	Missing = RGB{0xb0, 0xb0, 0xb0}
	Black   = RGB{0, 0, 0}
	White   = RGB{255, 255, 255}
)

// arm is one side of a ramp: anchors in OKLCH, which are lightness, chroma and hue in degrees.
// Lightness falls by the same amount from anchor to anchor and is interpolated linearly, so that
// equal steps look equal. Both arms of a palette have the same lightness, so they look alike in
// grey and to colour-blind readers, and both begin at the same neutral colour.
type arm [5][3]float64

var (
	blueArm = arm{
		{0.985, 0.006, 240},
		{0.820, 0.075, 236},
		{0.655, 0.112, 244},
		{0.490, 0.125, 256},
		{0.325, 0.105, 264},
	}
	rustArm = arm{
		{0.985, 0.006, 240},
		{0.820, 0.085, 66},
		{0.655, 0.120, 54},
		{0.490, 0.112, 44},
		{0.325, 0.078, 38},
	}
	greenArm = arm{
		{0.985, 0.006, 240},
		{0.820, 0.085, 150},
		{0.655, 0.115, 149},
		{0.490, 0.100, 148},
		{0.325, 0.070, 147},
	}
	purpleArm = arm{
		{0.985, 0.006, 240},
		{0.820, 0.085, 308},
		{0.655, 0.130, 306},
		{0.490, 0.150, 302},
		{0.325, 0.120, 298},
	}
	// The hue of this arm changes with the step, from green to violet, which tells neighbouring
	// steps further apart.
	hueArm = arm{
		{0.985, 0.006, 240},
		{0.820, 0.090, 155},
		{0.655, 0.100, 215},
		{0.490, 0.135, 262},
		{0.325, 0.120, 300},
	}
)

// palettes are the arms above and below the neutral colour of each palette.
var palettes = map[string][2]*arm{
	"":             {&blueArm, &rustArm},
	"blue-rust":    {&blueArm, &rustArm},
	"green-purple": {&greenArm, &purpleArm},
	"perceptual":   {&hueArm, &rustArm},
}

// Ramp returns the colour of x in a palette: 0 is neutral, 1 the deepest blue, -1 the deepest rust.
// The palettes are those of HTML, blue-rust, green-purple and perceptual, and those of published
// pictures, which go from 0 to 1. An unknown one is blue-rust. Values beyond are clamped, and NaN
// is [Missing].
func Ramp(palette string, x float64) RGB {
	if math.IsNaN(x) {
		return Missing
	}
	if colors := published[palette]; colors != nil {
		return between(colors, x)
	}
	arms, known := palettes[palette]
	if !known {
		arms = palettes[""]
	}
	arm := arms[0]
	if x < 0 {
		arm, x = arms[1], -x
	}
	at := min(x, 1) * float64(len(arm)-1)
	k := min(int(at), len(arm)-2)
	f := at - float64(k)
	p, q := oklab(arm[k]), oklab(arm[k+1])
	var lab [3]float64
	for i := range lab {
		lab[i] = (1-f)*p[i] + f*q[i]
	}
	return srgb(lab)
}

// At returns the colour of a value on a scale whose deepest colour belongs to limit, in a palette
// of [Ramp]. A scale that has a palette of its own keeps it.
func (s Scale) At(value, limit float64, palette string) RGB {
	if !s.Diverging && value < 0 {
		value = 0
	}
	return Ramp(cmp.Or(s.Palette, palette), value/limit)
}

// seriesColors are the colours of series, in OKLCH. Neighbours differ in lightness, so that they
// can be told apart in grey; the hues can be told apart with red-green blindness.
var seriesColors = [][3]float64{
	{0.40, 0.125, 260}, // blue
	{0.72, 0.150, 60},  // orange
	{0.20, 0.010, 260}, // nearly black
	{0.60, 0.110, 165}, // green
	{0.86, 0.120, 95},  // yellow
	{0.50, 0.150, 350}, // red-purple
	{0.78, 0.080, 230}, // light blue
	{0.56, 0.150, 25},  // red
}

// seriesColor returns the colour of series i of n. Up to eight have colours of their own; more are
// coloured by their place on the ramp, which shows their order.
func seriesColor(i, n int) RGB {
	if n > len(seriesColors) {
		return Ramp("", 0.15+0.85*float64(i)/float64(n-1))
	}
	return srgb(oklab(seriesColors[i]))
}

// SeriesColor returns the colour of series i of the chart: its own, or that of its place, in the
// palette of the scale if there is one and no numbers are coloured.
func (c *Chart) SeriesColor(i int) RGB {
	n := len(c.Series)
	switch own := c.Series[i].Color; {
	case own != nil:
		return *own
	case c.Color.Palette != "" && !c.Colored() && n > 1:
		return Ramp(c.Color.Palette, float64(i)/float64(n-1))
	}
	return seriesColor(i, n)
}

// Ordered reports whether the series are coloured by their order and not each by its own colour.
func (c *Chart) Ordered() bool { return len(c.Series) > len(seriesColors) }

// Legible returns black or white, whichever has more contrast with the colour. One of them always
// reaches 4.58, more than the 4.5 of WCAG level AA.
func (c RGB) Legible() RGB {
	if l := c.luminance(); (l+0.05)/0.05 < 1.05/(l+0.05) {
		return White
	}
	return Black
}

// Gray returns the lightness of the colour in grey, CIE L*, from 0 to 100.
func (c RGB) Gray() float64 {
	y := c.luminance()
	if y <= 216.0/24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}

// luminance returns the relative luminance of WCAG 2.1.
func (c RGB) luminance() float64 {
	var lin [3]float64
	for i, v := range c {
		lin[i] = linear(v)
	}
	return 0.2126*lin[0] + 0.7152*lin[1] + 0.0722*lin[2]
}

// linear is the inverse of gamma.
func linear(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

func oklab(lch [3]float64) [3]float64 {
	sin, cos := math.Sincos(lch[2] * math.Pi / 180)
	return [3]float64{lch[0], lch[1] * cos, lch[1] * sin}
}

// srgb converts OKLab (Ottosson 2020, "A perceptual color space for image processing") to sRGB.
func srgb(lab [3]float64) RGB {
	l := cube(lab[0] + 0.3963377774*lab[1] + 0.2158037573*lab[2])
	m := cube(lab[0] - 0.1055613458*lab[1] - 0.0638541728*lab[2])
	s := cube(lab[0] - 0.0894841775*lab[1] - 1.2914855480*lab[2])
	return RGB{
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

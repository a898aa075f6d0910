package render

import (
	imagecolor "image/color"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/internal/message"
)

// palette is the colours of values above and below the neutral one, from the weakest that stands
// out to the strongest. Each is a hex colour with an opacity, from 3/15 to 13/15 of the background
// of the host, so that one colour fits light and dark themes: at every step black text on white
// and white text on black keep a contrast of 4.5. The lightness of the steps is even. Where the
// style sheet is kept, dark hosts see each colour below a layer of its own hue, because the palest
// ones would vanish there.
//
// The two sides of a palette differ for all common kinds of colour blindness. Values below have a
// second mark: their sign, and hatching where style sheets and images are shown. The style sheet
// hatches by the colours below, so no palette may have one of these above.
type palette struct {
	name         string
	above, below [levels]string
}

// opacities are the digits of the opacity of each step.
const opacities = "3579bd"

// shades returns the steps of one hue.
func shades(hex string) (colors [levels]string) {
	for i := range colors {
		colors[i] = hex + opacities[i:i+1]
	}
	return colors
}

// palettes are all palettes, the default first.
var palettes = []*palette{
	{"blue-rust", shades("#27b"), shades("#b51")},
	{"green-purple", shades("#283"), shades("#84b")},
	// The hue changes with the step, which tells neighbouring steps further apart.
	{
		"perceptual",
		[levels]string{"#0843", "#0855", "#3787", "#27b9", "#36fb", "#85dd"},
		shades("#b51"),
	},
}

// PaletteNames returns the names that [Heatmap.Palette] may have, the default first.
func PaletteNames() []string {
	var names []string
	for _, p := range palettes {
		names = append(names, p.name)
	}
	return names
}

// CheckPalette returns a [trace.UsageError] if there is no palette of that name. The empty name is
// the default.
func CheckPalette(name string) error {
	if p := paletteOf(name); name != "" && p.name != name {
		return usagef("unknown palette %s; %s", message.Quote(name),
			message.KnownAre(name, PaletteNames()))
	}
	return nil
}

// paletteOf returns the palette of that name, or the default one if there is none.
func paletteOf(name string) *palette {
	for _, p := range palettes {
		if p.name == name {
			return p
		}
	}
	return palettes[0]
}

// number returns the place of the palette among all, 0 for the default.
func (p *palette) number() int { return slices.Index(palettes, p) }

// style returns the declaration of a paint, or "" for none.
func (p *palette) style(paint int) string {
	switch {
	case paint == 0:
		return ""
	case paint == sinkPaint:
		return sinkStyle
	case paint == nanPaint:
		return nanStyle
	case paint < 0:
		return "background:" + p.below[-paint-1]
	}
	return "background:" + p.above[paint-1]
}

// image returns the colours of every paint, in the order of paletteIndex: none, the steps above and
// below, sink, NaN.
func (p *palette) image() imagecolor.Palette {
	all := imagecolor.Palette{imagecolor.NRGBA{}}
	for _, hex := range append(p.above[:], p.below[:]...) {
		n, _ := strconv.ParseUint(hex[1:], 16, 16) // the palettes above are valid
		at := func(shift int) uint8 { return uint8(n >> shift & 15 * 17) }
		all = append(all, imagecolor.NRGBA{at(12), at(8), at(4), at(0)})
	}
	grey := imagecolor.NRGBA{0x88, 0x88, 0x88, 0x44}
	return append(all, grey, imagecolor.NRGBA{0x88, 0x88, 0x88, 0xaa})
}

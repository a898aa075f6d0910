package figure

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// paletteSize is how many colours a PNG with one byte for each pixel can have.
const paletteSize = 256

// fewColors returns an opaque image with a palette, which takes a third of the bytes as a PNG. The
// most frequent colours stay as they are: those of paper, text, cells and lines. If there are more
// than a palette holds, the rare ones, which are on the edges of lines and letters, become the
// nearest of the others.
func fewColors(from image.Image) *image.Paletted {
	bounds := from.Bounds()
	opaque := func(x, y int) color.RGBA {
		r, g, b, _ := from.At(x, y).RGBA()
		eight := func(v uint32) uint8 { return uint8(v >> 8) } //nolint:gosec // of 16 bits
		return color.RGBA{eight(r), eight(g), eight(b), 0xff}
	}
	count := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[opaque(x, y)]++
		}
	}
	ordered := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R),
			cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range ordered[:min(len(ordered), paletteSize)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range ordered {
		index[c] = uint8(palette.Index(c)) //nolint:gosec // below 256
	}
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, index[opaque(x, y)])
		}
	}
	return to
}

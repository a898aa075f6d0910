package chart

import (
	"maps"
	"math"
	"slices"
)

// published are palettes of published pictures, for [Scale.Palette]: colours from the smallest
// value to the largest, with straight lines in sRGB between them, as the programs draw them that
// made the pictures. Lightness rises or falls along each of them, so that values can be told apart
// in grey.
var published = map[string][]RGB{
	// Claus, Figure 1.
	"sky": {{0xe4, 0xf5, 0xff}, {0x00, 0x42, 0x80}},
	// Claus, Figure 2. Pure blue and red are nearly alike in grey, so this blue is darker and this
	// red is lighter.
	"blue-red": {{0x12, 0x1a, 0x8c}, {0x8a, 0x1f, 0x8f}, {0xd8, 0x3a, 0x63}, {0xff, 0x6b, 0x4a}},
	// Claus, Figures 4 to 6. The last tenth, a yellow that is hard to see on white, is left out.
	"viridis": viridis,
	// Claus, Figure 9.
	"viridis-reversed": reversed(viridis),
	// Mohebbi et al. 2023, maps of layers.
	"blues": {
		{0xf7, 0xfb, 0xff},
		{0xde, 0xeb, 0xf7},
		{0xc6, 0xdb, 0xef},
		{0x9e, 0xca, 0xe1},
		{0x6b, 0xae, 0xd6},
		{0x42, 0x92, 0xc6},
		{0x21, 0x71, 0xb5},
		{0x08, 0x51, 0x9c},
		{0x08, 0x30, 0x6b},
	},
	// Abnar and Zuidema 2020, Figure 4, called YlOrRd.
	"yellow-red": {
		{0xff, 0xff, 0xcc},
		{0xff, 0xed, 0xa0},
		{0xfe, 0xd9, 0x76},
		{0xfe, 0xb2, 0x4c},
		{0xfd, 0x8d, 0x3c},
		{0xfc, 0x4e, 0x2a},
		{0xe3, 0x1a, 0x1c},
		{0xbd, 0x00, 0x26},
		{0x80, 0x00, 0x26},
	},
}

var viridis = []RGB{
	{0x44, 0x01, 0x54},
	{0x48, 0x24, 0x75},
	{0x41, 0x44, 0x87},
	{0x35, 0x5f, 0x8d},
	{0x2a, 0x78, 0x8e},
	{0x21, 0x91, 0x8c},
	{0x22, 0xa8, 0x84},
	{0x44, 0xbf, 0x70},
	{0x7a, 0xd1, 0x51},
	{0xbd, 0xdf, 0x26},
}

// reversed returns colours in the other order.
func reversed(colors []RGB) []RGB {
	colors = slices.Clone(colors)
	slices.Reverse(colors)
	return colors
}

// publishedNames returns the names of the palettes of published pictures, sorted.
func publishedNames() []string { return slices.Sorted(maps.Keys(published)) }

// between returns the colour at x of a list, from 0 to 1; x beyond is clamped.
func between(colors []RGB, x float64) (c RGB) {
	at := min(max(x, 0), 1) * float64(len(colors)-1)
	k := min(int(at), len(colors)-2)
	f := at - float64(k)
	for i := range c {
		c[i] = uint8(math.Round((1-f)*float64(colors[k][i]) + f*float64(colors[k+1][i])))
	}
	return c
}

package render

import "github.com/headwater-ml/headwater/internal/message"

// PaletteNames returns the names that [Heatmap.Palette] may have, the default first.
func PaletteNames() []string {
	var names []string
	for _, t := range themes {
		names = append(names, t.name)
	}
	return names
}

// CheckPalette returns a [trace.UsageError] if there is no palette of that name. The empty name is
// the default.
func CheckPalette(name string) error {
	if name != "" && themeOf(name).name != name {
		return usagef("unknown palette %s; %s", message.Quote(name),
			message.KnownAre(name, PaletteNames()))
	}
	return nil
}

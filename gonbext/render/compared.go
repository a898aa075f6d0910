package render

import "strings"

// Compared is what a picture of two sides says beside its values; see [Compare].
type Compared struct {
	// Title says what differs: "Two models compared".
	Title string
	// Methods are the methods of the picture's explanation that are the two sides and their
	// difference.
	Methods [3]string
	// About are the models or the prompts of the sides; empty if both have the same.
	About [2]string
	// Agreement says how far the sides agree.
	Agreement string
}

// Compared returns what a picture of two sides says; ok is false for another picture.
func (h Heatmap) Compared() (c Compared, ok bool) {
	if h.comparison == nil {
		return c, false
	}
	h.picture(true) // which finds how far the rows agree
	c = Compared{
		Title: h.comparison.title, Methods: h.comparison.names, Agreement: h.comparison.all,
	}
	for i, text := range h.comparison.about {
		c.About[i] = Visible(strings.TrimSpace(text), 3*nameLimit)
	}
	return c, true
}

package render

import "strings"

// Compared is what a picture of two sides says beside its values; see [Compare].
type Compared struct {
	// Title says what differs: "Two models compared".
	Title string
	// Methods are the methods of the picture's explanation that are the two sides and their
	// difference.
	Methods [3]string
	// About are the models or the prompts of the sides, each on one line and of at most 180
	// characters; empty if both have the same. [Compared.AboutIn] returns shorter ones.
	About [2]string
	// Differs tells where the answers differ and how to force one answer, "" if they do not.
	Differs string
	// Agreement says how far the sides agree, "" if nothing is compared.
	Agreement string

	about []string // in full
}

// Compared returns what a picture of two sides says; ok is false for another picture.
func (h Heatmap) Compared() (c Compared, ok bool) {
	if h.comparison == nil {
		return c, false
	}
	h.picture(true) // which finds how far the rows agree
	c = Compared{
		Title: h.comparison.title, Methods: h.comparison.names, Agreement: h.comparison.all,
		Differs: h.comparison.differs(), about: h.comparison.about,
	}
	if c.Agreement != "" {
		c.Agreement += "."
	}
	c.About = c.AboutIn(3 * nameLimit)
	return c, true
}

// AboutIn returns the models or the prompts of both sides in at most so many characters. Where one
// is longer, both are cut at the same places, so that where they first differ can be seen in both.
func (c Compared) AboutIn(most int) [2]string { return cutAlike(c.about, most) }

// cutAlike returns two texts as AboutIn does; both are empty if there are none.
func cutAlike(both []string, most int) (about [2]string) {
	if len(both) < 2 {
		return about
	}
	var texts [2][]rune
	longest := 0
	for i := range texts {
		texts[i] = []rune(Visible(strings.TrimSpace(both[i]), 0))
		longest = max(longest, len(texts[i]))
	}
	most = max(most, 8)
	begin, end := 0, longest
	if longest > most {
		same := 0
		for same < min(len(texts[0]), len(texts[1])) && texts[0][same] == texts[1][same] {
			same++
		}
		room := most - 1 // for an ellipsis at the end
		if same > room*2/3 {
			room-- // and one at the beginning
			begin = min(same-room/3, longest-room)
		}
		end = begin + room
	}
	for i, text := range texts {
		cut := string(text[min(begin, len(text)):min(end, len(text))])
		if begin > 0 {
			cut = "…" + cut
		}
		if end < len(text) {
			cut += "…"
		}
		about[i] = cut
	}
	return about
}

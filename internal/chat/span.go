package chat

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Span is a stretch of a rendered text: words of one message, or what the template wrote.
type Span struct {
	// Turn is the index of the message that the span belongs to. What the template writes belongs
	// to the message that its loop is at, and outside of a loop to the nearest message, the one
	// before if there is one, but for the label that begins the message after it.
	Turn int
	// Role is the role of that message, and system for what the template adds before the first one.
	Role string
	// Kind is what the span is: words of the message, or what the template wrote.
	Kind Kind
	// Thinking reports whether the span is of reasoning_content, or between <think> and </think> in
	// what an assistant says.
	Thinking bool
	// Begin and End are the bytes [Begin,End) of the text.
	Begin, End int
}

// Templates trim, cut and join what a message says, so a search in the text would not do. The
// conversation is rendered a second time, with a mark before and after each text of a message:
// characters for private use, which templates carry along. Without its marks the second text is the
// first one, unless a template looks at the characters of a text; then a search must do.

// The marks of text k are firstOpen+k and firstClose+k, in the two planes for private use.
const (
	firstOpen, firstClose = 0xF0000, 0x100000
	maxMarked             = 0xFFFE
)

// noTurn is the turn of what belongs to no message yet.
const noTurn = -1

// stretch is where in the text the template began to write at a message.
type stretch struct{ begin, turn int }

// messageText is a text of a message, without white space around it.
type messageText struct {
	Span
	text string
	// call reports whether it is of a tool call: what the template writes between two such texts is
	// the message's own.
	call bool
}

// mark returns s with marks around it, inside of its white space. It does nothing in a run without
// marks.
func (r *run) mark(s string, of messageText) string {
	of.text = strings.TrimSpace(s)
	k := len(r.texts)
	if !r.marks || of.text == "" || k >= maxMarked {
		return s
	}
	r.texts = append(r.texts, of)
	before, after, _ := strings.Cut(s, of.text)
	return before + string(rune(firstOpen+k)) + of.text + string(rune(firstClose+k)) + after
}

// unmarked returns a text without marks, and what of the messages stands where in it.
func (r *run) unmarked(marked string) (text string, found []messageText) {
	var b strings.Builder
	opened := map[int]int{} // where text k begins, if its end is still to come
	add := func(k, begin, end int) {
		s := r.texts[k]
		s.Begin, s.End = begin, end
		found = append(found, s)
	}
	end := func() int { // of what was found before
		if len(found) == 0 {
			return 0
		}
		return found[len(found)-1].End
	}
	for _, c := range marked {
		open, closing := int(c)-firstOpen, int(c)-firstClose
		switch {
		case closing >= 0 && closing < len(r.texts):
			begin, ok := opened[closing]
			if !ok { // the template cut off the beginning
				before := b.String()[end():]
				begin = b.Len() - commonSuffix(before, r.texts[closing].text)
			}
			delete(opened, closing)
			add(closing, begin, b.Len())
		case open >= 0 && open < len(r.texts):
			opened[open] = b.Len()
		default:
			b.WriteRune(c)
		}
	}
	text = b.String()
	for _, k := range slices.Sorted(maps.Keys(opened)) { // the template cut off the end
		begin := opened[k]
		add(k, begin, begin+commonPrefix(text[begin:], r.texts[k].text))
	}
	return text, found
}

// commonPrefix returns how many bytes two texts begin with alike, whole characters only.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// commonSuffix returns how many bytes two texts end with alike, whole characters only.
func commonSuffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}

// searched looks for the texts of the messages in their order.
func (r *run) searched(text string) (found []messageText) {
	from := 0
	for _, s := range r.texts {
		if at := strings.Index(text[from:], s.text); at >= 0 {
			s.Begin, s.End = from+at, from+at+len(s.text)
			found, from = append(found, s), s.End
		}
	}
	return found
}

// spansOf returns the spans of a text, in which found stands and whose template wrote at messages
// as written says. What the template wrote is label.
func (r *run) spansOf(text string, found []messageText, written []stretch) (all []Span) {
	slices.SortStableFunc(found, func(a, b messageText) int {
		return cmp.Compare(a.Begin, b.Begin)
	})
	at, turn := 0, 0
	if len(found) > 0 {
		turn = found[0].Turn
	}
	for _, s := range written {
		if s.turn != noTurn {
			if len(found) == 0 || s.begin <= found[0].Begin {
				turn = s.turn
			}
			break
		}
	}
	add := func(s Span) {
		if s.Begin, at = at, max(at, s.End); s.Turn < len(r.roles) {
			s.Role = r.roles[s.Turn]
		}
		all = join(all, s)
	}
	template := func(end int) {
		for len(written) > 0 && written[0].begin < end {
			add(Span{Turn: turn, Kind: Label, End: written[0].begin})
			if written[0].turn != noTurn {
				turn = written[0].turn
			}
			written = written[1:]
		}
		add(Span{Turn: turn, Kind: Label, End: end})
	}
	for i, s := range found {
		if i == 0 || !s.call || !found[i-1].call || s.Turn != found[i-1].Turn {
			template(s.Begin)
		}
		add(s.Span)
		turn = s.Turn
	}
	template(len(text))
	return all
}

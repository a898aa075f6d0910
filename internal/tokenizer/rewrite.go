package tokenizer

import (
	"errors"
	"strings"
)

// rewriter makes the changed text of a piece character by character and records the origin of every
// byte. It is at a character of the old text; a character that is written replaces that one or is
// inserted before it, and characters of the old text can be dropped.
//
// An inserted character has the origin of the character before it in the old text. Characters at
// the start that were inserted earlier are not replaced, as in Hugging Face.
type rewriter struct {
	old     piece
	pos     int // of the next character of the old text
	end     int // of the part of the old text that may be replaced
	text    []byte
	origins []origin
	meter   *meter
	maxLen  int // of text in bytes; beyond it nothing is written and changed returns an error
}

// rewrite starts to change p. Characters at the start without a place in the input are copied at
// once.
func (p piece) rewrite(m *meter) *rewriter {
	w := &rewriter{old: p, end: len(p.text), meter: m, maxLen: len(p.text) + m.room()}
	w.text = make([]byte, 0, len(p.text)+8)
	w.origins = make([]origin, 0, len(p.text)+8)
	if p.origins != nil {
		if p.inserted {
			w.end = 0
			return w
		}
		for w.pos < len(p.text) && p.origins[w.pos].begin() == p.origins[w.pos].end() {
			w.pos++
		}
		w.copy(0, w.pos)
	}
	return w
}

// changed returns the result, with the end of the old text that was not replaced.
func (w *rewriter) changed() (piece, error) {
	w.copy(w.end, len(w.old.text))
	p := w.old
	err := errors.Join(w.meter.step(len(w.old.text)+len(w.text)),
		w.meter.grow(len(w.text)-len(w.old.text)))
	if err != nil {
		return p, err
	}
	p.text, p.origins, p.lead = string(w.text), w.origins, 0
	return p, nil
}

// copy appends bytes [i,j) of the old text.
func (w *rewriter) copy(i, j int) {
	w.text = append(w.text, w.old.text[i:j]...)
	for ; i < j; i++ {
		w.origins = append(w.origins, w.old.origin(i))
	}
}

// replace writes r in place of the next character.
func (w *rewriter) replace(r rune) {
	// At the end of the old text there is no next character, so the last byte stands for it.
	var o origin
	if n := len(w.old.text); n > 0 {
		o = w.old.origin(min(w.pos, n-1))
	}
	w.append(r, o)
	w.drop(1)
}

// insert writes r before the next character.
func (w *rewriter) insert(r rune) { w.append(r, w.old.insertedOrigin(w.pos)) }

// newRune is a character before it is written. added is how many characters it adds: 0 if it
// replaces one, 1 if it is new, less than 0 if it replaces several.
type newRune struct {
	r     rune
	added int
}

// put writes a character.
func (w *rewriter) put(n newRune) {
	if n.added > 0 {
		w.insert(n.r)
		return
	}
	w.replace(n.r)
	w.drop(-n.added)
}

// insertedOrigin returns the origin of a character that is inserted at byte i: that of the byte
// before it, or no part of the input at the start.
func (p piece) insertedOrigin(i int) origin {
	if i < 1 {
		return newOrigin(p.at, p.at)
	}
	return p.origin(i - 1)
}

// append writes r with an origin for each of its bytes. Beyond maxLen nothing is written: the text
// is refused in the end, and until then takes no more memory.
func (w *rewriter) append(r rune, o origin) {
	n := len(w.text)
	if n > w.maxLen {
		return
	}
	w.text = appendRune(w.text, r)
	for range len(w.text) - n {
		w.origins = append(w.origins, o)
	}
}

// drop skips the next n characters.
func (w *rewriter) drop(n int) {
	for ; n > 0 && w.pos < w.end; n-- {
		_, size := decodeRune(w.old.text[w.pos:])
		w.pos += size
	}
}

// mapRunes replaces each character by the result of f, or drops it if that is negative.
func (p piece) mapRunes(m *meter, f func(rune) rune) (piece, error) {
	if p.unchangedBy(f) {
		return p, m.step(len(p.text))
	}
	w := p.rewrite(m)
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		i += size
		if r = f(r); r < 0 {
			w.drop(1)
			continue
		}
		w.replace(r)
	}
	return w.changed()
}

// unchangedBy reports whether f changes nothing, so that p need not be rewritten.
func (p piece) unchangedBy(f func(rune) rune) bool {
	if p.startsInserted() {
		return false
	}
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		if f(r) != r {
			return false
		}
		i += size
	}
	return true
}

// filter keeps the characters for which keep returns true.
func (p piece) filter(m *meter, keep func(rune) bool) (piece, error) {
	return p.mapRunes(m, func(r rune) rune {
		if keep(r) {
			return r
		}
		return -1
	})
}

// prepend puts s before p, unless p is empty. It has the origin of the first character of p.
func (p piece) prepend(m *meter, s string) (piece, error) {
	if p.text == "" || p.follows {
		return p, nil
	}
	if err := errors.Join(m.step(len(s)+len(p.text)), m.grow(len(s))); err != nil {
		return p, err
	}
	// The first character of p gets the origin of its last byte, as in the reference.
	size, before := runeLen(p.text), p.origin(0)
	after := p.origin(size - 1)
	if s == "" {
		after = p.insertedOrigin(0)
	}
	origins := make([]origin, 0, len(s)+len(p.text))
	for i := range len(s) + size {
		if s != "" && i < runeLen(s) {
			origins = append(origins, before)
			continue
		}
		origins = append(origins, after)
	}
	for i := size; i < len(p.text); i++ {
		origins = append(origins, p.origin(i))
	}
	p.text, p.origins, p.lead = s+p.text, origins, 0
	return p, nil
}

// runeLen returns the length of the first character of s in bytes.
func runeLen(s string) int {
	_, size := decodeRune(s)
	return size
}

// replaceAll replaces every match of pat by content. An empty text has no matches. The new text has
// the origin of the last byte of the match.
func (p piece) replaceAll(m *meter, pat pattern, content string) (piece, error) {
	if p.text == "" {
		return p, nil
	}
	if err := m.step(len(p.text)); err != nil {
		return p, err
	}
	w := rewriter{old: p}
	done := 0
	var over error // after an error nothing more is written
	err := pat.find(p.text, m, func(begin, end int) {
		if over == nil {
			over = errors.Join(m.step(len(content)), m.grow(len(content)-(end-begin)))
		}
		if over != nil {
			return
		}
		// The first match: until then nothing is copied.
		if w.origins == nil {
			size := len(p.text) + len(content)
			if l, ok := pat.(literal); ok { // then the size can be computed
				size = len(p.text) + min(strings.Count(p.text, string(l))*(len(content)-len(l)),
					2*m.room())
			}
			w.text, w.origins = make([]byte, 0, size), make([]origin, 0, size)
		}
		w.copy(done, begin)
		w.text = append(w.text, content...)
		o := p.insertedOrigin(end)
		for range len(content) {
			w.origins = append(w.origins, o)
		}
		done = end
	})
	if err = errors.Join(over, err); err != nil || w.origins == nil {
		return p, err
	}
	w.copy(done, len(p.text))
	p.text, p.origins, p.lead = string(w.text), w.origins, 0
	return p, nil
}

package tokenizer

import (
	"slices"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// normalForm is one of the four normalisation forms of Unicode, in version 9, which the reference
// uses. The data come from golang.org/x/text. The algorithm is written here, because it must keep
// the offsets of each character, and because that package inserts a character into runs of more
// than 30 marks.
type normalForm struct {
	decomposed norm.Form // NFD or NFKD
	form       norm.Form
	compose    bool
}

var (
	nfc  = normalForm{norm.NFD, norm.NFC, true}
	nfd  = normalForm{norm.NFD, norm.NFD, false}
	nfkc = normalForm{norm.NFKD, norm.NFKC, true}
	nfkd = normalForm{norm.NFKD, norm.NFKD, false}
)

// apply returns p in the form.
func (f normalForm) apply(p piece, m *meter) (piece, error) {
	if f.form.IsNormalString(p.text) && !p.startsInserted() {
		return p, m.step(len(p.text))
	}
	return f.rewrite(p, m)
}

// startsInserted reports whether the first character of p was inserted and has no place in the
// input.
func (p piece) startsInserted() bool {
	return p.inserted || len(p.origins) > 0 && p.origins[0].begin() == p.origins[0].end()
}

// orderedRune is a character before it is written, with its canonical combining class.
type orderedRune struct {
	newRune
	class uint8
}

// rewrite decomposes p, sorts the marks after each starter, and composes (Unicode standard annex
// 15).
func (f normalForm) rewrite(p piece, m *meter) (piece, error) {
	w := p.rewrite(m)
	var run []orderedRune // a starter, unless the text begins with marks, and its marks
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		i += size
		added := 0
		f.decompose(r, func(d rune) {
			m := orderedRune{newRune{d, added}, combiningClass(d)}
			added = 1
			if m.class == 0 {
				run = f.finish(run)
				if f.join(run, m) {
					return
				}
				w.putMarks(run)
				run = run[:0]
			}
			run = append(run, m)
		})
	}
	w.putMarks(f.finish(run))
	return w.changed()
}

// finish sorts and composes a starter and its marks.
func (f normalForm) finish(run []orderedRune) []orderedRune {
	slices.SortStableFunc(run, func(a, b orderedRune) int { return int(a.class) - int(b.class) })
	if !f.compose || len(run) == 0 || run[0].class != 0 {
		return run
	}
	left, last := run[:1], -1 // last is the class of the last mark that is kept
	for _, m := range run[1:] {
		if int(m.class) <= last || !left[0].compose(m) {
			left, last = append(left, m), int(m.class)
		}
	}
	return left
}

// join composes m, which is a starter, with the starter of run if no mark is between them.
func (f normalForm) join(run []orderedRune, m orderedRune) bool {
	return f.compose && len(run) == 1 && run[0].class == 0 && run[0].compose(m)
}

// compose composes s with m if the two form one character.
func (s *orderedRune) compose(m orderedRune) bool {
	r, ok := compose(s.r, m.r)
	if ok {
		s.r, s.added = r, s.added+m.added-1
	}
	return ok
}

func (w *rewriter) putMarks(run []orderedRune) {
	for _, m := range run {
		w.put(m.newRune)
	}
}

// Hangul syllables are composed by rule (Unicode standard, 3.12).
const (
	hangulBase, hangulEnd = 0xac00, 0xac00 + 11172
	leadBase, leadCount   = 0x1100, 19
	vowelBase, vowelCount = 0x1161, 21
	trailBase, trailCount = 0x11a7, 28
)

// decompose yields the full decomposition of r.
func (f normalForm) decompose(r rune, yield func(rune)) {
	if r < 0xc0 && f.decomposed == norm.NFD || r < 0xa0 || r >= badByte || newDecomposed.has(r) {
		yield(r)
		return
	}
	if hangulBase <= r && r < hangulEnd {
		s := r - hangulBase
		yield(leadBase + s/(vowelCount*trailCount))
		yield(vowelBase + s%(vowelCount*trailCount)/trailCount)
		if t := s % trailCount; t > 0 {
			yield(trailBase + t)
		}
		return
	}
	d := f.decomposed.PropertiesString(string(r)).Decomposition()
	if d == nil {
		yield(r)
		return
	}
	for _, r := range string(d) {
		yield(r)
	}
}

// combiningClass returns the canonical combining class of r, 0 for a character that is newer than
// Unicode 9.
func combiningClass(r rune) uint8 {
	if r < 0x300 || r >= badByte {
		return 0
	}
	class := norm.NFD.PropertiesString(string(r)).CCC()
	if class != 0 && !marks.has(r) {
		return 0
	}
	return class
}

// compose returns the character that a and b form, if there is one.
func compose(a, b rune) (rune, bool) {
	if leadBase <= a && a < leadBase+leadCount && vowelBase <= b && b < vowelBase+vowelCount {
		return hangulBase + ((a-leadBase)*vowelCount+(b-vowelBase))*trailCount, true
	}
	if hangulBase <= a && a < hangulEnd && (a-hangulBase)%trailCount == 0 && trailBase < b &&
		b < trailBase+trailCount {
		return a + b - trailBase, true
	}
	r, ok := compositions()[[2]rune{a, b}]
	return r, ok
}

// lastComposed is above the last character that is composed of two.
const lastComposed = 0x1d200

// compositions maps pairs of characters to the character that they form.
var compositions = sync.OnceValue(func() map[[2]rune]rune {
	pairs := make(map[[2]rune]rune, 1000)
	for r := rune(0xc0); r < lastComposed; r++ {
		if hangulBase <= r && r < hangulEnd || newDecomposed.has(r) {
			continue
		}
		d := []rune(string(norm.NFD.PropertiesString(string(r)).Decomposition()))
		if len(d) < 2 || !norm.NFC.IsNormalString(string(r)) {
			continue
		}
		last := len(d) - 1
		if first := []rune(norm.NFC.String(string(d[:last]))); len(first) == 1 {
			pairs[[2]rune{first[0], d[last]}] = r
		}
	}
	return pairs
})

package tokenizer

import (
	"slices"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// normalForm is one of the four normalisation forms of Unicode, as of its version 9, which the reference uses. Golang's
// package has the data; the algorithm is here, because it has to keep where each character comes from, and because
// Golang's puts a character between marks where there are more than 30 of them.
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

// apply brings p into the form.
func (f normalForm) apply(p piece, m *meter) (piece, error) {
	if f.form.IsNormalString(p.text) && !p.startsInserted() {
		return p, m.step(len(p.text))
	}
	return f.rewrite(p, m)
}

// startsInserted is whether the first character of p comes from no part of the input.
func (p piece) startsInserted() bool {
	return p.hollow || len(p.origins) > 0 && p.origins[0].begin() == p.origins[0].end()
}

// mark is a character on its way to its place: its canonical combining class, and how many old characters it adds (0 if
// it takes the place of one, 1 if it is new, less than 0 if it takes others in).
type mark struct {
	r     rune
	class uint8
	added int
}

// rewrite decomposes p and sorts the marks after each starter, then composes (Unicode standard annex 15).
func (f normalForm) rewrite(p piece, m *meter) (piece, error) {
	w := p.rewrite(m)
	var run []mark // a starter, if there is one, and the marks that follow it
	for i := 0; i < len(p.text); {
		r, size := decodeRune(p.text[i:])
		i += size
		added := 0
		f.decompose(r, func(d rune) {
			m := mark{d, combiningClass(d), added}
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

// finish sorts and composes a run after which the next starter comes.
func (f normalForm) finish(run []mark) []mark {
	slices.SortStableFunc(run, func(a, b mark) int { return int(a.class) - int(b.class) })
	if !f.compose || len(run) == 0 || run[0].class != 0 {
		return run
	}
	left, last := run[:1], -1 // last is the class of the last mark that stays
	for _, m := range run[1:] {
		if int(m.class) <= last || !left[0].compose(m) {
			left, last = append(left, m), int(m.class)
		}
	}
	return left
}

// join composes starter m with the starter of run, if nothing stands between them.
func (f normalForm) join(run []mark, m mark) bool {
	return f.compose && len(run) == 1 && run[0].class == 0 && run[0].compose(m)
}

// compose takes m into s, if the two are one character together.
func (s *mark) compose(m mark) bool {
	r, ok := compose(s.r, m.r)
	if ok {
		s.r, s.added = r, s.added+m.added-1
	}
	return ok
}

func (w *rewriter) putMarks(run []mark) {
	for _, m := range run {
		if m.added > 0 {
			w.insert(m.r)
			continue
		}
		w.replace(m.r)
		w.drop(-m.added)
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

// combiningClass is the canonical combining class of r, 0 for a character that is newer than the reference's data.
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

// compose returns the character that two are together, if there is one.
func compose(a, b rune) (rune, bool) {
	if leadBase <= a && a < leadBase+leadCount && vowelBase <= b && b < vowelBase+vowelCount {
		return hangulBase + ((a-leadBase)*vowelCount+(b-vowelBase))*trailCount, true
	}
	if hangulBase <= a && a < hangulEnd && (a-hangulBase)%trailCount == 0 && trailBase < b && b < trailBase+trailCount {
		return a + b - trailBase, true
	}
	r, ok := compositions()[[2]rune{a, b}]
	return r, ok
}

// lastComposed is after the last character that is composed of two.
const lastComposed = 0x1d200

// compositions are the pairs of characters that compose into one.
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

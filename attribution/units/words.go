package units

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/headwater-ml/headwater/internal/message"
)

// textWords are the words of a text, [begin,end) in bytes, while they are put together.
type textWords struct {
	text string
	// breaks are the places, rising, at which parts of the text begin: no word goes on over one,
	// and a line begins there.
	breaks []int
	at     [][2]int
}

// wordRanges returns the words of a text, rising and without overlaps, by the rule of
// [Tokens.Words] as far as it needs no tokens.
func wordRanges(text string, breaks []int) [][2]int {
	w := textWords{text: text, breaks: breaks}
	begin := 0
	for _, end := range append(slices.Clone(breaks), len(text)) {
		w.segment(begin, end)
		begin = end
	}
	w.join(w.attached)
	w.dropListNumbers()
	w.join(w.labelled)
	w.join(w.named())
	return w.at
}

// segment adds the words in the bytes [begin,end): those of Unicode (UAX 29), divided at marks that
// code has between its names.
func (w *textWords) segment(begin, end int) {
	state, segment := -1, ""
	for rest := w.text[begin:end]; rest != ""; {
		segment, rest, state = uniseg.FirstWordInString(rest, state)
		from, end := begin, begin+len(segment)
		for at := begin; at < end; at++ {
			if strings.IndexByte(".:;", w.text[at]) >= 0 && !w.pointOfWord(at) {
				w.add(from, at)
				from = at + 1
			}
		}
		w.add(from, end)
		begin = end
	}
}

// pointOfWord reports whether a mark between letters or digits is the point of a number or of an
// abbreviation in capitals, such as "U.S".
func (w *textWords) pointOfWord(at int) bool {
	before, _ := utf8.DecodeLastRuneInString(w.text[:at])
	after, _ := utf8.DecodeRuneInString(w.text[at+1:])
	return w.text[at] == '.' && (unicode.IsDigit(before) ||
		unicode.IsUpper(before) && unicode.IsUpper(after))
}

// add adds the word in the bytes [begin,end), from its first letter, digit or underscore on, and a
// possessive at its end as a word of its own; nothing if it has no such character.
func (w *textWords) add(begin, end int) {
	first := strings.IndexFunc(w.text[begin:end], func(r rune) bool {
		return InWord(r) && !unicode.IsMark(r)
	})
	if first < 0 {
		return
	}
	begin += first
	for _, mark := range []string{"'", "’"} {
		at := end - len(mark) - 1
		if at > begin && strings.EqualFold(w.text[at:end], mark+"s") {
			w.at, begin = append(w.at, [2]int{begin, at}), at
		}
	}
	w.at = append(w.at, [2]int{begin, end})
}

// join puts words together: each with the one before it if joins, which is asked about the words as
// they were, says so of its number, from 1.
func (w *textWords) join(joins func(i int) bool) {
	var joined [][2]int
	for i, word := range w.at {
		if i > 0 && joins(i) && !w.broken(i) {
			joined[len(joined)-1][1] = word[1]
			continue
		}
		joined = append(joined, word)
	}
	w.at = joined
}

// broken reports whether a part of the text begins after word i-1, at word i at the latest.
func (w *textWords) broken(i int) bool {
	k, _ := slices.BinarySearch(w.breaks, w.at[i-1][1])
	return k < len(w.breaks) && w.breaks[k] <= w.at[i][0]
}

// word returns the text of word i.
func (w *textWords) word(i int) string { return w.text[w.at[i][0]:w.at[i][1]] }

// gap returns the text between words i-1 and i, of which there is one before the first word.
func (w *textWords) gap(i int) string {
	if i == 0 {
		return "\n"
	}
	return w.text[w.at[i-1][1]:w.at[i][0]]
}

// attached reports whether word i goes on the one before it after a hyphen that does not stand
// between two numbers, or as a raised or lowered number, or after one.
func (w *textWords) attached(i int) bool {
	before, _ := utf8.DecodeLastRuneInString(w.word(i - 1))
	after, _ := utf8.DecodeRuneInString(w.word(i))
	if message.Spaceless(before) || message.Spaceless(after) {
		return false
	}
	switch w.gap(i) {
	case "-", "\u2010", "\u2011":
		return !unicode.IsDigit(before) || !unicode.IsDigit(after)
	case "":
		return unicode.Is(unicode.No, before) || unicode.Is(unicode.No, after)
	}
	return false
}

// beginsLine reports whether word i is the first of a line or of a part of the text.
func (w *textWords) beginsLine(i int) bool {
	return i == 0 || strings.Contains(w.gap(i), "\n") || w.broken(i)
}

// labelled reports whether words i-1 and i are the label of a line, such as "Passage 2:".
func (w *textWords) labelled(i int) bool {
	after, _ := utf8.DecodeRuneInString(w.text[w.at[i][1]:])
	return w.gap(i) == " " && strings.ContainsRune(":：", after) && w.beginsLine(i-1) &&
		onlyOf(w.word(i-1), unicode.IsLetter) && onlyOf(w.word(i), unicode.IsDigit)
}

// onlyOf reports whether a text has characters of one kind alone.
func onlyOf(text string, is func(rune) bool) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !is(r) })
}

// dropListNumbers leaves out the numbers of lists: those that begin a line with a point or a
// bracket and white space after them, where another one is the next higher or lower.
func (w *textWords) dropListNumbers() {
	number := map[int]int{} // by word
	has := map[int]bool{}
	for i := range w.at {
		rest := w.text[w.at[i][1]:]
		n, err := strconv.Atoi(w.word(i))
		if err == nil && w.beginsLine(i) && len(rest) > 1 &&
			strings.IndexByte(".)", rest[0]) >= 0 && strings.IndexByte(" \t\n", rest[1]) >= 0 {
			number[i], has[n] = n, true
		}
	}
	kept := w.at[:0:0]
	for i, word := range w.at {
		if n, is := number[i]; !is || !has[n-1] && !has[n+1] {
			kept = append(kept, word)
		}
	}
	w.at = kept
}

// mostOfName is how many words a name may have: more capitals one after the other are a title.
const mostOfName = 3

// named returns whether word i goes on a name with the word before it. Both begin with a capital,
// differ, and have a space between them. Further, the first of them does not begin a sentence, and
// their line has words without a capital; or the text has both words twice, and the first nowhere
// without its capital. In German, where nouns have capitals, only the latter counts.
func (w *textWords) named() func(i int) bool {
	small := map[string]bool{} // words without a capital
	for i := range w.at {
		if word := w.word(i); strings.ToLower(word) == word {
			small[word] = true
		}
	}
	pairs := map[string]int{}
	pair := func(i int) string { return w.text[w.at[i-1][0]:w.at[i][1]] }
	capitals := make([]bool, len(w.at)) // both words of pair i
	for i := 1; i < len(w.at); i++ {
		capitals[i] = w.gap(i) == " " && !w.broken(i) && w.word(i-1) != w.word(i) &&
			ofName(w.word(i-1)) && ofName(w.word(i))
		if capitals[i] {
			pairs[pair(i)]++
		}
	}
	german := nounsHaveCapitals(small)
	joins, titles := make([]bool, len(w.at)), w.titles()
	for i, both := range capitals {
		joins[i] = both && (pairs[pair(i)] > 1 && !small[strings.ToLower(w.word(i-1))] ||
			!german && !titles[i] && !w.beginsSentence(i-1))
	}
	for begin, end := 1, 1; begin < len(joins); begin = end + 1 {
		for end = begin; end < len(joins) && joins[end]; end++ {
		}
		if end-begin >= mostOfName {
			clear(joins[begin:end])
		}
	}
	return func(i int) bool { return joins[i] }
}

// ofName reports whether a word may be one of a name: it begins with a capital letter, has another
// character, and is no word of grammar that a sentence begins with.
func ofName(word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	return (unicode.IsUpper(first) || unicode.IsTitle(first)) && len(word) > size &&
		!slices.Contains(grammar, strings.ToLower(strings.FieldsFunc(word, isApostrophe)[0]))
}

// isApostrophe reports whether a character is an apostrophe.
func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// beginsSentence reports whether word i may begin a sentence: something other than a space or a
// comma stands before it.
func (w *textWords) beginsSentence(i int) bool {
	switch w.gap(i) {
	case " ", ", ":
		return false
	}
	return true
}

// titles reports of each word whether all words of its line begin with a capital or a digit.
func (w *textWords) titles() []bool {
	titles := make([]bool, len(w.at))
	for begin, end := 0, 0; begin < len(w.at); begin = end {
		title := true
		for end = begin; end < len(w.at) && (end == begin || !w.beginsLine(end)); end++ {
			first, _ := utf8.DecodeRuneInString(w.word(end))
			title = title && !unicode.IsLower(first)
		}
		for i := begin; i < end; i++ {
			titles[i] = title
		}
	}
	return titles
}

// grammar are English words that begin a sentence before a name.
var grammar = strings.Fields(`
	a about after all also although an and are as at because before both but by can could did do
	does during each every for from had has have he her here his how i if in into is it its let
	may my no not now of on or our please she should since so some that the their then there these
	they this those though through to under until was we were what when where whether which while
	who whose why will with would yes you your`)

// nounsHaveCapitals reports whether a text, of which small are the words without a capital, is
// German.
func nounsHaveCapitals(small map[string]bool) bool {
	count := 0
	for _, word := range strings.Fields("auf das der des ein eine ist mit nicht und von zu") {
		if small[word] {
			count++
		}
	}
	return count > 1
}

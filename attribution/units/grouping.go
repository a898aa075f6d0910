package units

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Grouping is the way in which the tokens of a prompt form spans: not at all, by words, by
// sentences, by the parts of a conversation, or by ranges of bytes that a user names. It also says
// how generated tokens are grouped; see [ParseTarget]. The zero value leaves the tokens as they
// are.
type Grouping struct {
	name   string   // "word", "sentence", "turn", "answer", or "" for ranges
	number int      // of the only word or sentence of a target, from 1; 0 for all
	ranges [][2]int // of bytes, or of the tokens of a target, [begin,end)
}

// ParseGrouping reads "word", "sentence", "turn", ranges of bytes of the prompt such as
// "0:8,12:23", or "" for tokens. A range is BEGIN:END, counted from 0 and without END. It returns a
// [trace.UsageError] for anything else.
func ParseGrouping(s string) (Grouping, error) {
	g, wrong := ReadGrouping(s)
	if wrong != "" {
		return g, trace.Usagef("grouping %s: %s", message.Quote(s), wrong)
	}
	return g, nil
}

// ReadGrouping is [ParseGrouping] with what is wrong, "" if nothing is, instead of an error.
func ReadGrouping(s string) (g Grouping, wrong string) {
	names := []string{"word", "sentence", "turn"}
	if g, ok := readNames(s, names...); ok {
		return g, ""
	}
	return g, message.DidYouMean(s, names) + "want word, sentence, turn, or bytes of the prompt " +
		"as BEGIN:END,BEGIN:END, each END above its BEGIN, counted from 0 and END not included; " +
		"a sentence ends at a line break too"
}

// readNames reads one of some names, ranges such as "0:8,12:23", or "" for tokens.
func readNames(s string, names ...string) (g Grouping, ok bool) {
	if s == "" || slices.Contains(names, s) {
		return Grouping{name: s}, true
	}
	ranges, ok := ParseRanges(s)
	return Grouping{ranges: ranges}, ok
}

// ParseRanges reads ranges of bytes such as "0:8,12:23", with at least one byte each. ok is false
// for any other text.
func ParseRanges(s string) (ranges [][2]int, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, _ := strings.Cut(strings.TrimSpace(part), ":")
		begin, err1 := strconv.Atoi(first)
		end, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || begin < 0 || begin >= end {
			return nil, false
		}
		ranges = append(ranges, [2]int{begin, end})
	}
	return ranges, true
}

// ReadNumbered reads one of some names with a number from 1 behind it: "sentence:3". ok is false
// for any other text.
func ReadNumbered(s string, names ...string) (name string, n int, ok bool) {
	name, number, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(number)
	// Atoi takes a sign and zeros before a number, too.
	return name, n, err == nil && n > 0 && strconv.Itoa(n) == number && slices.Contains(names, name)
}

// String returns the grouping in the form that [ParseGrouping] or [ParseTarget] reads.
func (g Grouping) String() string {
	if g.number > 0 {
		return fmt.Sprintf("%s:%d", g.name, g.number)
	}
	var ranges []string
	for _, r := range g.ranges {
		ranges = append(ranges, fmt.Sprintf("%d:%d", r[0], r[1]))
	}
	return g.name + strings.Join(ranges, ",")
}

// OfTokens reports whether the grouping leaves the tokens as they are.
func (g Grouping) OfTokens() bool { return g.name == "" && len(g.ranges) == 0 }

// Fits returns a [trace.UsageError] if a range lies outside the text or two ranges overlap. It
// needs no model, so a caller can check before one runs. For a chat the ranges are those of the
// whole conversation, [Tokens.Text].
func (g Grouping) Fits(text string) error {
	_, err := RangeOf(text, g.ranges)
	return err
}

// Of returns the spans of a text, of words and sentences with the first token apart if asked. It
// returns a [trace.UsageError] for ranges as [Tokens.Spans] does, and for turns as [Tokens.Turns]
// does.
func (g Grouping) Of(t Tokens, firstApart bool) ([]Span, error) {
	switch g.name {
	case "word":
		return t.joinSpacesAfter(t.words(firstApart)), nil
	case "sentence":
		return t.sentences(firstApart), nil
	case "turn":
		return t.Turns()
	}
	return t.Spans(g.ranges...)
}

// ParseTarget reads how generated tokens are grouped, so that a row explains a word, a sentence or
// the answer as a whole: "answer", "word", "sentence", one of the last two such as "sentence:3",
// which counts from 1, ranges of generated tokens such as "4:9,12:15", or "" for tokens. A range is
// BEGIN:END, counted from 0 and without END; ranges do not overlap. It returns a [trace.UsageError]
// for anything else.
func ParseTarget(s string) (Grouping, error) {
	g, wrong := ReadTarget(s)
	if wrong != "" {
		return g, trace.Usagef("target %s: %s", message.Quote(s), wrong)
	}
	return g, nil
}

// ReadTarget is [ParseTarget] with what is wrong, "" if nothing is, instead of an error.
func ReadTarget(s string) (g Grouping, wrong string) {
	if name, n, ok := ReadNumbered(s, "word", "sentence"); ok {
		return Grouping{name: name, number: n}, ""
	}
	g, ok := readNames(s, "answer", "word", "sentence")
	slices.SortFunc(g.ranges, func(a, b [2]int) int { return a[0] - b[0] })
	for i, r := range g.ranges {
		ok = ok && (i == 0 || g.ranges[i-1][1] <= r[0])
	}
	if ok {
		return g, ""
	}
	return Grouping{}, message.DidYouMean(s, []string{"answer", "word", "sentence"}) + "want " +
		"answer, word, sentence, one of them as sentence:3, counted from 1, or generated tokens " +
		"as BEGIN:END,BEGIN:END, counted from 0, END not included and none twice"
}

// Lacks returns what n generated tokens lack of the ranges of a target, "" for nothing.
func (g Grouping) Lacks(n int) string {
	if k := len(g.ranges); k > 0 && g.ranges[k-1][1] > n {
		return fmt.Sprintf("there %s %s, from 0", message.IsOrAre(n),
			message.Count(n, "generated token"))
	}
	return ""
}

// Stretch is adjacent generated tokens, [Begin,End), that are explained together. Rest is
// whether the target leaves them unnamed, and Word is [Span.Word] where words are explained.
type Stretch struct {
	Begin, End int
	Rest       bool
	Word       string
}

// Divide returns the stretches of generated tokens, without gaps. There may be more tokens than
// that later: a stretch that is not the last one stays as it is, unless its words become a name, or
// the number of a list. The stretch of a word has the spaces before it, and a line break is one of
// its own. lacks is what the target names
// and the text does not have, "" for nothing; the stretches are right all the same.
func (g Grouping) Divide(t Tokens) (all []Stretch, lacks string) {
	parts, words, count := g.parts(t)
	for i, part := range parts {
		rest := part < 0 && (g.name == "answer" || g.number > 0 || len(g.ranges) > 0)
		if i > 0 && part == parts[i-1] && (part >= 0 || rest) {
			all[len(all)-1].End++
			continue
		}
		all = append(all, Stretch{i, i + 1, rest, words[i]})
	}
	if g.number > count {
		return all, "the generated text has " + message.Count(count, g.name)
	}
	return all, g.Lacks(len(parts))
}

// parts returns for each generated token the number of the part that it is in, -1 for none, and how
// many parts of that kind, words or sentences, the text has; words are those of the parts.
func (g Grouping) parts(t Tokens) (parts []int, words []string, count int) {
	parts, words = slices.Repeat([]int{-1}, len(t.Texts)), make([]string, len(t.Texts))
	if g.name == "answer" { // but for the control tokens that end it
		n := len(parts)
		for n > 1 && t.Special[n-1] {
			n--
		}
		clear(parts[:n])
		return parts, words, 1
	}
	for k, r := range g.ranges {
		for i := r[0]; i < min(r[1], len(parts)); i++ {
			parts[i] = k
		}
	}
	switch g.name {
	case "":
		return parts, words, len(g.ranges)
	case "word":
		for i, s := range t.words(false) {
			if s.Word != "" {
				count++
			}
			for _, j := range s.Tokens {
				if g.number == 0 || s.Word != "" && g.number == count {
					parts[j], words[j] = i, s.Word
				}
			}
		}
		return parts, words, count
	}
	of, last := sentenceOf(t.Text), -1 // the latest part; a control token divides a part in two
	for i, special := range t.Special {
		part := t.partOf(t.Offsets[i], of)
		if part < 0 || special {
			last = -1
			continue
		}
		if part != last {
			count, last = count+1, part
		}
		if g.number == 0 || g.number == count {
			parts[i] = count - 1
		}
	}
	return parts, words, count
}

package attribution

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
	g, wrong := parseGrouping(s)
	if wrong != "" {
		return g, trace.Usagef("grouping %s: %s", message.Quote(s), wrong)
	}
	return g, nil
}

// parseGrouping is ParseGrouping with what is wrong, "" if nothing is, instead of an error.
func parseGrouping(s string) (g Grouping, wrong string) {
	names := []string{"word", "sentence", "turn"}
	if g, ok := readGrouping(s, names...); ok {
		return g, ""
	}
	return g, message.DidYouMean(s, names) + "want word, sentence, turn, or bytes of the prompt " +
		"as BEGIN:END,BEGIN:END, each END above its BEGIN, counted from 0 and END not included; " +
		"a sentence ends at a line break too"
}

// readGrouping reads one of some names, ranges such as "0:8,12:23", or "" for tokens.
func readGrouping(s string, names ...string) (g Grouping, ok bool) {
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

// Tokens reports whether the grouping leaves the tokens as they are.
func (g Grouping) Tokens() bool { return g.name == "" && len(g.ranges) == 0 }

// Fits returns a [trace.UsageError] if a range lies outside the text or two ranges overlap. It
// needs no model, so a caller can check before one runs. For a chat the ranges are those of the
// whole conversation, [Prompt.Text].
func (g Grouping) Fits(text string) error {
	_, err := RangeOf(text, g.ranges)
	return err
}

// Of returns the spans of a prompt. It returns a [trace.UsageError] for ranges as [Prompt.Spans]
// does, and for turns as [Prompt.Turns] does.
func (g Grouping) Of(p *Prompt) ([]Span, error) { return g.spans(p, false) }

// spans returns the spans of a prompt, of words and sentences with the first token apart if asked.
func (g Grouping) spans(p *Prompt, firstApart bool) ([]Span, error) {
	switch g.name {
	case "word":
		return p.units(wordOf(p.Text), firstApart), nil
	case "sentence":
		return p.units(sentenceOf(p.Text), firstApart), nil
	case "turn":
		return p.Turns()
	}
	return p.Spans(g.ranges...)
}

// Group returns the explanation with the tokens of its prompt grouped; [Explanation.GroupSpans]
// says how values are combined. Scorers that take tokens away have taken them away one at a time;
// [Options.By] takes each span away as one. The option "by" of each result and map names the
// grouping. If the grouping leaves the tokens as they are, or they are grouped in this way already,
// Group returns e itself. It returns a [trace.UsageError] if they are grouped in another way, and
// as [Grouping.Of] does.
//
// By words and sentences, the first token is a span of its own in a decoder if it is a sink of a
// method or of one of its rows, [Explanation.Sinks]: its share would be that of the first sentence.
func (e *Explanation) Group(by Grouping) (*Explanation, error) {
	was := e.facts().By
	if by.Tokens() || was == by.String() {
		return e, nil
	}
	if was != "" {
		return nil, trace.Usagef("the tokens are grouped by %s already, and the grouping %s needs "+
			"them one by one: explain the prompt again", was, by)
	}
	spans, err := by.spans(&e.Prompt, e.restsOnFirst())
	if err != nil {
		return nil, err
	}
	return e.groupBy(spans, by)
}

// Grouped reports whether its columns are spans of several tokens, or its rows groups of generated
// tokens, so that it does not have the tokens as the model has them.
func (e *Explanation) Grouped() bool { return e.Spans() || e.facts().Target != "" }

// Spans reports whether its columns are spans of several tokens.
func (e *Explanation) Spans() bool { return e.facts().Spans }

// facts returns the facts of the first result; all results are grouped in the same way.
func (e *Explanation) facts() Facts {
	for _, method := range e.Order {
		if r := e.Methods[method]; r != nil {
			return r.Facts
		}
	}
	return Facts{}
}

// groupBy returns the explanation over spans, which are those of by.
func (e *Explanation) groupBy(spans []Span, by Grouping) (*Explanation, error) {
	g, err := e.GroupSpans(spans)
	if err != nil {
		return nil, err
	}
	if by.name == "word" {
		g.Warnings = slices.Concat(g.Warnings, spacelessRemark(e.Prompt.Text))
	}
	// GroupSpans has made copies of the options, so e does not change.
	for _, r := range g.Methods {
		r.Options["by"], r.By = by.String(), by.String()
	}
	for _, m := range g.Maps {
		m.Options["by"], m.By = by.String(), by.String()
	}
	return g, nil
}

// restsOnFirst reports whether the first token is a sink of a method or of one of its rows in a
// decoder. Without rows it is one if a method has shares of them. The first token of a source is
// none: an encoder reads it as any other.
func (e *Explanation) restsOnFirst() bool {
	if e.Model.EncoderLayers > 0 {
		return false
	}
	for name, r := range e.Methods {
		if r == nil || !r.AddsUp || r.Scorer || e.Model.Bidirectional {
			continue
		}
		_, shares, sinks, err := e.findSinks(name, ShownLevel)
		if len(e.Steps) == 0 || err == nil && (len(sinks) > 0 && sinks[0].Position == 0 ||
			slices.Contains(e.rowSinks(r, shares, sinks), 0)) {
			return true
		}
	}
	return false
}

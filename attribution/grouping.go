package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Grouping says how the tokens of a prompt are grouped into spans: not at all, by words, by
// sentences, or by ranges of bytes that a user names. The zero value leaves the tokens as they are.
type Grouping struct {
	name   string   // "word", "sentence", or "" for ranges
	ranges [][2]int // of bytes, [begin,end)
}

// ParseGrouping reads "word", "sentence", ranges of bytes of the prompt such as "0:8,12:23", or ""
// for tokens. A range is BEGIN:END, counted from 0 and without END. It returns a [trace.UsageError]
// for anything else.
func ParseGrouping(s string) (Grouping, error) {
	switch s {
	case "":
		return Grouping{}, nil
	case "word", "sentence":
		return Grouping{name: s}, nil
	}
	var g Grouping
	for part := range strings.SplitSeq(s, ",") {
		first, last, _ := strings.Cut(strings.TrimSpace(part), ":")
		begin, err1 := strconv.Atoi(first)
		end, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || begin < 0 || begin >= end {
			return Grouping{}, trace.Usagef(
				"grouping %s: %swant word, sentence, or bytes of the prompt as "+
					"BEGIN:END,BEGIN:END, counted from 0 and END not included",
				message.Quote(s), message.DidYouMean(s, []string{"word", "sentence"}),
			)
		}
		g.ranges = append(g.ranges, [2]int{begin, end})
	}
	return g, nil
}

// String returns the grouping in the form that [ParseGrouping] reads.
func (g Grouping) String() string {
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
	_, err := rangeOf(text, g.ranges)
	return err
}

// Of returns the spans of a prompt. It returns a [trace.UsageError] for ranges as [Prompt.Spans]
// does.
func (g Grouping) Of(p *Prompt) ([]Span, error) {
	switch g.name {
	case "word":
		return p.Words(), nil
	case "sentence":
		return p.Sentences(), nil
	}
	return p.Spans(g.ranges...)
}

// Group returns the explanation with the tokens of its prompt grouped; [Explanation.GroupSpans]
// says how values are combined. The option "by" of each result and map names the grouping. If the
// grouping leaves the tokens as they are, Group returns e itself. It returns a [trace.UsageError]
// for ranges as [Prompt.Spans] does.
//
// By words and by sentences, the first token is a span of its own in a decoder if a method has
// shares of a row: attention rests on it whatever the row is about, and its share would be that of
// the first sentence.
func (e *Explanation) Group(by Grouping) (*Explanation, error) {
	if by.Tokens() {
		return e, nil
	}
	spans, err := by.Of(&e.Prompt)
	if err != nil {
		return nil, err
	}
	if len(by.ranges) == 0 && !e.Model.Bidirectional && e.hasShares() {
		spans = e.Prompt.withFirstApart(spans)
	}
	g, err := e.GroupSpans(spans)
	if err != nil {
		return nil, err
	}
	if by.name == "word" {
		g.Warnings = slices.Concat(g.Warnings, spacelessRemark(e.Prompt.Text))
	}
	// GroupSpans has made copies of the options, so e does not change.
	for _, r := range g.Methods {
		r.Options["by"] = by.String()
	}
	for _, m := range g.Maps {
		m.Options["by"] = by.String()
	}
	return g, nil
}

// hasShares reports whether the values of a method are shares of a row.
func (e *Explanation) hasShares() bool {
	for _, r := range e.Methods {
		if r != nil && strings.HasPrefix(r.Unit, "share") && r.Options["scorer"] == "" {
			return true
		}
	}
	return false
}

// withFirstApart returns spans of the prompt of which the first token is one of its own.
func (p *Prompt) withFirstApart(spans []Span) []Span {
	if len(spans) == 0 || spans[0].Tokens[0] != 0 || len(spans[0].Tokens) == 1 {
		return spans
	}
	first, rest := spans[0], spans[0]
	first.Tokens, rest.Tokens = rest.Tokens[:1:1], rest.Tokens[1:]
	first.End, rest.Begin = p.Offsets[0][1], p.Offsets[rest.Tokens[0]][0]
	first.Text = cmp.Or(strings.TrimSpace(p.Texts[0]), p.Texts[0])
	rest.Text = strings.TrimSpace(p.Text[rest.Begin:rest.End])
	return slices.Concat([]Span{first, rest}, spans[1:])
}

package attribution

import (
	"fmt"
	"strconv"
	"strings"
)

// Division says into which parts a prompt is cut: its tokens, words or sentences, or spans that a
// user names. The zero value is its tokens.
type Division struct {
	// name is word, sentence, or empty for ranges of bytes.
	name   string
	ranges [][2]int
}

// ParseDivision reads "word", "sentence", ranges of the prompt's bytes joined by commas such as
// "0:8,12:23", from a first byte to before a last one and counted from 0, or "" for tokens. It
// returns a [UsageError] for anything else.
func ParseDivision(s string) (Division, error) {
	switch s {
	case "":
		return Division{}, nil
	case "word", "sentence":
		return Division{name: s}, nil
	}
	var d Division
	for part := range strings.SplitSeq(s, ",") {
		first, last, _ := strings.Cut(strings.TrimSpace(part), ":")
		begin, err1 := strconv.Atoi(first)
		end, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || begin < 0 || begin >= end {
			return Division{}, usagef("division %s: want word, sentence, or bytes of the prompt "+
				"as BEGIN:END,BEGIN:END, counted from 0 and END not included", quote(s))
		}
		d.ranges = append(d.ranges, [2]int{begin, end})
	}
	return d, nil
}

// String returns the division as [ParseDivision] reads it.
func (d Division) String() string {
	var ranges []string
	for _, r := range d.ranges {
		ranges = append(ranges, fmt.Sprintf("%d:%d", r[0], r[1]))
	}
	return d.name + strings.Join(ranges, ",")
}

// Tokens is whether it leaves tokens as they are.
func (d Division) Tokens() bool { return d.name == "" && len(d.ranges) == 0 }

// Fits returns a [UsageError] unless the ranges lie in the text and apart, which can be known
// before a model runs. In a chat the ranges are those of the conversation, [Prompt.Text].
func (d Division) Fits(text string) error {
	_, err := rangeOf(text, d.ranges)
	return err
}

// Of returns the parts of a prompt. It returns a [UsageError] for ranges as [Prompt.Spans] does.
func (d Division) Of(p *Prompt) ([]Span, error) {
	switch d.name {
	case "word":
		return p.Words(), nil
	case "sentence":
		return p.Sentences(), nil
	}
	return p.Spans(d.ranges...)
}

// Divided returns the explanation over the parts of its prompt, as [Explanation.Grouped] puts them
// together, and says so in the options of each result, "by". Divided by tokens, it is the
// explanation itself. It returns a [UsageError] for ranges as [Prompt.Spans] does.
func (e *Explanation) Divided(d Division) (*Explanation, error) {
	if d.Tokens() {
		return e, nil
	}
	spans, err := d.Of(&e.Prompt)
	if err != nil {
		return nil, err
	}
	g, err := e.Grouped(spans)
	if err != nil {
		return nil, err
	}
	for _, r := range g.Methods {
		r.Options["by"] = d.String() // both are copies
	}
	for _, m := range g.Maps {
		m.Options["by"] = d.String()
	}
	return g, nil
}

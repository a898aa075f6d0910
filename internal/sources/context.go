package sources

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
)

// Source is a part of a document that can be taken out of it.
type Source struct {
	// Text is the text of the source, without white space around it.
	Text string `json:"text"`
	// Document is the number of its document, from 0. Begin and End are bytes [Begin,End) of it.
	Document int `json:"document"`
	Begin    int `json:"begin"`
	End      int `json:"end"`
	// Paragraph is the number of the paragraph in which the source begins, from 0, over all
	// documents.
	Paragraph int `json:"paragraph"`
}

// Division is how documents are divided into sources. The zero value is by sentence.
type Division struct {
	paragraphs bool
	ranges     [][2]int // of bytes, [begin,end)
}

// ParseDivision reads "sentence" (also ""), "paragraph", or ranges of bytes such as "0:80,95:120",
// counted from 0 and without END. It returns a [trace.UsageError] for anything else.
func ParseDivision(s string) (Division, error) {
	switch s {
	case "", "sentence":
		return Division{}, nil
	case "paragraph":
		return Division{paragraphs: true}, nil
	}
	ranges, ok := units.ParseRanges(s)
	if !ok {
		return Division{}, trace.Usagef("division %s: %swant sentence, paragraph, or bytes of "+
			"the document as BEGIN:END,BEGIN:END, counted from 0 and END not included",
			message.Quote(s), message.DidYouMean(s, []string{"sentence", "paragraph"}))
	}
	return Division{ranges: ranges}, nil
}

// name returns what a source is called, in the plural.
func (d Division) name() string {
	switch {
	case d.paragraphs:
		return "paragraphs"
	case d.ranges != nil:
		return "spans"
	}
	return "sentences"
}

// Context is one or more documents, divided into sources.
type Context struct {
	// Documents are the texts of the documents.
	Documents []string
	// Sources are the sources of all documents, in order.
	Sources []Source

	pieces []piece
}

// piece is a part of the text of a context: a source, or text between sources.
type piece struct {
	gap    string // white space before it
	text   string
	source int // -1 for text that always stays
}

// betweenDocuments stands between two documents.
const betweenDocuments = "\n\n"

// NewContext divides documents into sources. It returns a [trace.UsageError] if a document is
// empty, if there are fewer than two sources, and if ranges do not fit or overlap; ranges need a
// single document.
func NewContext(documents []string, by Division) (*Context, error) {
	c := &Context{Documents: slices.Clone(documents)}
	if by.ranges != nil && len(documents) != 1 {
		return nil, trace.Usagef("bytes of the document with %d documents; give one, or divide by "+
			"sentence or paragraph", len(documents))
	}
	for i, text := range documents {
		if strings.TrimSpace(text) == "" {
			return nil, trace.Usagef("document %d of %d has no text; leave it out", i+1,
				len(documents))
		}
		ranges, err := by.of(text)
		if err != nil {
			return nil, err
		}
		c.add(i, text, ranges)
	}
	if n := len(c.Sources); n < 2 {
		return nil, trace.Usagef("the documents have %d of the %s that are compared; at least 2 "+
			"are needed to say which one an answer came from: give more text, or divide it "+
			"otherwise", n, by.name())
	}
	return c, nil
}

// of returns the ranges of the sources of a text, in order.
func (d Division) of(text string) ([][2]int, error) {
	switch {
	case d.paragraphs:
		return units.ParagraphRanges(text), nil
	case d.ranges == nil:
		return units.SentenceRanges(text), nil
	}
	ranges := slices.SortedFunc(slices.Values(d.ranges), func(a, b [2]int) int {
		return a[0] - b[0]
	})
	last := [2]int{} // as it was given, with white space around it
	for i, r := range ranges {
		switch {
		case r[1] > len(text):
			return nil, trace.Usagef("span %d:%d; the document has bytes 0 to %d", r[0], r[1],
				len(text))
		case r[0] < last[1]:
			return nil, trace.Usagef("spans %d:%d and %d:%d overlap", last[0], last[1], r[0], r[1])
		case !onBorder(text, r[0]) || !onBorder(text, r[1]):
			return nil, trace.Usagef("span %d:%d begins or ends within a character", r[0], r[1])
		}
		trimmed := strings.TrimSpace(text[r[0]:r[1]])
		if trimmed == "" {
			return nil, trace.Usagef("span %d:%d is white space", r[0], r[1])
		}
		begin := r[0] + strings.Index(text[r[0]:r[1]], trimmed)
		ranges[i], last = [2]int{begin, begin + len(trimmed)}, r
	}
	return ranges, nil
}

// onBorder reports whether no character of a text goes across byte i.
func onBorder(text string, i int) bool {
	return i == len(text) || text[i]&0xc0 != 0x80
}

// add adds a document with the ranges of its sources.
func (c *Context) add(document int, text string, ranges [][2]int) {
	paragraphs, first := units.ParagraphRanges(text), 0
	if n := len(c.Sources); n > 0 {
		first = c.Sources[n-1].Paragraph + 1
	}
	at, gap := 0, ""
	if document > 0 {
		gap = betweenDocuments
	}
	between := func(s string) { // text between sources: white space, and perhaps text that stays
		trimmed := strings.TrimSpace(s)
		if trimmed == "" {
			if at > 0 {
				gap = s
			}
			return
		}
		begin := strings.Index(s, trimmed)
		if at > 0 {
			gap = s[:begin]
		}
		c.pieces = append(c.pieces, piece{gap, trimmed, -1})
		gap = s[begin+len(trimmed):]
	}
	paragraph := 0
	for _, r := range ranges {
		between(text[at:r[0]])
		for paragraph+1 < len(paragraphs) && paragraphs[paragraph][1] <= r[0] {
			paragraph++
		}
		c.pieces = append(c.pieces, piece{gap, text[r[0]:r[1]], len(c.Sources)})
		c.Sources = append(c.Sources, Source{
			Text: text[r[0]:r[1]], Document: document, Begin: r[0], End: r[1],
			Paragraph: first + paragraph,
		})
		at = r[1]
	}
	if rest := text[at:]; strings.TrimSpace(rest) != "" {
		between(rest)
	}
}

// Text returns the text of the documents with the sources for which keep is true, [len(Sources)].
// A source is taken out with the white space around it, except that of the widest gap: what is
// left of two paragraphs stays two paragraphs. Documents are divided by an empty line, and white
// space around each is left out. It panics if keep has another length.
func (c *Context) Text(keep []bool) string {
	if len(keep) != len(c.Sources) {
		panic("sources: keep does not have one entry for each source")
	}
	var b strings.Builder
	gap := ""
	for _, p := range c.pieces {
		if strings.Count(p.gap, "\n") > strings.Count(gap, "\n") || gap == "" {
			gap = p.gap
		}
		if p.source >= 0 && !keep[p.source] {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(gap)
		}
		b.WriteString(p.text)
		gap = ""
	}
	return b.String()
}

// without returns which sources stay if those from first on and before end are taken out.
func (c *Context) without(first, end int) []bool {
	keep := make([]bool, len(c.Sources))
	for i := range keep {
		keep[i] = i < first || i >= end
	}
	return keep
}

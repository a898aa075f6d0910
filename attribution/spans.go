package attribution

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
)

// ContinuesWord reports for each token of the text whether it continues the word of the token
// before it, as [units.Tokens.Continues] does: [m+n] for the m tokens of the prompt, or its spans,
// and the n that a decoder generated. A span is a word, and so is each token of a prompt whose
// tokens have no places in its text.
func (e *Explanation) ContinuesWord() []bool {
	joins := make([]bool, len(e.Prompt.Texts))
	if !e.facts().Spans && e.Prompt.Placed() {
		joins = e.Prompt.Units().Continues()
	}
	switch {
	case e.Model.Reads():
		return joins
	case len(e.Steps) > 0 && e.Steps[0].IDs != nil:
		return append(joins, make([]bool, len(e.Steps))...)
	}
	return append(joins, e.generated(e.Steps).Continues()...)
}

// TextOf returns the texts of generated tokens as one.
func TextOf(steps []GeneratedToken) string {
	var b strings.Builder
	for _, g := range steps {
		b.WriteString(g.Text)
	}
	return b.String()
}

// generated returns generated tokens after the prompt, to divide them, without marks of spaces.
func (e *Explanation) generated(steps []GeneratedToken) units.Tokens {
	var texts []string
	var special []bool
	for _, g := range steps {
		texts, special = append(texts, units.WithoutMarks(g.Text)), append(special, g.Special)
	}
	t := units.Join(texts, special)
	t.Before = e.Prompt.Text
	return t
}

// GroupSpans returns a copy in which the columns of each result are spans of the prompt. The value
// of a span is the sum of its tokens' values if these are shares or scores. It is the highest of
// them if they are not parts of a whole, such as flow and lift: the flows from two tokens share
// pipes, so their sum is no flow. In maps the targets are spans too, and the row of a span is the
// mean over its tokens. A span has the id of its first token. What studies found stays if it holds
// for spans, too; see [Study.Spans]. GroupSpans returns a [trace.UsageError] unless every token of
// the prompt is in exactly one span, and another error if the explanation is damaged.
func (e *Explanation) GroupSpans(spans []units.Span) (*Explanation, error) {
	if err := e.checkGrouped(); err != nil {
		return nil, err
	}
	if err := e.checkSpans(spans); err != nil {
		return nil, err
	}
	g := *e
	g.Prompt = Prompt{
		Text: e.Prompt.Text, BOSAdded: e.Prompt.BOSAdded, Parts: e.Prompt.Parts,
		Second: e.Prompt.Second,
	}
	in := make([]int, len(e.Prompt.IDs)) // from a token to its span
	g.Prompt.Strongest = e.strongestWords(spans)
	for i, s := range spans {
		first := s.Tokens[0]
		g.Prompt.IDs = append(g.Prompt.IDs, e.Prompt.IDs[first])
		g.Prompt.Texts = append(g.Prompt.Texts, s.Text)
		g.Prompt.Offsets = append(g.Prompt.Offsets, [2]int{s.Begin, s.End})
		g.Prompt.Tokens = append(g.Prompt.Tokens, s.Tokens)
		g.Prompt.Words = append(g.Prompt.Words, s.Word)
		g.Prompt.Special = append(g.Prompt.Special, e.Prompt.Special[first] &&
			s.Text == e.Prompt.Texts[first])
		for _, j := range s.Tokens {
			in[j] = i
		}
	}
	g.Steps, g.Studies = slices.Clone(e.Steps), e.Studies.spans()
	for i, s := range g.Steps {
		g.Steps[i].Studies = s.Studies.spans()
		if s.Position != nil {
			at := in[*s.Position]
			g.Steps[i].Position = &at
		}
	}
	g.Methods = map[string]*Result{}
	for name, r := range e.Methods {
		g.Methods[name] = r.group(spans)
	}
	if e.Maps != nil {
		g.Maps = map[string]*Map{}
		for name, m := range e.Maps {
			g.Maps[name] = m.group(spans)
		}
	}
	return &g, nil
}

// strongestWords returns for each span of several tokens the word of which a method says most in
// any row, "" if that is below an eighth of what the method says most of. The first token and
// control tokens are left out, and so are scorers that took the span away as one.
func (e *Explanation) strongestWords(spans []units.Span) []string {
	words := slices.Clone(e.Prompt.Texts)
	for _, word := range e.Prompt.Units().Words() {
		for _, j := range word.Tokens {
			words[j] = cmp.Or(word.Word, word.Text)
		}
	}
	strongest, most := make([]string, len(spans)), slices.Repeat([]float64{1. / 8}, len(spans))
	for _, name := range e.Order {
		r, sizes := e.Methods[name], make([]float64, len(words))
		if r == nil || r.Options["spans"] == together || len(words) == 0 {
			continue
		}
		for t := range r.Shape[0] {
			for j, x := range r.Row(t, r.Level(t))[:len(words)] {
				if !e.restsAlone(j) {
					sizes[j] = max(sizes[j], math.Abs(x))
				}
			}
		}
		largest := slices.Max(sizes)
		for i, s := range spans {
			for _, j := range s.Tokens {
				if x := sizes[j] / largest; x > most[i] && len(s.Tokens) > 1 {
					most[i], strongest[i] = x, words[j]
				}
			}
		}
	}
	return strongest
}

// checkSpans returns a usage error unless every token is in one span.
func (e *Explanation) checkSpans(spans []units.Span) error {
	m := len(e.Prompt.IDs)
	seen := make([]bool, m)
	for i, s := range spans {
		if len(s.Tokens) == 0 {
			return trace.Usagef("span %d, %s, has no tokens", i, message.Quote(s.Text))
		}
		for _, j := range s.Tokens {
			if j < 0 || j >= m {
				return trace.Usagef("span %d, %s, has token %d; the prompt has %d, from 0", i,
					message.Quote(s.Text), j, m)
			}
			if seen[j] {
				return trace.Usagef("token %d is in two spans", j)
			}
			seen[j] = true
		}
	}
	if j := slices.Index(seen, false); j >= 0 {
		return trace.Usagef("token %d, %s, is in no span", j, message.Quote(e.Prompt.Texts[j]))
	}
	return nil
}

// together is how a scorer with [scorer.Info.Together] puts tokens together.
const together = "taken away together"

// combineSpans returns the function that combines the values of a span's tokens, and its name for
// the settings.
func (f Facts) combineSpans() (add func(a, b float64) float64, name string) {
	if f.AddsUp {
		return func(a, b float64) float64 { return a + b }, "sum of tokens"
	}
	return func(a, b float64) float64 { return max(a, b) }, "highest of tokens"
}

// groupedOptions returns a copy of settings with how values were combined.
func groupedOptions(options map[string]string, name string) map[string]string {
	out := map[string]string{"spans": name}
	maps.Copy(out, options)
	return out
}

// group returns the result over spans and generated tokens.
func (r *Result) group(spans []units.Span) *Result {
	f, name := r.combineSpans()
	g := *r
	g.Options, g.Spans = groupedOptions(r.Options, name), true
	g.Shape[1] = len(spans)
	g.Rows = make([][]float64, len(r.Rows))
	for i, row := range r.Rows {
		g.Rows[i] = append(groupRow(row, spans, f), row[r.Shape[1]:]...)
	}
	return &g
}

// groupRow returns the values of spans in a row of tokens, [spans].
func groupRow(row []float64, spans []units.Span, f func(a, b float64) float64) []float64 {
	grouped := make([]float64, len(spans))
	for i, s := range spans {
		grouped[i] = row[s.Tokens[0]]
		for _, j := range s.Tokens[1:] {
			grouped[i] = f(grouped[i], row[j])
		}
	}
	return grouped
}

// group returns the map over spans, [L,spans,spans].
func (m *Map) group(spans []units.Span) *Map {
	f, name := m.combineSpans()
	g := *m
	n := len(spans)
	g.Options = groupedOptions(m.Options, fmt.Sprintf("%s, mean of targets", name))
	g.Spans = true
	g.Shape = [3]int{m.Shape[0], n, n}
	g.Data = make([]float64, m.Shape[0]*n*n)
	for l := range m.Shape[0] {
		for i, target := range spans {
			out := g.Row(l, i)
			for _, t := range target.Tokens {
				for k, x := range groupRow(m.Row(l, t), spans, f) {
					out[k] += x / float64(len(target.Tokens))
				}
			}
		}
	}
	return &g
}

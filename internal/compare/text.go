package compare

import (
	"slices"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
)

// alignText aligns prompts of one text.
func (p *Alignment) alignText() error {
	a, b := p.Sides[0], p.Sides[1]
	if slices.Equal(a.Prompt.Texts, b.Prompt.Texts) || !a.Prompt.Placed() || !b.Prompt.Placed() {
		return nil
	}
	starts := commonStarts(&a.Prompt, &b.Prompt)
	spans, joined := [2][]units.Span{}, 0
	for i, e := range p.Sides {
		spans[i] = spansFrom(&e.Prompt, starts)
		for _, s := range spans[i] {
			if len(s.Tokens) > 1 {
				joined++
			}
		}
	}
	for i := range spans {
		for k := range spans[i] {
			s := &spans[i][k]
			if text := strings.TrimSpace(s.Text); joined > 0 && text != "" {
				s.Text = text // as that of words
			}
		}
	}
	var aligned [2]*attribution.Explanation
	for i := range p.Sides {
		e, err := p.Sides[i].GroupSpans(spans[i])
		if err != nil {
			return err
		}
		e, p.Missing[i] = withColumns(e, spans[i], spans[1-i], &p.Sides[1-i].Prompt)
		if joined == 0 {
			withoutSpans(e)
		}
		aligned[i] = e
	}
	left, right := aligned[0].Prompt.Texts, aligned[1].Prompt.Texts
	for j := range min(len(left), len(right)) {
		if strings.TrimSpace(left[j]) == strings.TrimSpace(right[j]) {
			right[j] = left[j] // they differ in the space before them alone
		}
	}
	p.Sides = aligned
	if joined > 0 {
		p.Parts = len(left)
	}
	return nil
}

// startOf returns where token j begins, white space before it left out: some tokenizers put the
// space before a word into its token, others do not.
func startOf(p *attribution.Prompt, j int) int {
	begin, end := p.Offsets[j][0], p.Offsets[j][1]
	rest := strings.TrimLeftFunc(p.Text[begin:end], unicode.IsSpace)
	if rest == "" {
		return begin
	}
	return end - len(rest)
}

// commonStarts returns the places where a token of both prompts begins, rising.
func commonStarts(a, b *attribution.Prompt) []int {
	of := func(p *attribution.Prompt) (all []int) {
		for j := range p.Texts {
			if !p.Special[j] {
				all = append(all, startOf(p, j))
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	in := of(b)
	return slices.DeleteFunc(of(a), func(at int) bool {
		_, found := slices.BinarySearch(in, at)
		return !found
	})
}

// spansFrom joins the tokens of a prompt from each start to the next. Tokens before the first start
// belong to the first span, and each control token is a span of its own.
func spansFrom(p *attribution.Prompt, starts []int) []units.Span {
	var spans []units.Span
	latest := -2 // the number of the start of the latest span
	for j := range p.Texts {
		if p.Special[j] {
			spans = append(spans, units.Span{
				Text: p.Texts[j], Begin: p.Offsets[j][0], End: p.Offsets[j][1], Tokens: []int{j},
			})
			latest = -2
			continue
		}
		at, found := slices.BinarySearch(starts, startOf(p, j))
		if !found {
			at--
		}
		if at = max(at, 0); at != latest {
			spans = append(spans, units.Span{
				Text: p.Texts[j], Begin: startOf(p, j), End: p.Offsets[j][1], Tokens: []int{j},
			})
			latest = at
			continue
		}
		s := &spans[len(spans)-1]
		s.Tokens, s.End = append(s.Tokens, j), max(s.End, p.Offsets[j][1])
		s.Text = strings.TrimSpace(p.Text[s.Begin:s.End])
	}
	return spans
}

// withColumns returns an explanation with a column of zeros for each control token that the other
// side has and this one has not, and the names of these tokens. The i-th control token before a
// span is taken for the i-th one there on the other side.
func withColumns(
	e *attribution.Explanation, own, other []units.Span, otherPrompt *attribution.Prompt,
) (*attribution.Explanation, []string) {
	var missing []string
	// from[k] is the column of e that is column k of the result, -1 for one of zeros.
	var from []int
	lacking := map[int]int{} // by column: where in the text the token is that this side lacks
	j := 0
	special := func() bool { return j < len(own) && e.Prompt.Special[j] }
	add := func() {
		if j < len(own) {
			from = append(from, j)
			j++
		}
	}
	for _, s := range other {
		if !otherPrompt.Special[s.Tokens[0]] { // a control token is a span of its own
			for special() { // one that the other side lacks
				add()
			}
			add()
		} else if special() {
			add()
		} else {
			lacking[len(from)] = s.Begin
			from, missing = append(from, -1), append(missing, s.Text)
		}
	}
	for j < len(own) {
		add()
	}
	out := inColumns(e, from)
	for k, at := range lacking {
		out.Prompt.Offsets[k], out.Prompt.Special[k] = [2]int{at, at}, true
	}
	out.Prompt.Second, out.Prompt.Parts = e.Prompt.Second, e.Prompt.Parts
	return out, missing
}

// withZeros returns the rows of r over the prompt tokens that from names, those of -1 zeros, and
// over generated tokens.
func withZeros(r *attribution.Result, from []int) [][]float64 {
	rows := make([][]float64, len(r.Rows))
	for i, row := range r.Rows {
		for _, j := range from {
			rows[i] = append(rows[i], columnOf(row, j, 0))
		}
		rows[i] = append(rows[i], row[r.Shape[1]:]...)
	}
	return rows
}

// withoutSpans removes what says that tokens are joined, where each span is one token.
func withoutSpans(e *attribution.Explanation) {
	for _, r := range e.Methods {
		delete(r.Options, "spans")
		r.Spans = false
	}
	for _, m := range e.Maps {
		delete(m.Options, "spans")
		m.Spans = false
	}
}

// alignRows leaves the rows of the generated tokens that begin at the same place after the same
// text, up to the first one that is not the same.
func (p *Alignment) alignRows() {
	a, b := p.Sides[0], p.Sides[1]
	if a.Model.Reads() || b.Model.Reads() {
		return
	}
	texts, answers := [2][]string{}, [2]string{}
	for side, e := range p.Sides {
		for t, step := range e.Steps {
			text := step.Text
			if t == 0 {
				text = strings.TrimLeft(text, " ")
			}
			texts[side], answers[side] = append(texts[side], text), answers[side]+text
		}
	}
	var rows [2][]int
	x, y := "", "" // what is generated before tokens i and j
	for i, j := 0, 0; i < len(a.Steps) && j < len(b.Steps) && p.Difference == nil; {
		fromA, fromB := len(x) <= len(y), len(y) <= len(x) // which side the next token is of
		next, other, row := x+texts[0][i], y+texts[1][j], len(rows[0])
		if fromA && fromB {
			rows[0], rows[1] = append(rows[0], i), append(rows[1], j)
		}
		if fromA && !strings.HasPrefix(answers[1], next) ||
			fromB && !strings.HasPrefix(answers[0], other) {
			p.Difference = &Unequal{
				Row: row, Texts: [2]string{a.Steps[i].Text, b.Steps[j].Text},
				Answers: [2]string{
					attribution.TextOf(a.Steps[:i+1]), attribution.TextOf(b.Steps[:j+1]),
				},
			}
		}
		if fromA {
			x, i = next, i+1
		}
		if fromB {
			y, j = other, j+1
		}
	}
	if len(rows[0]) == 0 {
		return // a text has no generated token
	}
	if len(a.Steps)+len(b.Steps) > len(rows[0])+len(rows[1]) {
		p.Rows = len(rows[0])
	}
	for i := range p.Sides {
		p.Sides[i] = onlyRows(p.Sides[i], rows[i])
	}
}

// onlyRows returns an explanation with these generated tokens alone. If some before the last are
// left out, the values of all as sources are left out too; what they have together stays.
func onlyRows(e *attribution.Explanation, rows []int) *attribution.Explanation {
	if len(rows) == len(e.Steps) {
		return e
	}
	first := rows[len(rows)-1] == len(rows)-1
	g := *e
	g.Steps, g.Methods = nil, map[string]*attribution.Result{}
	for _, t := range rows {
		g.Steps = append(g.Steps, e.Steps[t])
	}
	for name, r := range e.Methods {
		one, levels := *r, r.Shape[2]
		one.Rows, one.Shown, one.OtherMass, one.Shape[0] = nil, nil, nil, 0
		for _, t := range rows {
			if t >= r.Shape[0] {
				break
			}
			one.Shape[0]++
			for k := range levels {
				row := r.Row(t, k)
				if !first {
					row = row[:r.Shape[1]]
				}
				one.Rows = append(one.Rows, row)
			}
			if t < len(r.Shown) {
				one.Shown = append(one.Shown, r.Shown[t])
			}
			if from := t * levels; from+levels <= len(r.OtherMass) {
				one.OtherMass = append(one.OtherMass, r.OtherMass[from:][:levels]...)
			}
		}
		g.Methods[name] = &one
	}
	return &g
}

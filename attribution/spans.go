package attribution

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Span is a part of the prompt: a set of its tokens, which need not be adjacent.
type Span struct {
	// Text is the text to show. Begin and End are the bytes [Begin,End) of the prompt from the
	// first token of the span to the last.
	Text       string
	Begin, End int
	// Tokens are columns of a result, in rising order, at least one.
	Tokens []int
}

// Words returns the words of the prompt. A word is a run of letters, digits and marks, which may
// contain apostrophes, hyphens and the points of numbers. A token belongs to the word of its first
// letter or digit. A token of spaces alone belongs to the span that begins after it, one with a
// line break, or with nothing after it, to the span before it. Any other token without letters and
// digits, and a control token, is a span of its own. In scripts without spaces between words a run
// is a whole phrase; use [Prompt.Spans] there. There are no words and no sentences if a token lies
// outside the text.
func (p *Prompt) Words() []Span { return p.units(wordOf(p.Text), false) }

// Sentences returns the sentences of the prompt. A sentence ends after ".", "!", "?" or a similar
// mark, and the closing quotation marks and brackets that follow it, if white space comes next;
// after "。", "！" and "？" without white space too; and at a line break. In a program, see
// [IsProgram], it is a line. White space belongs to spans as in [Prompt.Words], and a control token
// is a span of its own.
func (p *Prompt) Sentences() []Span { return p.units(sentenceOf(p.Text), false) }

// units returns the spans that have these numbers in each byte. The first token may be apart.
func (p *Prompt) units(of []int, firstApart bool) []Span {
	if firstApart && p.check() == nil && len(p.Offsets) > 0 {
		for i := p.Offsets[0][0]; i < p.Offsets[0][1]; i++ {
			of[i] = len(of)
		}
	}
	return p.joinSpaces(p.divide(of, true))
}

// Turns returns the parts of a conversation: a span for the words of each message, such as "user 1:
// Where is the key?", one for definitions of tools, "tools: …", and for what the chat template adds
// by itself, "added: …", and one for each stretch of marks and names of roles, "label". A
// role with one message has no number, and what a model wrote to itself is "assistant, thinking". A
// token belongs to the part of its first character that is no white space; a token outside of them
// is a span of its own. Turns returns a [trace.UsageError] if the prompt is no conversation, and
// another error if it is damaged.
func (p *Prompt) Turns() ([]Span, error) {
	if len(p.Parts) == 0 {
		return nil, trace.Usagef("the prompt is no conversation and has no turns; %s puts it into "+
			"the model's chat template", trace.Called("chat", "Options.Chat"))
	}
	if err := p.check(); err != nil {
		return nil, damaged("%v", err)
	}
	messages := map[string][]int{} // by role, the turns in order
	for _, part := range p.Parts {
		turns := messages[part.Role]
		if part.Kind == trace.Words && !slices.Contains(turns, part.Turn) {
			messages[part.Role] = append(turns, part.Turn)
		}
	}
	of, _ := RangeOf(p.Text, nil)
	var names []string // of the spans in of
	for i, part := range p.Parts {
		if part.Begin < 0 || part.Begin > part.End || part.End > len(of) {
			return nil, damaged("part %d lies in bytes %d to %d of a text of %d", i, part.Begin,
				part.End, len(of))
		}
		if i == 0 || nextTurn(p.Parts[i-1], part) {
			names = append(names, nameOf(part, messages[part.Role]))
		}
		for at := part.Begin; at < part.End; at++ {
			of[at] = len(names) - 1
		}
	}
	spans := p.divide(of, false)
	for i, s := range spans {
		switch at := p.partOf(p.Offsets[s.Tokens[0]], of); {
		case at < 0:
		case names[at] == LabelSpan:
			spans[i].Text = LabelSpan
		default:
			spans[i].Text = names[at] + ": " + s.Text
		}
	}
	return spans, nil
}

// nextTurn reports whether a part is in another span than the one before it.
func nextTurn(before, part trace.Part) bool {
	return part.Kind != before.Kind || part.Kind != trace.Label &&
		(part.Turn != before.Turn || part.Thinking != before.Thinking)
}

// LabelSpan is the name of a span of marks and names of roles; see [Prompt.Turns].
const LabelSpan = string(trace.Label)

// nameOf returns the name of a part, where messages are those of its role.
func nameOf(part trace.Part, messages []int) string {
	if part.Kind != trace.Words {
		return string(part.Kind)
	}
	name := part.Role
	if len(messages) > 1 {
		name += fmt.Sprintf(" %d", 1+slices.Index(messages, part.Turn))
	}
	if part.Thinking {
		name += ", thinking"
	}
	return name
}

// Spans returns one span for each range of bytes [begin,end) of the prompt, and one for every token
// outside the ranges, in the order of their first tokens. A token belongs to the first range that
// contains one of its characters other than white space. Spans returns a [trace.UsageError] if a
// range is empty, lies outside the text or contains no token, or if two ranges overlap. It returns
// another error if a token lies outside the text.
func (p *Prompt) Spans(ranges ...[2]int) ([]Span, error) {
	of, err := RangeOf(p.Text, ranges)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, damaged("%v", err)
	}
	spans := p.divide(of, true)
	for k, r := range ranges {
		if !slices.ContainsFunc(p.Offsets, func(o [2]int) bool { return p.partOf(o, of) == k }) {
			return nil, trace.Usagef("span %d to %d, %s, holds the beginning of no token",
				r[0], r[1], message.Quote(p.Text[r[0]:r[1]]))
		}
	}
	return spans, nil
}

// RangeOf returns for each byte of a text the number of its range, or -1 if there is none. It
// returns a usage error if a range is empty or outside the text, or if two overlap.
func RangeOf(text string, ranges [][2]int) ([]int, error) {
	of := make([]int, len(text))
	for i := range of {
		of[i] = -1
	}
	for k, r := range ranges {
		if r[0] < 0 || r[1] > len(text) || r[0] >= r[1] {
			return nil, trace.Usagef(
				"span %d to %d; the text has bytes 0 to %d, and the first comes before the last",
				r[0], r[1], len(text),
			)
		}
		for i := r[0]; i < r[1]; i++ {
			if of[i] >= 0 {
				other := ranges[of[i]]
				return nil, trace.Usagef("spans %d to %d and %d to %d overlap", other[0], other[1],
					r[0], r[1])
			}
			of[i] = k
		}
	}
	return of, nil
}

// divide returns the spans of the prompt, nil if a token lies outside the text. of has for each
// byte of the text the number of its span, -1 for none. apart is whether control tokens are spans
// of their own.
func (p *Prompt) divide(of []int, apart bool) []Span {
	if p.check() != nil {
		return nil
	}
	var spans []Span
	at := map[int]int{} // from a number in of to an index in spans
	for j, offset := range p.Offsets {
		part := p.partOf(offset, of)
		inside := part >= 0 && !(apart && p.Special[j])
		if i, ok := at[part]; ok && inside {
			s := &spans[i]
			s.Tokens, s.End = append(s.Tokens, j), max(s.End, offset[1])
			s.Text = strings.TrimSpace(p.Text[s.Begin:s.End])
			continue
		}
		s := Span{p.Texts[j], offset[0], offset[1], []int{j}}
		if inside {
			at[part] = len(spans)
			if text := strings.TrimSpace(s.Text); text != "" {
				s.Text = text
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// joinSpaces returns spans in which white space is no span of its own, but for that at the
// beginning of the text. A token of spaces alone, such as the "▁" that SentencePiece writes before
// a digit, belongs to the span that begins after it, unless that is a control token or white space
// with a line break. All other white space belongs to the span before it.
func (p *Prompt) joinSpaces(spans []Span) []Span {
	joined := slices.Clone(spans)
	for i := len(joined) - 2; i >= 0; i-- {
		s, next := joined[i], &joined[i+1]
		if len(s.Tokens) > 1 || p.Special[s.Tokens[0]] || plainToken(s.Text) != "" ||
			next.Tokens[0] != s.Tokens[0]+1 || p.Special[next.Tokens[0]] ||
			strings.TrimSpace(next.Text) == "" {
			continue
		}
		next.Begin, next.Tokens = s.Begin, append(s.Tokens, next.Tokens...)
		joined = slices.Delete(joined, i, i+1)
	}
	for i := 1; i < len(joined); i++ {
		s, before := joined[i], &joined[i-1]
		if strings.TrimSpace(plainToken(s.Text)) == "" && !p.Special[s.Tokens[0]] &&
			before.Tokens[len(before.Tokens)-1] == s.Tokens[0]-1 {
			before.End, before.Tokens = s.End, append(before.Tokens, s.Tokens...)
			joined = slices.Delete(joined, i, i+1)
			i--
		}
	}
	return joined
}

// partOf returns the number in of of a token's first byte that is no white space. A token of white
// space has that of its first byte. It returns -1 if there is none.
func (p *Prompt) partOf(offset [2]int, of []int) int {
	begin, end := offset[0], min(offset[1], len(of))
	for at, r := range p.Text[begin:max(begin, end)] {
		if !unicode.IsSpace(r) && of[begin+at] >= 0 {
			return of[begin+at]
		}
	}
	if begin < end && strings.TrimSpace(p.Text[begin:end]) == "" {
		return of[begin]
	}
	return -1
}

// wordOf returns for each byte of a text the number of its word, -1 outside words.
func wordOf(text string) []int {
	of := make([]int, len(text))
	word, inside, before := -1, false, utf8.RuneError
	for at, r := range text {
		_, size := utf8.DecodeRuneInString(text[at:])
		next, _ := utf8.DecodeRuneInString(text[at+size:])
		is := InWord(r) || inside && joins(before, r, next)
		if is && !inside {
			word++
		}
		inside, before = is, r
		for i := range size {
			of[at+i] = -1
			if is {
				of[at+i] = word
			}
		}
	}
	return of
}

// joins reports whether a mark joins the characters around it into one word: an apostrophe, a
// hyphen, or the point or comma of a number.
func joins(before, mark, after rune) bool {
	if strings.ContainsRune(".,", mark) {
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	}
	return strings.ContainsRune("'’-‐", mark) && InWord(after)
}

// SentenceRanges returns the bytes [begin,end) of each sentence of a text, which needs no tokens.
// [Prompt.Sentences] says where a sentence ends. White space between sentences belongs to none.
func SentenceRanges(text string) [][2]int {
	var ranges [][2]int
	last := -1
	for at, sentence := range sentenceOf(text) {
		switch {
		case sentence < 0:
		case sentence != last:
			ranges, last = append(ranges, [2]int{at, at + 1}), sentence
		default:
			ranges[len(ranges)-1][1] = at + 1
		}
	}
	for i, r := range ranges {
		ranges[i][1] = r[0] + len(strings.TrimSpace(text[r[0]:r[1]]))
	}
	return ranges
}

// ParagraphRanges returns the bytes [begin,end) of each paragraph of a text. Paragraphs are divided
// by lines that are empty or white space. White space around a paragraph belongs to none.
func ParagraphRanges(text string) [][2]int {
	var ranges [][2]int
	at, inside := 0, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		begin := at + strings.Index(line, trimmed)
		end := begin + len(trimmed)
		switch {
		case trimmed == "":
		case inside:
			ranges[len(ranges)-1][1] = end
		default:
			ranges = append(ranges, [2]int{begin, end})
		}
		at, inside = at+len(line), trimmed != ""
	}
	return ranges
}

// The marks that end a sentence: those that need white space after them, because they stand inside
// numbers and names too, and those of texts without spaces, which do not. The closing marks after
// them belong to the same sentence.
const (
	spacedEnds   = ".!?…।؟۔"
	unspacedEnds = "。！？"
	closings     = "\"'”’»)]}」』）】》〉"
)

// IsProgram reports whether a text is a program as a whole: two lines or more are indented, and
// there are no fences of three backticks.
func IsProgram(text string) bool {
	indented := 0
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		if indent := len(line) - len(rest); indent > 1 || strings.HasPrefix(line, "\t") {
			if strings.TrimSpace(rest) != "" {
				indented++
			}
		}
	}
	return indented > 1 && !strings.Contains(text, "```")
}

// sentenceOf returns for each byte of a text the number of its sentence, -1 for white space between
// sentences.
func sentenceOf(text string) []int {
	program := IsProgram(text)
	of := make([]int, len(text))
	sentence, ended, unspaced, between := 0, false, false, true
	for at, r := range text {
		_, size := utf8.DecodeRuneInString(text[at:])
		space := unicode.IsSpace(r)
		mark := strings.ContainsRune(spacedEnds+unspacedEnds, r)
		closing := strings.ContainsRune(closings, r)
		if !between && (r == '\n' || !program && (space && ended ||
			!space && !mark && !closing && unspaced)) {
			sentence, between = sentence+1, true
		}
		if !space {
			between = false
			ended = mark || ended && closing
			unspaced = strings.ContainsRune(unspacedEnds, r) || unspaced && (mark || closing)
		}
		for i := range size {
			of[at+i] = sentence
			if between {
				of[at+i] = -1
			}
		}
	}
	return of
}

// GroupSpans returns a copy in which the columns of each result are spans of the prompt. The value
// of a span is the sum of its tokens' values if these are shares or scores. It is the highest of
// them if they are not parts of a whole, such as flow and lift: the flows from two tokens share
// pipes, so their sum is no flow. In maps the targets are spans too, and the row of a span is the
// mean over its tokens. A span has the id of its first token. What studies found stays if it holds
// for spans, too; see [Study.Spans]. GroupSpans returns a [trace.UsageError] unless every token of
// the prompt is in exactly one span, and another error if the explanation is damaged.
func (e *Explanation) GroupSpans(spans []Span) (*Explanation, error) {
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
func (e *Explanation) strongestWords(spans []Span) []string {
	words := slices.Clone(e.Prompt.Texts)
	for _, word := range e.Prompt.Words() {
		for _, j := range word.Tokens {
			words[j] = word.Text
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
func (e *Explanation) checkSpans(spans []Span) error {
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
func (r *Result) group(spans []Span) *Result {
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
func groupRow(row []float64, spans []Span, f func(a, b float64) float64) []float64 {
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
func (m *Map) group(spans []Span) *Map {
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

// Visibility returns, for level l, the mean of each column over the targets that see its source,
// [T]. The first tokens, as many as prefix, are seen by all, and a later source j by T-j targets:
//
//	v_j = Σ_{t≥j} M[t,j] / (T-j)
//
// prefix is that of the text, see [trace.Info.Prefix]. A plain sum over a column favours early
// tokens, because more targets see them. Visibility panics if l is out of range.
func (m *Map) Visibility(l, prefix int) []float64 {
	T := m.Shape[1]
	v := make([]float64, m.Shape[2])
	cfg := aggregation.Config{Prefix: prefix}
	for t := range T {
		for j, x := range m.Row(l, t)[:cfg.Width(t, T)] {
			v[j] += x
		}
	}
	for j := range v {
		seen := T
		if j >= prefix {
			seen -= j
		}
		v[j] /= float64(seen)
	}
	return v
}

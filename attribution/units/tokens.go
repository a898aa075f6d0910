// Package units divides texts into what a reader takes as one: words, sentences, paragraphs, the
// turns of a conversation, and ranges that a user names; and the tokens of a text into these. It
// knows no model and no numbers.
package units

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Tokens are the tokens of a text, m of them.
type Tokens struct {
	// Text is the whole text, and Texts are those of the tokens, [m].
	Text  string
	Texts []string
	// Offsets are the bytes [begin,end) of each token in Text, [m], [0,0] for one not in it.
	Offsets [][2]int
	// Special is whether a token is a control token, [m].
	Special []bool
	// Parts are those of a conversation, in order and without gaps; nil otherwise.
	Parts []trace.Part
	// Before is a text before Text, in which names may stand, too: a prompt before an answer.
	Before string
}

// Join returns the tokens of the text that texts are one after the other.
func Join(texts []string, special []bool) Tokens {
	t := Tokens{Text: strings.Join(texts, ""), Texts: texts, Special: special}
	at := 0
	for _, text := range texts {
		t.Offsets = append(t.Offsets, [2]int{at, at + len(text)})
		at += len(text)
	}
	return t
}

// Check returns an error if the parts do not fit, or a token lies outside the text.
func (t Tokens) Check() error {
	m := len(t.Texts)
	if len(t.Offsets) != m || len(t.Special) != m {
		return fmt.Errorf("%d offsets and %d marks of control tokens for %d tokens",
			len(t.Offsets), len(t.Special), m)
	}
	for j, o := range t.Offsets {
		if o[0] < 0 || o[0] > o[1] || o[1] > len(t.Text) {
			return fmt.Errorf("token %d lies in bytes %d to %d of a text of %d", j, o[0], o[1],
				len(t.Text))
		}
	}
	return nil
}

// Span is a part of the text: a set of its tokens, which need not be adjacent.
type Span struct {
	// Text is the text to show. Begin and End are the bytes [Begin,End) of the text from the
	// first token of the span to the last.
	Text       string
	Begin, End int
	// Tokens are columns of a result, in rising order, at least one.
	Tokens []int
	// Word is, of [Tokens.Words], the word without other marks that its tokens have; "" for what
	// stands between words.
	Word string
}

// Words returns the words of the text and, as spans of their own, what stands between them: each
// token of punctuation, and each control token. A word is what Unicode divides texts into (UAX 29):
// letters with their marks and apostrophes, a number with its points and commas, a name of code
// with its underscores. In addition,
//
//   - a mark of code between letters divides them ("self.name"), unless they are capitals ("U.S");
//   - words joined by a hyphen are one, but not two numbers ("1931-1945");
//   - "'s" is a word of its own, so that "Anna's" has the word "Anna". Other endings are not, since
//     what "don't" has before "'t" is no word;
//   - a name is one word: two or three words with capitals and a space between, if their pair
//     stands twice in the text or the first of them does not begin a sentence ("the Hollin
//     Bridge"). There are no such names in titles, and in German only those that stand twice;
//   - a label at the beginning of a line is one word, without its colon: "Passage 2:";
//   - the number of a list at the beginning of a line is none, if the one before it or after it
//     begins a line, too: "2. ".
//
// Scripts without spaces have no longer words in UAX 29 than a character or a run of Katakana.
// Here the tokens of the model decide: each with several of these is one word.
//
// A token belongs to the word of its first character that is in one, so the end of a word and the
// begin of the next in one token belong to the first. A token that begins within a character
// belongs to the span of the token before it. A token of spaces alone belongs to the span that
// begins after it, one with a line break, or with nothing after it, to the span before it. There
// are no spans if a token lies outside the text.
func (t Tokens) Words() []Span { return t.joinSpacesAfter(t.words(false)) }

// words returns the spans of [Tokens.Words], in which white space belongs to none before it. The
// first token may be apart.
func (t Tokens) words(firstApart bool) (spans []Span) {
	if t.Check() != nil {
		return nil
	}
	of, latest, begin := t.wordOf(), -1, 0
	for j, offset := range t.Offsets {
		part := t.partOf(offset, of)
		if t.Special[j] {
			part = -1
		}
		goesOn := part >= 0 && part == latest && !(firstApart && j == 1)
		if t.beginsInside(j) {
			goesOn, part = true, max(part, latest)
		}
		if !goesOn {
			spans = append(spans, Span{Text: t.Texts[j], Begin: offset[0]})
		}
		latest = part
		s := &spans[len(spans)-1]
		s.Tokens, s.End = append(s.Tokens, j), max(s.End, offset[1])
		if len(s.Tokens) > 1 || part >= 0 {
			s.Text = cmp.Or(strings.TrimSpace(t.Text[s.Begin:s.End]), s.Text)
		}
		if part < 0 {
			continue
		}
		at := offset[0]
		for at < offset[1] && of[at] < 0 {
			at++
		}
		if s.Word == "" {
			begin = at
		}
		for ; at < offset[1] && of[at] >= 0; at++ { // without spaces it may have several
			s.Word = t.Text[begin : at+1]
		}
	}
	return t.joinSpaces(spans)
}

// wordOf returns for each byte of the text the number of its word, -1 outside words.
func (t Tokens) wordOf() []int {
	before := len(t.Before)
	breaks := []int{before}
	for _, part := range t.Parts {
		if part.Begin > 0 && part.Begin < len(t.Text) {
			breaks = append(breaks, before+part.Begin)
		}
	}
	slices.Sort(breaks)
	of := slices.Repeat([]int{-1}, len(t.Text))
	for i, word := range wordRanges(t.Before+t.Text, breaks) {
		for at := max(word[0], before); at < word[1]; at++ {
			of[at-before] = i
		}
	}
	return of
}

// beginsInside reports whether token j begins within a character that the token before it begins,
// or goes on.
func (t Tokens) beginsInside(j int) bool {
	if j == 0 || t.Special[j] || t.Special[j-1] || t.Texts[j] == "" ||
		utf8.RuneStart(t.Texts[j][0]) {
		return false
	}
	if t.Offsets[j] == t.Offsets[j-1] {
		return true // both have the place of the whole character
	}
	at := t.Offsets[j][0]
	for k := 1; k < utf8.UTFMax && k <= at && t.Offsets[j-1][1] == at; k++ {
		if utf8.RuneStart(t.Text[at-k]) {
			_, size := utf8.DecodeRuneInString(t.Text[at-k:])
			return size > k
		}
	}
	return false
}

// Sentences returns the sentences of the text. A sentence ends after ".", "!", "?" or a similar
// mark, and the closing quotation marks and brackets that follow it, if white space comes next;
// after "。", "！" and "？" without white space too; and at a line break. In a program, see
// [IsProgram], it is a line. White space belongs to spans as in [Tokens.Words], and a control token
// is a span of its own.
func (t Tokens) Sentences() []Span { return t.sentences(false) }

// sentences is [Tokens.Sentences]. The first token may be apart.
func (t Tokens) sentences(firstApart bool) []Span {
	of := sentenceOf(t.Text)
	if firstApart && t.Check() == nil && len(t.Offsets) > 0 {
		for i := t.Offsets[0][0]; i < t.Offsets[0][1]; i++ {
			of[i] = len(of)
		}
	}
	return t.joinSpacesAfter(t.joinSpaces(t.divide(of, true)))
}

// Turns returns the parts of a conversation: a span for the words of each message, such as "user 1:
// Where is the key?", one for definitions of tools, "tools: …", and for what the chat template adds
// by itself, "added: …", and one for each stretch of marks and names of roles, "label". A
// role with one message has no number, and what a model wrote to itself is "assistant, thinking". A
// token belongs to the part of its first character that is no white space; a token outside of them
// is a span of its own. Turns returns a [trace.UsageError] if the prompt is no conversation, and
// another error if it is damaged.
func (t Tokens) Turns() ([]Span, error) {
	if len(t.Parts) == 0 {
		return nil, trace.Usagef("the prompt is no conversation and has no turns; %s puts it into "+
			"the model's chat template", trace.Called("chat", "Options.Chat"))
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	messages := map[string][]int{} // by role, the turns in order
	for _, part := range t.Parts {
		turns := messages[part.Role]
		if part.Kind == trace.Words && !slices.Contains(turns, part.Turn) {
			messages[part.Role] = append(turns, part.Turn)
		}
	}
	of, _ := RangeOf(t.Text, nil)
	var names []string // of the spans in of
	for i, part := range t.Parts {
		if part.Begin < 0 || part.Begin > part.End || part.End > len(of) {
			return nil, fmt.Errorf("part %d lies in bytes %d to %d of a text of %d", i, part.Begin,
				part.End, len(of))
		}
		if i == 0 || nextTurn(t.Parts[i-1], part) {
			names = append(names, nameOf(part, messages[part.Role]))
		}
		for at := part.Begin; at < part.End; at++ {
			of[at] = len(names) - 1
		}
	}
	spans := t.divide(of, false)
	for i, s := range spans {
		switch at := t.partOf(t.Offsets[s.Tokens[0]], of); {
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

// Spans returns one span for each range of bytes [begin,end) of the text, and one for every token
// outside the ranges, in the order of their first tokens. A token belongs to the first range that
// contains one of its characters other than white space. Spans returns a [trace.UsageError] if a
// range is empty, lies outside the text or contains no token, or if two ranges overlap. It returns
// another error if a token lies outside the text.
func (t Tokens) Spans(ranges ...[2]int) ([]Span, error) {
	of, err := RangeOf(t.Text, ranges)
	if err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	spans := t.divide(of, true)
	for k, r := range ranges {
		if !slices.ContainsFunc(t.Offsets, func(o [2]int) bool { return t.partOf(o, of) == k }) {
			return nil, trace.Usagef("span %d to %d, %s, holds the beginning of no token",
				r[0], r[1], message.Quote(t.Text[r[0]:r[1]]))
		}
	}
	return spans, nil
}

// divide returns the spans of the text, nil if a token lies outside the text. of has for each
// byte of the text the number of its span, -1 for none. apart is whether control tokens are spans
// of their own.
func (t Tokens) divide(of []int, apart bool) []Span {
	if t.Check() != nil {
		return nil
	}
	var spans []Span
	at := map[int]int{} // from a number in of to an index in spans
	for j, offset := range t.Offsets {
		part := t.partOf(offset, of)
		inside := part >= 0 && !(apart && t.Special[j])
		if i, ok := at[part]; ok && inside {
			s := &spans[i]
			s.Tokens, s.End = append(s.Tokens, j), max(s.End, offset[1])
			s.Text = strings.TrimSpace(t.Text[s.Begin:s.End])
			continue
		}
		s := Span{Text: t.Texts[j], Begin: offset[0], End: offset[1], Tokens: []int{j}}
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

// joinSpaces returns spans in which a token of spaces alone, such as the "▁" that SentencePiece
// writes before a digit, belongs to the span that begins after it, unless that is a control token
// or white space with a line break.
func (t Tokens) joinSpaces(spans []Span) []Span {
	for i := len(spans) - 2; i >= 0; i-- {
		s, next := spans[i], &spans[i+1]
		if len(s.Tokens) > 1 || t.Special[s.Tokens[0]] || Plain(s.Text) != "" ||
			next.Tokens[0] != s.Tokens[0]+1 || t.Special[next.Tokens[0]] ||
			strings.TrimSpace(next.Text) == "" {
			continue
		}
		next.Begin, next.Tokens = s.Begin, append(s.Tokens, next.Tokens...)
		spans = slices.Delete(spans, i, i+1)
	}
	return spans
}

// joinSpacesAfter returns spans of [Tokens.joinSpaces] in which all other white space, but for that
// at the beginning of the text, belongs to the span before it.
func (t Tokens) joinSpacesAfter(spans []Span) []Span {
	for i := 1; i < len(spans); i++ {
		s, before := spans[i], &spans[i-1]
		if strings.TrimSpace(Plain(s.Text)) == "" && !t.Special[s.Tokens[0]] &&
			before.Tokens[len(before.Tokens)-1] == s.Tokens[0]-1 {
			before.End, before.Tokens = s.End, append(before.Tokens, s.Tokens...)
			spans = slices.Delete(spans, i, i+1)
			i--
		}
	}
	return spans
}

// partOf returns the number in of of a token's first byte that is no white space. A token of white
// space has that of its first byte. It returns -1 if there is none.
func (t Tokens) partOf(offset [2]int, of []int) int {
	begin, end := offset[0], min(offset[1], len(of))
	for at, r := range t.Text[begin:max(begin, end)] {
		if !unicode.IsSpace(r) && of[begin+at] >= 0 {
			return of[begin+at]
		}
	}
	if begin < end && strings.TrimSpace(t.Text[begin:end]) == "" {
		return of[begin]
	}
	return -1
}

// Continues reports for each token whether it continues the word or the character of the token
// before it, [m]. White space around a word, alone in a token, is no part of it here.
func (t Tokens) Continues() []bool {
	joins := make([]bool, len(t.Texts))
	for _, s := range t.Words() {
		blank := func(j int) bool { return strings.TrimSpace(t.Texts[j]) == "" }
		tokens := s.Tokens
		for len(tokens) > 1 && blank(tokens[0]) {
			tokens = tokens[1:]
		}
		for len(tokens) > 1 && blank(tokens[len(tokens)-1]) {
			tokens = tokens[:len(tokens)-1]
		}
		for _, j := range tokens[1:] {
			joins[j] = true
		}
	}
	return joins
}

package render

import (
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// words are the texts of a picture, which differ between a decoder, which continues a text, and an
// encoder, which reads one.
type words struct {
	title   string // the title of the picture
	text    string // the name of the given text
	answer  string // the name of the model's answer
	nothing string // a sentence if there is no answer
	tokens  string // the name of the columns
	shown   string // the name of what each block shows
	chance  string // the heading of the alternatives
	told    string // what the part with all tokens says of each
	output  string // the name of what the model wrote, with the number of a token after it
	before  string // the name of what the model wrote before a token, as a source
	columns string // the legend of a text
	page    string // the legend of a page of rows
}

// generating are the words for a decoder.
var generating = words{
	title:   "Where each generated token comes from",
	text:    "prompt",
	answer:  "generated",
	nothing: "No token was generated.",
	tokens:  "prompt tokens",
	shown:   "generated tokens",
	chance:  "probability of the next token",
	told:    "sources, changes and probabilities",
	output:  "generated",
	before:  "generated tokens",
	columns: "Columns: prompt tokens (sources), in order. Rows: methods. One block for each " +
		"generated token (target).",
	page: "The sentence and the colours of the text tell how much the framed generated token " +
		"(target) has from each of the prompt tokens (sources) and from the tokens generated " +
		"before it. In the matrix each line is a target and each column a source" + pageRest,
}

// translating are the words for a model of two stacks.
var translating = words{
	title:   generating.title,
	text:    "source",
	answer:  "target",
	nothing: generating.nothing,
	tokens:  "source tokens",
	shown:   "target tokens",
	chance:  generating.chance,
	told:    generating.told,
	output:  "target",
	before:  "target before it",
	columns: "Columns: the tokens of the source, then the target before the token; " + startMark +
		" is its start. Rows: methods. One block for each token of the target.",
	page: "The sentence and the colours of the text tell how much the framed token of the target " +
		"has from each token of the source and from the target before it, which begins at " +
		startMark + ". In the matrix each line is a token of the target and each column one that " +
		"it came from" + pageRest,
}

// pageRest ends the legend of a page of rows.
const pageRest = "; a dotted column stands for folded tokens and has the colour of the strongest " +
	"of them. The legend names where each colour begins. The text and the sentence name only " +
	"what has a twelfth of the strongest source of its row. Sinks and filtered tokens are not in " +
	"the scale."

// reading are the words for an encoder.
var reading = words{
	title:   "Where each prediction comes from",
	text:    "text",
	answer:  "predicted",
	nothing: "Nothing was predicted.",
	tokens:  "tokens",
	shown:   "predictions",
	chance:  "probability at this position",
	told:    "sources and probabilities",
	columns: "Columns: tokens of the text (sources), in order. Rows: methods. One block for each " +
		"position explained (target).",
	page: "The sentence and the colours of the text tell how much the position explained " +
		"(target) has from each of the tokens of the text (sources); the target is framed. In " +
		"the matrix each line is a target and each column a source" + pageRest,
}

// wordsFor returns the words for an explanation. Where tokens are joined to words or sentences the
// columns are spans, and the texts say so.
func wordsFor(e *attribution.Explanation) words {
	w := wordsForModel(e.Model)
	if e.ByWords() {
		words := strings.NewReplacer("prompt tokens (sources)", "words of the prompt (sources)",
			"tokens of the text (sources)", "words of the text (sources)",
			"generated token (target)", "word of the answer (target)",
			"the tokens generated before it", "the words of the answer before it",
			"folded tokens", "folded sentences", "filtered tokens are", "filtered words are")
		w.columns, w.page = words.Replace(w.columns), words.Replace(w.page)
		return w
	}
	if e.Spans() {
		spans := strings.NewReplacer("prompt tokens (sources)", "spans of the prompt (sources)",
			"tokens of the text (sources)", "spans of the text (sources)",
			"filtered tokens are", "filtered spans are")
		w.columns, w.page = spans.Replace(w.columns), spans.Replace(w.page)
		w.tokens = "spans of the " + w.text
	}
	if len(e.Steps) > 0 && e.Steps[0].IDs != nil {
		targets := strings.NewReplacer("generated token (target)", "target (generated tokens)",
			"from the tokens generated before it", "from the generated text before and in it",
			"the generated tokens after the line", "the generated text after the line")
		w.columns, w.page = targets.Replace(w.columns), targets.Replace(w.page)
	}
	return w
}

// wordsForModel returns the words for a model. A model that reads is read at a masked token, at its
// class or number, at the class of each token, at the ends of an answer or, without a head, at its
// hidden states.
func wordsForModel(info trace.Info) words {
	switch {
	case info.EncoderLayers > 0:
		return translating
	case !info.Reads():
		return generating
	}
	// A copy, which the cases change.
	w := reading
	switch info.Head {
	case trace.Classes, trace.Labels:
		w.title, w.chance = "Where the class comes from", "probability of each class"
		switch {
		case info.Numbers:
			w.title = "Where the score comes from"
		case info.Head == trace.Labels:
			w.title = "Where the classes come from"
		}
		w.columns = "Columns: tokens of the text (sources), in order. Rows: methods. The " +
			"position at which the class is read is the target."
		class := strings.NewReplacer("position explained (target)",
			"position at which the class is read (target)")
		w.page = class.Replace(w.page)
	case trace.TokenClasses:
		w.chance = "probability of each class at this position"
	case trace.Spans:
		w.title, w.answer = "Where the answer comes from", "answer"
	case trace.NoHead:
		w.title, w.answer, w.shown = "What each hidden state is made of", "", "hidden states"
	}
	return w
}

// predictionText returns the prediction of step t in three parts: `[MASK] at 5 → `, `his`, `62.0
// %`, or `[CLS] at 0 → class `, `POSITIVE`, `98.0 %`. The first is empty for a generated token, the
// last if there is no probability. An unscored prediction has no probability: a regression has a
// value, and a model without a head only a position.
func (p *picture) predictionText(t int) (where, what, chance string) {
	g := p.e.Steps[t]
	what, chance = tokenName(g.Text), share(g.Probability)
	if n := len(g.IDs); g.Rest {
		chance = message.Count(n, "token") + " outside the target, " + chance
	} else if n > 1 {
		chance = message.Count(n, "token") + ", " + chance
	}
	// Without a probability there is nothing to show, not even 0 %.
	if g.Unscored {
		chance = ""
	}
	if c := p.comparison; c != nil && !g.Unscored {
		chance = c.chances(t)
	}
	switch {
	case p.e.Model.Reads() && p.e.Model.MeanPooled && g.Position == nil:
		return "mean of all tokens → class ", what, chance
	case !p.e.Model.Reads() || g.Position == nil:
		return "", what, chance
	}
	// An encoder's prediction belongs to a position, which is named with its token.
	at := *g.Position
	from := fmt.Sprintf("position %d → ", at)
	if at >= 0 && at < len(p.e.Prompt.Texts) {
		name := tokenName(p.e.Prompt.Texts[at])
		if p.e.ByWords() { // a position is that of a token
			at = p.e.Prompt.Tokens[at][0]
		}
		from = fmt.Sprintf("%s at %d → ", name, at)
	}
	switch {
	case g.Class && g.Unscored:
		from += "value "
	case g.Class && p.e.Model.Head.WholeText():
		from += "class "
	case g.Unscored && !g.Class:
		from = fmt.Sprintf("token %d ", at)
	}
	return from, what, chance
}

// answer returns the answer of the model in visible form: the generated text without control
// tokens, or all predictions. A decoder's tokens are one text, shown without the space that it
// begins with. An encoder's predictions belong to different positions, so they are a list.
func (p *picture) answer() string {
	if !p.e.Model.Reads() {
		var b strings.Builder
		for _, g := range p.e.Steps {
			if !g.Special {
				b.WriteString(g.Text)
			}
		}
		return Visible(strings.TrimPrefix(b.String(), " "), 2000)
	}
	if p.e.Model.Head == trace.Spans {
		return Visible(p.span(), 2000)
	}
	var all []string
	for _, g := range p.e.Steps {
		if g.Class || !g.Unscored {
			all = append(all, textName(g.Text))
		}
	}
	return Visible(strings.Join(all, " · "), 2000)
}

// span returns the text of an answer from its start to its end, empty if it has no text or one of
// the two is missing.
func (p *picture) span() string {
	if len(p.e.Steps) < 2 {
		return ""
	}
	from, to := p.e.Steps[0].Position, p.e.Steps[1].Position
	if from == nil || to == nil || *from < 0 || *from > *to || *to >= len(p.e.Prompt.Texts) {
		return ""
	}
	return strings.TrimSpace(strings.Join(p.e.Prompt.Texts[*from:*to+1], ""))
}

// givenText is a text that was given, and its name.
type givenText struct{ name, text string }

// given returns the texts that were given: one, or the two of a pair.
func (p *picture) given() []givenText {
	text, at := p.e.Prompt.Text, p.e.Prompt.Second
	if at <= 0 || at > len(text) {
		return []givenText{{p.words.text, text}}
	}
	return []givenText{{firstText, strings.TrimSuffix(text[:at], "\n")}, {secondText, text[at:]}}
}

// The names of the two texts of a pair.
const firstText, secondText = "1st text", "2nd text"

// facts returns the numbers of tokens in the text and the answer. They say which tokens did not
// come from the user or from the model: control tokens that were added, and tokens that the caller
// gave.
func (p *picture) facts() string {
	m, n := len(p.e.Prompt.Texts), len(p.e.Steps)
	if p.e.ByWords() {
		m = 0
		for _, tokens := range p.e.Prompt.Tokens {
			m += len(tokens)
		}
	}
	if p.e.Model.Reads() {
		s := countOf(m, p.words.tokens)
		if added := p.added(); len(added) > 0 {
			s += ", of which the tokenizer added " + strings.Join(added, " and ")
		}
		return s + "; " + countOf(n, p.words.shown)
	}
	if p.targetBegin >= 0 {
		m-- // its start is no token of a text
	}
	s := countOf(m, p.words.tokens)
	// It is counted among the tokens, and often is a sink.
	if p.e.Prompt.BOSAdded {
		s += ", the first of them begin-of-text that was added"
	}
	// Given tokens are counted: the model might have chosen others.
	generated, forced := 0, 0
	for _, g := range p.e.Steps {
		tokens := len(g.TokenIDs())
		generated += tokens
		if g.Forced {
			forced += tokens
		}
	}
	s += fmt.Sprintf("; %d %s", generated, p.words.answer)
	if n > 0 && p.e.Steps[0].IDs != nil && !p.e.ByWords() {
		s += fmt.Sprintf(", explained in %s", message.Count(n, "row"))
	}
	if forced > 0 {
		s += fmt.Sprintf(", %d of them given by the caller", forced)
	}
	return s
}

// countOf returns how many of something there are, of which the name is that of several: "1 prompt
// token", "1,200 spans of the prompt".
func countOf(n int, what string) string {
	if n == 1 {
		what, of, more := strings.Cut(what, " of ")
		what = strings.TrimSuffix(what, "s")
		if more {
			what += " of " + of
		}
		return "1 " + what
	}
	return thousands(n) + " " + what
}

// added returns the names of the control tokens that the tokenizer added to the text. Such a token
// has no bytes in the text, so its range is empty.
func (p *picture) added() []string {
	var names []string
	for j, text := range p.e.Prompt.Texts {
		if p.special(j) && j < len(p.e.Prompt.Offsets) &&
			p.e.Prompt.Offsets[j][0] == p.e.Prompt.Offsets[j][1] {
			names = append(names, textName(text))
		}
	}
	return names
}

// special reports whether prompt token j is a control token. An explanation may lack the marks;
// then no token is one.
func (p *picture) special(j int) bool {
	return j < len(p.e.Prompt.Special) && p.e.Prompt.Special[j]
}

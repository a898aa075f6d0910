package attribution

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// TokenScores are the scores of a token, and with [Options.Without] what a part of the prompt
// changes of its prediction.
type TokenScores struct {
	trace.TokenScores
	// KL is KL(p‖q) of the distributions p with and q without the part, in nats, and Gain
	// ln p(token) - ln q(token), in nats (P-CXMI). Both are nil without [Options.Without].
	KL   *float64 `json:"kl,omitempty"`
	Gain *float64 `json:"gain,omitempty"`
	// Sensitive reports whether KL reaches [Without.Threshold].
	Sensitive bool `json:"sensitive,omitempty"`
	// Otherwise is the most probable token without the part, nil if that is the one with it, too.
	Otherwise *Alternative `json:"otherwise,omitempty"`
}

// Without is the part of a prompt that [Options.Without] takes away.
type Without struct {
	// Part is the option, and Name what it takes away, in words: "the system text", "turn 2".
	Part string `json:"part"`
	Name string `json:"name"`
	// Text is the whole text without it, which the answer is put behind.
	Text string `json:"text"`
	// Threshold is the KL from which a generated token is sensitive to the part, in nats:
	//
	//	mean + standard deviation of KL over the generated tokens,  at least 1e-4
	//
	// (PECoRe, Sarti et al. 2024; the standard deviation is of a sample, with n-1, as in their
	// code). The least one is our own: rounding changes every prediction a little.
	Threshold float64 `json:"threshold"`
}

// leastKL is above what float32 rounding alone leaves, at most 1e-6 nats on the models tried.
const leastKL = 1e-4

// partAdded is the value of [Options.Without] for what the chat template adds by itself.
const partAdded = string(trace.Added)

// parseWithout is how the value of [Options.Without] is read.
func parseWithout(s string) (g Grouping, wrong string) {
	if g, ok := readNumbered(s, "turn", "document", "sentence"); ok {
		return g, ""
	}
	names := []string{"system", "tools", partAdded, "documents"}
	if g, ok := readGrouping(s, names...); ok {
		return g, ""
	}
	return g, message.DidYouMean(s, names) + "want system, tools, added, documents, document:2, " +
		"turn:2 or sentence:2, counted from 1, or bytes of the prompt as BEGIN:END,BEGIN:END, " +
		"counted from 0 and END not included"
}

// readNumbered reads one of some names with a number from 1 behind it: "sentence:3".
func readNumbered(s string, names ...string) (g Grouping, ok bool) {
	name, number, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(number)
	// Atoi takes a sign and zeros before a number, too.
	ok = err == nil && n > 0 && strconv.Itoa(n) == number && slices.Contains(names, name)
	return Grouping{name: name, number: n}, ok
}

// CheckWithout returns a [trace.UsageError] if a prompt lacks the part of [Options.Without], as
// far as that is known before a model reads it. Its chat template decides whether there is a
// system text, and which bytes there are.
func (o Options) CheckWithout(prompt string) error {
	part, _ := parseWithout(o.Without)
	if part.Tokens() || len(part.ranges) > 0 {
		return nil
	}
	c := o.Conversation
	if part.name == "sentence" {
		_, err := part.sentenceRange(prompt, o.InChat())
		return part.refusal(err, c, nil)
	}
	if !o.InChat() {
		return part.refusal(trace.Usagef("the prompt is no conversation, and has sentences, "+
			"sentence:N, and bytes, 0:%d; %s puts it into the model's chat template", len(prompt),
			trace.Called("chat", "Options.Chat")), c, nil)
	}
	turns, err := c.Turns(prompt)
	if err != nil {
		return err
	}
	switch {
	case part.name == "document" || part.name == "documents":
		_, err = part.leaveOutDocuments(&c)
	case part.name == "tools" && c.Tools == nil:
		err = trace.Usagef("the conversation has no tools")
	case part.name == "turn":
		_, _, err = part.leaveOutTurn(&c, prompt)
	}
	return part.refusal(err, o.Conversation, turns)
}

// refusal returns a usage error about a part that a prompt lacks, with the parts that it has; other
// errors and nil as they are.
func (g Grouping) refusal(err error, c trace.Conversation, turns []trace.Message) error {
	usage := (*trace.UsageError)(nil)
	if !errors.As(err, &usage) {
		return err
	}
	var has []string
	for i, m := range turns {
		switch {
		case m.Role == "system":
			has = append(has, "system")
		case i < len(turns)-1: // the last one is what is answered
			has = append(has, fmt.Sprintf("turn:%d (%.20s)", i+1, m.Role))
		}
	}
	if c.Tools != nil {
		has = append(has, "tools")
	}
	if n := len(documentsOf(c)); n > 0 {
		has = append(has, "documents")
		for i := range n {
			has = append(has, fmt.Sprintf("document:%d", i+1))
		}
	}
	parts := ""
	if len(turns) > 0 && len(g.ranges) == 0 {
		if parts = "; this conversation has no part but its bytes, BEGIN:END"; has != nil {
			parts = "; the parts of this conversation are " + message.Some(has, 12) +
				", and bytes, BEGIN:END"
		}
	}
	return LookupOption("without").usagef("%s %s: %s%s", trace.Called("without"), g, usage.Reason,
		parts)
}

// prepareScores checks what is asked for of the scores of tokens: that the model tells what it
// predicts at every position, and that the prompt has the part that is taken away, and more.
func (r *run) prepareScores(m trace.Model, prompt string) error {
	if r.opts.Without == "" && !r.opts.PromptScores {
		return nil
	}
	if _, ok := m.(trace.LogitReader); !ok {
		return trace.Usagef("%s does not tell what it predicts at every position",
			message.Quote(m.Info().Name))
	}
	if r.opts.PromptScores && m.Info().EncoderLayers > 0 {
		return trace.Usagef("%s predicts no token of its source, so these have no scores; "+
			"those of the target are there without %s", message.Quote(m.Info().Name),
			trace.Called("prompt scores"))
	}
	part, _ := parseWithout(r.opts.Without)
	if part.Tokens() {
		return nil
	}
	if err := r.opts.CheckWithout(prompt); err != nil {
		return err
	}
	if err := r.leaveOut(m, part, prompt); err != nil {
		var turns []trace.Message
		if r.opts.InChat() {
			turns, _ = r.opts.Conversation.Turns(prompt)
		}
		if err = part.refusal(err, r.opts.Conversation, turns); errors.Is(err, trace.ErrUsage) {
			return err
		}
		return pkg.Errorf("without %s: %w", part, err)
	}
	return nil
}

// leaveOut sets the prompt without a part of it, and the edits of that.
func (r *run) leaveOut(m trace.Model, part Grouping, prompt string) (err error) {
	w, opts, removed := &Without{Part: part.String()}, r.opts, -1
	for _, p := range r.e.Prompt.Parts {
		if part.name == partAdded && p.Kind == trace.Added {
			part.ranges = append(part.ranges, [2]int{p.Begin, p.End})
		}
	}
	switch {
	case len(part.ranges) > 0:
		w.Name, prompt, err = cutRanges(r.e.Prompt.Text, part)
		if opts.InChat() {
			opts.Specials = trace.SpecialsOff // the chat template has added them
		}
		opts.Chat, opts.Conversation = false, trace.Conversation{}
		if part.name == partAdded {
			w.Name = "what the chat template adds"
		}
	case part.name == partAdded:
		err = trace.Usagef("the chat template adds no text by itself")
	case part.name == "tools":
		w.Name, opts.Conversation.Tools = "the tools", nil
	case part.name == "sentence":
		if part.ranges, err = part.sentenceRange(r.e.Prompt.Text, opts.InChat()); err == nil {
			w.Name, prompt, err = cutRanges(r.e.Prompt.Text, part)
		}
	case part.name == "document" || part.name == "documents":
		w.Name, err = part.leaveOutDocuments(&opts.Conversation)
	default:
		w.Name, removed, err = part.leaveOutTurn(&opts.Conversation, prompt)
		prompt = ""
	}
	if err != nil {
		return err
	}
	read, tokens, err := readPrompt(m, prompt, opts)
	switch {
	case err != nil:
		return err
	case read.Text == r.e.Prompt.Text:
		return trace.Usagef("the chat template writes the same text without it")
	case part.name == "system" && slices.ContainsFunc(read.Parts, func(p trace.Part) bool {
		own := strings.TrimSpace(read.Text[p.Begin:p.End])
		return p.Kind == trace.Added && !strings.Contains(r.e.Prompt.Text, own)
	}):
		r.warn("Without the system text, the chat template writes one of its own.")
	}
	w.Text = read.Text
	r.e.Without, r.without = w, trace.IDs(tokens)
	r.withoutEdits, err = r.editsWithout(&read, part, removed)
	return err
}

// editsWithout returns the edits of the run for the prompt without a part: each position is that of
// the same token there, and after the prompt as far behind it. It returns a usage error for an edit
// where a token is taken away, or changes with what is.
func (r *run) editsWithout(read *Prompt, part Grouping, removed int) ([]trace.Edit, error) {
	at, m := keptTokens(&r.e.Prompt, read, part, removed), len(r.ids)
	for _, e := range r.ask.Edits {
		for _, p := range slices.Concat(e.Positions, e.Sources) {
			if p < m && at[p] < 0 {
				return nil, trace.Usagef("the edit of %s is at position %d, %s, which it takes "+
					"away or changes; take another part, or edit elsewhere", e, p,
					message.Quote(r.e.Prompt.Texts[p]))
			}
		}
	}
	return trace.MoveEdits(r.ask.Edits, func(p int) int {
		if p >= m {
			return p - m + len(read.IDs)
		}
		return at[p]
	}), nil
}

// earlier compares where two ranges begin.
func earlier(a, b [2]int) int { return a[0] - b[0] }

// keptTokens returns the place in another prompt of each token of a prompt, -1 if it has none: of
// one without some bytes, or one without a turn of the conversation, -1 for none.
func keptTokens(whole, rest *Prompt, part Grouping, removed int) []int {
	// Ranges of bytes that are in both, with their places in the other.
	kept := [][3]int{{0, 0, 0}, {len(whole.Text), len(whole.Text), len(rest.Text)}}
	if len(part.ranges) > 0 {
		from, shift := 0, 0
		for _, cut := range slices.SortedFunc(slices.Values(part.ranges), earlier) {
			kept = append(kept, [3]int{from, cut[0], from - shift})
			from, shift = cut[1], shift+cut[1]-cut[0]
		}
		kept = append(kept, [3]int{from, len(whole.Text), from - shift})
	}
	next := 0 // of the parts of the other
	for _, p := range whole.Parts {
		if len(part.ranges) > 0 || p.Turn == removed {
			continue
		}
		if removed >= 0 && p.Turn > removed {
			p.Turn--
		}
		for i, q := range rest.Parts[next:] {
			if q.Turn == p.Turn && q.Kind == p.Kind &&
				whole.Text[p.Begin:p.End] == rest.Text[q.Begin:q.End] {
				kept, next = append(kept, [3]int{p.Begin, p.End, q.Begin}), next+i+1
				break
			}
		}
	}
	type place struct{ id, begin, end int }
	places := map[place]int{}
	for j, id := range rest.IDs {
		places[place{id, rest.Offsets[j][0], rest.Offsets[j][1]}] = j
	}
	at := slices.Repeat([]int{-1}, len(whole.IDs))
	for i, id := range whole.IDs {
		begin, end := whole.Offsets[i][0], whole.Offsets[i][1]
		for _, k := range kept {
			if begin < k[0] || end > k[1] || at[i] >= 0 {
				continue
			}
			if j, ok := places[place{id, begin - k[0] + k[2], end - k[0] + k[2]}]; ok {
				at[i] = j
			}
		}
	}
	return at
}

// cutRanges returns some bytes of a text, each range in quotation marks, and the rest.
func cutRanges(text string, part Grouping) (cut, rest string, err error) {
	of, err := rangeOf(text, part.ranges)
	if err != nil {
		return "", "", err
	}
	var outside []byte
	for i := range len(text) {
		if of[i] < 0 {
			outside = append(outside, text[i])
		}
	}
	switch {
	case len(bytes.TrimSpace(outside)) == 0:
		return "", "", trace.Usagef("nothing is left to read")
	case utf8.ValidString(text) && !utf8.Valid(outside):
		return "", "", trace.Usagef("it cuts a character in two")
	}
	var names []string
	for begin, end := 0, 0; begin < len(text); begin = end { // what touches is one
		end = begin + 1
		for end < len(text) && (of[end] < 0) == (of[begin] < 0) {
			end++
		}
		if of[begin] >= 0 {
			words := strings.Join(strings.Fields(text[begin:end]), " ")
			names = append(names, message.Quote(words))
		}
	}
	if last := len(names) - 1; last > 0 {
		names = []string{message.List(names[:last]) + " and " + names[last]}
	}
	return names[0], string(outside), nil
}

// sentenceRange returns the bytes of a sentence of a prompt. A span without a letter or a digit is
// none.
func (g Grouping) sentenceRange(text string, chat bool) ([][2]int, error) {
	if chat {
		return nil, trace.Usagef("a conversation has messages: turn:%d, or bytes of it", g.number)
	}
	ranges := slices.DeleteFunc(SentenceRanges(text), func(r [2]int) bool {
		return !strings.ContainsFunc(text[r[0]:r[1]], func(c rune) bool {
			return unicode.IsLetter(c) || unicode.IsDigit(c)
		})
	})
	if g.number > len(ranges) {
		return nil, trace.Usagef("the prompt has %s", message.Count(len(ranges), "sentence"))
	}
	return ranges[g.number-1 : g.number], nil
}

// leaveOutTurn takes a message out of a conversation, to which the prompt then belongs, and returns
// its place among the turns.
func (g Grouping) leaveOutTurn(c *trace.Conversation, prompt string) (
	name string, at int, err error,
) {
	turns, err := c.Turns(prompt)
	if err != nil {
		return "", 0, err
	}
	at, name = g.number-1, fmt.Sprintf("turn %d", g.number)
	if g.name == "system" {
		name = "the system text"
		at = slices.IndexFunc(turns, func(m trace.Message) bool { return m.Role == "system" })
	}
	switch {
	case at < 0:
		return "", 0, trace.Usagef("no message of the conversation is the system's; what its "+
			"chat template adds by itself is %s", partAdded)
	case at >= len(turns):
		return "", 0, trace.Usagef("the conversation has %s", message.Count(len(turns), "turn"))
	case len(turns) == 1:
		return "", 0, trace.Usagef("it is the only turn, so nothing is left to read")
	}
	c.System, c.Messages = "", slices.Delete(turns, at, at+1)
	return name, at, nil
}

// documentsOf returns the documents that a chat template is given.
func documentsOf(c trace.Conversation) (all []json.RawMessage) {
	if json.Unmarshal([]byte(asJSON(c.Variables["documents"])), &all) != nil {
		return nil
	}
	return all
}

// leaveOutDocuments takes one of the documents, or all, from what a chat template is given.
func (g Grouping) leaveOutDocuments(c *trace.Conversation) (name string, err error) {
	all := documentsOf(*c)
	if len(all) == 0 {
		return "", trace.Usagef("the chat template is given no documents; they are a list, the "+
			"variable documents of %s", trace.Called("chat variables"))
	}
	variables := trace.Variables{}
	for key, value := range c.Variables {
		variables[key] = value
	}
	c.Variables = variables
	if g.number == 0 {
		delete(variables, "documents")
		return "the documents", nil
	}
	if g.number > len(all) {
		return "", trace.Usagef("there %s %s", message.IsOrAre(len(all)),
			message.Count(len(all), "document"))
	}
	variables["documents"] = slices.Delete(all, g.number-1, g.number)
	return fmt.Sprintf("document %d", g.number), nil
}

// readScores reads the scores that steps do not bring: those of the prompt's tokens, and what the
// predictions are without a part of it. Each is one pass over a text.
func (r *run) readScores(ctx context.Context, m trace.Model) error {
	if reader, ok := m.(trace.LogitReader); ok && r.opts.PromptScores {
		if err := r.scorePrompt(ctx, reader); err != nil {
			return err
		}
	}
	if r.without == nil || len(r.e.Steps) == 0 {
		return nil
	}
	n, first := len(r.e.Steps), len(r.without)-1
	if len(r.logits) != n {
		return pkg.Errorf("the model gives the logits of %d of %d tokens", len(r.logits), n)
	}
	text := slices.Concat(r.without, r.text[len(r.ids):len(r.ids)+n-1])
	compare := func(at int, logits []float32) error {
		g := &r.e.Steps[at-first]
		if len(r.logits[at-first]) != len(logits) || g.Scores == nil {
			return pkg.Errorf("the model gives no distribution of token %d", at-first)
		}
		_, surprisal, _ := rowmath.Scores(logits, g.ID)
		g.Scores.KL = new(rowmath.Divergence(r.logits[at-first], logits))
		g.Scores.Gain = new(surprisal - g.Scores.Surprisal)
		if rowmath.NotFinite(*g.Scores.KL) || rowmath.NotFinite(*g.Scores.Gain) {
			return pkg.Errorf("KL %v and a difference of %v nats at token %d", *g.Scores.KL,
				*g.Scores.Gain, at-first)
		}
		if other := likeliest(logits); other != likeliest(r.logits[at-first]) {
			g.Scores.Otherwise = alternativeOf(m, other, logits)
		}
		return nil
	}
	edits := trace.EditsWithin(r.withoutEdits, len(text))
	if err := m.(trace.LogitReader).ReadLogits(ctx, text, edits, first, compare); err != nil {
		return fmt.Errorf("the text without %s: %w", r.e.Without.Name, err)
	}
	r.e.markSensitive()
	return nil
}

// likeliest returns the most probable token, of equal ones the first.
func likeliest(logits []float32) int { return slices.Index(logits, slices.Max(logits)) }

// alternativeOf returns a token with its probability.
func alternativeOf(m trace.Model, id int, logits []float32) *Alternative {
	_, surprisal, _ := rowmath.Scores(logits, id)
	a := &Alternative{ID: id, Probability: math.Exp(-surprisal)}
	if texter, ok := m.(trace.TokenTexter); ok {
		a.Text = texter.TokenText(id)
	}
	return a
}

// finite reports whether scores have a JSON form.
func finite(s *trace.TokenScores) bool {
	return s != nil && !rowmath.NotFinite(s.Entropy) && !rowmath.NotFinite(s.Surprisal)
}

// scorePrompt sets the scores of the prompt's tokens, each predicted by those before it.
func (r *run) scorePrompt(ctx context.Context, m trace.LogitReader) error {
	all, n := make([]*trace.TokenScores, len(r.ids)), len(r.ids)-1
	if n > 0 {
		edits := trace.EditsWithin(r.ask.Edits, n)
		err := m.ReadLogits(ctx, r.ids[:n], edits, 0, func(at int, logits []float32) error {
			s := &trace.TokenScores{}
			s.Entropy, s.Surprisal, s.Rank = rowmath.Scores(logits, r.ids[at+1])
			if finite(s) {
				all[at+1] = s
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the scores of the prompt: %w", err)
		}
	}
	r.e.Prompt.Scores = all
	return nil
}

// markSensitive sets the threshold, and marks the tokens that reach it.
func (e *Explanation) markSensitive() {
	var all []float64
	for _, g := range e.Steps {
		all = append(all, *g.Scores.KL)
	}
	e.Without.Threshold = max(leastKL, outstanding(all))
	for _, g := range e.Steps {
		g.Scores.Sensitive = *g.Scores.KL >= e.Without.Threshold
	}
}

// outstanding returns mean + standard deviation, that of a sample.
func outstanding(all []float64) float64 {
	n, mean, squares := float64(len(all)), 0.0, 0.0
	for _, x := range all {
		mean += x / n
	}
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	return mean + math.Sqrt(squares/max(1, n-1))
}

// Package without is the study of where a part of the prompt mattered: how much the prediction of
// each generated token differs from what it is without the part (PECoRe, Sarti et al. 2024).
package without

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	attribution.RegisterStudy(&attribution.Study{
		Name: Name,
		Options: []attribution.StudyOption{{
			Name: "without", Flag: Name, Generates: true,
			Help: "compare each prediction with what it is without a part of the prompt: " +
				"`system|turn:N|tools|added|documents|document:N|sentence:N|BEGIN:END`, a " +
				"message or document of the chat or a sentence of the prompt from 1, its tools, " +
				"what its template adds, or bytes, at one pass over the rest of the text",
			Wrong: func(s string) string {
				_, wrong := parsePart(s)
				return wrong
			},
			Conflict: func(o *attribution.Options) string {
				if o.Target == "" {
					return ""
				}
				return trace.Called("without") + " and a target; it compares the predictions of " +
					"tokens: leave the target out"
			},
		}},
		Whole: func() any { return &Part{} },
		Token: func() any { return &Difference{} },
		Needs: func(attribution.Studies) attribution.StudyNeeds {
			return attribution.StudyNeeds{Logits: true}
		},
		Check: check, Begin: begin, Spans: true,
	})
}

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("attribution")

// Name is the name of the study and of its option. The option is "system" for the system message of
// a chat, "turn:2" for message 2 from 1, that one among them, "documents" and "document:2" for what
// the chat template gets as the variable documents, "tools" for the tools of a chat, "added" for
// what its template adds by itself, "sentence:2" for a sentence of a prompt that is no chat, in a
// model of two stacks of the source, or bytes of [attribution.Prompt.Text], "0:120". The template
// is applied again; bytes and what it adds are cut.
const Name = "without"

// Difference is what a part of the prompt changes of the prediction of a token.
type Difference struct {
	// KL is KL(p‖q) of the distributions p with and q without the part, in nats, and Gain
	// ln p(token) - ln q(token), in nats (P-CXMI).
	KL   float64 `json:"kl"`
	Gain float64 `json:"gain"`
	// Sensitive reports whether KL reaches [Part.Threshold].
	Sensitive bool `json:"sensitive,omitempty"`
	// Otherwise is the most probable token without the part, nil if that is the one with it, too.
	Otherwise *attribution.Alternative `json:"otherwise,omitempty"`
}

// Part is the part of a prompt that is taken away.
type Part struct {
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

// Of returns the part that is taken away, nil if the study was not asked for.
func Of(e *attribution.Explanation) *Part { return attribution.Finding[Part](e.Studies, Name) }

// OfToken returns what the part changes of the prediction of a token, nil if that is not known.
func OfToken(g attribution.GeneratedToken) *Difference {
	return attribution.Finding[Difference](g.Studies, Name)
}

// leastKL is above what float32 rounding alone leaves, at most 1e-6 nats on the models tried.
const leastKL = 1e-4

// partAdded is the value of the option for what the chat template adds by itself.
const partAdded = string(trace.Added)

// part is a part of a prompt as the option names it.
type part struct {
	name   string   // "system", "turn", …, or "" for ranges
	number int      // of a turn, document or sentence, from 1
	ranges [][2]int // of bytes
}

// parsePart reads the value of the option.
func parsePart(s string) (p part, wrong string) {
	if name, n, ok := units.ReadNumbered(s, "turn", "document", "sentence"); ok {
		return part{name: name, number: n}, ""
	}
	names := []string{"system", "tools", partAdded, "documents"}
	if s == "" || slices.Contains(names, s) {
		return part{name: s}, ""
	}
	if ranges, ok := units.ParseRanges(s); ok {
		return part{ranges: ranges}, ""
	}
	return p, message.DidYouMean(s, names) + "want system, tools, added, documents, document:2, " +
		"turn:2 or sentence:2, counted from 1, or bytes of the prompt as BEGIN:END,BEGIN:END, " +
		"counted from 0 and END not included"
}

// check returns a usage error if a prompt lacks the part, as far as that is known before a model
// reads it. Its chat template decides whether there is a system text, and which bytes there are.
func check(o *attribution.Options, prompt string) error {
	p, _ := parsePart(o.Studies[Name])
	if len(p.ranges) > 0 {
		return nil
	}
	c := o.Conversation
	if p.name == "sentence" {
		_, err := p.sentenceRange(prompt, o.InChat())
		return refusal(o, err, nil)
	}
	if !o.InChat() {
		return refusal(o, trace.Usagef("the prompt is no conversation, and has sentences, "+
			"sentence:N, and bytes, 0:%d; %s puts it into the model's chat template", len(prompt),
			trace.Called("chat", "Options.Chat")), nil)
	}
	turns, err := c.Turns(prompt)
	if err != nil {
		return err
	}
	switch {
	case p.name == "document" || p.name == "documents":
		_, err = p.leaveOutDocuments(&c)
	case p.name == "tools" && c.Tools == nil:
		err = trace.Usagef("the conversation has no tools")
	case p.name == "turn":
		_, _, err = p.leaveOutTurn(&c, prompt)
	}
	return refusal(o, err, turns)
}

// refusal returns a usage error about a part that a prompt lacks, with the parts that it has; other
// errors and nil as they are.
func refusal(o *attribution.Options, err error, turns []trace.Message) error {
	c := o.Conversation
	p, _ := parsePart(o.Studies[Name])
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
	if len(turns) > 0 && len(p.ranges) == 0 {
		if parts = "; this conversation has no part but its bytes, BEGIN:END"; has != nil {
			parts = "; the parts of this conversation are " + message.Some(has, 12) +
				", and bytes, BEGIN:END"
		}
	}
	return attribution.LookupOption(Name).Usagef("%s %s: %s%s", trace.Called(Name),
		o.Studies[Name], usage.Reason, parts)
}

// run is the study of one text.
type run struct {
	*attribution.StudyRun
	reader trace.LogitReader
	part   part
	found  *Part
	// ids are those of the prompt without the part, edits the edits of that text, and logits what
	// predicted each token, [n][V], to be compared with what predicts it then.
	ids    []int
	edits  []trace.Edit
	logits [][]float32
}

// begin checks that the model tells what it predicts at every position, and that the prompt has the
// part that is taken away, and more.
func begin(s *attribution.StudyRun) (steps attribution.StudySteps, err error) {
	r := &run{StudyRun: s}
	if r.reader, err = s.LogitReader(); err != nil {
		return steps, err
	}
	r.part, _ = parsePart(s.Setting(Name))
	if err := check(&s.Options, s.Prompt); err != nil {
		return steps, err
	}
	if err := r.leaveOut(); err != nil {
		var turns []trace.Message
		if s.Options.InChat() {
			turns, _ = s.Options.Conversation.Turns(s.Prompt)
		}
		if err = refusal(&s.Options, err, turns); errors.Is(err, trace.ErrUsage) {
			return steps, err
		}
		return steps, pkg.Errorf("without %s: %w", s.Setting(Name), err)
	}
	s.Explanation.Studies.Set(Name, r.found)
	keep := func(step trace.Step, _ *attribution.GeneratedToken) error {
		r.logits = append(r.logits, step.Logits)
		return nil
	}
	return attribution.StudySteps{Step: keep, End: r.compare}, nil
}

// leaveOut sets the prompt without a part of it, and the edits of that.
func (r *run) leaveOut() (err error) {
	whole, w, opts, prompt := &r.Explanation.Prompt, &Part{Part: r.Setting(Name)}, r.Options,
		r.Prompt
	part, removed := r.part, -1
	for _, p := range whole.Parts {
		if part.name == partAdded && p.Kind == trace.Added {
			part.ranges = append(part.ranges, [2]int{p.Begin, p.End})
		}
	}
	switch {
	case len(part.ranges) > 0:
		w.Name, prompt, err = cutRanges(whole.Text, part)
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
		if part.ranges, err = part.sentenceRange(whole.Text, opts.InChat()); err == nil {
			w.Name, prompt, err = cutRanges(whole.Text, part)
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
	read, tokens, err := r.Read(prompt, opts)
	switch {
	case err != nil:
		return err
	case read.Text == whole.Text:
		return trace.Usagef("the chat template writes the same text without it")
	case part.name == "system" && slices.ContainsFunc(read.Parts, func(p trace.Part) bool {
		own := strings.TrimSpace(read.Text[p.Begin:p.End])
		return p.Kind == trace.Added && !strings.Contains(whole.Text, own)
	}):
		r.Warn("Without the system text, the chat template writes one of its own.")
	}
	w.Text = read.Text
	r.found, r.ids = w, trace.IDs(tokens)
	r.edits, err = r.editsWithout(&read, part, removed)
	return err
}

// editsWithout returns the edits of the run for the prompt without a part: each position is that of
// the same token there, and after the prompt as far behind it. It returns a usage error for an edit
// where a token is taken away, or changes with what is.
func (r *run) editsWithout(
	read *attribution.Prompt, part part, removed int,
) ([]trace.Edit, error) {
	whole := &r.Explanation.Prompt
	at, m := keptTokens(whole, read, part, removed), len(whole.IDs)
	for _, e := range r.Explanation.Edits {
		for _, p := range slices.Concat(e.Positions, e.Sources) {
			if p < m && at[p] < 0 {
				return nil, trace.Usagef("the edit of %s is at position %d, %s, which it takes "+
					"away or changes; take another part, or edit elsewhere", e, p,
					message.Quote(whole.Texts[p]))
			}
		}
	}
	return trace.MoveEdits(r.Explanation.Edits, func(p int) int {
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
func keptTokens(whole, rest *attribution.Prompt, part part, removed int) []int {
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
func cutRanges(text string, part part) (cut, rest string, err error) {
	of, err := units.RangeOf(text, part.ranges)
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
func (p part) sentenceRange(text string, chat bool) ([][2]int, error) {
	if chat {
		return nil, trace.Usagef("a conversation has messages: turn:%d, or bytes of it", p.number)
	}
	ranges := slices.DeleteFunc(units.SentenceRanges(text), func(r [2]int) bool {
		return !strings.ContainsFunc(text[r[0]:r[1]], func(c rune) bool {
			return unicode.IsLetter(c) || unicode.IsDigit(c)
		})
	})
	if p.number > len(ranges) {
		return nil, trace.Usagef("the prompt has %s", message.Count(len(ranges), "sentence"))
	}
	return ranges[p.number-1 : p.number], nil
}

// leaveOutTurn takes a message out of a conversation, to which the prompt then belongs, and returns
// its place among the turns.
func (p part) leaveOutTurn(c *trace.Conversation, prompt string) (
	name string, at int, err error,
) {
	turns, err := c.Turns(prompt)
	if err != nil {
		return "", 0, err
	}
	at, name = p.number-1, fmt.Sprintf("turn %d", p.number)
	if p.name == "system" {
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
	if text, err := json.Marshal(c.Variables["documents"]); err != nil ||
		json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// leaveOutDocuments takes one of the documents, or all, from what a chat template is given.
func (p part) leaveOutDocuments(c *trace.Conversation) (name string, err error) {
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
	if p.number == 0 {
		delete(variables, "documents")
		return "the documents", nil
	}
	if p.number > len(all) {
		return "", trace.Usagef("there %s %s", message.IsOrAre(len(all)),
			message.Count(len(all), "document"))
	}
	variables["documents"] = slices.Delete(all, p.number-1, p.number)
	return fmt.Sprintf("document %d", p.number), nil
}

// compare reads what the predictions are without the part, by one pass over that text.
func (r *run) compare(ctx context.Context) error {
	e := r.Explanation
	n, first := len(e.Steps), len(r.ids)-1
	if len(r.logits) != n {
		return pkg.Errorf("the model gives the logits of %d of %d tokens", len(r.logits), n)
	}
	answer := e.TokenIDs()[len(e.Prompt.IDs):]
	text := slices.Concat(r.ids, answer[:n-1])
	compare := func(at int, logits []float32) error {
		g := &e.Steps[at-first]
		if len(r.logits[at-first]) != len(logits) || g.Scores == nil {
			return pkg.Errorf("the model gives no distribution of token %d", at-first)
		}
		_, surprisal, _ := rowmath.Scores(logits, g.ID)
		d := &Difference{
			KL:   rowmath.Divergence(r.logits[at-first], logits),
			Gain: surprisal - g.Scores.Surprisal,
		}
		if rowmath.NotFinite(d.KL) || rowmath.NotFinite(d.Gain) {
			return pkg.Errorf("KL %v and a difference of %v nats at token %d", d.KL, d.Gain,
				at-first)
		}
		if other := likeliest(logits); other != likeliest(r.logits[at-first]) {
			d.Otherwise = alternativeOf(r.Model, other, logits)
		}
		g.Studies.Set(Name, d)
		return nil
	}
	edits := trace.EditsWithin(r.edits, len(text))
	if err := r.reader.ReadLogits(ctx, text, edits, first, compare); err != nil {
		return fmt.Errorf("the text without %s: %w", r.found.Name, err)
	}
	r.markSensitive()
	return nil
}

// likeliest returns the most probable token, of equal ones the first.
func likeliest(logits []float32) int { return slices.Index(logits, slices.Max(logits)) }

// alternativeOf returns a token with its probability.
func alternativeOf(m trace.Model, id int, logits []float32) *attribution.Alternative {
	_, surprisal, _ := rowmath.Scores(logits, id)
	a := &attribution.Alternative{ID: id, Probability: math.Exp(-surprisal)}
	if texter, ok := m.(trace.TokenTexter); ok {
		a.Text = texter.TokenText(id)
	}
	return a
}

// markSensitive sets the threshold, and marks the tokens that reach it.
func (r *run) markSensitive() {
	var all []float64
	for _, g := range r.Explanation.Steps {
		all = append(all, OfToken(g).KL)
	}
	r.found.Threshold = max(leastKL, rowmath.Outstanding(all))
	for _, g := range r.Explanation.Steps {
		d := OfToken(g)
		d.Sensitive = d.KL >= r.found.Threshold
	}
}

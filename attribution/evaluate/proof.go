package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Change is a prompt with one span replaced: an intervention that shows whether the words of the
// span decide the prediction. The changed prompt must have as many tokens as the prompt and differ
// from it only in the tokens of the span ([Change.Fits]). Otherwise everything after the span would
// move.
//
// Two examples for a language model: after "When Mary and John went out, John gave a drink to", "
// Mary" is right; if " Mary" replaces the second " John", " John" is right. After "The capital of
// France is", " Paris" is right; if " Italy" replaces " France", " Rome" is right.
type Change struct {
	// Span is the bytes [begin,end) of the prompt that Text replaces.
	Span [2]int `json:"span"`
	Text string `json:"text"`
	// Answer is the right token after the change; empty if there is none.
	Answer string `json:"answer,omitempty"`
	// Form marks a word that only asks for a kind of answer, such as a question mark. It is not
	// evidence, even if it moves the prediction. If every change of it does, it is not ranked.
	Form bool `json:"form,omitempty"`
}

// maxChanges is the largest number of changes of a case: several for each word of a long text. Each
// costs a pass through the model.
const maxChanges = 10_000

// defaultLeast is the value of [Options.Least] if it is 0: half of the way from the prediction to
// indifference.
const defaultLeast = 0.5

// The roles of a change; see [Move.Role].
const (
	evidenceRole = "evidence"
	otherRole    = "other"
	formRole     = "form"
)

// Move is the result of one change.
type Move struct {
	Change
	// Role is evidence, other or form: the span touches evidence, so the change must move the
	// prediction; it does not, and the change must not; see [Change.Form], it may or may not.
	Role string `json:"role"`
	// Before and After are a number for the prompt and for the changed prompt: the logit of the
	// prediction minus that of the change's Answer, or of the case's Contrast if there is no
	// Answer, or the probability of the prediction if there is neither.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Logits reports whether they are differences of logits, and not probabilities.
	Logits bool `json:"logits,omitempty"`
	// Decides reports whether the change moved the prediction. With an Answer, the model now
	// prefers the Answer; without one, After differs from Before by at least [Options.Least] times
	// Before.
	Decides bool `json:"decides"`
}

// Loss returns the part of Before that is lost: 1 means indifference, and above 1 the model prefers
// another token. It has a meaning only if Before is above 0.
func (m Move) Loss() float64 { return (m.Before - m.After) / m.Before }

// Proof has the results of the changes of a case.
type Proof struct {
	Moves []Move `json:"moves"`
	// Reason is why the evidence is not proven, empty if it is proven: every piece of evidence
	// has a change, every change of evidence moves the prediction, and no change of another word
	// does.
	//
	// A pair is proven by what the model chooses, the most probable token: it chooses an answer
	// after the prompt, another token that is a foil after the counterfactual, and for every other
	// word the answer again after one of the word's changes at least, because a change may also
	// break the sentence. The evidence of a pair is changed together, because one piece may say
	// what another says.
	Reason string `json:"reason,omitempty"`
	// Suffices reports, for a proven pair with several pieces of evidence and texts of equally many
	// tokens, for each piece whether it alone keeps the answer ahead of the foil: the others are
	// those of the counterfactual. Where one piece suffices, one that does is all that a method has
	// to find: the average precision is then 1 over the rank of the first, and pieces that do not
	// suffice are not ranked.
	Suffices []bool `json:"suffices,omitempty"`
}

// oneSuffices reports whether the evidence is redundant: one piece suffices.
func (p *Proof) oneSuffices() bool { return p != nil && slices.Contains(p.Suffices, true) }

// Proven reports whether the evidence decides the prediction and the other words do not.
func (p *Proof) Proven() bool { return p.Reason == "" }

// Strict reports whether the evidence is proven and no change of any other word decides. A proven
// pair need not be strict: words that ask the question may decide, and so may the first change of
// another word if the second one does not.
func (p *Proof) Strict() bool {
	decides := func(m Move) bool { return m.Role != evidenceRole && m.Decides }
	return p.Proven() && !slices.ContainsFunc(p.Moves, decides)
}

// Fits reports whether the changed prompt has as many tokens as the prompt and differs from it only
// in the tokens of the span, and whether the answer, if there is one, is one token. It returns an
// error of the tokenizer, or one for a span outside the prompt.
func (c Change) Fits(m trace.Model, prompt string, specials trace.Specials) (bool, error) {
	before, err := m.Encode(prompt, specials)
	if err != nil {
		return false, err
	}
	_, fits, err := c.encode(m, prompt, before, specials)
	if err != nil || !fits || c.Answer == "" {
		return fits, err
	}
	answer, _, err := trace.EncodeAfter(m, prompt, c.Answer)
	return len(answer) == 1, err
}

// encode returns the ids of the changed prompt, and whether they fit those before the change.
func (c Change) encode(
	m trace.Model, prompt string, before []trace.Token, specials trace.Specials,
) (ids []int, fits bool, err error) {
	if err := checkSpan(c.Span, prompt); err != nil {
		return nil, false, fmt.Errorf("a change of %w", err)
	}
	begin, end := c.Span[0], c.Span[1]
	after, err := m.Encode(prompt[:begin]+c.Text+prompt[end:], specials)
	if err != nil {
		return nil, false, err
	}
	fits = len(after) == len(before)
	for i, t := range after {
		ids = append(ids, t.ID)
		if fits && t.ID != before[i].ID {
			fits = overlaps([2]int{before[i].Begin, before[i].End}, c.Span)
		}
	}
	return ids, fits, nil
}

// overlaps reports whether two ranges of bytes have a byte in common.
func overlaps(a, b [2]int) bool { return a[0] < b[1] && b[0] < a[1] }

// prover tries the changes of one case on a model.
type prover struct {
	model    trace.Predictor
	c        Case
	prompt   attribution.Prompt
	prefix   []int // generated before the answer, after each prompt
	specials trace.Specials
	position int // of the target
	answer   int // the token explained
	least    float64
}

// prove runs every change of the case.
func (p prover) prove(ctx context.Context) (*Proof, error) {
	if len(p.c.Changes) > maxChanges {
		return nil, fmt.Errorf("%d changes; at most %d", len(p.c.Changes), maxChanges)
	}
	queries, before, err := p.queries()
	if err != nil {
		return nil, err
	}
	values, err := p.predict(ctx, queries)
	if err != nil {
		return nil, err
	}
	proof := &Proof{}
	for k, c := range p.c.Changes {
		m := Move{Change: c, Role: p.role(c), Before: values[before[k]], After: values[k]}
		m.Logits = c.Answer != "" || p.c.Contrast != ""
		m.Decides = math.Abs(m.Before-m.After) >= p.least*math.Abs(m.Before)
		if c.Answer != "" {
			m.Decides = m.After < 0
		}
		proof.Moves = append(proof.Moves, m)
	}
	proof.Reason = p.reason(proof.Moves)
	return proof, nil
}

// predict returns the number that each query asks for.
func (p prover) predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	values, err := p.model.Predict(ctx, queries)
	if err == nil && len(values) != len(queries) {
		err = fmt.Errorf("the model returned %d numbers for %d texts", len(values), len(queries))
	}
	return values, err
}

// queries returns a query for each changed prompt, followed by one of the unchanged prompt for each
// different objective. before[k] is the index of the unchanged query for change k.
func (p prover) queries() (queries []trace.Query, before []int, err error) {
	tokens := make([]trace.Token, len(p.prompt.IDs))
	for i, o := range p.prompt.Offsets {
		tokens[i] = trace.Token{ID: p.prompt.IDs[i], Begin: o[0], End: o[1]}
	}
	var whole []trace.Query
	at := map[string]int{} // index in whole, by the token that the answer is compared with
	for k, c := range p.c.Changes {
		against := cmp.Or(c.Answer, p.c.Contrast)
		o, err := p.objective(against)
		if err != nil {
			return nil, nil, fmt.Errorf("change %d: %w", k, err)
		}
		ids, fits, err := c.encode(p.model, p.prompt.Text, tokens, p.specials)
		if err != nil {
			return nil, nil, fmt.Errorf("change %d: %w", k, err)
		}
		if !fits {
			old := p.prompt.Text[c.Span[0]:c.Span[1]]
			return nil, nil, fmt.Errorf("change %d: with %.60q for %.60q the prompt has %d "+
				"tokens and"+
				" had %d, or tokens outside of the span differ; take a word of as many tokens",
				k, c.Text, old, len(ids), len(tokens))
		}
		queries = append(queries, trace.Query{IDs: append(ids, p.prefix...), Objective: o})
		if _, ok := at[against]; !ok {
			at[against] = len(whole)
			ids := slices.Concat(p.prompt.IDs, p.prefix)
			whole = append(whole, trace.Query{IDs: ids, Objective: o})
		}
		before = append(before, len(p.c.Changes)+at[against])
	}
	return append(queries, whole...), before, nil
}

// objective returns the number that a change may move: a difference of logits if against names a
// token, else a probability.
func (p prover) objective(against string) (trace.Objective, error) {
	o := trace.Objective{Quantity: trace.Probability, Position: p.position, Token: p.answer}
	if against == "" {
		return o, nil
	}
	tokens, _, err := trace.EncodeAfter(p.model, p.prompt.Text, against)
	if err != nil {
		return o, err
	}
	if len(tokens) != 1 {
		return o, fmt.Errorf("%.60q is %d tokens; a change is judged by one, mind the space "+
			"before a word",
			against, len(tokens))
	}
	o.Quantity, o.Contrast = trace.Logit, &tokens[0].ID
	return o, nil
}

// role returns the role of a change: evidence, other or form.
func (p prover) role(c Change) string {
	touches := func(e [2]int) bool { return overlaps(e, c.Span) }
	switch {
	case slices.ContainsFunc(p.c.Evidence, touches):
		return evidenceRole
	case c.Form || slices.ContainsFunc(p.c.Question, touches):
		return formRole
	}
	return otherRole
}

// reason returns why moves do not prove the evidence, or "" if they do.
func (p prover) reason(moves []Move) string {
	text := func(span [2]int) string { return fmt.Sprintf("%.60q", p.prompt.Text[span[0]:span[1]]) }
	for _, m := range moves {
		switch {
		case m.Before <= 0:
			return "the model prefers another answer before any change"
		case m.Role == evidenceRole && !m.Decides:
			return fmt.Sprintf("evidence %s decides nothing: with %.60q a share of %.2f is lost",
				text(m.Span), m.Text, m.Loss())
		case m.Role == otherRole && m.Decides:
			return fmt.Sprintf("%s is no evidence and decides: with %.60q a share of %.2f is lost",
				text(m.Span), m.Text, m.Loss())
		}
	}
	for _, e := range p.c.Evidence {
		if !slices.ContainsFunc(moves, func(m Move) bool { return overlaps(e, m.Span) }) {
			return fmt.Sprintf("evidence %s has no change", text(e))
		}
	}
	return ""
}

// deciding returns the spans of words of form of which every change decides.
func (p *Proof) deciding() [][2]int {
	var spans [][2]int
	for _, m := range p.Moves {
		if m.Role != formRole || slices.Contains(spans, m.Span) {
			continue
		}
		spared := func(x Move) bool { return x.Span == m.Span && !x.Decides }
		if !slices.ContainsFunc(p.Moves, spared) {
			spans = append(spans, m.Span)
		}
	}
	return spans
}

// Moves summarises the changes of one role over many cases.
type Moves struct {
	// Words is the number of words that were changed, and Deciding the number of these of which
	// every change decides.
	Words    int `json:"words"`
	Deciding int `json:"deciding"`
	// Loss is the smallest [Move.Loss] of the changes of each word. Logits is Before - After of the
	// same changes, if that is a difference of logits. Least and Most are the extremes of Loss.
	Loss   Summary `json:"loss"`
	Logits Summary `json:"logits"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// Proofs summarises the proofs of one group, without cases for choosing layers.
type Proofs struct {
	Group string `json:"group"`
	// Cases is the number of cases that were tried, and Proven the number of these that are proven
	// and scored. Answered is the number of pairs among them whose answer the model gives, and
	// Strict the number of proven pairs in which no change of any other word decides; see
	// [Proof.Strict].
	Cases    int `json:"cases"`
	Answered int `json:"answered,omitempty"`
	Proven   int `json:"proven"`
	Strict   int `json:"strict,omitempty"`
	// Evidence, Others and Forms summarise the changes of each role, over the cases in which the
	// model preferred the answer before the change.
	Evidence Moves `json:"evidence"`
	Others   Moves `json:"others"`
	Forms    Moves `json:"forms"`
}

// proofsOf summarises the proofs of results.
func proofsOf(group string, results []*Result) Proofs {
	p := Proofs{Group: group}
	for _, r := range results {
		if r.Proof == nil {
			continue
		}
		p.Cases++
		if r.Answered {
			p.Answered++
		}
		if r.Proof.Proven() {
			p.Proven++
		}
		if r.Answered && r.Proof.Strict() {
			p.Strict++
		}
	}
	p.Evidence, p.Others = movesOf(evidenceRole, results), movesOf(otherRole, results)
	p.Forms = movesOf(formRole, results)
	return p
}

// movesOf summarises the changes of one role.
func movesOf(role string, results []*Result) Moves {
	var all Moves
	var losses, logits []float64
	for _, r := range results {
		if r.Proof == nil {
			continue
		}
		for i, m := range r.Proof.Moves {
			same := func(x Move) bool { return x.Span == m.Span }
			if m.Role != role || m.Before <= 0 || slices.ContainsFunc(r.Proof.Moves[:i], same) {
				continue
			}
			least, decides := m, true
			for _, x := range r.Proof.Moves {
				if same(x) {
					decides = decides && x.Decides
					if x.Loss() < least.Loss() {
						least = x
					}
				}
			}
			all.Words++
			if decides {
				all.Deciding++
			}
			losses = append(losses, least.Loss())
			if least.Logits {
				logits = append(logits, least.Before-least.After)
			}
		}
	}
	all.Loss, all.Logits = Summarize(losses), Summarize(logits)
	if len(losses) > 0 {
		all.Least, all.Most = slices.Min(losses), slices.Max(losses)
	}
	return all
}

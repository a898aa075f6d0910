package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// pairProof is what the model did with a pair.
type pairProof struct {
	proof    *Proof
	answered bool
	foil     string // chosen after the counterfactual; empty if the model was not asked
	patch    *patch
}

// pairBatch is how many changes of a pair are tried before the proof looks whether one of them
// decides. Most pairs that fail do so in the first batch.
const pairBatch = 8

// provePair tries the counterfactual of a pair and then its changes, and ends at the first that
// disproves the evidence. others gives the changes; nil for those of the case. p.answer is what the
// model chooses after the prompt.
func (p prover) provePair(
	ctx context.Context, others func(trace.Model, Case) ([]Change, error),
) (*pairProof, error) {
	x := &pairProof{proof: &Proof{}}
	if reason := p.checkPair(); reason != "" {
		x.proof.Reason = reason
		return x, nil
	}
	answers, err := p.tokens(p.c.Answers, p.c.Continuation)
	if err != nil {
		return nil, err
	}
	foils, err := p.tokens(p.c.Foils, p.c.Contrast)
	if err != nil {
		return nil, err
	}
	if x.answered = slices.Contains(answers, p.answer); !x.answered {
		x.proof.Reason = "the model gives another answer"
		return x, nil
	}
	if others != nil {
		if p.c.Changes, err = others(p.model, p.c); err != nil {
			return nil, err
		}
	}
	ids, err := p.ids(p.c.Counterfactual)
	if err != nil {
		return nil, err
	}
	foil, err := chosen(ctx, p.model, ids)
	if err != nil {
		return nil, err
	}
	x.foil = foil.Text
	if foil.ID == p.answer || !slices.Contains(foils, foil.ID) {
		x.proof.Reason = fmt.Sprintf("the counterfactual gives %.60q, which is no other answer",
			foil.Text)
		return x, nil
	}
	values, err := p.predict(ctx, []trace.Query{
		p.against(p.prompt.IDs, foil.ID), p.against(ids, foil.ID), p.margin(p.prompt.IDs),
	})
	if err != nil {
		return nil, err
	}
	x.proof.Moves = append(x.proof.Moves, Move{
		Change: Change{Span: p.c.Evidence[0], Text: p.c.Counterfactual, Answer: foil.Text},
		Role:   evidenceRole, Before: values[0], After: values[1], Logits: true, Decides: true,
	})
	if err := p.proveOthers(ctx, x.proof, values[2]); err != nil || !x.proof.Proven() {
		return x, err
	}
	x.patch = newPatch(p, foil.ID, ids)
	if x.patch != nil && len(p.c.Evidence) > 1 {
		x.proof.Suffices, err = x.patch.suffice(ctx)
	}
	return x, err
}

// checkPair returns why a pair cannot be proven, whatever the model says.
func (p prover) checkPair() string {
	if len(p.c.Evidence) == 0 {
		return "the pair names no evidence"
	}
	first := p.prompt.Offsets[0]
	for _, e := range p.c.Evidence {
		if overlaps(first, e) {
			return "evidence stands at the first token, which is not ranked"
		}
	}
	return ""
}

// proveOthers tries the changes of the words that are no evidence, first one of each word, and the
// next only of words whose changes have all decided so far. margin is how far the answer is above
// every other token after the prompt.
func (p prover) proveOthers(ctx context.Context, proof *Proof, margin float64) error {
	if len(p.c.Changes) > maxChanges {
		return fmt.Errorf("%d changes; at most %d", len(p.c.Changes), maxChanges)
	}
	words, err := p.others()
	if err != nil {
		return err
	}
	for round := 0; len(words) > 0; round++ {
		var deciding [][]Change
		for batch := range slices.Chunk(words, pairBatch) {
			moves, err := p.tryOthers(ctx, batch, round, margin)
			if err != nil {
				return err
			}
			proof.Moves = append(proof.Moves, moves...)
			for k, m := range moves {
				word := batch[k]
				switch {
				case !m.Decides:
				case round+1 < len(word):
					deciding = append(deciding, word)
				case m.Role == otherRole:
					proof.Reason = fmt.Sprintf("%.60q is no evidence and decides: with %.60q the "+
						"model gives another answer", p.prompt.Text[m.Span[0]:m.Span[1]], m.Text)
					return nil
				}
			}
		}
		words = deciding
	}
	return nil
}

// others returns the changes of each word that is no evidence, those of words of form last: they
// are needed only if no other word decides.
func (p prover) others() (words [][]Change, err error) {
	at := map[[2]int]int{}
	for k, c := range p.c.Changes {
		if p.role(c) == evidenceRole { // the counterfactual has changed that
			continue
		}
		if err := checkSpan(c.Span, p.prompt.Text); err != nil {
			return nil, fmt.Errorf("change %d: %w", k, err)
		}
		if _, ok := at[c.Span]; !ok {
			at[c.Span] = len(words)
			words = append(words, nil)
		}
		words[at[c.Span]] = append(words[at[c.Span]], c)
	}
	form := func(word []Change) bool { return p.role(word[0]) == formRole }
	isOther := func(word []Change) bool { return !form(word) }
	first := slices.DeleteFunc(slices.Clone(words), form)
	return append(first, slices.DeleteFunc(words, isOther)...), nil
}

// tryOthers tries the change of each word that has the number round.
func (p prover) tryOthers(
	ctx context.Context, words [][]Change, round int, margin float64,
) (moves []Move, err error) {
	var queries []trace.Query
	for _, word := range words {
		c := word[round]
		ids, err := p.ids(p.prompt.Text[:c.Span[0]] + c.Text + p.prompt.Text[c.Span[1]:])
		if err != nil {
			return nil, err
		}
		queries = append(queries, p.margin(ids))
	}
	values, err := p.predict(ctx, queries)
	if err != nil {
		return nil, err
	}
	for k, word := range words {
		m := Move{Change: word[round], Before: margin, After: values[k], Logits: true}
		m.Role, m.Decides = p.role(m.Change), m.After <= 0
		moves = append(moves, m)
	}
	return moves, nil
}

// tokens returns the ids of the texts, or of one text if there are none. Texts that are not one
// token are left out; it is an error if all of them are.
func (p prover) tokens(texts []string, one string) (ids []int, err error) {
	if len(texts) == 0 {
		texts = []string{one}
	}
	for _, text := range texts {
		tokens, _, err := trace.EncodeAfter(p.model, p.prompt.Text, text)
		if err != nil {
			return nil, err
		}
		if len(tokens) == 1 {
			ids = append(ids, tokens[0].ID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no answer of %.60q is one token; mind the space before a word",
			texts)
	}
	return ids, nil
}

// ids returns the ids of a text.
func (p prover) ids(text string) ([]int, error) {
	tokens, err := p.model.Encode(text, p.specials)
	if err != nil {
		return nil, err
	}
	ids := trace.IDs(tokens)
	return ids, nil
}

// against asks by how much the answer is preferred to the foil at the end of a text.
func (p prover) against(ids []int, foil int) trace.Query {
	o := trace.Objective{Quantity: trace.Logit, Position: len(ids) - 1, Token: p.answer}
	o.Contrast = &foil
	return trace.Query{IDs: ids, Objective: o}
}

// margin asks by how much the answer is preferred to every other token at the end of a text.
func (p prover) margin(ids []int) trace.Query {
	return trace.Query{IDs: ids, Objective: trace.Objective{
		Quantity: trace.Margin, Position: len(ids) - 1, Token: p.answer,
	}}
}

// chosen returns the token that the model chooses after a text.
func chosen(ctx context.Context, m trace.Model, ids []int) (trace.Token, error) {
	for step, err := range m.Steps(ctx, ids, trace.Ask{MaxTokens: 1}) {
		if err != nil {
			return trace.Token{}, err
		}
		if step.Next != nil {
			return step.Next.Token, nil
		}
	}
	return trace.Token{}, fmt.Errorf("the model chose no token after %d tokens", len(ids))
}

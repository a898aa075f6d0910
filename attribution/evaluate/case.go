package evaluate

import (
	"fmt"
	"unicode/utf8"
)

// Case is a text and one prediction of the model to explain.
type Case struct {
	// Group is a name for similar cases; measures are summarised by group and over all cases. One
	// of several groups cannot be named "all", because all cases together are.
	Group  string `json:"group,omitempty"`
	Prompt string `json:"prompt"`
	// Continuation is the token to explain; default: the token that the model chooses. Contrast is
	// the token that scorers compare it with.
	Continuation string `json:"continuation,omitempty"`
	Contrast     string `json:"contrast,omitempty"`
	// Position is, for encoders, the token whose prediction is explained; default: the only masked
	// token, or the one where the class is read.
	Position *int `json:"position,omitempty"`
	// Evidence are the bytes [begin,end) of the prompt that are known to decide the prediction.
	Evidence [][2]int `json:"evidence,omitempty"`
	// Changes are to prove the evidence: a case is scored only if they do; see [Proof]. Without
	// changes the evidence is accepted as given.
	Changes []Change `json:"changes,omitempty"`
	// Counterfactual, if not empty, is the prompt with all of its evidence replaced by words of the
	// same kind, so that another answer is right. The case is then a pair, which is proven by what
	// the model chooses; see [Proof]. Its first token is never ranked, because models use it as a
	// sink.
	Counterfactual string `json:"counterfactual,omitempty"`
	// Answers are, for a pair, the tokens that are right after the prompt, and Foils those that are
	// right after the counterfactual. Default: Continuation and Contrast. If there are several,
	// the token that the model chooses is explained.
	Answers []string `json:"answers,omitempty"`
	Foils   []string `json:"foils,omitempty"`
	// Question are, for a pair, the bytes [begin,end) of the prompt that ask for the answer: they
	// say which of several things is wanted, and what kind of thing. Their words count as words of
	// form: they may decide, and those that do are not ranked; see [Change.Form].
	Question [][2]int `json:"question,omitempty"`
	// Selection marks a case that is used to choose the layer of methods of one layer. It is not
	// scored.
	Selection bool `json:"selection,omitempty"`
	// Source is where the case is from, such as a line of a file. Errors name it.
	Source string `json:"-"`
}

// wrap returns an error with the number of the case, how many there are, and where it is from.
func (c Case) wrap(i, cases int, err error) error {
	source := ""
	if c.Source != "" {
		source = " (" + c.Source + ")"
	}
	return pkg.Errorf("case %d of %d%s: %w", i, cases, source, err)
}

// CheckSpans returns an error unless the evidence and the question are parts of the prompt: bytes
// [begin,end) with at least one byte, which begin and end between characters.
func (c Case) CheckSpans() error { return c.checkSpans(c.Prompt) }

// checkSpans is CheckSpans for the text whose bytes the spans are.
func (c Case) checkSpans(prompt string) error {
	for _, part := range []struct {
		name  string
		spans [][2]int
	}{{"evidence", c.Evidence}, {"question", c.Question}} {
		for i, s := range part.spans {
			if err := checkSpan(s, prompt); err != nil {
				return fmt.Errorf("%s, number %d: %w", part.name, i+1, err)
			}
		}
	}
	return nil
}

// checkSpan returns an error unless bytes [begin,end) are whole characters of the prompt.
func checkSpan(span [2]int, prompt string) error {
	begin, end := span[0], span[1]
	if begin < 0 || begin >= end || end > len(prompt) {
		return fmt.Errorf("bytes %d to %d of a prompt of %d bytes: want 0 ≤ begin < end ≤ %d",
			begin, end, len(prompt), len(prompt))
	}
	for _, at := range span {
		if at < len(prompt) && !utf8.RuneStart(prompt[at]) {
			return fmt.Errorf("bytes %d to %d of the prompt: byte %d is within a character; "+
				"count bytes, and begin and end between characters", begin, end, at)
		}
	}
	return nil
}

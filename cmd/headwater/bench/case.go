package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/cli"
)

// readCase reads a line of headwater bench methods --input, which source names.
func readCase(text []byte, source string) (c evaluate.Case, err error) {
	c.Source = source
	position := func(v json.RawMessage) (*int, error) {
		n, err := cli.WholeOf(v, cli.MaxIndex)
		return &n, err
	}
	err = cli.ReadObject(text, cli.TextKey("group", &c.Group),
		cli.TextKey("prompt", &c.Prompt).Needed(), cli.TextKey("continuation", &c.Continuation),
		cli.TextKey("contrast", &c.Contrast), cli.ReadKey("position", &c.Position, position),
		spansKey("evidence", &c.Prompt, &c.Evidence),
		cli.ListKey("changes", `objects such as {"span":[0,4],"text":"john"}`, &c.Changes,
			readChange),
		cli.TruthKey("selection", &c.Selection), cli.TextKey("counterfactual", &c.Counterfactual),
		cli.TextsKey("answers", &c.Answers), cli.TextsKey("foils", &c.Foils),
		spansKey("question", &c.Prompt, &c.Question))
	if err != nil {
		return c, err
	}
	if strings.ContainsFunc(c.Group, unicode.IsControl) {
		return c, fmt.Errorf(`"group" is %.60q; want a name of one line without control characters`,
			c.Group)
	}
	if c.Contrast != "" && c.Contrast == c.Continuation {
		return c, fmt.Errorf(`"contrast" is %.60q, which is the "continuation" too; want another `+
			"token, or none", c.Contrast)
	}
	if err := c.CheckSpans(); err != nil {
		return c, err
	}
	return c, checkPair(c)
}

// checkPair returns an error unless a case with a counterfactual has what a pair needs, and a case
// without one has nothing that only a pair has.
func checkPair(c evaluate.Case) error {
	pair := c.Counterfactual != ""
	switch {
	case !pair && (c.Answers != nil || c.Foils != nil || c.Question != nil):
		return errors.New(`"answers", "foils" and "question" need a "counterfactual"`)
	case pair && len(c.Evidence) == 0:
		return errors.New(`a "counterfactual" needs "evidence"`)
	case pair && len(c.Answers) == 0 && c.Continuation == "":
		return errors.New(`a "counterfactual" needs a "continuation" or "answers"`)
	case pair && len(c.Foils) == 0 && c.Contrast == "":
		return errors.New(`a "counterfactual" needs a "contrast" or "foils"`)
	}
	return nil
}

// readChange reads one change of a case.
func readChange(text json.RawMessage) (c evaluate.Change, err error) {
	err = cli.ReadObject(text, cli.ReadKey("span", &c.Span, spanOf).Needed(),
		cli.TextKey("text", &c.Text).Needed(), cli.TextKey("answer", &c.Answer),
		cli.TruthKey("form", &c.Form))
	return c, err
}

// spansKey is a key with spans of a prompt. Each is [begin,end], or a text, which is meant where it
// first stands in the prompt.
func spansKey(name string, prompt *string, to *[][2]int) cli.Key {
	return cli.ListKey(name, "[begin,end] or texts of the prompt", to,
		func(v json.RawMessage) ([2]int, error) {
			var text string
			if json.Unmarshal(v, &text) != nil {
				return spanOf(v)
			}
			begin := strings.Index(*prompt, text)
			if text == "" || begin < 0 {
				return [2]int{}, fmt.Errorf("%.60q is not in the prompt", text)
			}
			return [2]int{begin, begin + len(text)}, nil
		})
}

// spanOf reads [begin,end], two bytes from 0.
func spanOf(v json.RawMessage) (span [2]int, err error) {
	var ends []json.RawMessage
	if json.Unmarshal(v, &ends) != nil || len(ends) != 2 {
		return span, fmt.Errorf("it is %.60s; want [begin,end], bytes of the prompt from 0", v)
	}
	for i, end := range ends {
		if span[i], err = cli.WholeOf(end, cli.MaxIndex<<4); err != nil {
			return span, err
		}
	}
	return span, nil
}

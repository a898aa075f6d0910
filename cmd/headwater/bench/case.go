package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
)

// readCase reads a line of headwater bench methods --input, which source names.
func readCase(text []byte, source string) (c evaluate.Case, err error) {
	c.Source = source
	o, err := cli.ReadObject(text, "group", "prompt", "continuation", "contrast", "position",
		"evidence", "changes", "selection", "counterfactual", "answers", "foils", "question")
	if err != nil {
		return c, err
	}
	if !o.Has("prompt") {
		return c, errors.New(`it has no "prompt"`)
	}
	for _, f := range []struct {
		key  string
		text *string
	}{
		{"group", &c.Group},
		{"prompt", &c.Prompt},
		{"continuation", &c.Continuation},
		{"contrast", &c.Contrast},
		{"counterfactual", &c.Counterfactual},
	} {
		if *f.text, err = o.Text(f.key); err != nil {
			return c, err
		}
	}
	if o.Has("position") {
		at, err := o.Wholes("position", []json.RawMessage{o["position"]}, cli.MaxIndex)
		if err != nil {
			return c, err
		}
		c.Position = &at[0]
	}
	if c.Selection, err = o.Truth("selection"); err != nil {
		return c, err
	}
	if c.Evidence, err = spansIn(o, "evidence", c.Prompt); err != nil {
		return c, err
	}
	if c.Question, err = spansIn(o, "question", c.Prompt); err != nil {
		return c, err
	}
	if c.Answers, err = textsIn(o, "answers"); err != nil {
		return c, err
	}
	if c.Foils, err = textsIn(o, "foils"); err != nil {
		return c, err
	}
	if c.Changes, err = changesIn(o, "changes"); err != nil {
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

// textsIn returns the list of strings of a key; nil if it is missing.
func textsIn(o cli.Object, key string) (texts []string, err error) {
	all, err := o.List(key, "strings")
	if err != nil || all == nil {
		return nil, err
	}
	texts = make([]string, len(all))
	for i, v := range all {
		if v[0] != '"' || json.Unmarshal(v, &texts[i]) != nil {
			return nil, fmt.Errorf("%q, number %d: it is %s; want a string", key, i+1,
				message.KindOfJSON(v))
		}
	}
	return texts, nil
}

// changesIn returns the list of changes of a key; nil if it is missing.
func changesIn(o cli.Object, key string) ([]evaluate.Change, error) {
	all, err := o.List(key, "objects such as {\"span\":[0,4],\"text\":\"john\"}")
	if err != nil || all == nil {
		return nil, err
	}
	changes := make([]evaluate.Change, len(all))
	for i, v := range all {
		if changes[i], err = readChange(v); err != nil {
			return nil, fmt.Errorf("%q, number %d: %w", key, i+1, err)
		}
	}
	return changes, nil
}

// readChange reads one change of a case.
func readChange(text []byte) (c evaluate.Change, err error) {
	o, err := cli.ReadObject(text, "span", "text", "answer", "form")
	if err != nil {
		return c, err
	}
	if !o.Has("span") || !o.Has("text") {
		return c, errors.New(`it needs a "span" and a "text"`)
	}
	if c.Span, err = spanIn(o, "span", o["span"], cli.MaxIndex<<4); err != nil {
		return c, err
	}
	if c.Text, err = o.Text("text"); err != nil {
		return c, err
	}
	if c.Answer, err = o.Text("answer"); err != nil {
		return c, err
	}
	c.Form, err = o.Truth("form")
	return c, err
}

// spansIn returns the list of spans of a key; nil if it is missing. Each is [begin,end], or a text,
// which is meant where it first stands in the prompt.
func spansIn(o cli.Object, key, prompt string) ([][2]int, error) {
	all, err := o.List(key, "[begin,end] or texts of the prompt")
	if err != nil || all == nil {
		return nil, err
	}
	spans := make([][2]int, len(all))
	for i, v := range all {
		var text string
		if v[0] == '"' && json.Unmarshal(v, &text) == nil {
			begin := strings.Index(prompt, text)
			if text == "" || begin < 0 {
				return nil, fmt.Errorf("%q, number %d: %.60q is not in the prompt", key, i+1, text)
			}
			spans[i] = [2]int{begin, begin + len(text)}
			continue
		}
		name := fmt.Sprintf("%s, number %d", key, i+1)
		if spans[i], err = spanIn(o, name, v, cli.MaxIndex<<4); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// spanIn returns [begin,end], two numbers from 0 to most.
func spanIn(o cli.Object, name string, v json.RawMessage, most int) (span [2]int, err error) {
	var ends []json.RawMessage
	if v[0] != '[' || json.Unmarshal(v, &ends) != nil || len(ends) != 2 {
		return span, fmt.Errorf("%q is %.60s; want [begin,end], bytes of the prompt from 0", name,
			v)
	}
	n, err := o.Wholes(name, ends, most)
	if err != nil {
		return span, err
	}
	return [2]int(n), nil
}

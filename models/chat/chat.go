// Package chat renders the chat template of a checkpoint: the text that a model was trained to see for a conversation.
//
//	t, err := chat.New(template, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
//	text, err := t.Render([]chat.Message{{Role: "user", Content: "hi"}}, chat.Options{AddGenerationPrompt: true})
//
// Where the template and the special tokens of a checkpoint stand, the package checkpoint knows (Dir.ChatTemplate, Dir.SpecialTokens).
// The text is the one of transformers' apply_chat_template, byte for byte, on everything recorded in testdata. It holds the special
// tokens already, so it is tokenized without adding them again.
//
// Templates are programs that come with a checkpoint, so they are not trusted: they see only what Render gives them, no clock,
// file or environment, and a run has a budget (see [Options]) that ends loops, recursion and growing strings with an error.
//
// The block structure of a template is read by gonja's parser. Its lexer, its expressions and its evaluator are not used: they
// differ from Jinja2 in what templates rely on (line breaks within a tag, "\\" in strings, an inline if inside parentheses, None against
// undefined, lstrip after an expression) and cannot be stopped once they run. Those are here, after the documentation of
// Jinja2 3.1: statements if, for, set, macro, filter, with, print, raw, generation, break and continue; every operator; the filters,
// tests and methods that lists in this package name. Another one is an error that names it.
package chat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// maxTemplate is how many bytes a template may have; the longest in use has about 20,000.
const maxTemplate = 1 << 20

// Message is one turn of a conversation.
type Message struct {
	// Role is who speaks: system, user, assistant, or what else the template knows.
	Role string
	// Content is what is said. Its text is copied as it is: nothing in it is a template.
	Content string
}

// Options say how a conversation is rendered. The zero value renders it as it stands.
type Options struct {
	// AddGenerationPrompt ends the text where the model's answer begins.
	AddGenerationPrompt bool
	// Date is what strftime_now formats. Zero leaves that function undefined, as it was in older versions of transformers: templates
	// that test for it then write a date of their own, and the text is the same on every day.
	Date time.Time
	// Variables are more names that the template sees, such as enable_thinking. Values are nil, bool, int, int64, float64, string,
	// and []any and map[string]any of them; a map is seen in the order of its sorted keys. They win over all other names.
	Variables map[string]any
	// MaxSteps is how many expressions and statements may be evaluated, 2 million if zero.
	MaxSteps int
	// MaxBytes is how many bytes of text and lists may be made in all, intermediate ones included: 64 MiB and 256 times the size of
	// the messages if zero.
	MaxBytes int
}

// Template is a chat template that parses. It is safe for concurrent use.
type Template struct {
	body     []statement
	specials map[string]string
}

// New parses a chat template. specials are the names that it sees as variables, such as bos_token and eos_token; a token that
// the tokenizer lacks must not be among them.
func New(template string, specials map[string]string) (*Template, error) {
	switch {
	case len(template) > maxTemplate:
		return nil, fmt.Errorf("chat: the template has %d bytes, the limit is %d", len(template), maxTemplate)
	case !utf8.ValidString(template):
		return nil, errors.New("chat: the template is not valid UTF-8")
	}
	body, err := compile(template)
	if err != nil {
		return nil, fmt.Errorf("chat: the template does not parse: %w", err)
	}
	return &Template{body: body, specials: maps.Clone(specials)}, nil
}

// Render returns the text of a conversation. An error wraps [ErrLimit] if the template ran out of its budget, and [ErrRefused] if
// it refused the conversation itself, for example one with a system message that the model does not know.
func (t *Template) Render(messages []Message, opts Options) (text string, err error) {
	size := 0
	for i, m := range messages {
		if !utf8.ValidString(m.Role) || !utf8.ValidString(m.Content) {
			return "", fmt.Errorf("chat: message %d is not valid UTF-8", i)
		}
		size += len(m.Role) + len(m.Content)
	}
	r := newRun(opts, size)
	if r.scope, err = t.globals(messages, opts); err != nil {
		return "", err
	}
	err = r.protect(func() { r.execute(t.body) })
	if err != nil {
		return "", err
	}
	return r.out.String(), nil
}

// globals are the names that a template sees, as transformers gives them.
func (t *Template) globals(messages []Message, opts Options) (*scope, error) {
	list := make([]value, len(messages))
	for i, m := range messages {
		turn := newDict()
		turn.set("role", m.Role)
		turn.set("content", m.Content)
		list[i] = turn
	}
	builtin := &scope{vars: map[string]value{}}
	for name, f := range functions {
		builtin.vars[name] = f
	}
	if !opts.Date.IsZero() {
		builtin.vars["strftime_now"] = callable(strftimeNow(opts.Date))
	}
	vars := map[string]value{}
	for name, token := range t.specials {
		vars[name] = token
	}
	vars["messages"] = &sequence{items: list}
	vars["tools"], vars["documents"] = nil, nil
	vars["add_generation_prompt"] = opts.AddGenerationPrompt
	for _, name := range slices.Sorted(maps.Keys(opts.Variables)) {
		converted, err := fromGo(opts.Variables[name], 0)
		if err != nil {
			return nil, fmt.Errorf("chat: variable %s: %w", name, err)
		}
		vars[name] = converted
	}
	return &scope{vars: vars, parent: builtin}, nil
}

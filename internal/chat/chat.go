// Package chat renders the chat template of a checkpoint: the text that a model was trained on for
// a conversation.
//
//	t, err := chat.New(template, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
//	text, spans, err := t.Render([]chat.Message{{Role: "user", Content: "hi"}},
//		chat.Options{AddGenerationPrompt: true})
//
// Each span is words of one message, or what the template wrote around them, for tools or by
// itself.
//
// Package checkpoint reads the template and the special tokens from a checkpoint's folder
// (Dir.ChatTemplate, Dir.SpecialTokens). The result is the text of transformers'
// apply_chat_template, byte for byte, on everything recorded in testdata. It contains the special
// tokens already, so tokenize it without adding them again.
//
// A template is a program that comes with a checkpoint, so it is not trusted. It sees only what
// Render gives it: no clock, file or environment. Each run has a budget (see [Options]) that ends
// loops, recursion and growing strings with an error.
//
// The language is the part of Jinja2 3.1 that templates use: the statements if, for, set, macro,
// filter, with, print, raw, generation, break and continue, every operator, and the filters, tests
// and methods that are listed in this package. Anything else is an error that names it. The lexer,
// the parser and the evaluator are written for this package, because a template must be stopped
// when its budget ends, and must give the text of Jinja2 to the byte.
package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("chat")

// maxTemplate is the size of the largest template, in bytes. The longest in use has about 20,000.
const maxTemplate = 1 << 20

// Message is one turn of a conversation.
type Message struct {
	// Role is who speaks: system, user, assistant, or another role that the template knows.
	Role string
	// Content is the text. It is copied as it is; template syntax in it has no effect.
	Content string
	// Object, if not nil, takes the place of both: the whole message as a JSON object, for one that
	// has more than a role and a text, such as tool_calls. Templates see its keys in their order.
	Object json.RawMessage
}

// Options are the options of [Template.Render]. The zero value renders the messages alone.
type Options struct {
	// AddGenerationPrompt appends what comes before an answer of the model, so that the model
	// continues with its answer.
	AddGenerationPrompt bool
	// Date is the date that the function strftime_now formats. If it is zero, a template that calls
	// the function fails with [ErrNoDate].
	Date time.Time
	// Tools are the tools that the model may call, a JSON list; nil for none.
	Tools json.RawMessage
	// Variables are more variables for the template, such as enable_thinking. A value is nil, bool,
	// int, int64, float64, string, json.RawMessage, or []any or map[string]any of such values. The
	// keys of a map are sorted, those of JSON keep their order. A variable replaces any other of
	// the same name.
	Variables map[string]any
	// MaxSteps is how many expressions and statements may be evaluated; 0 means 2 million.
	MaxSteps int
	// MaxBytes is how many bytes of text and lists may be made in all, intermediate ones included;
	// 0 means 64 MiB and 256 times the size of the messages.
	MaxBytes int
}

// Template is a parsed chat template. It is safe for concurrent use.
type Template struct {
	body     []statement
	specials map[string]string
}

// New parses a chat template. specials are the special tokens that the template sees as variables,
// such as bos_token and eos_token; leave out a token that the tokenizer does not have. It returns
// an error with a line number if the template has a syntax error, and an error if it has more than
// 1 MiB or is not valid UTF-8.
func New(template string, specials map[string]string) (*Template, error) {
	switch {
	case len(template) > maxTemplate:
		return nil, pkg.Errorf("the template has %d bytes, the limit is %d", len(template),
			maxTemplate)
	case !utf8.ValidString(template):
		return nil, pkg.Errorf("the template is not valid UTF-8")
	}
	body, err := parse(template)
	if err != nil {
		return nil, pkg.Errorf("the template has a syntax error: %w", err)
	}
	return &Template{body: body, specials: maps.Clone(specials)}, nil
}

// Render returns the text of a conversation and its spans, which follow each other without a gap
// and are the whole text. The error wraps [ErrLimit] if the template exceeds its budget,
// [ErrNoDate] if it asks for a date that is not given, and [ErrRefused] if it refuses the
// conversation, for example because the model does not support system messages. An error of the
// running template has the number of its line.
func (t *Template) Render(messages []Message, opts Options) (
	text string, spans []Span, err error,
) {
	if text, spans, err = t.spans(messages, opts); err == nil && len(text) <= maxTemplate {
		spans = t.kindsOf(messages, opts).divide(text, spans)
	}
	return text, spans, err
}

// spans is [Template.Render] in which all that the template wrote is label.
func (t *Template) spans(messages []Message, opts Options) (text string, spans []Span, err error) {
	size := len(opts.Tools)
	for i, m := range messages {
		if !utf8.ValidString(m.Role) || !utf8.ValidString(m.Content) || !utf8.Valid(m.Object) {
			return "", nil, pkg.Errorf("message %d is not valid UTF-8", i)
		}
		size += len(m.Role) + len(m.Content) + len(m.Object)
	}
	plain, marked := newRun(opts, size), newRun(opts, size)
	marked.marks = true
	if text, err = plain.render(t, messages, opts); err != nil {
		return "", nil, err
	}
	second, err := marked.render(t, messages, opts)
	without, found := marked.unmarked(second)
	if err != nil || without != text {
		found = marked.searched(text)
	}
	return text, plain.spansOf(text, found, plain.written), nil
}

// render returns the text of a conversation.
func (r *run) render(t *Template, messages []Message, opts Options) (text string, err error) {
	err = r.protect(func() {
		r.scope = t.globals(r, messages, opts)
		r.execute(t.body)
		text = r.out.String()
	})
	return text, err
}

// globals returns the variables that a template sees, as transformers gives them.
func (t *Template) globals(r *run, messages []Message, opts Options) *scope {
	list := make([]value, len(messages))
	for i, m := range messages {
		turn, err := r.message(i, m)
		if err != nil {
			r.fail("message %d: %w", i, err)
		}
		list[i] = turn
	}
	builtin := &scope{vars: map[string]value{}}
	for name, f := range functions {
		builtin.vars[name] = f
	}
	builtin.vars["strftime_now"] = callable(strftimeNow(opts.Date))
	vars := map[string]value{}
	for name, token := range t.specials {
		vars[name] = token
	}
	vars["messages"] = &sequence{items: list}
	vars["tools"], vars["documents"] = nil, nil
	if opts.Tools != nil {
		tools, err := fromJSON(opts.Tools)
		if err != nil {
			r.fail("tools: %w", err)
		}
		vars["tools"] = tools
	}
	vars["add_generation_prompt"] = opts.AddGenerationPrompt
	for _, name := range slices.Sorted(maps.Keys(opts.Variables)) {
		converted, err := fromGo(opts.Variables[name], 0)
		if err != nil {
			r.fail("variable %s: %w", name, err)
		}
		vars[name] = converted
	}
	return &scope{vars: vars, parent: builtin}
}

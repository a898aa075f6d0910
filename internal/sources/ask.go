package sources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Ask is a question about documents as a user puts it. [Ask.Explain] makes the prompt, lets the
// model answer and explains the answer. The zero value of every field except Documents and Question
// is its default.
type Ask struct {
	// Documents are the texts of the documents, and Names their names, for a reader; nil for none.
	Documents []string
	Names     []string
	// Question is the question about them.
	Question string
	// By divides the documents into sources; see [ParseDivision].
	By string
	// Answer is the answer to explain; default: the model's own, the most probable token each time,
	// at most MaxTokens of them, in [1,4096], default 64.
	Answer    string
	MaxTokens int
	// Target is the part of the answer to explain; see [Answer.Part]. Default: all of it.
	Target string
	// Chat puts the prompt into the model's chat template, as what a user says. A Conversation that
	// is not zero, with what comes before the prompt, turns it on.
	Chat         bool
	Conversation trace.Conversation
	// Template is the prompt, with {context} and {question} in it. Default: the documents,
	// Question: and Answer:, each on a line of its own; in a chat that of ContextCite. A model that
	// does not know these words gets the documents and the question alone.
	Template string
	// Specials are the control tokens that are added to the prompt, if Chat does not.
	Specials trace.Specials
	// From and To are, for a model that translates, the languages of the documents and of the
	// answer; see [trace.Between].
	From, To string
	// Options are those of [Explain].
	Options Options
}

// What a template has for the documents and the question.
const (
	documentsMark = "{context}"
	questionMark  = "{question}"
)

// The templates. The one of a chat is that of ContextCite; the last one has no word of its own, for
// embedded models, which know few.
const (
	plainTemplate = documentsMark + "\n\nQuestion: " + questionMark + "\nAnswer:"
	chatTemplate  = "Context: " + documentsMark + "\n\nQuery: " + questionMark
	bareTemplate  = documentsMark + " " + questionMark
)

const (
	defaultAnswer = 64   // tokens of an answer
	mostAnswer    = 4096 // tokens
)

// Check returns a [trace.UsageError] for the first field that is wrong whatever the model.
func (a Ask) Check() error {
	if _, err := a.divided(); err != nil {
		return err
	}
	if err := a.checkTexts(); err != nil {
		return err
	}
	_, err := a.Options.WithDefaults()
	template := a.Template
	switch {
	case err != nil:
		return err
	case a.Question == "" && (template == "" || strings.Contains(template, questionMark)):
		return trace.Usagef("the question is empty; ask something about the documents")
	case a.Question != "" && template != "" && !strings.Contains(template, questionMark):
		return trace.Usagef("the template has no %s, where the question goes", questionMark)
	case template != "" && strings.Count(template, documentsMark) != 1:
		return trace.Usagef("the template has %s %d times; the documents go there, once",
			documentsMark, strings.Count(template, documentsMark))
	case a.Answer != "" && strings.TrimSpace(a.Answer) == "":
		return trace.Usagef("the answer is white space; give some text, or leave it out for the " +
			"model's own")
	case a.Answer != "" && a.MaxTokens != 0:
		return trace.Usagef("%s %d does not go with an answer, which is as long as it is",
			trace.Called("max tokens", "MaxTokens"), a.MaxTokens)
	case a.MaxTokens < 0 || a.MaxTokens > mostAnswer:
		return trace.Usagef("%s %d; the number must be in [1,%d], or 0 for %d",
			trace.Called("max tokens", "MaxTokens"), a.MaxTokens, mostAnswer, defaultAnswer)
	case a.Specials < trace.SpecialsAuto || a.Specials > trace.SpecialsOff:
		return trace.Usagef("specials %d; it must be auto, on or off", a.Specials)
	case a.InChat() && a.Specials != trace.SpecialsAuto:
		return trace.Usagef("specials do not go with a chat, whose template has its control tokens")
	}
	return a.Conversation.Check()
}

// InChat reports whether the prompt is put into the model's chat template.
func (a Ask) InChat() bool { return a.Chat || a.Conversation.Asked() }

// checkTexts checks that all texts are UTF-8, and that there are as many names as documents.
func (a Ask) checkTexts() error {
	if a.Names != nil && len(a.Names) != len(a.Documents) {
		return trace.Usagef("%d names for %d documents", len(a.Names), len(a.Documents))
	}
	for _, f := range []struct {
		what  string
		texts []string
	}{
		{"document", a.Documents},
		{"question", []string{a.Question}},
		{"answer", []string{a.Answer}},
		{"target", []string{a.Target}},
		{"template", []string{a.Template}},
		{"source language", []string{a.From}},
		{"target language", []string{a.To}},
	} {
		for i, text := range f.texts {
			at := invalid(text)
			if at < 0 {
				continue
			}
			what := "the " + f.what
			if f.what == "document" {
				what = fmt.Sprintf("%s %d of %d", f.what, i+1, len(f.texts))
			}
			return trace.Usagef("%s is no text: byte %d is %#02x; give a text in UTF-8", what, at,
				text[at])
		}
	}
	return nil
}

// invalid returns the index of the first byte of s that is not UTF-8, -1 if there is none.
func invalid(s string) int {
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// divided returns the documents, divided into sources.
func (a Ask) divided() (*Context, error) {
	if len(a.Documents) == 0 {
		return nil, trace.Usagef("no document is given; give the text of one or more")
	}
	by, err := ParseDivision(a.By)
	if err != nil {
		return nil, err
	}
	c, err := NewContext(a.Documents, by)
	if err != nil && a.Names != nil {
		err = trace.Usagef("%s: %s", message.Some(a.Names, 3), message.Words(err, nil))
	}
	return c, err
}

// Explain asks the model, unless the answer is given, and returns how much each source counts for
// the answer. It is [Generate] or [EncodeAnswer], and then the function [Explain], whose errors it
// returns.
func (a Ask) Explain(ctx context.Context, m trace.Model) (*Result, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	divided, err := a.divided()
	if err != nil {
		return nil, err
	}
	if m, err = trace.Between(m, a.From, a.To); err != nil {
		return nil, err
	}
	q := Question{Context: divided, Names: a.Names, Specials: a.Specials}
	if q.Prompt, err = a.prompt(m); err != nil {
		return nil, err
	}
	if a.InChat() {
		q.Specials = trace.SpecialsOff // the chat template adds them
	}
	if q.Answer, err = a.answer(ctx, m, q); err != nil {
		return nil, err
	}
	if q.Target, err = q.Answer.Part(a.Target); err != nil {
		return nil, err
	}
	return Explain(ctx, m, q, a.Options)
}

// prompt returns the function that makes a prompt of the text of documents.
func (a Ask) prompt(m trace.Model) (func(string) (string, error), error) {
	chat, limited := func(text string) (string, error) { return text, nil }, false
	if a.InChat() {
		c, ok := m.(trace.Conversational)
		if !ok {
			return nil, trace.Usagef("%s knows no form of conversation; ask it without a chat",
				message.Quote(m.Info().Name))
		}
		chat = func(text string) (string, error) {
			text, _, err := c.Converse(a.Conversation, text)
			return text, err
		}
	}
	if l, ok := m.(trace.Limited); ok {
		limited = len(l.UnknownWords("Question: Answer:")) > 0
	}
	template := a.Template
	switch {
	case template != "":
	case a.InChat():
		template = chatTemplate
	case limited:
		template = bareTemplate
	default:
		template = plainTemplate
	}
	// The documents may contain the mark of the question, so they go in last and apart.
	before, after, _ := strings.Cut(template, documentsMark)
	before = strings.ReplaceAll(before, questionMark, a.Question)
	after = strings.ReplaceAll(after, questionMark, a.Question)
	prompt := func(documents string) (string, error) { return chat(before + documents + after) }
	_, err := prompt("")
	return prompt, err
}

// answer returns the answer that is given, or that of the model.
func (a Ask) answer(ctx context.Context, m trace.Model, q Question) (Answer, error) {
	prompt, err := q.Prompt(q.Context.Text(q.Context.without(0, 0)))
	if err != nil {
		return Answer{}, err
	}
	if text := a.Answer; text != "" {
		// A token of a word mostly has the space before it.
		first, _ := utf8.DecodeRuneInString(text)
		last, _ := utf8.DecodeLastRuneInString(prompt)
		if !a.InChat() && !unicode.IsSpace(last) && !unicode.IsSpace(first) {
			text = " " + text
		}
		return EncodeAnswer(m, prompt, text)
	}
	if a.Options.OnProgress != nil {
		a.Options.OnProgress(trace.Progress{Stage: "asking for the answer"})
	}
	most := a.MaxTokens
	if most == 0 {
		most = defaultAnswer
	}
	answer, err := Generate(ctx, m, prompt, q.Specials, most)
	if c, ok := m.(trace.Conversational); ok && !a.InChat() && errors.Is(err, ErrNoAnswer) {
		if _, _, untrained := c.Converse(trace.Conversation{}, "hi"); untrained == nil {
			err = fmt.Errorf("%w; it was trained on conversations: ask it in a chat", err)
		}
	}
	return answer, err
}

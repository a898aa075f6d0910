package models

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/chat"
	"github.com/headwater-ml/headwater/internal/message"
)

// chatTemplate is one of the chat templates of a model.
type chatTemplate struct {
	parsed *chat.Template // nil if err says why
	err    error
	text   string
	source string // where it is, for messages
}

// The names of templates that are chosen without being named: tool_use if there are tools.
const (
	defaultChat = "default"
	toolChat    = "tool_use"
)

// openChats reads the chat templates of a model.
func (m *Model) openChats(from source, specials map[string]string) {
	templates, err := from.ChatTemplates()
	switch {
	case err != nil:
		m.chatErr = pkg.Errorf("%w", err)
		return
	case len(templates) == 0:
		m.chatErr = pkg.Errorf("%s has no chat template: it was not trained on "+
			"conversations, or its files do not say how; explain the prompt as it is", from.Label())
	}
	m.chats = map[string]chatTemplate{}
	for name, text := range templates {
		t := chatTemplate{text: text, source: from.ChatTemplateSource(name)}
		if t.parsed, err = chat.New(text, specials); err != nil {
			t.err = pkg.Errorf("%s: %w", t.source, err)
		}
		m.chats[name] = t
	}
}

// chatOf returns the template that a conversation asks for: the one that it names, that for tools
// if it has some, or the default one.
func (m *Model) chatOf(c trace.Conversation) (chatTemplate, error) {
	if m.chatErr != nil {
		return chatTemplate{}, m.chatErr
	}
	name := c.Template
	if _, ok := m.chats[toolChat]; ok && name == "" && c.Tools != nil {
		name = toolChat
	}
	if name == "" {
		name = defaultChat
	}
	t, ok := m.chats[name]
	if !ok {
		return t, trace.Usagef("%s has no chat template %.60q; %s", m.info.Name, name,
			message.KnownAre(name, slices.Sorted(maps.Keys(m.chats))))
	}
	return t, t.err
}

// roles are the roles that are known whatever the template.
var roles = []string{"system", "user", "assistant", "tool"}

// Converse returns the text that the model was trained to continue with its answer, and its parts:
// the chat template filled in with the messages of [trace.Conversation.Turns], control tokens
// included. It returns an error, with the file and the line, if the checkpoint has no such
// template, or if the template is invalid, takes too long, or does not accept the conversation.
func (m *Model) Converse(c trace.Conversation, prompt string) (string, []trace.Part, error) {
	t, err := m.chatOf(c)
	if err != nil {
		return "", nil, err
	}
	turns, err := c.Turns(prompt)
	if err != nil {
		return "", nil, err
	}
	opts := chat.Options{
		AddGenerationPrompt: true, Date: c.Day(), Tools: c.Tools, Variables: map[string]any{},
	}
	for name, v := range c.Variables {
		text, err := json.Marshal(v)
		if err != nil {
			return "", nil, pkg.Errorf("chat variable %s: %w", name, err)
		}
		opts.Variables[name] = json.RawMessage(text)
	}
	messages := make([]chat.Message, len(turns))
	for i, turn := range turns {
		messages[i] = chat.Message{Role: turn.Role, Content: turn.Content, Object: turn.Object}
		if role := turn.Role; !slices.Contains(roles, role) && !strings.Contains(t.text, role) {
			return "", nil, trace.Usagef("message %d has the role %.40q, which the chat template "+
				"%s does not know; %s", i, role, t.source, message.KnownAre(role, roles))
		}
	}
	text, spans, err := t.parsed.Render(messages, opts)
	if err != nil {
		return "", nil, pkg.Errorf("%s: %w", t.source, err)
	}
	parts := make([]trace.Part, len(spans))
	for i, s := range spans {
		parts[i] = trace.Part{
			Turn: s.Turn, Role: s.Role, Kind: trace.PartKind(s.Kind), Thinking: s.Thinking,
			Begin: s.Begin, End: s.End,
		}
	}
	return text, parts, nil
}

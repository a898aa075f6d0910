package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// Part is a stretch of the text of a conversation, as the model's chat template writes it. The
// parts of a conversation follow each other without a gap and are its whole text.
type Part struct {
	// Turn is the 0-based index of the message that the part belongs to. What the template writes
	// before the first message, or after the last one to let the model answer, counts to the
	// nearest message; the answer that a model generates is the turn after the last message.
	Turn int `json:"turn"`
	// Role is the role of that message: system, user, assistant, tool. A system prompt that the
	// template adds before the label of the first message has the role system.
	Role string `json:"role"`
	// Kind is what the part is: words of the message, or what the template wrote.
	Kind PartKind `json:"kind,omitempty"`
	// Thinking reports whether the part is what a model wrote to itself before its answer.
	Thinking bool `json:"thinking,omitempty"`
	// Begin and End are the bytes [Begin,End) of the text of the conversation.
	Begin int `json:"begin"`
	End   int `json:"end"`
}

// PartKind is what a part of a conversation is.
type PartKind string

// The kinds of parts: what a message says; the marks and names of roles that a template writes
// around it, control tokens among them, and the form of calls and results of tools; what stands in
// the text because tools are given; and what else the template writes: a system prompt, a date.
const (
	Words PartKind = ""
	Label PartKind = "label"
	Tools PartKind = "tools"
	Added PartKind = "added"
)

// Conversation is what a model is asked to answer, and what its chat template needs besides the
// messages. The zero value has no message: the prompt of an explanation is then all that the user
// says.
type Conversation struct {
	// System is the system message that comes first; "" is none.
	System string `json:"system,omitempty"`
	// Messages are the turns in their order. [Conversation.Turns] adds the system message and a
	// prompt to them.
	Messages []Message `json:"messages,omitempty"`
	// Tools are the tools that the model may call: a JSON list, as OpenAI and transformers write
	// it. Templates print it, so its keys keep their order. nil is none.
	Tools json.RawMessage `json:"tools,omitempty"`
	// Variables are more variables for the template, such as enable_thinking: false.
	Variables Variables `json:"variables,omitempty"`
	// Template is the name of the chat template, of a model that has several; "" is the default.
	Template string `json:"template,omitempty"`
	// Date is the date that a template asks for, as 2026-11-26 or 2026-11-26T15:04:05. A template
	// that asks for it when it is empty fails with an error of [errorkind.Date].
	Date string `json:"date,omitempty"`
}

// Message is one turn of a conversation.
type Message struct {
	// Role is who speaks: system, user, assistant, tool, or another role that the template knows.
	Role string
	// Content is the text.
	Content string
	// Object, if not nil, is the whole message as a JSON object, role and content among its keys,
	// for a message that has more: tool_calls, tool_call_id, name, reasoning_content, or a content
	// of several parts {"type": "text", "text": …}. Role and Content are then not read.
	Object json.RawMessage
}

// Variables are variables of a chat template by name. A value is what encoding/json writes, such as
// false, 5, "text" or a json.RawMessage. The keys of a map are sorted, those of JSON keep their
// order.
type Variables map[string]any

// UnmarshalJSON keeps each value as it is written.
func (v *Variables) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*v = Variables{}
	for name, value := range values {
		(*v)[name] = value
	}
	return nil
}

// Set sets a variable from NAME=VALUE. The value is JSON, or else a text.
func (v *Variables) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Usagef("want NAME=VALUE, such as enable_thinking=false")
	}
	all := maps.Clone(*v)
	if all == nil {
		all = Variables{}
	}
	all[name] = value
	if json.Valid([]byte(value)) {
		all[name] = json.RawMessage(value)
	}
	*v = all
	return nil
}

// Asked reports whether a conversation asks for anything that a chat template does. A date alone
// does not: it is for templates that need one.
func (c Conversation) Asked() bool {
	return c.System != "" || len(c.Messages) > 0 || c.Tools != nil || len(c.Variables) > 0 ||
		c.Template != ""
}

// ParseConversation reads the messages of a conversation from JSON, as OpenAI and transformers
// write it: a list of messages, or an object with the keys messages and tools. Other keys of the
// object are not read. The error names the message and its key.
func ParseConversation(text []byte) (c Conversation, err error) {
	text = bytes.TrimSpace(text)
	if err := jsonread.Check(text); err != nil {
		return c, err
	}
	var list []json.RawMessage
	var object struct{ Messages, Tools json.RawMessage }
	if text[0] == '{' {
		if err := json.Unmarshal(text, &object); err != nil {
			return c, err
		}
		if object.Messages == nil {
			return c, errors.New(`the object has no key "messages"; want a list of messages, ` +
				`such as [{"role": "user", "content": "…"}], or an object with one`)
		}
		text = object.Messages
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return c, fmt.Errorf("messages is %s; want a list of messages, or an object with one",
			message.KindOfJSON(text))
	}
	for i, m := range list {
		var message Message
		if err := message.UnmarshalJSON(m); err != nil {
			return c, fmt.Errorf("messages[%d]: %w", i, err)
		}
		c.Messages = append(c.Messages, message)
	}
	if string(object.Tools) != "null" {
		c.Tools = object.Tools
	}
	return c, c.Check()
}

// MarshalJSON writes a message as OpenAI does.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Object != nil {
		return m.Object, nil
	}
	return json.Marshal(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{m.Role, m.Content})
}

// UnmarshalJSON reads a message. Its content is a text, a list of parts of the type text, or null
// where it has other keys.
func (m *Message) UnmarshalJSON(text []byte) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil || keys == nil {
		return fmt.Errorf("it is %s; want an object with role and content",
			message.KindOfJSON(text))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	*m = Message{Object: compact.Bytes()}
	if from, ok := keys["from"]; ok && keys["role"] == nil { // ShareGPT
		keys = map[string]json.RawMessage{"role": from, "content": keys["value"]}
		m.Object = nil
	}
	if role, ok := keys["role"]; !ok {
		return errors.New(`the key "role" is missing`)
	} else if json.Unmarshal(role, &m.Role) != nil || m.Role == "" {
		return fmt.Errorf(`the key "role" is %.40s; want a text such as "user"`, role)
	}
	if err := m.setContent(keys["content"]); err != nil {
		return err
	}
	if name, ok := shareGPT[m.Role]; ok && m.Object == nil {
		m.Role = name
	}
	if plain, err := (Message{Role: m.Role, Content: m.Content}).MarshalJSON(); err == nil &&
		bytes.Equal(plain, m.Object) {
		m.Object = nil
	}
	return nil
}

// shareGPT are the roles of messages with the keys from and value, where they are called otherwise.
var shareGPT = map[string]string{"human": "user", "gpt": "assistant"}

// read sets role and content from the object.
func (m *Message) read() error {
	if m.Object == nil {
		return nil
	}
	return m.UnmarshalJSON(m.Object)
}

// setContent reads the content of a message.
func (m *Message) setContent(content json.RawMessage) error {
	if content == nil || string(content) == "null" || json.Unmarshal(content, &m.Content) == nil {
		return nil
	}
	var parts []struct {
		Type string
		Text *string
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return fmt.Errorf(`the key "content" is %s; want a text, or a list of parts such as `+
			`{"type": "text", "text": …}`, message.KindOfJSON(content))
	}
	var all strings.Builder
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return fmt.Errorf(`content[%d] has the type %.40q; only parts of the type "text", `+
				`with a key "text", are read`, i, p.Type)
		}
		all.WriteString(*p.Text)
	}
	m.Content = all.String()
	return nil
}

// Check returns a [UsageError] for what is wrong with a conversation whatever the model.
func (c Conversation) Check() error {
	for i, m := range c.Messages {
		if err := m.read(); err != nil {
			return Usagef("messages[%d]: %v", i, err)
		}
		if m.Role == "" {
			return Usagef("messages[%d] has no role; give it one, such as user", i)
		}
		if i == 0 && c.System != "" && m.Role == "system" {
			return Usagef("a system text and messages that begin with a system message; give " +
				"one of the two")
		}
	}
	if c.Tools != nil && (!json.Valid(c.Tools) || message.KindOfJSON(c.Tools) != "a list") {
		return Usagef("tools are no list in JSON; want them as OpenAI and transformers write them")
	}
	if c.Date != "" && c.Day().IsZero() {
		return Usagef("date %.40q; want one such as 2026-11-26", c.Date)
	}
	if _, err := json.Marshal(c.Variables); err != nil {
		return Usagef("variables: %v", err)
	}
	return nil
}

// Day returns the date, and the zero time if there is none or it is not a date.
func (c Conversation) Day() time.Time {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05"} {
		if day, err := time.Parse(layout, c.Date); err == nil {
			return day
		}
	}
	return time.Time{}
}

// Turns returns all messages in their order: the system message, those of the conversation, and the
// prompt as what the user says last, unless it is empty. All have a Role. It returns a [UsageError]
// if there is nothing to answer: no message, or a last one that is the assistant's own, or if the
// prompt follows a message of the user, which nobody has answered.
func (c Conversation) Turns(prompt string) ([]Message, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	all := slices.Clone(c.Messages)
	if c.System != "" {
		all = slices.Insert(all, 0, Message{Role: "system", Content: c.System})
	}
	if prompt != "" {
		all = append(all, Message{Role: "user", Content: prompt})
	}
	if len(c.Messages) == 0 && prompt == "" {
		return nil, Usagef("the conversation has no message to answer; give a prompt")
	}
	for i := range all {
		if err := all[i].read(); err != nil {
			return nil, Usagef("messages[%d]: %v", i, err)
		}
	}
	if n := len(all); n > 1 && prompt != "" && all[n-2].Role == "user" {
		return nil, Usagef("messages[%d], the last one, is the user's, and the prompt would be "+
			"the user's too: leave the prompt out to have the message answered, or add the "+
			"assistant's answer to the messages", len(c.Messages)-1)
	}
	if all[len(all)-1].Role == "assistant" {
		return nil, Usagef("the conversation ends with messages[%d], the assistant's own; end "+
			"it with what the user says, and give this text as the continuation",
			len(c.Messages)-1)
	}
	return all, nil
}

package fakemodel

import (
	"cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Talker is a model with a chat template.
type Talker struct {
	*Model
	Refuse error // of Converse, nil for none
}

// Converse implements [trace.Conversational].
func (m Talker) Converse(c trace.Conversation, prompt string) (string, []trace.Part, error) {
	turns, err := c.Turns(prompt)
	text := "w0"
	var parts []trace.Part
	for i, turn := range turns {
		text += " " + turn.Content
		parts = append(parts, trace.Part{Turn: i, Role: turn.Role, End: len(text)})
	}
	return text + " w4", parts, cmp.Or(m.Refuse, err)
}

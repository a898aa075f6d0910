package trace

// Part is a stretch of the text of a conversation, as the model's chat template writes it. The
// parts of a conversation follow each other without a gap and are its whole text.
type Part struct {
	// Turn is the 0-based index of the message that the part belongs to. What the template writes
	// before the first message, or after the last one to let the model answer, counts to the
	// nearest message; the answer that a model generates is the turn after the last message.
	Turn int `json:"turn"`
	// Role is the role of that message: system, user, assistant, tool.
	Role string `json:"role"`
	// Template says that the template wrote the part, control tokens among it; otherwise the words
	// are those of the message.
	Template bool `json:"template,omitempty"`
	// Thinking says that the part is what a model wrote to itself before its answer.
	Thinking bool `json:"thinking,omitempty"`
	// Begin and End are the bytes [Begin,End) of the text of the conversation.
	Begin int `json:"begin"`
	End   int `json:"end"`
}

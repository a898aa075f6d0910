package chat

import "testing"

// knownText is a template and what Jinja2 3.1.6 renders for it, with knownMessages.
type knownText struct{ template, want string }

// knownMessages are the messages of known texts.
var knownMessages = []Message{
	{Role: "system", Content: "  Be kind.\n"},
	{Role: "user", Content: " Hi "},
	{Role: "assistant", Content: "\n Hello! \n"},
	{Role: "user", Content: "And?\n\n\nwhy"},
}

func renderKnown(template string) (string, error) {
	t, err := New(template, map[string]string{"bos_token": "<s>"})
	if err != nil {
		return "", err
	}
	text, _, err := t.Render(knownMessages, Options{})
	return text, err
}

func checkKnown(t *testing.T, cases []knownText) {
	t.Helper()
	for _, c := range cases {
		if got, err := renderKnown(c.template); err != nil || got != c.want {
			t.Errorf("Render(%q) = %q, %v, want %q", c.template, got, err, c.want)
		}
	}
}

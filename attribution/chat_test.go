package attribution_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

func TestChat(t *testing.T) {
	m := fakemodel.Talker{Model: fakemodel.New(2, fakemodel.Causal)}
	opts := attribution.Options{Methods: []string{"rollout"}, MaxTokens: 1, Chat: true}
	e, err := attribution.Explain(context.Background(), m, "w1 w2", opts)
	must(t, err)
	if e.Prompt.Text != "w0 w1 w2 w4" || len(e.Prompt.IDs) != 4 || e.Prompt.BOSAdded {
		t.Errorf("prompt %+v, want the conversation and nothing added", e.Prompt)
	}
	const cut = "The answer was cut at 1 token, the most that max-tokens allows here."
	if !slices.Equal(e.Warnings, []string{cut}) {
		t.Errorf("an answer that goes on: %q", e.Warnings)
	}
	given := attribution.Options{Methods: opts.Methods, Continuation: " w3", Chat: true}
	if e, err = attribution.Explain(t.Context(), m, "w1 w2", given); err != nil ||
		len(e.Warnings) > 0 {
		t.Errorf("an answer that was given: %v, %v", e, err)
	}
	opts.Chat, opts.Conversation.System = false, "w3"
	for prompt, want := range map[string]struct{ role, text string }{
		"": {"user", "w0 w3 w2 w4"}, "w1": {"assistant", "w0 w3 w2 w1 w4"},
	} {
		opts.Conversation.Messages = []trace.Message{{Role: want.role, Content: "w2"}}
		e, err := attribution.Explain(context.Background(), m, prompt, opts)
		if err != nil || e.Prompt.Text != want.text || len(e.Prompt.Parts) < 2 ||
			e.Prompt.Parts[1].Role != want.role {
			t.Errorf("prompt %q: %+v, %v, want %q with parts", prompt, e, err, want)
		}
	}
	unanswered := attribution.Options{Conversation: opts.Conversation}
	unanswered.Conversation.Messages = []trace.Message{{Role: "user", Content: "w2"}}
	opts = attribution.Options{Methods: []string{"rollout"}, MaxTokens: 1, Chat: true}
	for name, c := range map[string]struct {
		model trace.Model
		opts  attribution.Options
		usage bool
		say   string
	}{
		"no form of conversation":  {m.Model, opts, true, "knows no form of conversation"},
		"a template that refuses":  {fakemodel.Talker{Model: m.Model, Refuse: errors.New("roles must alternate")}, opts, false, "roles must alternate"},
		"special tokens on top":    {m, attribution.Options{Chat: true, Specials: trace.SpecialsOn}, true, "control tokens"},
		"two turns of the user":    {m, unanswered, true, "messages[0], the last one, is the user's"},
		"a continuation is no end": {m, attribution.Options{Chat: true, Continuation: "w99"}, false, `no word "w99"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := attribution.Explain(context.Background(), c.model, "w1", c.opts)
			if err == nil || errors.Is(err, trace.ErrUsage) != c.usage ||
				!strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want one with %q, usage %v", err, c.say, c.usage)
			}
		})
	}
}

package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// publishedFolder has the chat templates that people published, which are not kept here; the
// environment variable HEADWATER_REFERENCE names another folder than that beside the checkout.
func publishedFolder() string {
	folder := "../../../shared/reference"
	if other := os.Getenv("HEADWATER_REFERENCE"); other != "" {
		folder = other
	}
	return filepath.Join(folder, "configs", "tokenizer")
}

// publishedCase is a conversation of testdata/published.json.
type publishedCase struct {
	Messages  []json.RawMessage
	Tools     json.RawMessage
	Variables map[string]json.RawMessage
}

// options returns what the conversation is rendered with.
func (c publishedCase) options(date string) ([]Message, Options) {
	on, _ := time.Parse(time.DateOnly, date)
	opts := Options{
		AddGenerationPrompt: true, Date: on, Tools: c.Tools, Variables: map[string]any{},
	}
	for name, v := range c.Variables {
		opts.Variables[name] = v
	}
	var messages []Message
	for _, m := range c.Messages {
		messages = append(messages, Message{Object: m})
	}
	return messages, opts
}

// publishedTemplate reads a template of testdata, or the chat template and the special tokens of a
// published tokenizer_config.json.
func publishedTemplate(t *testing.T, file string) (*Template, error) {
	t.Helper()
	if strings.HasSuffix(file, ".jinja") {
		data, err := os.ReadFile(filepath.Join("testdata", "templates", file))
		must(t, err)
		return New(string(data), map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
	}
	data, err := os.ReadFile(filepath.Join(publishedFolder(), file))
	if err != nil {
		t.Skipf("the published templates are not here: %v", err)
	}
	var config map[string]any
	must(t, json.Unmarshal(data, &config))
	tokens := map[string]string{}
	for key, v := range config {
		if object, ok := v.(map[string]any); ok {
			v = object["content"]
		}
		if text, ok := v.(string); ok && strings.HasSuffix(key, "_token") {
			tokens[key] = text
		}
	}
	text, _ := config["chat_template"].(string)
	return New(text, tokens)
}

// TestPublished renders templates with system prompts, tools, several turns, and
// thinking on and off, and compares the texts with those of transformers. It checks the spans of
// each text too.
func TestPublished(t *testing.T) {
	data, err := os.ReadFile("testdata/published.json")
	must(t, err)
	var recorded struct {
		Date          string
		Conversations map[string]publishedCase
		Texts         [][3]string
	}
	must(t, json.Unmarshal(data, &recorded))
	if len(recorded.Texts) < 1200 {
		t.Errorf("%d texts are recorded, want more", len(recorded.Texts))
	}
	for _, c := range recorded.Texts {
		file, name, want := c[0], c[1], c[2]
		t.Run(file+"/"+name, func(t *testing.T) {
			tmpl, err := publishedTemplate(t, file)
			must(t, err)
			messages, opts := recorded.Conversations[name].options(recorded.Date)
			text, spans, err := tmpl.Render(messages, opts)
			if want == "" {
				if err == nil {
					t.Errorf("Render = %q, want an error as of transformers", text)
				}
				return
			}
			if sum := sha256.Sum256([]byte(text)); err != nil ||
				hex.EncodeToString(sum[:]) != want {
				t.Fatalf("Render = %q, %v, which is not what transformers renders", text, err)
			}
			if file == "macro-loop.jinja" {
				return // it counts characters, so the marks are seen, and only a search is left
			}
			said := checkSpans(t, text, spans, len(messages),
				opts.Tools != nil || opts.Variables["custom_tools"] != nil)
			for _, s := range spans {
				if role := roleOf(t, messages[s.Turn]); s.Kind == Words && s.Role != role {
					t.Errorf("%q is of %s, want %s", text[s.Begin:s.End], s.Role, role)
				}
			}
			for i, m := range messages {
				for _, words := range wordsOf(t, m) {
					if strings.Contains(text, words) && !strings.Contains(said[i], words) {
						t.Errorf("message %d says %q, its spans are %q in %q", i, words, said[i],
							text)
					}
				}
			}
		})
	}
}

// sentences matches what published templates add by themselves: dates, and three words that follow
// each other, which no mark and no name of a role has.
var sentences = regexp.MustCompile(`You are|[Aa]ssistant\.|Date:|functions|\pL+ +\pL+ +\pL+`)

// checkSpans checks that spans cover the text and that definitions of tools and what the template
// adds are no label, and returns what they say by message.
func checkSpans(
	t *testing.T, text string, spans []Span, messages int, tools bool,
) (said []string) {
	t.Helper()
	at := 0
	said = make([]string, messages)
	for i, s := range spans {
		if s.Begin != at || s.End <= s.Begin || s.Turn < 0 || s.Turn >= messages {
			t.Fatalf("span %d is %+v after byte %d; spans follow each other", i, s, at)
		}
		writes := text[s.Begin:s.End]
		if strings.Contains(writes, "Says what the weather") && s.Kind != Tools ||
			s.Kind == Tools && !tools || s.Kind == Label && sentences.MatchString(writes) {
			t.Errorf("span %d of %q is %q", i, writes, s.Kind)
		}
		if at = s.End; s.Kind == Words {
			said[s.Turn] += text[s.Begin:s.End] + "\x00"
		}
		if i > 0 {
			before := spans[i-1]
			before.Begin, before.End = s.Begin, s.End
			if before == s {
				t.Errorf("spans %d and %d are of one kind: %+v", i-1, i, s)
			}
		}
	}
	if at != len(text) {
		t.Errorf("the spans end at byte %d of %d", at, len(text))
	}
	return said
}

// roleOf returns who says a message.
func roleOf(t *testing.T, m Message) string {
	t.Helper()
	var message struct{ Role string }
	must(t, json.Unmarshal(m.Object, &message))
	return message.Role
}

// wordsOf returns the texts of a message, without white space around them and without tags.
func wordsOf(t *testing.T, m Message) (all []string) {
	t.Helper()
	var message struct {
		Content          json.RawMessage
		ReasoningContent string `json:"reasoning_content"`
	}
	must(t, json.Unmarshal(m.Object, &message))
	all = append(all, message.ReasoningContent)
	var content string
	var parts []struct{ Text string }
	if json.Unmarshal(message.Content, &content) == nil {
		all = append(all, strings.FieldsFunc(content, func(c rune) bool { return c == '\n' })...)
	} else if json.Unmarshal(message.Content, &parts) == nil {
		for _, p := range parts {
			all = append(all, p.Text)
		}
	}
	for i, words := range all {
		all[i] = strings.TrimSpace(words)
	}
	return slices.DeleteFunc(all, func(words string) bool {
		return words == "" || strings.HasPrefix(words, "<") && !strings.Contains(words, " ")
	})
}

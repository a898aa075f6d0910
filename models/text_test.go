package models_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// copyTiny returns a new directory with the embedded model.
func copyTiny(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := tiny.Files()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := fs.ReadFile(files, name)
		must(t, err)
		write(t, filepath.Join(dir, name), data)
	}
	return dir
}

// withTemplate opens a copy of the embedded model with a chat template.
func withTemplate(t *testing.T, template string) *models.Model {
	t.Helper()
	dir := copyTiny(t)
	write(t, filepath.Join(dir, "tokenizer_config.json"), []byte(`{"bos_token": "<bos>"}`))
	if template != "" {
		write(t, filepath.Join(dir, "chat_template.jinja"), []byte(template))
	}
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	return m
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

// TestChat explains the answer to a user. The control tokens of the template are prompt tokens that
// are marked as special.
func TestChat(t *testing.T) {
	m := withTemplate(t, "{{ bos_token }}{% for m in messages %} {{ m.content }}{% endfor %}"+
		"{% if add_generation_prompt %} .{% endif %}")
	opts := attribution.Options{Chat: true, MaxTokens: 2, Methods: []string{"rollout"}}
	e, err := attribution.Explain(context.Background(), m, "mary has the red key", opts)
	must(t, err)
	if want := "<bos> mary has the red key ."; e.Prompt.Text != want {
		t.Errorf("prompt %q, want %q", e.Prompt.Text, want)
	}
	if !e.Prompt.Special[0] || e.Prompt.Special[1] || e.Prompt.Offsets[0] != [2]int{0, 5} {
		t.Errorf("first token: special %v at %v, want a control token at [0 5]",
			e.Prompt.Special[0], e.Prompt.Offsets[0])
	}
}

func TestChatRefusals(t *testing.T) {
	for name, c := range map[string]struct{ template, say string }{
		"none":           {"", "no chat template"},
		"does not parse": {"{% for m in %}", "chat"},
		"loops":          {"{% for i in range(1000000000) %}x{% endfor %}", "limits"},
		"refuses": {
			"\n{{ raise_exception('only kings may speak') }}",
			"/chat_template.jinja: chat: line 2: the template refuses the conversation: only kings " +
				"may speak",
		},
		"fails":             {"{{ messages }}\n\n{{ missing.x }}", "/chat_template.jinja: chat: line 3: "},
		"an unknown filter": {"{{ messages | frobnicate }}", "frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := withTemplate(t, c.template).Converse(trace.Conversation{}, "hi")
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("Converse = %v, want an error with %q", err, c.say)
			}
		})
	}
}

// TestConverse: the messages, what the template needs besides them, and the template that is taken.
func TestConverse(t *testing.T) {
	dir := copyTiny(t)
	const say = "{% for m in messages %}[{{ m.role }}|{{ m.content }}]{% endfor %}"
	write(t, filepath.Join(dir, "tokenizer_config.json"), []byte(`{"bos_token": "<bos>"}`))
	write(t, filepath.Join(dir, "chat_template.jinja"), []byte(say+"{{ mood }}"+
		"{{ strftime_now('%d %B') if dated }}"))
	must(t, os.Mkdir(filepath.Join(dir, "additional_chat_templates"), 0o700))
	for name, template := range map[string]string{
		"tool_use": "{{ tools|tojson }}", "bare": "{{ messages[-1].content }}", "broken": "{% for %}",
	} {
		write(t, filepath.Join(dir, "additional_chat_templates", name+".jinja"), []byte(template))
	}
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	said := []trace.Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}
	type variables = trace.Variables
	for name, c := range map[string]struct {
		conversation trace.Conversation
		prompt, want string
		say          string // of the error
	}{
		"a prompt":        {prompt: "hi", want: "[user|hi]"},
		"a system":        {trace.Conversation{System: "s", Messages: said}, "c", "[system|s][user|a][assistant|b][user|c]", ""},
		"no prompt":       {trace.Conversation{Messages: said[:1]}, "", "[user|a]", ""},
		"a variable":      {trace.Conversation{Variables: variables{"mood": 1}}, "c", "[user|c]1", ""},
		"tools":           {trace.Conversation{Tools: []byte(`[{"b":1,"a":2}]`)}, "c", `[{"b": 1, "a": 2}]`, ""},
		"a name":          {trace.Conversation{Template: "bare"}, "c", "c", ""},
		"a date":          {trace.Conversation{Date: "2026-11-26", Variables: variables{"dated": true}}, "c", "[user|c]26 November", ""},
		"no date":         {trace.Conversation{Variables: variables{"dated": true}}, "c", "", "asks for the date"},
		"nothing":         {say: "no message to answer"},
		"an answer":       {trace.Conversation{Messages: said}, "", "", "ends with messages[1]"},
		"an unknown name": {trace.Conversation{Template: "bar"}, "c", "", `no chat template "bar"; did you mean bare? known are bare, broken, default, tool_use`},
		"a broken one":    {trace.Conversation{Template: "broken"}, "c", "", "additional_chat_templates/broken.jinja: chat: "},
		"a role": {
			trace.Conversation{Messages: []trace.Message{{Role: "usr", Content: "a"}}}, "", "",
			`message 0 has the role "usr", which the chat template`,
		},
		"a role that the template knows": {trace.Conversation{Messages: []trace.Message{{Role: "mood", Content: "a"}}}, "", "[mood|a]", ""},
		"two systems": {
			trace.Conversation{System: "s", Messages: []trace.Message{{Role: "system", Content: "t"}}}, "c", "",
			"give one of the two",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, parts, err := m.Converse(c.conversation, c.prompt)
			if c.say != "" {
				if err == nil || !strings.Contains(err.Error(), c.say) {
					t.Errorf("error %v, want %q", err, c.say)
				}
				if asks := errorkind.Of(err) == errorkind.Date; asks != (name == "no date") {
					t.Errorf("error %v of kind %q", err, errorkind.Of(err))
				}
				return
			}
			if err != nil || text != c.want || parts[len(parts)-1].End != len(text) {
				t.Errorf("Converse = %q, %+v, %v, want %q", text, parts, err, c.want)
			}
		})
	}
	_, parts, err := m.Converse(trace.Conversation{System: "be kind", Messages: said}, "c")
	must(t, err)
	want := []trace.Part{
		{Turn: 0, Role: "system", Kind: trace.Label, Begin: 0, End: 8},
		{Turn: 0, Role: "system", Begin: 8, End: 15},
		{Turn: 0, Role: "system", Kind: trace.Label, Begin: 15, End: 16},
		{Turn: 1, Role: "user", Kind: trace.Label, Begin: 16, End: 22},
		{Turn: 1, Role: "user", Begin: 22, End: 23},
	}
	if !slices.Equal(parts[:5], want) {
		t.Errorf("parts %+v, want %+v", parts[:5], want)
	}
}

// TestMemory checks that weights that do not fit are refused before they are read, and that the
// error names what would fit.
func TestMemory(t *testing.T) {
	dir := "testdata/goldens/gpt2" // 42 thousand numbers
	// Its tokens, and garbage of half the weights.
	program := models.LimitMemory(1).Program + 96*(256+576) + 2*42_000
	for name, c := range map[string]struct {
		opts models.Options
		say  string
		kind errorkind.Kind
	}{
		"neither": {models.Options{Backend: "go", MaxMemory: 1000}, " needs about 67.4 MB, the limit is 1.0 kB (given); what is recorded takes more than that; take a smaller model, or allow more memory", errorkind.Memory},
		"half":    {models.Options{Backend: "go", MaxMemory: program + 100_000}, " and takes several times as long", errorkind.DType},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := models.Open(dir, c.opts)
			var memory *trace.MemoryError
			if !errors.As(err, &memory) || !memory.Chosen || memory.Limit != c.opts.MaxMemory ||
				!strings.Contains(err.Error(), c.say) ||
				errorkind.Of(err) != c.kind || strings.Contains(err.Error(), "--") {
				t.Errorf("error %v of kind %q, want a MemoryError with %q",
					err, errorkind.Of(err), c.say)
			}
		})
	}
	m, err := models.Open(dir, models.Options{Backend: "go", DType: "bf16", MaxMemory: 1 << 30})
	if err != nil || m.DType() != "bfloat16" {
		t.Errorf("bfloat16 within a limit: %v", err)
	}
}

// TestMemoryOfRun checks that the limit includes what a run records.
func TestMemoryOfRun(t *testing.T) {
	batch := transformer.Batch{IDs: [][]int{make([]int, 60)}}
	for name, c := range map[string]struct {
		limit int64
		fits  bool
	}{
		"weights only":  {models.LimitMemory(1).Program + 96*(256+576) + 2*42_000 + 180_000, false},
		"both":          {200 << 20, true},
		"of the system": {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := models.Open("testdata/goldens/gpt2",
				models.Options{Backend: "go", MaxMemory: c.limit})
			must(t, err)
			_, err = m.Forward(context.Background(), batch, []trace.Tap{trace.Attention})
			var memory *trace.MemoryError
			if c.fits != (err == nil) || errors.As(err, &memory) == c.fits {
				t.Errorf("Forward = %v, want it to fit: %v", err, c.fits)
			}
		})
	}
}

// TestNoTokenizer checks that the error says that the model takes ids, and how to make the file
// from the files that exist.
func TestNoTokenizer(t *testing.T) {
	for name, c := range map[string]struct{ file, say string }{
		"nothing": {"", "takes token ids and no text"},
		"vocab":   {"vocab.txt", "AutoTokenizer.from_pretrained("},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTiny(t)
			must(t, os.Remove(filepath.Join(dir, "tokenizer.json")))
			if c.file != "" {
				write(t, filepath.Join(dir, c.file), []byte("the"))
			}
			m, err := models.Open(dir, models.Options{Backend: "go"})
			must(t, err)
			_, err = m.Encode("the", trace.SpecialsAuto)
			if errorkind.Of(err) != errorkind.Tokenizer || !strings.Contains(err.Error(), c.say) {
				t.Errorf("Encode = %v, want one of TokenizerKind with %q", err, c.say)
			}
		})
	}
}

// TestTokensBeyondEmbedding checks tokens without an embedding. A text with a control token of this
// kind, such as the one for images in Gemma 3, is refused. A token of text shows that the tokenizer
// belongs to another model.
func TestTokensBeyondEmbedding(t *testing.T) {
	open := func(special bool) (*models.Model, error) {
		dir := copyTiny(t)
		path := filepath.Join(dir, "tokenizer.json")
		data, err := os.ReadFile(path)
		must(t, err)
		const list = `"added_tokens": [`
		token := fmt.Sprintf(`{"id":929,"content":"<image>","single_word":false,"lstrip":false,`+
			`"rstrip":false,"normalized":false,"special":%v},`, special)
		if !strings.Contains(string(data), list) {
			t.Fatalf("%s has no %s", path, list)
		}
		write(t, path, []byte(strings.Replace(string(data), list, list+token, 1)))
		return models.Open(dir, models.Options{Backend: "go"})
	}
	if _, err := open(false); err == nil ||
		!strings.Contains(err.Error(), "has 930 tokens, the embedding has 929") {
		t.Errorf("a token of text beyond the embedding: %v, want an error with both sizes", err)
	}
	m, err := open(true)
	must(t, err)
	if _, err := m.Encode("the keys", trace.SpecialsAuto); err != nil {
		t.Errorf("a text without the control token: %v", err)
	}
	if _, err := m.Encode("the <image> keys", trace.SpecialsAuto); err == nil ||
		!strings.Contains(err.Error(), `no embedding of "<image>"`) {
		t.Errorf("a text with it: %v, want an error that names it", err)
	}
}

// TestWithMaxMemory checks that a model can get another limit without reading its weights again.
func TestWithMaxMemory(t *testing.T) {
	m, err := models.Open("testdata/goldens/gpt2",
		models.Options{Backend: "go", MaxMemory: 1 << 30})
	must(t, err)
	// held is for the program and the weights. A quarter of the rest stays free.
	held := int64(1<<30) - m.Memory().Left/3*4
	if m, err = m.WithMaxMemory(held + 10_000); err != nil {
		t.Fatal(err)
	}
	var refused *trace.MemoryError
	if _, err := m.WithMaxMemory(held - 100); !errors.As(err, &refused) ||
		refused.Need < held-100 || refused.Limit != held-100 || !refused.Chosen {
		t.Errorf("a limit below the weights: error %v, want a MemoryError", err)
	}
	batch := transformer.Batch{IDs: [][]int{make([]int, 60)}}
	for _, limit := range []int64{held + 100<<20, 0} {
		wide, err := m.WithMaxMemory(limit)
		must(t, err)
		if want := (limit - held) / 4 * 3; limit > 0 &&
			(wide.Memory().Left < want-8 || wide.Memory().Left > want+8) {
			t.Errorf("limit %d leaves %d bytes, want %d up to rounding", limit,
				wide.Memory().Left, want)
		}
		if _, err := wide.Forward(t.Context(), batch, []trace.Tap{trace.Attention}); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	var small *trace.MemoryError
	_, err = m.Forward(t.Context(), batch, []trace.Tap{trace.Attention})
	if !errors.As(err, &small) {
		t.Errorf("the model itself: error %v, want it to keep its limit", err)
	}
	if graphs, _ := m.Compiled(); graphs == 0 {
		t.Error("the graphs are not shared")
	}
}

// TestEncodeLong checks that a text that is far too long is refused before all of it is tokenized.
// The context of the embedded model has no limit, so the limit is the memory for tokens.
func TestEncodeLong(t *testing.T) {
	m, err := models.Open("tiny", models.Options{})
	must(t, err)
	tokens, err := m.Encode(strings.Repeat("the key ", 5000), trace.SpecialsOff)
	if err != nil || len(tokens) < 10_000 {
		t.Errorf("a text of 10000 words: %d tokens, error %v", len(tokens), err)
	}
	const size = 24 << 20
	_, err = m.Encode(strings.Repeat("~ ", size/2), trace.SpecialsOff)
	if err == nil || !strings.Contains(err.Error(),
		"the text of 25165824 bytes has 4194304 tokens up to byte ") ||
		!strings.Contains(err.Error(), "give a shorter text") {
		t.Errorf("a text of 24 MiB: error %v", err)
	}
}

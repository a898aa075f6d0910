package chat

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the text, or a part of the error
	}{
		"string": {map[string]string{"tokenizer_config.json": `{"bos_token":"<s>","chat_template":"{{bos_token}}{{messages[0].content}}"}`}, "<s>hi"},
		"token as an object": {map[string]string{
			"tokenizer_config.json": `{"eos_token":{"content":"</s>","lstrip":false},"chat_template":"{{eos_token}}{{bos_token}}"}`,
		}, "</s>"},
		"token of the map": {map[string]string{
			"tokenizer_config.json":   `{"eos_token":null,"pad_token":"p","chat_template":"{{eos_token}}{{pad_token}}"}`,
			"special_tokens_map.json": `{"eos_token":{"content":"E"},"pad_token":"q"}`,
		}, "Ep"},
		"file wins": {map[string]string{
			"tokenizer_config.json": `{"bos_token":"<s>","chat_template":"no"}`, "chat_template.jinja": "{{bos_token}}file\n",
		}, "<s>file"},
		"several": {map[string]string{
			"tokenizer_config.json": `{"chat_template":[{"name":"rag","template":"r"},{"name":"default","template":"d"}]}`,
		}, "d"},
		"only the file":   {map[string]string{"chat_template.jinja": "x"}, "x"},
		"no default":      {map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"rag","template":"r"}]}`}, `of the templates ["rag"] none is named default`},
		"none":            {map[string]string{"tokenizer_config.json": `{}`}, "the model has no chat template"},
		"nothing":         {nil, "the model has no chat template"},
		"wrong type":      {map[string]string{"tokenizer_config.json": `{"chat_template":3}`}, "neither a string nor a list"},
		"wrong token":     {map[string]string{"tokenizer_config.json": `{"bos_token":3,"chat_template":""}`}, "bos_token is neither a string nor an object"},
		"broken JSON":     {map[string]string{"tokenizer_config.json": `{`}, "tokenizer_config.json: unexpected end"},
		"broken template": {map[string]string{"chat_template.jinja": "{% if %}"}, "does not parse"},
		"not UTF-8":       {map[string]string{"chat_template.jinja": "\xff"}, "not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for file, data := range c.files {
				dir[file] = &fstest.MapFile{Data: []byte(data)}
			}
			tmpl, err := Open(dir)
			got := ""
			if err == nil {
				got, err = tmpl.Render([]Message{{"user", "hi"}}, Options{})
			}
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != c.want || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if none := name == "none" || name == "nothing"; errors.Is(err, ErrNone) != none {
				t.Errorf("error %v is ErrNone: %v", err, !none)
			}
		})
	}
}

// What a message says is never read as a template, and is not changed by being rendered.
func TestContentIsText(t *testing.T) {
	tmpl, err := New("[{{ messages[0].content }}]", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"{{ 1 }}", "{% for %}", "{#", "<|im_end|>", "\x00\x1b[31m", "a\r\nb", "", strings.Repeat("漢", 1000)} {
		if got, err := tmpl.Render([]Message{{"user", content}}, Options{}); err != nil || got != "["+content+"]" {
			t.Errorf("Render(%q) = %q, %v", content, got, err)
		}
	}
	if _, err := tmpl.Render([]Message{{"user", "\xff"}}, Options{}); err == nil {
		t.Error("a message that is not UTF-8 is rendered")
	}
}

func TestVariables(t *testing.T) {
	tmpl, err := New("{{ v|tojson }}", nil)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{"b": []any{1, int64(2), 1.5, nil, true, "x\xff"}, "a": map[string]any{}}
	want := `{"a": {}, "b": [1, 2, 1.5, null, true, "x` + "\uFFFD" + `"]}`
	if got, err := tmpl.Render(nil, Options{Variables: map[string]any{"v": v}}); err != nil || got != want {
		t.Errorf("Render = %s, %v; want %s", got, err, want)
	}
	if _, err := tmpl.Render(nil, Options{Variables: map[string]any{"v": struct{}{}}}); err == nil || !strings.Contains(err.Error(), "variable v: type struct {}") {
		t.Errorf("error %v", err)
	}
	loop := []any{nil}
	loop[0] = loop
	if _, err := tmpl.Render(nil, Options{Variables: map[string]any{"v": loop}}); err == nil {
		t.Error("a list that holds itself is rendered")
	}
}

// No template may panic, hang or run forever.
func FuzzTemplate(f *testing.F) {
	rec, _ := loadRecording(f)
	for _, c := range rec.Small {
		f.Add(c.Template, "hi")
	}
	f.Fuzz(func(t *testing.T, template, content string) {
		if len(template) > 4096 {
			return
		}
		tmpl, err := New(template, map[string]string{"bos_token": "<s>"})
		if err != nil {
			if strings.Contains(err.Error(), "runtime error") {
				t.Fatalf("New(%q): %v", template, err)
			}
			return
		}
		opts := Options{MaxSteps: 20_000, MaxBytes: 1 << 20}
		text, err := tmpl.Render([]Message{{"user", content}}, opts)
		if err != nil && strings.Contains(err.Error(), "internal") {
			t.Fatalf("Render(%q): %v", template, err)
		}
		if again, _ := tmpl.Render([]Message{{"user", content}}, opts); again != text {
			t.Fatalf("Render(%q) = %q, then %q", template, text, again)
		}
	})
}

package chat

import (
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ name, template, err string }{
		{"broken template", "{% if %}", "the template has a syntax error: line 1"},
		{"not UTF-8", "\xff", "the template is not valid UTF-8"},
		{
			"too long", strings.Repeat("x", maxTemplate+1),
			"the template has 1048577 bytes, the limit is 1048576",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.template, nil); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// What a message says is never read as a template, and is not changed by being rendered.
func TestContentIsText(t *testing.T) {
	tmpl, err := New("[{{ messages[0].content }}]", nil)
	must(t, err)
	for _, content := range []string{
		"{{ 1 }}", "{% for %}", "{#", "<|im_end|>", "\x00\x1b[31m",
		"a\r\nb", "", strings.Repeat("漢", 1000),
	} {
		if got, _, err := tmpl.Render([]Message{{Role: "user", Content: content}}, Options{}); err != nil ||
			got != "["+content+"]" {
			t.Errorf("Render(%q) = %q, %v", content, got, err)
		}
	}
	if _, _, err := tmpl.Render([]Message{{Role: "user", Content: "\xff"}}, Options{}); err == nil {
		t.Error("a message that is not UTF-8 is rendered")
	}
}

func TestVariables(t *testing.T) {
	tmpl, err := New("{{ v|tojson }}", nil)
	must(t, err)
	v := map[string]any{"b": []any{1, int64(2), 1.5, nil, true, "x\xff"}, "a": map[string]any{}}
	want := `{"a": {}, "b": [1, 2, 1.5, null, true, "x` + "\uFFFD" + `"]}`
	if got, _, err := tmpl.Render(nil, Options{Variables: map[string]any{"v": v}}); err != nil ||
		got != want {
		t.Errorf("Render = %s, %v; want %s", got, err, want)
	}
	if _, _, err := tmpl.Render(nil,
		Options{Variables: map[string]any{"v": struct{}{}}}); err == nil ||
		!strings.Contains(err.Error(), "variable v: its type struct {}") {
		t.Errorf("error %v", err)
	}
	loop := []any{nil}
	loop[0] = loop
	if _, _, err := tmpl.Render(nil, Options{Variables: map[string]any{"v": loop}}); err == nil {
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
		messages := []Message{{Role: "user", Content: content}}
		text, spans, err := tmpl.Render(messages, opts)
		end := 0
		for _, s := range spans {
			if s.Begin != end || s.End <= end || s.Turn != 0 {
				t.Fatalf("Render(%q) = %q with the spans %+v", template, text, spans)
			}
			end = s.End
		}
		if end != len(text) {
			t.Fatalf("Render(%q) = %q with the spans %+v", template, text, spans)
		}
		if err != nil && strings.Contains(err.Error(), "internal") {
			t.Fatalf("Render(%q): %v", template, err)
		}
		if again, _, _ := tmpl.Render(messages, opts); again != text {
			t.Fatalf("Render(%q) = %q, then %q", template, text, again)
		}
	})
}

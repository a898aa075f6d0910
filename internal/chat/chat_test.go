package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recording is testdata/recorded.json: what Jinja2 renders.
type recording struct {
	Date     string
	Messages []Message
	Cases    []struct {
		outcome
		Template, Name string
		Prompt         bool
		Variables      map[string]any
		Specials       map[string]string
		Messages       []Message
	}
	Small []struct {
		outcome
		Template string
	}
}

// outcome is a text, or an error of one kind: syntax, run or refused.
type outcome struct {
	Text        *string
	Error, Kind string
}

func loadRecording(t testing.TB) (recording, time.Time) {
	t.Helper()
	var rec recording
	data, err := os.ReadFile("testdata/recorded.json")
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		t.Fatalf("run testdata/record.py: %v", err)
	}
	date, err := time.Parse("2006-01-02T15:04:05", rec.Date)
	must(t, err)
	return rec, date
}

// check compares a rendering with that of Jinja2. Texts and the messages of raise_exception must be
// equal; for any other error of Jinja2 an error is enough.
func check(
	t *testing.T, want outcome, template string, specials map[string]string, messages []Message,
	opts Options,
) {
	t.Helper()
	parsed, err := New(template, specials)
	// An unknown filter or test is an error of ours when it is reached.
	if want.Kind == "syntax" && !strings.HasPrefix(want.Error, "No ") {
		if err == nil {
			t.Errorf("New(%q) parses; Jinja2 says %s", template, want.Error)
		}
		return
	}
	if err != nil {
		if want.Text != nil { // otherwise Jinja2 fails later than we do
			t.Errorf("New(%q): %v", template, err)
		}
		return
	}
	text, _, err := parsed.Render(messages, opts)
	if err != nil && strings.Contains(err.Error(), "internal") {
		t.Errorf("Render(%q): %v", template, err)
	}
	if want.Text != nil {
		if diff := cmp.Diff(*want.Text, text); err != nil || diff != "" {
			t.Errorf("Render(%q): error %v, Jinja2's -, ours +\n%s", template, err, diff)
		}
		return
	}
	if err == nil {
		t.Errorf("Render(%q) = %q; Jinja2 says %s", template, text, want.Error)
		return
	}
	if want.Kind == "refused" &&
		(!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want.Error)) {
		t.Errorf("Render(%q): %v; the template says %q", template, err, want.Error)
	}
}

func TestFamilies(t *testing.T) {
	rec, date := loadRecording(t)
	templates := map[string]string{}
	for _, c := range rec.Cases {
		if _, ok := templates[c.Template]; !ok {
			data, err := os.ReadFile(filepath.Join("testdata", "templates", c.Template))
			must(t, err)
			templates[c.Template] = string(data)
		}
		opts := Options{AddGenerationPrompt: c.Prompt, Variables: c.Variables, Date: date}
		t.Run(c.Template+"/"+c.Name, func(t *testing.T) {
			check(t, c.outcome, templates[c.Template], c.Specials, c.Messages, opts)
		})
	}
	if len(rec.Cases) < 500 || len(templates) < 15 {
		t.Errorf("%d cases of %d templates are recorded, want more", len(rec.Cases), len(templates))
	}
}

func TestSmall(t *testing.T) {
	rec, date := loadRecording(t)
	for _, c := range rec.Small {
		opts := Options{Date: date}
		t.Run(c.Template, func(t *testing.T) {
			specials := map[string]string{"bos_token": "<s>"}
			check(t, c.outcome, c.Template, specials, rec.Messages, opts)
		})
	}
}

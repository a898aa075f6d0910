package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

// knownSection has templates that try one thing, each with the text that it gives, or with a part
// of the error, which begins with Begins.
type knownSection struct {
	About, Begins string
	Cases         [][2]string
}

// eachKnown calls check with every case of a file of testdata.
func eachKnown(
	t *testing.T, file string, atLeast int,
	check func(t *testing.T, s knownSection, template, want string),
) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	var sections []knownSection
	must(t, json.Unmarshal(data, &sections))
	cases := 0
	for _, s := range sections {
		cases += len(s.Cases)
		t.Run(s.About, func(t *testing.T) {
			for _, c := range s.Cases {
				check(t, s, c[0], c[1])
			}
		})
	}
	if cases < atLeast {
		t.Errorf("%s has %d cases, want %d or more", file, cases, atLeast)
	}
}

// Small templates render as Jinja2 3.1.6 renders them; record.py records the texts.
func TestKnown(t *testing.T) {
	eachKnown(t, "known.json", 1714, func(t *testing.T, _ knownSection, template, want string) {
		if got, err := renderKnown(template); err != nil || got != want {
			t.Errorf("Render(%q) = %q, %v, want %q", template, got, err, want)
		}
	})
}

// What Jinja2 on Python cannot say: it takes too long for the first two, and writes NaN into the
// program of the third as a name.
func TestBeyondPython(t *testing.T) {
	for template, want := range map[string]string{
		"{{ 5|round(-9223372036854775807 - 1) }}":                              "0",
		"{{ 5|round(9223372036854775807) }}":                                   "5",
		"{% set x = 1e308 * 10 %}{{ {} .get(x - x) }} {{ (x - x) in {1: 2} }}": "None False",
	} {
		if got, err := renderKnown(template); err != nil || got != want {
			t.Errorf("Render(%q) = %q, %v, want %q", template, got, err, want)
		}
	}
}

// Templates that are refused, and what the errors say.
func TestRefused(t *testing.T) {
	eachKnown(t, "refused.json", 205, func(t *testing.T, s knownSection, template, want string) {
		got, err := renderKnown(template)
		if err == nil || !strings.HasPrefix(err.Error(), s.Begins) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Render(%q) = %q, %v, want an error with %q", template, got, err, want)
		}
	})
}

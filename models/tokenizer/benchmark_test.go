package tokenizer

import (
	"strings"
	"testing"
)

var sink []Encoded

// BenchmarkEncode is English text: words that come again, which the cache knows, and one long word, which it never does.
func BenchmarkEncode(b *testing.B) {
	var english strings.Builder
	for _, c := range refCases(b) {
		if c.Kind == "english" {
			english.WriteString(c.Text + " ")
		}
	}
	tok := load(b, "gpt2.json")
	for _, text := range []struct{ name, text string }{
		{"english", english.String()},
		{"long-word", strings.Repeat("letter", 1<<14)},
	} {
		b.Run(text.name, func(b *testing.B) {
			b.SetBytes(int64(len(text.text)))
			b.ReportAllocs()
			for b.Loop() {
				sink = encode(b, tok, text.text)
			}
		})
	}
}

package tokenizer

import (
	"fmt"
	"strings"
	"testing"
)

var (
	sink       []Encoded
	parsedSink *Tokenizer
)

// BenchmarkEncode is English text with each kind: words that come again, which the cache knows.
// Beside it, text of other scripts, and one long word, which the cache never knows.
func BenchmarkEncode(b *testing.B) {
	var english, other strings.Builder
	for _, c := range refCases(b) {
		switch c.Kind {
		case "english":
			english.WriteString(c.Text + " ")
		case "accents", "cjk", "emoji":
			other.WriteString(c.Text + " ")
		}
	}
	for _, kind := range kinds {
		tok := load(b, kind+".json")
		for _, text := range []struct{ name, text string }{
			{"english", english.String()},
			{"other", other.String()},
			{"long-word", strings.Repeat("letter", 1<<14)},
		} {
			b.Run(kind+"/"+text.name, func(b *testing.B) {
				b.SetBytes(int64(len(text.text)))
				b.ReportAllocs()
				for b.Loop() {
					sink = encode(b, tok, text.text)
				}
			})
		}
	}
}

// BenchmarkRegex is English text split by a pattern that is not scanned by hand.
func BenchmarkRegex(b *testing.B) {
	var english strings.Builder
	for _, c := range refCases(b) {
		if c.Kind == "english" {
			english.WriteString(c.Text + " ")
		}
	}
	tok := edited(b, "llama3", "pre_tokenizer", `{"type":"Sequence","pretokenizers":[
		{"type":"Split","pattern":{"Regex":"(?:`+strings.ReplaceAll(llama3Pattern, `\`, `\\`)+`)"},"behavior":"Isolated","invert":false},
		{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}`)
	b.SetBytes(int64(english.Len()))
	for b.Loop() {
		sink = encode(b, tok, english.String())
	}
}

// largeFile is a byte-level tokenizer with a vocabulary of n tokens, as large ones have it.
func largeFile(n int) []byte {
	var vocab, merges strings.Builder
	contents := make([]string, 0, n)
	for _, r := range byteChar {
		contents = append(contents, string(r))
	}
	for i := 0; len(contents) < n; i++ {
		left, right := contents[i/256], contents[i%256]
		contents = append(contents, left+right)
		fmt.Fprintf(&merges, ",[%s,%s]", quote(left), quote(right))
	}
	for id, c := range contents {
		fmt.Fprintf(&vocab, ",%s:%d", quote(c), id)
	}
	return fmt.Appendf(nil,
		`{"version":"1.0","added_tokens":[],"model":{"type":"BPE","vocab":{%s},"merges":[%s]}}`,
		vocab.String()[1:], merges.String()[1:])
}

func quote(s string) []byte {
	b, err := marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return b
}

// BenchmarkParse is the time to read a tokenizer of the size of Llama 3's, and of Gemma's.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{128_000, 256_000} {
		data := largeFile(n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if parsedSink, err = Parse(data, "large"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package tokenizer

import (
	"encoding/json"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// recordedPart is what version 0.23.3 of tokenizers makes of texts with one configuration.
type recordedPart struct {
	Name, Config string
	// Kind is the part that Config describes: normalizer, pre_tokenizer or decoder; tokens if it is
	// a whole tokenizer.json.
	Kind string
	// Cases are pairs of a text and its pieces, each with its bytes [begin,end) in the text; for a
	// decoder, of tokens and their text.
	Cases [][2]json.RawMessage
}

// TestRecordedParts compares parts of tokenizers, and small whole ones, with testdata/parts.json,
// which testdata/record_parts.py records.
func TestRecordedParts(t *testing.T) {
	data, err := os.ReadFile("testdata/parts.json")
	must(t, err)
	var parts []recordedPart
	must(t, json.Unmarshal(data, &parts))
	for _, p := range parts {
		t.Run(p.Name, func(t *testing.T) { p.check(t) })
	}
}

func (p recordedPart) check(t *testing.T) {
	var words []splitText
	var encoded []encodedText
	var decoded []decodedTokens
	for _, c := range p.Cases {
		if p.Kind == "decoder" {
			var d decodedTokens
			readRecorded(t, c[0], &d.tokens)
			readRecorded(t, c[1], &d.want)
			decoded = append(decoded, d)
			continue
		}
		w, e := splitText{want: []splitWord{}}, encodedText{want: []textToken{}}
		readRecorded(t, c[0], &w.text)
		e.text = w.text
		var pieces []json.RawMessage
		readRecorded(t, c[1], &pieces)
		for _, raw := range pieces {
			var text string
			var begin, end int
			readRecorded(t, raw, &[]any{&text, &begin, &end})
			w.want = append(w.want, splitWord{text, begin, end})
			e.want = append(e.want, textToken{text, begin, end})
		}
		words, encoded = append(words, w), append(encoded, e)
	}
	switch p.Kind {
	case "normalizer":
		checkOffsets(t, p.Config, words)
	case "pre_tokenizer":
		checkPreTokenizer(t, p.Config, words)
	case "tokens":
		checkTokens(t, p.Config, encoded)
	case "decoder":
		checkDecoder(t, p.Config, decoded)
	default:
		t.Fatalf("kind %q is unknown", p.Kind)
	}
}

func readRecorded(t *testing.T, data json.RawMessage, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// checkOffsets compares each character of a normalised text, and the bytes that it comes from, with
// those that version 0.23.3 of tokenizers gives.
func checkOffsets(t *testing.T, config string, cases []splitText) {
	t.Helper()
	n, err := parseNormalizer("normalizer", []byte(config), 0)
	must(t, err)
	for _, c := range cases {
		p, err := n.normalize(piece{text: c.text, input: c.text}, newMeter(len(c.text)))
		if err != nil {
			t.Errorf("%s of %+q: %v", config, c.text, err)
			continue
		}
		checkOrigins(t, p)
		got := []splitWord{}
		for i, r := range p.text {
			begin, end := p.offsets(i, i+utf8.RuneLen(r))
			got = append(got, splitWord{string(r), begin, end})
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(splitWord{})); diff != "" {
			t.Errorf("%s of %+q (-want +got):\n%s", config, c.text, diff)
		}
	}
}

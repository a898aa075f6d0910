package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// recordedPart is what version 0.23.3 of tokenizers makes of texts with one configuration.
type recordedPart struct {
	// Reason is what the cases show, if the name does not say it.
	Name, Reason, Config string
	// Kind is the part that Config describes: normalizer, pre_tokenizer or decoder; tokens if it is
	// a whole tokenizer.json; matches for regular expressions, without Config.
	Kind string
	// Cases are pairs of a text and its pieces, each with its bytes [begin,end) in the text; for a
	// decoder, of tokens and their text; for matches, of a pattern with a text and what it finds
	// there, without empty matches.
	Cases [][2]json.RawMessage
}

// recordedPiece is a piece of a text and its bytes [begin,end) in the text.
type recordedPiece [3]any

// TestRecordedParts compares parts of tokenizers, and small whole ones, with testdata/parts.json,
// which testdata/record_parts.py records.
func TestRecordedParts(t *testing.T) {
	data, err := os.ReadFile("testdata/parts.json")
	must(t, err)
	var parts []recordedPart
	must(t, json.Unmarshal(data, &parts))
	for _, p := range parts {
		t.Run(p.Name, func(t *testing.T) {
			for _, c := range p.Cases {
				text, err := json.Marshal(p.result(t, c[0]))
				must(t, err)
				var got, want any
				must(t, json.Unmarshal(text, &got))
				must(t, json.Unmarshal(c[1], &want))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s of %s (-want +got):\n%s", p.Reason, p.Config, c[0], diff)
				}
			}
		})
	}
}

// result returns what this package makes of the input of a case, in the form of the recording.
func (p recordedPart) result(t *testing.T, input json.RawMessage) any {
	t.Helper()
	switch p.Kind {
	case "decoder":
		var tokens []string
		must(t, json.Unmarshal(input, &tokens))
		d, err := parseDecoder("decoder", []byte(p.Config), 0)
		must(t, err)
		got, err := d.decode(tokens, false, newMeter(100))
		must(t, err)
		return strings.Join(got, "")
	case "matches":
		var c [2]string
		must(t, json.Unmarshal(input, &c))
		re, err := newRegex(c[0])
		must(t, err)
		found := []string{}
		for _, m := range matches(t, re, c[1]) {
			if m != "" {
				found = append(found, m)
			}
		}
		return found
	}
	var text string
	must(t, json.Unmarshal(input, &text))
	got, whole, m := []recordedPiece{}, piece{text: text, input: text}, newMeter(len(text))
	switch p.Kind {
	case "normalizer": // each character of the result
		n, err := parseNormalizer("normalizer", []byte(p.Config), 0)
		must(t, err)
		normalized, err := n.normalize(whole, m)
		must(t, err)
		checkOrigins(t, normalized)
		for i, r := range normalized.text {
			begin, end := normalized.offsets(i, i+utf8.RuneLen(r))
			got = append(got, recordedPiece{string(r), begin, end})
		}
	case "pre_tokenizer":
		pre, err := parsePreTokenizer("pre_tokenizer", []byte(p.Config), 0)
		must(t, err)
		must(t, pre.split(whole, m, func(w piece) {
			if w.text != "" {
				begin, end := w.offsets(0, len(w.text))
				got = append(got, recordedPiece{w.text, begin, end})
			}
		}))
	case "tokens":
		tok, err := Parse([]byte(p.Config), "test")
		must(t, err)
		for _, e := range encode(t, tok, text) {
			content := tok.vocab.entries[e.ID].content
			got = append(got, recordedPiece{content, e.Begin, e.End})
		}
	default:
		t.Fatalf("kind %q is unknown", p.Kind)
	}
	return got
}

// checkOrigins checks that every byte of a piece comes from a range of the input, from left to
// right.
func checkOrigins(t *testing.T, p piece) {
	t.Helper()
	if p.origins != nil && len(p.origins) != len(p.text) {
		t.Fatalf("%d origins for %d bytes of %q", len(p.origins), len(p.text), p.text)
	}
	last := 0
	for i, o := range p.origins {
		if o.begin() > o.end() || o.end() > len(p.input) || o.begin() < last {
			t.Errorf("byte %d of %q comes from [%d,%d)", i, p.text, o.begin(), o.end())
		}
		last = o.begin()
	}
}

// withModel is a tokenizer.json with a model alone.
func withModel(model string) string {
	return `{"version":"1.0","added_tokens":[],"model":` + model + `}`
}

// withPost is a tokenizer.json of whole words with a post_processor.
func withPost(post string) string {
	return `{"version":"1.0","added_tokens":[],"pre_tokenizer":{"type":"WhitespaceSplit"},
		"post_processor":` + post + `,"model":{"type":"WordLevel","unk_token":"[UNK]",
		"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"ab":5}}}`
}

package tokenizer

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// extraFile is what testdata/record.py records: models, and tokenizers of one of them with other
// parts.
type extraFile struct {
	Models     map[string]json.RawMessage
	Tokenizers []extraTokenizer
}

type extraTokenizer struct {
	Name, Model string
	File        map[string]json.RawMessage
	Cases       []extraCase
}

// extraCase has offsets in characters.
type extraCase struct {
	Text       string
	Pair       *string
	IDs        []int
	Offsets    [][2]int
	Mask       []int // 0 for padding
	Decoded    string
	DecodedAll string `json:"decoded_all"`
}

func extra(t testing.TB) extraFile {
	t.Helper()
	var f extraFile
	readJSON(t, "extra.json.gz", &f)
	return f
}

// file is the tokenizer.json of e.
func (f extraFile) file(t testing.TB, e extraTokenizer) []byte {
	t.Helper()
	e.File["model"] = f.Models[e.Model]
	data, err := json.Marshal(e.File)
	must(t, err)
	return data
}

// TestExtra compares parts that the trained files lack with the reference. Pairs of texts are left
// out, and so are the tokens of files that truncate: this package encodes whole texts.
func TestExtra(t *testing.T) {
	f := extra(t)
	if len(f.Tokenizers) < 100 {
		t.Fatalf("extra.json.gz has %d tokenizers, want at least 100", len(f.Tokenizers))
	}
	for _, e := range f.Tokenizers {
		t.Run(e.Name, func(t *testing.T) {
			tok, err := Parse(f.file(t, e), e.Name)
			must(t, err)
			for _, c := range e.Cases {
				if c.Pair == nil && isNull(e.File["truncation"]) {
					checkExtraTokens(t, tok, c)
				}
				checkExtraDecoded(t, tok, c)
			}
		})
	}
}

func checkExtraTokens(t *testing.T, tok *Tokenizer, c extraCase) {
	t.Helper()
	var ids []int
	var chars [][2]int
	for i, m := range c.Mask {
		if m == 1 {
			ids, chars = append(ids, c.IDs[i]), append(chars, c.Offsets[i])
		}
	}
	got := encode(t, tok, c.Text)
	if diff := cmp.Diff(ids, idsOf(got), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("ids of %q (-want +got):\n%s", c.Text, diff)
	}
	if diff := cmp.Diff(byteOffsets(c.Text, chars), offsetsOf(got)); diff != "" {
		t.Errorf("offsets of %q (-want +got):\n%s", c.Text, diff)
	}
}

func checkExtraDecoded(t *testing.T, tok *Tokenizer, c extraCase) {
	t.Helper()
	for skip, want := range map[bool]string{true: c.Decoded, false: c.DecodedAll} {
		if text, err := tok.Decode(c.IDs, skip); err != nil || text != want {
			t.Errorf("Decode(%v, %v) = %q, %v, want %q", c.IDs, skip, text, err, want)
		}
	}
}

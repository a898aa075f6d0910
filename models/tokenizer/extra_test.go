package tokenizer

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// extraFile is what testdata/record.py records: models, and tokenizers of one of them with other parts.
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
	Types      []int
	Mask       []int
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
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestExtra compares with the reference what the trained files do not have, in batches of one: truncated and padded.
func TestExtra(t *testing.T) {
	f := extra(t)
	if len(f.Tokenizers) < 100 {
		t.Fatalf("extra.json.gz has %d tokenizers, want at least 100", len(f.Tokenizers))
	}
	for _, e := range f.Tokenizers {
		t.Run(e.Name, func(t *testing.T) {
			tok, err := Parse(f.file(t, e), e.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range e.Cases {
				checkExtra(t, tok, c)
			}
		})
	}
}

func checkExtra(t *testing.T, tok *Tokenizer, c extraCase) {
	t.Helper()
	batch, err := tok.EncodeBatch([]Input{{Text: c.Text, Pair: c.Pair}}, BatchOptions{})
	if err != nil {
		t.Fatalf("EncodeBatch(%q): %v", c.Text, err)
	}
	got := batch[0]
	if diff := cmp.Diff(c.IDs, idsOf(got.Tokens)); diff != "" {
		t.Fatalf("ids of %q (-want +got):\n%s", c.Text, diff)
	}
	for i, e := range got.Tokens {
		inFirst := fits(c.Text, c.Offsets[i], e)
		inPair := c.Pair != nil && fits(*c.Pair, c.Offsets[i], e)
		if !inFirst && !inPair {
			t.Errorf("token %d of %q is [%d,%d), want characters %v", i, c.Text, e.Begin, e.End, c.Offsets[i])
		}
	}
	mask := []int{}
	for _, m := range got.Mask {
		mask = append(mask, map[bool]int{true: 1}[m])
	}
	if diff := cmp.Diff(c.Types, got.TypeIDs) + cmp.Diff(c.Mask, mask); diff != "" {
		t.Errorf("types and mask of %q (-want +got):\n%s", c.Text, diff)
	}
	for skip, want := range map[bool]string{true: c.Decoded, false: c.DecodedAll} {
		if text, err := tok.Decode(c.IDs, skip); err != nil || text != want {
			t.Errorf("Decode(%v, %v) = %q, %v, want %q", c.IDs, skip, text, err, want)
		}
	}
}

// fits is whether a token of text has the offsets that are chars in characters.
func fits(text string, chars [2]int, e Encoded) bool {
	if n := len([]rune(text)); chars[0] > n || chars[1] > n {
		return false
	}
	return byteOffsets(text, [][2]int{chars})[0] == [2]int{e.Begin, e.End}
}

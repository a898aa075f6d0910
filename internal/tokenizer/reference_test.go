package tokenizer

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// refCase is a text and what Hugging Face tokenizers made of it with each of the trained files; see
// testdata/README.md.
type refCase struct {
	Text string
	Kind string
	Want map[string]refResult // by the name of the file
}

// refResult has offsets in characters. A decoded text is left out if it is the text itself.
type refResult struct {
	IDs        []int
	Offsets    [][2]int
	Decoded    *string // without control tokens
	DecodedAll *string `json:"decoded_all"`
}

func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Load(filepath.Join("testdata", name))
	must(t, err)
	return tok
}

// readJSON reads a compressed file of testdata.
func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	must(t, json.NewDecoder(z).Decode(v))
}

func refCases(t testing.TB) (cases []refCase) {
	t.Helper()
	readJSON(t, "ref.json.gz", &cases)
	return cases
}

// kinds are the trained tokenizers of the reference.
var kinds = []string{
	"bert_cased", "bert_uncased", "gpt2", "llama2_legacy", "llama2_metaspace",
	"llama3", "roberta", "unigram",
}

func TestReference(t *testing.T) {
	cases := refCases(t)
	if len(cases) != 319 {
		t.Fatalf("ref.json.gz has %d cases, want 319", len(cases))
	}
	for _, kind := range kinds {
		tok := load(t, kind+".json")
		for _, c := range cases {
			checkReference(t, kind, tok, c.Text, c.Want[kind])
		}
	}
}

func checkReference(t *testing.T, file string, tok *Tokenizer, text string, want refResult) {
	t.Helper()
	encoded := encode(t, tok, text)
	ids := idsOf(encoded)
	if diff := cmp.Diff(want.IDs, ids); diff != "" {
		t.Errorf("%s: ids of %q (-want +got):\n%s", file, text, diff)
	}
	if diff := cmp.Diff(byteOffsets(text, want.Offsets), offsetsOf(encoded)); diff != "" {
		t.Errorf("%s: offsets of %q (-want +got):\n%s", file, text, diff)
	}
	for _, d := range []struct {
		skip bool
		want *string
	}{{true, want.Decoded}, {false, want.DecodedAll}} {
		if d.want == nil {
			d.want = &text
		}
		got, err := tok.Decode(ids, d.skip)
		if err != nil || got != *d.want {
			t.Errorf("%s: Decode(%v, %v) = %q, %v, want %q", file, ids, d.skip, got, err, *d.want)
		}
	}
}

// encode returns the tokens of a text with control tokens.
func encode(t testing.TB, tok *Tokenizer, text string) []Encoded {
	t.Helper()
	return encodeWith(t, tok, text, true)
}

func encodeWith(t testing.TB, tok *Tokenizer, text string, addSpecials bool) []Encoded {
	t.Helper()
	encoded, err := tok.Encode(text, addSpecials)
	if err != nil {
		t.Fatalf("Encode(%.200q): %v", text, err)
	}
	return encoded
}

func idsOf(encoded []Encoded) []int {
	ids := []int{}
	for _, e := range encoded {
		ids = append(ids, e.ID)
	}
	return ids
}

func offsetsOf(encoded []Encoded) [][2]int {
	offsets := [][2]int{}
	for _, e := range encoded {
		offsets = append(offsets, [2]int{e.Begin, e.End})
	}
	return offsets
}

// byteOffsets turns offsets in characters of text into offsets in bytes.
func byteOffsets(text string, chars [][2]int) [][2]int {
	at := make([]int, 0, utf8.RuneCountInString(text)+1)
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	offsets := [][2]int{}
	for _, c := range chars {
		offsets = append(offsets, [2]int{at[c[0]], at[c[1]]})
	}
	return offsets
}

// TestWriteIsHuggingFaces writes what was read: byte for byte the file that Hugging Face wrote.
func TestWriteIsHuggingFaces(t *testing.T) {
	for _, kind := range kinds {
		name := kind + ".json"
		want, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		if got := written(t, load(t, name)); got != string(want) {
			t.Errorf("WriteTo after Load(%s) differs from the file:\n%s", name,
				cmp.Diff(string(want), got))
		}
	}
}

package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// refCase is a text and what Hugging Face tokenizers made of it; see testdata/README.md.
type refCase struct {
	Text    string
	Kind    string
	GPT2    refResult
	RoBERTa refResult
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
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func refCases(t testing.TB) []refCase {
	t.Helper()
	data, err := os.ReadFile("testdata/ref.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []refCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestReference(t *testing.T) {
	cases := refCases(t)
	if len(cases) != 319 {
		t.Fatalf("ref.json has %d cases, want 319", len(cases))
	}
	for _, kind := range []struct {
		file string
		want func(refCase) refResult
	}{
		{"gpt2.json", func(c refCase) refResult { return c.GPT2 }},
		{"roberta.json", func(c refCase) refResult { return c.RoBERTa }},
	} {
		tok := load(t, kind.file)
		for _, c := range cases {
			checkReference(t, kind.file, tok, c.Text, kind.want(c))
		}
	}
}

func checkReference(t *testing.T, file string, tok *Tokenizer, text string, want refResult) {
	t.Helper()
	encoded := tok.Encode(text, true)
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
	for _, name := range []string{"gpt2.json", "roberta.json"} {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, load(t, name)); got != string(want) {
			t.Errorf("WriteTo after Load(%s) differs from the file:\n%s", name, cmp.Diff(string(want), got))
		}
	}
}

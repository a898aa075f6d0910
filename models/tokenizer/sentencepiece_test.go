package tokenizer

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// recordedPieces is what transformers made of texts with files of SentencePiece; see
// testdata/record_pieces.py.
type recordedPieces struct {
	Files        map[string][]byte
	Vocabularies map[string]json.RawMessage
	Cases        []struct {
		Name, Model, Vocab, Class string
		Config                    map[string]any
		IDs                       [][]int
	}
	Languages []struct {
		Text string
		IDs  []int
	}
	Decoded     [][2]any
	Translating []struct {
		Class  string
		File   json.RawMessage
		Config map[string]any
		Cases  []struct {
			Language string
			IDs      []int
		}
	}
}

func readRecordedPieces(t testing.TB) (r recordedPieces) {
	t.Helper()
	readJSON(t, "pieces.json.gz", &r)
	return r
}

// tokenizer is that of case i.
func (r recordedPieces) tokenizer(t testing.TB, i int) *Tokenizer {
	t.Helper()
	c := r.Cases[i]
	tok, err := ParsePieces(r.Files[c.Model], r.Vocabularies[c.Vocab], c.Name,
		Config{Class: c.Class, Settings: c.Config})
	must(t, err)
	return tok
}

// TestPieces compares ids and decoded texts with those of MarianTokenizer and M2M100Tokenizer.
func TestPieces(t *testing.T) {
	r := readRecordedPieces(t)
	texts := refCases(t)
	for i, c := range r.Cases {
		tok := r.tokenizer(t, i)
		if len(c.IDs) != 319 {
			t.Fatalf("%s: %d texts, want 319", c.Name, len(c.IDs))
		}
		if c.Name == "m2m100" && len(tok.Languages()) != 100 {
			t.Errorf("%d languages, want 100", len(tok.Languages()))
		}
		differ := 0
		for k, want := range c.IDs {
			if got := idsFor(t, tok, texts[k].Text); !slices.Equal(got, want) {
				if differ++; differ <= 5 {
					t.Errorf("%s: %q\n got %v\nwant %v", c.Name, texts[k].Text, got, want)
				}
			}
		}
		if differ > 0 {
			t.Errorf("%s: %d texts have other ids", c.Name, differ)
		}
	}
	for _, c := range r.Languages {
		if got := idsFor(t, r.tokenizer(t, 0), c.Text); !slices.Equal(got, c.IDs) {
			t.Errorf("%q: %v, want %v", c.Text, got, c.IDs)
		}
	}
	for _, d := range r.Decoded {
		tok := r.tokenizer(t, 1)
		k := int(d[0].(float64))
		got, err := tok.Decode(r.Cases[1].IDs[k], true)
		must(t, err)
		if strings.TrimSpace(got) != strings.TrimSpace(d[1].(string)) {
			t.Errorf("text %d decodes to %q, want %q", k, got, d[1])
		}
	}
}

// TestTranslating compares the tokens of languages around a text with those of transformers.
func TestTranslating(t *testing.T) {
	r := readRecordedPieces(t)
	if len(r.Translating) != 4 {
		t.Fatalf("%d tokenizers, want 4", len(r.Translating))
	}
	for _, c := range r.Translating {
		tok, _, err := ParseFor(c.File, c.Class, Config{Class: c.Class, Settings: c.Config})
		must(t, err)
		for _, k := range c.Cases {
			in := tok
			if k.Language != "" {
				id, ok := tok.Language(k.Language)
				if !ok || !tok.IsLanguage(id) {
					t.Fatalf("%s does not know %s, of %v", c.Class, k.Language, tok.Languages())
				}
				in = tok.In(id)
			}
			if got := idsFor(t, in, "the cat sat"); !slices.Equal(got, k.IDs) {
				t.Errorf("%s %v in %q: %v, want %v", c.Class, c.Config, k.Language, got, k.IDs)
			}
		}
	}
	nllb, _, err := ParseFor(r.Translating[2].File, "", Config{Class: "NllbTokenizer"})
	must(t, err)
	if got := nllb.Languages(); !slices.Equal(got, []string{
		"eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant",
	}) {
		t.Errorf("languages %v", got)
	}
	if id, ok := nllb.Language("fra"); !ok || id != 16 {
		t.Errorf("fra is %d, %v; want 16", id, ok)
	}
	for _, name := range []string{"zho", "", "the", "<s>"} { // zho is two languages
		if id, ok := nllb.Language(name); ok {
			t.Errorf("%q is language %d", name, id)
		}
	}
	m2m, marian := r.tokenizer(t, 2), r.tokenizer(t, 0)
	for _, name := range []string{"fr", "__fr__"} {
		if _, ok := m2m.Language(name); !ok {
			t.Errorf("M2M100 does not know %s", name)
		}
	}
	if got := marian.Languages(); !slices.Equal(got, []string{"fra", "pt_br"}) ||
		!marian.TargetInSource() {
		t.Errorf("languages of Marian: %v", got)
	}
}

// TestDamagedPieces reads files that are cut off, changed at random, or of something else.
func TestDamagedPieces(t *testing.T) {
	r := readRecordedPieces(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, i := range []int{1, 2} {
		c := r.Cases[i]
		model := r.Files[c.Model]
		for range 300 {
			data := slices.Clone(model)
			for range 1 + rng.IntN(8) {
				data[rng.IntN(len(data))] = byte(rng.IntN(256))
			}
			if rng.IntN(2) == 0 {
				data = data[:rng.IntN(len(data))]
			}
			tok, err := ParsePieces(data, r.Vocabularies[c.Vocab], "x", Config{Class: c.Class})
			if err == nil {
				_, _ = tok.Encode("Hello, world", true) // must not panic
			}
		}
	}
	for what, c := range map[string]struct{ model, vocab, want string }{
		"no protobuf":      {"\xff\xff", `{"<unk>":0}`, "cut off or not of SentencePiece"},
		"nothing":          {"", `{"<unk>":0}`, "no pieces"},
		"no unknown token": {"\x0a\x03\x0a\x01a", `{"a":0}`, "no unknown token"},
		"a list":           {"\x0a\x03\x0a\x01a", `["a"]`, "vocab.json"},
		"another type":     {"\x0a\x05\x0a\x01a\x18\x06", `{"<unk>":0}`, "of type 6"},
		"a kind of model":  {"\x0a\x03\x0a\x01a\x12\x02\x18\x04", `{"<unk>":0}`, "model_type is 4"},
		"ids far apart":    {"\x0a\x03\x0a\x01a", `{"<unk>":0,"a":999999999}`, "should have ids below"},
		"bytes as a vocab": {"\x0a\x03\x0a\x01a", "\x00", "vocab.json"},
		"fallback to bytes": {
			"\x0a\x03\x0a\x01a\x12\x03\x98\x02\x01", `{"<unk>":0}`, "byte_fallback",
		},
		"a score not finite": {"\x0a\x08\x0a\x01a\x15\x00\x00\xc0\x7f", `{"<unk>":0}`, "score NaN"},
	} {
		_, err := ParsePieces([]byte(c.model), []byte(c.vocab), "m",
			Config{Class: "MarianTokenizer"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
	}
}

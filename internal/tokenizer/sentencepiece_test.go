package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
	// Alone are files without a vocabulary, and without the table of the normaliser.
	Alone []struct {
		Class, Text string
		Model       []byte
		File        json.RawMessage // tokenizer.json, of some
		IDs         [][]int
		// Differ is what transformers makes of some texts.
		Differ map[int][]int
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

// TestDamagedVocabulary: the error of a damaged vocab.json speaks of the file, not of Go's decoder.
func TestDamagedVocabulary(t *testing.T) {
	c := readRecordedPieces(t)
	vocab := c.Vocabularies[c.Cases[0].Vocab]
	_, err := ParsePieces(c.Files[c.Cases[0].Model], vocab[:len(vocab)/2], "m",
		Config{Class: c.Cases[0].Class, Settings: c.Cases[0].Config})
	const want = "tokenizer: m: vocab.json beside it is damaged: unexpected end of JSON input; " +
		"download it again"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
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

// TestPiecesAlone compares ids of files without a vocabulary with those of T5Tokenizer,
// PegasusTokenizer, MBartTokenizer, MBart50Tokenizer and XLMRobertaTokenizer, and what the
// tokenizer.json of the first two gives.
func TestPiecesAlone(t *testing.T) {
	r := readRecordedPieces(t)
	source, err := readPieces(r.Files["source.spm"])
	must(t, err)
	if len(r.Alone) != len(numberings)+1 { // mT5's has bytes
		t.Fatalf("%d files, want %d", len(r.Alone), len(numberings)+1)
	}
	for _, c := range r.Alone {
		// normalizer_spec {precompiled_charsmap}, which is merged with the one that is there.
		table := binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(source.charsmap)))
		table = append(table, source.charsmap...)
		model := binary.AppendUvarint(append(c.Model, 3<<3|2), uint64(len(table)))
		model = append(model, table...)
		tok, err := ParsePieces(model, nil, c.Class, Config{Class: c.Class})
		must(t, err)
		checkIDs(t, c.Class, tok, c.Text, c.IDs)
		if _, bytes := tok.ID("<0x0A>"); bytes {
			if got, err := tok.Decode(c.IDs[319], true); err != nil || got != "漢 😀" {
				t.Errorf("%q decodes to %q, %v", c.Text, got, err)
			}
		}
		first, second := idsFor(t, tok, "the cat"), idsFor(t, tok, "sat")
		want := slices.Concat(first, second) // of T5
		switch c.Class {
		case "PegasusTokenizer":
			want = slices.Delete(want, len(first)-1, len(first))
		case "MBartTokenizer", "MBart50Tokenizer":
			want = nil // it has no pairs
		case "XLMRobertaTokenizer": // the end stands twice
			want[len(first)] = first[len(first)-1]
			mask, _ := tok.ID("<mask>") // takes the white space before it, as in tokenizer.json
			masked := slices.Insert(slices.Clone(first), len(first)-1, mask)
			if got := idsFor(t, tok, "the cat <mask>"); !slices.Equal(got, masked) {
				t.Errorf("%s: ids with a mask are %v, want %v", c.Class, got, masked)
			}
		}
		pair, err := tok.EncodePair("the cat", "sat", true)
		must(t, err)
		var got []int
		for _, e := range pair {
			got = append(got, e.ID)
		}
		if want != nil && !slices.Equal(got, want) {
			t.Errorf("%s: a pair is %v, want %v", c.Class, got, want)
		}
		key := []byte(`"precompiled_charsmap":"`)
		if !bytes.Contains(c.File, key) {
			continue
		}
		whole := bytes.Replace(c.File, key,
			base64.StdEncoding.AppendEncode(key, source.charsmap), 1)
		tok, _, err = ParseFor(whole, c.Class, Config{Class: c.Class})
		must(t, err)
		for k, ids := range c.Differ {
			c.IDs[k] = ids
		}
		checkIDs(t, c.Class+", tokenizer.json", tok, c.Text, c.IDs)
	}
}

// checkIDs compares the ids of the recorded texts and of one more.
func checkIDs(t *testing.T, name string, tok *Tokenizer, more string, ids [][]int) {
	t.Helper()
	texts := append(refCases(t), refCase{Text: more})
	if len(ids) != 320 || len(texts) != 320 {
		t.Fatalf("%s: %d recorded ids of %d texts, want 320", name, len(ids), len(texts))
	}
	for k, want := range ids {
		if got := idsFor(t, tok, texts[k].Text); !slices.Equal(got, want) {
			t.Errorf("%s: %q\n got %v\nwant %v", name, texts[k].Text, got, want)
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
	type damaged struct {
		model, vocab []byte
		class        string
	}
	var files []damaged
	for _, c := range r.Cases[1:] {
		files = append(files, damaged{r.Files[c.Model], r.Vocabularies[c.Vocab], c.Class})
	}
	for _, c := range r.Alone {
		files = append(files, damaged{c.Model, nil, c.Class})
	}
	for _, c := range files {
		for range 300 {
			data := slices.Clone(c.model)
			for range 1 + rng.IntN(8) {
				data[rng.IntN(len(data))] = byte(rng.IntN(256))
			}
			if rng.IntN(2) == 0 {
				data = data[:rng.IntN(len(data))]
			}
			tok, err := ParsePieces(data, c.vocab, "x", Config{Class: c.class})
			if err == nil {
				_, _ = tok.Encode("Hello, world", true) // must not panic
			}
		}
	}
	for what, c := range map[string]struct{ model, vocab, want string }{
		"no protobuf":        {"\xff\xff", `{"<unk>":0}`, "cut off or not of SentencePiece"},
		"nothing":            {"", `{"<unk>":0}`, "no pieces"},
		"no unknown token":   {"\x0a\x03\x0a\x01a", `{"a":0}`, "no unknown token"},
		"a list":             {"\x0a\x03\x0a\x01a", `["a"]`, "vocab.json"},
		"another type":       {"\x0a\x05\x0a\x01a\x18\x07", `{"<unk>":0}`, "of type 7"},
		"a byte":             {"\x0a\x03\x0a\x01a\x0a\x05\x0a\x01b\x18\x06", `{"<unk>":0}`, "of type 6"},
		"a kind of model":    {"\x0a\x03\x0a\x01a\x12\x02\x18\x04", `{"<unk>":0}`, "model_type is 4"},
		"ids far apart":      {"\x0a\x03\x0a\x01a", `{"<unk>":0,"a":999999999}`, "should have ids below"},
		"bytes as a vocab":   {"\x0a\x03\x0a\x01a", "\x00", "vocab.json"},
		"user defined":       {"\x0a\x05\x0a\x01a\x18\x04", `{"<unk>":0}`, "of type 4"},
		"a score not finite": {"\x0a\x08\x0a\x01a\x15\x00\x00\xc0\x7f", `{"<unk>":0}`, "score NaN"},
	} {
		_, err := ParsePieces([]byte(c.model), []byte(c.vocab), "m",
			Config{Class: "MarianTokenizer"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
	}
}

// pieceFile is a BPE of SentencePiece with these pieces, all with the same score.
func pieceFile(pieces iter.Seq[string]) []byte {
	file := []byte("\x12\x02\x18\x02") // trainer_spec {model_type: BPE}
	for text := range pieces {
		inner := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(text)))
		inner = append(inner, text...)
		file = binary.AppendUvarint(append(file, 1<<3|2), uint64(len(inner)))
		file = append(file, inner...)
	}
	return file
}

// TestMergesOfPieces: neither one long piece, nor many that are as long as they may be, nor pieces
// that can be cut at every place keep the reader busy or fill the memory.
func TestMergesOfPieces(t *testing.T) {
	runs := func(count, length int) iter.Seq[string] {
		return func(yield func(string) bool) {
			for i := range count {
				if !yield(strings.Repeat("a", length) + strconv.Itoa(i)) {
					return
				}
			}
		}
	}
	every := func(lengths int, letters string) iter.Seq[string] {
		return func(yield func(string) bool) {
			for _, c := range letters {
				for n := 1; n <= lengths; n++ {
					if !yield(strings.Repeat(string(c), n)) {
						return
					}
				}
			}
		}
	}
	for what, c := range map[string]struct {
		pieces iter.Seq[string]
		want   string
	}{
		"one long piece":   {runs(1, 32<<20), "the limit is 512"},
		"many long ones":   {runs(20_000, 500), ""},
		"cut everywhere":   {every(512, "abcdefghijklmnopqrstuvwxyz"), "the limits are"},
		"cut at each, few": {every(200, "ab"), ""},
	} {
		file := pieceFile(c.pieces)
		p, err := readPieces(file)
		must(t, err)
		start := processTime()
		merges, err := p.merges()
		took := processTime() - start
		// 10 MB of long pieces took 0.15 s.
		if took > 10*time.Second || len(merges) > maxMerges {
			t.Errorf("%s: %d bytes took %v and gave %d merges", what, len(file), took, len(merges))
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", what, err, c.want)
		}
	}
}

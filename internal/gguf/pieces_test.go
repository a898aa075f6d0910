package gguf_test

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// readJSON reads a compressed file of the tests of tokenizers.
func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	zipped, err := os.Open(filepath.Join(tokenizersDir, name))
	must(t, err)
	defer zipped.Close()
	unzipped, err := gzip.NewReader(zipped)
	must(t, err)
	must(t, json.NewDecoder(unzipped).Decode(v))
}

// field returns the last field of this number in a message of protocol buffers, a message or text.
func field(message []byte, number uint64) (found []byte) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		switch key & 7 {
		case 0:
			_, n = binary.Uvarint(message)
		case 5:
			n = 4
		case 2:
			size, head := binary.Uvarint(message)
			n = head + int(size)
			if key>>3 == number {
				found = message[head:n]
			}
		}
		message = message[n:]
	}
	return found
}

// t5Words are the keys of a tokenizer as llama.cpp's converter writes them of the recorded file of
// T5, with the recorded texts and their ids: tokens of the model that the file does not have are
// padded, as the places that a text leaves open.
func t5Words(t *testing.T) (keys []gguftest.Key, texts []string, ids [][]int) {
	t.Helper()
	var recorded struct {
		Files map[string][]byte
		Alone []struct {
			Class string
			File  struct{ Model struct{ Vocab [][2]any } }
			IDs   [][]int
		}
	}
	readJSON(t, "pieces.json.gz", &recorded)
	var cases []struct{ Text string }
	readJSON(t, "ref.json.gz", &cases)
	for _, c := range cases {
		texts = append(texts, c.Text)
	}
	t5 := recorded.Alone[0]
	var tokens []string
	var scores []float32
	types := []int32{3, 3, 2}
	for i, piece := range t5.File.Model.Vocab {
		token, score := piece[0].(string), float32(piece[1].(float64))
		if i > 2 {
			types = append(types, 1)
		}
		if strings.HasPrefix(token, "<extra_id_") {
			token, score, types[i] = strings.Replace(token, "<extra_id_", "[PAD", 1), -10000, 5
		}
		tokens, scores = append(tokens, token), append(scores, score)
	}
	return []gguftest.Key{
		{Name: "tokenizer.ggml.model", Value: "t5"},
		{Name: "tokenizer.ggml.pre", Value: "default"},
		{Name: "tokenizer.ggml.tokens", Value: tokens},
		{Name: "tokenizer.ggml.scores", Value: scores},
		{Name: "tokenizer.ggml.token_type", Value: types},
		{Name: "tokenizer.ggml.add_space_prefix", Value: true},
		{Name: "tokenizer.ggml.remove_extra_whitespaces", Value: true},
		{
			Name:  "tokenizer.ggml.precompiled_charsmap",
			Value: field(field(recorded.Files["source.spm"], 3), 2),
		},
	}, texts, t5.IDs[:319]
}

// openT5 returns the tokenizer of a file of the kind t5.
func openT5(m *gguf.Model) (*tokenizer.Tokenizer, error) {
	special, err := m.SpecialTokens()
	if err != nil {
		return nil, err
	}
	return tokenizer.ParsePieces(m.Pieces(), nil, m.TokenizerName(), tokenizer.Config{
		Class: "T5Tokenizer", Settings: map[string]any{"extra_ids": 0}, Special: special,
	})
}

// TestPiecesOfT5: a tokenizer of SentencePiece that was converted to GGUF gives the ids of
// T5Tokenizer for the 319 recorded texts.
func TestPiecesOfT5(t *testing.T) {
	keys, texts, ids := t5Words(t)
	_, file := converted(t, "t5")
	tok, err := openT5(open(t, file.With(keys...)))
	must(t, err)
	if tok.VocabSize() != 450 || len(texts) != 319 {
		t.Errorf("%d tokens and %d texts, want 450 and 319", tok.VocabSize(), len(texts))
	}
	for i, text := range texts {
		tokens, err := tok.Encode(text, true)
		must(t, err)
		var got []int
		for _, token := range tokens {
			got = append(got, token.ID)
		}
		if !slices.Equal(got, ids[i]) {
			t.Errorf("%q: ids %v, want %v", text, got, ids[i])
		}
	}
	plain, err := openT5(open(t, file.With(append(keys,
		gguftest.Key{Name: "tokenizer.ggml.add_space_prefix", Value: false},
		gguftest.Key{Name: "tokenizer.ggml.remove_extra_whitespaces", Value: false},
	)...)))
	must(t, err)
	for text, want := range map[string]int{"t": 2, " t ": 4} { // with the end of the text
		if tokens, err := plain.Encode(text, true); err != nil || len(tokens) != want {
			t.Errorf("%q is %d tokens, %v; want %d: nothing is put in front, and spaces stay", text,
				len(tokens), err, want)
		}
	}
}

// TestDamagedT5: keys that are missing or of another kind are errors that name them, and no damage
// panics.
func TestDamagedT5(t *testing.T) {
	keys, _, _ := t5Words(t)
	_, file := converted(t, "t5")
	good := file.With(keys...)
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"scores", nil, "tokenizer.ggml.scores is missing"},
		{"precompiled_charsmap", "x", "tokenizer.ggml.precompiled_charsmap is"},
		{"precompiled_charsmap", []int32{1}, "it must be a list of bytes"},
		{"remove_extra_whitespaces", "x", "it must be true or false"},
		{"add_eos_token", false, "tokenizer.ggml.add_eos_token are false and false"},
		{"precompiled_charsmap", []byte{9, 9, 9, 9, 9}, "precompiled_charsmap"},
		{"token_type", slices.Repeat([]int32{0}, 450), "of type 0"},
	} {
		key := gguftest.Key{Name: "tokenizer.ggml." + c.key, Value: c.value}
		m, err := openBytes(good.With(key).Bytes())
		if err == nil {
			_, err = openT5(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want %q", c.key, c.value, err, c.want)
		}
	}
	small := smallT5(t)
	whole, random := small.Bytes(), rand.New(rand.NewPCG(1, 2))
	must(t, use(whole))
	keysEnd := header(t, small)
	for range 2000 {
		data := slices.Clone(whole)
		for range 1 + random.IntN(8) {
			data[random.IntN(keysEnd)] = byte(random.IntN(256))
		}
		_ = use(data)
	}
}

// smallT5 is T5 with a tokenizer of four pieces.
func smallT5(t testing.TB) gguftest.File {
	t.Helper()
	_, file := converted(t, "t5")
	return file.With(
		gguftest.Key{Name: "tokenizer.ggml.model", Value: "t5"},
		gguftest.Key{
			Name: "tokenizer.ggml.tokens", Value: []string{"<pad>", "</s>", "<unk>", "▁", "a", "[PAD]"},
		},
		gguftest.Key{Name: "tokenizer.ggml.token_type", Value: []int32{3, 3, 2, 1, 4, 5}},
		gguftest.Key{
			Name: "tokenizer.ggml.scores", Value: []float32{0, 0, 0, -1, -2, -10000},
		},
		gguftest.Key{Name: "tokenizer.ggml.precompiled_charsmap", Value: []byte{4, 0, 0, 0, 0, 0, 0, 0}},
	)
}

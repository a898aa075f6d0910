package gguf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

// encoded returns the ids of a text.
func encoded(t *testing.T, tok *tokenizer.Tokenizer, text string) (ids []int) {
	t.Helper()
	tokens, err := tok.Encode(text, false)
	must(t, err)
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	return ids
}

// remarks returns what was noticed in a file.
func remarks(t *testing.T, m *gguf.Model) string {
	t.Helper()
	_, s, err := m.Read()
	must(t, err)
	return strings.Join(s.Remarks, "\n")
}

// vocabulary returns keys of a byte-level tokenizer with 32 tokens, the first of which are given.
func vocabulary(merges []string, first ...string) []gguftest.Key {
	tokens := slices.Clone(first)
	for _, c := range []rune("abcdefghijklmnopqrstuvwxyzĠ0123456789")[:32-len(first)] {
		tokens = append(tokens, string(c))
	}
	return []gguftest.Key{
		{Name: "tokenizer.ggml.tokens", Value: tokens},
		{Name: "tokenizer.ggml.merges", Value: merges},
		{Name: "tokenizer.ggml.eos_token_id"}, {Name: "tokenizer.ggml.unknown_token_id"},
	}
}

// Known control tokens are control tokens although the file types them as ordinary, unless they
// come from texts: merges make them, or an own type tells what they are.
func TestKnownControls(t *testing.T) {
	const ordinary, control, user = 1, 3, 4
	llama := []gguftest.Key{
		{Name: "tokenizer.ggml.model", Value: "llama"}, {Name: "tokenizer.ggml.pre"},
		{Name: "tokenizer.ggml.scores", Value: make([]float32, 32)},
		{Name: "tokenizer.ggml.add_bos_token", Value: false},
	}
	for _, c := range []struct {
		name    string
		tokens  []string
		types   []int32 // of the first tokens; nil: the file has no types
		merges  []string
		more    []gguftest.Key
		special []int  // the ids of control tokens
		ends    string // the ids that end a turn
		remark  string
	}{
		{
			"ChatML", []string{"<|im_start|>", "<|im_end|>"}, []int32{ordinary, ordinary}, nil, nil,
			[]int{0, 1}, "[1]", "<|im_start|>, <|im_end|> as ordinary; by their names",
		},
		{"no types", []string{"<|eot_id|>", "<|start_header_id|>"}, nil, nil, nil, []int{0, 1}, "[0]", "<|eot_id|>, <|start_header_id|>"},
		{
			"Gemma", []string{"<start_of_turn>", "<end_of_turn>"}, []int32{ordinary, ordinary}, nil, llama,
			[]int{0, 1}, "[1]", "<start_of_turn>, <end_of_turn>",
		},
		{
			"a tag of HTML that merges make", []string{"<PRE>", "<PRE", ">"}, []int32{ordinary, ordinary, ordinary},
			[]string{"<PRE >"}, nil, nil, "[]", "",
		},
		{"a tag that is two tokens", []string{"</s>", "</", "s>"}, []int32{ordinary, ordinary, ordinary}, nil, llama, nil, "[]", ""},
		{"typed well", []string{"<|im_start|>", "<|im_end|>"}, []int32{control, control}, nil, nil, []int{0, 1}, "[1]", ""},
		{"searched for in texts", []string{"<|end|>"}, []int32{user}, nil, nil, nil, "[0]", ""},
		{
			"the key comes first", []string{"<|endoftext|>", "<|im_end|>"}, []int32{control, control}, nil,
			[]gguftest.Key{{Name: "tokenizer.ggml.eos_token_id", Value: uint32(1)}},
			[]int{0, 1}, "[1 0]", "",
		},
		{"an end of a message", []string{"<|end|>", "<|return|>"}, []int32{control, control}, nil, nil, []int{0, 1}, "[1]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			types := slices.Repeat([]int32{ordinary}, 32)
			copy(types, c.types)
			keys := append(vocabulary(c.merges, c.tokens...), c.more...)
			keys = append(keys, gguftest.Key{Name: "tokenizer.ggml.token_type", Value: types})
			if c.types == nil {
				keys[len(keys)-1].Value = nil
			}
			file := gguftest.Small().With(keys...)
			m, tok := open(t, file), openTokenizer(t, file)
			for id, text := range c.tokens {
				special := slices.Contains(c.special, id)
				if tok.IsSpecial(id) != special {
					t.Errorf("%s is a control token: %v, want %v", text, !special, special)
				}
				if got := encoded(t, tok, "a"+text+"b"); special && !slices.Equal(got,
					[]int{len(c.tokens), id, len(c.tokens) + 1}) {
					t.Errorf("a%sb is %v", text, got)
				}
			}
			ends, err := m.EOS()
			if err != nil || fmt.Sprint(ends) != c.ends {
				t.Errorf("%v end a turn, %v; want %s", ends, err, c.ends)
			}
			got := remarks(t, m)
			if !strings.Contains(got, c.remark) || (c.remark == "") != (got == "") {
				t.Errorf("remark %q, want %q", got, c.remark)
			}
		})
	}
}

// Of two ids with one text, the first encodes and both decode.
func TestRepeatedTokens(t *testing.T) {
	llama := []gguftest.Key{
		{Name: "tokenizer.ggml.model", Value: "llama"}, {Name: "tokenizer.ggml.pre"},
		{Name: "tokenizer.ggml.scores", Value: make([]float32, 32)},
		{Name: "tokenizer.ggml.add_bos_token", Value: false},
		{Name: "tokenizer.ggml.add_space_prefix", Value: false},
	}
	for name, more := range map[string][]gguftest.Key{"gpt2": nil, "llama": llama} {
		types := slices.Repeat([]int32{1}, 32)
		types[0], types[4] = 3, 3
		keys := append(vocabulary([]string{"a b"}, "<end>", "x", "ab", "x", "<end>", "ab"), more...)
		keys = append(keys, gguftest.Key{Name: "tokenizer.ggml.token_type", Value: types},
			gguftest.Key{Name: "tokenizer.ggml.eos_token_id", Value: uint32(4)})
		file := gguftest.Small().With(keys...)
		m, tok := open(t, file), openTokenizer(t, file)
		if got, want := encoded(t, tok, "xab<end>"), []int{1, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("%s: ids %v, want %v", name, got, want)
		}
		if got, err := tok.Decode([]int{1, 3, 2, 5, 0, 4}, false); err != nil ||
			got != "xxabab<end><end>" {
			t.Errorf("%s: decoded %q, %v", name, got, err)
		}
		if !tok.IsSpecial(4) || tok.VocabSize() != 32 {
			t.Errorf("%s: the repeated control token is text, or of %d ids some are missing", name,
				tok.VocabSize())
		}
		if ends, err := m.EOS(); err != nil || !slices.Equal(ends, []int{4}) {
			t.Errorf("%s: %v end a turn, %v", name, ends, err)
		}
		for _, want := range []string{
			`tokens 1 and 3 are both "x"; texts are encoded as the first one`,
			"4 tokens have the text of an earlier one",
		} {
			if got := remarks(t, m); !strings.Contains(got, want) {
				t.Errorf("%s: remarks %q, want %q", name, got, want)
			}
		}
		var written strings.Builder
		if _, err := tok.WriteTo(&written); err != nil {
			t.Fatal(err)
		}
		again, err := tokenizer.Parse([]byte(written.String()), "written")
		must(t, err)
		if got, err := again.Decode([]int{3, 5, 4}, false); err != nil || got != "xab<end>" {
			t.Errorf("%s: written and read, decoded %q, %v", name, got, err)
		}
	}
}

// Without tokenizer.ggml.pre, the place of a known token says how texts are cut, or the caller
// does.
func TestMissingPre(t *testing.T) {
	small := gguftest.Small().With(gguftest.Key{Name: "tokenizer.ggml.pre"})
	dir := t.TempDir()
	path := filepath.Join(dir, "small.gguf")
	write := func(path string, f gguftest.File) {
		must(t, os.WriteFile(path, f.Bytes(), 0o600))
	}
	write(path, small)
	for _, c := range []struct{ pre, want string }{
		{"", "key tokenizer.ggml.pre is missing; name how the texts of this model are cut as the pre-tokenizer: bloom, "},
		{"rwkv", `the pre-tokenizer "rwkv" is unknown; known are bloom, `},
	} {
		if _, err := gguf.OpenAs(path, c.pre); err == nil ||
			!strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "llama-bpe, ") {
			t.Errorf("%q: error %v, want %q", c.pre, err, c.want)
		}
	}
	other := filepath.Join(dir, "other.gguf")
	write(other, small.With(gguftest.Key{Name: "tokenizer.ggml.pre", Value: "strange"}))
	if _, err := gguf.Open(other); err == nil ||
		!strings.Contains(err.Error(), "name it as the pre-tokenizer") {
		t.Errorf("an unknown name: error %v", err)
	}
	for _, path := range []string{path, other} {
		m, err := gguf.OpenAs(path, "smollm")
		must(t, err)
		defer m.Close()
		text, err := m.TokenizerJSON()
		if err != nil || !strings.Contains(string(text), "individual_digits") {
			t.Errorf("the digits are not cut one by one: %v", err)
		}
	}
	const vocab = 128_256
	tokens := []string{"!"}
	for i := len(tokens); i < vocab; i++ {
		tokens = append(tokens, fmt.Sprintf("<|reserved_%d|>", i))
	}
	tokens[128_000] = "<|begin_of_text|>"
	f := small.With(gguftest.Key{Name: "tokenizer.ggml.tokens", Value: tokens},
		gguftest.Key{Name: "tokenizer.ggml.token_type"},
		gguftest.Key{Name: "tokenizer.ggml.bos_token_id", Value: uint32(128_000)})
	for i, x := range f.Tensors {
		if x.Name == "token_embd.weight" {
			f.Tensors[i].Shape, f.Tensors[i].Data = []int{vocab, 32}, make([]byte, 18*vocab)
		}
	}
	m := open(t, f)
	const want = "key tokenizer.ggml.pre is missing; token 128000 is <|begin_of_text|>, so texts " +
		"are cut as llama-bpe"
	if got := remarks(t, m); !strings.Contains(got, want) {
		t.Errorf("remarks %q, want %q", got, want)
	}
	text, err := m.TokenizerJSON()
	if err != nil || !strings.Contains(string(text), `\\p{N}{1,3}`) {
		t.Errorf("texts are not cut as those of Llama 3: %v", err)
	}
}

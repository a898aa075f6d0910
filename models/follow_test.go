package models_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// prefixSpace are the ways in which files put a space before the first word of a text: Llama 2 and
// Mistral, newer files of Llama 2, and those of Vicuna made by transformers 5. GPT-2's has none.
var prefixSpace = map[string]string{
	"prepend": `"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` +
		`{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null`,
	"first":  `"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁",` + `"prepend_scheme":"first","split":false}`,
	"always": `"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁",` + `"prepend_scheme":"always","split":false}`,
	"none":   `"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},` + `"pre_tokenizer":null`,
}

// withPieces opens a decoder with a small tokenizer of the kind of SentencePiece.
func withPieces(t *testing.T, prefix string) *models.Model {
	t.Helper()
	return withTokenizer(t, pieces(prefix))
}

// withTokenizer opens a decoder with a tokenizer.json.
func withTokenizer(t *testing.T, file string) *models.Model {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/goldens/llama")))
	write(t, filepath.Join(dir, "tokenizer.json"), []byte(file))
	return open(t, dir)
}

// pieces returns the tokenizer.json of that tokenizer.
func pieces(prefix string) string {
	tokens := []string{"<unk>", "<s>", "</s>", "▁"}
	for c := 'a'; c <= 'z'; c++ {
		tokens = append(tokens, string(c))
	}
	merges := []string{
		"i s", "a r", "ar e", "w o", "wo r", "l d", "wor ld", "▁ world", "▁ wor", "▁ is", "▁ are", "▁ a",
	}
	for _, m := range merges {
		tokens = append(tokens, strings.ReplaceAll(m, " ", ""))
	}
	vocab, added := make([]string, len(tokens)), []string{}
	for id, token := range tokens {
		vocab[id] = fmt.Sprintf("%q:%d", token, id)
		if id < 3 {
			added = append(added, fmt.Sprintf(`{"id":%d,"content":%q,"single_word":false,`+
				`"lstrip":false,"rstrip":false,"normalized":false,"special":true}`, id, token))
		}
	}
	for i, m := range merges {
		merges[i] = fmt.Sprintf("%q", m)
	}
	return fmt.Sprintf(`{"version":"1.0",
"truncation":null,"padding":null,"added_tokens":[%s],%s,"post_processor":{
 "type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
 {"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}}],
 "special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
"decoder":{"type":"Replace","pattern":{"String":"▁"},"content":" "},
"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,
 "end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"vocab":{%s},"merges":[%s]}}`,
		strings.Join(added, ","), prefixSpace[prefix], strings.Join(vocab, ","),
		strings.Join(merges, ","))
}

// TestEncodeAfter checks that a text that follows a prompt has the tokens that it has in the whole
// text, whatever the tokenizer puts before the first word of a text.
func TestEncodeAfter(t *testing.T) {
	for _, c := range []struct {
		before, text string
		want         []string
		joined       bool
	}{
		{"the keys", " are", []string{" are"}, false},
		{"the keys", "are", []string{"are"}, false},
		{"the keys", " are is", []string{" are", " is"}, false},
		{"the keys", "  is", []string{" ", " is"}, false},
		{"the keys ", " is", []string{" is"}, false},
		{"", " are", []string{" are"}, false},
		{"", "are", []string{"are"}, false},
		{"hello wor", "ld", []string{"ld"}, true},
		{"the keys ", "are", []string{"are"}, true},
		{"the κ", "κ is", []string{"<unk>", " is"}, true}, // one unknown token for both letters
	} {
		for prefix := range prefixSpace {
			tokens, joined, err := trace.EncodeAfter(withPieces(t, prefix), c.before, c.text)
			must(t, err)
			var got []string
			for _, token := range tokens {
				got = append(got, token.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || joined != c.joined {
				t.Errorf("%s: %q after %q, joined %v (-want +got):\n%s", prefix, c.text, c.before,
					joined, diff)
			}
			if last := tokens[len(tokens)-1]; last.End != len(c.text) {
				t.Errorf("%s: %q after %q ends at byte %d", prefix, c.text, c.before, last.End)
			}
		}
	}
}

// TestFollowing explains a continuation against a contrast, by a replacement, each of which is one
// token with a space before it, and reads the remarks about prompts that people rarely mean.
func TestFollowing(t *testing.T) {
	for prefix := range prefixSpace {
		m := withPieces(t, prefix)
		for _, c := range []struct {
			prompt, continuation string
			steps                []string
			warning              string
		}{
			{"the keys", " are", []string{" are"}, ""},
			{"hello wor", "ld", []string{"ld"}, "as other tokens than it is given here"},
			{"the keys ", " are", []string{" are"}, "The prompt ends in a space"},
			{"<s> the keys", " are", []string{" are"}, `"<s>" stands twice`},
		} {
			opts := attribution.Options{
				Methods: []string{"occlusion"}, Continuation: c.continuation, Contrast: " is",
			}
			opts.Scoring.Replacement = " are"
			e, err := attribution.Explain(context.Background(), m, c.prompt, opts)
			must(t, err)
			var steps []string
			for _, s := range e.Steps {
				steps = append(steps, s.Text)
			}
			odd := slices.DeleteFunc(slices.Clone(e.Warnings), func(w string) bool {
				return strings.HasPrefix(w, "A begin-of-text token")
			})
			if diff := cmp.Diff(c.steps, steps); diff != "" {
				t.Errorf("%s, %q: steps (-want +got):\n%s", prefix, c.prompt, diff)
			}
			if len(odd) > 1 || len(odd) == 1 != (c.warning != "") ||
				!strings.Contains(strings.Join(odd, ""), c.warning) {
				t.Errorf("%s, %q: warnings %q, want one with %q", prefix, c.prompt, odd, c.warning)
			}
		}
	}
}

// TestStandInsByName: a token of text is not the unknown or mask token because it is written like
// one, as entry 128244 of Qwen2.5, "<unk>", is not. The model's ids of padding and end count.
func TestStandInsByName(t *testing.T) {
	const file = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[%s],
"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,
"model":{"type":"BPE","dropout":null,"unk_token":%s,"continuing_subword_prefix":null,
 "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"merges":[],
 "vocab":{"<unk>":0,"[UNK]":1,"[SEP]":2,"<mask>":3,"[MASK]":4,"[PAD]":5}}}`
	const mask = `{"id":3,"content":"<mask>","single_word":false,"lstrip":false,"rstrip":false,` +
		`"normalized":false,"special":true}`
	for _, c := range []struct {
		name, added, unknown string
		want                 map[string]int
	}{
		{"tokens of text", "", "null", map[string]int{"pad": 0, "end": 2}},
		{"a named one", "", `"[UNK]"`, map[string]int{"pad": 0, "end": 2, "unknown": 1}},
		{"a control token", mask, "null", map[string]int{"pad": 0, "end": 2, "mask": 3}},
	} {
		m := withTokenizer(t, fmt.Sprintf(file, c.added, c.unknown))
		got := map[string]int{}
		for _, kind := range []string{"mask", "unknown", "pad", "end"} {
			if id, ok := m.Replacement(kind); ok {
				got[kind] = id
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestTokenizerClass: do_lower_case of tokenizer_config.json counts as in transformers 5, also for
// the tokenizer alone, and what differs from tokenizer.json is remarked.
func TestTokenizerClass(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/goldens/bert")))
	const vocabulary = `"vocab":{"[PAD]":0,"[CLS]":1,"[SEP]":2,"[UNK]":3,"a":4,"b":5}`
	write(t, filepath.Join(dir, "tokenizer.json"), []byte(strings.Replace(
		fmt.Sprintf(wordPiece, "null"), vocabulary,
		`"vocab":{"[PAD]":0,"[CLS]":1,"[SEP]":2,"[UNK]":3,"a":4,"A":5}`, 1)))
	for _, c := range []struct {
		config string
		want   int
	}{
		{`{"tokenizer_class":"BertTokenizer"}`, 4},
		{`{"tokenizer_class":"BertTokenizer","do_lower_case":false}`, 5},
		{`{"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":true}`, 5},
	} {
		write(t, filepath.Join(dir, "tokenizer_config.json"), []byte(c.config))
		m := open(t, dir)
		tokens, err := m.Encode("A", trace.SpecialsOff)
		if err != nil || len(tokens) != 1 || tokens[0].ID != c.want {
			t.Errorf("%s: tokens %v, %v; want %d", c.config, tokens, err, c.want)
		}
		own := strings.Contains(c.config, "PreTrained")
		if remarks := strings.Join(m.Info().Remarks, ""); own == strings.Contains(remarks,
			"those of BertTokenizer") {
			t.Errorf("%s: remarks %q", c.config, remarks)
		}
		alone, err := models.OpenTokenizer(dir)
		must(t, err)
		if ids, err := alone.Encode("A", false); err != nil || ids[0].ID != c.want {
			t.Errorf("%s: the tokenizer alone: %v, %v; want %d", c.config, ids, err, c.want)
		}
	}
}

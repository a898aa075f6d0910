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
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// prefixSpace are the ways in which files put a space before the first word of a text: Llama 2 and
// Mistral, newer files of Llama 2, and those of Vicuna made by transformers 5. GPT-2's has none.
var prefixSpace = map[string]string{
	"prepend": `"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` +
		`{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null`,
	"first": `"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁",` +
		`"prepend_scheme":"first","split":false}`,
	"always": `"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"▁",` +
		`"prepend_scheme":"always","split":false}`,
	"none": `"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},` +
		`"pre_tokenizer":null`,
}

// withPieces opens a decoder with a small tokenizer of the kind of SentencePiece.
func withPieces(t *testing.T, prefix string) *models.Model {
	t.Helper()
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
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/goldens/llama")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tokenizer.json"), fmt.Appendf(nil, `{"version":"1.0",
"truncation":null,"padding":null,"added_tokens":[%s],%s,"post_processor":{
 "type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
 {"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}}],
 "special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
"decoder":{"type":"Replace","pattern":{"String":"▁"},"content":" "},
"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,
 "end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,"vocab":{%s},"merges":[%s]}}`,
		strings.Join(added, ","), prefixSpace[prefix], strings.Join(vocab, ","),
		strings.Join(merges, ",")))
	return open(t, dir)
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
			if err != nil {
				t.Fatal(err)
			}
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
			e, err := attribution.Explain(context.Background(), m, c.prompt, attribution.Options{
				Methods: []string{"occlusion"}, Continuation: c.continuation, Contrast: " is",
				Scoring: scorer.Options{Replacement: " are"},
			})
			if err != nil {
				t.Fatal(err)
			}
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

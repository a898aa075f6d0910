package tokenizer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// written is the file of a tokenizer.
func written(t testing.TB, tok *Tokenizer) string {
	t.Helper()
	var b strings.Builder
	if _, err := tok.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// withParts is gpt2.json with other parts, each old text replaced by the new one that follows it.
func withParts(t testing.TB, oldNew ...string) string {
	t.Helper()
	file := written(t, load(t, "gpt2.json"))
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(file, oldNew[i]) {
			t.Fatalf("gpt2.json does not contain %q", oldNew[i])
		}
		file = strings.Replace(file, oldNew[i], oldNew[i+1], 1)
	}
	return file
}

// endOfText is in the added tokens of gpt2.json.
const endOfText = `"content": "<|endoftext|>"`

func TestVocabulary(t *testing.T) {
	tok := load(t, "roberta.json")
	if got := tok.VocabSize(); got != 1200 {
		t.Errorf("VocabSize = %d, want 1200", got)
	}
	for id, name := range []string{"<s>", "<pad>", "</s>", "<unk>"} {
		if got, ok := tok.ID(name); got != id || !ok || !tok.IsSpecial(id) {
			t.Errorf("ID(%q) = %d, %v, want the special token %d", name, got, ok, id)
		}
	}
	for _, c := range []struct {
		content, spells string
		special         bool
	}{{"<mask>", "<mask>", true}, {"Ġthe", " the", false}, {"Ċ", "\n", false}, {"Ã", "\xc3", false}} {
		id, ok := tok.ID(c.content)
		if !ok || tok.TokenText(id) != c.spells {
			t.Errorf("ID(%q) = %d, %v, which spells %q, want %q", c.content, id, ok,
				tok.TokenText(id), c.spells)
		}
		if tok.IsSpecial(id) != c.special {
			t.Errorf("IsSpecial(%d) = %v, want %v", id, !c.special, c.special)
		}
	}
	if _, ok := tok.ID(" the"); ok {
		t.Error(`ID(" the") was found; contents write the space as Ġ`)
	}
	for _, id := range []int{-1, 1200} {
		if tok.TokenText(id) != "" || tok.IsSpecial(id) {
			t.Errorf("id %d outside the vocabulary spells something", id)
		}
		if _, err := tok.Decode([]int{5, id}, true); err == nil ||
			!strings.Contains(err.Error(), "is not in the vocabulary") {
			t.Errorf("Decode of id %d: error %v", id, err)
		}
	}
}

// TestAddedTokens has the texts and the results of Hugging Face tokenizers 0.23.3 on the same file.
func TestAddedTokens(t *testing.T) {
	added := `"added_tokens": [
    {"id":1200,"content":"<m>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true},
    {"id":1201,"content":"<r>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false},
    {"id":1202,"content":"zz","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
    {"id":1203,"content":"zzz","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
    {"id":1204,"content":"z<","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},`
	tok, err := Parse([]byte(withParts(t, `"added_tokens": [`, added)), "added")
	must(t, err)
	type at struct {
		id         int
		begin, end int
	}
	for _, c := range []struct {
		name, text string
		want       []at // of the added tokens alone
	}{
		{"white space before", "a \u3000<m> b", []at{{1200, 1, 8}}},
		{"white space after", "a <r> \t\nb", []at{{1201, 2, 8}}},
		{"white space is taken once", "<r>  <m>", []at{{1201, 0, 5}, {1200, 5, 8}}},
		{"single word", "zz zz.azz zz", []at{{1202, 0, 2}, {1202, 3, 5}, {1202, 10, 12}}},
		{"no single word before a mark", "zz\u0301 zz_ 1zz", nil},
		{"longest", "zzzz", []at{{1203, 0, 3}}},
		{"text as it is goes before normalised text", "z<m>", []at{{1200, 1, 4}}},
		{"normalised text between", "z< <m>z<", []at{{1204, 0, 2}, {1200, 2, 6}, {1204, 6, 8}}},
		{"one after the other", "<m><m>", []at{{1200, 0, 3}, {1200, 3, 6}}},
	} {
		var got []at
		for _, e := range encode(t, tok, c.text) {
			if e.ID >= 1200 {
				got = append(got, at{e.ID, e.Begin, e.End})
			}
			if e.Special != (e.ID == 1200) {
				t.Errorf("%s: token %+v of %q has Special %v", c.name, e, c.text, e.Special)
			}
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(at{})); diff != "" {
			t.Errorf("%s: added tokens of %q (-want +got):\n%s", c.name, c.text, diff)
		}
	}
}

// TestPrefixSpace has the results of Hugging Face tokenizers 0.23.3.
func TestPrefixSpace(t *testing.T) {
	const pre = `"add_prefix_space": false`
	tok, err := Parse([]byte(withParts(t, pre, `"add_prefix_space": true`)), "prefix")
	must(t, err)
	for _, c := range []struct {
		name, text string
		want       [][2]int
		first      string
	}{
		{"word", "the", [][2]int{{0, 3}}, " the"},
		{"has a space", " the", [][2]int{{0, 4}}, " the"},
		{"space stands for the first character", "é", [][2]int{{0, 2}, {0, 2}}, " \xc3"},
		{"space alone before a line break", "\n", [][2]int{{0, 1}, {0, 1}}, " "},
		{"empty", "", [][2]int{}, ""},
	} {
		encoded := encode(t, tok, c.text)
		if diff := cmp.Diff(c.want, offsetsOf(encoded)); diff != "" {
			t.Errorf("%s: offsets of %q (-want +got):\n%s", c.name, c.text, diff)
		}
		if len(encoded) > 0 && tok.TokenText(encoded[0].ID) != c.first {
			t.Errorf("%s: first token of %q spells %q, want %q", c.name, c.text,
				tok.TokenText(encoded[0].ID), c.first)
		}
	}
}

func TestTemplate(t *testing.T) {
	tok := edited(t, "gpt2", "post_processor", `{"type":"Sequence","processors":[
		{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},
		{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
		 "pair":[],"special_tokens":{"X":{"id":"X","ids":[0],"tokens":["<|endoftext|>"]}}}]}`)
	the, _ := tok.ID("Ġthe")
	want := []Encoded{
		{Special: true}, {ID: the, Begin: 1, End: 4}, {ID: the, Begin: 5, End: 8},
	}
	if diff := cmp.Diff(want, encode(t, tok, " the the")); diff != "" {
		t.Errorf("with specials (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], encodeWith(t, tok, " the the", false)); diff != "" {
		t.Errorf("without specials (-want +got):\n%s", diff)
	}
}

// TestLongWord is one word of one letter, where merging or covering by search takes quadratic time:
// minutes instead of milliseconds.
func TestLongWord(t *testing.T) {
	for _, kind := range kinds {
		tok := load(t, kind+".json")
		for _, letter := range []string{"a", "e", " ", "=", "\xe2", "日", "\u0301"} {
			text := strings.Repeat(letter, 50_000/len(letter))
			start := time.Now()
			encoded := encodeWith(t, tok, text, false)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: %d bytes of %q took %v", kind, len(text), letter, took)
			}
			if kind != "gpt2" {
				continue
			}
			if got, err := tok.decode(idsOf(encoded), false, true); err != nil || got != text {
				t.Errorf("%d bytes of %q do not come back: %v", len(text), letter, err)
			}
		}
	}
}

// TestConcurrent encodes the same texts at once, with a cold cache, and compares with one after the
// other.
func TestConcurrent(t *testing.T) {
	cases := refCases(t)
	shared, alone := load(t, "gpt2.json"), load(t, "gpt2.json")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, c := range cases {
				if got := encode(t, shared, c.Text); !cmp.Equal(got, encode(t, alone, c.Text)) {
					t.Errorf("Encode(%q) differs when others encode", c.Text)
				}
			}
		})
	}
	group.Wait()
}

func TestDecodeReplacesParts(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"valid", "aé日😀", "aé日😀"},
		{"cut off after two bytes of three", "a\xe6\x97", "a\ufffd"},
		{"cut off after three bytes of four", "\xf0\x9f\x98z", "\ufffdz"},
		{"bytes that begin nothing", "\xff\x80\xc0", "\ufffd\ufffd\ufffd"},
		{"surrogate", "\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"too long a form", "\xe0\x80\xf0\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"beyond the last", "\xf4\x90\x80", "\ufffd\ufffd\ufffd"},
		{"replacement character itself", "\ufffd", "\ufffd"},
	} {
		if got := toValidUTF8([]byte(c.in)); got != c.want {
			t.Errorf("%s: toValidUTF8(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load("testdata/none.json"); err == nil ||
		!strings.HasPrefix(err.Error(), "tokenizer: ") {
		t.Errorf("Load of a missing file: error %v", err)
	}
}

// editedFile is a trained tokenizer's file with other parts: pairs of a key, which may be of the
// model ("model.dropout"), and what stands there.
func editedFile(t testing.TB, kind string, keyValue ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", kind+".json"))
	must(t, err)
	var file, model map[string]json.RawMessage
	must(t, errors.Join(json.Unmarshal(data, &file),
		json.Unmarshal(file["model"], &model)))
	for i := 0; i < len(keyValue); i += 2 {
		if key, ok := strings.CutPrefix(keyValue[i], "model."); ok {
			model[key] = json.RawMessage(keyValue[i+1])
			if file["model"], err = json.Marshal(model); err != nil {
				t.Fatalf("%s: %v", keyValue[i], err)
			}
			continue
		}
		file[keyValue[i]] = json.RawMessage(keyValue[i+1])
	}
	if data, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	return data
}

func edited(t testing.TB, kind string, keyValue ...string) *Tokenizer {
	t.Helper()
	tok, err := Parse(editedFile(t, kind, keyValue...), kind)
	must(t, err)
	return tok
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "the text ends too early"},
		{"no tokenizer", `{"version":"1.0"}`, "is this a tokenizer.json?"},
		{"text after it", withParts(t) + "x", "there is more after the value"},
		{"unknown key", withParts(t, `"dropout": null`, `"temperature": 1`), `unknown field "temperature"`},
		{"no merges", withParts(t, `"merges": [`, `"merges": null, "unk_token": [`), "model.merges: not an array"},
		{"added token has another id", withParts(t, `"id": 0`, `"id": 7`), "has id 7 in the file, but it must be 0"},
		{"added token is empty", withParts(t, endOfText, `"content": ""`, `"id": 0`, `"id": 1200`), "is empty"},
		{"id twice", withParts(t, `"!": 1`, `"!": 2`), "both have id 2"},
		{"id far away", withParts(t, `"!": 1`, `"!": 4000000000`), "should have ids below"},
		{"empty token", withParts(t, `"!": 1`, `"": 1`), "is the empty token"},
		{"merge of three", withParts(t, `"merges": [`, `"merges": ["a b c",`), "model.merges[0]: 3 tokens instead of 2"},
		{"merge of an unknown token", withParts(t, `"merges": [`, `"merges": [["a","☃"],`), `"☃" is not in vocab`},
		{"no UTF-8", "{\"version\":\"1.0\xff\"}", "not valid UTF-8"},
		{"token too long", string(
			editedFile(t, "bert_cased", "added_tokens", "[]", "model.vocab",
				`{"`+strings.Repeat("a", 1025)+`":0}`)), "1025 bytes, the limit is 1024"},
		{"part lacks a field", withParts(t, `"trim_offsets": true,`, ``), "needs add_prefix_space and trim_offsets"},
	} {
		_, err := Parse([]byte(c.file), "some.json")
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "tokenizer: some.json: ") {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if errors.As(err, new(*unsupportedError)) {
			t.Errorf("%s: error %v says unsupported, want malformed", c.name, err)
		}
	}
}

// TestUnknown encodes what a vocabulary has no tokens for, not even an unknown one: an error, as in
// Hugging Face.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		name string
		tok  *Tokenizer
	}{
		{"WordPiece", edited(t, "bert_cased", "model.unk_token", `"[NONE]"`)},
		{"Unigram", edited(t, "unigram", "model.unk_id", `null`)},
		{"BPE", edited(t, "llama2_legacy", "model.unk_token", `"[NONE]"`, "model.byte_fallback",
			"false")},
	} {
		_, err := c.tok.Encode("the ䷀", true)
		if err == nil || !strings.Contains(err.Error(), "model.unk_") ||
			!strings.HasPrefix(err.Error(), "tokenizer: ") {
			t.Errorf("%s: error %v, want one that names the unknown token", c.name, err)
		}
	}
}

// TestTimeout has a pattern that takes time without end.
func TestTimeout(t *testing.T) {
	tok := edited(t, "gpt2", "pre_tokenizer",
		`{"type":"Split","pattern":{"Regex":"(\\w|\\w\\w)+!"},"behavior":"Removed","invert":false}`)
	if _, err := tok.Encode(strings.Repeat("a", 200), true); err == nil ||
		!strings.Contains(err.Error(), `(\\w|`) {
		t.Errorf("error %v, want one that names the pattern", err)
	}
}

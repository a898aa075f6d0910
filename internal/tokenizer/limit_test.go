package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// times is a list of n equal parts.
func times(n int, part string) string {
	return strings.TrimSuffix(strings.Repeat(part+",", n), ",")
}

func sequence(list, parts string) string {
	return fmt.Sprintf(`{"type":"Sequence",%q:[%s]}`, list, parts)
}

// grownTexts are parts that make gigabytes of a few bytes, or take hours, each in another way.
var grownTexts = []struct {
	name, kind string
	keyValue   []string
	part       string // that the error names
}{
	{"nine times ten", "bert_cased", []string{"normalizer", sequence("normalizers",
		times(9,
			`{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`))}, "(Replace)"},
	{"at every place", "bert_cased", []string{"normalizer", sequence("normalizers",
		times(9,
			`{"type":"Replace","pattern":{"Regex":""},"content":"aaaaaaaaaa"}`))}, "(Replace)"},
	{"between all characters", "gpt2", []string{"normalizer", sequence("normalizers",
		times(9,
			`{"type":"Replace","pattern":{"String":""},"content":"aaaaaaaaaa"}`))}, "(Replace)"},
	{"a large replacement", "gpt2", []string{
		"normalizer",
		`{"type":"Replace","pattern":{"String":""},"content":"` + strings.Repeat("a",
			1<<20) + `"}`,
	}, "normalizer (Replace)"},
	{"prefixes", "gpt2", []string{"normalizer", sequence("normalizers",
		times(200, `{"type":"Prepend","prepend":"`+strings.Repeat("b", 1000)+`"}`))}, "(Prepend)"},
	{"doubled bytes", "gpt2", []string{"normalizer", sequence("normalizers", times(200, `{"type":"ByteLevel"}`))}, "(ByteLevel)"},
	{
		"doubled pieces", "gpt2",
		[]string{"pre_tokenizer", sequence("pretokenizers", times(100,
			`{"type":"Metaspace","replacement":"a","prepend_scheme":"always"},{"type":"Metaspace","replacement":"b","prepend_scheme":"always"}`))},
		"(Metaspace)",
	},
	{"doubled words", "gpt2", []string{"pre_tokenizer", sequence("pretokenizers", times(200,
		`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`))}, "(ByteLevel)"},
	{"a pattern without end", "gpt2", []string{
		"pre_tokenizer",
		`{"type":"Split","pattern":{"Regex":"((\\w|\\w\\w|\\s)*)*!"},"behavior":"Removed","invert":false}`,
	}, "pre_tokenizer (Split)"},
}

// TestGrownTexts checks that each ends with an error that names the part, the count and the limit,
// in little memory, and the same one each time.
func TestGrownTexts(t *testing.T) {
	for _, c := range grownTexts {
		t.Run(c.name, func(t *testing.T) {
			tok := edited(t, c.kind, c.keyValue...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := tok.Encode("a banana and another banana", true)
			runtime.ReadMemStats(&after)
			var limit *limitError
			if !errors.As(err, &limit) || !errors.Is(err, errLimit) {
				t.Fatalf("error %v, want a limitError", err)
			}
			if !strings.Contains(limit.Part,
				c.part) || limit.Value <= limit.Limit || limit.Input != 27 {
				t.Errorf("error %+v, want one of %s", limit, c.part)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 50<<20 {
				t.Errorf("it took %d MiB", made>>20)
			}
			if _, again := tok.Encode("a banana and another banana",
				true); again == nil || again.Error() != err.Error() {
				t.Errorf("errors %v and %v differ", err, again)
			}
			t.Log(err)
		})
	}
}

// TestGrownDecoded decodes where the decoder makes gigabytes of a few ids.
func TestGrownDecoded(t *testing.T) {
	for _, c := range []struct{ name, decoder, part string }{
		{"replaced", sequence("decoders", times(9, `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"}`)), "(Replace)"},
		{"doubled", sequence("decoders", times(200, `{"type":"BPEDecoder","suffix":""}`)), "(BPEDecoder)"},
		{"spaced", sequence("decoders", times(200, `{"type":"CTC","pad_token":"x","word_delimiter_token":"","cleanup":true}`)), "(CTC)"},
		{
			"a large replacement",
			`{"type":"Replace","pattern":{"String":""},"content":"` + strings.Repeat("a",
				1<<20) + `"}`, "decoder (Replace)",
		},
		{"a pattern without end", `{"type":"Replace","pattern":{"Regex":"((a|aa|.)*)*!"},"content":"b"}`, "decoder (Replace)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := edited(t, "gpt2", "decoder", c.decoder, "added_tokens",
				`[{"id":0,"content":"<|endoftext|>"},{"id":1200,"content":"`+
					strings.Repeat("banana", 20)+`"}]`)
			_, err := tok.Decode([]int{1200, 1200, 1200}, true)
			var limit *limitError
			if !errors.As(err, &limit) || !strings.Contains(limit.Part, c.part) {
				t.Fatalf("error %v, want a limitError of %s", err, c.part)
			}
			if text := tok.TokenText(1200); len(text) > 1<<20 {
				t.Errorf("TokenText has %d bytes", len(text))
			}
		})
	}
	tok := edited(t, "gpt2", "added_tokens",
		`[{"id":0,"content":"<|endoftext|>"},{"id":1200,"content":"`+strings.Repeat("a",
			1024)+`"}]`)
	ids := make([]int, 100_000)
	for i := range ids {
		ids[i] = 1200
	}
	if _, err := tok.Decode(ids, true); err == nil || !strings.Contains(err.Error(),
		"decode fewer") {
		t.Errorf("Decode of 100000 long tokens: error %v", err)
	}
}

// TestEmptyToken: nothing matches in a token that an earlier decoder emptied, as in the reference.
func TestEmptyToken(t *testing.T) {
	tok := edited(t, "gpt2", "decoder", sequence("decoders",
		`{"type":"Replace","pattern":{"String":"!"},"content":""},`+
			`{"type":"Replace","pattern":{"String":""},"content":"-"}`))
	id, ok := tok.ID("!")
	if text, err := tok.Decode([]int{id}, true); !ok || err != nil || text != "" {
		t.Errorf("Decode = %q, %v, want an empty text", text, err)
	}
}

// TestRoomForTexts has what real files and texts do: none of it is near a limit.
func TestRoomForTexts(t *testing.T) {
	for _, c := range []struct{ name, kind, text string }{
		{"a letter of 18", "unigram", strings.Repeat("\ufdfa", 2000)},
		{"spaces", "llama2_legacy", strings.Repeat(" ", 50_000)},
		{"Chinese", "bert_uncased", strings.Repeat("日本", 20_000)},
		{"a large text", "llama3", strings.Repeat("the keys to the cabinet, 12345\n", 30_000)},
		{"decomposed", "bert_uncased", strings.Repeat("Å", 50_000)},
	} {
		tok := load(t, c.kind+".json")
		if _, err := tok.Encode(c.text, true); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	tok := edited(t, "gpt2", "normalizer", sequence("normalizers", `{"type":"NFKC"},`+
		times(100, `{"type":"Replace","pattern":{"String":"x"},"content":"y"}`)))
	if _, err := tok.Encode(strings.Repeat("\ufdfa xyz", 5000), true); err != nil {
		t.Errorf("a hundred replacements: %v", err)
	}
}

// TestTooManyParts has files that are refused when they are read.
func TestTooManyParts(t *testing.T) {
	nested := func(list, inner string, n int) string {
		return strings.Repeat(`{"type":"Sequence","`+list+`":[`, n) + inner + strings.Repeat("]}",
			n)
	}
	ids, names := times(2000, "0"), times(2000, `"x"`)
	for _, c := range []struct {
		name     string
		keyValue []string
		want     string
	}{
		{"normalizers", []string{"normalizer", sequence("normalizers", times(1000,
			`{"type":"NFC"}`))}, "normalizer: 257 parts, the limit is 256"},
		{"pre-tokenizers", []string{"pre_tokenizer", sequence("pretokenizers", times(1000,
			`{"type":"Whitespace"}`))}, "pre_tokenizer: 257 parts"},
		{"decoders", []string{"decoder", sequence("decoders", times(1000, `{"type":"Fuse"}`))}, "decoder: 257 parts"},
		{"post-processors", []string{"post_processor", sequence("processors",
			times(1000,
				`{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true}`))}, "post_processor: 257 parts"},
		{
			"many in each of many",
			[]string{"normalizer", sequence("normalizers", times(100,
				sequence("normalizers", times(100, `{"type":"NFC"}`))))},
			"normalizer: 300 parts",
		},
		{"deep", []string{"normalizer", nested("normalizers", `{"type":"NFC"}`, 100)}, "more than 8 deep"},
		{"very deep", []string{"normalizer", nested("normalizers", "", 4000)}, "more than 8 deep"},
		{"deeper than JSON", []string{"normalizer", nested("normalizers", "", 5000)}, "more than 10000 lists and objects"},
		{"control tokens", []string{
			"post_processor",
			`{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],
			"pair":[],"special_tokens":{"x":{"id":"x","ids":[` + ids + `],"tokens":[` + names + `]}}}`,
		}, "has 2000 ids, the limit is 1024"},
		{
			"a long token",
			[]string{
				"model.vocab", `{"` + strings.Repeat("a", 5000) + `":0}`,
				"model.merges", "[]", "added_tokens", "[]",
			},
			"has 5000 bytes, the limit is 4096",
		},
		{"a long prefix", []string{"model.continuing_subword_prefix", `"` + strings.Repeat("a",
			100) + `"`}, "has 100 bytes, the limit is 64"},
		{"a long section", []string{"decoder", `{"type":"` + strings.Repeat("a",
			maxSection) + `"}`}, "decoder: 8388619 bytes, the limit is 8388608"},
	} {
		_, err := Parse(editedFile(t, "gpt2", c.keyValue...), "some.json")
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: error %.300v, want %q", c.name, err, c.want)
		}
	}
}

// TestLongWordRefused has a word that would take hundreds of megabytes.
func TestLongWordRefused(t *testing.T) {
	text := strings.Repeat("a", maxWord+1)
	for _, kind := range []string{"gpt2", "unigram"} {
		_, err := load(t, kind+".json").Encode(text, true)
		if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(),
			"bytes") || !strings.Contains(err.Error(), "the limit is 8388608") {
			t.Errorf("%s: error %.400v", kind, err)
		}
	}
}

// TestJSONErrors has files with values of the wrong kind. Errors name the key and the value, and
// speak of JSON.
func TestJSONErrors(t *testing.T) {
	long := `"` + strings.Repeat("x", 5000) + `"`
	for _, c := range []struct{ name, file, want string }{
		{"an id as a text", withParts(t, `"!": 1`, `"!": "1"`), `model.vocab: token "!": "1" is not a number`},
		{"a long value", string(editedFile(t, "gpt2", "added_tokens", long)), "added_tokens: \"xxxxxxxxxx"},
		{"a long key", string(editedFile(t, "gpt2", "decoder", `{"type":"ByteLevel",`+long+`:1}`)), "decoder: unknown field \"xxxxxxxxxx"},
		{"a long version", string(editedFile(t, "gpt2", "version", long)), "version: \"xxxxxxxx"},
		{"cut off", withParts(t)[:5000], "in /model/vocab: the text ends too early"},
		{"half a character in the vocabulary", withParts(t, `"!": 1`, `"\uDC00": 1`), `in /model/vocab: \uDC00 is half of a character`},
		{"a bad escape", string(editedFile(t, "gpt2", "normalizer",
			`{"type":"NFC"}`))[:1] + `"version":"1.0\x"}`, `in /version: unexpected "\\x\"}"`},
	} {
		_, err := Parse([]byte(c.file), "some.json")
		checkJSONError(t, c.name, err, c.want)
	}
}

// TestTwice: of a key that is there twice the later value counts, and nothing of the earlier one,
// as in the reference, which reads sections into maps.
func TestTwice(t *testing.T) {
	const once = `{"type":"Replace","pattern":{"Regex":"a"},"content":"b"}`
	const twice = `{"type":"NFX","content":"x","pattern":{"String":"c"},"pattern":{"Regex":"a"},"type":"Replace","content":"b"}`
	tok := edited(t, "gpt2", "normalizer", once)
	file := strings.Replace(string(editedFile(t, "gpt2", "normalizer", `"HERE"`)), `"HERE"`, twice,
		1)
	again, err := Parse([]byte(file), "twice")
	must(t, err)
	const text = "a banana can"
	if diff := cmp.Diff(encode(t, tok, text), encode(t, again, text)); diff != "" {
		t.Errorf("tokens (-once +twice):\n%s", diff)
	}
	whole := strings.Replace(string(editedFile(t, "gpt2")), `{`,
		`{"version":"0.1","normalizer":{"type":"Gone"},`, 1)
	if _, err := Parse([]byte(whole), "twice"); err != nil {
		t.Errorf("sections that are there twice: %v", err)
	}
	surrogates := edited(t, "gpt2", "normalizer",
		`{"type":"Prepend","prepend":"\ud83d\ude00\\ud83d"}`)
	if p, err := surrogates.normalizer.normalize(piece{text: "a", input: "a"},
		newMeter(1)); err != nil || p.text != `😀\ud83da` {
		t.Errorf("both halves of a character: %q, %v", p.text, err)
	}
}

// TestEach compares tokens one after the other with all of them, also of a text of many chunks and
// of post-processors that need all.
func TestEach(t *testing.T) {
	text := strings.Repeat("the keys to the cabinet <s> é ", 3000)
	var toks []*Tokenizer
	for _, kind := range kinds {
		toks = append(toks, load(t, kind+".json"))
	}
	twice := `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"A","type_id":1}}],"pair":[],"special_tokens":{}}`
	trim := `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true}`
	toks = append(toks, edited(t, "gpt2", "post_processor", twice),
		edited(t, "roberta", "post_processor",
			`{"type":"Sequence","processors":[`+trim+`,{"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]},`+trim+`]}`))
	for i, tok := range toks {
		for _, text := range []string{text, "a", ""} {
			m := newMeter(len(text))
			want, err := tok.encodeWhole(text, true, m)
			must(t, err)
			got := encode(t, tok, text)
			n := 0
			for e, err := range tok.Each(text, true) {
				if err != nil || e != want[n].Encoded || e != got[n] {
					t.Fatalf("tokenizer %d: token %d is %v, %v, want %v", i, n, e, err,
						want[n].Encoded)
				}
				n++
			}
			if n != len(want) || n != len(got) {
				t.Errorf("tokenizer %d: %d tokens, want %d", i, n, len(want))
			}
		}
	}
	n := 0
	for range toks[0].Each(text, true) {
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		t.Errorf("a loop that ends after 5 tokens got %d", n)
	}
}

// TestLoadTooLarge has a file that is larger than any tokenizer.json; it has no bytes on the disk.
func TestLoadTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.Truncate(path, maxFile+1))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(),
		"134217729 bytes, the limit is 134217728") {
		t.Errorf("error %v", err)
	}
}

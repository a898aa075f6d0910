package tokenizer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnknownFields gives every part with fields of its own one more: no part ignores it.
func TestUnknownFields(t *testing.T) {
	for key, kinds := range map[string][]string{
		"normalizer": names(normalizerKinds), "pre_tokenizer": names(preTokenizerKinds),
		"decoder": names(decoderKinds), "post_processor": names(postProcessorKinds),
	} {
		for _, kind := range kinds {
			part := `{"type":"` + kind + `","zzz":1}`
			_, err := Parse(editedFile(t, "gpt2", key, part), "some.json")
			want := "tokenizer: some.json: " + key + `: unknown field "zzz"`
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %s: error %v, want %s", key, part, err, want)
			}
		}
	}
}

// TestPartRefusals has errors about parts that are well formed but ask for too much, or for what
// is not there.
func TestPartRefusals(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	const added = `[{"id":990,"content":"tok","normalized":true}]`
	template := func(single, specials string) string {
		return `{"type":"TemplateProcessing","pair":[],"single":[` + single +
			`],"special_tokens":{` + specials + `}}`
	}
	const special = `{"SpecialToken":{"id":"s","type_id":0}}`
	const sequenceA = `{"Sequence":{"id":"A","type_id":0}}`
	tokens := func(n int) string {
		return `"s":{"id":"s","ids":[` + times(n, "0") + `],"tokens":[` +
			times(n, `"<|endoftext|>"`) + `]}`
	}
	for _, c := range []struct {
		name     string
		keyValue []string
		want     string
	}{
		{
			"a normalised added token is too long",
			[]string{
				"added_tokens", added, "normalizer",
				`{"type":"Prepend","prepend":"` + long(5000) + `"}`,
			},
			`token "tok" has 5003 bytes when normalised, the limit is 4096`,
		},
		{
			"a normalizer makes an added token grow without end",
			[]string{
				"added_tokens", added,
				"normalizer", `{"type":"Prepend","prepend":"` + long(9000) + `"}`,
			},
			`added_tokens: token "tok": normalizer (Prepend)`,
		},
		{"an added token is too long", []string{
			"added_tokens",
			`[{"id":1200,"content":"` + long(1025) + `"}]`,
		}, "has 1025 bytes, the limit is 1024"},
		{"a template has too many pieces", []string{
			"post_processor",
			template(times(65, sequenceA), ""),
		}, "single: 65 pieces, the limit is 64"},
		{
			"a template adds too many tokens",
			[]string{
				"post_processor",
				template(times(2, special), tokens(600)),
			},
			`single: 1200 control tokens up to "s", the limit is 1024`,
		},
		{
			"a name stands for too many tokens",
			[]string{
				"post_processor",
				template(special, tokens(1025)),
			},
			`special_tokens: "s" has 1025 ids, the limit is 1024`,
		},
		{
			"a template names an id that is not there",
			[]string{
				"post_processor",
				template(special, `"s":{"id":"s","ids":[99999],"tokens":["x"]}`),
			},
			`token "x" has id 99999, which is not in the vocabulary`,
		},
		{
			"a piece is both",
			[]string{"post_processor", template(
				`{"SpecialToken":{"id":"s","type_id":0},"Sequence":{"id":"A","type_id":0}}`, "")},
			"a piece must be a Sequence or a SpecialToken",
		},
		{"too many normalizers", []string{
			"normalizer",
			sequence("normalizers", times(257, `{"type":"NFC"}`)),
		}, "257 parts, the limit is 256"},
		{"too many pre-tokenizers", []string{"pre_tokenizer", sequence("pretokenizers",
			times(257, `{"type":"Whitespace"}`))}, "257 parts, the limit is 256"},
		{"too many decoders", []string{"decoder", sequence("decoders", times(257, `{"type":"Fuse"}`))}, "257 parts, the limit is 256"},
	} {
		_, err := Parse(editedFile(t, "gpt2", c.keyValue...), "some.json")
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: some.json: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.300v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestNestedTooDeep nests a Sequence in others until it is refused.
func TestNestedTooDeep(t *testing.T) {
	for key, part := range map[string][2]string{
		"normalizer":     {"normalizers", `{"type":"NFC"}`},
		"pre_tokenizer":  {"pretokenizers", `{"type":"Whitespace"}`},
		"post_processor": {"processors", trainedPost},
		"decoder":        {"decoders", `{"type":"Fuse"}`},
	} {
		nested := part[1]
		for depth := 1; depth <= maxNesting+1; depth++ {
			nested = sequence(part[0], nested)
			_, err := Parse(editedFile(t, "gpt2", key, nested), "some.json")
			deep := err != nil &&
				strings.Contains(err.Error(), "Sequence is nested more than 8 deep")
			if deep != (depth > maxNesting) || !deep && err != nil {
				t.Errorf("%s nested %d deep: error %v", key, depth, err)
			}
		}
	}
}

// TestLoadRefuses reads what is no file of a tokenizer.
func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	f, err := os.Create(large)
	must(t, err)
	if err := errors.Join(f.Truncate(maxFile+1), f.Close()); err != nil { // takes no room
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                                "is a directory",
		large:                              "134217729 bytes, the limit is 134217728; is it",
		filepath.Join(dir, "missing.json"): "no such file",
	} {
		if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), "tokenizer: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s): error %v, want one with %q", path, err, want)
		}
	}
}

// brokenWriter takes n bytes and then fails.
type brokenWriter struct{ n int }

var errBroken = errors.New("the disk is full")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) <= w.n {
		w.n -= len(p)
		return len(p), nil
	}
	return w.n, errBroken
}

func TestWriteToBrokenWriter(t *testing.T) {
	tok := load(t, "gpt2.json")
	n, err := tok.WriteTo(&brokenWriter{100})
	if n != 100 || !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "tokenizer: ") {
		t.Errorf("WriteTo = %d, %v, want 100 bytes and the error of the writer", n, err)
	}
}

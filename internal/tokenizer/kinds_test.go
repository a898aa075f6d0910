package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// otherKinds are values of every kind of JSON.
var otherKinds = []any{
	nil, true, 0, -1, 1.5, json.Number("1e400"), json.Number("4294967296"), "", "a",
	[]any{},
	[]any{nil},
	[]any{1, "a"},
	object{},
	object{"a": 1},
	object{"type": 3},
	object{"String": 7},
}

// everyPart is a tokenizer.json with every kind of part and every key that it may have. The kind
// of its model is one of the four.
func everyPart(model string) object {
	text := func(s string) object {
		var o object
		if err := json.Unmarshal([]byte(s), &o); err != nil {
			panic(err)
		}
		return o
	}
	f := text(`{"version":"1.0",
		"truncation":{"direction":"Right","max_length":512,"strategy":"LongestFirst","stride":0},
		"padding":{"strategy":{"Fixed":4},"direction":"Left","pad_to_multiple_of":8,"pad_id":0,
			"pad_type_id":0,"pad_token":"<s>"},
		"added_tokens":[{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":true,
			"normalized":false,"special":true}],
		"normalizer":{"type":"Sequence","normalizers":[
			{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
				"strip_accents":null,"lowercase":true},
			{"type":"Prepend","prepend":"▁"},{"type":"Lowercase"},{"type":"NFC"},
			{"type":"Replace","pattern":{"String":" "},"content":"▁"},
			{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},
			{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAA="},
			{"type":"Strip","strip_left":true,"strip_right":true}]},
		"pre_tokenizer":{"type":"Sequence","pretokenizers":[
			{"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"Isolated","invert":false},
			{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
			{"type":"Digits","individual_digits":true},{"type":"Whitespace"},
			{"type":"Punctuation","behavior":"Isolated"},
			{"type":"CharDelimiterSplit","delimiter":"-"},
			{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]},
		"post_processor":{"type":"Sequence","processors":[
			{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
			{"type":"BertProcessing","sep":["<s>",0],"cls":["<s>",0]},
			{"type":"RobertaProcessing","sep":["<s>",0],"cls":["<s>",0],"trim_offsets":true,
				"add_prefix_space":false},
			{"type":"TemplateProcessing",
				"single":[{"SpecialToken":{"id":"<s>","type_id":0}},
					{"Sequence":{"id":"A","type_id":0}}],
				"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
				"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]}}}]},
		"decoder":{"type":"Sequence","decoders":[
			{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},
			{"type":"Strip","content":" ","start":1,"stop":0},
			{"type":"WordPiece","prefix":"##","cleanup":true},
			{"type":"BPEDecoder","suffix":"</w>"},
			{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true},
			{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
			{"type":"Fuse"}]}}`)
	f["model"] = text(map[string]string{
		"BPE": `{"type":"BPE","dropout":null,"unk_token":"<s>","continuing_subword_prefix":null,
			"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
			"vocab":{"<s>":0,"a":1,"n":2,"an":3},"merges":[["a","n"]]}`,
		"Unigram": `{"type":"Unigram","unk_id":0,"byte_fallback":false,
			"vocab":[["<s>",0.0],["a",-1.5],["n",-2.5]]}`,
		"WordLevel": `{"type":"WordLevel","vocab":{"<s>":0,"a":1},"unk_token":"<s>"}`,
		"WordPiece": `{"type":"WordPiece","unk_token":"<s>","continuing_subword_prefix":"##",
			"max_input_chars_per_word":100,"vocab":{"<s>":0,"a":1,"##n":2}}`,
	}[model])
	return f
}

// eachValue calls try for every value inside v with what puts another one in its place. path names
// where the value is.
func eachValue(v any, path string, try func(path string, set func(any))) {
	visit := func(old any, path string, set func(any)) {
		try(path, set)
		set(old)
		eachValue(old, path, try)
	}
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visit(v[key], path+"."+key, func(other any) { v[key] = other })
		}
	case []any:
		for i, old := range v {
			visit(old, fmt.Sprintf("%s[%d]", path, i), func(other any) { v[i] = other })
		}
	}
}

// TestOtherKinds puts a value of every other kind in the place of each value of a file with every
// kind of part. The file is refused in words of JSON, or read and used within the limits.
func TestOtherKinds(t *testing.T) {
	for _, model := range names(modelKinds) {
		f := everyPart(model)
		tried, parsed := 0, 0
		eachValue(f, "", func(path string, set func(any)) {
			if model != "BPE" && !strings.HasPrefix(path, ".model") {
				return // the same as with BPE
			}
			for _, other := range otherKinds {
				set(other)
				took, _, report := tryMutant(encoded(t, f))
				if took > mutantTime || report.failed != "" {
					t.Errorf("%s: %s = %v: %v, %s", model, path, other, took, report.failed)
				}
				tried++
				parsed += report.parsed
			}
		})
		t.Logf("%s: %d of %d files were read", model, parsed, tried)
		if _, err := Parse(encoded(t, f), "whole"); err != nil || parsed == 0 || parsed == tried {
			t.Errorf("%s: %d of %d files were read; the whole one: %v", model, parsed, tried, err)
		}
	}
}

// encoded returns a file as JSON.
func encoded(t *testing.T, f object) []byte {
	t.Helper()
	file, err := json.Marshal(f)
	must(t, err)
	return file
}

package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxFuzzed is how many bytes of a text are encoded: parts meet within a few words, and short texts
// are tried a hundred times as often.
const maxFuzzed = 128

// FuzzEncode checks that the tokens of any bytes stay inside the text with every kind of tokenizer,
// one at a time, and that those of a byte-level one tile it: in order, and spelling it again.
func FuzzEncode(f *testing.F) {
	var all []*Tokenizer
	add := func(tok *Tokenizer, text string) {
		f.Add(byte(len(all)), text)
		all = append(all, tok)
	}
	cases := refCases(f)
	for i, kind := range kinds {
		add(load(f, kind+".json"), "a\xff\xe2\x82<|endoftext|>\xac \x80'\xe9s[MASK]<s>")
		for j := i; j < len(cases); j += len(kinds) { // every text with one of the kinds
			f.Add(byte(i), cases[j].Text)
		}
	}
	e := extra(f)
	for _, x := range e.Tokenizers[:len(e.Tokenizers)-60] { // those with names of their own
		tok, err := Parse(e.file(f, x), x.Name)
		must(f, err)
		add(tok, x.Cases[0].Text)
	}
	if len(all) > 1<<8 {
		f.Fatalf("a byte cannot choose among %d tokenizers", len(all))
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		tok := all[int(which)%len(all)]
		text = text[:min(len(text), maxFuzzed)]
		checkInside(t, tok, text)
		if tok == all[slices.Index(kinds, "gpt2")] {
			checkTiles(t, tok, text)
		}
	})
}

// checkInside checks what holds for every tokenizer.
func checkInside(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	encoded := encode(t, tok, text)
	for _, e := range encoded {
		if e.Begin < 0 || e.Begin > e.End || e.End > len(text) {
			t.Fatalf("token %+v is not inside %q", e, text)
		}
	}
	for _, skip := range []bool{true, false} {
		if decoded, err := tok.Decode(idsOf(encoded), skip); err != nil ||
			!utf8.ValidString(decoded) {
			t.Fatalf("Decode(Encode(%q)) = %q, %v", text, decoded, err)
		}
	}
}

func checkTiles(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	encoded := encode(t, tok, text)
	covered := 0
	for i, e := range encoded {
		if e.Begin > covered || e.End < covered || e.Begin >= e.End || e.End > len(text) {
			t.Fatalf("token %d of %q is [%d,%d) after %d covered bytes", i, text, e.Begin, e.End,
				covered)
		}
		if i > 0 && e.Begin < encoded[i-1].Begin {
			t.Fatalf("token %d of %q begins at %d, before the one in front", i, text, e.Begin)
		}
		covered = e.End
	}
	if covered != len(text) {
		t.Fatalf("tokens of %q cover %d of %d bytes", text, covered, len(text))
	}
	spelled, err := tok.decode(idsOf(encoded), false, true)
	if err != nil || spelled != text {
		t.Fatalf("decode(Encode(%q)) = %q, %v", text, spelled, err)
	}
	decoded, err := tok.Decode(idsOf(encoded), false)
	if err != nil || !utf8.ValidString(decoded) || utf8.ValidString(text) && decoded != text {
		t.Fatalf("Decode(Encode(%q)) = %q, %v", text, decoded, err)
	}
}

// FuzzParse checks that no file makes it panic, and that a file that is read can be used, written
// and read again. It starts from small files: large ones take all the time.
func FuzzParse(f *testing.F) {
	f.Add([]byte(smallFile))
	f.Add([]byte(strings.Replace(smallFile, `["a","b"]`, `"a b"`, 1)))
	for _, m := range []string{
		`{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"a":0,"##b":1,"ab":2}}`,
		`{"type":"Unigram","unk_id":0,"vocab":[["a",-1.5],["b",-2],["ab",-3e-7]],"byte_fallback":true}`,
		`{"type":"WordLevel","vocab":{"a":0,"b":1,"ab":2},"unk_token":"a"}`,
	} {
		f.Add([]byte(smallFile[:strings.Index(smallFile, `"model":`)] + `"model":` + m + "}"))
	}
	e := extra(f)
	for _, x := range e.Tokenizers { // their parts, with the model of smallFile
		x.File["model"] = json.RawMessage(
			smallFile[strings.Index(smallFile, `"model":`)+len(`"model":`) : len(smallFile)-1])
		delete(x.File, "post_processor")
		delete(x.File, "added_tokens")
		data, err := json.Marshal(x.File)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		tok, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		encoded, err := tok.Encode("ab <s> abba\xff e\u0301 \u00c9!", true)
		if err == nil {
			if _, err := tok.Decode(idsOf(encoded), false); err != nil {
				t.Fatal(err)
			}
		}
		file := written(t, tok)
		again, err := Parse([]byte(file), "written")
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		if got := written(t, again); got != file {
			t.Fatalf("written again:\n%s\nwant\n%s", got, file)
		}
	})
}

// smallFile is a tokenizer of four tokens with every part that can be there.
const smallFile = `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":3,"content":"<s>","single_word":false,"lstrip":true,"rstrip":true,"normalized":false,"special":true}],
"normalizer":null,
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}]},
"post_processor":{"type":"Sequence","processors":[
 {"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
 {"type":"RobertaProcessing","sep":["<s>",3],"cls":["<s>",3],"trim_offsets":true,"add_prefix_space":false},
 {"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"s","type_id":0}}],"pair":[],
  "special_tokens":{"s":{"id":"s","ids":[3],"tokens":["<s>"]}}}]},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":"a","continuing_subword_prefix":"","end_of_word_suffix":null,"fuse_unk":true,
"byte_fallback":false,"ignore_merges":true,"vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}}`

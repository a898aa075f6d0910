package tokenizer

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// longTexts make more tokens than one chunk, with the end of a chunk inside words, spaces, added
// tokens and characters of several bytes.
func longTexts() map[string]string {
	return map[string]string{
		"words":        strings.Repeat("the keys to the cabinet ", chunkTokens/4),
		"one word":     strings.Repeat("letter", 2*chunkTokens),
		"added tokens": strings.Repeat("<|endoftext|><s>[SEP]</s>", chunkTokens),
		"characters":   strings.Repeat("日本語é🙂 ", chunkTokens),
		"bad bytes":    strings.Repeat("a\xff\xe2\x82 ", chunkTokens),
		"spaces":       strings.Repeat(" \n", 2*chunkTokens),
	}
}

// TestEachLikeEncode compares the tokens that come a few at a time with those of the whole text.
func TestEachLikeEncode(t *testing.T) {
	for _, kind := range kinds {
		tok := load(t, kind+".json")
		for name, text := range longTexts() {
			for _, specials := range []bool{true, false} {
				want := encodeWith(t, tok, text, specials)
				var got []Encoded
				for e, err := range tok.Each(text, specials) {
					if err != nil {
						t.Fatalf("%s, %s: %v", kind, name, err)
					}
					got = append(got, e)
				}
				if !slices.Equal(want, got) {
					t.Errorf("%s, %s: Each yields other tokens than Encode", kind, name)
				}
			}
		}
	}
}

// TestEachEndsEarly leaves the loop after n tokens: before, at and after the end of a chunk.
func TestEachEndsEarly(t *testing.T) {
	for _, kind := range []string{"gpt2", "bert_cased", "llama3"} {
		tok := load(t, kind+".json")
		text := longTexts()["words"]
		all := encodeWith(t, tok, text, true)
		for _, n := range []int{
			1, 2, chunkTokens - 1, chunkTokens, chunkTokens + 1,
			chunkTokens + 2, len(all) - 1, len(all),
		} {
			var got []Encoded
			for e, err := range tok.Each(text, true) {
				must(t, err)
				if got = append(got, e); len(got) == n {
					break
				}
			}
			if !slices.Equal(got, all[:n]) {
				t.Errorf("%s: the first %d tokens of Each are not those of Encode", kind, n)
			}
		}
	}
}

// TestEachWithoutStream leaves the loop early where a post_processor needs all tokens at once, and
// where it adds tokens before and after the text.
func TestEachWithoutStream(t *testing.T) {
	for _, single := range []string{
		`{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"A","type_id":0}}`,
		`{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
			{"SpecialToken":{"id":"[CLS]","type_id":0}}`,
		`{"SpecialToken":{"id":"[CLS]","type_id":0}}`,
	} {
		tok, err := Parse([]byte(withPost(`{"type":"TemplateProcessing","pair":[],"single":[`+
			single+`],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]}}}`)),
			"test")
		must(t, err)
		all := encodeWith(t, tok, "a b ab", true)
		for n := 1; n <= len(all); n++ {
			var got []Encoded
			for e, err := range tok.Each("a b ab", true) {
				must(t, err)
				if got = append(got, e); len(got) == n {
					break
				}
			}
			if !slices.Equal(got, all[:n]) {
				t.Errorf("%s: the first %d tokens of Each are %v, want %v", single, n, got, all[:n])
			}
		}
	}
}

// TestEachYieldsError: the error comes last, after the tokens before it, and once.
func TestEachYieldsError(t *testing.T) {
	tok := edited(t, "bert_cased", "model.unk_token", `"[NONE]"`)
	tokens, failures := 0, 0
	for _, err := range tok.Each(strings.Repeat("the ", 2*chunkTokens)+"䷀", true) {
		switch {
		case err != nil:
			failures++
		case failures > 0:
			t.Fatal("a token comes after the error")
		default:
			tokens++
		}
	}
	if failures != 1 || tokens < chunkTokens {
		t.Errorf("%d tokens and %d errors, want a chunk of tokens and one error", tokens, failures)
	}
}

// TestWordsAreLocal: where a pre-tokenizer splits at spaces, the tokens of a text are those of its
// words, whichever words were seen before.
func TestWordsAreLocal(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	tok := load(t, "bert_cased.json")
	vocabulary := strings.Fields("the keys cabinet are naïve unaffable 日本語 x " +
		"🙂 don't AB12 é")
	for range 50 {
		var text strings.Builder
		var want []Encoded
		for range 1 + r.IntN(20) {
			word := vocabulary[r.IntN(len(vocabulary))]
			at := text.Len()
			text.WriteString(word + " ")
			for _, e := range encodeWith(t, tok, word, false) {
				e.Begin, e.End = e.Begin+at, e.End+at
				want = append(want, e)
			}
		}
		if diff := cmp.Diff(want, encodeWith(t, tok, text.String(), false)); diff != "" {
			t.Fatalf("seed %d: tokens of %q (-words +text):\n%s", seed, text.String(), diff)
		}
	}
}

// TestOffsetsAreMonotone: without a post_processor that repeats the text, tokens begin and end from
// left to right, inside the text and at the borders of its characters.
func TestOffsetsAreMonotone(t *testing.T) {
	for _, kind := range kinds {
		tok := load(t, kind+".json")
		for _, c := range refCases(t)[:60] {
			last := Encoded{}
			for i, e := range encodeWith(t, tok, c.Text, false) {
				if e.Begin < last.Begin || e.End < last.End || e.Begin > e.End {
					t.Errorf("%s of %q: token %d is %+v after %+v", kind, c.Text, i, e, last)
				}
				for _, at := range []int{e.Begin, e.End} {
					if at > len(c.Text) || at < len(c.Text) && !utf8.RuneStart(c.Text[at]) {
						t.Errorf("%s of %q: token %d, %+v, cuts a character", kind, c.Text, i, e)
					}
				}
				last = e
			}
		}
	}
}

// TestBudgetIsReleased: after a text that exceeds the budget, the next one has a whole budget.
func TestBudgetIsReleased(t *testing.T) {
	tok := edited(t, "gpt2", "normalizer", sequence("normalizers",
		times(3, `{"type":"Replace","pattern":{"String":"a"},"content":"`+
			strings.Repeat("a", 40)+`"}`)))
	const small = "the keys"
	want := encode(t, tok, small)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if _, err := tok.Encode("banana", true); !errors.Is(err, errLimit) {
					t.Errorf("error %v, want errLimit", err)
				}
				got, err := tok.Encode(small, true)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("tokens of %q after an error: %v, %v, want %v", small, got, err, want)
				}
			}
		})
	}
	all.Wait()
}

// TestRepeatedTextIsCounted: a template that repeats a text takes memory for it, which is counted.
func TestRepeatedTextIsCounted(t *testing.T) {
	file := withPost(`{"type":"TemplateProcessing","pair":[],"single":[` +
		times(64, `{"Sequence":{"id":"A","type_id":0}}`) + `],"special_tokens":{}}`)
	tok, err := Parse([]byte(strings.Replace(file, `{"type":"WhitespaceSplit"}`,
		`{"type":"Split","pattern":{"String":"a"},"behavior":"Isolated","invert":false}`,
		1)), "test")
	must(t, err)
	if got := encode(t, tok, "ab"); len(got) != 128 || got[127] != got[1] {
		t.Errorf("%d tokens, want those of two words 64 times", len(got))
	}
	_, err = tok.Encode(strings.Repeat("a", 2000), true)
	if !errors.Is(err, errLimit) || !strings.Contains(err.Error(), "post_processor (Template") {
		t.Errorf("error %v, want errLimit that names the post_processor", err)
	}
}

// TestTooManyLists: a template makes several lists of a text, and the next one takes at most two.
func TestTooManyLists(t *testing.T) {
	one := `{"type":"TemplateProcessing","pair":[],"single":[` +
		times(3, `{"Sequence":{"id":"A","type_id":0}}`) + `],"special_tokens":{}}`
	tok, err := Parse([]byte(withPost(sequence("processors", one+","+one))), "test")
	must(t, err)
	for name, err := range map[string]error{
		"Encode": func() error { _, err := tok.Encode("a", true); return err }(),
		"Each": func() (last error) {
			for _, last = range tok.Each("a", true) {
			}
			return last
		}(),
	} {
		const want = "post_processor.processors[1] (TemplateProcessing): " +
			"TemplateProcessing takes 1 or 2 lists of tokens, got 3; put it last"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
}

// TestTokenTextWithoutDecoder: the text that a token has in the middle of a text.
func TestTokenTextWithoutDecoder(t *testing.T) {
	for _, c := range []struct{ decoder, want string }{
		{`null`, " ▁a"},
		{`{"type":"Fuse"}`, "▁a"},
		{`{"type":"ByteFallback"}`, "▁a"},
		{`{"type":"Metaspace","replacement":"▁"}`, " a"},
		{`{"type":"WordPiece","prefix":"▁","cleanup":false}`, "a"},
		{`{"type":"WordPiece","prefix":"##","cleanup":true}`, " ▁a"},
		{`{"type":"CTC","pad_token":"a","word_delimiter_token":"▁","cleanup":true}`, " "},
		{`{"type":"BPEDecoder","suffix":"a"}`, "▁ "},
		{`{"type":"Strip","content":"▁","start":1,"stop":0}`, "a"},
		{`{"type":"Replace","pattern":{"String":"▁"},"content":"--"}`, "--a"},
		{`{"type":"Sequence","decoders":[{"type":"Fuse"},
			{"type":"Strip","content":"▁","start":1,"stop":0}]}`, "▁a"}, // only at the start
		{sequence("decoders", times(100, `{"type":"Replace","pattern":{"String":""},"content":"xx"}`)), "▁a"}, // too much work
	} {
		tok, err := Parse([]byte(`{"version":"1.0","added_tokens":[],"decoder":`+c.decoder+
			`,"model":{"type":"WordLevel","unk_token":"u","vocab":{"u":0,"▁a":1}}}`), "test")
		must(t, err)
		if got := tok.TokenText(1); got != c.want {
			t.Errorf("%s: TokenText = %q, want %q", c.decoder, got, c.want)
		}
	}
}

// TestTrainKeepsPromises trains on random corpora: every text is spelled again, no word of the
// corpus has more tokens than bytes, and a larger vocabulary never needs more tokens for it.
func TestTrainKeepsPromises(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		corpus := map[string]int{}
		for range 30 {
			var text strings.Builder
			for range 1 + r.IntN(8) {
				parts := []string{"ab", "abc", " ", "日", "é", "\n", "b", " ab", "12"}
				text.WriteString(parts[r.IntN(len(parts))])
			}
			corpus[text.String()] += 1 + r.IntN(5)
		}
		before := -1
		for _, size := range []int{257, 270, 300, 400} {
			tok, err := Train(sortedPairs(corpus), TrainOptions{
				VocabSize: size, Specials: []string{"<s>"}, BeginWith: "<s>",
			})
			must(t, err)
			if tok.VocabSize() > size {
				t.Errorf("seed %d: %d tokens, want at most %d", seed, tok.VocabSize(), size)
			}
			total := 0
			for text, n := range corpus {
				checkTiles(t, trainedWithoutBegin(tok), text)
				tokens := encodeWith(t, tok, text, false)
				if len(tokens) > len(text) {
					t.Errorf("seed %d: %q has %d tokens", seed, text, len(tokens))
				}
				total += n * len(tokens)
			}
			if before >= 0 && total > before {
				t.Errorf("seed %d: %d tokens with a vocabulary of %d, but %d with a smaller one",
					seed, total, size, before)
			}
			before = total
		}
	}
}

// sortedPairs is a corpus in a fixed order.
func sortedPairs(corpus map[string]int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, text := range slices.Sorted(maps.Keys(corpus)) {
			if !yield(text, corpus[text]) {
				return
			}
		}
	}
}

// trainedWithoutBegin is a trained tokenizer that puts no token before a text.
func trainedWithoutBegin(tok *Tokenizer) *Tokenizer {
	plain := *tok
	plain.post = nil
	return &plain
}

// FuzzDecode decodes any ids with every kind of tokenizer: the text is valid UTF-8, has the tokens
// that are not special at most, and is the same again.
func FuzzDecode(f *testing.F) {
	var all []*Tokenizer
	for i, kind := range kinds {
		all = append(all, load(f, kind+".json"))
		f.Add(byte(i), []byte{0, 1, 2, 3, 200, 100, 50, 255, 0, 0})
		f.Add(byte(i), []byte("some bytes that are ids"))
	}
	f.Fuzz(func(t *testing.T, which byte, pairs []byte) {
		tok := all[int(which)%len(all)]
		var ids []int
		for i := 0; i+1 < min(len(pairs), maxFuzzed); i += 2 {
			id := (int(pairs[i])<<8 | int(pairs[i+1])) % tok.VocabSize()
			if tok.vocab.has(id) {
				ids = append(ids, id)
			}
		}
		for _, skip := range []bool{true, false} {
			text, err := tok.Decode(ids, skip)
			again, _ := tok.Decode(ids, skip)
			if err != nil || !utf8.ValidString(text) || text != again {
				t.Fatalf("Decode(%v, %v) = %q, %v, then %q", ids, skip, text, err, again)
			}
			if raw, err := tok.decode(ids, skip, true); err != nil ||
				utf8.ValidString(raw) && raw != text {
				t.Fatalf("decode(%v, %v) as raw bytes = %q, %v, want %q", ids, skip, raw, err, text)
			}
		}
	})
}

// FuzzRegex reads any pattern: it is refused, or its matches are from left to right and inside
// the text, within the budget of steps, and the same again.
func FuzzRegex(f *testing.F) {
	for _, p := range []string{
		gpt2Pattern, llama3Pattern, `\s+(?!\S)|\s+`, `(?i:'s|'t)|\p{L}+`,
		`[^\r\n\p{L}\p{N}]?+\p{L}+`, `(?<=a|bc)d`, `(?>a+)b`, `a{2,3}?`, `[\]\-^a-c]`, `\x{1F600}`,
		`^|$`, `(?m:.)`, `((a*)*)*b`, `[`, `(?`, `\`, `a{,2}`,
	} {
		f.Add(p, "a b\n'S don't 12 日\xff")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 200 || len(text) > maxFuzzed {
			return
		}
		re, err := newRegex(source)
		if err != nil {
			if !strings.Contains(err.Error(), "egular expression") &&
				!errors.As(err, new(*unsupportedError)) &&
				!strings.Contains(err.Error(), "pattern") {
				t.Fatalf("newRegex(%q): error %v does not say that it is a pattern", source, err)
			}
			return
		}
		var first [][2]int
		for round := range 2 {
			var found [][2]int
			last := 0
			err := re.find(text, newMeter(len(text)), func(begin, end int) {
				if begin < last || begin > end || end > len(text) {
					t.Fatalf("%q matches [%d,%d) of %q after %d", source, begin, end, text, last)
				}
				last = end
				found = append(found, [2]int{begin, end})
			})
			if err != nil && !errors.Is(err, errLimit) {
				t.Fatalf("%q in %q: %v", source, text, err)
			}
			if round == 0 {
				first = found
			} else if !slices.Equal(first, found) {
				t.Fatalf("%q matches %v of %q, then %v", source, first, text, found)
			}
		}
	})
}

// FuzzDecodeStrict reads any bytes: what it accepts, encoding/json reads as the same value, and
// what that refuses, it refuses.
func FuzzDecodeStrict(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"text":"\ud83d\ude00"}`, `{"list":["a",null]}`,
		`{"map":{"a":1}}`, `{"real":-1.5e3,"count":4294967295}`, `{"some":null}`,
		`{"inner":{"a":3}}`, `{"text":"\ud800"}`, `{"flag":tru}`, `[]`, `{"a":1}`, `{"count":1.0}`,
		`{"text":"a` + "\n" + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		var got, want jsonTarget
		if err := decodeStrict(data, &got); err != nil {
			return
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("decodeStrict(%q) = %+v, but it is no such JSON: %v", data, got, err)
		}
		if !reflect.DeepEqual(got, want) && !caseFolded(data) {
			t.Fatalf("decodeStrict(%q) = %+v, want %+v", data, got, want)
		}
	})
}

// caseFolded reports whether a name is written in another case, which encoding/json takes for the
// same, or twice, where it keeps what the first one had.
func caseFolded(data []byte) bool {
	return slices.ContainsFunc([]string{
		"text", "flag", "count", "signed", "real", "some", "list",
		"map", "inner", "a",
	}, func(name string) bool {
		return strings.Count(strings.ToLower(string(data)), `"`+name+`"`) > 1
	})
}

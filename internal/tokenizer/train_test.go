package tokenizer

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrainKnownMerges trains on four words; the merges are worked out by hand. Counts of pairs at
// first: lo 7, ow 7, we 2+6=8, ne 6, ew 6, er 2, wi 3, id 3, de 3, es 6+3=9, st 9.
func TestTrainKnownMerges(t *testing.T) {
	corpus := map[string]int{"low": 5, "lower": 2, "newest": 6, "widest": 3}
	tok, err := Train(maps.All(corpus),
		TrainOptions{VocabSize: 1 + 256 + 6, Specials: []string{"<s>"}})
	must(t, err)
	want := []mergeText{
		{"e", "s"},    // 9, before s t by the order of strings
		{"es", "t"},   // 9
		{"l", "o"},    // 7; e w 6, e st 9 is done, w e 2+6=8 became w est 6 and w e 2
		{"lo", "w"},   // 7
		{"e", "w"},    // 6, before n e and w est
		{"ew", "est"}, // 6, before n ew
	}
	if diff := cmp.Diff(want, merges(tok)); diff != "" {
		t.Errorf("merges (-want +got):\n%s", diff)
	}
	if got := tok.VocabSize(); got != 263 {
		t.Errorf("VocabSize = %d, want 263", got)
	}
}

// merges are the merges of a trained tokenizer.
func merges(t *Tokenizer) []mergeText { return t.model.(*bpe).mergeTexts() }

// trainingWords is a corpus with words of falling weight.
func trainingWords() iter.Seq2[string, int] {
	text := "the cat near the table sees the key and the lamp of mary because mary has the red " +
		"key while john " +
		"has the blue lamp and alexandria has a wardrobe"
	return func(yield func(string, int) bool) {
		for i, w := range strings.Fields(text) {
			if !yield(" "+w, 100-i) {
				return
			}
		}
	}
}

func TestTrainForgetsOrder(t *testing.T) {
	opts := TrainOptions{VocabSize: 300, Specials: []string{"<pad>", "</s>"}}
	words := map[string]int{}
	for w, n := range trainingWords() {
		words[w] += n
	}
	var want string
	for i := range 5 {
		tok, err := Train(maps.All(words), opts) // in another order each time
		must(t, err)
		got := written(t, tok)
		if i == 0 {
			want = got
		}
		if got != want {
			t.Fatal("two trainings on the same corpus differ")
		}
	}
}

func TestTrainWriteParse(t *testing.T) {
	tok, err := Train(trainingWords(),
		TrainOptions{VocabSize: 320, Specials: []string{"<pad>", "</s>"}})
	must(t, err)
	file := written(t, tok)
	again, err := Parse([]byte(file), "trained")
	must(t, err)
	if written(t, again) != file {
		t.Error("the file of a trained tokenizer, read and written, differs")
	}
	for _, c := range refCases(t) {
		want, got := encode(t, tok, c.Text), encode(t, again, c.Text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q, trained and read back (-want +got):\n%s", c.Text, diff)
		}
		text, err := tok.decode(idsOf(want), false, true)
		if err != nil || text != c.Text {
			t.Errorf("decode(Encode(%q)) = %q, %v", c.Text, text, err)
		}
	}
}

func TestTrainCommonWordsWhole(t *testing.T) {
	tok, err := Train(trainingWords(), TrainOptions{VocabSize: 256 + 26, MinFrequency: 10})
	must(t, err)
	if n := len(encodeWith(t, tok, " the", false)); n != 1 {
		t.Errorf("common word \" the\" has %d tokens, want 1", n)
	}
	if n := len(encodeWith(t, tok, " wardrobe", false)); n < 2 {
		t.Errorf("rare word \" wardrobe\" has %d tokens, want pieces", n)
	}
}

func TestTrainNeverSpellsSpecial(t *testing.T) {
	corpus := map[string]int{"aab": 9, "ab": 5}
	tok, err := Train(maps.All(corpus), TrainOptions{VocabSize: 300, Specials: []string{"ab"}})
	must(t, err)
	if slices.ContainsFunc(merges(tok), func(m mergeText) bool { return m[0]+m[1] == "ab" }) {
		t.Errorf("merges %v make the special \"ab\"", merges(tok))
	}
}

func TestTrainBeginWith(t *testing.T) {
	tok, err := Train(trainingWords(),
		TrainOptions{VocabSize: 300, Specials: []string{"<pad>", "<\"s\">"}, BeginWith: "<\"s\">"})
	must(t, err)
	if file := written(t, tok); strings.Contains(file, `\u003c`) {
		t.Error("the file escapes <, which Hugging Face does not")
	}
	text := encodeWith(t, tok, " the", false)
	want := append([]Encoded{{ID: 1, Special: true}}, text...)
	if diff := cmp.Diff(want, encode(t, tok, " the")); diff != "" {
		t.Errorf("with control tokens (-want +got):\n%s", diff)
	}
}

func TestTrainRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		corpus map[string]int
		opts   TrainOptions
		want   string
	}{
		{"no room for the bytes", nil, TrainOptions{VocabSize: 256, Specials: []string{"<s>"}}, "VocabSize 256 is not from 257"},
		{"negative frequency", nil, TrainOptions{VocabSize: 300, MinFrequency: -1}, "MinFrequency -1 is negative"},
		{"special twice", nil, TrainOptions{VocabSize: 300, Specials: []string{"<s>", "<s>"}}, "must not contain a token twice"},
		{"special is a byte", nil, TrainOptions{VocabSize: 300, Specials: []string{"a"}}, "or one that stands for a byte"},
		{"special is no text", nil, TrainOptions{VocabSize: 300, Specials: []string{"\xff"}}, "is not valid UTF-8"},
		{"empty special", nil, TrainOptions{VocabSize: 300, Specials: []string{""}}, "token 0 is empty"},
		{"begins with no special", nil, TrainOptions{VocabSize: 300, BeginWith: "<s>"}, "must be one of Specials"},
		{"negative count", map[string]int{"a": -1}, TrainOptions{VocabSize: 300}, "count -1, which is negative"},
		{"counts too high", map[string]int{"ab": 1 << 62}, TrainOptions{VocabSize: 300}, "divide them"},
	} {
		_, err := Train(maps.All(c.corpus), c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

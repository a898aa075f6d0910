package tokenizer

import (
	"maps"
	"math"
	"strings"
	"testing"
)

// TestWordLevelUnknown: a word that is not in the vocabulary, without an unknown token.
func TestWordLevelUnknown(t *testing.T) {
	tok, err := Parse([]byte(withModel(
		`{"type":"WordLevel","vocab":{"a":0},"unk_token":"[NONE]"}`)), "test")
	must(t, err)
	if got := encode(t, tok, "a"); len(got) != 1 || got[0].ID != 0 {
		t.Errorf("tokens of a known word: %v", got)
	}
	const want = `tokenizer: the vocabulary has no tokens for "ab", and model.unk_token ` +
		`("[NONE]") is not in it either`
	if _, err := tok.Encode("ab", true); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestTokenListedTwice: of equal keys of a vocabulary the last counts, as in Hugging Face, and the
// id of the first has no token.
func TestTokenListedTwice(t *testing.T) {
	tok, err := Parse([]byte(withModel(
		`{"type":"WordLevel","vocab":{"a":0,"b":1,"a":2},"unk_token":"b"}`)), "test")
	must(t, err)
	if id, ok := tok.ID("a"); id != 2 || !ok {
		t.Errorf(`ID("a") = %d, %v, want 2`, id, ok)
	}
	if _, err := tok.Decode([]int{0}, false); err == nil {
		t.Error("id 0 has a token")
	}
	if text := tok.TokenText(0); text != "" {
		t.Errorf("TokenText(0) = %q, want nothing", text)
	}
}

// TestAddedTokenTakesNextID: an added token that the model lacks has the next id, which must be
// free.
func TestAddedTokenTakesNextID(t *testing.T) {
	file := func(vocab string) string {
		return `{"version":"1.0","added_tokens":[{"id":2,"content":"<s>"}],"model":` +
			`{"type":"WordLevel","unk_token":"a","vocab":` + vocab + `}}`
	}
	if _, err := Parse([]byte(file(`{"a":0,"b":1}`)), "test"); err != nil {
		t.Errorf("the next id is free: %v", err)
	}
	if _, err := Parse([]byte(file(`{"a":0,"<s>":2}`)), "test"); err != nil {
		t.Errorf("the model has the token: %v", err)
	}
	_, err := Parse([]byte(file(`{"a":0,"b":2}`)), "test")
	if err == nil || !strings.Contains(err.Error(),
		`token "<s>" has id 2, which is "b" in model.vocab`) {
		t.Errorf("the next id is taken: error %v", err)
	}
}

// TestTrainRefusesCorpus has one case for each error about a corpus and the control tokens.
func TestTrainRefusesCorpus(t *testing.T) {
	plain := TrainOptions{VocabSize: 300}
	for _, c := range []struct {
		name  string
		texts map[string]int
		opts  TrainOptions
		want  string
	}{
		{"negative count", map[string]int{"a": -1}, plain, `text "a" has the count -1`},
		{"too many", map[string]int{"ab": math.MaxInt}, plain, "add up to more than"},
		{"too many in all", map[string]int{"a": math.MaxInt - 5, "b": math.MaxInt - 5}, plain, "add up to more than"},
		{"a special twice", nil, TrainOptions{VocabSize: 300, Specials: []string{"x", "x"}}, "must not contain a token twice"},
		{"a special that is a byte", nil, TrainOptions{VocabSize: 300, Specials: []string{"a"}}, "or one that stands for a byte"},
		{"an empty special", nil, TrainOptions{VocabSize: 300, Specials: []string{""}}, "is empty"},
		{
			"a long special", nil,
			TrainOptions{VocabSize: 300, Specials: []string{strings.Repeat("x", 1025)}},
			"has 1025 bytes, the limit is 1024",
		},
		{"a special that is not text", nil, TrainOptions{VocabSize: 300, Specials: []string{"a\xff"}}, "is not valid UTF-8"},
		{"another beginning", nil, TrainOptions{VocabSize: 300, BeginWith: "<s>"}, `BeginWith "<s>" must be one of Specials`},
		{"too small", nil, TrainOptions{VocabSize: 255}, "VocabSize 255 is not from 256"},
		{"negative frequency", nil, TrainOptions{VocabSize: 300, MinFrequency: -1}, "MinFrequency -1 is negative"},
	} {
		_, err := Train(maps.All(c.texts), c.opts)
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: Train: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.200v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := Train(nil, plain); err == nil ||
		err.Error() != "tokenizer: Train: the corpus is nil" {
		t.Errorf("no corpus: error %v", err)
	}
}

// TestStepsOfTables: the steps of the search in a vocabulary are counted, for each kind of model.
func TestStepsOfTables(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for name, model := range map[string]string{
		"WordPiece": `{"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"",` +
			`"max_input_chars_per_word":1000000,"vocab":{"u":0,"a":1,"` + long + `b":2}}`,
		"Unigram": `{"type":"Unigram","unk_id":0,"vocab":[["u",0],["a",-1],["` + long + `b",-2]]}`,
	} {
		tok, err := Parse([]byte(withModel(model)), "test")
		must(t, err)
		m := newMeter(len(long))
		if _, err := tok.tokens(long, m); err != nil || m.steps < 1000*1000/2 {
			t.Errorf("%s: %d steps, %v, want half a million at least", name, m.steps, err)
		}
		m = newMeter(len(long))
		m.maxSteps = 1000
		_, err = tok.tokens(strings.Repeat("a", 999)+"c", m)
		if err == nil || !strings.Contains(err.Error(), "model ("+name+")") {
			t.Errorf("%s with 1000 steps: error %v, want one that names the model", name, err)
		}
	}
}

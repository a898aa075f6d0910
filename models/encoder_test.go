package models_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// encoders are goldens with every kind of head.
var encoders = []string{"bert", "roberta", "bert_cls", "electra_disc", "electra_cls", "bert_bare"}

// longText returns more tokens than an encoder's head computes at a time.
func longText() []int {
	ids := make([]int, 40)
	for i := range ids {
		ids[i] = 2 + 37*i%90
	}
	return ids
}

// headTol is how much a probability may depend on how many positions the head computes at a time.
// The largest difference seen is 4e-8.
const headTol = 1e-6

// TestPositions explains an encoder at many positions in an arbitrary order. It must yield the rows
// once, and at each position the prediction of a run with that position alone.
func TestPositions(t *testing.T) {
	ids := longText()
	positions := []int{39, 0}
	for at := 1; at < 39; at++ {
		positions = append(positions, at)
	}
	for _, name := range encoders {
		t.Run(name, func(t *testing.T) {
			m := open(t, "testdata/goldens/"+name)
			ask := trace.Ask{Positions: positions, Alternatives: 2, Mixings: []trace.MixingAsk{{Name: "attention", AllRows: true}}}
			got := generate(t, m, ids, ask)
			if len(got) != len(positions) {
				t.Fatalf("%d steps, want one for each of %d positions", len(got), len(positions))
			}
			for i, at := range positions {
				ask.Positions = []int{at}
				want := generate(t, m, ids, ask)[0]
				if i > 0 {
					want = trace.Step{First: len(ids), Next: want.Next}
				}
				if diff := cmp.Diff(want, got[i], cmpopts.EquateApprox(0, headTol)); diff != "" {
					t.Errorf("position %d (-alone +among others):\n%s", at, diff)
				}
			}
		})
	}
}

// TestPositionsStop checks that a run that is cancelled between two positions ends there, and that
// its earlier steps are valid.
func TestPositionsStop(t *testing.T) {
	m := open(t, "testdata/goldens/bert")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps := 0
	var last error
	for _, err := range m.Steps(ctx, longText(), trace.Ask{Positions: []int{1, 2, 3}}) {
		if last = err; err == nil {
			steps++
		}
		if steps == 2 {
			cancel()
		}
	}
	if steps != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d steps and error %v after a cancel at 2, want 2 and %v",
			steps, last, context.Canceled)
	}
}

// wordPiece is a tokenizer of the words a and b. The caller fills in the post-processor.
const wordPiece = `{"version":"1.0","truncation":null,"padding":null,"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},
"added_tokens":[
 {"id":0,"content":"[PAD]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":1,"content":"[CLS]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
 {"id":2,"content":"[SEP]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"post_processor":%s,"decoder":null,
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
 "vocab":{"[PAD]":0,"[CLS]":1,"[SEP]":2,"[UNK]":3,"a":4,"b":5}}}`

// TestEncodeSpecials checks the control tokens of encoders, [CLS] and [SEP], which take the place
// of begin-of-text. Each must be there once. It is an error to ask for them if the tokenizer adds
// none.
func TestEncodeSpecials(t *testing.T) {
	const (
		around = `{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]}`
		behind = `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],"pair":[],
 "special_tokens":{"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}}`
	)
	cls := trace.Token{ID: 1, Text: "[CLS]", Special: true}
	sep := trace.Token{ID: 2, Text: "[SEP]", Special: true}
	a := trace.Token{ID: 4, Text: " a", Begin: 0, End: 1}
	b := trace.Token{ID: 5, Text: " b", Begin: 2, End: 3}
	written := trace.Token{ID: 1, Text: "[CLS]", Begin: 0, End: 5, Special: true}
	later := trace.Token{ID: 4, Text: " a", Begin: 6, End: 7}
	for _, c := range []struct {
		name, post, text string
		specials         trace.Specials
		want             []trace.Token
		refused          string
	}{
		{"on", around, "a b", trace.SpecialsOn, []trace.Token{cls, a, b, sep}, ""},
		{"as the tokenizer does", around, "a b", trace.SpecialsAuto, []trace.Token{cls, a, b, sep}, ""},
		{"off", around, "a b", trace.SpecialsOff, []trace.Token{a, b}, ""},
		{"on, written by the user too", around, "[CLS] a", trace.SpecialsOn, []trace.Token{cls, written, later, sep}, ""},
		{"on, of an empty text", around, "", trace.SpecialsOn, []trace.Token{cls, sep}, ""},
		{"off, of an empty text", around, "", trace.SpecialsOff, nil, `the text "" has no tokens`},
		{"on, where only the end has one", behind, "a b", trace.SpecialsOn, []trace.Token{a, b, sep}, ""},
		{"on, where there is none", "null", "a b", trace.SpecialsOn, nil, "has no begin-of-text token to put in front"},
		{"on, where the user wrote the only one", "null", "[CLS] a", trace.SpecialsOn, nil, "has no begin-of-text token to put in front"},
		{"auto, where there is none", "null", "a b", trace.SpecialsAuto, []trace.Token{a, b}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := withWordPiece(t, c.post).Encode(c.text, c.specials)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("Encode = %v, %v; want an error with %q", got, err, c.refused)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("Encode: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// withWordPiece opens an encoder with the tokenizer [wordPiece].
func withWordPiece(t *testing.T, post string) *models.Model {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/goldens/bert")))
	write(t, filepath.Join(dir, "tokenizer.json"), fmt.Appendf(nil, wordPiece, post))
	return open(t, dir)
}

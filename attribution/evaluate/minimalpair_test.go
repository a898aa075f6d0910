package evaluate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

var update = flag.Bool("update", false, "write testdata/minimal_pairs.jsonl again")

// grammarPair has the keys of a line of BLiMP, in their order there, and the evidence.
type grammarPair struct {
	Good               string   `json:"sentence_good"`
	Bad                string   `json:"sentence_bad"`
	Field              string   `json:"field"`
	Term               string   `json:"linguistics_term"`
	UID                string   `json:"UID"`
	SimpleLM           bool     `json:"simple_LM_method"`
	OnePrefix          bool     `json:"one_prefix_method"`
	TwoPrefix          bool     `json:"two_prefix_method"`
	LexicallyIdentical bool     `json:"lexically_identical"`
	PairID             string   `json:"pairID"`
	Evidence           [][2]int `json:"evidence"`
}

// grammarPairs are sentences of the embedded masked model's grammar, six of each kind, as a file of
// BLiMP.
func grammarPairs(t *testing.T) []byte {
	t.Helper()
	terms := map[string]string{
		"pronoun": "anaphor_agreement", "determiner": "determiner_noun_agreement",
		"agreement": "subject_verb_agreement", "anaphor": "anaphor_agreement",
	}
	m, ok := tiny.Lookup(tiny.MaskedName)
	if !ok {
		t.Fatal("there is no masked model")
	}
	var b bytes.Buffer
	for _, kind := range m.Kinds() {
		for i, s := range m.Sentences(tiny.HeldOut, kind, 6, 1) {
			p := grammarPair{
				Good: s.Filled(s.Right), Bad: s.Filled(s.Wrong), Field: "morphology",
				Term: terms[kind], UID: "tiny_" + kind + "_" + s.Form, SimpleLM: true,
				PairID: string(rune('0' + i)),
			}
			for _, w := range s.Sources() {
				begin, end := s.Span(w)
				if w > s.Answer { // the span is that of a text with the mask token
					by := len(s.Right) - len(tiny.Mask)
					begin, end = begin+by, end+by
				}
				p.Evidence = append(p.Evidence, [2]int{begin, end})
			}
			line, err := json.Marshal(p)
			must(t, err)
			b.Write(append(line, '\n'))
		}
	}
	return b.Bytes()
}

const pairsFile = "testdata/minimal_pairs.jsonl"

// The file of the grammar's pairs is what the grammar makes, and a case of each pair is the
// sentence of the grammar again: the masked text with its cue.
func TestGrammarPairs(t *testing.T) {
	want := grammarPairs(t)
	if *update {
		must(t, os.WriteFile(pairsFile, want, 0o666))
	}
	got, err := os.ReadFile(pairsFile)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s is not what the grammar makes; -update writes it again (-want +got):\n%s",
			pairsFile, diff)
	}
	m, err := models.Open(tiny.MaskedName, models.Options{Backend: "go"})
	must(t, err)
	grammar, _ := tiny.Lookup(tiny.MaskedName)
	var sentences []tiny.Sentence
	for _, kind := range grammar.Kinds() {
		sentences = append(sentences, grammar.Sentences(tiny.HeldOut, kind, 6, 1)...)
	}
	var cases []evaluate.Case
	for i, line := range bytes.Split(bytes.TrimSpace(got), []byte("\n")) {
		p, err := evaluate.ParseMinimalPair(line)
		must(t, err)
		c, reason, err := p.Case(m)
		if err != nil || reason != "" {
			t.Fatalf("line %d: %s, %v", i+1, reason, err)
		}
		s := sentences[i]
		if c.Prompt != s.Text() || c.Continuation != s.Right || c.Contrast != s.Wrong {
			t.Errorf("line %d: %q, %q, %q; want %q, %q, %q", i+1, c.Prompt, c.Continuation,
				c.Contrast, s.Text(), s.Right, s.Wrong)
		}
		for k, w := range s.Sources() {
			if e := c.Evidence[k]; c.Prompt[e[0]:e[1]] != s.Words[w] {
				t.Errorf("line %d: the cue is %q, want %q", i+1, c.Prompt[e[0]:e[1]], s.Words[w])
			}
		}
		cases = append(cases, c)
	}
	preferred, err := evaluate.Prefer(t.Context(), m, cases, trace.SpecialsAuto)
	must(t, err)
	if preferred.Tried != len(cases) || preferred.Right < len(cases)-2 {
		t.Errorf("%d of %d right; the model has learned these phenomena", preferred.Right,
			preferred.Tried)
	}
}

// Words with punctuation, a common beginning and a common end are found whole.
func TestMinimalPairWords(t *testing.T) {
	for _, c := range []struct {
		name, good, bad         string
		wantGood, wantBad, left string
	}{
		{"common end", "Karla listens to herself.", "Karla listens to himself.", "herself", "himself", "Karla listens to "},
		{"one begins the other", "The pictures hurt.", "The picture hurt.", "pictures", "picture", "The "},
		{"first word", "These cats eat.", "This cats eat.", "These", "This", ""},
		{"apostrophe", "She isn't here.", "She aren't here.", "isn't", "aren't", "She "},
		{"accents", "Il a été là.", "Il a étée là.", "été", "étée", "Il a "},
		{"accents of one first byte", "Le père dort.", "Le pére dort.", "père", "pére", "Le "},
		{"letters of one last byte", "the é sound", "the 驩 sound", "é", "驩", "the "},
		{"no spaces", "猫は寝る", "犬は寝る", "猫は寝る", "犬は寝る", ""},
		{"last word", "the dogs bark", "the dogs barks", "bark", "barks", "the dogs "},
	} {
		p := evaluate.MinimalPair{Good: c.good, Bad: c.bad}
		good, bad, begin, end, ok := p.Words()
		if !ok || good != c.wantGood || bad != c.wantBad || c.good[:begin] != c.left ||
			c.good[begin:end] != good {
			t.Errorf("%s: %q, %q after %q, %v; want %q, %q after %q", c.name, good, bad,
				c.good[:begin], ok, c.wantGood, c.wantBad, c.left)
		}
	}
	for _, c := range [][2]string{
		{"the dogs bark", "the dogs bark loudly"},
		{"a b c d", "a x y d"},
		{"who ran", "ran who"},
		{"\x80\x80", "\x80\x81"}, // not UTF-8
	} {
		p := evaluate.MinimalPair{Good: c[0], Bad: c[1]}
		if _, _, _, _, ok := p.Words(); ok {
			t.Errorf("%q and %q are taken for a pair of words", c[0], c[1])
		}
	}
}

// A decoder gets the text before the word, whose space belongs to the words, and the evidence that
// is in that text.
func TestMinimalPairDecoder(t *testing.T) {
	m, err := models.Open(tiny.Name, models.Options{Backend: "go"})
	must(t, err)
	p := evaluate.MinimalPair{
		Good: "the keys are here", Bad: "the keys is here", UID: "u",
		Evidence: [][2]int{{4, 8}, {13, 17}},
	}
	got, reason, err := p.Case(m)
	want := evaluate.Case{
		Group: "u", Prompt: "the keys", Continuation: " are", Contrast: " is",
		Evidence: [][2]int{{4, 8}},
	}
	if diff := cmp.Diff(want, got); diff != "" || reason != "" || err != nil {
		t.Errorf("%s %v (-want +got):\n%s", reason, err, diff)
	}
	for _, c := range []struct{ good, bad, want string }{
		{"these keys", "this keys", "differs in its first word"},
		{"the keys", "a lamp", "differ in more than one word"},
	} {
		p := evaluate.MinimalPair{Good: c.good, Bad: c.bad}
		_, reason, err := p.Case(m)
		if !strings.Contains(reason, c.want) || err != nil {
			t.Errorf("%q: reason %q, %v; want %q", c.good, reason, err, c.want)
		}
	}
}

func TestParseMinimalPair(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"sentence_good":"a"`, "no minimal pair"},
		{`{"sentence_bad":"a"}`, `no "sentence_good"`},
		{`{"sentence_good":"a"}`, `no "sentence_bad"`},
		{`{"sentence_good":"a","sentence_bad":"a"}`, "must differ"},
		{`{"sentence_good":"a","sentence_bad":"b","evidence":[[0,2]]}`, "number 1: bytes 0 to 2"},
	} {
		_, err := evaluate.ParseMinimalPair([]byte(c.line))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.line, err, c.want)
		}
	}
}

var must = testhelp.Must // ends a test at an error

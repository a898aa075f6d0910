package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// TestBenchTranslation: the evidence of every sentence of the toy that translates is proven, and
// no other word of the source decides. Attention of the layer that reads the source aligns its
// words; in sentences with a place in front, words in the same place do not.
func TestBenchTranslation(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	args := []string{
		"bench", "methods", "--model", "tiny-translation", "--methods", "raw,value-zeroing",
		"--cases", "8", "--timed", "0",
	}
	text := headwater.Output(t, append(args, "--json")...)
	var r benchReport
	must(t, json.Unmarshal([]byte(text), &r))
	if r.Cases != 16 || r.Chosen != 16 || !slices.Equal(r.Groups,
		[]string{"gender", "number", "all"}) || r.Tasks != nil {
		t.Errorf("%d cases, %d chosen, groups %v, tasks %v", r.Cases, r.Chosen, r.Groups, r.Tasks)
	}
	for _, p := range r.Proofs {
		if p.Proven != p.Cases || p.Evidence.Deciding != p.Evidence.Words ||
			p.Others.Words == 0 || p.Others.Deciding != 0 {
			t.Errorf("%s is not proven: %+v", p.Group, p)
		}
	}
	words := r.Alignment.Proofs[0] // as many of the target as the toy has, without full stops
	if words.Cases < 16*5 || words.Proven != words.Cases || words.Evidence.Words != words.Cases ||
		words.Others.Words < 16*10 || words.Others.Deciding != 0 || r.Alignment.Refuted != nil {
		t.Errorf("words of the targets are not proven: %+v", words)
	}
	rate, recall := map[string]evaluate.Summary{}, map[string]evaluate.Summary{}
	for _, a := range r.Alignment.Methods {
		recall[a.Method] = a.Recall
		if rate[a.Method] = a.ErrorRate; (a.Layer == 8) != (a.Method == "raw" ||
			a.Method == "value-zeroing") {
			t.Errorf("%s is read in layer %d", a.Method, a.Layer)
		}
	}
	same, random := rate[evaluate.SamePlaceLine], rate["random"]
	for _, method := range []string{"raw", "value-zeroing"} {
		if x := rate[method]; x.N != 16 || !(x.High < same.Mean) || !(x.High < random.Low) {
			t.Errorf("%s has %v, words in the same place %v, random scores %v", method, x, same,
				random)
		}
		if x := recall[method]; x.N != 16 || x.Low < 0.8 ||
			!(x.Low > recall[evaluate.SamePlaceLine].High && x.Low > recall["random"].High) {
			t.Errorf("%s recalls %v, words in the same place %v, random scores %v", method, x,
				recall[evaluate.SamePlaceLine], recall["random"])
		}
	}
	table := headwater.Output(t, args...)
	for _, want := range []string{
		"16 cases on tiny-translation", "words of 16 translations (mean and 95 % confidence)",
		"\nsame place  ", "\nvalue-zeroing, decoder 2 cross  ",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
}

// TestTranslationCases: the answer follows the source, and the pieces of evidence and the changes
// are words of it.
func TestTranslationCases(t *testing.T) {
	toy, _ := tiny.Lookup(tiny.TranslationName)
	cases := translationCases(toy, 3, 1, true)
	if len(cases) != 12 {
		t.Fatalf("%d cases, want 3 of each kind to score and to choose layers", len(cases))
	}
	for i, c := range cases {
		must(t, c.CheckSpans())
		if c.Selection != (i >= 6) || len(c.Evidence) != 1 || c.Contrast == c.Continuation {
			t.Errorf("case %d is %+v", i, c)
		}
		words := strings.Fields(c.Prompt)
		for _, x := range c.Changes {
			if word := c.Prompt[x.Span[0]:x.Span[1]]; !slices.Contains(words, word) ||
				(x.Answer != "") != (x.Span == c.Evidence[0]) {
				t.Errorf("case %d changes %q to %q with the answer %q", i, word, x.Text, x.Answer)
			}
		}
	}
}

package evaluate_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// woman is a translation whose links are known: {target, source}.
var woman = evaluate.Translation{
	Source: "the old woman slept .", Target: "la mujer vieja durmió .",
	Sure:     [][2]int{{0, 0}, {1, 2}, {2, 1}, {3, 3}, {4, 4}},
	Possible: [][2]int{{0, 2}, {2, 2}, {3, 2}},
}

// TestAlignWords: words in the same place have three sure links and one possible one of five, so
// that their error rate is 1 - (3 + 4) / (5 + 5). That of a method is that of the links to the
// largest scores, one token being one word here, in the layer that is best where it has one layer.
func TestAlignWords(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	methods := []string{"raw", "alti", "direct", "random"}
	got, err := evaluate.AlignWords(t.Context(), m, nil, []evaluate.Translation{woman},
		evaluate.Options{Methods: methods})
	must(t, err)
	rates := map[string]float64{}
	for _, a := range got.Methods {
		rates[a.Method] = a.ErrorRate.Mean
	}
	if x := rates[evaluate.SamePlaceLine]; math.Abs(x-0.3) > 1e-15 || len(got.Methods) != 5 {
		t.Errorf("%s: %v, want 0.3; %d methods", evaluate.SamePlaceLine, x, len(got.Methods))
	}
	if !slices.IsSortedFunc(got.Methods, func(a, b evaluate.WordAlignment) int {
		return int(math.Copysign(1, a.ErrorRate.Mean-b.ErrorRate.Mean))
	}) || got.Proofs != nil {
		t.Errorf("%v are not in order, or prove something", got)
	}
	e, err := attribution.Explain(t.Context(), m, woman.Source, attribution.Options{
		Methods: methods, Continuation: " " + woman.Target, AllLayers: true,
	})
	must(t, err)
	for _, name := range methods {
		r, best := e.Methods[name], 1.0
		for k := range r.Layers {
			if name != "raw" {
				k = r.Level(0)
			}
			var links [][2]int
			for target := range 5 {
				row, at := r.Row(target, k)[1:6], 0 // without <bos>
				for j := range row {
					if math.Abs(row[j]) > math.Abs(row[at]) {
						at = j
					}
				}
				if row[at] != 0 {
					links = append(links, [2]int{target, at})
				}
			}
			best = min(best, evaluate.AlignmentErrorRate(links, woman.Sure, woman.Possible))
		}
		if rates[name] != best {
			t.Errorf("%s: %v, want %v", name, rates[name], best)
		}
	}
}

// TestAlignWordsProves: the evidence of a word of the target is proven with the words before it as
// they are. "king" in place of "woman" is evidence for the article, and none for the verb
// after "la mujer vieja", so that the claim is refuted. Of what is proven, direct finds all. The
// numbers are those of the changed source, explained as a text of its own.
func TestAlignWordsProves(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	noun := func(answer string) evaluate.Change {
		return evaluate.Change{Span: [2]int{8, 13}, Text: "king", Answer: answer}
	}
	verb := evaluate.Change{Span: [2]int{14, 19}, Text: "ran"}
	answered := verb
	answered.Answer = " corrió"
	x := woman
	x.Changes = [][]evaluate.Change{
		{noun(" el"), verb}, nil, nil, {noun(" durmieron"), answered},
	}
	got, err := evaluate.AlignWords(t.Context(), m, nil, []evaluate.Translation{x},
		evaluate.Options{Methods: []string{"direct"}})
	must(t, err)
	if len(got.Refuted) != 1 || got.Refuted[0].Prompt != "the old woman slept . → la mujer vieja "+
		"durmió" || !strings.HasPrefix(got.Refuted[0].Reason, `evidence "woman" decides nothing`) {
		t.Errorf("refuted are %q", got.Refuted)
	}
	p := got.Proofs[0]
	if p.Cases != 2 || p.Proven != 1 || p.Evidence.Words != 3 || p.Evidence.Deciding != 2 ||
		p.Others.Words != 1 || p.Others.Deciding != 0 {
		t.Errorf("the proofs are %+v", p)
	}
	for _, a := range got.Methods {
		if a.Method == "direct" && (a.Recall.Mean != 1 || a.Recall.N != 1) {
			t.Errorf("direct finds %v", a.Recall)
		}
	}
	x.Changes = [][]evaluate.Change{nil, nil, nil, {noun(""), answered}}
	got, err = evaluate.AlignWords(t.Context(), m, nil, []evaluate.Translation{x},
		evaluate.Options{Methods: []string{"direct"}})
	must(t, err)
	lost := func(source string, id int) (logit float64) { // log of the odds to another verb
		e, err := attribution.Explain(t.Context(), m, source, attribution.Options{
			Methods: []string{"raw"}, Continuation: " " + woman.Target, Alternatives: 742,
		})
		must(t, err)
		for _, a := range e.Steps[3].Alternatives {
			if a.ID == id {
				return math.Log(e.Steps[3].Probability) - math.Log(a.Probability)
			}
		}
		t.Fatalf("token %d is no alternative", id)
		return 0
	}
	other, err := m.Encode(" corrió", trace.SpecialsFollow)
	must(t, err)
	before, after := lost(x.Source, other[0].ID), lost("the old woman ran .", other[0].ID)
	if loss := got.Proofs[0].Evidence.Loss.Mean; math.Abs(loss-(before-after)/before) > 1e-4 {
		t.Errorf("a share of %v is lost, want %v", loss, (before-after)/before)
	}
}

// TestAlignWordsRefuses: what cannot be measured is refused, with the reason.
func TestAlignWordsRefuses(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	one, err := models.Open("tiny", models.Options{})
	must(t, err)
	outside, without := woman, woman
	outside.Sure, without.Sure = [][2]int{{5, 0}}, nil
	long, beyond, blank := woman, woman, woman
	long.Changes = make([][]evaluate.Change, 6)
	beyond.Changes = [][]evaluate.Change{nil, {{Span: [2]int{20, 30}}}}
	blank.Changes = [][]evaluate.Change{{{Span: [2]int{3, 4}}}}
	for want, call := range map[string]struct {
		m *models.Model
		t []evaluate.Translation
	}{
		"tiny has one stack":                      {one, []evaluate.Translation{woman}},
		"there are no translations":               {m, nil},
		"has no sure link":                        {m, []evaluate.Translation{without}},
		"the link [5 0] of the translation \"la ": {m, []evaluate.Translation{outside}},
		"has 5 words, and 6 have changes":         {m, []evaluate.Translation{long}},
		"a change for word 1 of the translation":  {m, []evaluate.Translation{beyond}},
		"bytes 3 to 4 of the source are white":    {m, []evaluate.Translation{blank}},
	} {
		_, err := evaluate.AlignWords(t.Context(), call.m, nil, call.t,
			evaluate.Options{Methods: []string{"raw"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

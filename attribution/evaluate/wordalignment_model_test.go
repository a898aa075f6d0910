package evaluate_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
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
	for _, a := range got {
		rates[a.Method] = a.ErrorRate.Mean
	}
	if x := rates[evaluate.SamePlaceLine]; math.Abs(x-0.3) > 1e-15 || len(got) != 5 {
		t.Errorf("%s: %v, want 0.3; %d methods", evaluate.SamePlaceLine, x, len(got))
	}
	if !slices.IsSortedFunc(got, func(a, b evaluate.WordAlignment) int {
		return int(math.Copysign(1, a.ErrorRate.Mean-b.ErrorRate.Mean))
	}) {
		t.Errorf("%v are not in order", got)
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

// TestAlignWordsRefuses: what cannot be measured is refused, with the reason.
func TestAlignWordsRefuses(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	one, err := models.Open("tiny", models.Options{})
	must(t, err)
	outside, without := woman, woman
	outside.Sure, without.Sure = [][2]int{{5, 0}}, nil
	for want, call := range map[string]struct {
		m *models.Model
		t []evaluate.Translation
	}{
		"tiny has one stack":                      {one, []evaluate.Translation{woman}},
		"there are no translations":               {m, nil},
		"has no sure link":                        {m, []evaluate.Translation{without}},
		"the link [5 0] of the translation \"la ": {m, []evaluate.Translation{outside}},
	} {
		_, err := evaluate.AlignWords(t.Context(), call.m, nil, call.t,
			evaluate.Options{Methods: []string{"raw"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

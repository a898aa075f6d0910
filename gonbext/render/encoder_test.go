package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// encoded is an explanation by an encoder with that head: two predictions of a masked-token head,
// at a mask and at a word, one of each other. Its last token draws much of every row. Its numbers
// follow a rule, not a model.
func encoded(head trace.Head) *attribution.Explanation {
	texts := []string{"[CLS]", "the", " man", " lost", "[MASK]", " key", "s", " .", "[SEP]"}
	at := func(i int) *int { return &i }
	e := &attribution.Explanation{
		Version: attribution.Version,
		Model: trace.Info{
			Name: "reader", Hash: "77e04b5a3f2a9c1d", Family: "bert", Backend: "go", Head: head,
			Bidirectional: true,
			Layers:        4, Heads: 2, Width: 32, Vocab: 96,
		},
		Prompt: attribution.Prompt{
			Text: "the man lost [MASK] keys.", Texts: texts, IDs: []int{2, 5, 6, 7, 4, 8, 9, 10, 3},
			Offsets: [][2]int{
				{0, 0},
				{0, 3},
				{4, 7},
				{8, 12},
				{13, 19},
				{20, 23},
				{23, 24},
				{24, 25},
				{0, 0},
			},
			Special: []bool{true, false, false, false, true, false, false, false, true},
		},
		Order: []string{"rollout", "flow"}, Methods: map[string]*attribution.Result{},
		Maps: map[string]*attribution.Map{},
	}
	switch head {
	case trace.MaskedToken:
		e.Steps = []attribution.GeneratedToken{
			{
				ID: 11, Text: " his", Position: at(4), Probability: 0.624,
				Alternatives: []attribution.Alternative{
					{ID: 11, Text: " his", Probability: 0.624}, {ID: 12, Text: " the", Probability: 0.211}, {ID: 13, Text: " her", Probability: 0.05},
				},
			},
			{ID: 8, Text: " key", Position: at(5), Probability: 0.973},
		}
	case trace.Classes:
		e.Steps = []attribution.GeneratedToken{{
			ID: 1, Text: "POSITIVE", Position: at(0),
			Class: true, Probability: 0.98, Alternatives: []attribution.Alternative{
				{ID: 1, Text: "POSITIVE", Probability: 0.98}, {ID: 0, Text: "NEGATIVE", Probability: 0.02},
			},
		}}
	case trace.TokenClasses:
		e.Steps = []attribution.GeneratedToken{{
			Text: "original", Position: at(3), Class: true,
			Probability: 0.9,
		}}
	case trace.NoHead:
		e.Steps = []attribution.GeneratedToken{{
			ID: 8, Text: " key", Position: at(5),
			Unscored: true,
		}}
	}
	e.Maps["rollout"] = ruled(len(texts), []int{0, 1, 2, 3}, "share of attention")
	e.Maps["flow"] = ruled(len(texts), []int{3}, "flow")
	for name, m := range e.Maps {
		L, T := m.Shape[0], m.Shape[1]
		r := &attribution.Result{
			Unit: m.Unit, Facts: m.Facts, Layers: m.Layers, Shape: [3]int{len(e.Steps), T, L},
			Options: map[string]string{
				"heads": "mean", "residual": "0.5",
				"row": "position explained",
			},
		}
		for _, g := range e.Steps {
			for l := range L {
				r.Rows = append(r.Rows, slices.Clone(m.Row(l, *g.Position)))
			}
		}
		e.Methods[name] = r
		r.OtherMass = make([]float64, len(e.Steps)*L)
	}
	return e
}

// ruled is a map of T tokens whose last one draws 40 % of every row and whose other shares follow a
// rule.
func ruled(T int, layers []int, unit string) *attribution.Map {
	m := &attribution.Map{
		Unit: unit, Facts: ofUnit(unit), Layers: layers, Shape: [3]int{len(layers), T, T},
	}
	for l := range layers {
		for t := range T {
			sum := 0.0
			weights := make([]float64, T-1)
			for j := range weights {
				weights[j] = float64(1 + (j*(3+l)+t*5)%7)
				if j == t {
					weights[j] *= 2
				}
				sum += weights[j]
			}
			for _, w := range weights {
				m.Data = append(m.Data, 0.6*w/sum)
			}
			m.Data = append(m.Data, 0.4)
		}
	}
	return m
}

func TestEncoder(t *testing.T) {
	t.Run("text", func(t *testing.T) {
		golden(t, asText(Heatmap{Explanation: encoded(trace.MaskedToken)}))
	})
	t.Run("class", func(t *testing.T) {
		golden(t, asText(Heatmap{Explanation: encoded(trace.Classes)}))
	})
	t.Run("notebook", func(t *testing.T) {
		h := Heatmap{Explanation: encoded(trace.MaskedToken)}
		golden(t, h)
		survives(t, written(t, h))
	})
}

// The prediction of each kind of head has its own words, in text and HTML.
func TestEncoderHeads(t *testing.T) {
	value := encoded(trace.Classes)
	value.Steps[0] = attribution.GeneratedToken{
		Text: "-0.37", Position: new(int), Class: true,
		Unscored: true,
	}
	nowhere := encoded(trace.MaskedToken)
	nowhere.Steps[0].Position = nil
	far := 99
	outside := encoded(trace.MaskedToken)
	outside.Steps[0].Position = &far
	for _, c := range []struct {
		name         string
		e            *attribution.Explanation
		title        string
		line, markup string
	}{
		{"masked token", encoded(trace.MaskedToken), "Where each prediction comes from", "  1  [MASK] at 4 → \"his\"  62.4 %\n", `[MASK] at 4 → <b class="hm-me">his</b>`},
		{"word", encoded(trace.MaskedToken), "predicted  his · key", "  2  key at 5 → \"key\"  97.3 %\n", `key at 5 → <b class="hm-me">key</b>`},
		{"class", encoded(trace.Classes), "Where the class comes from", "  1  [CLS] at 0 → class POSITIVE  98.0 %\n", `[CLS] at 0 → class <b class="hm-me">POSITIVE</b>`},
		{"value", value, "predicted  -0.37", "  1  [CLS] at 0 → value -0.37\n", `[CLS] at 0 → value <b class="hm-me">-0.37</b>`},
		{"class of a token", encoded(trace.TokenClasses), "predicted  original", "  1  lost at 3 → original  90.0 %\n", `lost at 3 → <b class="hm-me">original</b>`},
		{"no head", encoded(trace.NoHead), "What each hidden state is made of", "  1  token 5 \"key\"\n", `token 5 <b class="hm-me">key</b>`},
		{"no position", nowhere, "Where each", "  1  \"his\"  62.4 %\n", "<b class=\"hm-me\">his</b>"},
		{"a position outside", outside, "Where each", "  1  position 99 → \"his\"", "position 99 → <b class=\"hm-me\">his</b>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, markup := written(t, asText(Heatmap{Explanation: c.e})), written(t,
				Heatmap{Explanation: c.e})
			survives(t, markup)
			for _, want := range []string{c.title, c.line} {
				if !strings.Contains(text, want) {
					t.Errorf("text lacks %q:\n%s", want, text)
				}
			}
			if !strings.Contains(markup, c.markup) {
				t.Errorf("HTML lacks %q:\n%s", c.markup, markup)
			}
			for _, s := range []string{text, untrusted(t, markup)} {
				for _, wrong := range []string{"enerated", "prompt", "NaN", "begin-of-text"} {
					if strings.Contains(s, wrong) {
						t.Errorf("a picture for an encoder says %q:\n%s", wrong, s)
					}
				}
			}
		})
	}
}

// The end token, a sink, is named separately; without sinks a row needs no total.
func TestEncoderTotals(t *testing.T) {
	e := encoded(trace.MaskedToken)
	for what, r := range map[string]string{
		"text": written(t,
			asText(Heatmap{Explanation: e})),
		"HTML": written(t, Heatmap{Explanation: e}),
	} {
		if !strings.Contains(r, "sink [SEP] 40.0 % · rest of the text 60.0 %") {
			t.Errorf("%s does not show the sink:\n%s", what, r)
		}
	}
	for name, m := range e.Maps { // the same without the sink, which no row looks at now
		T := m.Shape[1]
		for i := T - 1; i < len(m.Data); i += T {
			m.Data[i] = 0
		}
		for _, row := range e.Methods[name].Rows {
			row[T-1] = 0
		}
	}
	for what, r := range map[string]string{
		"text": written(t,
			asText(Heatmap{Explanation: e})),
		"HTML": written(t, Heatmap{Explanation: e}),
	} {
		if strings.Contains(r, "sink [SEP]") || strings.Contains(r, "Σ") ||
			strings.Contains(r, "text 60.0 %") {
			t.Errorf("%s shows totals that say nothing:\n%s", what, r)
		}
	}
}

package attribution_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// TestDamaged: what reads an explanation gives an error about what is wrong with it, and does
// not panic.
func TestDamaged(t *testing.T) {
	six := 6
	for _, c := range []struct {
		name, want string
		damage     func(e *attribution.Explanation, r *attribution.Result)
	}{
		{"rows", "shape [2 3 2] with 3 rows does not fit", func(_ *attribution.Explanation, r *attribution.Result) { r.Rows = r.Rows[:3] }},
		{"short row", "does not fit 3 prompt tokens", func(_ *attribution.Explanation, r *attribution.Result) { r.Rows[2] = r.Rows[2][:2] }},
		{"long row", "does not fit 3 prompt tokens", func(_ *attribution.Explanation, r *attribution.Result) { r.Rows[0] = make([]float64, 5) }},
		{"tokens", "shape [9223372036854775807 3 2]", func(_ *attribution.Explanation, r *attribution.Result) { r.Shape[0] = math.MaxInt }},
		{"negative", "shape [2 -3 2]", func(_ *attribution.Explanation, r *attribution.Result) { r.Shape[1] = -3 }},
		{"layers", "does not fit 3 prompt tokens and 0 layers", func(_ *attribution.Explanation, r *attribution.Result) { r.Layers = nil }},
		{"texts", "3 offsets and 3 marks of control tokens for 0 tokens", func(e *attribution.Explanation, _ *attribution.Result) { e.Prompt.Texts = nil }},
		{"special", "0 marks of control tokens for 3 tokens", func(e *attribution.Explanation, _ *attribution.Result) { e.Prompt.Special = nil }},
		{"offsets", "token 1 lies in bytes 2 to 900 of a text of 6", func(e *attribution.Explanation, _ *attribution.Result) { e.Prompt.Offsets[1] = [2]int{2, 900} }},
		{"backwards", "token 1 lies in bytes 3 to -1", func(e *attribution.Explanation, _ *attribution.Result) { e.Prompt.Offsets[1] = [2]int{3, -1} }},
		{"ids", "0 ids for 3 tokens", func(e *attribution.Explanation, _ *attribution.Result) { e.Prompt.IDs = nil }},
		{"method", `there is nothing of method "m"`, func(e *attribution.Explanation, _ *attribution.Result) { e.Methods["m"] = nil }},
		{"no methods", "the explanation has no methods, and so not \"m\"", func(e *attribution.Explanation, _ *attribution.Result) { e.Methods, e.Order = nil, nil }},
		{"other mass", "what of m rests on generated tokens has 1 values, not 4", func(e *attribution.Explanation, _ *attribution.Result) { e.Methods["m"].OtherMass = []float64{0} }},
		{"map", "the map of m does not", func(e *attribution.Explanation, _ *attribution.Result) {
			m := &attribution.Map{Layers: []int{0}, Shape: [3]int{1, 3, 3}}
			e.Maps = map[string]*attribution.Map{"m": m}
		}},
		{"step", "at position 6 of 3", func(e *attribution.Explanation, _ *attribution.Result) {
			e.Steps = []attribution.GeneratedToken{{Position: &six}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := small()
			e.Prompt.Text, e.Prompt.IDs = "Theand", []int{1, 2, 3}
			e.Prompt.Offsets = [][2]int{{0, 3}, {3, 6}, {6, 6}}
			c.damage(e, e.Methods["m"])
			var errs []string
			add := func(err error) {
				if err != nil {
					errs = append(errs, err.Error())
				}
			}
			_, err := e.Sinks("m", attribution.ShownLevel)
			add(err)
			_, err = e.Silent("m", 0)
			add(err)
			_, err = e.TopK(0, "m", 2, nil)
			add(err)
			_, err = e.Covered(0, "m", 2, nil)
			add(err)
			_, err = e.GroupSpans([]units.Span{{Tokens: []int{0}}, {Tokens: []int{1, 2}}})
			add(err)
			by, _ := units.ParseGrouping("word")
			_, err = e.Group(by)
			add(err)
			if _, err = e.Group(by); err != nil && !strings.Contains(err.Error(), "damaged: ") {
				t.Errorf("grouped: %v, want what is damaged", err)
			}
			for _, allLayers := range []bool{false, true} {
				if _, err = e.Words(allLayers); err != nil &&
					!strings.Contains(err.Error(), "damaged: ") {
					t.Errorf("words: %v, want what is damaged", err)
				}
			}
			e.WordsOfText()
			_, err = e.Prompt.Units().Spans([2]int{0, 3})
			add(err)
			if all := strings.Join(errs, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("errors:\n%s\nwant %q", all, c.want)
			}
			e.Prompt.Units().Sentences()
			if r := e.Methods["m"]; r != nil {
				r.LayerName(trace.Info{}, 0, 1)
			}
		})
	}
}

// TestFlowEndsDamaged: a token without a row of flow is an error.
func TestFlowEndsDamaged(t *testing.T) {
	e := small()
	e.Prompt.IDs = []int{1, 2, 3}
	e.Methods["flow"] = e.Methods["m"]
	for len(e.Steps) < 3 {
		e.Steps = append(e.Steps, attribution.GeneratedToken{})
	}
	want := "damaged: 2 rows of flow for"
	if _, _, err := e.FlowEnds(2, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, ends, err := e.FlowEnds(1, nil); err != nil || ends[0] != 3 {
		t.Errorf("ends %v, error %v", ends, err)
	}
}

// misplaced is a model whose last token lies outside the text.
type misplaced struct{ *fakemodel.Model }

func (m misplaced) Encode(text string, s trace.Specials) ([]trace.Token, error) {
	tokens, err := m.Model.Encode(text, s)
	if err == nil {
		tokens[len(tokens)-1].End += 3
	}
	return tokens, err
}

// TestExplainMisplaced: a token outside the text is an error of the model, before it runs.
func TestExplainMisplaced(t *testing.T) {
	e, err := attribution.Explain(t.Context(), misplaced{fakemodel.New(1, fakemodel.Evenly)},
		"w1 w2", attribution.Options{})
	want := `"fake" gives wrong tokens: token 1 lies in bytes 3 to 8 of a text of 5`
	if e != nil || err == nil || !strings.Contains(err.Error(), want) ||
		errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want %q", err, want)
	}
}

package render

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// arabic returns a picture whose text is Arabic, with a scorer and alternatives.
func arabic() *attribution.Explanation {
	return &attribution.Explanation{
		Prompt: attribution.Prompt{
			Text: "عاصمة مصر", Texts: []string{"عاصم", "ة", " مصر", "ة"},
			Special: make([]bool, 4),
		},
		Steps: []attribution.GeneratedToken{
			{ID: 1, Text: " القاهرة", Probability: 0.6, Alternatives: []attribution.Alternative{
				{ID: 1, Text: " القاهرة", Probability: 0.6}, {ID: 2, Text: " في", Probability: 0.2},
			}},
			{ID: 3, Text: " .", Probability: 0.5},
		},
		Order: []string{"direct"},
		Methods: map[string]*attribution.Result{"direct": {
			Unit: "part of the logit", Layers: []int{1}, Shape: [3]int{2, 4, 1},
			Rows: [][]float64{{1.05, 0, 0.44, -0.5}, {0, 2, 0, 1}}, OtherMass: []float64{0, 0},
			Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Evidence: trace.Traced, Scorer: true, Combined: true, AddsUp: true},
		}},
	}
}

// TestRightToLeft: beside a number, a name that is written from right to left stands between marks
// that keep the number behind it; the running text has no marks and its own direction.
func TestRightToLeft(t *testing.T) {
	// A right-to-left letter that is not between marks, and after it a number.
	open := regexp.MustCompile(`[\x{590}-\x{8ff}][^<>\x{2069}\n]*[0-9]`)
	for name, picture := range map[string]any{
		"HTML": Heatmap{Explanation: arabic()},
		"text": asText(Heatmap{Explanation: arabic()}),
		"top":  asText(Heatmap{Explanation: arabic(), Top: 3}),
	} {
		got := written(t, picture)
		if found := open.FindString(got); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		if strings.Count(got, isolateBegin) != strings.Count(got, isolateEnd) {
			t.Errorf("%s: a mark is missing", name)
		}
		if strings.Contains(got, "U+2068") {
			t.Errorf("%s: marks are shown as codes", name)
		}
	}
	mark := func(name string) string { return isolateBegin + name + isolateEnd }
	page := written(t, Heatmap{Explanation: arabic()})
	for _, want := range []string{
		`<div class="hm-text" dir="rtl"`,
		">عاصم</span>",
		mark("عاصم") + " +1.05, " + mark("مصر") + " +0.44", mark("ة") + " (3) −0.50",
		"first token " + mark("عاصم") + " +1.05",
		mark("في") + " 20.0 %",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if english := written(t, Heatmap{Explanation: example()}); strings.Contains(
		english, ` dir="`) || strings.Contains(english, isolateBegin) {
		t.Error("an English text has marks or a direction")
	}
	if w := Width(isolated("مصر")); w != 3 {
		t.Errorf("the marks count: %d columns, want 3", w)
	}
	if got := Visible(isolated("مصر"), 0); strings.Contains(got, isolateBegin) {
		t.Error("marks of a token take effect: " + fmt.Sprintf("%q", got))
	}
}

package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// farApart is a text of m tokens of which only those named stand out.
func farApart(m int, strong ...int) *attribution.Explanation {
	e := &attribution.Explanation{
		Prompt: attribution.Prompt{Text: "a long text", Special: make([]bool, m)},
		Steps:  []attribution.GeneratedToken{{Text: " end", Probability: 0.5}},
		Order:  []string{"raw"},
	}
	r := &attribution.Result{
		Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{1, m, 1}, Shown: []int{0},
		Data: make([]float64, m), Options: map[string]string{},
	}
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", j))
	}
	for _, j := range strong {
		r.Data[j] = 0.4
	}
	e.Methods = map[string]*attribution.Result{"raw": r}
	return e
}

// Stretches of a long text without colours are folded, with six tokens left beside a coloured one.
func TestFolds(t *testing.T) {
	folded := func(e *attribution.Explanation) map[int]int {
		b := newPage(Heatmap{Explanation: e}.picture(true), 0)
		b.choose(nil)
		if f := b.newFolds(); f != nil {
			return f.length
		}
		return nil
	}
	// Tokens 94 to 106 stay, and 294 to 299 before the chosen token 300.
	if got := folded(farApart(300, 100)); fmt.Sprint(got) != "map[0:94 107:187]" {
		t.Errorf("folded are %v, want 94 from 0 and 187 from 107", got)
	}
	// From 107 to 129 there are 23, too few.
	if got := folded(farApart(300, 100, 136)); fmt.Sprint(got) != "map[0:94 143:151]" {
		t.Errorf("folded are %v, want 94 from 0 and 151 from 143", got)
	}
	if got := folded(farApart(199, 100)); got != nil {
		t.Errorf("a text of 200 tokens is folded: %v", got)
	}
	got := written(t, Heatmap{Explanation: farApart(300, 100)})
	survives(t, got)
	if strings.Count(got, " … 94 tokens … </summary>") != 1 || !strings.Contains(got, ">w57<") {
		t.Error("the picture lacks the fold or what is in it")
	}
}

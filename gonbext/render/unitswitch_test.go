package render

import (
	"strings"
	"testing"
)

// TestUnitSwitch: a page of words has the picture of tokens for its switch, with another identity
// for what a reader chooses, and a page of tokens has none.
func TestUnitSwitch(t *testing.T) {
	e := chatted()
	var one, both heatmapData
	scriptOf(t, written(t, Heatmap{Explanation: e}), &one)
	page := written(t, Heatmap{Explanation: e, Words: true})
	scriptOf(t, page, &both)
	if one.Finer != nil || one.Whole || !both.Whole || both.Finer == nil {
		t.Fatalf("of tokens: %t, %v; of words: %t, %v", one.Whole, one.Finer, both.Whole,
			both.Finer)
	}
	finer := both.Finer
	if finer.Data.ID == both.ID || len(finer.Data.Names) != len(one.Names) || finer.Data.Whole ||
		!strings.Contains(finer.Markup, `class="hm-after"`) {
		t.Errorf("the switch has %+v", finer)
	}
	if !strings.Contains(page, "Every word of the answer") {
		t.Error("the page does not say that its rows are words")
	}
}

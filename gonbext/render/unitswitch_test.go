package render

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/units"
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

// TestGroupedRows: a page of a prompt that is grouped by words, and of an answer that is not, has a
// row for each token of the answer.
func TestGroupedRows(t *testing.T) {
	by, err := units.ParseGrouping("word")
	must(t, err)
	e, err := chatted().Group(by)
	must(t, err)
	page := written(t, Heatmap{Explanation: e, Words: true})
	_, list, _ := strings.Cut(page, `<table class="hm-plain"`)
	list, _, _ = strings.Cut(list, "</table>")
	if n := strings.Count(list, "<tr "); n != len(e.Steps) || e.ByWords() {
		t.Errorf("%d rows of %d tokens", n, len(e.Steps))
	}
}

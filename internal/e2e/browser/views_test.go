package browser

import (
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// TestTouchCompare chooses tokens and sides of a comparison: at first the difference colours the
// text, and the matrices of both sides and of the difference are shown.
func TestTouchCompare(t *testing.T) {
	b := tab(t)
	e := fed()
	h, err := render.Compare(render.Side{Explanation: e, Method: "direct"},
		render.Side{Explanation: e, Method: "value-zeroing"})
	if err != nil {
		t.Fatal(err)
	}
	b.Show(t, fixture.Written(t, render.Page{HTML: render.HTML{Heatmap: h}}))
	matrices := func() int {
		return chromium.Evaluate[int](t, b,
			"[...document.querySelectorAll('.hw-v')].filter((v) => !v.hidden).length")
	}
	// Rows are divided by their sizes: direct has 0 0 -1 2 and -1.5 of 4.5, value-zeroing 0 0 0 0.6
	// and 0.3 of 0.9.
	do(t, b, "").check(t, "at first", "here",
		"A − B, row by row: more in B from “are” (generated 1) -66.7 %", "2 s", "3 to", "4 are")
	if n := matrices(); n != 3 {
		t.Errorf("%d matrices are shown, want all 3", n)
	}
	// 2 and 1 of 3, 0.6 and 0.2 of 0.8
	do(t, b, click(".hw-t > *", 4)).check(t, "a click", "are",
		"more in A from “s” +8.3 %; more in B from “key” -8.3 %", "1 key", "2 s")
	do(t, b, click(".hw-b button", 0)).check(t, "the first side", "are",
		"A: direct, whole model: for it “key” +66.7 %", "1 key", "2 s")
	do(t, b, click(".hw-b button", 3))
	if n := matrices(); n != 1 {
		t.Errorf("%d matrices are shown, want that of one side", n)
	}
}

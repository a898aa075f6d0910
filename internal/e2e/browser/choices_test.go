package browser

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// everywhere runs a test in windows of 446 and 1,200 pixels, on a light and on a dark system.
func everywhere(t *testing.T, b *chromium.Browser, test func(t *testing.T)) {
	t.Helper()
	set := func(width int64, scheme string) {
		b.Do(t, func(ctx context.Context) error {
			params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
			}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params); err != nil {
				return err
			}
			return chromedp.Do(ctx, chromedp.EmulateViewport(width, 900))
		})
	}
	defer set(1200, "light")
	for _, width := range []int64{446, 1200} {
		for _, scheme := range []string{"light", "dark"} {
			set(width, scheme)
			t.Run(fmt.Sprintf("%d-%s", width, scheme), test)
		}
	}
}

// readable checks what is drawn: texts can be read, and nothing is wider than the window.
func readable(t *testing.T, d chromium.Drawn) {
	t.Helper()
	checkColors(t, d)
	checkElements(t, d)
	if d.Wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", d.Wide)
	}
}

// TestTouchCompareLayers compares two layers of one method and chooses the sides.
func TestTouchCompareLayers(t *testing.T) {
	b := tab(t)
	e := touched()
	var sides [2]render.Side
	for k := range sides {
		sides[k] = render.Side{Explanation: e, Method: "value-zeroing", Layer: &k}
	}
	h, err := render.Compare(sides[0], sides[1])
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, fixture.Written(t, render.Page{HTML: render.HTML{Heatmap: h}})))
		do(t, b, "").check(t, "at first", "are", "A − B, row by row: more in A from "+
			"“the” +50.0 %, “to” +50.0 %; more in B from “key” -60.0 %, “s” -20.0 %",
			"0 the", "1 key", "2 s", "3 to")
		s := do(t, b, click(".hw-b button", 0))
		s.check(t, "the lower layer", "are", "A: value-zeroing@0, layer 0: most from "+
			"“the” 50.0 %, “to” 50.0 %", "0 the", "3 to")
		if s.Tab != "A: value-zeroing@0" {
			t.Errorf("the button says %q", s.Tab)
		}
		do(t, b, click(".hw-b button", 1)+";"+click(".hw-t > *", 5)).check(t, "the upper layer",
			"here", "B: value-zeroing@1, layer 1: most from “to” 60.0 %", "3 to")
	})
}

package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// phone gives a tab the window of a phone, with fingers and without a mouse, until the test ends.
func phone(t *testing.T, b *chromium.Browser) {
	t.Helper()
	fingers := func(on bool) {
		b.Do(t, func(ctx context.Context) error {
			params := emulation.SetTouchEmulationEnabledParams{Enabled: on}
			_, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, params)
			return err
		})
	}
	t.Cleanup(func() {
		fingers(false)
		b.Resize(t, 1200, 900)
	})
	fingers(true)
	b.Do(t, func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{
				Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: true,
			})
		return err
	})
}

// touchAt puts a finger on a point of the window, moves it along the others, and lifts it.
func touchAt(t *testing.T, b *chromium.Browser, points ...[2]float64) {
	t.Helper()
	send := func(ctx context.Context, kind input.DispatchTouchEventType, at ...[2]float64) error {
		params := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
		for _, p := range at {
			params.TouchPoints = append(params.TouchPoints, &input.TouchPoint{X: p[0], Y: p[1]})
		}
		_, err := chromedp.Call(ctx, input.DispatchTouchEvent, params)
		return err
	}
	b.Do(t, func(ctx context.Context) error {
		if err := send(ctx, input.DispatchTouchEventTypeTouchStart, points[0]); err != nil {
			return err
		}
		for _, p := range points[1:] {
			if err := send(ctx, input.DispatchTouchEventTypeTouchMove, p); err != nil {
				return err
			}
		}
		return send(ctx, input.DispatchTouchEventTypeTouchEnd)
	})
	// What the browser makes of it comes in a later frame.
	chromium.Evaluate[bool](t, b, `new Promise((done) => setTimeout(() => done(true), 100))`, await)
}

// pointOf returns where a part of an element is in the window, after it was scrolled into view: at
// 0, 0 its left upper corner, at 1, 1 the right lower one.
func pointOf(t *testing.T, b *chromium.Browser, element string, x, y float64) [2]float64 {
	t.Helper()
	return chromium.Evaluate[[2]float64](t, b, fmt.Sprintf(`(() => {
		const e = %s;
		e.scrollIntoView({block: 'center', inline: 'center'});
		const r = e.getBoundingClientRect();
		return [r.left + %g * r.width, r.top + %g * r.height];
	})()`, element, x, y))
}

// sentence is what a picture says of what is chosen, and of a node of a graph.
const sentence = "document.querySelector('.hm-say').textContent + " +
	"(document.querySelector('.hm-flow .hm-readout')?.textContent || '')"

// TestFinger taps on each kind of part of each view on a phone: what a tap says is what a click
// says, nothing is wider than the window, and the page is not enlarged.
func TestFinger(t *testing.T) {
	b := tab(t)
	phone(t, b)
	nth := func(selector string, i int) string {
		return fmt.Sprintf("document.querySelectorAll(%q)[%d]", selector, i)
	}
	maps := mapped(touched())
	for _, c := range []struct {
		view, page string
		taps       []string
		// at is where a finger touches an element, in parts of its width and height.
		at   [2]float64
		want []string // parts of the sentence after each tap
	}{
		{
			"heatmap", pageOf(t, fed()),
			[]string{
				nth(".hm-text u", 1), nth(".hm-text u", 1), nth(".hm-tabs button", 1),
				nth(".hm-matrix tbody th", 1), nth(".hm-matrix th[data-c]", 1), nth(".hm-facts button", 0),
			},
			[2]float64{0.5, 0.5},
			[]string{
				"“here” came from “to”", "here stands out for no", "here stands out for no",
				"“here” came from “to”", "key stands out most for are", "“here” came from “to”",
			},
		},
		{
			"heads", document(attended()),
			[]string{
				nth(".hm-text u", 1), nth(".hm-map td", 0), nth(".hm-matrix tbody th", 1),
				nth(".hm-map td", 2), nth(".hm-text span", 2), nth(".hm-text span", 2),
			},
			[2]float64{0.5, 0.5},
			[]string{
				"Before here, head 1 of layer 1 looked at to", "head 0 of layer 1 looked mostly",
				"head 1 of layer 1 looked at to", "head 0 of layer 0 looked", "head 0 of layer 0 looked",
				"keys stands out for no token of head 0 of layer 0",
			},
		},
		{
			"flow", document(flowing(t)),
			[]string{nth(".hm-text span", 1), nth(".hm-text span", 1), nth(".hm-text u", 0)},
			[2]float64{0.5, 0.5},
			[]string{"“key” (1) before layer 0", "Point at a token", "“to” (3) after layer 1"},
		},
		{
			"maps", document(maps),
			[]string{nth(".hm-text :is(span,u)", 1)},
			[2]float64{0.5, 0.5},
			[]string{"key has most from the"},
		},
	} {
		t.Run(c.view, func(t *testing.T) {
			b.Show(t, c.page)
			// An open menu would cover the matrix.
			chromium.Evaluate[bool](t, b,
				"document.querySelectorAll('.hm-menu').forEach((e) => { e.open = false; }) || true")
			for i, element := range c.taps {
				touchAt(t, b, pointOf(t, b, element, c.at[0], c.at[1]))
				says := chromium.Evaluate[string](t, b, sentence)
				if !strings.Contains(says, c.want[i]) {
					t.Errorf("after tap %d it says %q, want %q", i, says, c.want[i])
				}
			}
			got := chromium.Evaluate[[2]float64](t, b, `[
				document.documentElement.scrollWidth - innerWidth, visualViewport.scale]`)
			if got[0] > 0 || got[1] != 1 {
				t.Errorf("the page is %g pixels too wide and enlarged %g times", got[0], got[1])
			}
		})
	}
}

// TestFingerMoves moves a finger over the list of a matrix that is wider than a phone: nothing
// moves sideways, and no row is chosen.
func TestFingerMoves(t *testing.T) {
	b := tab(t)
	phone(t, b)
	b.Show(t, pageOf(t, lengthenedBy(touched(), 60)))
	const read = sentence + " + scrollX + [...document.querySelectorAll('.hm *')].filter(" +
		"(e) => e.scrollLeft).length"
	was := chromium.Evaluate[string](t, b, read)
	from := pointOf(t, b, "document.querySelector('.hm-list')", 0.8, 0.5)
	var path [][2]float64
	for i := range 10 {
		path = append(path, [2]float64{from[0] - 15*float64(i), from[1]})
	}
	touchAt(t, b, path...)
	if now := chromium.Evaluate[string](t, b, read); now != was || !strings.HasSuffix(now, "00") {
		t.Errorf("it says %q after a finger moved, before %q", now, was)
	}
}

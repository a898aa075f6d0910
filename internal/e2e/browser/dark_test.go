package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// TestDarkPage opens pages on a dark system: they are dark and can be read.
func TestDarkPage(t *testing.T) {
	b := tab(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			light, dark := schemes(t, b, fixture.Written(t, render.Page{HTML: picture}))
			checkColors(t, dark)
			checkElements(t, dark)
			if light.Text != dark.Text {
				t.Error("the page says something else on dark")
			}
			if l := luminance(t, dark.Texts[0].Background); l > 0.05 {
				t.Errorf("the title stands on %s", dark.Texts[0].Background)
			}
		})
	}
}

// schemes shows a document on a light and on a dark system, which a page may ask for, and leaves
// the light one.
func schemes(t *testing.T, b *chromium.Browser, document string) (light, dark chromium.Drawn) {
	t.Helper()
	show := func(scheme string) chromium.Drawn {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		b.Do(t, func(ctx context.Context) error {
			params := emulation.SetEmulatedMediaParams{Features: features}
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params)
			return err
		})
		return b.Show(t, document)
	}
	dark = show("dark")
	return show("light"), dark
}

// TestForcedColors opens a page on a system that forces its own colours: those of tokens stay.
func TestForcedColors(t *testing.T) {
	b := tab(t)
	set := func(features ...*emulation.MediaFeature) {
		b.Do(t, func(ctx context.Context) error {
			params := emulation.SetEmulatedMediaParams{Features: features}
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params)
			return err
		})
	}
	set(&emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	defer set()
	b.Show(t, pageOf(t, touched()))
	// #27b is the colour above the neutral value.
	if colors := chromium.Evaluate[int](t, b, `[...document.querySelectorAll('.hw-t > *, .hw-m td, .hw-m th')].
		filter((e) => getComputedStyle(e).backgroundColor.includes('34, 119, 187')).length`); colors < 4 {
		t.Errorf("%d tokens and cells have their colours, want 4 or more", colors)
	}
}

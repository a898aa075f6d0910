package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/gonbext/render"
)

// TestDarkPage opens pages on a dark system: nothing of them is as on a light one but what stands out by itself, and all can be read.
func TestDarkPage(t *testing.T) {
	b := openBrowser(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			light, dark := b.schemes(t, written(t, render.Page{HTML: picture}))
			checkColors(t, dark)
			checkElements(t, dark)
			if len(light.Texts) != len(dark.Texts) {
				t.Fatalf("%d texts on light, %d on dark", len(light.Texts), len(dark.Texts))
			}
			if l := luminance(t, dark.Texts[0].Background); l > 0.05 {
				t.Errorf("the title stands on %s", dark.Texts[0].Background)
			}
			for i, p := range dark.Texts {
				if was := light.Texts[i]; was.Background == p.Background && luminance(t, was.Background) > 0.5 {
					t.Errorf("%q stands on %s in both schemes", p.Text, p.Background)
				}
			}
		})
	}
}

// schemes shows a document on a light and on a dark system, which a page may ask for, and leaves the light one.
func (b *browser) schemes(t *testing.T, document string) (light, dark drawn) {
	t.Helper()
	show := func(scheme string) drawn {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
			t.Fatal(err)
		}
		return b.show(t, document)
	}
	dark = show("dark")
	return show("light"), dark
}

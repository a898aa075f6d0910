package browser

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestDarkPage opens pages on a dark system: they are dark and can be read.
func TestDarkPage(t *testing.T) {
	b := tab(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			light, dark := schemes(t, b, document(picture))
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

// TestHatch: the hatching of a negative value is light where its colour is deep, grey would vanish
// there, and grey where it is pale.
func TestHatch(t *testing.T) {
	b := tab(t)
	e := touched()
	copy(e.Methods["direct"].Rows[0], []float64{-2, -1, -0.3, 2})
	light, dark := [3]string{}, [3]string{}
	for scheme, got := range map[string]*[3]string{"light": &light, "dark": &dark} {
		b.Do(t, func(ctx context.Context) error {
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Features: features})
			return err
		})
		b.Show(t, pageOf(t, e))
		*got = chromium.Evaluate[[3]string](t, b, `[...document.querySelectorAll('.hw-t > *')].slice(0, 3).
			map((e) => getComputedStyle(e).backgroundImage.match(/rgba\([1-9][^)]*\)/)[0])`)
	}
	b.Do(t, func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{})
		return err
	})
	const grey = "rgba(136, 136, 136, 0.533)"
	if want := "rgba(255, 255, 255, 0.733)"; light != [3]string{want, want, grey} {
		t.Errorf("on white the hatching is %s", light)
	}
	if want := "rgba(255, 255, 255, 0.4)"; dark != [3]string{want, want, grey} {
		t.Errorf("on black the hatching is %s", dark)
	}
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

// TestDarkSteps shows the palest colours on dark hosts: a layer of their own hue makes them deeper,
// in the text and, by a filter, as much in images and on canvases. On light hosts there is none.
func TestDarkSteps(t *testing.T) {
	b := tab(t)
	e := lengthened(touched())
	e.Methods["direct"].Rows[0][2] = 0.3 // of s, the palest step
	markup := htmlOf(render.Heatmap{Explanation: e})
	for _, c := range []struct {
		name, attribute, background string
		want                        [3]int
	}{
		// #27b with an opacity of 3/15 on white, and of 1 - (1 - 3/15)² = 0.36 on #111
		{"light notebook", `data-jp-theme-light="true"`, "rgb(255,255,255)", [3]int{211, 228, 241}},
		{"dark notebook", `data-jp-theme-light="false"`, "rgb(17,17,17)", [3]int{23, 54, 78}},
		{"dark editor", `class="vscode-dark"`, "rgb(17,17,17)", [3]int{23, 54, 78}},
	} {
		color := map[bool]string{true: "white", false: "black"}[strings.HasPrefix(c.name, "dark")]
		b.Show(t, strings.Replace(output(markup, c.background, color), "<body ",
			"<body "+c.attribute+" ", 1))
		places := chromium.Evaluate[[][2]float64](t, b, `(() => {
			const token = document.querySelectorAll('.hw-t > *')[2].getBoundingClientRect();
			const image = [...document.querySelectorAll('.hw-i')].find((e) => e.checkVisibility());
			const r = image.getBoundingClientRect();
			return [[token.left + 1, token.top + 5], [r.left + r.width * 2.5 / 66, r.top + r.height / 4]];
		})()`)
		for i, what := range []string{"the token", "the image"} {
			x, y := math.Floor(places[i][0]), math.Floor(places[i][1])
			shot, err := png.Decode(bytes.NewReader(b.Screenshot(t,
				&chromium.Clip{X: x, Y: y, Width: 1, Height: 1, Scale: 1})))
			must(t, err)
			got := color3(shot.At(0, 0))
			for k := range got {
				if d := got[k] - c.want[k]; d < -2 || d > 2 {
					t.Errorf("%s: %s has %v, want %v", c.name, what, got, c.want)
					break
				}
			}
		}
		checkColors(t, b.Inspect(t, "document.querySelector('#output')"))
	}
}

// color3 is red, green and blue of a colour, to 255.
func color3(c color.Color) [3]int {
	r, g, b, _ := c.RGBA()
	return [3]int{int(r >> 8), int(g >> 8), int(b >> 8)}
}

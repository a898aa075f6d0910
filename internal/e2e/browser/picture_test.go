package browser

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// leastContrast is what WCAG 2.1 asks of ordinary text (1.4.3, level AA).
const leastContrast = 4.5

// darkPage is the page of a dark notebook.
const darkPage = "rgb(17,17,17)"

// output puts markup on a page as a notebook does, in a theme of the notebook's.
func output(markup, background, color string) string {
	return fmt.Sprintf(`<!DOCTYPE html><html><head><meta charset="utf-8"></head><body `+
		`data-jp-theme-light="%t" style="background-color:%s;color:%s"><div id="output">%s</div>`+
		`</body></html>`, background != darkPage, background, color, markup)
}

// explained is an explanation by the embedded model.
func explained(t *testing.T, opts attribution.Options) *attribution.Explanation {
	t.Helper()
	return fixture.Explain(t, embedded(t), "the keys to the cabinet", opts)
}

// makePictures makes what pictures returns.
func makePictures(t *testing.T) map[string]render.Heatmap {
	t.Helper()
	layer := 2
	contrast := contrasted(t)
	all := explained(t, attribution.Options{MaxTokens: 3, Methods: attribution.MethodNames()})
	compared, err := render.Compare(compare.Side{Explanation: all, Method: "direct"},
		compare.Side{Explanation: all, Method: "rollout"})
	must(t, err)
	return map[string]render.Heatmap{
		"compared":    compared,
		"all methods": {Explanation: all},
		"lift": {Explanation: explained(t, attribution.Options{
			Methods: []string{"rollout", "value-zeroing"}, MaxTokens: 2, Lift: true,
		})},
		"filter":    {Explanation: all, Filter: attribution.Filter{"the", "to"}, Layer: &layer, Status: "token 3 of 3"},
		"short":     {Explanation: all, MaxBytes: 20_000},
		"nothing":   {},
		"contrast":  {Explanation: contrast},
		"sentences": {Explanation: divided(t, contrast, "sentence")},
		"hostile":   {Explanation: hostile(t)},
	}
}

// contrasted is an explanation by scorers, of whose values some speak against the prediction.
func contrasted(t *testing.T) *attribution.Explanation {
	t.Helper()
	const prompt = "mary has the red key . john has the blue lamp . who has the lamp ?"
	return fixture.Explain(t, embedded(t), prompt, attribution.Options{
		MaxTokens: 2, Contrast: " mary",
		Methods: []string{
			"gradient-x-input", "occlusion", "attn-lrp", "integrated-gradients", "rollout",
		},
	})
}

// divided is an explanation by parts of its prompt.
func divided(t *testing.T, e *attribution.Explanation, by string) *attribution.Explanation {
	t.Helper()
	d, err := units.ParseGrouping(by)
	must(t, err)
	e, err = e.Group(d)
	must(t, err)
	return e
}

// hostileTexts are tokens that would do something if they were taken for anything but text. What
// they ask for is no address of a machine; show would see the attempt.
var hostileTexts = []string{
	`<script>window.hit="script"</script>`,
	`<img src="http://hostile.invalid/x.png" onerror="window.hit='error'">`,
	`" onmouseover="window.hit='over'" style="background-image:url(http://hostile.invalid/y.png)`,
	`'><svg onload="window.hit='svg'">`,
	`</td></table></div></details></title><iframe src="http://hostile.invalid/">`,
	"&lt;b&gt; &amp;#60;",
	"\x00\x1b[31m\u202eesrever\u200b\xe2\x82",
	strings.Repeat("<b>", 4000),
}

// hostile is an explanation in which every text is one of hostileTexts.
func hostile(t *testing.T) *attribution.Explanation {
	t.Helper()
	e := explained(t, attribution.Options{MaxTokens: 4, Methods: []string{"attn-lrp", "rollout", "flow", "value-zeroing"}, Contrast: " is"})
	next := 0
	text := func() string {
		next++
		return hostileTexts[(next-1)%len(hostileTexts)]
	}
	for j := range e.Prompt.Texts {
		e.Prompt.Texts[j] = text()
	}
	e.Prompt.Text = strings.Join(hostileTexts[:6], " ")
	for i := range e.Steps {
		e.Steps[i].Text = text()
		for k := range e.Steps[i].Alternatives {
			e.Steps[i].Alternatives[k].Text = text()
		}
	}
	e.Model.Name, e.Model.Note, e.Model.Family = text(), text(), text()
	e.Methods["attn-lrp"].Contrast = hostileTexts[0]
	e.Warnings = append(e.Warnings, hostileTexts...)
	return e
}

// unseen returns the beginnings of the elements that do not show.
func unseen(t *testing.T, b *chromium.Browser, selector string) []string {
	t.Helper()
	return chromium.Evaluate[[]string](t, b, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(
		(e) => !e.checkVisibility({contentVisibilityAuto: true})).map(
		(e) => e.className + e.textContent.slice(0, 40))`, selector))
}

// TestPrint shows a page as it is printed: folded text is there, details only if they are open, and
// colours are kept.
func TestPrint(t *testing.T) {
	b := tab(t)
	b.Show(t, document(pictures(t)["contrast"]))
	emulate(t, b, "print")
	defer emulate(t, b, "")
	const details = ".hm-lines > div, .hm-details p"
	for _, open := range []bool{false, true} {
		chromium.Evaluate[bool](t, b, fmt.Sprintf(`(() => {
			document.querySelectorAll('details').forEach((e) => { e.open = %t; });
			return true;
		})()`, open))
		if hidden := unseen(t, b, ".hm-text :is(span,u), .hm-matrix td"); len(hidden) > 0 {
			t.Errorf("not printed: %q", hidden)
		}
		if hidden := unseen(t, b, details); len(hidden) > 0 == open {
			t.Errorf("of details that are open (%t), these are not printed: %q", open, hidden)
		}
	}
	adjust := chromium.Evaluate[string](t, b,
		"getComputedStyle(document.querySelector('.hm-text span')).printColorAdjust")
	if adjust != "exact" {
		t.Errorf("colours are printed as %q", adjust)
	}
}

// TestDarkAndLight shows pictures on the two themes of a notebook, with the script and without it:
// they take the colours of the theme, without a style sheet white, and can be read on both.
func TestDarkAndLight(t *testing.T) {
	b := tab(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			markup := htmlOf(picture)
			for i, markup := range []string{markup, sanitiseMarkup(t, b, markup).Sanitised} {
				dark := b.Show(t, output(markup, darkPage, "rgb(255,255,255)"))
				checkColors(t, dark)
				light := b.Show(t, output(markup, "rgb(255,255,255)", "rgba(0,0,0,0.87)"))
				checkColors(t, light)
				if light.Text != dark.Text || len(light.Colored) != len(dark.Colored) {
					t.Error("the picture is another one on dark")
				}
				// Without a style sheet it lies on a white sheet.
				if l := luminance(t, dark.Texts[0].Background); (l > 0.05) != (i == 1) {
					t.Errorf("on dark the title stands on %s", dark.Texts[0].Background)
				}
			}
		})
	}
}

// checkColors checks that there are colours and that every text can be read.
func checkColors(t *testing.T, d chromium.Drawn) {
	t.Helper()
	if len(d.Texts) == 0 {
		t.Fatal("nothing is drawn")
	}
	for _, p := range slices.Concat(d.Colored, d.Texts) {
		if c := contrast(t, p.Color, p.Background); c < leastContrast {
			t.Errorf("%q: %s on %s has contrast %.2f, want %v",
				p.Text, p.Color, p.Background, c, leastContrast)
		}
	}
}

// checkElements checks that the document has the elements of a picture and no others, and that no
// text acted.
func checkElements(t *testing.T, d chromium.Drawn) {
	t.Helper()
	known := []string{
		"b", "br", "button", "col", "colgroup", "details", "div", "i", "img", "p", "script",
		"small", "span", "style", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u",
		"bdi", "pre",
	}
	for name, n := range d.Elements {
		// A heatmap has two scripts, of which one is its numbers.
		if !slices.Contains(known, name) || name == "style" && n > 1 || name == "script" && n > 2 {
			t.Errorf("the document has %d elements %s", n, name)
		}
	}
	if d.Hit != "" {
		t.Errorf("a text acted: %s", d.Hit)
	}
}

// contrast is the contrast ratio of WCAG 2.1 of two colours as a browser writes them.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	var c [3]float64
	if _, err := fmt.Sscanf(color, "rgb(%f, %f, %f)", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("colour %q is not opaque: %v", color, err)
	}
	for i, v := range c {
		if v /= 255; v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

// TestHostileTextIsText looks for the tokens themselves in what a reader sees.
func TestHostileTextIsText(t *testing.T) {
	d := tab(t).Show(t, output(htmlOf(pictures(t)["hostile"]), "white", "black"))
	checkElements(t, d)
	for _, want := range []string{
		hostileTexts[0], `<svg onload="window.hit='svg'">`, `</td></table></div></details></title><iframe src="http://hostile.invalid/">`,
		"rather than " + hostileTexts[0], "&lt;b&gt; &amp;#60;", "␛[31m⟨U+202E⟩esrever⟨U+200B⟩⟨E2⟩⟨82⟩", "(12,000 bytes)",
	} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("a reader does not see %q", want)
		}
	}
}

// TestPage opens pictures as pages of their own, on light and on dark systems and in windows
// as wide
// as an output beside a file browser: they are as the system is, can be read, say the same, and
// nothing but matrices is scrolled from side to side.
func TestPage(t *testing.T) {
	b := tab(t)
	says := map[string][]string{
		"contrast": {
			"rather than mary", "john rather than mary: logit difference ", ", parts add up to ",
			"john and not “mary” came from john in the prompt", "×10⁻³", "layer 5",
			"+ for the prediction and − for mary", "(top 3 hold ", "18 prompt tokens",
		},
		"sentences": {
			"john has the blue lamp .", "4 spans of the prompt, the first of them begin-of-text",
			"by sentence", "spans of the prompt (sources)",
		},
		"mask":      {"[MASK] at 6 → ", "probability at this position", "What it could have been"},
		"positions": {"s at 3 → ", "cabinet at 6 → ", "2 predictions"},
		"class":     {"class LABEL_", "probability of each class"},
	}
	all := maps.Clone(pictures(t))
	for name, e := range map[string]*attribution.Explanation{
		"mask":      encoded(t, "bert", "the keys to the [MASK] are here", attribution.Options{}),
		"positions": encoded(t, "electra", "the keys to the cabinet", attribution.Options{Positions: []int{3, 6}}),
		"class":     encoded(t, "bert_cls", "the keys to the cabinet are here", attribution.Options{}),
	} {
		all[name] = render.Heatmap{Explanation: e}
	}
	for name, picture := range all {
		t.Run(name, func(t *testing.T) {
			page := document(picture)
			text := ""
			everywhere(t, b, func(t *testing.T) {
				d := b.Show(t, page)
				readable(t, d)
				text = cmp.Or(text, d.Text)
				if text != d.Text {
					t.Error("the page says something else here")
				}
				l := luminance(t, d.Texts[0].Background)
				if (l < 0.05) != strings.HasSuffix(t.Name(), "-dark") {
					t.Errorf("the title stands on %s", d.Texts[0].Background)
				}
			})
			e := picture.Explanation
			if e == nil {
				return
			}
			for _, say := range append(says[name], e.Order[0]) {
				if !strings.Contains(text, say) {
					t.Errorf("the page lacks %q", say)
				}
			}
			for _, wrong := range []string{"enerated", "prompt", "begin-of-text"} {
				if e.Model.Reads() && strings.Contains(text, wrong) {
					t.Errorf("the page about an encoder says %q", wrong)
				}
			}
		})
	}
}

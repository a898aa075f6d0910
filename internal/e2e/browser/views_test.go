package browser

import (
	"context"
	"fmt"

	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// flowing is the graph of flow over the text of touched through two layers: in the upper one token
// 3 looks at token 1, in the lower one every token looks at itself.
func flowing(t *testing.T) render.Flow { return flowingThrough(t, 2) }

// flowingThrough is that of flowing through so many layers: all below the upper one are like the
// lower one.
func flowingThrough(t *testing.T, layers int) render.Flow {
	const T = 4
	in := trace.Tensor{
		Name: "attention", Axes: "LTS", Shape: []int{layers, T, T},
		Data: make([]float32, layers*T*T),
	}
	for l := range layers {
		for i := range T {
			j := i
			if l == layers-1 && i == 3 {
				j = 1
			}
			in.Data[(l*T+i)*T+j] = 1
		}
	}
	g, err := attribution.NewFlowGraph(context.Background(),
		attribution.InMemory([]trace.Tensor{in}), attribution.Options{}, 3, 1)
	must(t, err)
	return render.Flow{Explanation: touched(), Graph: g}
}

// TestTouchFlow chooses nodes of a graph by clicks and by keys.
func TestTouchFlow(t *testing.T) {
	b := tab(t)
	b.Show(t, document(flowing(t)))
	said := func(script string) string {
		return chromium.Evaluate[string](t, b, "(() => {"+script+"})(),"+
			"document.querySelector('.hw-s').textContent")
	}
	check := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("after %s it says %q, want %q", what, got, want)
		}
	}
	const whole = "At most 0.500 flows from “key” (1) to “to” (3)"
	check("nothing", said(""), whole)
	const clickNode = `const image = document.querySelector('.hw-f img'),
		r = image.getBoundingClientRect(), step = (r.width - 16) / 2;
		image.dispatchEvent(new MouseEvent('click', {
			bubbles: true, clientX: r.left + 8 + 2 * step, clientY: r.top + 3.5 * 22,
		}))`
	check("a click on the target", said(clickNode), "“to” (3) after layer 1has from: “key” (1) "+
		"0.500, “to” (3) 0.500")
	edges := chromium.Evaluate[int](t, b, "document.querySelectorAll('.hw-f svg path').length")
	if edges != 2 {
		t.Errorf("%d edges are marked, want 2", edges)
	}
	const key = `document.querySelector('.hw-f').dispatchEvent(new KeyboardEvent('keydown', {
		key: '%s', bubbles: true, cancelable: true }))`
	check("left", said(fmt.Sprintf(key, "ArrowLeft")), "“to” (3) after layer 0has from: “to” (3) "+
		"1.000feeds in layer 1: “to” (3) 0.500")
	check("up", said(fmt.Sprintf(key, "ArrowUp")), "“s” (2) after layer 0")
	check("Esc", said(fmt.Sprintf(key, "Escape")), whole)
	said(clickNode)
	check("two clicks", said(clickNode), whole)
	check("a click in the text", said(click(".hw-t > span", 1)), "“key” (1) before layer 0feeds "+
		"in layer 0: “key” (1) ")
	check("a second click in the text", said(click(".hw-t > span", 1)), whole)
	below := strings.Replace(clickNode, "3.5 * 22", "9 * 22", 1)
	check("a click below the last token", said(below), "“to” (3) after layer 1")
	check("another one there", said(below), whole)
	check("a click on the generated token", said(click(".hw-t > u", 0)), "“to” (3) after layer 1")
	check("a second click on it", said(click(".hw-t > u", 0)), whole)
	check("a click on a token after it", said(click(".hw-t > u", 1)), whole)
	hands := chromium.Evaluate[string](t, b, `[...document.querySelectorAll('.hw-t > u')].
		map((e) => getComputedStyle(e).cursor + ' ' + e.title).join()`)
	if hands != "pointer ,default not in this graph" {
		t.Errorf("the generated tokens have %q", hands)
	}
}

// TestLayersKeys goes through panels by keys, and to a token by a click.
func TestLayersKeys(t *testing.T) {
	b := tab(t)
	b.Show(t, document(render.Layers{
		Heatmap: render.Heatmap{Explanation: deep(12)},
	}))
	if chromium.Evaluate[bool](t, b, "[...document.querySelectorAll('.hw-d div')]."+
		"some((e) => e.scrollWidth > e.clientWidth)") {
		t.Error("a panel scrolls sideways, although there is room for it")
	}
	const here = "[...document.querySelectorAll('.hw-p')].map((e) => e.hidden ? '' : e.style.left+' '+" +
		"e.style.top).join()"
	for _, c := range []struct{ do, says, marks string }{
		{press("ArrowLeft"), "direct, “are” ← up to layer 11 · “the” (0) 0.00", "0% 0%,0% 0%"},
		{press("ArrowRight"), "direct, “are” ← up to layer 11 · “key” (1) 2.00", "25% 0%,25% 0%"},
		{press("ArrowUp"), "direct, “are” ← up to layer 11 · “key” (1) 2.00", "25% 0%,25% 0%"},
		{
			press("ArrowDown"), "direct, “are” ← up to layer 10 · “key” (1) 2.00",
			"25% 8.33333%,25% 8.33333%",
		},
		{
			strings.ReplaceAll(press("ArrowRight"), "key:", "shiftKey: true, key:"),
			"direct, “here” ← up to layer 10 · “key” (1) 0.00", "25% 8.33333%,25% 8.33333%",
		},
		{
			click(".hw-t > *", 3), "direct, “here” ← up to layer 10 · “to” (3) 2.00",
			"75% 8.33333%,75% 8.33333%",
		},
		{
			press("ArrowRight"), "direct, “here” ← up to layer 10 · “to” (3) 2.00",
			"75% 8.33333%,75% 8.33333%",
		},
		{press("Escape"), "", ","},
	} {
		got := chromium.Evaluate[[2]string](t, b, "(() => {"+c.do+"})(),[document.querySelector("+
			"'.hw-t').nextSibling.textContent,"+here+"]")
		if got != [2]string{c.says, c.marks} {
			t.Errorf("%.200s: %q, want %q", c.do, got, []string{c.says, c.marks})
		}
	}

	e := deep(12)
	e.Prompt.Texts = []string{"عاصمة", " مصر", "ة", " هي"}
	place(e)
	b.Show(t, document(render.Layers{
		Heatmap: render.Heatmap{Explanation: e},
	}))
	chromium.Evaluate[bool](t, b, "(() => {"+press("ArrowLeft", "ArrowLeft")+"})(),true")
	says := chromium.Evaluate[string](t, b, "document.querySelector('.hw-t + div').textContent")
	if !strings.Contains(says, "(1) 2.00") {
		t.Errorf("to the left in a text from right to left is %q, want token 1", says)
	}
}

// TestLabelsStay scrolls what is wider than its column: the names of the lines stay in sight, and
// nothing is seen through them.
func TestLabelsStay(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(deep(12), 30)
	for name, markup := range map[string]string{
		"matrix": pageOf(t, e),
		"layers": document(render.Layers{
			Heatmap: render.Heatmap{Explanation: e},
		}),
		"flow": document(flowing(t)),
	} {
		t.Run(name, func(t *testing.T) {
			b.Show(t, markup)
			got := chromium.Evaluate[[]string](t, b, `(() => {
				document.body.style.maxWidth = '160px';
				return [...document.querySelectorAll('.hw table,.hm-matrix')].filter((e) => e.checkVisibility()).
					flatMap((table) => {
					const box = table.closest('.hm-scroll') || table.parentElement, left = box.getBoundingClientRect().left;
					box.scrollLeft = 60;
					const rows = [...table.rows].filter((r) => r.cells[0].textContent.trim() &&
						!r.cells[0].classList.contains('hw-h') && r.checkVisibility());
					return rows.map((r) => {
						const cell = r.cells[0], at = cell.getBoundingClientRect();
						return [box.scrollLeft > 20, Math.abs(at.left - left) < 2,
							!/, 0\)/.test(getComputedStyle(cell).backgroundColor)].join(' ');
					});
				});
			})()`)
			if len(got) == 0 {
				t.Fatal("there are no lines")
			}
			for i, s := range got {
				if s != "true true true" {
					t.Errorf("line %d: scrolled, in place and opaque are %s", i, s)
				}
			}
		})
	}
}

// TestMapsHatching goes to another layer and back: images that the script draws again have the
// colours and the hatching that they had, pixel by pixel.
func TestMapsHatching(t *testing.T) {
	b := tab(t)
	maps := mapped(lengthened(touched()))
	maps.Map.Unit = "part"
	for i := range maps.Map.Data {
		maps.Map.Data[i] *= float64(i%3 - 1)
	}
	const alphas = `(async () => {
		const box = [...document.querySelectorAll('.hw-j')][0].parentElement;
		const [img, drawn] = [box.querySelector('img'), box.querySelector('canvas')];
		await img.decode();
		const read = (e) => {
			const c = document.createElement('canvas');
			[c.width, c.height] = [img.naturalWidth, img.naturalHeight];
			const g = c.getContext('2d');
			g.drawImage(e, 0, 0);
			return [...g.getImageData(0, 0, c.width, c.height).data].filter((_, i) => i % 4 === 3);
		};
		const was = read(img), is = read(drawn);
		return [was.filter((a) => a).length, was.filter((a, i) => Math.abs(a - is[i]) > 2).length];
	})()`
	b.Show(t, document(maps))
	chromium.Evaluate[bool](t, b, "(() => {"+press("ArrowDown", "ArrowUp")+"})(), true")
	got := chromium.Evaluate[[2]int](t, b, alphas, await)
	if got[0] == 0 || got[1] > 0 {
		t.Errorf("of %d pixels with a colour %d differ, want none", got[0], got[1])
	}
}

// TestPrintFolds prints a long text: all of its tokens are there.
func TestPrintFolds(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, longText()))
	emulate(t, b, "print")
	defer emulate(t, b, "")
	missing := chromium.Evaluate[int](t, b, `[...document.querySelectorAll('.hm-text :is(span,u)')].
		filter((e) => !e.checkVisibility()).length`)
	if missing > 0 {
		t.Errorf("%d tokens are not printed", missing)
	}
}

// TestViews opens the other pictures as pages and through what a notebook that is not trusted
// keeps:
// they can be read everywhere, nothing but matrices and graphs is scrolled from side to side, and
// what they say and their thumbnails stay without a script.
func TestViews(t *testing.T) {
	b := tab(t)
	wide := render.Heatmap{Explanation: lengthenedBy(touched(), 20)}
	for name, c := range map[string]struct {
		page, picture render.View
		images        int
		says          []string
	}{
		"flow": {flowing(t), flowing(t), 1, []string{
			"Widest path, 0.500: “key” (1) → “to” (3) in layer 1 (0.500).",
		}},
		"layers": {
			render.Layers{Heatmap: wide},
			render.Layers{Heatmap: render.Heatmap{Explanation: touched()}}, 0, []string{"in layer"},
		},
		"maps": {mapped(touched()), mapped(touched()), 3, []string{"raw, layer 2: “s” (2) 100 %"}},
		"sources": {
			render.Sources{Result: caused(t)},
			render.Sources{Result: caused(t)}, 0, []string{
				"john has the blue lamp .", "mary has <b>.", "house.txt", "<i>other</i>", "LDS ",
				"drop without the top 1: ", "leave-one-out", "context-cite",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := document(c.page)
			everywhere(t, b, func(t *testing.T) {
				d := b.Show(t, page)
				if name == "flow" { // whose script draws edges
					delete(d.Elements, "svg")
				}
				readable(t, d)
			})
			got := sanitiseMarkup(t, b, htmlOf(c.picture))
			if dropped := strings.Join(got.Dropped,
				" "); dropped != "data-hw of <div> <style> <script>" {
				t.Errorf("dropped %q", dropped)
			}
			for _, theme := range [][2]string{{darkPage, "rgb(255,255,255)"}, {"white", "black"}} {
				d := b.Show(t, output(got.Sanitised, theme[0], theme[1]))
				checkColors(t, d)
				checkElements(t, d)
				for _, want := range c.says {
					if !strings.Contains(d.Text, want) || c.images > 0 &&
						d.Elements["img"] != c.images {
						t.Errorf("without the script there are %d images, and %q is not in %.300q", d.Elements["img"], want, d.Text)
					}
				}
			}
		})
	}
}

package browser

import (
	"context"
	"fmt"

	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
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
			"document.querySelector('.hm-readout').textContent")
	}
	check := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("after %s it says %q, want %q", what, got, want)
		}
	}
	const whole = "Point at a token and a layer"
	check("nothing", said(""), whole)
	const clickNode = `const graph = document.querySelector('.hm-graph svg'),
		r = graph.getBoundingClientRect();
		graph.dispatchEvent(new MouseEvent('click', {
			bubbles: true, clientX: r.left + 34 + 3.5 * 64, clientY: r.top + 12,
		}))`
	check("a click on the target", said(clickNode), "“to” (3) after layer 1 has from: “key” (1) "+
		"0.500, “to” (3) 0.500")
	edges := chromium.Evaluate[int](t, b, "[...document.querySelectorAll('.hm-graph path')]."+
		"filter((path) => path.getClientRects().length).length")
	if edges != 2 {
		t.Errorf("%d edges are drawn, want 2", edges)
	}
	const key = `document.querySelector('.hm-flow').dispatchEvent(new KeyboardEvent('keydown', {
		key: '%s', bubbles: true, cancelable: true }))`
	check("down", said(fmt.Sprintf(key, "ArrowDown")), "“to” (3) after layer 0 has from: “to” (3) "+
		"1.000 · feeds in layer 1: “to” (3) 0.500")
	check("left", said(fmt.Sprintf(key, "ArrowLeft")), "“s” (2) after layer 0")
	check("Esc", said(fmt.Sprintf(key, "Escape")), whole)
	said(clickNode)
	check("two clicks", said(clickNode), whole)
	check("a click in the text", said(click(".hm-text span", 1)), "“key” (1) before layer 0 · "+
		"feeds in layer 0: “key” (1) ")
	check("a second click in the text", said(click(".hm-text span", 1)), whole)
	check("a click on the generated token", said(click(".hm-text u", 0)), "“to” (3) after layer 1")
	check("a second click on it", said(click(".hm-text u", 0)), whole)
	check("a click on a token after it", said(click(".hm-text u", 1)), "not in the graph")
	defer b.Resize(t, 1200, 900)
	b.Resize(t, 200, 900)
	b.Show(t, document(flowing(t)))
	said("")
	if !chromium.Evaluate[bool](t, b, "document.querySelector('.hm-scroll').scrollWidth > 200 && "+
		"document.documentElement.scrollWidth <= innerWidth") {
		t.Error("in a narrow window the graph does not scroll by itself")
	}
}

// TestLabelsStay scrolls what is wider than its column: the names of the lines stay in sight, and
// nothing is seen through them. A heatmap never scrolls; see TestHeatmapWide.
func TestLabelsStay(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(deep(12), 30)
	for name, markup := range map[string]string{
		"layers": document(render.Layers{
			Heatmap: render.Heatmap{Explanation: e},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			b.Show(t, markup)
			got := chromium.Evaluate[[]string](t, b, `(() => {
				document.body.style.maxWidth = '160px';
				return [...document.querySelectorAll('.hm-matrix')].filter((e) => e.checkVisibility()).
					flatMap((table) => {
					const box = table.closest('.hm-scroll') || table.parentElement, left = box.getBoundingClientRect().left;
					box.scrollLeft = 60;
					const rows = [...table.rows].filter((r) => r.cells[0].textContent.trim() &&
						r.checkVisibility());
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
		page, picture render.Picture
		images        int
		says          []string
	}{
		"flow": {flowing(t), flowing(t), 1, []string{
			"The widest path to are comes from keys", "Widest path, 0.500: “key” (1) → “to” (3) in layer 1 (0.500).",
		}},
		"layers": {
			render.Layers{Heatmap: wide},
			render.Layers{Heatmap: render.Heatmap{Explanation: touched()}}, 0, []string{"layer 0:"},
		},
		"maps": {mapped(touched()), mapped(touched()), 0, []string{"to has most from keys"}},
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
				d := withoutThumbnails(b.Show(t, page))
				if name == "flow" { // whose script takes the drawing out of its image
					for _, drawn := range []string{"circle", "g", "text"} {
						delete(d.Elements, drawn)
					}
				}
				readable(t, d)
			})
			got := sanitiseMarkup(t, b, htmlOf(c.picture))
			if dropped := strings.Join(got.Dropped,
				" "); !strings.HasSuffix(dropped, "<script>") {
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

// TestComparedChances: a page of two prompts has the probability of the framed token and what else
// could have come in both, and bars as long as the probabilities.
func TestComparedChances(t *testing.T) {
	b := tab(t)
	first, second := touched(), touched()
	second.Prompt.Texts = []string{"the", " door", "s", " to"}
	place(second)
	second.Methods["direct"].Rows[0] = []float64{0, 1, 1, 0}
	for i, e := range []*attribution.Explanation{first, second} {
		p := []float64{.9, .25}[i]
		e.Steps[0].Probability = p
		e.Steps[0].Alternatives = []attribution.Alternative{
			{Text: " are", Probability: p}, {ID: 7, Text: " were", Probability: .05},
		}
	}
	compared, err := render.Compare(compare.Side{Explanation: first, Method: "direct"},
		compare.Side{Explanation: second, Method: "direct"})
	must(t, err)
	b.Show(t, document(compared))
	got := chromium.Evaluate[string](t, b, `(() => {
		const all = (s) => [...document.querySelectorAll(s)], cell = all('.hm-matrix .hm-chance')[2];
		return [document.querySelector('.hm-how').textContent.match(/[^ ]* %│[^·]*/), cell.textContent,
			cell.scrollWidth <= cell.clientWidth, ...all('.hm-tables .hm-h').slice(-2).map(
				(e) => e.textContent.split(' · ')[0]), ...all('.hm-tables>:nth-last-child(-n+2) td:last-child').map(
				(e) => e.textContent)].join('; ');
	})()`)
	const want = "90.0 %│25.0 % ; 90 %│25 %; true; What it could have written in A; " +
		"What it could have written in B; 90 %; 5.0 %; 25 %; 5.0 %"
	if got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
}

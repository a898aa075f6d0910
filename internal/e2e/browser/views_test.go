package browser

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
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
	must(t, err)
	b.Show(t, fixture.Written(t, render.Page{HTML: render.HTML{Heatmap: h}}))
	matrices := func() int {
		return chromium.Evaluate[int](t, b,
			"[...document.querySelectorAll('.hw-v')].filter((v) => !v.hidden).length")
	}
	// Sizes are compared, divided by those of their rows: direct has 0 0 -1 2 and -1.5 of 4.5,
	// value-zeroing 0 0 0 0.6 and 0.3 of 0.9.
	// 2 and 1 of 3, 0.6 and 0.2 of 0.8
	do(t, b, "").check(t, "at first", "are",
		"A − B, row by row: more in A from “s” +8.3 %; more in B from “key” -8.3 %", "1 key", "2 s")
	if n := matrices(); n != 3 {
		t.Errorf("%d matrices are shown, want all 3", n)
	}
	do(t, b, click(".hw-t > *", 5)).check(t, "a click", "here",
		"more in A from “s” +22.2 %; more in B from “to” -22.2 %", "2 s", "3 to")
	do(t, b, click(".hw-t > *", 4)+";"+click(".hw-b button", 0)).check(t, "the first side", "are",
		"A: direct, whole model: for it “key” +66.7 %", "1 key", "2 s")
	do(t, b, click(".hw-b button", 3))
	if n := matrices(); n != 1 {
		t.Errorf("%d matrices are shown, want that of one side", n)
	}
}

// TestTouchCompareWords shows a comparison by word: parts of a logit are added up, and of flow,
// whose values are no parts of a whole, the highest value of each side counts.
func TestTouchCompareWords(t *testing.T) {
	parts := attribution.Facts{Quantity: attribution.Amount, AddsUp: true, Scorer: true}
	flow := attribution.Facts{Quantity: attribution.Amount}
	for _, c := range []struct {
		unit, want string
		facts      attribution.Facts
		a, b       [2]float64 // of key and s
	}{
		{"part of the logit", "A − B, row by row: more in B from “keys” (1) -0.80", parts, [2]float64{1, 0.6}, [2]float64{2, 0.4}},
		{"flow", "A − B, row by row: more in A from “keys” (1) +0.40", flow, [2]float64{0.9, 0.2}, [2]float64{0.1, 0.5}},
	} {
		var sides [2]render.Side
		for i, values := range [][2]float64{c.a, c.b} {
			e := touched()
			r := e.Methods["direct"]
			r.Unit, r.Facts = c.unit, c.facts
			copy(r.Data, []float64{0, values[0], values[1], 0, 0, 0, 0, 0})
			sides[i] = render.Side{Explanation: e, Method: "direct"}
		}
		h, err := render.Compare(sides[0], sides[1])
		must(t, err)
		b := tab(t)
		b.Show(t, fixture.Written(t, render.Page{HTML: render.HTML{Heatmap: h}}))
		s := do(t, b, "[...document.querySelectorAll('.hw-b button')].find((e) => "+
			"e.textContent === 'whole words').click()")
		if !strings.Contains(s.Sentence, c.want) {
			t.Errorf("%s: it says %q, want %q", c.unit, s.Sentence, c.want)
		}
	}
}

// attended is the text of touched with the attention of two layers of two heads: head 1 of layer 1
// looks from every token at the one before it, the others at the first token.
func attended() render.Heads {
	const T = 6
	h := render.Heads{Explanation: touched(), Attention: trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{2, 2, T, T}, Data: make([]float32, 4*T*T),
	}}
	for head := range 4 {
		for i := range T {
			j := 0
			if head == 3 {
				j = max(i-1, 0)
			}
			h.Attention.Data[(head*T+i)*T+j] = 1
		}
	}
	return h
}

// TestTouchHeads opens heads and chooses tokens, by clicks and by keys.
func TestTouchHeads(t *testing.T) {
	b := tab(t)
	b.Show(t, fixture.Written(t, render.HeadsPage{Heads: attended()}))
	const read = `(() => {
		const root = document.querySelector('.hw'), of = (e) => e.getAttribute('style') || '';
		const tokens = [...root.querySelectorAll('.hw-t > *:not(br)')];
		return {
			Framed: tokens.filter((e) => of(e).includes('outline')).map((e) => e.textContent).join(' '),
			Colored: tokens.flatMap((e, i) => of(e).includes('#27b') ? [i + ' ' + e.textContent] : []),
			Sentence: root.querySelector('.hw-s').textContent,
			Tab: root.querySelector('.hw-n').textContent,
			Row: (root.querySelector('.hw-r.hw-x th') || {}).textContent || '',
			Layer: [...root.querySelectorAll('.hw-p')].filter((e) => !e.hidden).length + ' marks',
		};
	})()`
	do := func(script string) state {
		return chromium.Evaluate[state](t, b, "(() => {"+script+"})(),"+read)
	}
	s := do("")
	s.check(t, "at first", "to", "“to” (3), where “are” is predicted · layer 1, head 1 looks at “s” "+
		"(2) 100 %", "2 s")
	if s.Tab != "layer 1, head 1" || s.Row != "to" || s.Layer != "1 marks" {
		t.Errorf("open is %q, row %q, %s", s.Tab, s.Row, s.Layer)
	}
	do(click(".hw-t > *", 2)).check(t, "a click on a token", "s", "“s” (2) · layer 1", "1 key")
	s = do(`const line = document.querySelectorAll('.hw-g')[1], r = line.querySelector('img').
		getBoundingClientRect();
		line.querySelector('img').dispatchEvent(new MouseEvent('click', {
			bubbles: true, clientX: r.left + 0.25 * r.width, clientY: r.top + 3,
		}))`)
	s.check(t, "a click on a thumbnail", "s", "layer 0, head 0 looks at the sink “the” (0) ≈ 100 %")
	if s.Tab != "layer 0, head 0" {
		t.Errorf("open is %q", s.Tab)
	}
	do("const e = document.querySelector('.hw-s + div button'); e.focus(); e.click()").check(t,
		"a click on a head of the list", "s", "layer 1, head 1 looks at “key” (1)", "1 key")
	const list = "document.querySelector('.hw-s + div').textContent"
	if focused := chromium.Evaluate[string](t, b, "document.activeElement.textContent"); !strings.
		HasPrefix(focused, "1.1 “key” (1)") {
		t.Errorf("after a click on a head of the list %q is in focus", focused)
	}
	do(click(".hw-r", 3)).check(t, "a click on a line", "to", "looks at “s” (2)", "2 s")
	do(press("ArrowRight")).check(t, "right", "are", "looks at “to” (3) 100 %", "3 to")
	do(click(".hw-r", 3)).check(t, "back", "to", "layer 1, head 1 looks at “s” (2) 100 %", "2 s")
	do(press("ArrowRight"))
	do(press("ArrowDown")).check(t, "a layer down", "are", "layer 0, head 1 looks at the sink")
	do(click(".hw-t > *", 0))
	if got := chromium.Evaluate[string](t, b, list); !strings.HasSuffix(got, "other tokens: none") {
		t.Errorf("the first token, which sees itself alone, says %q", got)
	}
}

// TestHeadsUntrusted passes a picture of heads through what a notebook that is not trusted keeps.
func TestHeadsUntrusted(t *testing.T) {
	b := tab(t)
	got := sanitiseMarkup(t, b, fixture.Written(t, attended()))
	if dropped := strings.Join(got.Dropped, " "); dropped != "data-hw of <div> <style> <script>" {
		t.Errorf("dropped %q", dropped)
	}
	for _, theme := range [][2]string{{"rgb(17,17,17)", "rgb(255,255,255)"}, {"white", "black"}} {
		d := b.Show(t, output(got.Sanitised, theme[0], theme[1]))
		checkColors(t, d)
		checkElements(t, d)
		if !strings.Contains(d.Text, "layer 1, head 1 looks at “s” (2) 100 %") {
			t.Errorf("without the script the text is %.300q", d.Text)
		}
	}
}

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
	b.Show(t, fixture.Written(t, render.FlowPage{Flow: flowing(t)}))
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

// TestTouchLayers points at a place of a panel: its layer, token and number are named.
func TestTouchLayers(t *testing.T) {
	b := tab(t)
	e := touched()
	b.Show(t, fixture.Written(t, render.LayersPage{Layers: render.Layers{
		Heatmap: render.Heatmap{Explanation: e},
	}}))
	panels := chromium.Evaluate[int](t, b, "document.querySelectorAll('.hw-d').length")
	if panels == 0 {
		t.Fatal("there are no panels")
	}
	got := chromium.Evaluate[string](t, b, `(() => {
		const cell = document.querySelector('.hw-d .hw-r').cells[2];
		cell.dispatchEvent(new MouseEvent('mousemove', {bubbles: true}));
	})(),document.querySelector('.hw-d .hw-r').cells[2].title`)
	if !strings.Contains(got, "“key” (1)") || !strings.HasPrefix(got, "layer ") {
		t.Errorf("pointing at a cell says %q", got)
	}
}

// TestLayersKeys goes through panels by keys, and to a token by a click.
func TestLayersKeys(t *testing.T) {
	b := tab(t)
	b.Show(t, fixture.Written(t, render.LayersPage{Layers: render.Layers{
		Heatmap: render.Heatmap{Explanation: deep(12)},
	}}))
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
	b.Show(t, fixture.Written(t, render.LayersPage{Layers: render.Layers{
		Heatmap: render.Heatmap{Explanation: e},
	}}))
	chromium.Evaluate[bool](t, b, "(() => {"+press("ArrowLeft", "ArrowLeft")+"})(),true")
	says := chromium.Evaluate[string](t, b, "document.querySelector('.hw-t + div').textContent")
	if !strings.Contains(says, "(1) 2.00") {
		t.Errorf("to the left in a text from right to left is %q, want token 1", says)
	}
}

// TestViewsUntrusted passes graphs and layers through what a notebook that is not trusted keeps.
func TestViewsUntrusted(t *testing.T) {
	b := tab(t)
	for name, c := range map[string]struct {
		picture io.WriterTo
		want    string
	}{
		"flow":   {flowing(t), "Widest path, 0.500: “key” (1) → “to” (3) in layer 1 (0.500)."},
		"layers": {render.Layers{Heatmap: render.Heatmap{Explanation: touched()}}, "in layer"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sanitiseMarkup(t, b, fixture.Written(t, c.picture))
			const script = "data-hw of <div> <style> <script>"
			if dropped := strings.Join(got.Dropped, " "); dropped != script {
				t.Errorf("dropped %q", dropped)
			}
			for _, theme := range [][2]string{
				{"rgb(17,17,17)", "rgb(255,255,255)"}, {"white", "black"},
			} {
				d := b.Show(t, output(got.Sanitised, theme[0], theme[1]))
				checkColors(t, d)
				checkElements(t, d)
				if !strings.Contains(d.Text, c.want) {
					t.Errorf("without the script the text is %.300q", d.Text)
				}
			}
		})
	}
}

// TestTouchSums chooses a layer of direct, whose values add up from below: the picture says which
// layers they are about.
func TestTouchSums(t *testing.T) {
	b := tab(t)
	e := touched()
	r := e.Methods["direct"] // [n,m,l], the upper layer is shown
	r.Layers, r.Shape, r.Shown = []int{0, 1, 2}, [3]int{2, 4, 3}, []int{2, 2}
	r.Data = make([]float64, 2*4*3)
	copy(r.Data[3:], []float64{0, 1, 2, 1, 1, 1}) // key and s of are
	b.Show(t, pageOf(t, e))
	do(t, b, "").check(t, "at first", "are", "direct, whole model: most from “key” 2.00, “s” 1.00",
		"1 key", "2 s")
	do(t, b, press("ArrowDown")).check(t, "a layer down", "are",
		"direct, up to layer 1: most from “key” (1) 1.00, “s” (2) 1.00", "1 key", "2 s")
	bar := chromium.Evaluate[string](t, b, "document.querySelector('.hw-b').textContent")
	if !strings.Contains(bar, "up to layer 1 ✕") {
		t.Errorf("the buttons are %q, want one of the layers", bar)
	}
	do(t, b, press("ArrowDown")).check(t, "the lowest layer", "are",
		"direct, up to layer 0: most from “s” (2) 1.00", "2 s")
	cell := chromium.Evaluate[string](t, b,
		"document.querySelector('.hw-v:not([hidden]) .hw-r').cells[3].textContent")
	if cell != "1.0" {
		t.Errorf("the cell of s says %q, want 1.0", cell)
	}
}

// TestTouchSteps goes from token to token: the sentence says what changed since the one before.
func TestTouchSteps(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, fed()))
	const changed = "since “are”: now “to” 0.00 → +2.00, “are” (generated 1) -1.50; no longer " +
		"“key” +2.00 → 0.00"
	if s := do(t, b, ""); s.Framed != "are" || strings.Contains(s.Sentence, "since") {
		t.Errorf("at first %q is framed, and has changed: %q", s.Framed, s.Sentence)
	}
	do(t, b, press("ArrowRight")).check(t, "right", "here", changed, "2 s", "3 to", "4 are")
}

// TestTouchSwitches puts tokens together to sentences, and gives a sink a colour.
func TestTouchSwitches(t *testing.T) {
	b := tab(t)
	e := &attribution.Explanation{
		Model: trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{
			Text:    "<s>a b. c d",
			Texts:   []string{"<s>", "a", " b", ".", " c", " d"},
			Special: []bool{true, false, false, false, false, false},
			IDs:     []int{0, 1, 2, 3, 4, 5},
			Offsets: [][2]int{{0, 3}, {3, 4}, {4, 6}, {6, 7}, {7, 9}, {9, 11}},
		},
		Steps: []attribution.GeneratedToken{{Text: " e", Probability: 0.5}},
		Order: []string{"raw"},
		Methods: map[string]*attribution.Result{"raw": {
			Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0}, Shape: [3]int{1, 6, 1}, Shown: []int{0},
			Data: []float64{0.5, 0.01, 0.15, 0.02, 0.02, 0.3}, Options: map[string]string{},
		}},
		OtherMass: map[string][]float64{"raw": {0}},
	}
	e.Order = append(e.Order, "norms") // a second method, so that there are tabs
	b.Show(t, pageOf(t, e))
	do(t, b, "").check(t, "at first", "e", "most from “d” 30.0 %", "0 <s>", "2 b", "5 d")
	over := func(index int) string {
		return chromium.Evaluate[string](t, b, fmt.Sprintf(`(() => {
			const e = document.querySelectorAll('.hw-t > *:not(br)')[%d];
			e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
			return e.title;
		})()`, index))
	}
	do(t, b, click(".hw-b button", 3)).check(t, "sentences", "e", "raw, layer 0: most from "+
		"“c d” (4) 32.0 %, “a b.” (1) 18.0 %sink <s> 50.0 % · rest of the prompt 50.0 % "+
		"(top 3 tokens hold 47.0 %)", "0 <s>",
		"1 a", "2 b", "3 .", "4 c", "5 d")
	if got := over(4); got != "32.0 %" {
		t.Errorf("the second sentence has %q, want 32.0 %%", got)
	}
	colors := func() string {
		return chromium.Evaluate[string](t, b, `(() => [document.querySelector('.hw-t > *'),
			document.querySelectorAll('.hw-r td')[0]].map((e) => e.getAttribute('style')).join(' '))()`)
	}
	if got := colors(); !strings.Contains(got, "#8884 background:#8884") {
		t.Errorf("the sink has %q, want grey", got)
	}
	do(t, b, click(".hw-b button", 3)+";"+click(".hw-b button", 4))
	if got := colors(); got != "background:#27bd background:#27bd" {
		t.Errorf("with sinks too it has %q, want the deepest blue", got)
	}
	cell := chromium.Evaluate[string](t, b, "document.querySelectorAll('.hw-r td')[0].textContent")
	if cell != "50" {
		t.Errorf("its cell has %q, want 50", cell)
	}
}

// TestPalettes draws a picture in every palette, with the script and without it: the script keeps
// the colours, text can be read, and negative values are hatched.
func TestPalettes(t *testing.T) {
	b := tab(t)
	for _, name := range render.PaletteNames() {
		e := fed()
		e.Methods["direct"].Generated[1][0] = -1.2 // not between two steps, as -1.5 is
		h := render.Heatmap{Explanation: e, Palette: name, Token: new(1)}
		markup := fixture.Written(t, render.HTML{Heatmap: h})
		const read = `[...document.querySelectorAll('.hw-t > *')].
			map((e) => e.style.backgroundColor + ' ' + /repeating/.test(getComputedStyle(e).backgroundImage))`
		b.Show(t, output(strings.ReplaceAll(markup, "data-hw=", "title="), "white", "black"))
		still := chromium.Evaluate[[]string](t, b, read)
		checkColors(t, b.Show(t, output(markup, "rgb(17,17,17)", "rgb(255,255,255)")))
		do(t, b, click(".hw-t > *", 4)+";"+click(".hw-t > *", 5))
		touched := chromium.Evaluate[[]string](t, b, read)
		if fmt.Sprint(still) != fmt.Sprint(touched) {
			t.Errorf("%s: the script draws %q, the static picture %q", name, touched, still)
		}
		if !strings.HasSuffix(touched[2], " true") || strings.HasSuffix(touched[3], " true") {
			t.Errorf("%s: hatched are %q, want the negative ones", name, touched)
		}
	}
}

// longText is touched with 300 prompt tokens, of which one stands out for each generated token.
func longText() *attribution.Explanation {
	e := touched()
	m := 300
	e.Prompt.Texts, e.Prompt.Special = nil, make([]bool, m)
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprintf(" w%d", j))
	}
	for _, r := range e.Methods {
		r.Shape = [3]int{2, m, r.Shape[2]}
		r.Data = make([]float64, 2*m*r.Shape[2])
	}
	r := e.Methods["direct"] // are from w100, here from w200
	r.Data[100], r.Data[m+200] = 1, 1
	return e
}

// TestTouchFolds goes through a long text: what does not stand out is folded, can be opened, and is
// printed; the strip above it leads to any token.
func TestTouchFolds(t *testing.T) {
	b := tab(t)
	e := longText()
	b.Show(t, pageOf(t, e))
	type folded struct {
		Folds  []string
		Hidden int
	}
	read := func(script string) string {
		f := chromium.Evaluate[folded](t, b, `(() => {`+script+`})(), ({
			Folds: [...document.querySelectorAll('.hw-t button')].map((e) => e.textContent),
			Hidden: [...document.querySelectorAll('.hw-t > span:not(.hw-b), .hw-t > u')].
				filter((e) => !e.checkVisibility()).length,
		})`)
		return fmt.Sprint(f.Folds, f.Hidden)
	}
	for _, step := range []struct{ what, script, want string }{
		{"another token", "document.querySelectorAll('.hw-t > u')[1].click()", "[… 194 tokens … … 88 tokens …] 282"},
		{"the first token again", "document.querySelectorAll('.hw-t > u')[0].click()", "[… 94 tokens … … 187 tokens …] 281"},
		{"a fold", click(".hw-t button", 0), "[… 187 tokens …] 187"},
		{
			"the strip", `const e = document.querySelector('canvas.hw-f'), r = e.getBoundingClientRect();
			e.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: r.left + r.width * 250.5 / 302}))`,
			"[… 123 tokens … … 24 tokens …] 147",
		},
		{
			"Enter on a fold", `const e = document.querySelector('.hw-t button');
			e.focus();
			if (e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}))) e.click();
			if (document.activeElement !== document.querySelector('.hw-t')) throw new Error('the focus is lost')`,
			"[… 24 tokens …] 24",
		},
	} {
		if got := read(step.script); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
	got := sanitiseMarkup(t, b, fixture.Written(t, render.HTML{
		Heatmap: render.Heatmap{Explanation: e},
	}))
	b.Show(t, output(got.Sanitised, "white", "black"))
	opened := chromium.Evaluate[[]bool](t, b, `(() => {
		const e = [...document.querySelectorAll('.hw-t > details')].find((e) => e.textContent.includes('w57'));
		const lines = () => document.querySelector('.hw-t').scrollHeight;
		document.querySelectorAll('details').forEach((e) => { e.open = false; });
		const closed = lines();
		e.open = true;
		return [closed > 200, lines() > 200];
	})()`)
	if fmt.Sprint(opened) != "[false true]" {
		t.Errorf("without a script a text is long %v, want no and, with a fold open, yes", opened)
	}
}

// TestPrintFolds prints a long text: all of its tokens are there, and one head is marked.
func TestPrintFolds(t *testing.T) {
	b := tab(t)
	media := func(name string) {
		b.Do(t, func(ctx context.Context) error {
			params := emulation.SetEmulatedMediaParams{Media: name}
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params)
			return err
		})
	}
	b.Show(t, pageOf(t, longText()))
	media("print")
	defer media("")
	missing := chromium.Evaluate[int](t, b, `[...document.querySelectorAll('.hw-t > span:not(.hw-b), .hw-t > u')].
		filter((e) => !e.checkVisibility()).length`)
	if missing > 0 {
		t.Errorf("%d tokens are not printed", missing)
	}
	b.Show(t, fixture.Written(t, render.HeadsPage{Heads: attended()}))
	marks := chromium.Evaluate[int](t, b,
		"[...document.querySelectorAll('.hw-p')].filter((e) => e.checkVisibility()).length")
	if marks != 1 {
		t.Errorf("%d heads are marked on paper, want 1", marks)
	}
}

package browser

import (
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// await waits for the promise that an expression is.
var await = chromedp.EvalAwaitPromise

// state is what a reader sees of a choice.
type state struct {
	// Framed is the framed token, Colored the coloured ones with their positions.
	Framed  string
	Colored []string
	// Sentence, Tab, and the names of the marked row and the marked layer.
	Sentence, Tab, Row, Layer string
}

const readState = `(() => {
	const root = document.querySelector('.hw');
	const tokens = [...root.querySelectorAll('.hw-t > *:not(br)')];
	const of = (e) => (e.getAttribute('style') || '');
	const shown = [...root.querySelectorAll('.hw-v')].find((v) => !v.hidden);
	const name = (selector) => (shown.querySelector(selector + '.hw-x th') || {}).textContent || '';
	return {
		Framed: tokens.filter((e) => of(e).includes('outline')).map((e) => e.textContent).join(' '),
		Colored: tokens.flatMap((e, i) => of(e).includes('background') ? [i + ' ' + e.textContent] : []),
		Sentence: root.querySelector('.hw-s').textContent,
		Tab: (root.querySelector('.hw-b [aria-pressed=true]') || {}).textContent || '',
		Row: name('.hw-r'), Layer: name('.hw-l'),
	};
})()`

func (s state) check(t *testing.T, what string, framed, sentence string, colored ...string) {
	t.Helper()
	if s.Framed != framed || !strings.Contains(s.Sentence, sentence) ||
		strings.Join(s.Colored, ",") != strings.Join(colored, ",") {
		t.Errorf("%s: framed %q, coloured %q, sentence %q; want %q, %q, %q", what, s.Framed,
			s.Colored, s.Sentence, framed, colored, sentence)
	}
}

// touched is a picture whose rows are known: the keys to are, with two generated tokens by two
// methods of two layers.
func touched() *attribution.Explanation {
	e := &attribution.Explanation{
		Model:  trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{Texts: []string{"the", " key", "s", " to"}},
		Steps: []attribution.GeneratedToken{
			{Text: " are", Probability: 0.9}, {Text: " here", Probability: 0.5},
		},
		Order:     []string{"direct", "value-zeroing"},
		Methods:   map[string]*attribution.Result{},
		OtherMass: map[string][]float64{},
	}
	e.Methods["direct"] = &attribution.Result{
		Unit: "part of the logit", Layers: []int{1}, Shape: [3]int{2, 4, 1},
		Data:    []float64{0, 2, 1, 0, 0, 0, -1, 2},
		Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Scorer: true, Combined: true, AddsUp: true},
	}
	// [n,m,l]: both layers of one token and source stand together; layer 1 is shown.
	e.Methods["value-zeroing"] = &attribution.Result{
		Unit: "share of change", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0, 1}, Shape: [3]int{2, 4, 2},
		Data: []float64{
			0.5, 0, 0, 0.6, 0, 0.2, 0.5, 0, // are
			0, 0, 0.6, 0, 0, 0, 0, 0.6, // here
		},
		Options: map[string]string{},
	}
	place(e)
	return e
}

// place says where the prompt tokens of a picture stand: one after another.
func place(e *attribution.Explanation) {
	p := &e.Prompt
	m := len(p.Texts)
	p.Text, p.Offsets, p.IDs, p.Special = "", nil, make([]int, m), make([]bool, m)
	for _, text := range p.Texts {
		begin := len(p.Text)
		p.Text += text
		p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
	}
}

func pageOf(t *testing.T, e *attribution.Explanation) string {
	t.Helper()
	h := render.Heatmap{Explanation: e}
	return fixture.Written(t, render.Page{HTML: render.HTML{Heatmap: h}})
}

// do runs a script in the tab and returns what a reader sees then.
func do(t *testing.T, b *chromium.Browser, script string) state {
	t.Helper()
	return chromium.Evaluate[state](t, b,
		"(() => {"+script+"})(),"+chromium.Started+".then(() => "+readState+")", await)
}

func click(selector string, i int) string {
	return fmt.Sprintf("document.querySelectorAll(%q)[%d].click()", selector, i)
}

func press(keys ...string) string {
	var s strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&s, "document.querySelector('.hw-t').dispatchEvent(new KeyboardEvent("+
			"'keydown', {key: %q, bubbles: true, cancelable: true}));", key)
	}
	return s.String()
}

// TestTouch chooses tokens, methods and layers by click and by keys.
func TestTouch(t *testing.T) {
	b := tab(t)
	show := func() { b.Show(t, pageOf(t, touched())) }
	show()
	do(t, b, "").check(t, "at first", "are", "for it “key” +2.00, “s” +1.00", "1 key", "2 s")
	do(t, b, click(".hw-t > *", 5)).check(t, "click on a generated token", "here",
		"for it “to” +2.00; against it “s” -1.00", "2 s", "3 to")
	do(t, b, click(".hw-t > *", 2)).check(t, "click on a prompt token", "s",
		"as a source, direct: “are” (generated 1) +1.00, “here” (generated 2) -1.00", "4 are", "5 here")
	do(t, b, click(".hw-b button", 3)).check(t, "whole words", "key s", "“are” (generated 1) +3.00",
		"4 are", "5 here")
	do(t, b, click(".hw-b button", 3))
	s := do(t, b, click(".hw-b button", 1)+";"+click(".hw-v:not([hidden]) .hw-r", 0))
	s.check(t, "click on a tab and a row", "are",
		"value-zeroing, layer 1: most from “key” 60.0 %, “s” 20.0 %", "1 key", "2 s")
	if s.Tab != "value-zeroing" || s.Row != "are" || s.Layer != "1" {
		t.Errorf("tab %q, row %q, layer %q", s.Tab, s.Row, s.Layer)
	}
	s = do(t, b, click(".hw-v:not([hidden]) .hw-l", 1)) // layer 0 is below layer 1
	s.check(t, "click on a layer", "are", "value-zeroing, layer 0: most from the "+
		"first token (attention often rests on it) “the” (0) 50.0 %, “to” (3) 50.0 %",
		"0 the", "3 to")
	if s.Layer != "0" {
		t.Errorf("layer %q is marked, want 0", s.Layer)
	}
	do(t, b, press("ArrowUp")).check(t, "a layer up", "are", "layer 1: most from", "1 key", "2 s")
	do(t, b, press("ArrowRight")).check(t, "right", "here", "value-zeroing, layer 1", "3 to")
	do(t, b, press("Home")).check(t, "Home", "the", "“the” (0) as a source")
	do(t, b, press("ArrowRight")).check(t, "right again", "key",
		"“are” (generated 1) 60.0 %", "4 are")
	do(t, b, press("Enter")).check(t, "Enter", "here", "value-zeroing, layer 1", "3 to")

	title := chromium.Evaluate[string](t, b, `(() => {
		const e = document.querySelectorAll('.hw-t > *')[3];
		e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
		return e.title;
	})()`)
	if title != "60.0 %" {
		t.Errorf("over a token the number is %q, want 60.0 %%", title)
	}

	show() // a reload forgets what was chosen
	do(t, b, "").check(t, "after a reload", "are", "for it “key” +2.00", "1 key", "2 s")
}

// fed returns the picture of touched with what generated tokens have from those before them.
func fed() *attribution.Explanation {
	e := touched()
	e.Methods["direct"].Generated = [][]float64{{}, {-1.5}}
	e.Methods["value-zeroing"].Generated = [][]float64{{}, {0, 0.3}}
	for _, r := range e.Methods {
		r.Shown = []int{1, 1}
	}
	return e
}

// TestTouchGenerated colours the generated tokens before the chosen one, and shows what a generated
// token fed: by a second click, by a click with Shift, by Enter, and by its column.
func TestTouchGenerated(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, fed()))
	const here = "for it “to” +2.00; against it “are” (generated 1) -1.50, “s” -1.00"
	do(t, b, "").check(t, "at first", "are", "for it “key” +2.00", "1 key", "2 s")
	do(t, b, click(".hw-t > *", 4)).check(t, "one click on the framed token", "are",
		"“are” (generated 1) as a source, direct: “here” (generated 2) -1.50", "5 here")
	do(t, b, click(".hw-t > *", 4)).check(t, "another", "are", "for it “key” +2.00", "1 key", "2 s")
	do(t, b, click(".hw-t > *", 5)).check(t, "another token", "here", here, "2 s", "3 to", "4 are")
	do(t, b, click(".hw-t > *", 4)).check(t, "a click", "are", "for it “key” +2.00", "1 key", "2 s")
	const source = "“are” (generated 1) as a source, direct: “here” (generated 2) -1.50"
	do(t, b, click(".hw-t > *", 4)).check(t, "a second click", "are", source, "5 here")
	do(t, b, click(".hw-t > *", 4)).check(t, "a third", "are", "for it “key” +2.00", "1 key", "2 s")
	do(t, b, press("Enter")).check(t, "Enter", "are", source, "5 here")
	do(t, b, press("Enter")).check(t, "Enter again", "are", "for it “key”", "1 key", "2 s")
	do(t, b, press("End")).check(t, "End", "here", here, "2 s", "3 to", "4 are")
	do(t, b, `document.querySelectorAll('.hw-t > *')[4].dispatchEvent(
		new MouseEvent('click', {bubbles: true, shiftKey: true}))`).
		check(t, "a click with Shift", "are", source, "5 here")
	do(t, b, press("Escape")+click(".hw-c th", 4)).
		check(t, "a click on its column", "are", source, "5 here")
	do(t, b, press("Escape")+click(".hw-b button", 1)).check(t, "another method", "here",
		"value-zeroing, layer 1: most from “to” 60.0 %, “are” (generated 1) 30.0 %", "3 to", "4 are")
	do(t, b, click(".hw-v:not([hidden]) .hw-l", 1)).check(t, "another layer", "here",
		"layer 0: most from “key” (1) 60.0 %", "1 key")

	b.Show(t, pageOf(t, lengthened(fed())))
	do(t, b, click(".hw-t > *", 65)).
		check(t, "beside an image", "here", here, "2 s", "3 to", "64 are")
	do(t, b, click(".hw-t > *", 64)+";"+click(".hw-t > *", 64)).
		check(t, "a second click beside an image", "are", source, "65 here")
}

// TestTouchEncoder chooses an encoder's predictions, which are tokens of its text.
func TestTouchEncoder(t *testing.T) {
	b := tab(t)
	e := encoded(t, "electra", "the keys to the cabinet", attribution.Options{
		Positions: []int{3, 6},
	})
	b.Show(t, pageOf(t, e))
	s := do(t, b, "")
	if s.Framed != "s" || !strings.HasPrefix(s.Sentence, "s at 3 → ") {
		t.Errorf("at first %q is framed: %q", s.Framed, s.Sentence)
	}
	s = do(t, b, click(".hw-t > *", 6))
	if s.Framed != "cabinet" || !strings.HasPrefix(s.Sentence, "cabinet at 6 → ") {
		t.Errorf("a click on a position explained frames %q: %q", s.Framed, s.Sentence)
	}
	s = do(t, b, click(".hw-t > *", 1))
	if s.Framed != "the" || !strings.Contains(s.Sentence, "“the” (1) as a source, ") {
		t.Errorf("a click on another token frames %q: %q", s.Framed, s.Sentence)
	}
}

// TestTouchSameToken has two predictions of one token, as where two tokens of a word are explained
// and words are shown: each of their rows can be chosen.
func TestTouchSameToken(t *testing.T) {
	b := tab(t)
	e := encoded(t, "electra", "the keys to the cabinet", attribution.Options{
		Positions: []int{3, 6},
	})
	e.Steps[1].Position = e.Steps[0].Position
	b.Show(t, pageOf(t, e))
	for _, row := range []int{1, 0} {
		do(t, b, click(".hw-v:not([hidden]) .hw-r", row))
		marked := chromium.Evaluate[int](t, b,
			`[...document.querySelectorAll('.hw-v:not([hidden]) .hw-r')].findIndex((r) =>
			r.classList.contains('hw-x'))`)
		if marked != row {
			t.Errorf("a click on row %d marks row %d", row, marked)
		}
	}
}

// TestTouchNumbers points at tokens: their numbers are written as the picture writes them without a
// script, which has no sign before 0 and no digits after 100 %.
func TestTouchNumbers(t *testing.T) {
	b := tab(t)
	e := touched()
	copy(e.Methods["direct"].Data, []float64{0.001, 2, -0.001, -0.5})
	e.Order = []string{"direct"}
	b.Show(t, pageOf(t, e))
	pointed := func(i int) string {
		return chromium.Evaluate[string](t, b, fmt.Sprintf(`(() => {
			const e = document.querySelectorAll('.hw-t > *')[%d];
			e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
			return e.title;
		})()`, i))
	}
	for i, want := range []string{"0.00", "+2.00", "0.00", "-0.50"} {
		if got := pointed(i); got != want {
			t.Errorf("part of the logit: pointing at token %d says %q, want %q", i, got, want)
		}
	}
	e = touched()
	e.Order = []string{"value-zeroing"}
	copy(e.Methods["value-zeroing"].Data, []float64{0, 0, 0, 1, 0, 0, 0, 0})
	b.Show(t, pageOf(t, e))
	for i, want := range []string{"0.0 %", "100 %"} {
		if got := pointed(i); got != want {
			t.Errorf("share: pointing at token %d says %q, want %q", i, got, want)
		}
	}
}

// TestTouchFewerLayers runs a cell again with fewer layers than the one that was chosen: the
// picture has the layer that it would have at first.
func TestTouchFewerLayers(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, deep(12)))
	do(t, b, press("ArrowDown")).
		check(t, "a layer down", "are", "direct, up to layer 10", "1 key", "2 s")
	again := fixture.Written(t, render.HTML{Heatmap: render.Heatmap{Explanation: deep(4)}})
	do(t, b, fmt.Sprintf(`const before = document.querySelector('.hw');
		const box = document.createElement('div');
		box.innerHTML = %q;
		before.replaceWith(box);
		new Function(box.querySelector('script').textContent)();`, again)).
		check(t, "with fewer layers", "are", "for it “key” +2.00", "1 key", "2 s")
}

// TestTouchOwnPictures runs the script as a host does that does not say where it came from: it
// leaves pictures alone that have a script of their own.
func TestTouchOwnPictures(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, touched()))
	got := chromium.Evaluate[string](t, b, `(() => {
		for (const name of ['flow', 'heads', 'layers', 'maps']) document.body.insertAdjacentHTML('beforeend',
			'<div class="hw hw-' + name + '" data-hw="{}"></div>');
		try {
			new Function(document.querySelector('.hw script').textContent)();
		} catch (e) {
			return String(e);
		}
		return [...document.querySelectorAll('.hw')].map((e) => !!e.hwStarted).join();
	})()`)
	if got != "true,false,false,false,false" {
		t.Errorf("the pictures that the script began are %s, want the first one alone", got)
	}
}

// lengthened returns a picture of touched with 60 more prompt tokens, whose values are 0.
func lengthened(e *attribution.Explanation) *attribution.Explanation { return lengthenedBy(e, 60) }

// lengthenedBy is lengthened with so many tokens.
func lengthenedBy(e *attribution.Explanation, tokens int) *attribution.Explanation {
	for i := range tokens {
		e.Prompt.Texts = append(e.Prompt.Texts, fmt.Sprint(" w", i))
	}
	place(e)
	for _, r := range e.Methods {
		m, l := len(e.Prompt.Texts), r.Shape[2]
		data := make([]float64, 2*m*l)
		for t := range 2 {
			copy(data[t*m*l:], r.Data[t*4*l:(t+1)*4*l])
		}
		r.Shape[1], r.Data = m, data
	}
	return e
}

// TestTouchImage clicks on a matrix that is an image: the line under the pointer is chosen, and a
// layer is drawn in place of the image.
func TestTouchImage(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, lengthened(touched())))
	const at = `const img = [...document.querySelectorAll('.hw-v:not([hidden]) %s')].
			find((e) => e.checkVisibility()), r = img.getBoundingClientRect();
		img.dispatchEvent(new MouseEvent('click', {
			bubbles: true, clientX: r.left + 3, clientY: r.top + %s * r.height,
		}))`
	do(t, b, fmt.Sprintf(at, ".hw-i", "0.75")).check(t, "click on the second line", "here",
		"for it “to” +2.00; against it “s” -1.00", "2 s", "3 to")
	do(t, b, click(".hw-b button", 1)+";"+fmt.Sprintf(at, ".hw-j", "0.75")).check(t,
		"click on the lower layer", "here", "value-zeroing, layer 0: ", "1 key")
	shown := chromium.Evaluate[[]string](t, b, `[...document.querySelectorAll(
		'.hw-v:not([hidden]) img, .hw-v:not([hidden]) canvas')].
		filter((e) => e.checkVisibility()).map((e) => e.localName)`)
	if fmt.Sprint(shown) != "[canvas canvas]" {
		t.Errorf("the matrix and the layers are %v, want what the script drew", shown)
	}
}

// TestTouchEstimates draws a picture with too little room for all numbers: tokens can be chosen,
// and numbers are rounded.
func TestTouchEstimates(t *testing.T) {
	b := tab(t)
	whole := render.HTML{Heatmap: render.Heatmap{Explanation: lengthened(touched())}}
	markup := fixture.Written(t, whole)
	limit := len(markup) + 4000
	for ; !strings.Contains(packed(t, markup), `"rounded":true`); limit -= 20 {
		whole.MaxBytes = limit
		markup = fixture.Written(t, whole)
	}
	b.Show(t, output(markup, "white", "black"))
	do(t, b, click(".hw-t > *", 65)+";"+click(".hw-t > *", 64)).check(t, "a generated token",
		"are", "for it “key” +2.00", "1 key", "2 s")
	do(t, b, click(".hw-t > *", 1)).check(t, "a prompt token", "key",
		"as a source, direct: “are” (generated 1) ≈ +2", "64 are")
}

// TestTouchHostile clicks everything in a picture of hostile texts: none acts.
func TestTouchHostile(t *testing.T) {
	b := tab(t)
	b.Show(t, fixture.Written(t, render.Page{HTML: pictures(t)["hostile"]}))
	clicks := chromium.Evaluate[int](t, b, `(() => {
		const parts = '.hw-t > *, .hw-b button, .hw-v td, summary', n = document.querySelectorAll(parts).length;
		for (let i = 0; i < n; i++) {
			const e = document.querySelectorAll(parts)[i];
			if (!e) continue;
			for (const kind of ['pointerover', 'mousemove', 'click']) {
				e.dispatchEvent(new MouseEvent(kind, {bubbles: true}));
			}
		}
		return n;
	})()`)
	d := b.Inspect(t, "document.body")
	checkElements(t, d)
	if clicks < 50 || !strings.Contains(d.Text, "<script>") {
		t.Errorf("%d places to click, text %.300q", clicks, d.Text)
	}
}

// TestUpdate replaces a picture that grows, as a notebook does: what the reader chose and opened
// stays, and a reader who chose no token goes on reading about the first one.
func TestUpdate(t *testing.T) {
	b := tab(t)
	whole := touched()
	early := touched()
	early.Steps = early.Steps[:1]
	for name, r := range early.Methods {
		r.Data, r.Shape[0] = r.Data[:len(r.Data)/2], 1
		early.Methods[name] = r
	}
	markup := fixture.Written(t, render.HTML{Heatmap: render.Heatmap{Explanation: whole}})
	replace := fmt.Sprintf(`const output = document.querySelector('#output');
		output.innerHTML = %q;
		const old = output.querySelector('script'), script = document.createElement('script');
		script.textContent = old.textContent;
		old.replaceWith(script)`, markup)
	start := output(fixture.Written(t, render.HTML{
		Heatmap: render.Heatmap{Explanation: early, Status: "1 token so far"},
	}), "white", "black")

	b.Show(t, start)
	do(t, b, "").check(t, "one token", "are", "direct, whole model: most from “key” 2.00",
		"1 key", "2 s")
	do(t, b, replace).check(t, "two tokens", "are", "for it “key” +2.00", "1 key", "2 s")

	b.Show(t, start)
	do(t, b, `document.querySelectorAll('details').forEach((d) => { d.open = false; });`+
		click("summary", 1)+";"+click(".hw-b button", 1)+";"+click(".hw-t > *", 3))
	chromium.Evaluate[bool](t, b, "new Promise((done) => setTimeout(() => done(true), 50))", await)
	s := do(t, b, replace)
	s.check(t, "a chosen token stays", "to", "“to” (3) as a source, value-zeroing: “here” "+
		"(generated 2) 60.0 %", "5 here")
	open := chromium.Evaluate[[]bool](t, b,
		"[...document.querySelectorAll('details')].map((d) => d.open)")
	if fmt.Sprint(open) != "[false true]" {
		t.Errorf("after the update open parts are %v, want the second", open)
	}
	// Pictures that were replaced are not kept, nor what listens to the page for them.
	kept := chromium.Evaluate[string](t, b, `(() => {
		const held = Object.values(window.headwaterPictures).flat().filter((e) => e.root instanceof Element);
		let drawn = 0;
		const add = window.addEventListener;
		window.addEventListener = () => { drawn++; };
		for (let i = 0; i < 3; i++) {`+replace+`}
		window.addEventListener = add;
		return held.length + ' held, ' + drawn + ' listeners';
	})()`)
	if kept != "0 held, 0 listeners" {
		t.Errorf("of replaced pictures there are %s", kept)
	}
	again := chromium.Evaluate[int](t, b, `(() => {
		const old = document.querySelector('.hw script'), script = document.createElement('script');
		script.textContent = old.textContent;
		old.replaceWith(script);
		return document.querySelectorAll('.hw-b').length;
	})()`)
	if again != 1 {
		t.Errorf("a script that runs twice makes %d bars", again)
	}
}

// clickLimit is how long a text of 2,048 tokens may take from a click to the next frame.
const clickLimit = 100 // milliseconds

// TestClickLatency clicks in a text of 2,048 tokens, up to forty times. The best one counts: the
// machine of a test does other things.
func TestClickLatency(t *testing.T) {
	b := tab(t)
	e := touched()
	m, n := 2048, 16
	e.Prompt.Texts, e.Prompt.Special, e.Steps = nil, make([]bool, m), nil
	for j := range m {
		e.Prompt.Texts = append(e.Prompt.Texts, []string{" word", "s", ","}[j%3])
	}
	for range n {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: " next", Probability: 0.5})
	}
	for _, r := range e.Methods {
		r.Shape = [3]int{n, m, r.Shape[2]}
		r.Data = make([]float64, n*m*r.Shape[2])
		for i := range r.Data {
			r.Data[i] = float64(i*7919%1009) / 1009
		}
	}
	b.Show(t, pageOf(t, e))
	took := chromium.Evaluate[[]float64](t, b, `(async () => {
		const tokens = document.querySelectorAll('.hw-t > *'), took = [];
		for (let k = 0; k < 40; k++) {
			const start = performance.now();
			tokens[[2048, 2050, 7, 2060, 2052][k % 5]].click();
			document.body.getBoundingClientRect();
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			took.push(performance.now() - start);
			if (k >= 4 && Math.min(...took) <= 100) {
				break;
			}
		}
		return took;
	})()`, await)
	best := took[0]
	for _, ms := range took {
		best = min(best, ms)
	}
	t.Logf("clicks took %.0f ms", took)
	if best > clickLimit {
		t.Errorf("a click took %.0f ms at best, limit %d", best, clickLimit)
	}
}

// TestTouchTwice has two pictures of one explanation on a page, as two cells of a notebook: each
// keeps its own choice, also when an update replaces one of them.
func TestTouchTwice(t *testing.T) {
	for name, picture := range map[string]io.WriterTo{
		"text": render.HTML{Heatmap: render.Heatmap{Explanation: touched()}}, "heads": attended(),
	} {
		t.Run(name, func(t *testing.T) { twice(t, fixture.Written(t, picture)) })
	}
}

func twice(t *testing.T, markup string) {
	b := tab(t)
	b.Show(t, output(`<div id="a">`+markup+`</div><div id="b">`+markup+`</div>`, "white", "black"))
	click := func(id string, token int) string {
		return fmt.Sprintf("document.querySelectorAll('#%s .hw-t > *')[%d].click();", id, token)
	}
	replace := func(id string) string {
		return fmt.Sprintf(`const box = document.querySelector('#%s');
			box.innerHTML = %q;
			new Function(box.querySelector('script').textContent)();`, id, markup)
	}
	// A click on a method draws a text, and a key that chooses a layer draws heads.
	const draw = `document.querySelectorAll('.hw').forEach((root) => {
		root.querySelector('.hw-b button')?.click();
		root.querySelector('.hw-t').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp'}));
	});`
	for _, step := range []struct{ what, script, want string }{
		{"a click in each", click("a", 5) + click("b", 4), "here are"},
		{"both are drawn again", draw, "here are"},
		{"a click in the second", click("b", 1) + draw, "here key"},
		{"the first is replaced", replace("a"), "here key"},
		{"the second is replaced", replace("b"), "here key"},
		{"a click in the first", click("a", 4) + draw, "are key"},
	} {
		got := chromium.Evaluate[string](t, b, "(() => {"+step.script+"})(),"+chromium.Started+`.then(
			() => ['a', 'b'].map((id) => [...document.querySelectorAll('#' + id + ' .hw-t > *')].
				find((e) => e.style.outline).textContent).join(' '))`, await)
		if got != step.want {
			t.Errorf("%s: the framed tokens are %q, want %q", step.what, got, step.want)
		}
	}
}

// TestTouchRightToLeft: beside an Arabic name stands its own number, in what is there without a
// script and in what the script says; the text itself runs from right to left, and so do its keys.
func TestTouchRightToLeft(t *testing.T) {
	b := tab(t)
	e := fed()
	e.Prompt.Texts = []string{"عاصمة", " مصر", "ة", " هي"}
	place(e)
	e.Steps[0].Text, e.Steps[1].Text = " القاهرة", " الآن"
	b.Show(t, pageOf(t, e))
	// order returns the names and the numbers of the sentence from left to right, as drawn.
	const order = `(() => {
		const found = [], walk = document.createTreeWalker(document.querySelector('.hw-s'), NodeFilter.SHOW_TEXT);
		for (let node; (node = walk.nextNode());) {
			for (const m of node.textContent.matchAll(/[\u0590-\u08ff]+|[+-]\d\.\d\d/g)) {
				const range = document.createRange();
				range.setStart(node, m.index);
				range.setEnd(node, m.index + m[0].length);
				found.push([range.getBoundingClientRect().left, m[0]]);
			}
		}
		return found.sort((a, b) => a[0] - b[0]).map((e) => e[1]).join(' ');
	})()`
	check := func(what, want string) {
		t.Helper()
		if got := chromium.Evaluate[string](t, b, order); !strings.Contains(got, want) {
			t.Errorf("%s: from left to right the sentence has %q, want %q", what, got, want)
		}
	}
	check("at first", "مصر +2.00 ة +1.00")
	do(t, b, click(".hw-t > *", 2))
	check("a source", "القاهرة +1.00 الآن -1.00")
	do(t, b, press("Home", "ArrowLeft"))
	check("the token to the left", "مصر القاهرة +2.00")
	if got := chromium.Evaluate[bool](t, b, `(() => {
		const left = [...document.querySelectorAll('.hw-t > *')].map((e) => e.getBoundingClientRect().left);
		return left.every((x, i) => !i || x < left[i - 1]);
	})()`); !got {
		t.Error("the text does not run from right to left")
	}
}

// TestTouchByWord: "whole words" shows the sums that a picture by word has, for words in brackets,
// with apostrophes and hyphens, and in pieces that are bytes of a letter.
func TestTouchByWord(t *testing.T) {
	b := tab(t)
	for name, texts := range map[string][]string{
		"brackets": {"He", " (", "sal", "ām", ")", " doesn", "'", "t", " re", "-", "use", " 3", ".", "5", "!"},
		"Arabic":   {"ع", "ا", "\xd8", "\xb5", "م", "ة", " \xd9", "\x85", "صر", ".", " (", "سلا", "م", ")"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fed()
			m, n := len(texts), len(e.Steps)
			e.Prompt.Texts = texts
			place(e)
			e.Order = e.Order[:1]
			delete(e.Methods, "value-zeroing")
			r := e.Methods["direct"]
			r.Shape[1], r.Data = m, make([]float64, n*m)
			for i := range r.Data {
				r.Data[i] = float64(i%5) - 1.5
			}
			words := divided(t, e, "word")
			b.Show(t, pageOf(t, e))
			do(t, b, click(".hw-b button", 0))
			shown := chromium.Evaluate[[]string](t, b, `[...document.querySelectorAll('.hw-t > *')].map((e) => {
				e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
				return e.title;
			})`)
			for k, span := range words.Prompt.Texts {
				offsets := words.Prompt.Offsets[k]
				want := words.Methods["direct"].At(0, k, 0)
				for j, o := range e.Prompt.Offsets {
					if o[0] < offsets[0] || o[0] >= offsets[1] {
						continue
					}
					// Codes have three digits.
					got, err := strconv.ParseFloat(shown[j], 64)
					if err != nil || math.Abs(got-want) > 0.011 {
						t.Errorf("token %d, %q, of %q shows %q, want %.2f", j, texts[j], span,
							shown[j], want)
					}
				}
			}
		})
	}
}

// packed returns the JSON that a picture has for its script.
func packed(t *testing.T, markup string) string {
	t.Helper()
	_, code, _ := strings.Cut(markup, ` data-hw="`)
	code, _, found := strings.Cut(code, `"`)
	if !found {
		t.Fatal("the picture has nothing for a script")
	}
	text, err := io.ReadAll(
		flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(code))))
	must(t, err)
	return string(text)
}

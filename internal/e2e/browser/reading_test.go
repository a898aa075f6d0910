package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// TestTouchWords shows whole words: the sentence has their names and numbers, as the colours have,
// and so has that of a source.
func TestTouchWords(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, touched()))
	words := click(".hw-b button", 3)
	do(t, b, words).check(t, "whole words", "are", "are 90.0 % · direct, whole model: for it "+
		"“keys” (1) +3.00first token the 0.00", "1 key", "2 s")
	do(t, b, click(".hw-t > *", 5)).check(t, "another token", "here", "for it “to” (3) +2.00; "+
		"against it “keys” (1) -1.00", "1 key", "2 s", "3 to")
	do(t, b, click(".hw-t > *", 2)).check(t, "a piece of a word", "key s", "“keys” (1) as a "+
		"source, direct: “are” (generated 1) +3.00, “here” (generated 2) -1.00", "4 are", "5 here")
	do(t, b, press("Escape")+words).check(t, "tokens again", "here", "against it “s” -1.00", "2 s",
		"3 to")
}

// TestTouchLongSentence shows sentences, of which one is long: its beginning names it.
func TestTouchLongSentence(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, lengthenedBy(touched(), 20)))
	s := do(t, b, "[...document.querySelectorAll('.hw-b button')].find((e) => "+
		"e.textContent === 'whole words').click()")
	if !strings.Contains(s.Sentence, "“keys” (1) +3.00") {
		t.Errorf("of words it says %q", s.Sentence)
	}
	e := touched()
	e.Prompt.Texts[0] = "." // so that a sentence begins after it
	b.Show(t, pageOf(t, lengthenedBy(e, 20)))
	s = do(t, b, "[...document.querySelectorAll('.hw-b button')].find((e) => "+
		"e.textContent === 'sentences').click()")
	const want = "for it “keys to w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w…” (1) +3.00"
	if !strings.Contains(s.Sentence, want) {
		t.Errorf("of sentences it says %q, want %q", s.Sentence, want)
	}
}

// TestTouchFirstApart shows sentences of a picture whose first token has most of a row: it stays a
// part of its own, as it is among tokens, and the sum of its sentence is without it. The sentence
// begins as that of tokens does, the colours have the scale of sentences, and a source is framed as
// a whole.
func TestTouchFirstApart(t *testing.T) {
	b := tab(t)
	e := &attribution.Explanation{
		Model:  trace.Info{Name: "hand-made"},
		Prompt: attribution.Prompt{Texts: []string{"The", " hall", ".", " Its", " bell", "."}},
		Steps: []attribution.GeneratedToken{
			{Text: " rang", Probability: 0.018}, {Text: " once", Probability: 0.5},
		},
		Order: []string{"value-zeroing", "direct"},
		Methods: map[string]*attribution.Result{
			// [n,m,l]: layer 1 is shown. The rows of direct are after it.
			"value-zeroing": {
				Unit: "share of change", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0, 1}, Shape: [3]int{2, 6, 2},
				Data: []float64{
					0, 0.39, 0, 0.01, 0, 0.01, 0, 0.25, 0, 0.24, 0, 0.1,
					0, 0.2, 0, 0.1, 0, 0.1, 0, 0.25, 0, 0.24, 0, 0.1,
				},
				Shown: []int{1, 1}, Options: map[string]string{},
			},
			"direct": {
				Unit: "part of the logit", Layers: []int{1}, Shape: [3]int{2, 6, 1},
				Data:    []float64{0.5, 1, 1.4, -1, -1, -0.05, 0, 0, 0, 0, 0, 0.5},
				Options: map[string]string{"scorer": "direct"}, Facts: attribution.Facts{Scorer: true, Combined: true, AddsUp: true},
			},
		},
		OtherMass: map[string][]float64{"value-zeroing": {0, 0, 0, 0.01}},
	}
	place(e)
	b.Show(t, pageOf(t, e))
	press := func(label string) string {
		return "[...document.querySelectorAll('.hw-b button')].find((e) => e.textContent === '" +
			label + "').click();"
	}
	do(t, b, "").check(t, "at first", "rang", "rang 1.8 % · value-zeroing, layer 1: most from the "+
		"first token (attention often rests on it) “The” 39.0 %, “Its” 25.0 %", "0 The",
		"3 Its", "4 bell", "5 .")
	s := do(t, b, press("sentences"))
	s.check(t, "sentences", "rang", "rang 1.8 % · value-zeroing, layer 1: most from “Its bell.” (3) "+
		"59.0 %, “The” (0) 39.0 %", "0 The", "3 Its", "4 bell", "5 .")
	for _, want := range []string{
		"(top 3 tokens hold 88.0 %)", "colours of the text end at 59 %",
	} {
		if !strings.Contains(s.Sentence, want) {
			t.Errorf("of sentences it says %q, want %q in it", s.Sentence, want)
		}
	}
	do(t, b, click(".hw-t > *", 1)).check(t, "a source", "hall .",
		"“The hall.” (0) without “The” (0) as a source, value-zeroing: “once” (generated 2) 20.0 %",
		"7 once")
	do(t, b, press("sinks too")).check(t, "a source with sinks", "The hall .",
		"“The hall.” (0) as a source, value-zeroing: “rang” (generated 1) 41.0 %, “once” (generated "+
			"2) 40.0 %", "6 rang", "7 once")
	do(t, b, click(".hw-t > *", 6)).check(t, "sinks too", "rang", "most from “Its bell.” (3) "+
		"59.0 %, “The hall.” (0) 41.0 %", "0 The", "1 hall", "2 .", "3 Its", "4 bell", "5 .")
	s = do(t, b, press("sinks too")+press("direct"))
	s.check(t, "a scorer", "rang", "rang 1.8 % · direct, whole model: for it “The hall.” (0) +2.90; "+
		"against it “Its bell.” (3) -2.05", "0 The", "1 hall", "2 .", "3 Its", "4 bell", "5 .")
	if !strings.Contains(s.Sentence, "colours of the text end at ±2.9") {
		t.Errorf("of a scorer it says %q", s.Sentence)
	}
}

// TestTouchOneSentence: white space after a sentence is none, so there is nothing to choose.
func TestTouchOneSentence(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Prompt.Texts[3] = "\n"
	place(e)
	b.Show(t, pageOf(t, e))
	if got := chromium.Evaluate[string](t, b, "[...document.querySelectorAll('.hw-b button')]"+
		".map((e) => e.textContent).join()"); strings.Contains(got, "sentences") ||
		!strings.Contains(got, "whole words") {
		t.Errorf("the buttons are %s", got)
	}
}

// TestTouchFaint chooses a source whose values have no colour: the sentence says so.
func TestTouchFaint(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Methods["direct"].Data[3] = 0.05 // of to for are; 2 is the largest value
	b.Show(t, pageOf(t, e))
	do(t, b, click(".hw-t > *", 3)).check(t, "a source of both", "to",
		"“to” (3) as a source, direct: “here” (generated 2) +2.00", "5 here")
	do(t, b, click(".hw-t > *", 0)).check(t, "a source of none", "the",
		"“the” (0) as a source, direct: nothing stands out")
}

// deep is touched with values of direct at so many layers: key has its value from layer 3 up.
func deep(layers int) *attribution.Explanation {
	e := touched()
	r := e.Methods["direct"]
	r.Layers, r.Shape = nil, [3]int{2, 4, layers}
	r.Shown = []int{layers - 1, layers - 1}
	data := make([]float64, 2*4*layers)
	for k := range layers {
		r.Layers = append(r.Layers, k)
		for i, x := range r.Data { // [n,m]
			if i != 1 || k >= 3 {
				data[i*layers+k] = x
			}
		}
	}
	r.Data = data
	return e
}

// TestTouchPointAtLayers points at layers, as rows and as an image: the title says which layer,
// which source and which number. Beside an image stand the numbers of its layers.
func TestTouchPointAtLayers(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, deep(4)))
	got := chromium.Evaluate[string](t, b, `(() => {
		const cell = document.querySelectorAll('.hw-l')[0].cells[2];
		cell.dispatchEvent(new MouseEvent('mousemove', {bubbles: true}));
		return cell.title;
	})()`)
	if got != "up to layer 3 ← key: +2.00" {
		t.Errorf("a cell of layer 3 says %q", got)
	}

	b.Show(t, pageOf(t, deep(12)))
	const point = `((column, line) => {
		const e = [...document.querySelectorAll('.hw-j')].find((e) => e.checkVisibility());
		const r = e.getBoundingClientRect();
		e.dispatchEvent(new MouseEvent('mousemove', {bubbles: true,
			clientX: r.left + (column + 0.5) / 4 * r.width, clientY: r.top + (line + 0.5) / 12 * r.height,
		}));
		return e.title;
	})(%d, %d)`
	for _, c := range []struct {
		column, line int
		want         string
	}{
		{1, 0, "up to layer 11 ← key: +2.00"},
		{1, 8, "up to layer 3 ← key: +2.00"},
		{1, 9, "up to layer 2 ← key: 0.00"},
		{2, 11, "up to layer 0 ← s: +1.00"},
	} {
		got := chromium.Evaluate[string](t, b, fmt.Sprintf(point, c.column, c.line))
		if got != c.want {
			t.Errorf("column %d, line %d says %q, want %q", c.column, c.line, got, c.want)
		}
	}
	labels := chromium.Evaluate[[]string](t, b, `(() => {
		const e = [...document.querySelectorAll('.hw-j')].find((e) => e.checkVisibility());
		const r = e.getBoundingClientRect();
		const texts = document.createTreeWalker(e.closest('tr').cells[0], NodeFilter.SHOW_TEXT), all = [];
		while (texts.nextNode()) {
			const y = document.createRange();
			y.selectNodeContents(texts.currentNode);
			const box = y.getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
			if (y.toString().trim()) all.push(y + ' at ' + Math.floor((middle - r.top) / r.height * 12));
		}
		return all;
	})()`)
	if got := fmt.Sprint(labels); got != "[11 at 0 6 at 5 0 at 11]" {
		t.Errorf("the labels are %s", got)
	}
}

// TestTouchSteady clicks twice at one place of the layers: the first click chooses a layer, whose
// sentence is shorter, and the second one finds the same layer and goes back.
func TestTouchSteady(t *testing.T) {
	b := tab(t)
	e := deep(12)
	for i := range e.Steps { // lines that other layers do not have
		e.Steps[i].Alternatives = []attribution.Alternative{{Text: " are", Probability: 0.9}}
	}
	b.Show(t, pageOf(t, e))
	got := chromium.Evaluate[[]string](t, b, `(() => {
		const image = () => [...document.querySelectorAll('.hw-j')].find((e) => e.checkVisibility());
		const r = image().getBoundingClientRect(), x = r.left + 5, y = r.top + 7.5 / 12 * r.height;
		const said = () => document.querySelector('.hw-s').textContent.replace(/:.*/, '');
		return [0, 1].map(() => {
			document.elementFromPoint(x, y).dispatchEvent(new MouseEvent('click', {
				bubbles: true, clientX: x, clientY: y,
			}));
			return said();
		});
	})()`)
	want := "[are · direct, up to layer 4 are 90.0 % · direct, whole model]"
	if fmt.Sprint(got) != want {
		t.Errorf("two clicks say %v, want %s", got, want)
	}
}

// TestTouchMiddle opens a long text in a narrow column: the chosen token is not the last one that
// is seen, and so the answer can be read on.
func TestTouchMiddle(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(touched(), 100)
	for i := range 80 {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: fmt.Sprint(" more", i)})
	}
	for _, r := range e.Methods {
		r.Shape[0] = len(e.Steps)
		r.Data = append(r.Data, make([]float64, 80*r.Shape[1]*r.Shape[2])...)
	}
	markup := fixture.Written(t, render.HTML{Heatmap: render.Heatmap{Explanation: e}})
	b.Show(t, `<!DOCTYPE html><meta charset="utf-8"><div style="width:400px">`+markup+`</div>`)
	got := chromium.Evaluate[[]float64](t, b, `(() => {
		const box = document.querySelector('.hw-t').getBoundingClientRect();
		const framed = document.querySelector('.hw-t > [style*=outline]').getBoundingClientRect();
		return [document.querySelector('.hw-t').scrollTop, (framed.top - box.top) / box.height];
	})()`)
	if got[0] == 0 || got[1] < 0.4 || got[1] > 0.6 {
		t.Errorf("the text is scrolled by %g, and the chosen token is at %.2f of its box, want 0.5",
			got[0], got[1])
	}
}

// TestPrintChosen prints after another token was chosen: the matrix that was hidden marks it too.
func TestPrintChosen(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, touched()))
	do(t, b, click(".hw-t > *", 5))
	marked := chromium.Evaluate[[]string](t, b, `(() => {
		window.dispatchEvent(new Event('beforeprint'));
		return [...document.querySelectorAll('.hw-v')].map((v) =>
			[...v.querySelectorAll('.hw-r.hw-x')].map((r) => r.cells[0].textContent).join('+') +
			(v.querySelector('.hw-o') ? ' ' + v.querySelector('.hw-o').textContent : ''));
	})()`)
	if fmt.Sprint(marked) != "[here here here]" {
		t.Errorf("marked are %q, want here in both and above the layers", marked)
	}
}

// TestLabelsStay scrolls what is wider than its column: the names of the lines stay in sight, and
// nothing is seen through them.
func TestLabelsStay(t *testing.T) {
	b := tab(t)
	e := lengthenedBy(deep(12), 30)
	for name, markup := range map[string]string{
		"matrix": pageOf(t, e),
		"layers": fixture.Written(t, render.LayersPage{Layers: render.Layers{
			Heatmap: render.Heatmap{Explanation: e},
		}}),
		"flow": fixture.Written(t, render.FlowPage{Flow: flowing(t)}),
	} {
		t.Run(name, func(t *testing.T) {
			b.Show(t, markup)
			got := chromium.Evaluate[[]string](t, b, `(() => {
				document.body.style.maxWidth = '160px';
				return [...document.querySelectorAll('.hw table')].filter((e) => e.checkVisibility()).
					flatMap((table) => {
					const box = table.parentElement, left = box.getBoundingClientRect().left;
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

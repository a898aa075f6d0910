package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// sinksToo clicks the switch that gives sinks their colours.
const sinksToo = "[...document.querySelectorAll('.hw-b button')].find((e) => " +
	"e.textContent === 'sinks too').click()"

// twoLayers returns two generated tokens with the values of two layers, [2,4,2], and nothing from
// generated tokens.
func twoLayers(aggregation string, data ...float64) *attribution.Explanation {
	e := touched()
	e.Order = []string{"rollout"}
	e.Methods = map[string]*attribution.Result{"rollout": {
		Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share, Combined: aggregation != "layer"}, Layers: []int{0, 1}, Shape: [3]int{2, 4, 2},
		Shown: []int{1, 1}, Data: data, Options: map[string]string{"aggregation": aggregation},
	}}
	e.OtherMass = map[string][]float64{"rollout": {0, 0, 0, 0}}
	return e
}

// TestTouchSilentSink gives a sink its colour by the switch where it has nearly all of a row, so
// that the row has no other colour: in the text, in the matrix and in the layers.
func TestTouchSilentSink(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, twoLayers("rollout",
		0.6, 0.997, 0.2, 0.001, 0.1, 0.001, 0.1, 0.001,
		0.6, 0.997, 0.1, 0.001, 0.2, 0.001, 0.1, 0.001,
	)))
	colors := func() string {
		return fmt.Sprint(chromium.Evaluate[[]string](t, b, `[
			document.querySelector('.hw-t > *'), document.querySelector('.hw-r td'),
			...[...document.querySelectorAll('.hw-l')].map((r) => r.cells[1]),
		].map((e) => e.getAttribute('style').match(/#\w+/)[0])`))
	}
	if got := colors(); got != "[#8884 #8884 #8884 #8884]" {
		t.Errorf("at first the sink has %s, want grey", got)
	}
	do(t, b, sinksToo)
	if got := colors(); got != "[#27bd #27bd #27bd #27bd]" {
		t.Errorf("with sinks too it has %s, want the deepest blue", got)
	}
	do(t, b, click(".hw-l", 1))
	if got := colors(); got != "[#27bd #27bd #27bd #27bd]" {
		t.Errorf("at the lower layer it has %s, want the deepest blue", got)
	}
	do(t, b, sinksToo)
	if got := colors(); got != "[#8884 #8884 #8884 #8884]" {
		t.Errorf("without the switch it has %s, want grey", got)
	}
}

// TestTouchRowSink: a token that is a sink of one row alone is grey there, and not in the other
// row; with the switch it has its colour, and the sentence names it as the sink.
func TestTouchRowSink(t *testing.T) {
	b := tab(t)
	b.Show(t, pageOf(t, twoLayers("layer",
		0.6, 0.7, 0.2, 0.1, 0.1, 0.2, 0.1, 0,
		0.6, 0.2, 0.1, 0.5, 0.2, 0.2, 0.1, 0.1,
	)))
	colors := func() string {
		return fmt.Sprint(chromium.Evaluate[[]string](t, b, `[
			document.querySelector('.hw-t > *'), ...[...document.querySelectorAll('.hw-r')].map(
				(r) => r.cells[1]),
		].map((e) => e.getAttribute('style').match(/#\w+/)[0])`))
	}
	says := func(want string) {
		t.Helper()
		got := chromium.Evaluate[string](t, b, "document.querySelector('.hw-s').textContent")
		if !strings.Contains(got, want) {
			t.Errorf("the sentence is %q, want %q in it", got, want)
		}
	}
	do(t, b, click(".hw-r", 0))
	still := colors()
	if !strings.HasPrefix(still, "[#8884 #8884 #") || strings.Count(still, "#8884") != 2 {
		t.Errorf("the colours are %s, want grey in the first row alone", still)
	}
	says("a sink in this row")
	do(t, b, sinksToo)
	if got := colors(); !strings.HasPrefix(got, "[#27bd #27bd #") {
		t.Errorf("with sinks too the colours are %s, want the deepest blue", got)
	}
	says("most from the sink “")
	do(t, b, sinksToo)
	if got := colors(); got != still {
		t.Errorf("without the switch the colours are %s, want %s", got, still)
	}
	do(t, b, click(".hw-r", 1)+";"+click(".hw-l", 1))
	says("most from the first token (attention often rests on it) “")
}

// TestTouchHatching goes to another token and back: images that the script draws again have the
// colours and the hatching that they had, pixel by pixel.
func TestTouchHatching(t *testing.T) {
	b := tab(t)
	layered := lengthened(touched())
	r := layered.Methods["direct"]
	r.Layers, r.Shape[2], r.Shown = []int{0, 1, 2}, 3, []int{2, 2}
	var data []float64
	for _, x := range r.Data {
		data = append(data, -2*x, -x, x)
	}
	r.Data = data
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
	for _, c := range []struct{ name, page, away string }{
		{"layers", pageOf(t, layered), press("ArrowRight", "ArrowLeft")},
		{
			"maps", fixture.Written(t, render.MapsPage{Maps: maps}),
			press("ArrowDown", "ArrowUp"),
		},
	} {
		b.Show(t, c.page)
		chromium.Evaluate[bool](t, b, "(() => {"+c.away+"})(), true")
		got := chromium.Evaluate[[2]int](t, b, alphas, await)
		if got[0] == 0 || got[1] > 0 {
			t.Errorf("%s: of %d pixels with a colour %d differ, want none", c.name, got[0], got[1])
		}
	}
}

// TestTouchSidesOfLayers chooses a layer of a method with signs: the sentence keeps what speaks for
// the token apart from what speaks against it.
func TestTouchSidesOfLayers(t *testing.T) {
	b := tab(t)
	e := touched()
	r := e.Methods["direct"]
	r.Layers, r.Shape[2], r.Shown = []int{0, 1}, 2, []int{1, 1}
	r.Data = []float64{0, 0, 1, 2, -2, 1, 0, 0, 0, 0, 0, 0, 0, -1, 0, 2}
	b.Show(t, pageOf(t, e))
	do(t, b, press("ArrowDown")).check(t, "a layer down", "are", "direct, up to layer 0: for it "+
		"“key” (1) +1.00; against it “s” (2) -2.00", "1 key", "2 s")
}

// TestTouchPointer points at a value whose code, rounded once more, would have another last digit
// than the sentence.
func TestTouchPointer(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Methods["direct"].Data = []float64{0, 1.8246, -12.34, 11, 0, 0, 0.204, 0}
	b.Show(t, pageOf(t, e))
	over := func(index int) string {
		return chromium.Evaluate[string](t, b, fmt.Sprintf(`(() => {
			const e = document.querySelectorAll('.hw-t > *:not(br)')[%d];
			e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
			return e.title;
		})()`, index))
	}
	do(t, b, "").check(t, "at first", "are",
		"for it “to” +11.0, “key” +1.82; against it “s” -12.3", "1 key", "2 s", "3 to")
	if got := over(1) + " " + over(2) + " " + over(3); got != "+1.82 -12.3 +11.0" {
		t.Errorf("the pointer has %s", got)
	}
	do(t, b, click(".hw-t > *", 1)).check(t, "as a source", "key",
		"as a source, direct: “are” (generated 1) +1.82", "4 are")
}

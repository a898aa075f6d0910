package browser

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// routed are experts of three layers over six tokens: in layer l token j passes expert j modulo 3
// + l with 3 quarters, or in layer 1 with 1 half, and expert 7 with 1 quarter.
func routed() render.Experts {
	const L, T = 3, 6
	r := render.Experts{Explanation: touched(), Routes: trace.Tensor{Shape: []int{L, T, 2, 2}}}
	r.Explanation.Model.Experts = 128
	for l := range L {
		for j := range T {
			weight := float32(0.75)
			if l == 1 {
				weight = 0.5
			}
			r.Routes.Data = append(r.Routes.Data, float32(j%3+l), weight, 127, 0.25)
		}
	}
	return r
}

// seenExperts is what a reader sees: the sentence, the tokens that are framed and coloured, the
// framed row, what stands over the matrix, the layer that is open, its bar and its load.
type seenExperts struct{ Say, Framed, Colored, Row, Readout, Layer, Bar, Load string }

const readExperts = `(() => {
	const all = (s) => [...document.querySelectorAll(s)], texts = (s) => all(s).map((e) => e.textContent).join();
	const step = (e) => [...e.classList].find((c) => /^p[1-6]$/.test(c)) || '';
	return {
		Say: texts('.hm-say'), Framed: texts('.hm-text .hm-here'), Readout: texts('.hm-readout'),
		Colored: all('.hm-text :is(span,u)').flatMap((e, i) => step(e) ? [i + e.textContent] : []).join(),
		Row: all('.hm-matrix tr.hm-here').map((r) => [...r.cells].map((c) => c.textContent).join(' ')).join(),
		Layer: texts('.hm-routes [aria-pressed=true]'), Bar: texts('.hm-routes [aria-pressed=true]+span i'),
		Load: texts('.hm-side .hm-alternatives span'),
	};
})()`

// TestExpertsChoices chooses tokens and layers, by clicks and by keys, in windows of both widths
// and on both systems.
func TestExpertsChoices(t *testing.T) {
	b := tab(t)
	cell := func(row, column int) string {
		return fmt.Sprintf("document.querySelector('.hm-matrix').tBodies[0].rows[%d].cells[%d].click();",
			row, column)
	}
	const of = " layers used the same first expert as at "
	are := seenExperts{
		"At are, layer 0 used expert 1 (75 %); 3 of 3" + of + "keys", "are", "1key", "are 1 2 3",
		"are, layer 0: 1 (75 %), 127 (25 %) · generated 1", "0", "1,127",
		"expert 127,6,expert 0,2,expert 1,2,expert 2,2",
	}
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, document(routed())))
		above, to, here := are, are, are
		above.Say = "are, layer 1: 2 (50 %), 127 (25 %)" // another layer than that of its sentence
		above.Readout = "are, layer 1: 2 (50 %), 127 (25 %) · generated 1"
		above.Layer, above.Bar = "1", "2,127"
		above.Load = "expert 127,6,expert 1,2,expert 2,2,expert 3,2"
		to.Say = "to, layer 2: 2 (75 %), 127 (25 %)"
		to.Framed, to.Colored, to.Row = "to", "0the", "to 0 1 2"
		to.Readout = "to, layer 2: 2 (75 %), 127 (25 %) · prompt 3"
		to.Layer, to.Bar = "2", "2,127"
		to.Load = "expert 127,6,expert 2,2,expert 3,2,expert 4,2"
		here.Say = "At here, layer 0 used expert 2 (75 %); 3 of 3" + of + "keys"
		here.Framed, here.Colored, here.Row = "here", "2s", "here 2 3 4"
		here.Readout, here.Bar = "here, layer 0: 2 (75 %), 127 (25 %) · generated 2", "2,127"
		for _, c := range []struct {
			what, script string
			want         seenExperts
		}{
			{"at first", "", are},
			{"another token", token(5), here},
			{"and back", token(4), are},
			{"a layer of the side", "document.querySelectorAll('.hm-routes button')[1].click();", above},
			{"a layer down", press("ArrowDown"), are},
			{"a cell", cell(3, 3), to},
			{"right", press("ArrowRight"), are},
			{"a layer up", press("ArrowUp"), above},
			{"the last token", press("End"), here},
			{"Esc", press("Escape"), are},
		} {
			chromium.Evaluate[bool](t, b, "(() => {"+c.script+"})(),"+chromium.Drawing, await)
			if got := chromium.Evaluate[seenExperts](t, b, readExperts); got != c.want {
				t.Errorf("%s:\n got %+v\nwant %+v", c.what, got, c.want)
			}
		}
		readable(t, b.Inspect(t, "document.body"))
	})
}

package browser

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/study/lens"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// TestBoardChoices opens a row of a picture of patching and a column of one of the lens, by clicks
// and by keys: the sentence, the facts and the colours are those of the data.
func TestBoardChoices(t *testing.T) {
	b := tab(t)
	patched := touched()
	m := len(patched.Prompt.Texts)
	patched.Model.Layers, patched.Model.Heads = 2, 1
	values := make([]float64, 2*m)
	values[1], values[m+2] = 1, 0.5 // layer 0 at token 1, layer 1 at token 2
	patched.Studies.Set(patch.Name, &patch.Result{
		Place: patch.Residual, Direction: patch.Denoising, Clean: patched.Prompt.Texts,
		Corrupted: patched.Prompt.Texts, Position: m - 1, Answer: patch.Token{ID: 1, Text: " A"},
		Foil: patch.Token{ID: 2, Text: " B"}, Shape: [2]int{2, m}, Recovery: values,
	})
	lensed := touched()
	lensed.Model.Layers = 1
	for i := range lensed.Steps {
		one := lens.Layer{Rank: 1, Probability: 0.5, Likely: []attribution.Alternative{
			{ID: lensed.Steps[i].ID, Text: lensed.Steps[i].Text, Probability: 0.5},
		}}
		lensed.Steps[i].Studies.Set(lens.Name, &lens.Layers{one, one})
	}
	type seen struct{ Facts, Colored, Here, Readout string }
	see := func(script string) seen {
		return chromium.Evaluate[seen](t, b, "(() => {"+script+`})(), (() => {
			const text = (s) => (document.querySelector(s) || {textContent: ''}).textContent;
			return {
				Facts: text('.hm-facts'), Here: text('.hm-matrix tr.hm-here th') ||
					text('.hm-text .hm-here'), Readout: text('.hm-readout'),
				Colored: [...document.querySelectorAll('.hm-text :is(span,u)')].flatMap(
					(e, i) => /(^| )[pn][1-6]/.test(e.className) ? [i] : []).join(),
			};
		})()`)
	}
	everywhere(t, b, func(t *testing.T) {
		readable(t, b.Show(t, document(render.Patch{Explanation: patched})))
		first := see("")
		for _, c := range []struct{ what, script, row, colored string }{
			{"a row", click(".hm-matrix tbody th", 1), "0", "1"},
			{"a layer up", press("ArrowUp"), "1", "2"},
			{"the row again", click(".hm-matrix tbody th", 0), "", ""},
		} {
			if got := see(c.script); got.Here != c.row || got.Colored != c.colored ||
				(got.Facts == first.Facts) != (c.row == "") {
				t.Errorf("%s: %+v, want row %q and colours %s", c.what, got, c.row, c.colored)
			}
		}
		readable(t, b.Show(t, document(render.Lens{Explanation: lensed})))
		got := see(press("Home"))
		for i, want := range []string{got.Here, fmt.Sprint(see(press("ArrowRight")).Here)} {
			if want == "" || i == 1 && want == got.Here {
				t.Errorf("a token to the right frames %q after %q", want, got.Here)
			}
		}
	})
}

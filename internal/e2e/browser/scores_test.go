package browser

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
)

// TestTouchScores: bars under the text come and go by a switch, one kind after the other, and the
// line below tells the numbers of the token that is pointed at.
func TestTouchScores(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Steps[0].Scores = &trace.TokenScores{Entropy: 1, Surprisal: 4, Rank: 2}
	e.Steps[1].Scores = &trace.TokenScores{Entropy: 3, Surprisal: 2, Rank: 1}
	b.Show(t, document(render.Heatmap{Explanation: e}))
	// drawn returns the heights of all bars in px, and what the line says.
	drawn := func(script string) string {
		return chromium.Evaluate[string](t, b, "(() => {"+script+"})(),"+
			"[...document.querySelectorAll('.hm-text :is(span,u)')].map((token) => "+
			"token.style.boxShadow.replace(/^0 ([0-9.]+)px.*/, '$1')).join() + ' ' + "+
			"(document.querySelector('.hm-scores').hidden ? 'none' : "+
			"document.querySelector('.hm-scores').textContent)")
	}
	const next = "[...document.querySelectorAll('.hm-switch')].find((each) => " +
		"each.textContent === 'scores').click()"
	const point = "document.querySelectorAll('.hm-text u')[1].dispatchEvent(" +
		"new PointerEvent('pointerover', {bubbles: true}))"
	for _, c := range []struct{ what, script, heights, say string }{
		{"nothing", "", ",,,,,", "none"},
		{"the switch", next, ",,,,6.0,3.0", "are · surprisal 4.00 nats · entropy 1.00 · rank 2 · " +
			"bars: surprisal, up to 4.00 nats"},
		{"pointing at the other token", point, ",,,,6.0,3.0", "here · surprisal 2.00 nats"},
		{"the switch again", next, ",,,,2.0,6.0", "bars: entropy, up to 3.00 nats"},
		{"a token of the prompt", click(".hm-text span", 1), ",,,,2.0,6.0", "key · no scores"},
		{"the switch a third time", next, ",,,,,", "none"},
	} {
		heights, say, _ := strings.Cut(drawn(c.script), " ")
		if heights != c.heights || !strings.Contains(say, c.say) {
			t.Errorf("after %s the bars are %s and it says %q, want %s and %q", c.what, heights,
				say, c.heights, c.say)
		}
	}
}

// TestTouchFromSource: of two stacks each row ends with how much of it comes from the source, with
// a bar as long as that. Rows by hand: 0.8 and 0.3.
func TestTouchFromSource(t *testing.T) {
	b := tab(t)
	e := touched()
	e.Model.Head, e.Model.Layers, e.Model.EncoderLayers = trace.NextToken, 3, 1
	e.Prompt.IDs[3] = e.Model.Boundary() // begins the target
	e.Order, e.Methods = []string{"rollout"}, map[string]*attribution.Result{"rollout": {
		Unit: "share of attention", Layers: []int{2}, Shape: [3]int{2, 4, 1},
		Rows: [][]float64{{.6, .1, .1, .2}, {.1, .1, .1, .3, .4}}, OtherMass: []float64{0, .4},
		Facts: attribution.Facts{
			Quantity: attribution.Share, AddsUp: true, Combined: true, Evidence: trace.Traced,
		},
	}}
	b.Show(t, document(render.Heatmap{Explanation: e}))
	got := chromium.Evaluate[string](t, b, "[...document.querySelectorAll("+
		"'.hm-matrix tr :is(td,th).hm-chance')].map((cell) => cell.textContent + "+
		"cell.style.getPropertyValue('--of')).join()")
	if want := "from source,p,80 %80.0%,90 %,30 %30.0%,50 %"; got != want {
		t.Errorf("the rows end with %q, want %q", got, want)
	}
}

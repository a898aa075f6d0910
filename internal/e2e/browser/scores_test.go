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
	e.Steps[0].Scores = &attribution.TokenScores{
		TokenScores: trace.TokenScores{Entropy: 1, Surprisal: 4, Rank: 2},
	}
	e.Steps[1].Scores = &attribution.TokenScores{
		TokenScores: trace.TokenScores{Entropy: 3, Surprisal: 2, Rank: 1},
	}
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

package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// turns is a conversation by its turns, of whose answer two sentences are explained: 40 of the
// first, which would pale the rest, comes from itself.
func turns() *attribution.Explanation {
	return &attribution.Explanation{
		Model: trace.Info{Layers: 1},
		Prompt: attribution.Prompt{
			Text: "[U]Who?[E][A]", IDs: []int{1, 2, 3}, Special: make([]bool, 3),
			Texts:   []string{"label", "user: Who?", "label"},
			Offsets: [][2]int{{0, 3}, {3, 7}, {7, 13}},
			Parts: []trace.Part{
				{Role: "user", Kind: trace.Label, End: 3}, {Role: "user", Begin: 3, End: 7},
				{Role: "user", Kind: trace.Label, Begin: 7, End: 13},
			},
		},
		Steps: []attribution.GeneratedToken{
			{Text: "Ada did.", IDs: []int{4, 5, 6}, Probability: .5},
			{Text: " It rained.", IDs: []int{7}, Probability: .25, Rest: true},
		},
		Order: []string{"occlusion"},
		Methods: map[string]*attribution.Result{"occlusion": {
			Options: map[string]string{
				"scorer": "occlusion", "by": "turn", "spans": "taken away together",
				"target": "sentence:1",
			},
			Facts: attribution.Facts{
				Evidence: trace.Traced,
				Scorer:   true, Combined: true, AddsUp: true, Spans: true, By: "turn",
				Target: "sentence:1",
			},
			Layers: []int{0}, Shape: [3]int{2, 3, 1},
			Rows: [][]float64{{0, 4, 1, 40}, {1, -2, 1, 3, 0}}, OtherMass: []float64{40, 3}, Unit: "sum over the target's tokens of nats",
		}},
	}
}

// What a target has from itself is said apart and is not on the scale; turns stand beside their
// roles; and rows say how many tokens they have.
func TestTargets(t *testing.T) {
	var text, page strings.Builder
	h := render.Heatmap{Explanation: turns(), Top: -1}
	err := errors.Join(render.Text(&text, h, render.Terminal{}), render.Page(&page, h))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  1  Ada did.  3 tokens, 50.0 %", "1 token outside the target, 25.0 %",
		"occlusion    the target itself +40", "occlusion  −4 ", "user       Who?\nassistant  Ada did. It rained.\n",
		"sum over the target's tokens of nats", "One block for each target\n(generated tokens).",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	for _, want := range []string{
		"<small>user</small></div><div>", ">Who?</span></div></div>", "3 tokens, 50.0 %", "the target itself +40",
		"4 generated, explained in 2 rows", "user: Who? +4",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	flow := render.Show{Kind: render.KindFlow}
	if first := *flow.Opened(turns()).Token; first != 0 {
		t.Errorf("the first row shown is %d", first)
	}
	e := turns()
	e.Steps[0].Rest, e.Steps[1].Rest = true, false
	if first := *flow.Opened(e).Token; first != 1 {
		t.Errorf("the first row shown is %d, not the target", first)
	}
}

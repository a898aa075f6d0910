package gonbext_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
)

// TestFlowGraphCell asks the engine for a text with its flow, and then for the attention over the
// tokens up to the one that predicts the generated token.
func TestFlowGraphCell(t *testing.T) {
	asked := make(chan []int, 1)
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind != engine.KindTrace {
			conn.send(engine.Event{Explanation: &attribution.Explanation{
				Model: trace.Info{Name: "tiny", Layers: 1, Heads: 1},
				Prompt: attribution.Prompt{
					Text: "the keys", Texts: []string{"the", " keys"}, IDs: []int{1, 2},
					Special: []bool{false, false},
				},
				Order: []string{"flow"},
				Methods: map[string]*attribution.Result{
					"flow": {Layers: []int{0}, Shape: [3]int{0, 2, 1}, Unit: "flow"},
				},
			}})
			conn.send(engine.Event{Step: true, Explanation: &attribution.Explanation{
				Steps: []attribution.GeneratedToken{{ID: 3, Text: " are", Probability: 0.5}},
				Methods: map[string]*attribution.Result{
					"flow": {Shape: [3]int{1}, Rows: [][]float64{{0.25, 0.75}}, OtherMass: []float64{0}},
				},
			}})
			conn.send(engine.Event{Done: true})
			return
		}
		asked <- r.IDs
		sendAttention(conn, 2, 1, 0, 0.5, 0.5)
	})
	r := k.run("flow graph", true)
	left := saved(r.displays)
	if r.status != 0 || r.stdout != "flow 1\n" || r.stderr != "" || len(left) != 1 {
		t.Fatalf("status %d, stdout %q, stderr %q, %d displays: %.500v", r.status, r.stdout,
			r.stderr, len(left), left)
	}
	if got := <-asked; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the engine was asked for ids %v, want those of the prompt 1 2", got)
	}
	shown := fmt.Sprint(left[0])
	// Half of the attention and the residual of token 1: 0.75.
	for _, want := range []string{"At most 0.750 flows from “keys” (1) to “keys” (1)", "hm-flow"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	shown = fmt.Sprint(saved(k.run("flow graph by word", true).displays))
	if !strings.Contains(shown, "a graph of flow has tokens and edges as they are") {
		t.Errorf("a graph by word shows %.300q", shown)
	}
}

// layered is sides with two layers.
func layered() *gonbext.Explanation {
	e := sides()
	e.Methods["rollout"] = &attribution.Result{
		Unit: "share", Facts: attribution.Facts{Quantity: attribution.Share}, Layers: []int{0, 1}, Shape: [3]int{1, 2, 2}, Rows: [][]float64{{0.1, 0.9}, {0.2, 0.8}},
	}
	return e
}

func TestLayersCell(t *testing.T) {
	k := newKernel(t, func(*engineConn, engine.Request) { t.Error("the engine was asked") })
	r := k.run("layers", true)
	shown := fmt.Sprint(saved(r.displays))
	if r.status != 0 || r.stderr != "" || !strings.Contains(shown, "hm-layers") ||
		!strings.Contains(shown, "the largest of all layers: keys 90.0 % in layer 0") {
		t.Errorf("status %d, stderr %q, shown %.300q", r.status, r.stderr, shown)
	}
	shown = fmt.Sprint(saved(k.run("layers wrong", true).displays))
	if want := "no values of several layers of rollout, flow; explain with AllLayers"; !strings.
		Contains(shown, want) {
		t.Errorf("an explanation of one layer shows %.300q, want %q", shown, want)
	}
}

package chart_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Two layers over two tokens: edges below the least weight are left out, and after the last layer
// only those of the targets are drawn.
func TestEdges(t *testing.T) {
	g := chart.Graph{
		Tokens:  []string{"a", "b"},
		Weights: []float64{1, 0, 0.01, 0.99, 1, 0, 0.5, 0.5}, Targets: []int{1},
	}
	want := []chart.Edge{
		{L: 0, T: 0, S: 0, Weight: 1},
		{L: 0, T: 1, S: 1, Weight: 0.99},
		{L: 1, T: 1, S: 0, Weight: 0.5},
		{L: 1, T: 1, S: 1, Weight: 0.5},
	}
	if diff := cmp.Diff(want, g.Edges()); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if g.Layers() != 2 {
		t.Errorf("%d layers, want 2", g.Layers())
	}
}

// A chart of any kind comes back from JSON as it was, gaps included.
func TestJSON(t *testing.T) {
	for name, c := range charts() {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got chart.Chart
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	bad := chart.Chart{Series: []chart.Series{{Y: []float64{math.Inf(1)}}}}
	if _, err := json.Marshal(bad); err == nil {
		t.Error("an infinite number was written as JSON")
	}
}

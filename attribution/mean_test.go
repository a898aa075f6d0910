package attribution_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestAttributeMean: the mean over heads serves where there is nothing else, under its own name.
func TestAttributeMean(t *testing.T) {
	data := []float32{1, 0, .25, .75}
	opts := attribution.Options{Methods: []string{"rollout"}}
	var got []*attribution.Attribution
	for _, name := range []string{"attention", "attention-mean"} {
		a, err := attribution.Attribute(context.Background(), attribution.InMemory([]trace.Tensor{{
			Name: name,
			Axes: "LTS", Shape: []int{1, 2, 2}, Data: data,
		}}),
			opts)
		must(t, err)
		got = append(got, a)
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("attention-mean is not taken for attention:\n%s", d)
	}
}

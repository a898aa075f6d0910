package attribution_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// TestMapsOfTwoStacks: the row of a map for a token is the row that explains it, with the options
// that ask which sources a target sees in a layer, too.
func TestMapsOfTwoStacks(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{})
	must(t, err)
	for i, opts := range []attribution.Options{
		{}, {Lift: true}, {DropSink: true}, {Discard: 0.5},
	} {
		opts.Continuation = " la mujer"
		for _, method := range []string{"raw", "rollout", "flow"} {
			opts.Methods, opts.AllLayers = []string{method}, method == "raw"
			e, err := attribution.Explain(t.Context(), m, "the old woman slept .", opts)
			must(t, err)
			given := opts
			given.Continuation, given.AllLayers = "", false
			ids := append(slices.Clone(e.Prompt.IDs), e.Steps[0].ID)
			got, err := attribution.MapOf(t.Context(), m, ids, method, given)
			must(t, err)
			r := e.Methods[method]
			for k := range r.Shape[2] {
				row := got.Row(got.Shape[0]-r.Shape[2]+k, len(ids)-1)
				near(t, fmt.Sprintf("options %d, %s, level %d", i, method, k),
					row[:len(ids)-1], r.Row(1, k)[:len(ids)-1], 1e-6)
			}
			if method == "flow" && !opts.Lift {
				tensors, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Attention})
				must(t, err)
				in := attribution.InMemory(tensors)
				in.Prefix, in.Encoder = m.Info().Prefix(ids), m.Info().EncoderLayers
				all, err := attribution.Attribute(t.Context(), in, given)
				must(t, err)
				if len(all.Warnings) > 0 {
					t.Errorf("warnings %q", all.Warnings)
				}
				g, err := attribution.NewFlowGraph(t.Context(), in, given, len(ids)-1, 2)
				must(t, err)
				near(t, fmt.Sprintf("options %d, the cut", i), []float64{g.Cut.Flow},
					r.Row(1, r.Top())[2:3], 1e-6)
			}
		}
	}
}

// TestPrefixOfInput: a prefix that is longer than the text is refused.
func TestPrefixOfInput(t *testing.T) {
	in := attribution.InMemory([]trace.Tensor{{
		Name: "attention", Shape: []int{1, 2, 2}, Data: []float32{1, 0, 0.5, 0.5},
	}})
	in.Prefix = 3
	_, err := attribution.Attribute(t.Context(), in, attribution.Options{Methods: []string{"raw"}})
	if err == nil || !strings.Contains(err.Error(), "a prefix of 3 tokens; the text has 2") {
		t.Errorf("error %v", err)
	}
}

// TestFlowEndsOfTwoStacks: the first token of a source may be where the flow ends, and the token
// with which the target begins may not.
func TestFlowEndsOfTwoStacks(t *testing.T) {
	e := &attribution.Explanation{
		Steps: make([]attribution.GeneratedToken, 1),
		Methods: map[string]*attribution.Result{"flow": {
			Layers: []int{0}, Shape: [3]int{1, 3, 1}, OtherMass: []float64{0},
		}},
	}
	e.Model.EncoderLayers, e.Model.Vocab = 1, 9
	e.Prompt.IDs, e.Prompt.Texts = []int{4, 5, e.Model.Boundary()}, []string{"a", "b", ""}
	e.Prompt.Special = make([]bool, 3)
	for want, row := range [][]float64{{0.4, 0.2, 0.4}, {0.1, 0.2, 0.7}} {
		e.Methods["flow"].Rows = [][]float64{row}
		_, ends, err := e.FlowEnds(0, nil)
		must(t, err)
		if ends != [2]int{2, want} {
			t.Errorf("of %v the flow is from %d to %d, want 2 to %d", row, ends[0], ends[1], want)
		}
	}
}

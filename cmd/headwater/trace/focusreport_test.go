package trace

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// TestHiddenScore: a score of -Inf, of a source that the target does not see, is null in JSON.
func TestHiddenScore(t *testing.T) {
	hidden := float32(math.Inf(-1))
	text, err := focus.New([]trace.Tensor{
		{Name: "scores", Shape: []int{3, 3}, Data: []float32{0, 7, 7, hidden, 2, 7, hidden, 1, 1}},
		{Name: "terms", Shape: []int{3, 3, 3}, Data: append([]float32{0, 7, 7, -9, 2, 7, -9, 1, 1}, make([]float32, 18)...)},
	}, focus.Options{})
	clitest.Must(t, err)
	layer, head := 0, 0
	r := newFocusReport(focusAsk{Layer: &layer, Head: &head, Ranks: 3})
	clitest.Must(t, r.add(text, nil))
	written, err := json.Marshal(r.Rows[0].Score)
	if want := "[[0],[null,2],[null,1,1]]"; err != nil || string(written) != want {
		t.Errorf("scores %s, %v; want %s", written, err, want)
	}
}

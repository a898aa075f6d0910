package browser

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/sources"
)

// caused is the sentence of two documents that the embedded model has its answer from; one sentence
// has a negative score.
func caused(t *testing.T) *sources.Result {
	t.Helper()
	r, err := sources.Ask{
		Documents: []string{
			"mary has the red key . john has the blue lamp .", "anna has the old book . mary has <b>.",
		},
		Names: []string{"house.txt", "<i>other</i>"}, Question: "who has the lamp ?", Answer: "john",
		Options: sources.Options{Ablations: 16, HeldOut: 8},
	}.Explain(t.Context(), embedded(t))
	must(t, err)
	return r
}

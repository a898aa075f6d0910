package methods

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/models"
)

// TestPlantedHeadKinds: of circuits whose heads are known, exactly these are found. Head 0 is that
// of the first layer. Heads that read by a place other than the one before, or find a word of a
// list, are of no kind but that they rest on the first token where random words have none to find.
func TestPlantedHeadKinds(t *testing.T) {
	want := map[string]map[string][]int{
		"planted-induction": {"previous token": {0}, "induction": {1}, "name mover": {1}},
		"planted-offset":    {"name mover": {0}},
		// Both heads go by position, and what they copy is the first head's.
		"planted-relay": {},
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Run(name, func(t *testing.T) {
			circuit, err := planted.Lookup(name)
			must(t, err)
			m, err := models.Open(name, models.Options{})
			must(t, err)
			e, err := attribution.Explain(t.Context(), m, circuit.Texts(1, 1)[0].Prompt(),
				attribution.Options{
					Methods: []string{"raw"}, MaxTokens: 1, HeadKinds: attribution.KindsAblate,
				})
			must(t, err)
			got := map[string][]int{}
			for _, kind := range e.HeadKinds.Kinds {
				if kind.Heads != nil {
					got[kind.Name] = kind.Heads
				}
			}
			if d := cmp.Diff(want[name], got); d != "" {
				t.Errorf("heads (-want +got):\n%s", d)
			}
			a := e.HeadKinds.Ablation
			t.Log(a)
			if name == "planted-induction" && !(a.Loss < .01 && a.Without[0] > 1 &&
				a.Without[1] > 1) {
				t.Errorf("both heads of the circuit are needed; without them the loss of %v "+
					"grows by %v", a.Loss, a.Without)
			}
		})
	}
}

package transformer_test

import (
	"testing"

	"github.com/headwater-ml/headwater/models/modeltest"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestMixings: every mixing that is registered keeps its contract.
func TestMixings(t *testing.T) {
	for _, name := range transformer.MixingNames() {
		t.Run(name, func(t *testing.T) {
			m, err := transformer.LookupMixing(name)
			must(t, err)
			modeltest.Mixing(t, name, m)
		})
	}
}

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
			if testing.Short() && name != "alti" && name != "value-zeroing" {
				t.Skip("slow: with -short it leaves out all mixings but alti and value-zeroing")
			}
			m, err := transformer.LookupMixing(name)
			must(t, err)
			modeltest.Mixing(t, name, m)
		})
	}
}

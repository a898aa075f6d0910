package plugin

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/models/modeltest"
)

func TestValueNorms(t *testing.T) { modeltest.Mixing(t, "value-norms", valueNorms{}) }

func TestAverage(t *testing.T) { attributiontest.Aggregation(t, average{}) }

func TestNeighbor(t *testing.T) { attributiontest.Scorer(t, neighbor{}, attributiontest.NewModel(1)) }

// TestMethods: what is registered here is found by name, alone and in pairs.
func TestMethods(t *testing.T) {
	for _, name := range []string{"average", "neighbor", "value-norms+average", "value-norms+flow", "attention+average"} {
		if _, err := attribution.LookupMethod(name); err != nil {
			t.Error(err)
		}
	}
}

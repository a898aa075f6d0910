package cli

import (
	"math"
	"runtime/debug"

	"github.com/headwater-ml/headwater/models"
)

// leastHeap is the least memory that the collector is told to keep to: below it, it would run all
// the time.
const leastHeap = 32 << 20

// codeBytes is how much of this program's memory is not Go's heap: code that has run.
const codeBytes = 32 << 20

// CollectWithin tells Go's garbage collector to keep to so many bytes. Without it garbage may be as
// large as what is in use. If more is in use the collector runs often, but it limits itself to half
// of the time.
func CollectWithin(bytes int64) {
	if bytes <= 0 {
		bytes = math.MaxInt64 - leastHeap
	}
	debug.SetMemoryLimit(max(bytes, leastHeap))
}

// Reserve counts bytes outside Go's heap that no open model counts. Models that are opened later
// have as much less.
func (k *Kit) Reserve(bytes int64) {
	k.modelBytes += bytes
	k.outsideHeap += bytes
}

// keepWithin tells the garbage collector to keep to the memory that a model may take in addition to
// the models that are open already.
func (k *Kit) keepWithin(m *models.Model) {
	memory := m.Memory()
	if m.Info().Backend == "go" {
		k.outsideHeap -= memory.Unused
	} else {
		k.outsideHeap += memory.Held
	}
	k.modelBytes += memory.Held
	// Half of what the budget leaves: the collector exceeds its limit by a few arrays.
	spare := memory.Left / 6
	CollectWithin(memory.Limit - codeBytes - k.outsideHeap - spare)
}

package main

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

// collectWithin tells the collector of Go's memory to keep to so many bytes. Without it garbage may
// be as large as what is in use. Where more is in use the collector runs often, which it limits to
// half of the time by itself.
func collectWithin(bytes int64) {
	if bytes <= 0 {
		bytes = math.MaxInt64 - leastHeap
	}
	debug.SetMemoryLimit(max(bytes, leastHeap))
}

// keepWithin tells the collector to keep to the memory that a model may take, beside those that
// were opened before it.
func (p *program) keepWithin(m *models.Model) {
	limit, _ := m.MemoryLimit()
	if m.Info().Backend == "go" {
		p.outsideHeap -= m.UnusedHeap()
	} else {
		p.outsideHeap += m.Held()
	}
	p.held += m.Held()
	spare := m.Budget() / 6 // half of what is left beside the budget: the collector exceeds what it is told by some arrays
	collectWithin(limit - codeBytes - p.outsideHeap - spare)
}

package transformer

import (
	"maps"
	"slices"
)

// UnregisterMixing takes a mixing of a test out of the registry.
func UnregisterMixing(name string) {
	mixings.Lock()
	defer mixings.Unlock()
	delete(mixings.byName, name)
}

// Bucket is the size that a prompt or cache of n tokens gets.
func Bucket(n int) int { return bucket(n) }

// RoundUp makes the model round lengths up as it does where every new shape is compiled.
func (m *Model) RoundUp() { m.promptStep = slotStep }

// Slots returns for how many tokens the session's cache has room.
func (s *Session) Slots() int { return s.slots }

// Graphs returns what the model built graphs for, sorted.
func (m *Model) Graphs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.graphs))
}

// Need is what a pass is to do.
type Need = need

// Estimate is about how many bytes a pass needs besides the weights.
func (m *Model) Estimate(n Need) int64 { return m.estimate(n) }

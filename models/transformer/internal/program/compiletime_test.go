package program

import (
	"testing"
	"time"
)

// Graphs that are compiled at the same time count once in the time that compiling took.
func TestCompileTime(t *testing.T) {
	m := &Machine{compiledGraphs: &compiledGraphs{}}
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for _, c := range []struct{ second, change int }{
		{0, 1}, {2, 1}, {3, -1}, {5, -1}, // 0 to 5
		{9, 1}, {10, -1}, // 9 to 10
	} {
		m.countCompiling(at(c.second), c.change)
	}
	if _, took := m.Compiled(); took != 6*time.Second {
		t.Errorf("compiling took %v, want 6 s", took)
	}
}

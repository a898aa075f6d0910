package explain

import (
	"slices"
	"testing"
)

// Data frames write whole numbers with a point where a column has a gap.
func TestPositionsWithAPoint(t *testing.T) {
	l, err := readPromptLine([]byte(`{"prompt":"a","positions":[1.0,2]}`))
	if err != nil || !slices.Equal(l.Positions, []int{1, 2}) {
		t.Errorf("positions %v, %v", l.Positions, err)
	}
}

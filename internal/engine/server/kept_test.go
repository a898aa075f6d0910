package server

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/engine"
)

// TestKeepIsBounded checks that a large explanation is not kept, that a cell then does not get an
// older one for the latest, and that the oldest ones leave when there is no room.
func TestKeepIsBounded(t *testing.T) {
	some := func(values int) *attribution.Explanation {
		return &attribution.Explanation{
			Steps:   make([]attribution.GeneratedToken, 1),
			Methods: map[string]*attribution.Result{"rollout": {Rows: [][]float64{make([]float64, values)}}},
		}
	}
	const most = maxLast / 8
	var l last
	keep := func(values, want int) {
		t.Helper()
		if got := l.keep(some(values), engine.Request{}); got != want {
			t.Errorf("%d values have number %d, want %d", values, got, want)
		}
	}
	has := func(number int, want bool) {
		t.Helper()
		if _, err := l.get(number); (err == nil) != want {
			t.Errorf("explanation %d: %v, want that it is kept: %v", number, err, want)
		}
	}
	keep(most, 1)
	has(0, true)
	keep(most+1, 0)
	has(0, false)
	has(1, true) // by its number
	keep(most/2, 3)
	has(1, false)
	keep(most/2, 4)
	has(3, true)
	if l.keep(&attribution.Explanation{}, engine.Request{}) != 0 {
		t.Error("an explanation without a token is kept")
	}
	if k, err := l.get(0); err != nil || k.number != 4 {
		t.Errorf("the latest explanation is %d, %v; want 4", k.number, err)
	}
	keep(1, 5)
	has(3, false)
	has(4, true)
}

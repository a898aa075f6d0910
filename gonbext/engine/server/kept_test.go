package server

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// TestKeepIsBounded checks that a large explanation is not kept, nor the one before it: a cell must
// not get an older one than it asks for.
func TestKeepIsBounded(t *testing.T) {
	some := func(values int) *attribution.Explanation {
		return &attribution.Explanation{
			Steps:   make([]attribution.GeneratedToken, 1),
			Methods: map[string]*attribution.Result{"rollout": {Data: make([]float64, values)}},
		}
	}
	const most = maxLast / 8
	var l last
	l.keep(some(most), engine.Request{})
	if l.e == nil || l.tooLarge != 0 {
		t.Errorf("%d values are not kept (%d bytes)", most, l.tooLarge)
	}
	l.keep(some(most+1), engine.Request{})
	if l.e != nil || l.tooLarge != maxLast+8 {
		t.Errorf("%d values are kept; %d bytes are too many", most+1, l.tooLarge)
	}
	l.keep(some(1), engine.Request{})
	l.keep(&attribution.Explanation{}, engine.Request{})
	if l.e == nil || len(l.e.Steps) != 1 || l.tooLarge != 0 {
		t.Error("the latest explanation with a token is not kept")
	}
}

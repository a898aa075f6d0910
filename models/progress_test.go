package models

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// noBlocks is a quantised checkpoint whose numbers do not matter.
type noBlocks struct{ spec.Quantized }

func (noBlocks) ReadBlocks(spec.Param, int, spec.Blocks) error { return nil }

// TestLoadingCountsBlocks: numbers that are read as codes count as loaded, and end when the context
// does.
func TestLoadingCountsBlocks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var percent []int
	l := &loading{
		ctx: ctx, total: 100, report: func(p trace.Progress) { percent = append(percent, p.Done) },
	}
	load := l.loader(func(spec.Param, func(int, []float32)) error { return nil })
	read := func(numbers int) error {
		l.latest = time.Time{} // report again, however soon
		return l.quantized(noBlocks{}).ReadBlocks(spec.Param{}, 0,
			spec.Blocks{Codes: make([]uint8, numbers)})
	}
	for _, err := range []error{
		read(32), read(32), load(spec.Param{Shape: []int{4, 5}}, nil), read(32), read(1),
	} {
		must(t, err)
	}
	if want := []int{0, 32, 84, 100}; !slices.Equal(percent, want) {
		t.Errorf("reported %v percent, want %v", percent, want)
	}
	cancel()
	if err := read(1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: error %v", err)
	}
	if l.quantized(nil) != nil {
		t.Error("a checkpoint without codes got a reader of them")
	}
}

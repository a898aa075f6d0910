package transformer_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// twoProcessors lets Go use at least two processors during a test.
func twoProcessors(t *testing.T) {
	if before := runtime.GOMAXPROCS(0); before < 2 {
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// TestLoadSeveral: a checkpoint that may be read by several goroutines is, and gives the same
// model.
func TestLoadSeveral(t *testing.T) {
	twoProcessors(t)
	g := openGolden(t, "gpt2")
	want, err := g.model.Trace(t.Context(), g.ids, []trace.Tap{trace.Logits})
	must(t, err)
	// The first two arrays wait for each other.
	var both sync.WaitGroup
	both.Add(2)
	m, err := transformer.NewQuantized(goBackend(t), g.model.Spec, dtypes.Float32,
		func(p spec.Param, put func(int, []float32)) error {
			if p.Name == "embedding" || p.Name == "positions" {
				both.Done()
				both.Wait()
			}
			put(0, g.params[p.Name])
			return nil
		}, nil)
	must(t, err)
	got, err := m.Trace(t.Context(), g.ids, []trace.Tap{trace.Logits})
	must(t, err)
	if !slices.Equal(got[0].Data, want[0].Data) {
		t.Error("the logits differ from those of a model that one goroutine loads")
	}
}

// TestLoadSeveralError: the error is that of the first array that has one.
func TestLoadSeveralError(t *testing.T) {
	twoProcessors(t)
	g := openGolden(t, "gpt2")
	for range 20 {
		later := make(chan struct{})
		_, err := transformer.NewQuantized(goBackend(t), g.model.Spec, dtypes.Float32,
			func(p spec.Param, put func(int, []float32)) error {
				switch p.Name {
				case "embedding":
					<-later // until an array that comes later has failed
					return fmt.Errorf("%s is broken", p.Name)
				case "positions":
					defer close(later)
					return fmt.Errorf("%s is broken", p.Name)
				}
				put(0, g.params[p.Name])
				return nil
			}, nil)
		if err == nil || !strings.Contains(err.Error(), "embedding is broken") {
			t.Fatalf("error %v, want that of the embedding", err)
		}
	}
}

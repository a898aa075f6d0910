package aggregation_test

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Two layers of two targets over three sources, the last of them a free place of a cache.
func step() trace.Step {
	return trace.Step{Count: 2, Rows: []trace.Rows{{L: 2, H: 1, N: 2, S: 3, Data: []float32{
		1, 9, 9, .25, .75, 9,
		2, 9, 9, .5, 1, 9,
	}}}}
}

func TestReader(t *testing.T) {
	asks := []trace.MixingAsk{{Name: "attention", AllRows: true}}
	read := func(r aggregation.Reader) []float64 {
		t.Helper()
		r.Asks = asks
		rows, err := r.Read(step(), 0)
		must(t, err)
		return rows[0].Data
	}
	near(t, "both layers", read(aggregation.Reader{Last: 1}),
		[]float64{1, 0, .25, .75, 2, 0, .5, 1}, 0)
	near(t, "the upper layer", read(aggregation.Reader{First: 1, Last: 1}),
		[]float64{2, 0, .5, 1}, 0)
	near(t, "both directions", read(aggregation.Reader{Prefix: 2}),
		[]float64{1, 9, .25, .75}, 0)
	threshold := func(string) float64 { return .5 }
	near(t, "a threshold", read(aggregation.Reader{Threshold: threshold}),
		[]float64{1, 0, 0, .75}, 0)
}

func TestReaderRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*trace.Step)
		want string
	}{
		"a lost token": {
			func(s *trace.Step) { s.First = 1 },
			"the model fed tokens 1..2 after 0",
		},
		"no rows": {func(s *trace.Step) { s.Rows = nil }, "0 sets of rows, want 1"},
		"other targets": {
			func(s *trace.Step) { s.Rows[0].First = 1 },
			"rows of attention: targets 1..2, want 0..1",
		},
		"two heads": {func(s *trace.Step) { s.Rows[0].H = 2 }, "want 2 layers, 1 head"},
		"a negative number": {
			func(s *trace.Step) { s.Rows[0].Data[3] = -1 },
			"layer 0 target 1 source 0 is -1; want a number of 0 or more",
		},
	} {
		r := aggregation.Reader{Last: 1, Asks: []trace.MixingAsk{{Name: "attention", AllRows: true}}}
		s := step()
		c.edit(&s)
		if _, err := r.Read(s, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

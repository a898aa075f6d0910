package attribution_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// Group says in its options how values were combined. Grouping by token changes nothing, and a
// first range with large values is not a sink.
func TestGroup(t *testing.T) {
	e := &attribution.Explanation{
		Prompt: promptOf("the| key|s|.| John"), Steps: make([]attribution.GeneratedToken, 1),
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{"rollout": {
			Options: map[string]string{"aggregation": "rollout"}, Facts: attribution.Facts{Combined: true, AddsUp: true}, Layers: []int{0},
			Shape: [3]int{1, 5, 1}, Rows: [][]float64{{.4, .2, .1, .1, .2}}, OtherMass: []float64{0},
		}},
	}
	divided := func(by string) *attribution.Explanation {
		d, err := units.ParseGrouping(by)
		must(t, err)
		g, err := e.Group(d)
		must(t, err)
		return g
	}
	if divided("") != e {
		t.Error("divided by tokens it is another explanation")
	}
	for _, c := range []struct {
		by    string
		data  []float64
		sinks int
	}{
		{"word", []float64{.4, .3, .1, .2}, 1}, {"0:9", []float64{.8, .2}, 0}, {"4:9", []float64{.4, .4, .2}, 1},
	} {
		g := divided(c.by)
		r := g.Methods["rollout"]
		near(t, c.by, r.Row(0, 0), c.data, 1e-15)
		if r.Options["by"] != c.by || r.Options["spans"] != "sum of tokens" ||
			e.Methods["rollout"].Options["by"] != "" {
			t.Errorf("%s: options %v", c.by, r.Options)
		}
		if sinks, err := g.Sinks("rollout", 0); err != nil || len(sinks) != c.sinks {
			t.Errorf("%s: sinks %v, %v; want %d", c.by, sinks, err, c.sinks)
		}
	}
	d, err := units.ParseGrouping("0:99")
	must(t, err)
	if _, err := e.Group(d); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// TestGroupFirst: the first token is in no word and no sentence where it is a sink of a method. It
// is where it has a small share, or is a scorer's, an encoder's, or a range holds it.
func TestGroupFirst(t *testing.T) {
	for _, c := range []struct {
		by, unit string
		encoder  bool
		data     []float64
		texts    string
	}{
		{"sentence", "a small share", false, []float64{.6, .5}, "the keys.|John"},
		{"sentence", "share of attention", false, []float64{.4, .4, .2}, "the|keys.|John"},
		{"word", "share of attention", false, []float64{.4, .3, .1, .2}, "the|keys|.|John"},
		{"0:9", "share of attention", false, []float64{.8, .2}, "the keys.| John"},
		{"sentence", "part of the logit", false, []float64{.8, .2}, "the keys.|John"},
		{"sentence", "share of attention", true, []float64{.8, .2}, "the keys.|John"},
	} {
		e := &attribution.Explanation{
			Model:  trace.Info{Bidirectional: c.encoder},
			Prompt: promptOf("the| key|s|.| John"),
			Methods: map[string]*attribution.Result{"method": {
				Unit: c.unit, Facts: attribution.Facts{
					AddsUp: true, Scorer: c.unit == "part of the logit",
				},
				Layers: []int{0}, Shape: [3]int{1, 5, 1}, Rows: [][]float64{{.4, .2, .1, .1, .2}},
				OtherMass: []float64{0},
			}},
			Steps: make([]attribution.GeneratedToken, 1),
		}
		if c.unit == "a small share" {
			e.Methods["method"].Rows[0] = []float64{.2, .2, .1, .1, .5}
		}
		by, err := units.ParseGrouping(c.by)
		must(t, err)
		g, err := e.Group(by)
		must(t, err)
		near(t, c.by+" of "+c.unit, g.Methods["method"].Row(0, 0), c.data, 1e-15)
		if got := strings.Join(g.Prompt.Texts, "|"); got != c.texts {
			t.Errorf("%s of %s: the spans are %q, want %q", c.by, c.unit, got, c.texts)
		}
	}
}

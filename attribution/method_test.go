package attribution_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

func TestMethods(t *testing.T) {
	var names []string
	for _, m := range attribution.Methods() {
		names = append(names, m.Name)
		if m.Summary == "" || m.Formula == "" || m.Paper == "" || m.Cost == "" {
			t.Errorf("%s is not documented: %+v", m.Name, m)
		}
		if _, err := attribution.LookupMethod(m.Name); err != nil {
			t.Errorf("LookupMethod(%q): %v", m.Name, err)
		}
	}
	want := append([]string{
		"flow", "flow-normalized", "raw", "rollout", "alti", "globenc", "norms", "norms-residual",
		"norms-residual-norm",
		"value-zeroing", "value-zeroing-euclidean", "value-zeroing-final-norm",
		"value-zeroing-rollout",
	}, scorer.Names()...)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	for _, info := range []trace.Info{
		{Head: trace.NextToken}, {Head: trace.MaskedToken, Bidirectional: true}, {Head: trace.NoHead},
	} {
		for _, name := range attribution.DefaultMethods(info) {
			if !slices.Contains(names, name) {
				t.Errorf("default method %q is not registered", name)
			}
		}
	}
	classic, err := attribution.LookupMethods(attribution.Classic)
	if err != nil || len(classic) != 3 || classic[1].Name != "flow" {
		t.Errorf("classic is %v, %v; want rollout, flow and value-zeroing", classic, err)
	}
}

// Any pair is a method, with a residual exactly where the mixing has none and the aggregation wants
// one.
func TestPairs(t *testing.T) {
	for name, residual := range map[string]float64{
		"attention+layer": 0, "attention+rollout": .5, "attention+flow": .5,
		"value-zeroing+layer": 0, "value-zeroing+rollout": 0, "value-zeroing+flow": 0,
		"norms+layer": 0, "norms+rollout": .5, "norms-residual+rollout": 0, "alti+flow": 0,
	} {
		m, err := attribution.LookupMethod(name)
		if err != nil || m.Name != name || m.Residual != residual || m.Summary == "" ||
			m.Paper == "" {
			t.Errorf("LookupMethod(%q) = %+v, %v; want residual %v", name, m, err, residual)
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"taken":      func() { attribution.RegisterMethod(attribution.Method{Name: "raw"}) },
		"no name":    func() { attribution.RegisterMethod(attribution.Method{}) },
		"a plus":     func() { attribution.RegisterMethod(attribution.Method{Name: "a+b"}) },
		"upper case": func() { attribution.RegisterMixing("Norms", attribution.MixingInfo{}) },
		"mixing taken": func() {
			attribution.RegisterMixing("attention", attribution.MixingInfo{})
		},
		"nil aggregation": func() { aggregation.Register("mine", nil) },
		"a set":           func() { attribution.RegisterMethod(attribution.Method{Name: "classic"}) },
		"a scorer's set":  func() { scorer.Register("classic", countingScorer{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// A method with an unknown part, or with a residual over rows that contain it, is refused when it
// is looked up.
func TestLookupBroken(t *testing.T) {
	for name, m := range map[string]attribution.Method{
		"test-no-mixing":      {Mixing: "test-none", Aggregation: "layer"},
		"test-no-aggregation": {Mixing: "attention", Aggregation: "test-none"},
		"test-twice":          {Mixing: "value-zeroing", Aggregation: "rollout", Residual: .5},
		"test-range":          {Mixing: "attention", Aggregation: "rollout", Residual: 2},
	} {
		m.Name = name
		t.Cleanup(attribution.RegisterForTest(m))
		if _, err := attribution.LookupMethod(name); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("LookupMethod(%q) error %v, want a usage error", name, err)
		}
	}
}

// TestLookupUnknown: an error about a name that nothing has says so by its type, so that a program
// with more plugins can tell; another usage error does not.
func TestLookupUnknown(t *testing.T) {
	t.Cleanup(attribution.RegisterForTest(attribution.Method{
		Name: "test-wide", Mixing: "attention", Aggregation: "rollout", Residual: 2,
	}))
	for name, want := range map[string]bool{
		"rolout": true, "none+rollout": true, "attention+none": true, "test-wide": false,
	} {
		var usage *trace.UsageError
		if _, err := attribution.LookupMethod(name); !errors.As(err, &usage) ||
			usage.Unknown != want {
			t.Errorf("LookupMethod(%q): %+v, want unknown %v", name, usage, want)
		}
	}
}

// TestOneName: a scorer that takes the name of a method is refused where the name is looked up.
func TestOneName(t *testing.T) {
	for _, name := range []string{"rollout", "raw"} {
		remove := attribution.RegisterScorerForTest(name, countingScorer{})
		_, err := attribution.LookupMethod(name)
		remove()
		want := "method " + name + " and scorer " + name + " have one name"
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("LookupMethod(%q) error %v, want %q", name, err, want)
		}
	}
}

// infoOf is an aggregation with another description.
type infoOf struct {
	aggregation.Aggregation
	info aggregation.Info
}

func (a infoOf) Info() aggregation.Info { return a.info }

// like returns a built-in aggregation with another description.
func like(t *testing.T, name string, info aggregation.Info) aggregation.Aggregation {
	t.Helper()
	a, err := aggregation.Lookup(name)
	must(t, err)
	return infoOf{a, info}
}

// TestPairResidual: the residual that an aggregation asks for is checked as that of a method is,
// and the error names the limit that it breaks.
func TestPairResidual(t *testing.T) {
	for _, residual := range []float64{9, -1, math.NaN()} {
		a := like(t, "rollout", aggregation.Info{Residual: residual})
		remove := attribution.RegisterAggregationForTest("test-res", a)
		_, err := attribution.LookupMethod("attention+test-res")
		remove()
		if !errors.Is(err, trace.ErrUsage) || !strings.HasSuffix(err.Error(), "in [0,1]") {
			t.Errorf("residual %v: error %v", residual, err)
		}
	}
}

// TestOtherAggregations: the unit of values that are no shares names the aggregation, and layers of
// an aggregation that combines none are single layers.
func TestOtherAggregations(t *testing.T) {
	for _, c := range []struct {
		info        aggregation.Info
		unit, layer string
	}{
		{aggregation.Info{Single: true}, "test-other of attention", "layer 2"},
		{aggregation.Info{Shares: true}, "share of attention", "up to layer 2"},
	} {
		remove := attribution.RegisterAggregationForTest("test-other", like(t, "layer", c.info))
		e, err := attribution.Explain(t.Context(), fakemodel.New(3, fakemodel.Evenly), "w1 w2",
			attribution.Options{Methods: []string{"attention+test-other"}, MaxTokens: 1})
		must(t, err)
		r := e.Methods["attention+test-other"]
		if got := r.LayerName(trace.Info{}, 0, 2); r.Unit != c.unit || got != c.layer {
			t.Errorf("unit %q, %q; want %q, %q", r.Unit, got, c.unit, c.layer)
		}
		remove()
	}
}

// Names that users type are quoted and cut in errors, and never panic.
func FuzzLookupMethod(f *testing.F) {
	for _, name := range []string{
		"raw", "value-zeroing+flow", "+", "a+b+c", "", "\x00\xff",
		strings.Repeat("x", 500),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := attribution.LookupMethod(name)
		if err == nil {
			if m.Name != name {
				t.Errorf("LookupMethod(%q) has name %q", name, m.Name)
			}
			return
		}
		if msg := err.Error(); !errors.Is(err, trace.ErrUsage) || len(msg) > 1000 ||
			strings.ContainsAny(msg, "\x00\x1b\n") {
			t.Errorf("LookupMethod(%q) error %q", name, msg)
		}
	})
}

package attribution_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// small is an explanation of two tokens by two levels over three prompt tokens.
func small() *attribution.Explanation {
	return &attribution.Explanation{
		Prompt: attribution.Prompt{
			Texts:   []string{"The", "Ġand", "Ċ"},
			Special: []bool{false, false, false},
		},
		Order: []string{"m"},
		Methods: map[string]*attribution.Result{"m": {
			Layers: []int{0, 1}, Shape: [3]int{2, 3, 2}, Options: map[string]string{},
			Rows: [][]float64{{.1, .2, .7}, {.5, .3, .2}, {.4, .1, .1}, {.6, .1, .1}}, OtherMass: []float64{0, 0, .4, .2},
		}},
	}
}

func TestResultViews(t *testing.T) {
	r := small().Methods["m"]
	if got := r.At(1, 0, 1); got != .6 {
		t.Errorf("At(1,0,1) = %v, want .6", got)
	}
	if diff := cmp.Diff([]float64{.1, .2, .7}, r.Row(0, 0)); diff != "" {
		t.Errorf("Row(0,0) (-want +got):\n%s", diff)
	}
	if got, want := r.Matrix(1), mat.NewDense(2, 3, []float64{.5, .3, .2, .6, .1, .1}); !mat.Equal(
		got, want) {
		t.Errorf("Matrix(1) = %v, want %v", mat.Formatted(got), mat.Formatted(want))
	}
	if got, want := r.LayerMap(0), mat.NewDense(2, 3, []float64{
		.1, .2, .7, .5, .3,
		.2,
	}); !mat.Equal(got, want) {
		t.Errorf("LayerMap(0) = %v, want %v", mat.Formatted(got), mat.Formatted(want))
	}
	empty := &attribution.Result{Shape: [3]int{0, 3, 1}}
	if rows, _ := empty.Matrix(0).Dims(); rows != 0 {
		t.Errorf("Matrix of no tokens has %d rows", rows)
	}
	for name, f := range map[string]func(){
		"At": func() { r.At(0, 3, 0) }, "Row": func() { r.Row(2, 0) },
		"Matrix": func() { r.Matrix(2) }, "LayerMap": func() { r.LayerMap(-1) },
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

// TestLayerName: rollout, flow and scorers combine the layers below, single layers do not.
func TestLayerName(t *testing.T) {
	for want, facts := range map[string]attribution.Facts{
		"up to layer 7": {Combined: true},
		"layer 7":       {},
	} {
		r := attribution.Result{Layers: []int{7}, Facts: facts}
		if got := r.LayerName(trace.Info{}, 0, 0); got != want {
			t.Errorf("%v: %q, want %q", facts, got, want)
		}
	}
	r := attribution.Result{
		Layers: []int{attribution.LayerByToken}, Shown: []int{3},
		Facts: attribution.Facts{Combined: true},
	}
	if got := r.LayerName(trace.Info{}, 0, 0); got != "up to layer 3" {
		t.Errorf("a scorer: %q", got)
	}
}

func TestTopK(t *testing.T) {
	e := small()
	got, err := e.TopK(0, "m", 2, nil)
	want := []attribution.Ranked{{0, "The", .5}, {1, "Ġand", .3}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("TopK: %v (-want +got):\n%s", err, diff)
	}
	got, err = e.TopK(1, "m", 9, nil)
	// equal values in order of position
	want = []attribution.Ranked{{0, "The", .6}, {1, "Ġand", .1}, {2, "Ċ", .1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("TopK: %v (-want +got):\n%s", err, diff)
	}
	got, err = e.TopK(0, "m", 9, attribution.DefaultFilter())
	want = []attribution.Ranked{{0, "The", .5}} // the value is that of the whole row
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("TopK with filter: %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []func() ([]attribution.Ranked, error){
		func() ([]attribution.Ranked, error) { return e.TopK(0, "other", 1, nil) },
		func() ([]attribution.Ranked, error) { return e.TopK(2, "m", 1, nil) },
		func() ([]attribution.Ranked, error) { return e.TopK(0, "m", -1, nil) },
	} {
		if _, err := bad(); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("error %v, want a usage error", err)
		}
	}
}

func TestCovered(t *testing.T) {
	e := small()
	share := &attribution.Result{
		Facts:  attribution.Facts{AddsUp: true},
		Layers: []int{0, 1}, Shape: [3]int{2, 3, 2}, Rows: e.Methods["m"].Rows,
		OtherMass: []float64{0, 0, .4, .2},
	}
	scored := &attribution.Result{
		Facts: attribution.Facts{AddsUp: true, Scorer: true}, Layers: []int{1},
		Shape: [3]int{2, 3, 1}, Rows: [][]float64{{2, -3, 1}, {0, 0, 0}},
		OtherMass: []float64{-2, 0},
	}
	untold := *share
	untold.OtherMass = nil
	e.Methods = map[string]*attribution.Result{
		"m": share, "scored": scored, "untold": &untold,
		"flow": {Unit: "flow", Layers: []int{1}, Shape: scored.Shape, Rows: scored.Rows, OtherMass: []float64{0, 0}},
		"lift": {
			Facts:  attribution.Facts{Quantity: attribution.Lift, Combined: true},
			Layers: []int{1}, Shape: scored.Shape, Rows: scored.Rows, OtherMass: []float64{0, 0},
		},
	}
	for _, c := range []struct {
		name   string
		t      int
		method string
		k      int
		filter attribution.Filter
		want   float64
	}{
		{"two of three", 0, "m", 2, nil, .8},
		{"all, and generated tokens", 1, "m", 9, nil, .8},
		{"none", 0, "m", 0, nil, 0},
		{"filtered tokens are of the row", 0, "m", 9, attribution.DefaultFilter(), .5},
		// 2 and 1 of 2+3+1 and of -2 on generated tokens
		{"sizes of signed values", 0, "scored", 2, nil, 3. / 8},
		{"signed, all", 0, "scored", 3, nil, 6. / 8},
		{"a row of zeros", 1, "scored", 3, nil, 0},
	} {
		got, err := e.Covered(c.t, c.method, c.k, c.filter)
		if err != nil || math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: covered %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	for method, want := range map[string]string{
		"flow": "are no parts of a whole", "lift": "are no parts of a whole",
		"untold": "does not say", "other": "has no method",
	} {
		if _, err := e.Covered(0, method, 1, nil); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", method, err, want)
		}
	}
}

func TestFilter(t *testing.T) {
	f := attribution.DefaultFilter()
	for text, want := range map[string]bool{
		",": true, " .": true, "Ġis": true, "▁And": true, " IS ": true, ":": true, "\n": true,
		" \n\n": true, "Ċ": true,
		"his": false, "": false, " ": false, "the": false, "..": false, "\nthe": false,
		"\xff": false,
	} {
		if got := f.Hides(text); got != want {
			t.Errorf("Hides(%q) = %v, want %v", text, got, want)
		}
	}
	if attribution.Filter(nil).Hides(",") {
		t.Error("an empty filter hides a comma")
	}
}

func TestSinks(t *testing.T) {
	e := small()
	got, err := e.Sinks("m", 1)
	want := []attribution.Sink{{Position: 0, Text: "The", Shares: []float64{.5, .6}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Sinks: %v (-want +got):\n%s", err, diff)
	}
	if got, err := e.Sinks("m", 0); len(got) != 0 || err != nil {
		t.Errorf("Sinks(level 0) = %v, %v; want none: no token holds 30 %% of both rows", got, err)
	}
	e.Methods["m"].Quantity = attribution.Lift
	if got, _ := e.Sinks("m", 1); got != nil {
		t.Errorf("Sinks of lifted values = %v, want none", got)
	}
	if _, err := e.Sinks("m", 2); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// TestRowSinks: the first token or a control token with more than half of one row is a sink of this
// row, unless it is a sink of all rows; a word is not, nor anything in an encoder.
func TestRowSinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *attribution.Explanation, r *attribution.Result)
		want   []int
	}{
		{"the first token, .9 of one row of three", nil, []int{0, -1, -1}},
		{"half is not more than half", func(_ *attribution.Explanation, r *attribution.Result) {
			r.Rows[0] = []float64{.5, .5, 0}
		}, []int{-1, -1, -1}},
		{"what generated tokens have counts", func(
			e *attribution.Explanation, _ *attribution.Result,
		) {
			e.Methods["m"].OtherMass[0] = .9 // .9 of 1.9
		}, []int{-1, -1, -1}},
		{"a control token", func(e *attribution.Explanation, _ *attribution.Result) {
			e.Prompt.Special[2] = true
		}, []int{0, -1, 2}},
		{"a sink of all rows is returned by Sinks", func(
			_ *attribution.Explanation, r *attribution.Result,
		) {
			r.Rows = [][]float64{{.9, .1, 0}, {.6, .2, .2}, {.8, .1, .1}}
		}, []int{-1, -1, -1}},
		{"lifted", func(_ *attribution.Explanation, r *attribution.Result) {
			r.Quantity = attribution.Lift
		}, []int{-1, -1, -1}},
		{"encoder", func(e *attribution.Explanation, _ *attribution.Result) {
			e.Model.Bidirectional = true
		}, []int{-1, -1, -1}},
	} {
		e := small()
		r := e.Methods["m"]
		r.Layers, r.Shape, r.OtherMass = []int{0}, [3]int{3, 3, 1}, make([]float64, 3)
		r.Rows = [][]float64{{.9, .1, 0}, {.1, .8, .1}, {.2, .1, .7}}
		if c.change != nil {
			c.change(e, r)
		}
		got, err := e.RowSinks("m", attribution.ShownLevel)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	if _, err := small().RowSinks("m", 2); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// An ordinary token in the middle is a sink over eight rows, and may be evidence over fewer; a
// special token is one.
func TestSinksInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		rows, sinks int
		special     bool
	}{{7, 0, false}, {8, 1, false}, {1, 1, true}} {
		e := small()
		e.Prompt.Special[1] = c.special
		r := e.Methods["m"]
		r.Layers = []int{1}
		r.Shape, r.Rows, r.OtherMass = [3]int{c.rows, 3, 1}, nil, make([]float64, c.rows)
		for range c.rows {
			r.Rows = append(r.Rows, []float64{.2, .6, .2})
		}
		if got, err := e.Sinks("m", 0); len(got) != c.sinks || err != nil {
			t.Errorf("%d rows, special %v: sinks %v, %v; want %d", c.rows, c.special, got,
				err, c.sinks)
		}
	}
}

// The layers that wrote are those that a method of one layer chose, and not given ones, nor those
// of a model that cannot tell.
func TestLayersThatWrote(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*attribution.Result)
		want   []int
	}{
		"chosen":                  {func(*attribution.Result) {}, []int{1, 0, 2}},
		"all show the last layer": {func(r *attribution.Result) { r.Shown = []int{2, 2, 2} }, nil},
		"a layer that was given":  {func(r *attribution.Result) { r.LayerChosen = false }, nil},
		"a token without layer":   {func(r *attribution.Result) { r.Shown = []int{1, 0} }, nil},
	} {
		e := &attribution.Explanation{
			Steps: make([]attribution.GeneratedToken, 3), Order: []string{"missing", "raw"},
		}
		e.Model.Layers = 3
		r := &attribution.Result{
			Shown: []int{1, 0, 2}, Facts: attribution.Facts{LayerChosen: true},
		}
		c.change(r)
		e.Methods = map[string]*attribution.Result{"raw": r}
		if got := e.LayersThatWrote(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

package evaluate_test

import (
	"context"
	"iter"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// By hand: tokens that add 4, 3, 1, 1, 1, 0 and a margin that is 6 less, so that the answer stays
// as long as the tokens that are left add more than 6. ⌈6/5⌉ tokens are two.
func TestFlip(t *testing.T) {
	x := additive(4, 3, 1, 1, 1, 0)
	sum := x.value
	x.value = func(left []int) float64 { return sum(left) - 6 }
	for _, c := range []struct {
		name       string
		scores     []float64
		top, fifth bool
	}{
		{"10 - 4 - 6 = 0 and less", []float64{9, 1, 1, 1, 2, 1}, true, true},
		{"10 - 3 - 6 = 1, and 1 less", []float64{1, -9, 2, 1, 1, 1}, false, true},
		{"10 - 1 - 6 = 3, and 3 less", []float64{1, 8, 9, 1, 1, 1}, false, true},
		{"10 - 1 - 6 = 3, and 1 less", []float64{1, 1, 9, 1, 8, 1}, false, false},
	} {
		top, fifth, err := evaluate.Flip(t.Context(), x, c.scores)
		if err != nil || top != c.top || fifth != c.fifth {
			t.Errorf("%s: %v and %v, error %v; want %v and %v", c.name, top, fifth, err, c.top,
				c.fifth)
		}
	}
	if _, _, err := evaluate.Flip(t.Context(), text{}, nil); err == nil {
		t.Error("a text without removable tokens gives no error")
	}
}

// counting is a model that counts how many margins it is asked for.
type counting struct {
	choosing
	margins *int
}

func (m counting) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	for _, q := range queries {
		if q.Quantity == trace.Margin {
			*m.margins++
		}
	}
	return m.choosing.Predict(ctx, queries)
}

// The answer R is read after "=" if there is a "?". Raw attention is highest at R, latest first
// begins with "?", and earliest first with P, which does not matter, and then "=", which does.
func TestRunFlips(t *testing.T) {
	c := evaluate.Case{
		Group: "g", Prompt: "P=RSTU?", Counterfactual: "P=VSTU?", Continuation: "R", Contrast: "V",
		Evidence: [][2]int{{2, 3}},
	}
	m := counting{choosing{letters{"R"}}, new(int)}
	opts := evaluate.Options{Methods: []string{"raw", "norms"}}
	if _, err := evaluate.Run(t.Context(), m, []evaluate.Case{c}, opts); err != nil {
		t.Fatal(err)
	}
	proof := *m.margins
	opts.Faithful = true
	report, err := evaluate.Run(t.Context(), m, []evaluate.Case{c}, opts)
	must(t, err)
	for method, want := range map[string][2]float64{
		"raw": {1, 1}, "norms": {1, 1}, evaluate.EarliestLine: {0, 1}, evaluate.LatestLine: {1, 1},
	} {
		top, ok := report.At("g", method, "flip rate of the top token")
		fifth, _ := report.At("g", method, "flip rate of the top 20 %")
		if !ok || top.N != 1 || top.Mean != want[0] || fifth.N != 1 || fifth.Mean != want[1] {
			t.Errorf("%s: %+v and %+v, want %v", method, top, fifth, want)
		}
	}
	// Raw attention and norms rank alike here, and their sets are asked for once.
	if n := *m.margins - 2*proof; n > 8 {
		t.Errorf("%d margins for four different rankings, want at most 8", n)
	}
}

// doubting is letters whose most probable token is always another one.
type doubting struct{ letters }

func (m doubting) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		for step, err := range m.letters.Steps(ctx, ids, ask) {
			step.Next.Alternatives = []trace.Alternative{{Token: trace.Token{ID: 'Z'}}}
			yield(step, err)
		}
	}
}

// A token that the model would not have chosen cannot be lost, and evidence that is given without a
// proof has no flip rates.
func TestFlipsOfOtherCases(t *testing.T) {
	const measure = "flip rate of the top token"
	opts := evaluate.Options{Methods: []string{"raw"}, Faithful: true}
	proven := []evaluate.Case{proved()}
	report, err := evaluate.Run(t.Context(), letters{"R"}, proven, opts)
	if s, ok := report.At("g", "raw", measure); err != nil || !ok || s.N != 1 || s.Mean != 1 {
		t.Errorf("changes: %+v, %v, error %v; want one flip", s, ok, err)
	}
	report, err = evaluate.Run(t.Context(), doubting{letters{"R"}}, proven, opts)
	if s, _ := report.At("g", "raw", measure); err != nil || s.N != 0 || s.Skipped != 1 {
		t.Errorf("another answer: %+v, error %v; want one case without", s, err)
	}
	given := proved()
	given.Changes = nil
	report, err = evaluate.Run(t.Context(), letters{"R"}, []evaluate.Case{given}, opts)
	if _, ok := report.At("g", "raw", measure); err != nil || ok {
		t.Errorf("given evidence: a column %v, error %v; want none", ok, err)
	}
}

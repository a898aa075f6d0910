package attribution_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/models"
)

// residueOf explains one token of the linear model with the given number of points from zeros.
func residueOf(t *testing.T, steps int) *attribution.Explanation {
	t.Helper()
	opts := attribution.Options{
		MaxTokens: 1, Methods: []string{"integrated-gradients"},
		Scoring: scorer.Options{Replacement: "zero", Steps: steps},
	}
	e, err := attribution.Explain(t.Context(), fakemodel.NewLinear(), "w0 w1 w0", opts)
	must(t, err)
	return e
}

// A residue above 5 % is worth a warning that says how much, of what and what to do, and one below
// is not.
func TestIntegratedGradientsWarning(t *testing.T) {
	a, b := 3., .5-2+6+4-1+.25+3 // ids 1, 2, 1
	slope := slopeOf((a+b)/2)/2 + slopeOf(a)/4 + slopeOf(b)/4
	missed := math.Abs(1 - slope*(b-a)/(fakemodel.Sigmoid(b)-fakemodel.Sigmoid(a)))
	if missed < .05 {
		t.Fatalf("one point misses %g, so the test proves nothing", missed)
	}
	want := fmt.Sprintf("integrated-gradients: for 1 of 1 token the values miss more than 5 %% "+
		"of the change that they should "+
		"add up to, at worst %.1f %% for %q. Take more steps than 1, or another replacement than "+
		"%q.", 100*missed, "w1", "zero")
	e := residueOf(t, 1)
	if !slices.Contains(e.Warnings, want) {
		t.Errorf("warnings %q, want %q", e.Warnings, want)
	}
	e = residueOf(t, 0)
	if s := fmt.Sprint(e.Warnings); strings.Contains(s, "integrated-gradients") {
		t.Errorf("32 points: warnings %s", s)
	}
}

// On the embedded model, whose first operation is a norm, the default leaves at most the 5 % above
// which a warning comes, the result names the baseline, and too few steps bring the warning.
// Recall, the second prompt, turns certain in a hundredth of the path.
func TestIntegratedGradientsTiny(t *testing.T) {
	m, err := models.Open("tiny", models.Options{})
	must(t, err)
	missing := func(prompt string, steps int) (float64, *attribution.Explanation) {
		e, err := attribution.Explain(t.Context(), m, prompt, attribution.Options{
			MaxTokens: 1, Methods: []string{"integrated-gradients"},
			Scoring: scorer.Options{Steps: steps},
		})
		must(t, err)
		r := e.Methods["integrated-gradients"]
		sum := 0.0
		for _, x := range r.Row(0, 0) {
			sum += x
		}
		return math.Abs(r.Residue[0] / (sum + r.Residue[0])), e
	}
	for _, prompt := range []string{
		"the keys to the cabinet", "mary has the blue lamp . who has the blue lamp ?",
	} {
		share, e := missing(prompt, 0)
		if !(share <= .05) || strings.Contains(fmt.Sprint(e.Warnings), "integrated-gradients") {
			t.Errorf("%q: a residue of %g of the change, warnings %q", prompt, share, e.Warnings)
		}
		if got := e.Methods["integrated-gradients"].Options["replacement"]; got != "end" {
			t.Errorf("the result says replacement %q, want end", got)
		}
		share, e = missing(prompt, 2)
		if !(share > .05) || !strings.Contains(fmt.Sprint(e.Warnings),
			`Take more steps than 2, or another replacement than "end"`) {
			t.Errorf("%q with 2 steps: a residue of %g of the change, warnings %q", prompt, share,
				e.Warnings)
		}
	}
}

// slopeOf is the derivative of [fakemodel.Sigmoid].
func slopeOf(x float64) float64 { return fakemodel.Sigmoid(x) * (1 - fakemodel.Sigmoid(x)) }

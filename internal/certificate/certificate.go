// Package certificate checks a running model against everything that its numbers can be held to,
// and says how far off the worst of them is:
//
//	recording, err := golden.Open("golden.safetensors")
//	c, err := certificate.Run(ctx, m, certificate.Options{Golden: recording})
//	c.WriteTo(os.Stdout)
//
// A [golden.Golden] is what another implementation computed, or what [Record] wrote of a model that
// is trusted. Without one the checks remain that a model must pass on its own: the same numbers
// with a cache as without, on every backend, of Value Zeroing as of zeroing the value, of head
// outputs as of the values that heads read, after the projection, and of attention as of the
// softmax of its terms.
//
// Errors are absolute where numbers are of the order of 1, and divided by the largest of the tensor
// where that is more: float32 has seven digits in all. Where scores are large, attention cannot be
// as precise; see [ScoreRounding].
package certificate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("certificate")

// Tolerances are the largest differences that pass a check.
const (
	// LogitsTolerance is for float32 rounding over the layers of the goldens. The reference itself
	// is within 5e-6 of float64.
	LogitsTolerance = 2e-5
	// TapTolerance is for attentions and hidden states. The reference is within 1.3e-6.
	TapTolerance = 1e-5
	// ScoreRounding is by how much attention in float32 may differ, in units of 2^-24 times the
	// size of a layer's scores, the largest sum of the sizes of a score's terms (at most the cap,
	// where there is one). Query, key and their product are each rounded, so a score is off by
	// about 3 units. A softmax whose scores are off by at most δ is off by at most δ/2, and two
	// programs differ by twice that. Seen of transformers against float64: 0.4 to 1.4 units.
	// Tolerances grow by ScoreRounding·2^-24·size/TapTolerance, where that is above 1: from scores
	// of 56 on. What follows such attention, in the layer and in later ones, gets the same factor.
	ScoreRounding = 3
	// HalfTolerance is for weights in bfloat16, which has 8 bits, against a recording in float32.
	HalfTolerance = 5e-2
	// HalfSameTolerance is for two computations with the same weights in bfloat16. The factors
	// of a product with a matrix are rounded to 8 bits, so a difference of one bit in float32 can
	// become one of 1/256.
	HalfSameTolerance = 4e-3
	// HalfLayersTolerance is for two computations of all layers with the same weights in bfloat16,
	// in which layers hand such a difference on and add to it: worst seen 9.6e-3, in 24 texts of 34
	// tokens on toy models and in a sentence on SmolLM2. bfloat16 itself moves a hidden state by
	// 8e-2.
	HalfLayersTolerance = 2e-2
)

// Options has what to check with.
type Options struct {
	// Golden is what another implementation computed, or nil.
	Golden *golden.Golden
	// IDs is the text of the checks that need no golden, [T]; empty is that of the golden, or a
	// text of the model's own choice.
	IDs []int
	// RecordingOnly leaves out the checks that need no golden.
	RecordingOnly bool
	// Other opens the same model on another backend to be compared with; nil skips that.
	Other func() (*models.Model, error)
}

// Check is one thing that was compared.
type Check struct {
	Name string `json:"name"`
	// Skipped is why nothing was compared; empty if something was.
	Skipped string `json:"skipped,omitempty"`
	// Worst is the largest error, as a part of its tolerance, infinite if numbers were missing or
	// not numbers, Where it is, and Compared how many there were.
	Worst     Error  `json:"worst"`
	Where     string `json:"where,omitempty"`
	Compared  int    `json:"compared"`
	Tolerance Error  `json:"tolerance"` // of the worst error
}

// Error is a difference between numbers. In JSON an infinite one is the text "inf".
type Error float64

// MarshalJSON implements json.Marshaler.
func (e Error) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 0) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(e))
}

// Passed is whether the worst error is within the tolerance. What was skipped has not failed.
func (c Check) Passed() bool { return c.Skipped != "" || float64(c.Worst) <= float64(c.Tolerance) }

// String returns how far off the check is: "logits: worst 3e-05 at text 0, at most 2e-05".
func (c Check) String() string {
	return fmt.Sprintf("%s: worst %g at %s, at most %g", c.Name, c.Worst, c.Where, c.Tolerance)
}

// Certificate is the result.
type Certificate struct {
	Model  trace.Info `json:"model"`
	DType  string     `json:"dtype"`
	Tokens int        `json:"tokens"` // of the text of the checks without a golden
	Checks []Check    `json:"checks"`
	// OK is whether all checks passed.
	OK bool `json:"ok"`
}

// Run makes every check that can be made of m. It returns an error if the golden is not one of this
// model or if the model cannot run; a check that fails is no error.
func Run(ctx context.Context, m *models.Model, opts Options) (*Certificate, error) {
	r := &run{ctx: ctx, m: m, opts: opts, half: m.DType() != "float32"}
	if r.ids = opts.IDs; len(r.ids) == 0 {
		r.ids = r.text()
	}
	r.ids = r.withTarget(r.ids)
	c := &Certificate{Model: m.Info(), DType: m.DType(), Tokens: len(r.ids)}
	checks := []func() ([]Check, error){
		r.golden, r.greedy, r.cached, r.backends, r.valueZeroing, r.valueOutputs,
		r.softmaxOfTerms,
	}
	if opts.RecordingOnly {
		checks = checks[:2]
	}
	for _, check := range checks {
		checks, err := check()
		if err != nil {
			return nil, pkg.Errorf("%w", err)
		}
		c.Checks = append(c.Checks, checks...)
	}
	c.OK = len(c.Failed()) == 0
	return c, nil
}

// Failed returns the checks that did not pass.
func (c *Certificate) Failed() []Check {
	var failed []Check
	for _, k := range c.Checks {
		if !k.Passed() {
			failed = append(failed, k)
		}
	}
	return failed
}

// WriteTo writes the certificate as a table.
func (c *Certificate) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d layers, %d heads, weights in %s on %s\n\n", c.Model.Name,
		c.Model.Family, c.Model.Layers, c.Model.Heads, c.DType,
		c.Model.Backend)
	wide := 0
	for _, k := range c.Checks {
		wide = max(wide, len(k.Name))
	}
	for _, k := range c.Checks {
		name := k.Name + strings.Repeat(" ", wide-len(k.Name))
		switch {
		case k.Skipped != "":
			fmt.Fprintf(&b, "-      %s  %s\n", name, k.Skipped)
		case k.Passed():
			fmt.Fprintf(&b, "ok     %s  worst %7.1e of at most %.0e in %d numbers, at %s\n", name,
				k.Worst, k.Tolerance, k.Compared, k.Where)
		default:
			fmt.Fprintf(&b, "WRONG  %s  worst %7.1e of at most %.0e in %d numbers, at %s\n", name,
				k.Worst, k.Tolerance, k.Compared, k.Where)
		}
	}
	verdict := "All checks passed."
	if !c.OK {
		verdict = "The numbers of this model are not to be trusted here."
	}
	fmt.Fprintf(&b, "\n%s\n", verdict)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

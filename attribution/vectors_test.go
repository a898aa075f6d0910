package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// storing is a model that does not multiply vectors, so that the rows of all targets are stored.
type storing struct{ *models.Model }

func (storing) Multiplies() bool { return false }

// scarce is a model that leaves so many bytes to an explanation.
type scarce struct {
	*models.Model
	left int64
}

func (s scarce) Memory() trace.Memory { return trace.Memory{Left: s.left} }

// vectorTol is how far products of vectors may be from rows that are stored: rounding of float32.
const vectorTol = 1e-5

// TestVectors: a long text explained by products of vectors, because the rows of all its targets
// would not fit, has the values of rows that are stored; one head, lift and a range of
// layers too.
func TestVectors(t *testing.T) {
	attribution.SetLongText(t, 8)
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	prompt := longPrompt(50)
	head, last := 1, 3
	for name, opts := range map[string]attribution.Options{
		"rollout":      {Methods: []string{"rollout"}},
		"lift":         {Methods: []string{"rollout"}, Lift: true},
		"one head":     {Methods: []string{"rollout"}, PerHead: &head},
		"some layers":  {Methods: []string{"rollout"}, FirstLayer: 1, LastLayer: &last},
		"other weight": {Methods: []string{"attention+rollout", "raw"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Continuation = " . mary"
			want := explainedBy(t, storing{m}, prompt, opts)
			got := explainedBy(t, scarce{m, 200e3}, prompt, opts)
			nearExplanation(t, got, want)
		})
	}
}

// TestVectorsOfALTI: alti-logit of a long text, by products and by rows.
func TestVectorsOfALTI(t *testing.T) {
	attribution.SetLongText(t, 8)
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	prompt := longPrompt(50)
	opts := attribution.Options{
		Methods: []string{"rollout", "alti-logit"}, Continuation: " mary",
	}
	want := explainedBy(t, storing{m}, prompt, opts)
	nearExplanation(t, explainedBy(t, scarce{m, 100e3}, prompt, opts), want)
}

// hungry is a model that needs more than its memory to read a prompt with the rows of all tokens.
type hungry struct {
	*models.Model
	asked *trace.Ask
}

func (hungry) Memory() trace.Memory { return trace.Memory{Left: 64e6} }

func (hungry) PromptBytes(_ int, ask trace.Ask) int64 {
	for _, m := range ask.Mixings {
		if m.AllRows {
			return 65e6
		}
	}
	return 1e6
}

func (h hungry) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	*h.asked = ask
	return h.Model.Steps(ctx, ids, ask)
}

// TestVectorsOfHungryModel: rows that the methods have room for, and the model not, are not asked
// of it.
func TestVectorsOfHungryModel(t *testing.T) {
	attribution.SetLongText(t, 8)
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	opts := attribution.Options{Methods: []string{"alti-logit"}, Continuation: " mary"}
	want := explainedBy(t, storing{m}, longPrompt(50), opts)
	var asked trace.Ask
	nearExplanation(t, explainedBy(t, hungry{m, &asked}, longPrompt(50), opts), want)
	if !asked.Products || asked.Mixings[0].AllRows {
		t.Errorf("asked for %+v, want products instead of rows", asked)
	}
}

// longPrompt is a text of so many words of the embedded model.
func longPrompt(words int) string {
	text := strings.Repeat("mary has the red key . ", words/6+1)
	return strings.Join(strings.Fields(text)[:words], " ")
}

// TestFlowBounds: flow of a long text whose rows do not fit, or that has too many tokens, has
// values that are not above the exact ones, and the explanation says by how much they may be below.
func TestFlowBounds(t *testing.T) {
	attribution.SetLongText(t, 8)
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	opts := attribution.Options{Methods: []string{"flow"}, MaxTokens: 1}
	exact := explainedBy(t, storing{m}, longPrompt(120), opts)
	nearExplanation(t, explainedBy(t, m, longPrompt(120), opts), exact)
	t.Run("rows do not fit", func(t *testing.T) {
		checkBounds(t, explainedBy(t, scarce{m, 1e6}, longPrompt(120), opts), exact)
	})
	t.Run("too many tokens", func(t *testing.T) {
		attribution.SetExactFlow(t, 120) // one less than the prompt and the token after it
		checkBounds(t, explainedBy(t, m, longPrompt(120), opts), exact)
	})
}

// checkBounds checks an explanation with bounds of flow against the exact values.
func checkBounds(t *testing.T, e, exact *attribution.Explanation) {
	t.Helper()
	got, want := e.Methods["flow"].Row(0, 0), exact.Methods["flow"].Row(0, 0)
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	said := ""
	for _, w := range e.Warnings {
		if strings.HasPrefix(w, "flow of attention: ") {
			said = w
		}
	}
	var n, kept int
	var among, others float64
	_, err := fmt.Sscanf(said, "flow of attention: %d tokens are too many for the exact values. The "+
		"values are lower bounds from the %d strongest tokens; they miss at most %g of the exact "+
		"ones there, and at most %g for other tokens.", &n, &kept, &among, &others)
	if err != nil || n != len(e.Prompt.IDs) || kept >= n || kept < 40 {
		t.Fatalf("warning %q (%v), want one with the bounds; warnings: %q", said, err, e.Warnings)
	}
	equal := true
	for j := range got {
		if got[j] > want[j]+vectorTol {
			t.Errorf("token %d: %v is above the flow %v", j, got[j], want[j])
		}
		if want[j]-got[j] > 1.05*max(among, others)+vectorTol { // two digits are said
			t.Errorf("token %d: %v misses more of %v than was said: %q", j, got[j], want[j], said)
		}
		equal = equal && math.Abs(got[j]-want[j]) < vectorTol
	}
	if equal {
		t.Error("all values are exact; the text should be too long for that")
	}
}

func explainedBy(
	t *testing.T, m trace.Model, prompt string, opts attribution.Options,
) *attribution.Explanation {
	t.Helper()
	e, err := attribution.Explain(context.Background(), m, prompt, opts)
	must(t, err)
	return e
}

// nearExplanation compares the values of all methods, and what rests on generated tokens.
func nearExplanation(t *testing.T, got, want *attribution.Explanation) {
	t.Helper()
	for _, name := range want.Order {
		g := slices.Concat(got.Methods[name].Rows...)
		w := slices.Concat(want.Methods[name].Rows...)
		if len(g) != len(w) || len(w) == 0 {
			t.Fatalf("%s: %d values, want %d", name, len(g), len(w))
		}
		size := 1.0 // of the largest value: lift and parts of a logit are no shares
		for _, x := range w {
			size = max(size, math.Abs(x))
		}
		worst, at := 0.0, 0
		for i := range w {
			if d := math.Abs(g[i] - w[i]); !(d <= worst) {
				worst, at = d, i
			}
		}
		if !(worst <= vectorTol*size) {
			t.Errorf("%s: value %d is %v, want %v", name, at, g[at], w[at])
		}
		other := got.Methods[name].OtherMass
		for i, x := range want.Methods[name].OtherMass {
			if d := math.Abs(other[i] - x); !(d <= vectorTol*size) {
				t.Errorf("%s: other mass %d is %v, want %v", name, i, other[i], x)
			}
		}
	}
}

// TestVectorsRefused: a long text whose rows do not fit and that cannot do without them is refused
// before anything is computed, with what it needs and what is left.
func TestVectorsRefused(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	prompt := longPrompt(1025)
	for name, opts := range map[string]attribution.Options{
		"flow":    {Methods: []string{"flow"}, AllLevels: true},
		"discard": {Methods: []string{"rollout"}, Discard: 0.5},
		"sink":    {Methods: []string{"rollout"}, DropSink: true},
	} {
		opts.MaxTokens = 1
		_, err := attribution.Explain(context.Background(), scarce{m, 40e6}, prompt, opts)
		var refusal *trace.MemoryError
		if !errors.As(err, &refusal) || refusal.Need < 100e6 {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
		if !strings.Contains(fmt.Sprint(err), "1027 tokens") {
			t.Errorf("%s: error %v does not name the text", name, err)
		}
	}
}

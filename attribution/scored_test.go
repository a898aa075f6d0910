package attribution_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// countingScorer gives token j of a query the value j + 100·token, minus 1000·contrast, and
// remembers the queries.
type countingScorer struct {
	queries *[]trace.Query
	spoil   float64 // instead of the first value, if it is not 0
	err     error
}

func (countingScorer) Info() scorer.Info {
	return scorer.Info{
		Summary: "a count", Formula: "j", Paper: "none", Cost: "nothing",
		Quantities: []trace.Quantity{trace.LogProbability, trace.Logit}, Signed: true,
	}
}

func (c countingScorer) Score(
	_ context.Context, _ trace.Model, q trace.Query, _ scorer.Options,
) (*scorer.Scores, error) {
	*c.queries = append(*c.queries, q)
	residue := 0.25
	s := &scorer.Scores{Value: float64(q.Token), Residue: &residue}
	for j := range q.IDs {
		x := float64(j + 100*q.Token)
		if q.Contrast != nil {
			x -= 1000 * float64(*q.Contrast)
		}
		s.Values = append(s.Values, x)
	}
	if c.spoil != 0 {
		s.Values[0] = c.spoil
	}
	return s, c.err
}

// useScorer registers a counting scorer for one test and returns the queries that it will see.
func useScorer(t *testing.T, c countingScorer) *[]trace.Query {
	t.Helper()
	c.queries = new([]trace.Query)
	t.Cleanup(attribution.RegisterScorerForTest("test-count", c))
	return c.queries
}

// A scorer sees the text up to the prediction and the token that was predicted; its values for
// generated tokens are behind those of the prompt.
func TestExplainScored(t *testing.T) {
	queries := useScorer(t, countingScorer{})
	m := fakemodel.New(3, fakemodel.Evenly)
	opts := attribution.Options{
		Methods: []string{"test-count", "raw"}, MaxTokens: 2, Contrast: "w7",
	}
	e, err := attribution.Explain(context.Background(), m, "w1 w2 w3", opts)
	must(t, err)
	contrast := 8
	objective := trace.Objective{
		Quantity: trace.LogProbability, Position: 2, Token: 5,
		Contrast: &contrast,
	}
	want := []trace.Query{{IDs: []int{2, 3, 4}, Objective: objective}}
	objective.Position, objective.Token = 3, 6
	want = append(want, trace.Query{IDs: []int{2, 3, 4, 5}, Objective: objective})
	if diff := cmp.Diff(want, *queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	r := e.Methods["test-count"]
	near(t, "values", slices.Concat(r.Rows...),
		[]float64{-7500, -7499, -7498, -7400, -7399, -7398, -7397}, 0)
	near(t, "explained", r.Explained, []float64{5, 6}, 0)
	near(t, "residue", r.Residue, []float64{.25, .25}, 0)
	near(t, "other", e.Methods["test-count"].OtherMass, []float64{0, -7397}, 0)
	if diff := cmp.Diff([]int{2}, r.Layers); diff != "" || r.Shape != [3]int{2, 3, 1} ||
		r.Unit != "change of the log-probability" {
		t.Errorf("layers %v, shape %v, unit %q", r.Layers, r.Shape, r.Unit)
	}
	wantOptions := map[string]string{
		"scorer": "test-count", "quantity": "log-probability",
		"contrast": "w7", "row": "prediction",
	}
	if diff := cmp.Diff(wantOptions, r.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if sinks, err := e.Sinks("test-count", 0); err != nil || sinks != nil {
		t.Errorf("Sinks = %v, %v; a score is no share", sinks, err)
	}
	const warning = "contrast does not apply to raw: each layer has the same values whatever is " +
		"predicted; at most the choice of the layer shown follows the contrast."
	if !slices.Contains(e.Warnings, warning) {
		t.Errorf("warnings %q; want that raw takes no contrast but for its layer", e.Warnings)
	}
}

// Of two tokens, occlusion explains the difference of the logits, and of one the probability; a
// quantity that is asked for stays.
func TestQuantityOfContrast(t *testing.T) {
	m := fakemodel.NewScored(1)
	m.Predicted = func(q trace.Query) float64 {
		x := map[trace.Quantity]float64{trace.Logit: 5, trace.Probability: .5}[q.Quantity]
		if q.Contrast != nil {
			x -= float64(len(q.IDs)) / 10
		}
		return x
	}
	for _, c := range []struct {
		contrast string
		asked    trace.Quantity
		want     trace.Quantity
		value    float64
	}{
		{"", "", trace.Probability, .5},
		{"w7", "", trace.Logit, 4.7},
		{"w7", trace.Probability, trace.Probability, .2},
	} {
		o := attribution.Options{Methods: []string{"occlusion"}, MaxTokens: 1, Contrast: c.contrast}
		o.Scoring.Quantity = c.asked
		e, err := attribution.Explain(context.Background(), m, "w1 w2 w3", o)
		must(t, err)
		r := e.Methods["occlusion"]
		near(t, "value", r.Explained, []float64{c.value}, 1e-12)
		if r.Explains != c.want {
			t.Errorf("contrast %q, quantity %q: %q is explained, want %q", c.contrast, c.asked,
				r.Explains, c.want)
		}
	}
}

// An encoder's prediction is explained over the whole text, at its position, and has no map.
func TestScoredEncoder(t *testing.T) {
	queries := useScorer(t, countingScorer{})
	e, err := attribution.Explain(
		context.Background(),
		fakemodel.NewEncoder(2, fakemodel.Evenly),
		"w1 ? w2",
		attribution.Options{
			Methods: []string{"test-count", "raw"},
			Scoring: scorer.Options{Quantity: trace.Logit},
		},
	)
	must(t, err)
	if got := fmt.Sprint(*queries); len(*queries) != 1 ||
		!strings.Contains(got, "{logit 2 3 <nil> []}") {
		t.Errorf("queries %s; want one of position 2, token 3", got)
	}
	if r := e.Methods["test-count"]; r.Shape != [3]int{1, 5, 1} || e.Maps["test-count"] != nil ||
		e.Maps["raw"] == nil {
		t.Errorf("shape %v, maps %v", r.Shape, e.Maps)
	}
}

// classes is a model that tells two classes apart.
type classes struct{ *fakemodel.Encoder }

func (classes) Class(name string) (int, error) {
	if name == "NEGATIVE" {
		return 0, nil
	}
	return 0, errors.New("no class of that name; there are NEGATIVE, POSITIVE")
}

func TestScoredClass(t *testing.T) {
	queries := useScorer(t, countingScorer{})
	m := classes{fakemodel.NewEncoder(2, fakemodel.Evenly)}
	m.About.Head = trace.Classes
	opts := attribution.Options{Methods: []string{"test-count"}, Contrast: "NEGATIVE"}
	if _, err := attribution.Explain(context.Background(), m, "w1 w2", opts); err != nil ||
		*(*queries)[0].Contrast != 0 {
		t.Errorf("error %v, queries %v", err, *queries)
	}
	opts.Contrast = "neutral"
	_, err := attribution.Explain(context.Background(), m, "w1 w2", opts)
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "NEGATIVE, POSITIVE") {
		t.Errorf("error %v; want the classes there are", err)
	}
}

func TestScoredRefusals(t *testing.T) {
	count := []string{"test-count"}
	last := 0
	for name, c := range map[string]struct {
		scorer countingScorer
		model  trace.Model
		opts   attribution.Options
		want   string
		usage  bool
	}{
		"two tokens": {
			opts: attribution.Options{Methods: count, Contrast: "w1 w2"},
			want: "is 2 tokens: 0 \"w1\", 1 \"w2\"; give one", usage: true,
		},
		"no such word": {opts: attribution.Options{Methods: count, Contrast: "x"}, want: "contrast: fake: no word"},
		"rows alone": {
			opts: attribution.Options{Methods: []string{"rollout"}, Contrast: "w1"},
			want: "contrast applies to none of the methods: rollout", usage: true,
		},
		"layers": {
			opts: attribution.Options{Methods: count, LastLayer: &last},
			want: "layers applies to none of the methods: test-count", usage: true,
		},
		"no head": {model: func() trace.Model {
			m := fakemodel.NewEncoder(1, fakemodel.Evenly)
			m.About.Head = trace.NoHead
			return m
		}(), opts: attribution.Options{Methods: count}, want: "has no head", usage: true},
		"not a number": {
			scorer: countingScorer{spoil: math.NaN()},
			opts:   attribution.Options{Methods: count}, want: "test-count: token 0 has value NaN",
		},
		"a failure": {
			scorer: countingScorer{err: errors.New("no gradient")},
			opts:   attribution.Options{Methods: count}, want: "test-count: no gradient",
		},
	} {
		t.Run(name, func(t *testing.T) {
			useScorer(t, c.scorer)
			m := c.model
			if m == nil {
				m = fakemodel.New(2, fakemodel.Evenly)
			}
			_, err := attribution.Explain(context.Background(), m, "w1 w2", c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.Is(err, trace.ErrUsage) != c.usage {
				t.Errorf("error %v; want %q, usage %v", err, c.want, c.usage)
			}
		})
	}
}

// A scorer is refused for rows from other programs, because there is no model to ask.
func TestAttributeScored(t *testing.T) {
	useScorer(t, countingScorer{})
	in := []trace.Tensor{{
		Name: "attention", Axes: "LTS", Shape: []int{1, 1, 1},
		Data: []float32{1},
	}}
	if _, err := attribution.Attribute(context.Background(), attribution.InMemory(in),
		attribution.Options{Methods: []string{"test-count"}}); !errors.Is(
		err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// tooLarge is an error of the kind of a lack of memory, as a model has its own type of.
type tooLarge struct{}

func (tooLarge) Error() string { return "the prompt needs 9 GB" }

func (tooLarge) Kind() errorkind.Kind { return errorkind.Memory }

// TestRefusedBeforeTheFirstToken: there is no explanation if a scorer refuses what was asked for,
// or there is not enough memory, before anything is explained.
func TestRefusedBeforeTheFirstToken(t *testing.T) {
	for want, refusal := range map[string]error{
		"usage":  trace.Usagef("the scorer takes no such quantity"),
		"memory": &trace.MemoryError{What: "gradients", Need: 2, Memory: trace.Memory{Left: 1, Limit: 1}},
		"model":  tooLarge{},
	} {
		c := countingScorer{err: refusal, queries: new([]trace.Query)}
		remove := attribution.RegisterScorerForTest("test-count", c)
		m := fakemodel.New(2, fakemodel.Evenly)
		opts := attribution.Options{Methods: []string{"test-count"}, MaxTokens: 1}
		if e, err := attribution.Explain(t.Context(), m, "w1", opts); e != nil || err == nil ||
			!strings.Contains(err.Error(), refusal.Error()) {
			t.Errorf("%s: explanation %v, error %v", want, e, err)
		}
		remove()
	}
}

// textKeeper counts the texts that it has begun and ended, and the parts asked of them.
type textKeeper struct {
	fakemodel.Scored
	begun, freed, asked *int
	forText             bool
}

func (k textKeeper) ForText() (trace.Model, func()) {
	*k.begun++
	k.forText = true
	return k, func() { *k.freed++ }
}

func (k textKeeper) Decompose(ctx context.Context, q trace.Query) ([]float64, float64, error) {
	if !k.forText || *k.freed > 0 {
		return nil, 0, errors.New("asked outside of a text")
	}
	*k.asked++
	return make([]float64, len(q.IDs)), 0, ctx.Err()
}

// TestTextKeeper: scorers ask a model for one text, which ends with the explanation.
func TestTextKeeper(t *testing.T) {
	k := textKeeper{fakemodel.NewScored(1), new(int), new(int), new(int), false}
	_, err := attribution.Explain(t.Context(), k, "w1 w2 w3",
		attribution.Options{Methods: []string{"decompx"}, MaxTokens: 3})
	must(t, err)
	if *k.begun != 1 || *k.freed != 1 || *k.asked != 3 {
		t.Errorf("%d texts begun, %d freed, parts of %d tokens; want 1, 1 and 3", *k.begun, *k.freed,
			*k.asked)
	}
	_, err = attribution.Explain(t.Context(), k, "w1 w2 w3",
		attribution.Options{Methods: []string{"raw"}, MaxTokens: 1})
	must(t, err)
	if *k.begun != 1 {
		t.Error("a text is begun without a scorer")
	}
}

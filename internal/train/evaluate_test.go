package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gomlx/compute"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

func goBackend(t *testing.T) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	return b
}

// embedded returns a function that reads the weights of the embedded model.
func embedded(t *testing.T) func(spec.Param) ([]float32, error) {
	t.Helper()
	dir, err := checkpoint.FromFS(tiny.Files(), tiny.Name)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	f, arch, err := family.Read(family.NewConfig("config.json", dir.Config))
	must(t, err)
	load, err := f.Loader(tiny.Name, dir.Weights, arch)
	must(t, err)
	return func(p spec.Param) ([]float32, error) {
		data := make([]float32, p.Size())
		err := load(p, func(first int, values []float32) { copy(data[first:], values) })
		return data, err
	}
}

// TestEvaluator measures the embedded model on a few documents of each kind. In the report beside
// its weights it is right on nearly all of a thousand.
func TestEvaluator(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: with -short it leaves out the answers of the embedded model")
	}
	cfg := Default()
	cfg.Batch = 5 // the last batch is not full
	e, err := newEvaluator(goBackend(t), cfg, vocabulary(t), embedded(t))
	must(t, err)
	const n = 12
	for _, kind := range tiny.Kinds() {
		s, err := e.kind(t.Context(), tiny.HeldOut, kind, n, 3)
		must(t, err)
		if s.Kind != kind.String() || s.Documents != n || s.Answers < n {
			t.Errorf("%v: measured %+v, want %d documents", kind, s, n)
		}
		if s.Right < 0.8 {
			t.Errorf("%v: %.2f of the answers are right, want at least 0.8", kind, s.Right)
		}
		if s.Chance <= 0 || s.Chance >= 1 {
			t.Errorf("%v: chance is %v", kind, s.Chance)
		}
		for name, parts := range map[string][]NamedScore{
			"form": s.ByForm, "attractors": s.ByAttractors,
		} {
			answers, right := 0, 0.0
			for _, p := range parts {
				answers += p.Answers
				right += p.Right * float64(p.Answers)
			}
			if answers != s.Answers || !near(right/float64(answers), s.Right) {
				t.Errorf("%v: the parts by %s have %d answers, want %d; %v of them right, want %v",
					kind, name, answers, s.Answers, right/float64(answers), s.Right)
			}
			if !slices.IsSortedFunc(parts, func(a, b NamedScore) int {
				return strings.Compare(a.Name, b.Name)
			}) {
				t.Errorf("%v: the parts by %s are not sorted", kind, name)
			}
		}
	}
}

// near compares two shares that were added in another order.
func near(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

func TestEvaluatorRefuses(t *testing.T) {
	tok := vocabulary(t)
	broken := errors.New("no weights")
	_, err := newEvaluator(goBackend(t), Default(), tok,
		func(spec.Param) ([]float32, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("without weights: error %v, want %v", err, broken)
	}
	cfg := Default()
	cfg.Batch, cfg.Length = 2, 4
	e, err := newEvaluator(goBackend(t), cfg, tok, embedded(t))
	must(t, err)
	if _, err := e.kind(t.Context(), tiny.Train, tiny.Recall, 2, 1); err == nil ||
		!strings.Contains(err.Error(), "tokens, more than 4") {
		t.Errorf("documents that are too long: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.kind(ctx, tiny.Train, tiny.Recall, 2, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: error %v", err)
	}
}

// TestScores counts by hand: three answers of two forms.
func TestScores(t *testing.T) {
	s := &KindScore{Kind: "recall", Documents: 3}
	two := []string{"a"}            // a right answer and one alternative
	four := []string{"a", "b", "c"} // and three
	count := func(form string, attractors int, alternatives []string, right, lastWord bool) {
		a := tiny.Answer{Form: form, Attractors: attractors, Alternatives: alternatives}
		s.count(a, right, lastWord)
	}
	count("who", 1, two, true, false)
	count("who", 3, four, false, false)
	count("color", 1, two, true, true)
	s.finish()
	for _, parts := range [][]NamedScore{s.ByForm, s.ByAttractors} {
		for i := range parts {
			parts[i].finish()
		}
	}
	want := &KindScore{
		Kind: "recall", Documents: 3,
		Score: Score{Answers: 3, Right: 2. / 3, LastWord: 1. / 3, Chance: (0.5 + 0.25 + 0.5) / 3},
		ByForm: []NamedScore{
			{"who", Score{Answers: 2, Right: 0.5, Chance: 0.375}},
			{"color", Score{Answers: 1, Right: 1, LastWord: 1, Chance: 0.5}},
		},
		ByAttractors: []NamedScore{
			{"1", Score{Answers: 2, Right: 1, LastWord: 0.5, Chance: 0.5}},
			{"3", Score{Answers: 1, Chance: 0.25}},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	const line = "recall    right 0.667  last word 0.333  chance 0.417  (3 answers)"
	if s.String() != line {
		t.Errorf("String() = %q, want %q", s, line)
	}
	empty := Score{}
	empty.finish()
	if empty != (Score{}) {
		t.Errorf("a score without answers is %+v", empty)
	}
}

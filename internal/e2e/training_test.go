package e2e

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"testing"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/internal/train"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// report reads what the training of the shipped model recorded.
func report(t *testing.T) *train.Report {
	t.Helper()
	data, err := fs.ReadFile(tiny.Files(), "report.json")
	must(t, err)
	r := new(train.Report)
	must(t, json.Unmarshal(data, r))
	return r
}

// lossTol bounds the losses of a repeated start of training, in nats: rounding grows with the
// steps; worst seen 0 with the same plugin on the same machine.
const lossTol = 0.02

// TestTrainingStarts trains the first 50 steps again: the losses are those of the report.
func TestTrainingStarts(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of training")
	}
	backend, err := backends.Open("xla")
	if err != nil {
		t.Skip("no XLA here: ", err)
	}
	want := report(t)
	tok, err := train.Tokenizer()
	must(t, err)
	trainer, err := train.NewTrainer(backend, want.Config, tok)
	must(t, err)
	worst := 0.0
	for step, loss := range want.FirstLosses {
		got, err := trainer.Step(context.Background())
		must(t, err)
		if worst = max(worst, math.Abs(got-loss)); worst > lossTol {
			t.Fatalf("step %d: loss %v, the report has %v", step, got, loss)
		}
	}
	if len(want.FirstLosses) != train.FirstLosses {
		t.Errorf("the report has %d first losses, want %d", len(want.FirstLosses),
			train.FirstLosses)
	}
	t.Logf("worst difference of a loss in %d steps: %.2g nats", len(want.FirstLosses), worst)
}

// TestShippedModel measures the embedded weights on held-out combinations: the shares of right
// answers are those that the project promises, and those of the report.
func TestShippedModel(t *testing.T) {
	if testing.Short() {
		t.Skip("answers thousands of questions")
	}
	backend, err := backends.Open("")
	must(t, err)
	want := report(t)
	tok, weights := shipped(t)
	got := &train.Report{Config: want.Config}
	must(t, got.Measure(context.Background(), backend, tok, weights))
	promised := map[string]float64{"agreement": 0.97, "pronoun": 0.97, "recall": 0.95}
	for i, s := range got.HeldOut {
		t.Log(s)
		if s.Documents < 1000 {
			t.Errorf("%s: %d held-out documents, want at least 1000", s.Kind, s.Documents)
		}
		if s.Right < promised[s.Kind] {
			t.Errorf("%s: %.3f right on held-out combinations, promised %.2f", s.Kind, s.Right,
				promised[s.Kind])
		}
		// Two answers that are almost equally probable may change places.
		if r := want.HeldOut[i]; r.Kind != s.Kind || math.Abs(r.Right-s.Right) > 0.002 {
			t.Errorf("%s: %.4f right, the report has %.4f for %s", s.Kind, s.Right, r.Right, r.Kind)
		}
	}
}

// shipped returns the tokenizer and the weights of the embedded model.
func shipped(t *testing.T) (*tokenizer.Tokenizer, func(spec.Param) ([]float32, error)) {
	t.Helper()
	dir, err := checkpoint.FromFS(tiny.Files(), tiny.Name)
	must(t, err)
	f, arch, err := family.Read(family.NewConfig("config.json", dir.Config))
	must(t, err)
	load, err := f.Loader("model.safetensors", dir.Weights, arch)
	must(t, err)
	data, err := dir.TokenizerJSON()
	must(t, err)
	tok, err := tokenizer.Parse(data, "tokenizer.json")
	must(t, err)
	return tok, func(p spec.Param) ([]float32, error) {
		data := make([]float32, p.Size())
		err := load(p, func(first int, values []float32) { copy(data[first:], values) })
		return data, err
	}
}

var must = testhelp.Must // ends a test at an error

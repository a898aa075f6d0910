package family

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models/spec"
)

// published is a checkpoint of the Hub: its configuration, and what transformers builds from it. It
// has the tensors of layer 0 and those outside the layers.
type published struct {
	Name       string
	Config     json.RawMessage
	Parameters int
	Tensors    map[string][]int
	Refuse     string
}

func readPublished(t testing.TB) []published {
	t.Helper()
	data, err := os.ReadFile("../testdata/published_configs.json")
	must(t, err)
	var file struct{ Checkpoints []published }
	must(t, json.Unmarshal(data, &file))
	if len(file.Checkpoints) == 0 {
		t.Fatal("there are no published configurations")
	}
	return file.Checkpoints
}

// header has the names and shapes of a checkpoint's tensors, but no values.
type header map[string][]int

func (h header) Names() []string { return slices.Sorted(maps.Keys(h)) }

func (h header) Shape(name string) ([]int, error) {
	if shape, ok := h[name]; ok {
		return shape, nil
	}
	return nil, fmt.Errorf("tensor %s is missing", name)
}

func (header) Float32At([]float32, string, int) error { return fmt.Errorf("there are no values") }

// whole repeats the tensors of layer 0 for all layers.
func whole(layer0 map[string][]int, layers int) header {
	h := header{}
	for name, shape := range layer0 {
		before, after, inLayer := strings.Cut(name, ".0.")
		if !inLayer {
			h[name] = shape
			continue
		}
		for l := range layers {
			h[fmt.Sprintf("%s.%d.%s", before, l, after)] = shape
		}
	}
	return h
}

// poolers are tensors that checkpoints have but no tap reads, such as BERT's pooler in a model
// without a head.
func poolers(name string) bool { return strings.HasPrefix(name, "pooler.") }

// TestPublishedSizes: the spec of each published configuration has as many parameters as
// transformers counts, and all of them are found, by name and shape, in the tensors that
// transformers makes.
func TestPublishedSizes(t *testing.T) {
	for _, c := range readPublished(t) {
		t.Run(c.Name, func(t *testing.T) {
			f, arch, err := read(t, string(c.Config))
			if c.Refuse != "" {
				if err == nil || !strings.Contains(err.Error(), "is not supported; supported are") {
					t.Fatalf("error %v, want a refusal: %s", err, c.Refuse)
				}
				return
			}
			must(t, err)
			count, pooled := 0, 0
			for _, p := range arch.Params() {
				count += p.Size()
			}
			for name, shape := range c.Tensors {
				if poolers(name) {
					pooled += spec.Param{Shape: shape}.Size()
				}
			}
			if count+pooled != c.Parameters {
				t.Errorf("%d parameters and %d of a pooler, want %d", count, pooled, c.Parameters)
			}
			if _, err := f.Loader("model.safetensors", whole(c.Tensors, arch.Layers),
				arch); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPublishedArithmetic: fields of some published checkpoints that do not show in any size. The
// values are from their papers and model cards.
func TestPublishedArithmetic(t *testing.T) {
	configs := map[string]string{}
	for _, c := range readPublished(t) {
		configs[c.Name] = string(c.Config)
	}
	every := func(n, layers, window int) []int { // a window but in every n-th layer
		w := make([]int, layers)
		for l := range w {
			if (l+1)%n != 0 {
				w[l] = window
			}
		}
		return w
	}
	type fields struct {
		Positions                      spec.Positions
		Order                          spec.Order
		Context, RotaryWidth, Groups   int
		Windows                        []int
		ScoreScale, ScoreCap, LogitCap float64
		Tied, Shared                   bool
	}
	for _, c := range []struct {
		name string
		want fields
	}{
		{"openai-community/gpt2", fields{Context: 1024, Groups: 12, Tied: true}},
		{"bigscience/bloom-560m", fields{Positions: spec.ALiBi, Groups: 16, Tied: true}},
		{"tiiuae/falcon-rw-1b", fields{Positions: spec.ALiBi, Groups: 32, Tied: true}},
		{"tiiuae/falcon-7b", fields{
			Positions: spec.RotaryPositions, Order: spec.Parallel, Context: 2048,
			RotaryWidth: 64, Groups: 1, Tied: true, Shared: true,
		}},
		{"tiiuae/falcon-40b", fields{
			Positions: spec.RotaryPositions, Order: spec.Parallel, Context: 2048,
			RotaryWidth: 64, Groups: 8, Tied: true,
		}},
		{"EleutherAI/pythia-70m", fields{Positions: spec.RotaryPositions, Order: spec.Parallel, Context: 2048, RotaryWidth: 16, Groups: 8}},
		{"facebook/opt-350m", fields{Order: spec.PostNorm, Context: 2048, Groups: 16, Tied: true}},
		{"meta-llama/Llama-3.2-1B", fields{Positions: spec.RotaryPositions, Context: 131072, RotaryWidth: 64, Groups: 8, Tied: true}},
		{"mistralai/Mistral-7B-v0.1", fields{
			Positions: spec.RotaryPositions, Context: 32768, RotaryWidth: 128, Groups: 8,
			Windows: every(33, 32, 4096),
		}},
		{"mistralai/Mistral-7B-v0.3", fields{Positions: spec.RotaryPositions, Context: 32768, RotaryWidth: 128, Groups: 8}},
		{"Qwen/Qwen2-0.5B", fields{Positions: spec.RotaryPositions, Context: 131072, RotaryWidth: 64, Groups: 2, Tied: true}},
		{"google/gemma-2-2b", fields{
			Positions: spec.RotaryPositions, Context: 8192, RotaryWidth: 256, Groups: 4,
			Windows:    every(2, 26, 4096),
			ScoreScale: 1. / 16, ScoreCap: 50, LogitCap: 30, Tied: true,
		}},
		{"google/gemma-3-1b-pt", fields{
			Positions: spec.RotaryPositions, Context: 32768, RotaryWidth: 256, Groups: 1,
			Windows: every(6, 26, 512), ScoreScale: 1. / 16, Tied: true,
		}},
		{"microsoft/Phi-4-mini-instruct", fields{
			Positions: spec.RotaryPositions, Context: 131072, RotaryWidth: 96, Groups: 8,
			Windows: every(33, 32, 262144), Tied: true,
		}},
		{"google-bert/bert-base-uncased", fields{Order: spec.PostNorm, Context: 512, Groups: 12, Tied: true}},
		{"FacebookAI/roberta-base", fields{Order: spec.PostNorm, Context: 512, Groups: 12, Tied: true}},
	} {
		_, s, err := read(t, configs[c.name])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := fields{
			Positions: s.Positions, Order: s.Order, Context: s.Context, Groups: s.Groups(),
			Windows:    s.Windows,
			ScoreScale: s.ScoreScale, ScoreCap: s.ScoreCap, LogitCap: s.LogitCap, Tied: s.TiedHead,
			Shared: s.SharedNorm,
		}
		if s.Rotary != nil {
			got.RotaryWidth = s.Rotary.Width()
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

package transformer_test

import (
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"

	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// goldens are the checkpoints recorded from the reference implementation; see
// models/testdata/goldens.
var goldens = []string{
	"bert", "bert_bare", "bert_cls", "bert_untied", "bloom", "bloom_h6", "bloom_postln",
	"distilbert", "distilbert_bare", "distilbert_cls", "electra",
	"electra_cls", "electra_disc", "falcon7", "falcon_new", "falcon_rw", "gemma2", "gemma3",
	"gemma3_global", "gpt2", "gpt_neox",
	"gpt_neox_seq", "llama", "llama3_rope", "llama_bias", "llama_dynamic", "llama_linear",
	"llama_yarn", "mistral", "mistral_nowindow",
	"opt", "opt_350", "phi3", "phi3_cross", "phi3_long", "qwen2", "qwen2_window", "qwen3",
	"qwen3_tied", "roberta", "roberta_cls",
	"roberta_untied",
	"bert_multilabel", "bert_qa", "bert_reranker", "bert_tokens", "bloom_cls", "distilbert_qa",
	"electra_qa", "gemma2_cls", "gpt2_cls", "gpt2_tokens", "llama_cls", "llama_qa", "opt_cls",
	"qwen2_tokens", "qwen3_reward", "roberta_tokens",
	"mixtral", "qwen2_moe", "gpt_oss", "deepseek_v2", "deepseek_v3",
	"apertus", "deberta_v2", "deberta_v2_cls",
}

// eachGolden runs do on every golden.
func eachGolden(t *testing.T, do func(t *testing.T, g *golden)) {
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) { do(t, openGolden(t, name)) })
	}
}

// sample are goldens that differ in how they normalise and in how they mark positions: an encoder,
// ALiBi, caps and windows, learnt positions, and rotary positions with long factors; and one with
// experts.
var sample = []string{"bert", "bloom", "gemma2", "gpt2", "phi3_cross", "mixtral"}

// sampleWithShort skips, with -short, the test of a golden that is not in sample. Tests that take
// seconds on all goldens call it; the last part of the test's name is that of the golden.
func sampleWithShort(t *testing.T) {
	t.Helper()
	if testing.Short() && !slices.Contains(sample, path.Base(t.Name())) {
		t.Skipf("slow: with -short it leaves out all goldens but %s", strings.Join(sample, ", "))
	}
}

// eachDecoder runs do on every golden that generates.
func eachDecoder(t *testing.T, do func(t *testing.T, g *golden)) {
	eachGolden(t, func(t *testing.T, g *golden) {
		if g.model.Spec.Bidirectional || g.model.Spec.Head != spec.LanguageHead {
			t.Skip("it does not generate")
		}
		do(t, g)
	})
}

// golden is a tiny random checkpoint and what the reference computes on its first row of ids, T
// tokens.
type golden struct {
	*modelgolden.Golden
	model *transformer.Model
	// params has the weights by parameter name.
	params map[string][]float32
	ids    []int
}

func openGolden(t testing.TB, name string) *golden {
	t.Helper()
	g := modelgolden.Open(t, "../testdata/goldens/"+name)
	return &golden{Golden: g, model: g.Model, params: g.Params, ids: g.IDs}
}

func goBackend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	must(t, err)
	return b
}

var must = testhelp.Must // ends a test at an error

// worst returns the largest difference and where it is; infinite if the lengths differ or one is
// NaN.
func worst(a, b []float32) (float64, int) {
	if len(a) != len(b) {
		return math.Inf(1), -1
	}
	at, most := 0, 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if d > most || math.IsNaN(d) {
			at, most = i, d
			if math.IsNaN(d) {
				return math.Inf(1), i
			}
		}
	}
	return most, at
}

func check(t testing.TB, what string, got, want []float32, tol float64) {
	t.Helper()
	if d, at := worst(got, want); d > tol {
		t.Errorf("%s: %g from the expected at element %d of %d (expected %d), want at most %g",
			what, d, at, len(got), len(want), tol)
	}
}

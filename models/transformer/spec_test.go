package transformer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
)

// TestSpecCheck provokes each error text of a spec.
func TestSpecCheck(t *testing.T) {
	specs := map[string]*spec.Spec{}
	for _, name := range []string{
		"bloom", "gpt2", "llama", "gemma3", "mistral", "phi3_long",
		"llama_dynamic", "bert_cls",
	} {
		specs[name] = openGolden(t, name).model.Spec
		if err := specs[name].Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	rotary := func(change func(r *spec.Rotary)) func(s *spec.Spec) {
		return func(s *spec.Spec) {
			r := *s.Rotary
			change(&r)
			s.Rotary = &r
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		name, golden string
		change       func(s *spec.Spec)
		want         string
	}{
		{"layers", "bloom", func(s *spec.Spec) { s.Layers = 0 }, "spec: bloom: layers 0 is not in 1..1024"},
		{"heads", "bloom", func(s *spec.Spec) { s.Heads = 1 << 20 }, "heads 1048576 is not in 1..4096"},
		{"width", "bloom", func(s *spec.Spec) { s.Width = -1 }, "width -1 is not in 1..131072"},
		{"head width", "bloom", func(s *spec.Spec) { s.HeadWidth = 0 }, "head width 0 is not in 1..131072"},
		{"feed-forward", "bloom", func(s *spec.Spec) { s.FeedForward = 1 << 30 }, "feed-forward width 1073741824 is not in"},
		{"an encoder's feed-forward", "bloom", func(s *spec.Spec) { s.EncoderFeedForward = 8 }, "one stack has no encoder with a width of its own"},
		{"vocabulary", "bloom", func(s *spec.Spec) { s.Vocab = 1 << 30 }, "vocabulary 1073741824 is not in 1..16777216"},
		{"negative groups", "llama", func(s *spec.Spec) { s.KeyValueHeads = -1 }, "key and value heads -1 is not in 0..4096"},
		{"groups", "llama", func(s *spec.Spec) { s.KeyValueHeads = 3 }, "3 key and value heads do not divide 4 heads"},
		{"embedding", "bloom", func(s *spec.Spec) { s.EmbeddingWidth = 1 << 20 }, "embedding width 1048576 is not in"},
		{"context", "gpt2", func(s *spec.Spec) { s.Context = 1 << 30 }, "context 1073741824 is not in"},
		{"offset", "gpt2", func(s *spec.Spec) { s.PositionOffset = -2 }, "position offset -2 is not in"},
		{"types", "bert_cls", func(s *spec.Spec) { s.TokenTypes = -1 }, "token types -1 is not in"},
		{"classes", "bert_cls", func(s *spec.Spec) { s.Classes = 1 << 20 }, "classes 1048576 is not in 0..65536"},
		{"no classes", "bert_cls", func(s *spec.Spec) { s.Classes = 0 }, "a classifier needs at least 1 class"},
		{"all heads", "bloom", func(s *spec.Spec) { s.Heads, s.HeadWidth = 4096, 1<<17 }, "heads × head width 536870912 is not in 1..1048576"},
		{"no positions", "gpt2", func(s *spec.Spec) { s.Context = 0 }, "learned positions need a context of at least 1"},
		{"slopes", "bloom", func(s *spec.Spec) { s.AlibiSlopes = nil }, "0 ALiBi slopes for 4 heads"},
		{"frequencies", "llama", func(s *spec.Spec) { s.Rotary = nil }, "rotary positions need frequencies"},
		{"windows", "mistral", func(s *spec.Spec) { s.Windows = s.Windows[:1] }, "windows of 1 layers for 3"},
		{"negative window", "mistral", func(s *spec.Spec) { s.Windows = []int{5, -5, 5} }, "window -5 of layer 1 is negative"},
		{"wide rotation", "llama", rotary(func(r *spec.Rotary) { r.Frequencies = make([]float32, 5) }), "rotary width 10 is not in 2..8"},
		{"no rotation", "llama", rotary(func(r *spec.Rotary) { r.Frequencies = nil }), "rotary width 0 is not in 2..8"},
		{"local rotation", "gemma3", func(s *spec.Spec) { s.LocalRotary = &spec.Rotary{} }, "rotary width 0 is not in"},
		{
			"long frequencies", "phi3_long",
			rotary(func(r *spec.Rotary) { r.LongFrequencies = r.LongFrequencies[:1] }),
			"1 long rotary frequencies for 4",
		},
		{"frequency", "llama", rotary(func(r *spec.Rotary) {
			r.Frequencies = []float32{1, float32(nan)}
		}), "rotary frequency NaN is not a number up to 1e+06"},
		{"stretch", "llama_dynamic", rotary(func(r *spec.Rotary) { r.Original = 0 }), "from 0 tokens on is not supported"},
		{"scale of a rotation", "llama", rotary(func(r *spec.Rotary) { r.Scale = -1 }), "rotary scale -1 is not in 0..1e+06"},
		{"epsilon", "bloom", func(s *spec.Spec) { s.NormEpsilon = nan }, "norm epsilon NaN is not in (0,1)"},
		{"no epsilon", "bloom", func(s *spec.Spec) { s.NormEpsilon = 0 }, "norm epsilon 0 is not in (0,1)"},
		{"embedding scale", "bloom", func(s *spec.Spec) { s.EmbeddingScale = math.Inf(1) }, "embedding scale +Inf is not in 0..1e+06"},
		{"score scale", "bloom", func(s *spec.Spec) { s.ScoreScale = -1 }, "score scale -1 is not in"},
		{"score cap", "bloom", func(s *spec.Spec) { s.ScoreCap = nan }, "score cap NaN is not in"},
		{"logit cap", "bloom", func(s *spec.Spec) { s.LogitCap = 1e7 }, "logit cap 1e+07 is not in"},
		{"end of text", "bloom", func(s *spec.Spec) { s.EOS = []int{96} }, "special token id 96 is outside the vocabulary of 96"},
		{"begin of text", "bloom", func(s *spec.Spec) { s.BOS = -2 }, "special token id -2 is outside the vocabulary of 96"},
	} {
		s := *specs[c.golden]
		c.change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestParams: parameters have one name each, and each is loaded in its size.
func TestParams(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		seen := map[string]bool{}
		for _, p := range g.model.Spec.Params() {
			if seen[p.Name] {
				t.Errorf("parameter %s is there twice", p.Name)
			}
			seen[p.Name] = true
			if got := len(g.params[p.Name]); got != p.Size() || got == 0 {
				t.Errorf("parameter %s of shape %v was loaded with %d numbers", p.Name, p.Shape,
					got)
			}
		}
	})
}

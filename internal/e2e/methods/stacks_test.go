package methods

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// source encodes every text as a source, a token for each letter, and the begin of a target. Texts
// of single tokens are their numbers in brackets.
type source struct{ counted }

func (m source) Encode(text string, _ trace.Specials) (tokens []trace.Token, _ error) {
	var id int
	if n, _ := fmt.Sscanf(text, "[%d]", &id); n == 1 {
		return []trace.Token{{ID: id, Text: text}}, nil
	}
	for i := range text {
		tokens = append(tokens, trace.Token{
			ID: 5 + int(text[i])%20, Text: text[i : i+1], Begin: i, End: i + 1,
		})
	}
	n := len(text)
	for _, id := range []int{1, m.Info().Boundary()} {
		tokens = append(tokens, trace.Token{ID: id, Special: true, Begin: n, End: n})
	}
	return tokens, nil
}

// TestScoresOfTwoStacks: an encoder predicts nothing at the tokens of the source, so these have no
// scores and no loss. What is refused is refused before a token is generated.
func TestScoresOfTwoStacks(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 2}
	generated := 0
	opts.OnStep = func(*attribution.Explanation) { generated++ }
	for _, refused := range []attribution.Options{
		{Studies: attribution.Studies{"prompt-scores": "true"}}, {Studies: attribution.Studies{"without": "sentence:2"}}, {Studies: attribution.Studies{"without": "turn:1"}}, {Studies: attribution.Studies{"without": "0:5"}},
	} {
		refused.Methods, refused.OnStep = opts.Methods, opts.OnStep
		_, err := attribution.Explain(t.Context(), m, "heads", refused)
		if !errors.Is(err, trace.ErrUsage) || generated > 0 {
			t.Errorf("error %v after %d tokens; want a usage error before all", err, generated)
		}
	}
	opts.Ask("head-kinds", heads.Ablate)
	e, err := attribution.Explain(t.Context(), m, "heads", opts)
	must(t, err)
	k := heads.Of(e)
	if k.Loss != 0 || k.Without != nil || !slices.ContainsFunc(e.Warnings, func(s string) bool {
		return strings.Contains(s, "of one stack")
	}) {
		t.Errorf("the loss is %v, without heads %v, warnings %q", k.Loss, k.Without, e.Warnings)
	}
	if got := k.Chance * float64(len(k.IDs)); math.Abs(got-1) > 1e-9 {
		t.Errorf("chance is %v/%d; uniform attention gives each source 1", got, len(k.IDs))
	}
}

// TestFirstWordOfSource: the first word of a source is one span, as the others are, because an
// encoder's attention does not rest on its first token.
func TestFirstWordOfSource(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	e, err := attribution.Explain(t.Context(), m, "red cats", attribution.Options{
		Methods: []string{"rollout", "occlusion"}, MaxTokens: 1, By: "word",
	})
	must(t, err)
	if got := strings.Join(e.Prompt.Texts[:2], "|"); got != "red|cats" {
		t.Errorf("the words are %s", got)
	}
}

// TestRefusedOfTwoStacks: the methods of one stack are refused before a token is explained.
func TestRefusedOfTwoStacks(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	for _, method := range ofOneStack {
		_, err := attribution.Explain(t.Context(), m, "heads", attribution.Options{
			Methods: []string{method}, MaxTokens: 1, OnStep: func(*attribution.Explanation) {
				t.Errorf("%s: a token is explained", method)
			},
		})
		if !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%s: error %v, want a usage error", method, err)
		}
	}
}

// TestWithoutSentenceOfSource: KL(p‖q) of the first token without a sentence of the source is that
// of the distributions of two texts that were read apart.
func TestWithoutSentenceOfSource(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 1, Alternatives: 48}
	distribution := func(prompt string) map[int]float64 {
		e, err := attribution.Explain(t.Context(), m, prompt, opts)
		must(t, err)
		all := map[int]float64{}
		for _, a := range e.Steps[0].Alternatives {
			all[a.ID] = a.Probability
		}
		return all
	}
	p, q, want := distribution("Red cat. A dog."), distribution("Red cat. "), 0.0
	for id := range 48 {
		want += p[id] * math.Log(p[id]/q[id])
	}
	opts.Ask("without", "sentence:2")
	e, err := attribution.Explain(t.Context(), m, "Red cat. A dog.", opts)
	must(t, err)
	if got := without.OfToken(e.Steps[0]).KL; math.Abs(got-want) > 1e-6 || want < 1e-5 ||
		without.Of(e).Name != `"A dog."` {
		t.Errorf("KL %v without %s, want %v", got, without.Of(e).Name, want)
	}
}

// TestMethodsThroughStacks: what follows the layers of an explanation, token by token, is what it
// finds in the rows of the whole text, in which tokens of the source see each other. alti is a
// rollout of rows that have the residual in them.
func TestMethodsThroughStacks(t *testing.T) {
	methods := []string{"rollout", "flow", "value-zeroing-rollout", "alti"}
	for _, name := range []string{"t5", "bart", "marian"} {
		t.Run(name, func(t *testing.T) {
			m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models",
				"testdata", "goldens", name), "go")}}
			e, err := attribution.Explain(t.Context(), m, "headwater", attribution.Options{
				Methods: methods, MaxTokens: 3,
			})
			must(t, err)
			ids := slices.Clone(e.Prompt.IDs)
			for k, step := range e.Steps {
				taps, err := m.Trace(t.Context(), ids,
					[]trace.Tap{trace.Attention, trace.ValueZeroing})
				must(t, err)
				a, err := attribution.Attribute(t.Context(), attribution.InMemory(taps),
					attribution.Options{Methods: methods[:3]})
				must(t, err)
				a.Methods["alti"] = rolledOut(t, m, ids, "alti")
				for _, method := range methods {
					whole := a.Methods[method]
					r := e.Methods[method]
					got := r.Row(k, r.Shape[2]-1)
					for j, x := range whole.Row(len(whole.Layers)-1, len(ids)-1) {
						if math.Abs(got[j]-x) > 1e-6 {
							t.Errorf("token %d: %s finds %v in token %d, want %v", k, method,
								got[j], j, x)
						}
					}
				}
				ids = append(ids, step.ID)
			}
		})
	}
}

// TestLiftOfTwoStacks: lift divides by what uniform attention gives where a layer looks: at the
// source, at the target before, or at nothing but the token itself. Texts of one length may have
// sources of different lengths.
func TestLiftOfTwoStacks(t *testing.T) {
	m := source{counted{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
		"goldens", "t5"), "go")}}
	opts := attribution.Options{Methods: []string{"raw", "rollout", "flow"}, MaxTokens: 3}
	for _, prompt := range []string{"abcd", "abc"} {
		plain, err := attribution.Explain(t.Context(), m, prompt, opts)
		must(t, err)
		lifts := opts
		lifts.Lift = true
		lifted, err := attribution.Explain(t.Context(), m, prompt, lifts)
		must(t, err)
		S, begin := len(prompt)+1, len(plain.Prompt.IDs)
		for k := range plain.Steps {
			uniform := uniformStacks(m.Info().Layers, m.Info().EncoderLayers, S, begin+k)
			base, err := attribution.Attribute(t.Context(), attribution.InMemory(uniform),
				attribution.Options{Methods: opts.Methods})
			must(t, err)
			for method, p := range plain.Methods {
				r, b := lifted.Methods[method], base.Methods[method]
				for level := range p.Shape[2] {
					even := b.Row(len(b.Layers)-p.Shape[2]+level, begin+k-1)
					for j, x := range r.Row(k, level) {
						want := 0.0
						if even[j] > 0 {
							want = p.Row(k, level)[j] / even[j]
						}
						if math.Abs(x-want) > 1e-6 {
							t.Errorf("%q, token %d, level %d: %s has lift %v of token %d, want %v",
								prompt, k, level, method, x, j, want)
						}
					}
				}
			}
		}
	}
}

// uniformStacks is attention that is the same for all that a layer looks at, [L,T,T].
func uniformStacks(L, encoder, S, T int) []trace.Tensor {
	rows := trace.Tensor{Name: "attention", Shape: []int{L, T, T}}
	for l := range L {
		for t := range T {
			row, sum := make([]float32, T), float32(0)
			for s := range row {
				var sees bool
				switch {
				case (l < encoder) != (t < S):
					sees = s == t
				case l < encoder || (l-encoder)%2 == 1:
					sees = s < S
				default:
					sees = S <= s && s <= t
				}
				if sees {
					row[s], sum = 1, sum+1
				}
			}
			for _, x := range row {
				rows.Data = append(rows.Data, x/sum)
			}
		}
	}
	return []trace.Tensor{rows}
}

// rolledOut is the rollout without residual of the rows of a mixing for a whole text, each
// divided by its sum.
func rolledOut(t *testing.T, m trace.Model, ids []int, mixing string) *attribution.Map {
	t.Helper()
	ask := trace.Ask{Mixings: []trace.MixingAsk{{Name: mixing, AllRows: true}}, MaxTokens: 1}
	for step, err := range m.Steps(t.Context(), ids, ask) {
		must(t, err)
		rows, n := step.Rows[0], len(ids)
		all := trace.Tensor{Name: "attention", Shape: []int{rows.L, n, n}}
		for l := range rows.L {
			for i := range n {
				sum := float32(0)
				for _, x := range rows.Row(l, 0, i)[:n] {
					sum += x
				}
				for _, x := range rows.Row(l, 0, i)[:n] {
					all.Data = append(all.Data, x/sum)
				}
			}
		}
		a, err := attribution.Attribute(t.Context(), attribution.InMemory([]trace.Tensor{all}),
			attribution.Options{Methods: []string{"rollout"}, Residual: new(0.0)})
		must(t, err)
		return a.Methods["rollout"]
	}
	t.Fatal("no rows")
	return nil
}

package sources_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/sources"
)

// sentences are n sentences of one word, s0. to s9. and so on.
func sentences(n int) (words []string) {
	for i := range n {
		words = append(words, fmt.Sprintf("s%d.", i))
	}
	return words
}

// linear returns a model that answers "yes no" after sentences and a question. The sum of weights
// of the sentences that are there is x; f makes of it ln p of token i of the answer.
func linear(weights []float64, f func(x float64, i int) float64) fakemodel.Continued {
	words := sentences(len(weights))
	return fakemodel.NewContinued(append(slices.Clone(words), "why?", "yes", "no"),
		func(prompt []string, i int) float64 {
			x := 0.0
			for _, word := range prompt {
				if at := slices.Index(words, word); at >= 0 {
					x += weights[at]
				}
			}
			return f(x, i)
		})
}

// ask returns a question about a text, with "why?" behind it.
func ask(t *testing.T, m trace.Model, text, answer string) sources.Question {
	t.Helper()
	a, err := sources.EncodeAnswer(m, "", answer)
	must(t, err)
	return sources.Question{
		Context: divide(t, "", text), Answer: a,
		Prompt: func(documents string) (string, error) { return documents + " why?", nil },
	}
}

func explain(
	t *testing.T, m trace.Model, q sources.Question, opts sources.Options,
) *sources.Result {
	t.Helper()
	r, err := sources.Explain(context.Background(), m, q, opts)
	must(t, err)
	return r
}

func values(s sources.Scores) (all []float64) {
	for _, v := range s.Values {
		all = append(all, float64(v))
	}
	return all
}

// TestLeaveOneOutExact: where ln p is a sum of weights, leaving a sentence out costs its weight.
func TestLeaveOneOutExact(t *testing.T) {
	weights := []float64{0.5, 2, -1, 0, 0.25}
	m := linear(weights, func(x float64, i int) float64 { return (x - 20) / 2 })
	r := explain(t, m, ask(t, m, strings.Join(sentences(5), " "), "yes no"), sources.Options{
		Methods: []string{sources.LeaveOneOut},
	})
	near(t, "scores", values(r.Methods[0]), weights, 1e-12)
	near(t, "ln p", []float64{r.LogProbability, r.WithoutSources}, []float64{1.75 - 20, -20}, 1e-12)
	// The strongest, the three strongest; five would be all.
	want := []sources.Drop{{K: 1, Nats: 2}, {K: 3, Nats: 2.75}}
	if got := r.Methods[0].Drops; len(got) != 2 || math.Abs(got[0].Nats-want[0].Nats) > 1e-12 ||
		math.Abs(got[1].Nats-want[1].Nats) > 1e-12 || got[0].K != 1 || got[1].K != 3 {
		t.Errorf("drops %v, want %v", got, want)
	}
	if lds := float64(r.Methods[0].LDS); math.Abs(lds-1) > 1e-12 {
		t.Errorf("LDS %v of exact scores, want 1", lds)
	}
	if r.Methods[0].Passes != 5 || r.Passes != 2+32+5+2 || len(*m.Prompts) != r.Passes {
		t.Errorf("%d passes of %d, and the model was asked for %d", r.Methods[0].Passes, r.Passes,
			len(*m.Prompts))
	}
	if got := r.Methods[0].Ranked(); !slices.Equal(got, []int{1, 0, 4, 3, 2}) {
		t.Errorf("ranked %v", got)
	}
}

// TestContextCiteExact: where the log-odds are a sum of weights, ContextCite without a penalty
// returns them, also when they are divided among the tokens of an answer.
func TestContextCiteExact(t *testing.T) {
	weights, intercept := []float64{0.5, 2, -1, 0.1, 0.25}, -1.5
	none := 0.0
	m := linear(weights, func(x float64, i int) float64 {
		return -math.Log1p(math.Exp(-(x + intercept))) / 2 // ln σ, half for each of two tokens
	})
	r := explain(t, m, ask(t, m, strings.Join(sentences(5), " "), "yes no"), sources.Options{
		Methods: []string{sources.ContextCite}, Penalty: &none,
	})
	s := r.Methods[0]
	near(t, "scores", values(s), weights, 1e-9)
	near(t, "intercept", []float64{*s.Intercept}, []float64{intercept}, 1e-9)
	if math.Abs(float64(s.LDS)-1) > 1e-12 {
		t.Errorf("LDS %v, want 1", s.LDS)
	}
	// The default penalty is 0.01, and a large one leaves nothing but the intercept.
	penalized := func(penalty *float64) []float64 {
		return values(explain(t, m, ask(t, m, strings.Join(sentences(5), " "), "yes no"),
			sources.Options{Methods: []string{sources.ContextCite}, Penalty: penalty}).Methods[0])
	}
	near(t, "default penalty", penalized(nil), penalized(ptr(0.01)), 0)
	near(t, "large penalty", penalized(ptr(100)), make([]float64, 5), 0)
	if slices.Equal(penalized(nil), penalized(&none)) {
		t.Error("the default penalty changes nothing")
	}
}

// TestSeeds: equal seeds give equal results, others other ablations.
func TestSeeds(t *testing.T) {
	m := linear([]float64{1, 2, 3}, func(x float64, i int) float64 {
		return -5 + math.Sin(x)
	})
	q := ask(t, m, "s0. s1. s2.", "yes")
	a, b := explain(t, m, q, sources.Options{}), explain(t, m, q, sources.Options{})
	other := explain(t, m, q, sources.Options{Seed: 1})
	if !slices.Equal(values(a.Methods[0]), values(b.Methods[0])) {
		t.Errorf("equal seeds give %v and %v", a.Methods[0].Values, b.Methods[0].Values)
	}
	if slices.Equal(values(a.Methods[0]), values(other.Methods[0])) {
		t.Errorf("seeds 0 and 1 give the same scores, %v", values(a.Methods[0]))
	}
}

// TestTarget: only the tokens of the target count, and those after it are not asked for.
func TestTarget(t *testing.T) {
	m := linear([]float64{1, 2}, func(x float64, i int) float64 {
		return -10 + x*float64(1+i)
	})
	q := ask(t, m, "s0. s1.", "yes no yes")
	for _, c := range []struct {
		part         string
		first, end   int
		text         string
		second       float64
		logarithm    float64
		tokenOfWhole int
	}{
		{"", 0, 3, "yes no yes", 2 * (1 + 2 + 3), 3*(1+2+3) - 30, 3},
		{"no", 1, 2, "no", 2 * 2, 3*2 - 10, 3},
		{"7:10", 2, 3, "yes", 2 * 3, 3*3 - 10, 3},
		{"3:8", 1, 3, "no yes", 2 * (2 + 3), 3*(2+3) - 20, 3},
	} {
		t.Run(c.part, func(t *testing.T) {
			var err error
			if q.Target, err = q.Answer.Part(c.part); err != nil {
				t.Fatal(err)
			}
			if q.Target != [2]int{c.first, c.end} {
				t.Errorf("tokens %v, want %d to %d", q.Target, c.first, c.end)
			}
			r := explain(t, m, q, sources.Options{Methods: []string{sources.LeaveOneOut}})
			if r.Target != c.text || len(r.AnswerTokens) != c.tokenOfWhole {
				t.Errorf("target %q of %q, want %q", r.Target, r.AnswerTokens, c.text)
			}
			near(t, "second", values(r.Methods[0])[1:], []float64{c.second}, 1e-12)
			near(t, "ln p", []float64{r.LogProbability}, []float64{c.logarithm}, 1e-12)
		})
	}
}

// TestSearch: of 200 sentences in 20 paragraphs the one that counts is found within the passes, and
// what was not left out on its own has no score.
func TestSearch(t *testing.T) {
	weights := make([]float64, 200)
	weights[137], weights[20] = 3, 0.5
	m := linear(weights, func(x float64, i int) float64 { return x - 20 })
	var text strings.Builder
	for i, s := range sentences(200) {
		if i > 0 && i%10 == 0 {
			text.WriteString("\n\n")
		} else if i > 0 {
			text.WriteString(" ")
		}
		text.WriteString(s)
	}
	q := ask(t, m, text.String(), "yes")
	for _, passes := range []int{4, 20, 30, 64, 199, 200} {
		r := explain(t, m, q, sources.Options{
			Methods: []string{sources.LeaveOneOut}, Passes: passes,
		})
		s := r.Methods[0]
		if s.Passes > passes || s.Passes < min(passes, 200)-1 {
			t.Errorf("%d passes, want at most %d and nearly as many", s.Passes, passes)
		}
		scored := 0
		for i, v := range values(s) {
			if math.IsNaN(v) {
				continue
			}
			if scored++; math.Abs(v-weights[i]) > 1e-12 {
				t.Errorf("%d passes: source %d has %v, want %v", passes, i, v, weights[i])
			}
		}
		if passes == 200 && (scored != 200 || len(s.Groups) != 0) {
			t.Errorf("with as many passes as sources %d have a score, and there are %d groups",
				scored, len(s.Groups))
		}
		if passes >= 30 && s.Ranked()[0] != 137 {
			t.Errorf("%d passes: the strongest is %d, want 137", passes, s.Ranked()[0])
		}
		for _, g := range s.Groups {
			sum := 0.0
			for _, w := range weights[g.First:g.End] {
				sum += w
			}
			if math.Abs(g.Value-sum) > 1e-12 {
				t.Errorf("group %d to %d has %v, want %v", g.First, g.End, g.Value, sum)
			}
		}
	}
}

// TestGroupsWithoutScores: where no source was left out on its own, the drops are measured on the
// sources of the strongest group. By hand: of 20 sentences in 10 paragraphs and 6 passes, those 12
// to 19 are left out together, and then those 16 to 19, of which number 18 counts.
func TestGroupsWithoutScores(t *testing.T) {
	weights := make([]float64, 20)
	weights[18] = 3
	m := linear(weights, func(x float64, i int) float64 { return x - 20 })
	text := strings.Join(sentences(20), " ")
	for i := 2; i < 20; i += 2 {
		text = strings.Replace(text, fmt.Sprintf(" s%d.", i), fmt.Sprintf("\n\ns%d.", i), 1)
	}
	r := explain(t, m, ask(t, m, text, "yes"), sources.Options{
		Methods: []string{sources.LeaveOneOut}, Passes: 6,
	})
	s := r.Methods[0]
	if n := len(s.Ranked()); n != 0 {
		t.Fatalf("%d sources have a score, want none: %v", n, s.Values)
	}
	if got := s.Strongest()[:5]; !slices.Equal(got, []int{16, 17, 18, 19, 0}) {
		t.Errorf("the strongest are %v", got)
	}
	want := []sources.Drop{{K: 1, Nats: 0}, {K: 3, Nats: 3}, {K: 5, Nats: 3}}
	if !slices.Equal(s.Drops, want) {
		t.Errorf("drops %v, want %v", s.Drops, want)
	}
	var together [][2]int
	for _, g := range s.Together() {
		together = append(together, [2]int{g.First, g.End})
	}
	if want := [][2]int{{16, 20}, {0, 6}, {6, 12}, {12, 14}, {14, 16}}; !slices.Equal(together,
		want) {
		t.Errorf("left out together are %v, want %v", together, want)
	}
}

// TestGenerate: the answer is the model's own, as long as it may be, without the token that ends
// the text.
func TestGenerate(t *testing.T) {
	m := linear([]float64{1, 2}, func(float64, int) float64 { return -1 })
	// After the last word of a prompt the model says the next ones of its vocabulary.
	got, err := sources.Generate(context.Background(), m, "s0. s1. why?", trace.SpecialsAuto, 2)
	if err != nil || got.Text != "yesno" || len(got.Tokens) != 2 {
		t.Errorf("answer %q of %d tokens, error %v", got.Text, len(got.Tokens), err)
	}
	m.StopAt = 4 // yes
	_, err = sources.Generate(context.Background(), m, "s0. why?", trace.SpecialsAuto, 2)
	if !errors.Is(err, sources.ErrNoAnswer) {
		t.Errorf("a model that ends the text at once: error %v", err)
	}
	m.About.Context = 2
	_, err = sources.Generate(context.Background(), m, "s0. why?", trace.SpecialsAuto, 2)
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "reads at most 2 in all") {
		t.Errorf("a prompt as long as the context: error %v", err)
	}
}

// TestConstant: an answer that depends on no source has scores of 0 and no LDS.
func TestConstant(t *testing.T) {
	m := linear([]float64{0, 0}, func(float64, int) float64 { return 0 }) // p = 1 exactly
	r := explain(t, m, ask(t, m, "s0. s1.", "yes"), sources.Options{})
	for _, s := range r.Methods {
		near(t, s.Method, values(s), []float64{0, 0}, 0)
		if !math.IsNaN(float64(s.LDS)) {
			t.Errorf("%s: LDS %v, want none", s.Method, s.LDS)
		}
	}
}

// TestRefusals: what cannot be asked, each with what to do.
func TestRefusals(t *testing.T) {
	m := linear([]float64{1, 2}, func(x float64, i int) float64 { return x - 10 })
	good := ask(t, m, "s0. s1.", "yes no")
	short := m
	short.Model = fakemodel.New(1, fakemodel.Evenly)
	*short.Model = *m.Model
	short.About.Context = 3
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"method", run(m, good, sources.Options{Methods: []string{"lime"}}), "method \"lime\" of"},
		{"twice", run(m, good, sources.Options{
			Methods: []string{"context-cite", "context-cite"},
		}), "given twice"},
		{"ablations", run(m, good, sources.Options{Ablations: 7}), "ablations 7; the number must"},
		{"passes", run(m, good, sources.Options{Passes: -1}), "passes -1; the number must be"},
		{"penalty", run(m, good, sources.Options{Penalty: ptr(math.NaN())}), "penalty NaN; it"},
		{"no answer", run(m, sources.Question{}, sources.Options{}), "needs a context, a prompt"},
		{"target", run(m, sources.Question{
			Context: good.Context, Prompt: good.Prompt, Answer: good.Answer, Target: [2]int{1, 3},
		}, sources.Options{}), "target tokens 1 to 3; the answer has tokens 0 to 2"},
		{
			"context", run(short, good, sources.Options{}),
			"the prompt has 3 tokens and the answer 2, and fake reads at most 3 in all",
		},
		{
			"encoder", run(fakemodel.NewEncoder(1, fakemodel.Evenly), good, sources.Options{}),
			"\"reader\" does not continue a text",
		},
		{"empty answer", func() error {
			_, err := sources.EncodeAnswer(m, "", " ")
			return err
		}, "the answer is empty"},
		{"no such part", part(good.Answer, "maybe"), `does not contain "maybe"`},
		{"twice in it", part(good.Answer, "s"), ""},
		{"beyond", part(good.Answer, "0:99"), "the answer has bytes 0 to 6"},
		{"space", part(good.Answer, "3:4"), "is white space"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.do()
			if c.want == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a usage error with %q", err, c.want)
			}
		})
	}
	m.Unknown = []string{"Paris"}
	if _, err := sources.EncodeAnswer(m, "", "Paris"); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), `has "Paris", which is not in the vocabulary of fake`) {
		t.Errorf("an answer that the model does not know: error %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := sources.Explain(ctx, m, good, sources.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
	broken := linear([]float64{1, 2}, func(float64, int) float64 { return math.NaN() })
	_, err := sources.Explain(context.Background(), broken, good, sources.Options{})
	if err == nil || !strings.Contains(err.Error(), "the model returned the log-probability NaN") {
		t.Errorf("a model that returns NaN: error %v", err)
	}
}

// needsToken is a model that reads no text without tokens, as those without begin-of-text.
type needsToken struct{ fakemodel.Continued }

func (n needsToken) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	tokens, err := n.Continued.Encode(text, specials)
	if err == nil && len(tokens) == 0 {
		err = errors.New("no tokens")
	}
	return tokens, err
}

// TestNothingLeft: a prompt of the documents alone leaves nothing to ask without them.
func TestNothingLeft(t *testing.T) {
	m := needsToken{linear([]float64{1, 2}, func(x float64, i int) float64 { return x - 10 })}
	q := ask(t, m, "s0. s1.", "yes no")
	q.Prompt = func(documents string) (string, error) { return documents, nil }
	_, err := sources.Explain(context.Background(), m, q, sources.Options{})
	if want := `the prompt without any source, "", cannot be asked of fake (no tokens); put`; err ==
		nil || !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want a usage error with %q", err, want)
	}
	if len(*m.Prompts) > 0 {
		t.Errorf("the model was asked %d times before", len(*m.Prompts))
	}
}

func run(m trace.Model, q sources.Question, opts sources.Options) func() error {
	return func() error {
		_, err := sources.Explain(context.Background(), m, q, opts)
		return err
	}
}

func part(a sources.Answer, of string) func() error {
	return func() error {
		_, err := a.Part(of)
		return err
	}
}

func ptr(v float64) *float64 { return &v }

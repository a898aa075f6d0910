package verdict_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/registry"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

var must = testhelp.Must // ends a test at an error

var near = fakemodel.Near

// planted is a model whose probability is 0.9 with both w1 and w2 (ids 2 and 3) in the text, 0.5
// with one of them and 0.1 with none, and whose rows put these weights on the tokens of its text;
// of later tokens each has 1. Words that are deleted leave no token behind.
func planted(weights ...float64) fakemodel.Scored {
	m := fakemodel.NewScored(1)
	m.Row = func(_ trace.MixingAsk, _, t, s int) float64 {
		sum := float64(max(0, t+1-len(weights)))
		for _, w := range weights[:min(t+1, len(weights))] {
			sum += w
		}
		if s < len(weights) {
			return weights[s] / sum
		}
		return 1 / sum
	}
	m.Predicted = func(q trace.Query) float64 {
		p := .1
		for _, id := range []int{2, 3} {
			if slices.Contains(q.IDs, id) {
				p += .4
			}
		}
		return p
	}
	return m
}

// prove are the settings of a test.
func prove(token string) attribution.Studies {
	return attribution.Studies{verdict.Option: token}
}

// proven returns the explanation of one token after eight words with a verdict.
func proven(t *testing.T, m trace.Model, o attribution.Options) *attribution.Explanation {
	t.Helper()
	o.Methods = []string{"raw"}
	if o.MaxTokens == 0 {
		o.MaxTokens = 1
	}
	e, err := attribution.Explain(context.Background(), m, "w9 w1 w3 w2 w4 w5 w6 w7", o)
	must(t, err)
	return e
}

// A picture that names what the prediction needs holds, and one that names another word does not.
// Values by hand: 0.9 falls to 0.5 without w1 or w2, to 0.1 without both. With both of them among
// six other words, one of the six sets of one other word takes w2 away, and there are ten sets of
// two other words. The last word stays, because the prediction is read there.
func TestVerdict(t *testing.T) {
	one := attribution.Options{Studies: prove(verdict.All)}
	for _, c := range []struct {
		name            string
		weights         []float64
		sources         []int
		without, others float64
		draws           int
		holds           bool
	}{
		{"right", []float64{1, 20, 1, 1, 1, 1, 1, 1}, []int{1}, .5, .9 - .4/6, 6, true},
		{"wrong", []float64{1, 1, 1, 1, 20, 1, 1, 1}, []int{4}, .9, .9 - .8/6, 6, false},
		{"both", []float64{1, 20, 1, 30, 1, 1, 1, 1}, []int{3, 1}, .1, .9, 10, true},
		{"first", []float64{50, 1, 1, 20, 1, 1, 1, 1}, []int{3}, .5, .9 - .4/6, 6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := *verdict.Of(proven(t, planted(c.weights...), one).Steps[0])
			if !slices.Equal(v.Sources, c.sources) || v.Draws != c.draws || v.Holds != c.holds ||
				v.Replacement != "delete" || v.Method != "raw" || v.Reason != "" {
				t.Errorf("%+v, want sources %v, %d draws, holds %v", v, c.sources, c.draws,
					c.holds)
			}
			near(t, "f", []float64{v.Whole, v.Without, v.Others},
				[]float64{.9, c.without, c.others}, 1e-12)
			near(t, "faithfulness", v.Faithfulness[:1], []float64{1 - c.without/c.others}, 1e-12)
			if v.Interval[0] > v.Others || v.Interval[1] < v.Others || v.Range[0] > v.Others ||
				v.Faithfulness[1] > v.Faithfulness[0] || v.Faithfulness[2] < v.Faithfulness[0] {
				t.Errorf("interval %v, range %v, faithfulness %v around %v", v.Interval, v.Range,
					v.Faithfulness, v.Others)
			}
			again := *verdict.Of(proven(t, planted(c.weights...), one).Steps[0])
			if diff := cmp.Diff(v, again); diff != "" {
				t.Errorf("a second run (-first +second):\n%s", diff)
			}
		})
	}
	// Two standard errors of six sets, by hand: 0.5 and five times 0.9.
	v := verdict.Of(proven(t, planted(1, 20, 1, 1, 1, 1, 1, 1), one).Steps[0])
	near(t, "interval", v.Interval[:], []float64{5./6 - .4/3, 5./6 + .4/3}, 1e-12)
	near(t, "range", v.Range[:], []float64{.5, .9}, 1e-12)
}

// A word that is named is taken away in its other places, too: the answer needs one of two w1, so
// that it stays without the one that is named and falls without both.
func TestVerdictRepeated(t *testing.T) {
	m := planted(1, 20, 1, 1, 1, 1, 1, 1)
	m.Predicted = func(q trace.Query) float64 {
		if slices.Contains(q.IDs, 2) {
			return .9
		}
		return .1
	}
	o := attribution.Options{Studies: prove("0"), Methods: []string{"raw"}, MaxTokens: 1}
	for text, want := range map[string][]int{
		"w9 w1 w3 w1 w4 w5 w6 w7": {3}, "w9 w1 w3 w2 w4 w5 w6 w7": nil,
	} {
		e, err := attribution.Explain(t.Context(), m, text, o)
		must(t, err)
		v := verdict.Of(e.Steps[0])
		if got := v.Repeated; (got != nil) != (want != nil) ||
			got != nil && (!slices.Equal(got.Sources, want) || got.Without != .1) {
			t.Errorf("%s: %+v of %+v", text, got, v)
		}
		if want != nil && (v.Without != .9 || v.Others != .9) {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

// What a scorer has against a token is tested, too: without w1 the probability falls from 0.9 to
// 0.5, although its value is below 0, and without w4 it stays.
func TestVerdictOpposed(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		sources []int
		without float64
	}{
		{[]float64{0, -2, 0, 3, 0, 0, 0, 0}, []int{1}, .5},
		{[]float64{0, 0, 0, 3, -2, 0, 0, -1}, []int{4}, .9},
		{[]float64{0, -.1, -1, 3, -2, -1, 0, 0}, []int{4, 2}, .9},
		{[]float64{0, -.1, 0, 3, 0, 0, 0, 0}, nil, 0},
	} {
		remove := registerScorer("test-signed", fixedScorer{
			&scorer.Scores{Values: c.values},
			scorer.Info{
				Summary: "fixed", Formula: "x", Paper: "none", Cost: "nothing", Signed: true,
				Quantities: []trace.Quantity{trace.Logit},
			},
		})
		e, err := attribution.Explain(context.Background(), planted(1), "w9 w1 w3 w2 w4 w5 w6 w7",
			attribution.Options{Methods: []string{"test-signed"}, MaxTokens: 1, Studies: prove("0")})
		remove()
		must(t, err)
		v := verdict.Of(e.Steps[0]).Opposed
		if v == nil || c.sources == nil {
			if (v == nil) != (c.sources == nil) {
				t.Errorf("%v: %+v", c.values, v)
			}
			continue
		}
		if !slices.Equal(v.Sources, c.sources) || v.Without != c.without {
			t.Errorf("%v: %+v, want %+v", c.values, v, c)
		}
	}
}

// With a contrast the test is of what the scorer explains, the difference of the two logits. By
// hand: it is 3 with w1 and w2, 1 with one of them, and −2 with none.
func TestVerdictOfContrast(t *testing.T) {
	m := planted(1)
	p := m.Predicted
	m.Predicted = func(q trace.Query) float64 {
		if q.Quantity != trace.Logit || q.Contrast == nil || *q.Contrast != 6 {
			return p(q)
		}
		return map[float64]float64{.9: 3, .5: 1, .1: -2}[p(q)]
	}
	defer registerScorer("test-signed", fixedScorer{
		&scorer.Scores{Values: []float64{0, 2, 0, 3, 0, 0, 0, 0}},
		scorer.Info{
			Summary: "fixed", Formula: "x", Paper: "none", Cost: "nothing", Signed: true,
			Quantities: []trace.Quantity{trace.Logit},
		},
	})()
	e, err := attribution.Explain(t.Context(), m, "w9 w1 w3 w2 w4 w5 w6 w7", attribution.Options{
		Methods: []string{"test-signed"}, MaxTokens: 1, Studies: prove("0"), Contrast: "w5",
	})
	must(t, err)
	v := verdict.Of(e.Steps[0])
	if v.Quantity != trace.Logit || v.Contrast != "w5" || v.Whole != 3 || v.Without != -2 ||
		v.Others != 3 || !v.Holds || v.Faithfulness != nil {
		t.Errorf("%+v", v)
	}
}

// Of the 66 sets of two of twelve words some are drawn. Five are enough if what is left without the
// sources is more than three standard errors from their mean, which is 0.82 ± 0.0374 by hand: below
// 0.708 or above 0.932.
func TestVerdictDraws(t *testing.T) {
	for without, want := range map[float64]int{.1: 5, .7: 5, .72: 10, .92: 10, .94: 5} {
		m := planted(1, 20, 1, 30, 1, 1, 1, 1)
		n := 0
		m.Predicted = func(q trace.Query) float64 {
			switch {
			case len(q.IDs) == 15:
				return .9
			case !slices.Contains(q.IDs, 2) && !slices.Contains(q.IDs, 3):
				return without
			}
			n++
			return .7 + .1*float64(n%3) // 0.8 0.9 0.7 0.8 0.9, and on
		}
		e, err := attribution.Explain(t.Context(), m,
			"w9 w1 w3 w2 w4 w5 w6 w7 w4 w5 w6 w7 w4 w5 w6",
			attribution.Options{Studies: prove("0"), Methods: []string{"raw"}, MaxTokens: 1})
		must(t, err)
		if v := verdict.Of(e.Steps[0]); v.Draws != want {
			t.Errorf("without %v: %d draws, want %d", without, v.Draws, want)
		}
	}
}

// pieced is a model whose tokens need no space between them.
type pieced struct{ fakemodel.Scored }

// Encode implements [trace.Model].
func (m pieced) Encode(text string, specials trace.Specials) ([]trace.Token, error) {
	tokens, err := m.Scored.Encode(strings.ReplaceAll(text, "w", " w"), specials)
	end := 0
	for i := range tokens {
		t := &tokens[i]
		t.Begin, t.End = end, end+strings.IndexByte(text[end:], 'w')+len("w1")
		t.Text, end = text[t.Begin:t.End], t.End
	}
	return tokens, err
}

// Words are taken away whole: w1 is a piece of the word whose other piece is named, and five words
// are left, of which one draw takes w2. A word stays if the prediction is read in it.
func TestVerdictOfPieces(t *testing.T) {
	explain := func(text string, weights ...float64) *verdict.Verdict {
		e, err := attribution.Explain(t.Context(), pieced{planted(weights...)}, text,
			attribution.Options{Methods: []string{"raw"}, MaxTokens: 1, Studies: prove("0")})
		must(t, err)
		return verdict.Of(e.Steps[0])
	}
	v := explain("w9 w1w3 w2 w4 w5 w6 w7", 1, 1, 20, 1, 1, 1, 1, 1)
	if !slices.Equal(v.Sources, []int{2, 1}) || v.Draws != 5 || !v.Holds {
		t.Errorf("the word of w3: %+v", v)
	}
	near(t, "f", []float64{v.Whole, v.Without, v.Others}, []float64{.9, .5, .9 - .4/5}, 1e-12)
	v = explain("w9 w1 w3 w2 w4 w5 w6w7", 1, 1, 1, 1, 1, 1, 20, 1)
	if !strings.Contains(v.Reason, "the prediction is read there") {
		t.Errorf("the word at the end: %+v", v)
	}
	// w1 is against the token, and its word is taken away already because of w3.
	remove := registerScorer("test-signed", fixedScorer{
		&scorer.Scores{Values: []float64{0, -2, 3, 0, -1, 0, 0, 0}},
		scorer.Info{
			Summary: "fixed", Formula: "x", Paper: "none", Cost: "nothing", Signed: true,
			Quantities: []trace.Quantity{trace.Logit},
		},
	})
	defer remove()
	e, err := attribution.Explain(t.Context(), pieced{planted(1)}, "w9 w1w3 w2 w4 w5 w6 w7",
		attribution.Options{Methods: []string{"test-signed"}, MaxTokens: 1, Studies: prove("0")})
	must(t, err)
	v = verdict.Of(e.Steps[0])
	if !slices.Equal(v.Sources, []int{2, 1}) || !slices.Equal(v.Opposed.Sources, []int{4}) {
		t.Errorf("a piece for and one against the token: %+v, %+v", v, v.Opposed)
	}
}

// Only the tokens that are asked for have a verdict.
func TestVerdictOf(t *testing.T) {
	m := planted(1, 20, 1, 1, 1, 1, 1, 1)
	for token, want := range map[string]string{
		"": "[false false false]", "1": "[false true false]", "all": "[true true true]",
		"opening": "[false false true]",
	} {
		e := proven(t, m, attribution.Options{
			MaxTokens: 3, Studies: prove(token),
			Opens: func(*attribution.Explanation) int { return 2 },
		})
		var got []bool
		for _, s := range e.Steps {
			got = append(got, verdict.Of(s) != nil)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("prove %q: %v, want %s", token, got, want)
		}
		if text, err := json.Marshal(e); err != nil ||
			strings.Contains(string(text), `"verdict"`) != (token != "") {
			t.Errorf("prove %q: %v %s", token, err, text)
		}
	}
	e := proven(t, m, attribution.Options{Studies: prove(attribution.OpeningToken), MaxTokens: 2})
	if verdict.Of(e.Steps[0]) == nil || verdict.Of(e.Steps[1]) != nil {
		t.Error("without a picture the first token is tested")
	}
}

// A model reads 4096 tokens of texts at once, so that three texts of 1100 tokens share what they
// begin with: the text without the named words, the whole one and five draws are read in three
// batches or more, and 8 heads of 12 layers take far longer for that than a picture may.
func TestVerdictAutoLongText(t *testing.T) {
	m, err := models.Open("tiny-alibi", models.Options{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := attribution.Explain(t.Context(), m, strings.Repeat("a", 1100),
		attribution.Options{MaxTokens: 1, Studies: prove(verdict.Auto)})
	if err != nil {
		t.Fatal(err)
	}
	v := verdict.Of(e.Steps[0])
	if v == nil || v.Draws != 0 || v.Read < 3*1100 ||
		!strings.HasPrefix(v.Reason, "it would read") {
		t.Errorf("verdict %+v, want none because of the time", v)
	}
}

// By default a token is tested if that is cheap. The whole text has 8 tokens, and without the one
// at position j the 7 − j after it are read again: 6 without w1, and 22 for the six sets of one
// other word. Where that is too much, five sets are drawn.
func TestVerdictAuto(t *testing.T) {
	m := planted(1, 20, 1, 1, 1, 1, 1, 1)
	opening := attribution.Options{Studies: prove(attribution.OpeningToken)}
	asked := verdict.Of(proven(t, m, opening).Steps[0])
	auto := verdict.Of(proven(t, m, attribution.Options{Studies: prove(verdict.Auto)}).Steps[0])
	if diff := cmp.Diff(asked, auto); diff != "" || auto.Draws != 6 {
		t.Errorf("auto and opening differ (-opening +auto):\n%s", diff)
	}
	if auto.Read != 8+6+22 {
		t.Errorf("%d tokens read, want 36", auto.Read)
	}
	// 12·2^26 multiplications for a token: 42 tokens fit, 14 in pure Go. Then four times as many.
	m.About.Layers, m.About.Width, m.About.Backend = 1, 1<<13, "xla"
	v := verdict.Of(proven(t, m, attribution.Options{Studies: prove(verdict.Auto)}).Steps[0])
	if v.Draws != 6 {
		t.Errorf("a cheap test: %+v", v)
	}
	m.About.Width = 9000 // 35 tokens
	v = verdict.Of(proven(t, m, attribution.Options{Studies: prove(verdict.Auto)}).Steps[0])
	if v.Draws != 5 || v.Read >= 36 {
		t.Errorf("where all sets are too many: %+v", v)
	}
	least := v.Read
	m.About.Backend = "go"
	v = verdict.Of(proven(t, m, attribution.Options{Studies: prove(verdict.Auto)}).Steps[0])
	if v.Draws != 0 {
		t.Errorf("in pure Go: %+v", v)
	}
	m.About.Width, m.About.Backend = 1<<14, "xla"
	*m.Queries = nil
	v = verdict.Of(proven(t, m, attribution.Options{Studies: prove(verdict.Auto)}).Steps[0])
	if v.Read != least || v.Reason != fmt.Sprintf("it would read %d tokens again", least) ||
		v.Draws != 0 || len(*m.Queries) != 0 {
		t.Errorf("%+v after %d queries", v, len(*m.Queries))
	}
	v = verdict.Of(proven(t, m, attribution.Options{Studies: prove("0")}).Steps[0])
	if v.Draws != 6 {
		t.Errorf("asked for: %+v", v)
	}
	// What nobody asked for and cannot be tested is not spoken of.
	for name, e := range map[string]*attribution.Explanation{
		"the last word": proven(t, planted(1, 1, 1, 1, 1, 1, 1, 40),
			attribution.Options{Studies: prove(verdict.Auto)}),
		"no other texts": proven(t, planted(1, 20).Model,
			attribution.Options{Studies: prove(verdict.Auto)}),
		"off": proven(t, planted(1, 20), attribution.Options{Studies: prove(verdict.Off)}),
	} {
		if verdict.Of(e.Steps[0]) != nil || len(e.Warnings) > 0 {
			t.Errorf("%s: %+v, %q", name, verdict.Of(e.Steps[0]), e.Warnings)
		}
	}
}

// What cannot be tested says why, and what is asked wrongly is refused.
func TestVerdictRefusals(t *testing.T) {
	o := attribution.Options{Studies: prove(verdict.All)}
	last := verdict.Of(proven(t, planted(1, 1, 1, 1, 1, 1, 1, 40), o).Steps[0])
	if !strings.Contains(last.Reason, "the prediction is read there") || last.Draws != 0 {
		t.Errorf("the last word: %+v", last)
	}
	// Without the last word another prediction is asked for, so occlusion does not name it.
	m := planted(1, 1, 1, 1, 1, 1, 1, 1)
	needs := m.Predicted
	m.Predicted = func(q trace.Query) float64 {
		if q.IDs[len(q.IDs)-1] != 8 {
			return 0
		}
		return needs(q)
	}
	tested, err := attribution.Explain(context.Background(), m, "w9 w1 w3 w2 w4 w5 w6 w7",
		attribution.Options{Methods: []string{"occlusion"}, MaxTokens: 1, Studies: prove("0")})
	must(t, err)
	if v := verdict.Of(tested.Steps[0]); !slices.Equal(v.Sources, []int{1, 3}) || !v.Holds {
		t.Errorf("occlusion names %v: %+v", v.Sources, v)
	}
	e, err := attribution.Explain(context.Background(), planted(1, 9, 1), "w9 w1 w3",
		attribution.Options{Studies: prove("0"), MaxTokens: 1, Methods: []string{"raw"}})
	must(t, err)
	if v := verdict.Of(e.Steps[0]); v.Draws != 1 || v.Interval != [2]float64{.5, .5} {
		t.Errorf("one other word: %+v", v)
	}
	e = proven(t, planted(1, 20).Model, o)
	if verdict.Of(e.Steps[0]) != nil ||
		!strings.Contains(strings.Join(e.Warnings, "\n"), "does not predict other texts") {
		t.Errorf("a model that predicts no other texts: %v", e.Warnings)
	}
	long := planted(1, 20)
	e, err = attribution.Explain(context.Background(), long, strings.Repeat("w1 ", 6000),
		attribution.Options{Studies: prove("0"), MaxTokens: 1, Methods: []string{"raw"}})
	must(t, err)
	if verdict.Of(e.Steps[0]) != nil || len(*long.Queries) > 0 ||
		!strings.Contains(strings.Join(e.Warnings, "\n"), "84014 tokens would be read again") {
		t.Errorf("a long text: %v", e.Warnings)
	}
	for want, o := range map[string]attribution.Options{
		"prove 3; the explanation has 1 token, counted from 0": {Studies: prove("3")},
		"want auto, opening, all, off, or the number":          {Studies: prove("some")},
		"prove and groups of tokens":                           {Studies: prove("all"), By: "word"},
	} {
		o.Methods, o.MaxTokens = []string{"raw"}, 1
		_, err := attribution.Explain(context.Background(), idle{planted(1, 1), t}, "w1 w2", o)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", o.Studies, err, want)
		}
	}
}

// idle is a model that must not run.
type idle struct {
	trace.Model
	t *testing.T
}

// Steps fails the test.
func (m idle) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	m.t.Error("the model runs")
	return m.Model.Steps(ctx, ids, ask)
}

// meanReader is an encoder that reads the mean of all tokens, gives two classes, and needs w6 (id
// 7), the last token, for them.
type meanReader struct{ *fakemodel.Encoder }

// Predict implements [trace.Predictor].
func (m meanReader) Predict(_ context.Context, queries []trace.Query) (all []float64, err error) {
	for _, q := range queries {
		p := 0.1
		if slices.Contains(q.IDs, 7) {
			p = 0.9
		}
		all = append(all, p)
	}
	return all, nil
}

// Steps gives two classes of the whole text.
func (m meanReader) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	ask.Positions = []int{0, 0}
	return m.Encoder.Steps(ctx, ids, ask)
}

// Where the mean of all tokens is read, each of them can be taken away, the last one too, and every
// class is about the whole text.
func TestVerdictOfMean(t *testing.T) {
	const last = 5
	m := meanReader{fakemodel.NewEncoder(1, func(_, s int) float64 {
		if s == last {
			return 0.65
		}
		return 0.05
	})}
	m.About.Head, m.About.MeanPooled = trace.Labels, true
	e, err := attribution.Explain(t.Context(), m, "w1 w2 w3 w4 w5 w6", attribution.Options{
		Methods: []string{"raw"}, Studies: prove(verdict.All), Specials: trace.SpecialsOff,
	})
	must(t, err)
	for i, s := range e.Steps {
		v := verdict.Of(s)
		if len(e.Steps) != 2 || s.Position != nil || !slices.Equal(v.Sources, []int{last}) ||
			v.Whole != 0.9 || v.Without != 0.1 || v.Others != 0.9 || !v.Holds {
			t.Errorf("class %d of %d: %+v", i, len(e.Steps), v)
		}
	}
}

// registerScorer registers a scorer and returns what removes it again.
func registerScorer(name string, s scorer.Scorer) func() {
	scorer.Register(name, s)
	return func() { registry.Remove("scorer", name) }
}

// fixedScorer is a scorer with a fixed answer.
type fixedScorer struct {
	scores *scorer.Scores
	info   scorer.Info
}

func (a fixedScorer) Info() scorer.Info { return a.info }

func (a fixedScorer) Score(
	context.Context, trace.Model, trace.Query, scorer.Options,
) (*scorer.Scores, error) {
	return a.scores, nil
}

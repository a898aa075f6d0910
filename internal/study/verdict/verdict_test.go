package verdict_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/registry"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

var near = fakemodel.Near

// planted is a model whose probability is 0.9 with both w1 and w2 (ids 2 and 3) in the text, 0.3
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
		has := 0
		for _, id := range []int{2, 3} {
			if slices.Contains(q.IDs, id) {
				has++
			}
		}
		return []float64{.1, .3, .9}[has]
	}
	m.Edit = func(step *trace.Step) { step.Next.Token.Text = " " + step.Next.Token.Text }
	return m
}

// prove are the settings of a test.
func prove(token string) attribution.Studies {
	return attribution.Studies{verdict.Option: token}
}

// explained returns the explanation of one token after a text, by raw attention if o names no
// method.
func explained(
	t *testing.T, m trace.Model, text string, o attribution.Options,
) *attribution.Explanation {
	t.Helper()
	if o.Methods == nil {
		o.Methods = []string{"raw"}
	}
	o.MaxTokens = cmp.Or(o.MaxTokens, 1)
	e, err := attribution.Explain(context.Background(), m, text, o)
	must(t, err)
	return e
}

// eight is a text of eight words, of which the last stays, because the prediction is read there.
const eight = "w9 w1 w3 w2 w4 w5 w6 w7"

// proven returns the explanation of a token after eight words with a verdict.
func proven(t *testing.T, m trace.Model, o attribution.Options) *attribution.Explanation {
	t.Helper()
	return explained(t, m, eight, o)
}

// trials lists trials: "without w1 0.3, everywhere w1 (2) 0.1".
func trials(all []verdict.Trial) string {
	var names []string
	for _, t := range all {
		name := fmt.Sprintf("%s %s", t.Kind, t.Text)
		if t.Places > 0 {
			name += fmt.Sprintf(" (%d)", t.Places)
		}
		if t.With != "" {
			name += " by " + t.With
		}
		names = append(names, fmt.Sprintf("%s %.3g", name, t.P))
	}
	return strings.Join(names, ", ")
}

// A test tells if the prediction needs a word that is named more than others, and each of two words
// that are named is taken away alone. By hand: without another word the mean is that of six words
// or, with two of them named, of five; w1 and w2 among them take the probability from 0.9 to 0.3.
func TestVerdict(t *testing.T) {
	needs := func(ids ...int) func(trace.Query) float64 { // one of some ids
		return func(q trace.Query) float64 {
			for _, id := range ids {
				if slices.Contains(q.IDs, id) {
					return .9
				}
			}
			return .1
		}
	}
	ignores := func(trace.Query) float64 { return .9 }
	drops := func(p float64) func(trace.Query) float64 { // by half or so, whatever is taken away
		return func(q trace.Query) float64 {
			return map[bool]float64{true: .9, false: p}[len(q.IDs) == 8]
		}
	}
	one := []float64{1, 20, 1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		name, text    string
		weights       []float64
		predicted     func(trace.Query) float64
		trials, shown string
		mean          float64
		draws         int
		tells         bool
	}{
		{"right", eight, one, nil, "without w1 0.3", "", .9 - .6/6, 6, true},
		{"wrong", eight, []float64{1, 1, 1, 1, 20, 1, 1, 1}, nil, "without w4 0.9", "",
			.9 - 1.2/6, 6, false},
		{"ignored", eight, one, ignores, "without w1 0.9", "", .9, 6, false},
		{"others lose as much", eight, one, drops(.2), "without w1 0.2", "", .2, 6, false},
		{"not under half", eight, one, drops(.45), "without w1 0.45", "", .45, 6, false},
		{"two", eight, []float64{1, 20, 1, 30, 1, 1, 1, 1}, nil,
			"without w2 0.3, without w1 0.3", "", .9, 5, true},
		{"weaker", eight, []float64{1, 17, 1, 30, 1, 1, 1, 1}, nil, "without w2 0.3", "",
			.9 - .6/6, 6, true},
		{"the first token is a sink", eight, []float64{50, 1, 1, 20, 1, 1, 1, 1}, nil,
			"without w2 0.3", "", .9 - .6/6, 6, true},
		{"at two places", "w9 w1 w3 w1 w4 w5 w6 w7", one, needs(2),
			"without w1 0.9, everywhere w1 (2) 0.1", "", .9, 5, true},
		{"at two places, one needed", "w9 w1 w3 w1 w4 w5 w6 w7", one, drops(.3),
			"without w1 0.3, everywhere w1 (2) 0.3", "without w1 0.3", .3, 5, false},
		{"at two places, ignored", "w9 w1 w3 w1 w4 w5 w6 w7", one, ignores,
			"without w1 0.9, everywhere w1 (2) 0.9", "without w1 0.9", .9, 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := planted(c.weights...)
			if c.predicted != nil {
				m.Predicted = c.predicted
			}
			o := attribution.Options{Studies: prove(verdict.All)}
			v := verdict.Of(explained(t, m, c.text, o).Steps[0])
			if got := trials(v.Trials); got != c.trials || v.Tells != c.tells || v.Whole != .9 ||
				v.Replacement != "delete" || v.Method != "raw" || v.Reason != "" {
				t.Errorf("got %s, want %s; tells %v, want %v: %+v", got, c.trials, v.Tells,
					c.tells, v)
			}
			if got, want := trials(v.Shown()), cmp.Or(c.shown, c.trials); got != want {
				t.Errorf("a picture shows %s, want %s", got, want)
			}
			if v.Control.Draws != c.draws {
				t.Errorf("%d other words, want %d", v.Control.Draws, c.draws)
			}
			near(t, "mean", []float64{v.Control.Mean}, []float64{c.mean}, 1e-12)
			again := verdict.Of(explained(t, m, c.text, o).Steps[0])
			if diff := gocmp.Diff(v, again); diff != "" {
				t.Errorf("a second run (-first +second):\n%s", diff)
			}
		})
	}
	// Two standard errors of six words, by hand: 0.3 and five times 0.9.
	v := verdict.Of(proven(t, planted(one...), attribution.Options{Studies: prove("0")}).Steps[0])
	near(t, "interval", v.Control.Interval[:], []float64{.8 - .2, .8 + .2}, 1e-12)
	near(t, "range", v.Control.Range[:], []float64{.3, .9}, 1e-12)
	near(t, "faithfulness", v.Faithfulness, []float64{1 - .3/.8, 1 - .3/.6, 1 - .3}, 1e-12)
}

// A word of several tokens is tested as one. They are read with the ids that were generated, after
// each changed text, and their probabilities are multiplied.
func TestVerdictOfWord(t *testing.T) {
	m := planted(1, 20, 1, 1, 1, 1, 1, 1)
	made := 0
	m.Edit = func(step *trace.Step) {
		step.Next.Token.Text = []string{" Cl", "ara"}[made]
		made++
	}
	m.Predicted = func(q trace.Query) float64 {
		p := map[int]float64{9: .8, 10: .5}[q.Token]
		if !slices.Contains(q.IDs, 2) {
			p /= 10
		}
		return p
	}
	for _, asked := range []string{"0", "1"} {
		made = 0
		e := proven(t, m, attribution.Options{Studies: prove(asked), MaxTokens: 2})
		v := verdict.Of(e.Steps[0])
		if v == nil || verdict.Of(e.Steps[1]) != nil || v.Rows != [2]int{0, 2} ||
			v.Reason != "" {
			t.Fatalf("prove %s: verdict %+v and %+v", asked, v, verdict.Of(e.Steps[1]))
		}
		near(t, "the word", []float64{v.Whole, v.Trials[0].P}, []float64{.4, .004}, 1e-12)
		ids := e.TokenIDs()
		for _, q := range (*m.Queries)[0] {
			at := slices.Index([]int{9, 10}, q.Token)
			if want := ids[len(ids)-3+at]; at < 0 || q.IDs[q.Position] != want {
				t.Errorf("token %d is read after %v, want %d", q.Token, q.IDs[:q.Position+1], want)
			}
			kept := 0
			for _, id := range ids {
				if kept < len(q.IDs) && q.IDs[kept] == id {
					kept++
				}
			}
			if kept != len(q.IDs) || kept < len(ids)-2 {
				t.Errorf("%v are not the ids %v without a word", q.IDs, ids)
			}
		}
	}
}

// The most probable other answer of the text is taken away alone, if it is of the kind of the
// answer and a fifth as probable: 0.15 here.
func TestVerdictOfRival(t *testing.T) {
	for _, c := range []struct {
		id   int
		p    float64
		want string
	}{
		{5, .16, "without w1 0.3, rival w4 0.9"}, {5, .14, "without w1 0.3"},
		{3, .16, "without w1 0.3, rival w2 0.3"}, {2, .16, "without w1 0.3"},
		{9, .16, "without w1 0.3"}, {7, .16, "without w1 0.3"}, // the answer, another kind
	} {
		m := planted(1, 20, 1, 1, 1, 1, 1, 1)
		m.Words = slices.Clone(m.Words)
		m.Words[7] = "W"
		m.Edit = func(step *trace.Step) {
			step.Next.Token.Text = " " + step.Next.Token.Text
			step.Next.Alternatives = append(step.Next.Alternatives,
				trace.Alternative{Token: trace.Token{ID: c.id}, Probability: c.p})
		}
		e := explained(t, m, "w9 w1 w3 w2 w4 w5 W w7",
			attribution.Options{Studies: prove("0")})
		if got := trials(verdict.Of(e.Steps[0]).Trials); got != c.want {
			t.Errorf("id %d of %v: %s, want %s", c.id, c.p, got, c.want)
		}
	}
}

// Punctuation, which no sentence names, is not taken away, even if it is the strongest source.
func TestVerdictOfPunctuation(t *testing.T) {
	m := planted(1, 20, 9, 1, 1, 1, 1, 1)
	m.Words = slices.Clone(m.Words)
	m.Words[1] = ","
	e := explained(t, m, "w9 , w3 w2 w4 w5 w6 w7", attribution.Options{Studies: prove("0")})
	if v := verdict.Of(e.Steps[0]); len(v.Trials) != 1 || v.Trials[0].Text != "w3" {
		t.Errorf("trials %+v, want one without w3", v.Trials)
	}
}

// Where a word that is no name came from a name, another name of the text stands in for that, with
// its own ids. Without another name it is taken away.
func TestVerdictOfName(t *testing.T) {
	for _, c := range []struct {
		first, second, answer, want string
	}{
		{"Tom", "Anna", "he", "exchanged Tom by Anna 0.3, without Tom 0.3"},
		{"Tom", "anna", "he", "without Tom 0.3"},
		{"Tom", "Tom", "he", "without Tom 0.3, everywhere Tom (2) 0.1"},
		{"tom", "Anna", "he", "without tom 0.3"},
		{"Tom", "Anna", "tom", "without Tom 0.3"}, // copied
		{"Tom", "Anna", "7", "without Tom 0.3"},
		{"T", "A", "he", "without T 0.3"},
	} {
		m := planted(1, 20, 1, 1, 1, 1, 1, 1)
		m.Words = slices.Clone(m.Words)
		m.Words[2], m.Words[3] = c.first, c.second
		m.Edit = func(step *trace.Step) { step.Next.Token.Text = " " + c.answer }
		text := "w9 " + c.first + " w3 " + c.second + " w4 w5 w6 w7"
		e := explained(t, m, text, attribution.Options{Studies: prove("0")})
		v := verdict.Of(e.Steps[0])
		if got := trials(v.Trials); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
		if v.Trials[0].Kind != verdict.Exchanged {
			continue
		}
		if got := fmt.Sprint((*m.Queries)[0][1].IDs); got != "[10 3 4 3 5 6 7 8]" {
			t.Errorf("the exchanged text is %s", got)
		}
		if len(v.Shown()) != 1 || !v.Tells {
			t.Errorf("a picture shows %s", trials(v.Shown()))
		}
	}
}

// What a scorer has most against a token is tested, too, from half of the strongest on.
func TestVerdictAgainst(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, -2, 0, 3, 0, 0, 0, 0}, "without w2 0.3, against w1 0.3"},
		{[]float64{0, 0, 0, 3, -2, 0, 0, -4}, "without w2 0.3, against w4 0.9"},
		{[]float64{0, 0, -2, 3, -1.6, 0, 0, 0}, "without w2 0.3, against w3 0.9"},
		{[]float64{0, 0, 0, 3, -1.4, 0, 0, 0}, "without w2 0.3"},
	} {
		remove := signed(c.values)
		v := verdict.Of(proven(t, planted(1), attribution.Options{
			Methods: []string{"test-signed"}, Studies: prove("0"),
		}).Steps[0])
		remove()
		if got := trials(v.Trials); got != c.want || len(v.Shown()) != 1 || !v.Tells {
			t.Errorf("%v: %s, want %s: %+v", c.values, got, c.want, v)
		}
	}
}

// signed registers the scorer test-signed, whose values are these, and returns what removes it.
func signed(values []float64) (remove func()) {
	return registerScorer("test-signed", fixedScorer{
		&scorer.Scores{Values: values},
		scorer.Info{
			Summary: "fixed", Formula: "x", Paper: "none", Cost: "nothing", Signed: true,
			Quantities: []trace.Quantity{trace.Logit},
		},
	})
}

// With a contrast the test is of the token's share of both, which the difference of their logits
// gives: by hand 3 with w1 and w2, and −2 without one.
func TestVerdictOfContrast(t *testing.T) {
	m := planted(1)
	p := m.Predicted
	m.Predicted = func(q trace.Query) float64 {
		if q.Quantity != trace.Logit || q.Contrast == nil || *q.Contrast != 6 {
			return p(q)
		}
		return map[float64]float64{.9: 3, .3: -2}[p(q)]
	}
	defer signed([]float64{0, 1, 0, 3, 0, 0, 0, 0})()
	v := verdict.Of(proven(t, m, attribution.Options{
		Methods: []string{"test-signed"}, Studies: prove("0"), Contrast: "w5",
	}).Steps[0])
	share := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	if v.Contrast != "w5" || v.Whole != share(3) || v.Trials[0].P != share(-2) || !v.Tells {
		t.Errorf("%+v", v)
	}
	near(t, "mean", []float64{v.Control.Mean}, []float64{share(3)*5/6 + share(-2)/6}, 1e-12)
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

// Words are taken away whole: w1 is a piece of the word whose other piece is named. Of the others
// those come first that have as many tokens, w4w5. A word stays if the prediction is read in it.
func TestVerdictOfPieces(t *testing.T) {
	m := pieced{planted(1, 1, 20, 1, 1, 1, 1, 1, 1)}
	m.Edit = nil
	v := verdict.Of(explained(t, m, "w9 w1w3 w2 w4w5 w6 w7 w8",
		attribution.Options{Studies: prove("0")}).Steps[0])
	if got := trials(v.Trials); got != "without w1w3 0.3" ||
		!slices.Equal(v.Trials[0].Sources, []int{1, 2}) || v.Control.Draws != 5 || !v.Tells {
		t.Errorf("the word of w3: %s, %+v", got, v)
	}
	if got := fmt.Sprint((*m.Queries)[0][2].IDs); got != "[10 2 4 3 7 8 9]" {
		t.Errorf("the first other text is %s, want the one without w4w5", got)
	}
	m = pieced{planted(1, 1, 1, 1, 1, 1, 20, 1)}
	v = verdict.Of(explained(t, m, "w9 w1 w3 w2 w4 w5 w6w7",
		attribution.Options{Studies: prove("0")}).Steps[0])
	if v.Reason != "no word stands out that could be taken away" {
		t.Errorf("the word at the end: %+v", v)
	}
}

// At most ten other words are drawn, others with another seed.
func TestVerdictDraws(t *testing.T) {
	removed := map[string]bool{}
	for seed := range uint64(3) {
		m := planted(append([]float64{1, 20}, slices.Repeat([]float64{1}, 18)...)...)
		o := attribution.Options{Studies: prove("0")}
		o.Scoring.Seed = seed
		text := "w9 w1 w3 w2" + strings.Repeat(" w4 w5 w6 w7", 4)
		v := verdict.Of(explained(t, m, text, o).Steps[0])
		if v.Control.Draws != 10 {
			t.Errorf("%d other words", v.Control.Draws)
		}
		removed[fmt.Sprint((*m.Queries)[0][2:])] = true
	}
	if len(removed) != 3 {
		t.Errorf("three seeds draw %d times other words", len(removed))
	}
}

// Only the words that are asked for have a verdict.
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

// By default a word is tested as far as that takes no longer than the explanation, or half a
// second: the named word and one other in any case, or nothing. By hand: the whole text has 8
// tokens, and without the one at position j the 7 − j after it are read again, 6 without w1; the
// explanation reads its 9 twice.
func TestVerdictAuto(t *testing.T) {
	half := 1 << 34 // multiplications
	for _, c := range []struct {
		name           string
		tokens         int // that are read in half a second
		backend, asked string
		draws          int // 0 for no verdict
	}{
		{"cheap", 1000, "xla", verdict.Auto, 6},
		{"as long as the explanation", 1, "xla", verdict.Auto, 1},
		{"all", 36, "xla", verdict.Auto, 6},
		{"not all", 35, "xla", verdict.Auto, 5},
		{"pure Go takes three times as long", 3 * 35, "go", verdict.Auto, 5},
		{"asked for", 1, "xla", "0", 6},
	} {
		m := planted(1, 20, 1, 1, 1, 1, 1, 1)
		m.About.Layers, m.About.Heads, m.About.Backend = 1, 0, c.backend
		m.About.Width = int(math.Sqrt(float64(half) / 12 / (float64(c.tokens) + .5)))
		o := attribution.Options{Studies: prove(c.asked)}
		v := verdict.Of(proven(t, m, o).Steps[0])
		if v == nil || v.Control.Draws != c.draws {
			t.Errorf("%s: %+v, want %d other words", c.name, v, c.draws)
		}
	}
	// What nobody asked for and cannot be tested is not spoken of.
	late := append(slices.Repeat([]float64{1}, 20), 40, 1)
	for name, e := range map[string]*attribution.Explanation{
		"the last word": proven(t, planted(1, 1, 1, 1, 1, 1, 1, 40),
			attribution.Options{Studies: prove(verdict.Auto)}),
		"no other texts": proven(t, planted(1, 20).Model,
			attribution.Options{Studies: prove(verdict.Auto)}),
		"off": proven(t, planted(1, 20), attribution.Options{Studies: prove(verdict.Off)}),
		"one word": explained(t, planted(late...), "w1 w2",
			attribution.Options{Studies: prove(verdict.Auto)}),
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
	if last.Reason != "no word stands out that could be taken away" || last.Control != nil ||
		last.Shown() != nil {
		t.Errorf("the last word: %+v", last)
	}
	v := verdict.Of(explained(t, planted(1, 9, 1), "w9 w1 w3", o).Steps[0])
	if v.Control.Draws != 1 || v.Control.Interval != [2]float64{.3, .3} {
		t.Errorf("one other word: %+v", v)
	}
	v = verdict.Of(explained(t, planted(9, 1), "w1 w3", attribution.Options{
		Studies: prove("0"), Methods: []string{"random"},
	}).Steps[0])
	if v.Reason == "" {
		t.Errorf("random numbers are tested: %+v", v)
	}
	e := proven(t, planted(1, 20).Model, o)
	if verdict.Of(e.Steps[0]) != nil ||
		!strings.Contains(strings.Join(e.Warnings, "\n"), "does not predict other texts") {
		t.Errorf("a model that predicts no other texts: %v", e.Warnings)
	}
	long := planted(1, 20)
	e = explained(t, long, strings.Repeat("w1 ", 22000), attribution.Options{Studies: prove("0")})
	if verdict.Of(e.Steps[0]) != nil || len(*long.Queries) > 0 ||
		!strings.Contains(strings.Join(e.Warnings, "\n"), "66003 tokens would be read again") {
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
		if len(e.Steps) != 2 || s.Position != nil ||
			!slices.Equal(v.Trials[0].Sources, []int{last}) ||
			v.Whole != 0.9 || v.Trials[0].P != 0.1 || v.Control.Mean != 0.9 || !v.Tells {
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

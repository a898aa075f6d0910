package methods

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/planted"
)

// story is a prompt of three sentences that the embedded model knows the words of.
const story = "mary has the red key . john has the blue lamp . who has the lamp ?"

// groupTol bounds sums of the same numbers in another order. Logits are float32, and have another
// rounding where other texts are read in the same pass: 2e-8 of a value were seen.
const groupTol = 1e-7

// near fails the test unless two numbers are equal but for rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= groupTol*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A row of a target is the sum of the rows of its tokens, or the highest of flow and lift, for
// every method, target and source; nothing is lost and nothing counted twice.
func TestTargetsAreSums(t *testing.T) {
	m := fixture.Open(t, "", "go")
	var opts attribution.Options
	for _, method := range attribution.Methods() {
		if method.Name != "reagent" { // its random sets are of other sources
			opts.Methods = append(opts.Methods, method.Name)
		}
	}
	opts.Continuation, opts.AllLayers = " john . mary has the key", true
	opts.Scoring = scorer.Options{Steps: 4}
	plain := map[trace.Quantity]*attribution.Explanation{}
	for _, c := range []struct {
		target string
		groups string // of 6 generated tokens
	}{
		{"answer", "[0 6)"},
		{"sentence", "[0 2) [2 6)"},
		{"sentence:2", "[0 2)rest [2 6)"},
		{"word:2", "[0 2)rest [2 3) [3 6)rest"},
		{"1:3,4:6", "[0 1)rest [1 3) [3 4)rest [4 6)"},
	} {
		opts.Target = c.target
		got := fixture.Explain(t, m, story, opts)
		if plain[""] == nil {
			tokens := opts
			tokens.Target = ""
			plain[""] = fixture.Explain(t, m, story, tokens)
			tokens.Methods = []string{"occlusion", "integrated-gradients", "random"}
			tokens.Scoring = scorer.Options{Quantity: trace.LogProbability, Steps: 4}
			plain[trace.LogProbability] = fixture.Explain(t, m, story, tokens)
		}
		var groups []string
		begin := 0
		for i, s := range got.Steps {
			end := begin + len(s.IDs)
			rest := ""
			if s.Rest {
				rest = "rest"
			}
			groups = append(groups, fmt.Sprintf("[%d %d)%s", begin, end, rest))
			of := plain[""].Steps[begin:end]
			text, probability := "", 1.0
			for _, one := range of {
				text, probability = text+one.Text, probability*one.Probability
			}
			if s.Text != text || s.ID != of[0].ID {
				t.Errorf("%s: row %d is %q of %d", c.target, i, s.Text, s.ID)
			}
			near(t, "probability", s.Probability, probability)
			for _, name := range got.Order {
				from := plain[""].Methods[name]
				if other := plain[trace.LogProbability].Methods[name]; other != nil {
					from = other
				}
				sameRow(t, c.target+" "+name, got, name, i, from, begin, end)
			}
			begin = end
		}
		if s := strings.Join(groups, " "); s != c.groups {
			t.Errorf("%s: rows of %s, want %s", c.target, s, c.groups)
		}
		if ids := got.TokenIDs(); !slices.Equal(ids, plain[""].TokenIDs()) {
			t.Errorf("%s: the ids of the text are %v", c.target, ids)
		}
	}
}

// sameRow compares row i of a grouped result with the rows [begin,end) that it is made of.
func sameRow(
	t *testing.T, what string, e *attribution.Explanation, name string, i int,
	from *attribution.Result, begin, end int,
) {
	t.Helper()
	r := e.Methods[name]
	adds := from.AddsUp
	unit, how := "sum over the target's tokens of ", "sum of tokens"
	if !adds {
		unit, how = "highest over the target's tokens of ", "highest of tokens"
	}
	if r.Unit != unit+from.Unit || r.Options["targets"] != how || r.Options["target"] == "" {
		t.Errorf("%s: unit %q, options %v", what, r.Unit, r.Options)
	}
	for k := range r.Shape[2] {
		all := 0.0
		for j := range r.Shape[1] {
			want := 0.0
			for q := begin; q < end; q++ {
				if x := from.At(q, j, k); adds {
					want += x
				} else {
					want = max(want, x)
				}
			}
			near(t, fmt.Sprintf("%s row %d source %d level %d", what, i, j, k), r.At(i, j, k), want)
			all += want
		}
		info := scorer.Info{}
		if s, err := scorer.Lookup(from.Options["scorer"]); err == nil {
			info = s.Info()
		}
		row := r.Row(i, k)[r.Shape[1]:]
		if len(row) != i+1 {
			t.Errorf("%s row %d level %d: %d generated sources", what, i, k, len(row))
			continue
		}
		if !adds || info.Together { // which takes groups of generated tokens away as one
			continue
		}
		before, want := 0.0, 0.0
		for _, x := range row {
			before += x
		}
		for q := begin; q < end; q++ {
			for _, x := range from.Row(q, k)[from.Shape[1]:] {
				want += x
			}
		}
		near(t, what+" generated", before, want)
		near(t, what+" other mass", e.Methods[name].OtherMass[i*r.Shape[2]+k], want)
		if r.Residue != nil { // the parts and what is left are the whole
			sum := 0.0
			for q := begin; q < end; q++ {
				sum += from.Explained[q] - from.Residue[q]
			}
			near(t, what+" explained", r.Explained[i]-r.Residue[i], sum)
		}
	}
}

// Without values in all layers, a method of one layer has the layer of each token, and the sum is
// of those.
func TestTargetsOfOneLayer(t *testing.T) {
	m := fixture.Open(t, "", "go")
	opts := attribution.Options{Methods: []string{"raw", "value-zeroing"}, MaxTokens: 5}
	plain := fixture.Explain(t, m, story, opts)
	opts.Target = "answer"
	got := fixture.Explain(t, m, story, opts)
	for _, name := range opts.Methods {
		r, from := got.Methods[name], plain.Methods[name]
		for j := range r.Shape[1] {
			want := 0.0
			for q := range 5 {
				want += from.At(q, j, from.Level(q))
			}
			near(t, fmt.Sprint(name, j), r.Row(0, r.Level(0))[j], want)
		}
		several := slices.Min(from.Shown) != slices.Max(from.Shown)
		shown := r.LayerName(m.Info(), 0, r.Level(0))
		if several != (shown == "the layer of each token") {
			t.Errorf("%s: layers %v of tokens are shown as %s", name, from.Shown, shown)
		}
		if name == "raw" && !several {
			t.Error("all tokens have one layer: take another text")
		}
	}
}

// Occlusion of sentences, for a sentence of the answer, is what running the model by hand says: the
// sum over its tokens of what each loses without all tokens of the source.
func TestOcclusionOfSentences(t *testing.T) {
	m := fixture.Open(t, "", "go")
	for _, replacement := range []string{"delete", " lamp"} {
		opts := attribution.Options{
			Methods: []string{"occlusion"}, By: "sentence", Target: "sentence", Continuation: " john . mary has the key",
			Scoring: scorer.Options{Replacement: replacement},
		}
		got := fixture.Explain(t, m, story, opts)
		r := got.Methods["occlusion"]
		if r.Unit != "sum over the target's tokens of change of the log-probability" || r.Options["spans"] != "taken away together" || r.Options["by"] != "sentence" {
			t.Errorf("unit %q, options %v", r.Unit, r.Options)
		}
		tokens := fixture.Explain(t, m, story, attribution.Options{Methods: []string{"raw"}, MaxTokens: 1})
		spans := tokens.Prompt.Units().Sentences()
		prompt := len(tokens.Prompt.IDs)
		ids := slices.Clone(tokens.Prompt.IDs)
		for _, s := range got.Steps {
			ids = append(ids, s.IDs...)
		}
		other, err := m.Encode(replacement, trace.SpecialsOff)
		must(t, err)
		f := func(at int, without []int) float64 {
			var text []int
			for j, id := range ids[:at] {
				switch {
				case !slices.Contains(without, j):
					text = append(text, id)
				case replacement != "delete":
					text = append(text, other[0].ID)
				}
			}
			v, err := m.Predict(t.Context(), []trace.Query{{IDs: text, Objective: trace.Objective{
				Quantity: trace.LogProbability, Position: len(text) - 1, Token: ids[at],
			}}})
			must(t, err)
			return v[0]
		}
		groups := [][2]int{{0, 2}, {2, 6}}
		for i, g := range groups {
			sum := 0.0
			sources := [][]int{}
			for _, s := range spans {
				sources = append(sources, s.Tokens)
			}
			for _, before := range groups[:i+1] {
				var all []int
				for q := before[0]; q < before[1]; q++ {
					all = append(all, prompt+q)
				}
				sources = append(sources, all)
			}
			for k, source := range sources {
				want := 0.0
				for q := g[0]; q < g[1]; q++ {
					at := prompt + q
					seen := slices.Clone(source)
					seen = slices.DeleteFunc(seen, func(j int) bool { return j >= at })
					want += f(at, nil) - f(at, seen)
				}
				value := r.At(i, k, 0)
				if math.Abs(value-want) > 1e-4 { // float32 of texts in batches of other sizes
					t.Errorf("%s: sentence %d without source %d loses %v, want %v", replacement, i,
						k, value, want)
				}
			}
			for q := g[0]; q < g[1]; q++ {
				sum += f(prompt+q, nil)
			}
			if math.Abs(r.Explained[i]-sum) > 1e-4 {
				t.Errorf("sentence %d: explained %v, want the sum of log-probabilities %v", i,
					r.Explained[i], sum)
			}
		}
	}
}

// Of two words of which either is enough, occlusion finds neither alone, and both together.
func TestOcclusionOfRedundantWords(t *testing.T) {
	circuit, err := planted.Lookup("planted-redundant")
	must(t, err)
	m := fixture.Open(t, circuit.Name, "go")
	text := circuit.Texts(1, 1)[0]
	first, last := slices.Min(text.Evidence), slices.Max(text.Evidence)
	begin, _ := text.Span(first)
	_, end := text.Span(last)
	opts := attribution.Options{Methods: []string{"occlusion", "direct"}, MaxTokens: 1}
	for _, by := range []string{"word", fmt.Sprintf("%d:%d", begin, end)} {
		opts.By = by
		e := fixture.Explain(t, m, text.Prompt(), opts)
		r := e.Methods["occlusion"]
		sum, most := 0.0, 0.0
		for _, x := range r.Row(0, 0) {
			sum, most = sum+x, max(most, x)
		}
		if by == "word" && most > 1e-6 || by != "word" && most < 0.95*e.Steps[0].Probability {
			t.Errorf("by %s: the most is %v of %v", by, most, e.Steps[0].Probability)
		}
		if how := e.Methods["direct"].Options["spans"]; how != "sum of tokens" {
			t.Errorf("direct has %s", how)
		}
	}
}

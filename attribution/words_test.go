package attribution_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// The tokens of a word continue each other in a prompt as in an answer: letters, the points of
// numbers and apostrophes, and the bytes of one character, but no punctuation, no white space and
// no words of a script without spaces.
func TestContinuesWord(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string // the words, between bars
	}{
		{[]string{"I", " met", " G", "ret", "a", "."}, "I| met| Greta|."},
		{[]string{"a", "b", "\n", "c", " ", "1", " d", "."}, "ab|\n|c| |1| d|."},
		{[]string{"1", ",", "200", ",", " 3", ".", "5", ".", " x"}, "1,200|,| 3.5|.| x"},
		{[]string{"don", "'t", " (", "x", "_", "y", ")"}, "don't| (|x_y|)"},
		{[]string{"罗马", "斗兽", "\xe5", "\x9c", "\xba"}, "罗马|斗兽|场"},
		{slices.Repeat([]string{"ab"}, 13), strings.Repeat("ab", 13)},
		{[]string{"the", "Ġcat", "s"}, "the|Ġcats"},
	} {
		whole := strings.Join(c.texts, "")
		for _, answered := range []bool{false, true} {
			if !answered && strings.Contains(whole, "Ġ") {
				continue // the text of a prompt has no such marks
			}
			e := &attribution.Explanation{}
			for _, text := range c.texts {
				if answered {
					e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
					continue
				}
				at := len(e.Prompt.Text)
				e.Prompt.Text += text
				e.Prompt.Texts = append(e.Prompt.Texts, text)
				e.Prompt.IDs = append(e.Prompt.IDs, 0)
				e.Prompt.Special = append(e.Prompt.Special, false)
				e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{at, at + len(text)})
			}
			var got strings.Builder
			for j, joins := range e.ContinuesWord() {
				if j > 0 && !joins {
					got.WriteByte('|')
				}
				got.WriteString(c.texts[j])
			}
			if got.String() != c.want {
				t.Errorf("answered %v: got %q, want %q", answered, got.String(), c.want)
			}
		}
	}
}

// spell gives an explanation other texts of its tokens: those of a prompt, then of an answer.
func spell(e *attribution.Explanation, prompt, answer string) {
	p := promptOf(prompt)
	p.IDs = e.Prompt.IDs
	e.Prompt = p
	for t, text := range strings.Split(answer, "|") {
		e.Steps[t].Text = text
	}
}

// checkWords checks the rows of the words of an explanation against those of its tokens.
func checkWords(t *testing.T, e *attribution.Explanation, allLayers bool) *attribution.Explanation {
	t.Helper()
	w, err := e.Words(allLayers)
	must(t, err)
	if again, err := w.Words(allLayers); err != nil || again != w {
		t.Errorf("words of words: %v, another explanation: %t", err, again != w)
	}
	m := len(e.Prompt.Texts)
	columns := slices.Clone(w.Prompt.Tokens) // of tokens, those of a row's own tokens last
	for _, g := range w.Steps {
		if p := productOf(e.Steps[g.Tokens[0]:g.Tokens[1]]); math.Abs(p-g.Probability) > 1e-15 {
			t.Errorf("%q has probability %g, want %g", g.Text, g.Probability, p)
		}
		if e.Model.Reads() {
			continue
		}
		var own []int
		for t := g.Tokens[0]; t < g.Tokens[1]; t++ {
			own = append(own, m+t)
		}
		columns = append(columns, own)
	}
	for _, name := range e.Order {
		r, words := e.Methods[name], w.Methods[name]
		must(t, words.Check(len(w.Prompt.Texts)))
		for i, g := range w.Steps {
			for k := range words.Shape[2] {
				row := words.Row(i, k)
				want := make([]float64, len(row))
				for at := g.Tokens[0]; at < g.Tokens[1]; at++ {
					level := r.Level(at)
					if layer := words.Layers[k]; layer != attribution.LayerByToken {
						level = slices.Index(r.Layers, layer)
					}
					for j := range row {
						x := over(r.Row(at, level), columns[j], r.AddsUp)
						if want[j] += x; !r.AddsUp {
							want[j] = max(want[j]-x, x)
						}
					}
				}
				near(t, name+" "+g.Text, row, want, 1e-12)
			}
		}
	}
	return w
}

// over returns the sum of a row over some columns that it has, or the highest value.
func over(row []float64, columns []int, adds bool) (x float64) {
	for i, j := range columns {
		switch {
		case j >= len(row):
		case adds:
			x += row[j]
		case i == 0:
			x = row[j]
		default:
			x = max(x, row[j])
		}
	}
	return x
}

// productOf returns the probability of some tokens one after the other.
func productOf(steps []attribution.GeneratedToken) float64 {
	p := 1.0
	for _, g := range steps {
		p *= g.Probability
	}
	return p
}

// TestWords: the rows of words are those of their tokens put together, over words, for values that
// add up and those that do not, of all layers and of the layer of each token.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		name      string
		opts      attribution.Options
		allLayers bool
	}{
		{"shares", attribution.Options{Methods: []string{"raw", "rollout"}}, true},
		{"flow", attribution.Options{Methods: []string{"flow"}}, false},
		{"lift", attribution.Options{Methods: []string{"rollout"}, Lift: true}, true},
		{"chance", attribution.Options{Methods: []string{"random"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Continuation = "w7 w8 w9 w10 w11 w12"
			e, err := attribution.Explain(t.Context(), fakemodel.NewScored(3),
				"w1 w2 w3 w4 w5 w6", c.opts)
			must(t, err)
			spell(e, "See| Holl|in| Bridge| of| 1931", " the| Holl|in| Bridge|.|\n")
			found := &verdict.Verdict{Method: "raw"}
			e.Steps[2].Studies.Set(verdict.Name, found)
			w := checkWords(t, e, c.allLayers)
			if got := strings.Join(w.Prompt.Texts, "|"); got != "See|Hollin Bridge|of|1931" {
				t.Errorf("columns %q", got)
			}
			if got := rows(w); got != " the[8]  Hollin Bridge[9 10 11] .[12] \n[13]" {
				t.Errorf("rows %q", got)
			}
			name := w.Steps[1]
			if words := w.Prompt.Words; !slices.Equal(words, w.Prompt.Texts) ||
				name.Word != "Hollin Bridge" || w.Steps[2].Word != "" {
				t.Errorf("words %q of the prompt, %q and %q of the answer", words, name.Word,
					w.Steps[2].Word)
			}
			if attribution.Finding[verdict.Verdict](name.Studies, verdict.Name) != found ||
				name.Alternatives[0].Text != "w8" || !name.Forced || name.Special {
				t.Errorf("the row of a name: %+v", name)
			}
			if e.Steps[1].Studies != nil || e.Steps[2].Studies == nil {
				t.Error("the explanation of tokens was changed")
			}
		})
	}
}

// TestWordsOfModels: the words that a decoder or an encoder reads and writes have the sums of their
// tokens, by methods of every kind.
func TestWordsOfModels(t *testing.T) {
	for name, methods := range map[string][]string{
		"gpt2": {"rollout", "flow", "value-zeroing", "direct", "occlusion", "gradient-x-input"},
		"bert": {"raw", "rollout", "value-zeroing", "gradient-x-input"},
	} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			opts := attribution.Options{Methods: methods, MaxTokens: 6}
			if g.model.Info().Reads() {
				opts.MaxTokens, opts.Positions = 0, []int{2, 4}
			}
			e, err := attribution.Explain(t.Context(), g.model, "recorded", opts)
			must(t, err)
			pieces := strings.Repeat(" the| Holl|in| Bridge|.| 19|31|", len(e.Prompt.IDs))
			texts := strings.Split(pieces, "|")
			spell(e, strings.Join(texts[:len(e.Prompt.IDs)], "|"),
				strings.Join(texts[1:len(e.Steps)+1], "|"))
			w := checkWords(t, e, false)
			want := []string{"the", "Hollin Bridge", "", "1931"}
			if got := w.Prompt.Words[:4]; !slices.Equal(got, want) {
				t.Errorf("words %q", got)
			}
			for at, g := range w.Steps {
				if p := g.Position; p != nil && !slices.Contains(
					w.Prompt.Tokens[*p], *e.Steps[at].Position) {
					t.Errorf("position %d became word %d", *e.Steps[at].Position, *p)
				}
			}
		})
	}
}

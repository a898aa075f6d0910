package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/corpus"
)

// manifest has a method with two layers and one whose tokens have a layer of their own.
func manifest() *corpus.Manifest {
	return &corpus.Manifest{Methods: []corpus.Method{{Name: "deep"}, {Name: "own"}}}
}

// three is a record with a control token, three words and two generated tokens.
func three() *corpus.Result {
	return &corpus.Result{
		Text: "ab cd ef", PromptIDs: []int32{0, 1, 2, 3},
		PromptTexts: []string{"<bos>", "ab", " cd", " ef"},
		PromptBegin: []int32{0, 0, 2, 5}, PromptEnd: []int32{0, 2, 5, 8},
		IDs: []int32{7, 8}, Texts: []string{" x", " y"}, Probability: []float64{0.5, 0.25},
		Methods: []corpus.Scores{{
			// Negative values count by their magnitude.
			Scores:    []float32{0.5, 0.125, -0.25, 0.125, 1, 0, 0, 2},
			Generated: []float32{0, 1}, Shown: []int32{1, 1}, Layers: []int32{0, 1},
			Totals: []float32{0.25, 0.5, 0.75, 3}, Firsts: []float32{0.125, 0.5, 0.375, 1},
		}, {
			Scores:    []float32{0, 0, 0, 0, 0, 3, 1, 0},
			Generated: []float32{0, 0}, Shown: []int32{4, 5}, Layers: []int32{-1},
			Totals: []float32{0, 4}, Firsts: []float32{0, 0},
		}},
	}
}

// near fails the test if a number is not the expected one.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The counts of a record whose shares can be computed by hand.
func TestScan(t *testing.T) {
	s := newScan(manifest(), Options{Top: 5}, 0)
	if err := s.add(corpus.Record{ID: "1", File: "f", Number: 1}, three()); err != nil {
		t.Fatal(err)
	}
	m := &s.methods[0]
	near(t, "strongest", m.strongest.value(), (0.25+0.5)/2)
	near(t, "first", m.first.value(), (0.5+0.25)/2)
	near(t, "prompt", m.prompt.value(), (1+0.75)/2)
	near(t, "prompt of the second token", m.steps[1].value(), 0.75)
	if m.strongest.counts[5] != 1 || m.strongest.counts[10] != 1 || m.prompt.counts[bins-1] != 1 {
		t.Errorf("bins %v and %v", m.strongest.counts, m.prompt.counts)
	}
	near(t, "totals of layer 0", m.layers[0].totals.value(), 0.5)
	near(t, "totals of layer 1", m.layers[1].totals.value(), 1.75)
	near(t, "firsts of layer 0", m.layers[0].firsts.value(), 0.25)
	near(t, "firsts of layer 1", m.layers[1].firsts.value(), 0.75)
	// Three tokens without the control token: each covers a third of the places.
	third := []float64{0.125 / 2, 0.25 / 2, (0.125 + 0.5) / 2}
	whole := 3.0 / bins
	near(t, "first place", m.places[0].value(), third[0]*whole)
	near(t, "place 10", m.places[10].value(), third[1]*whole)
	near(t, "last place", m.places[bins-1].value(), third[2]*whole)
	// Place 6 is two thirds of the first token and one third of the second.
	near(t, "place 6", m.places[6].value(), third[0]*whole*2/3+third[1]*whole/3)
	near(t, "last token", m.ends[0].value(), third[2])
	near(t, "third last token", m.ends[2].value(), third[0])
	if m.ends[3].n != 0 {
		t.Error("a prompt of three tokens has a fourth last one")
	}
	own := &s.methods[1]
	if own.silent != 1 || own.prompt.n != 1 || own.several {
		t.Errorf("the second method has %d rows without values and %d with, several %v",
			own.silent, own.prompt.n, own.several)
	}
	near(t, "totals of the token's own layer", own.layers[5].totals.value(), 4)
	if len(s.top.all) != 1 || s.tokens != 2 || s.prompts != 4 {
		t.Fatalf("%d texts, %d and %d tokens", len(s.top.all), s.tokens, s.prompts)
	}
	top := s.top.all[0]
	near(t, "share of the text", top.Share, 0.5)
	if top.Predicted != "y" || top.Probability != 0.25 || top.picture.chosen != 1 {
		t.Errorf("the text is listed for %q with %v", top.Predicted, top.Probability)
	}
	if got := top.picture.shares[7]; got != 2048 { // 0.5 of 4095, rounded
		t.Errorf("the picture has %d, want 2048", got)
	}
	if !top.picture.prompt[0].sink || top.picture.prompt[1].sink {
		t.Error("the control token alone is a sink")
	}
}

// Words are summed over their tokens, and over each other without counting a token twice.
func TestScanWords(t *testing.T) {
	s := newScan(manifest(), Options{Top: 5, Words: []string{"cd ef", "ef", "c", "gone"}}, 0)
	if err := s.add(corpus.Record{ID: "1"}, three()); err != nil {
		t.Fatal(err)
	}
	near(t, "share", s.top.all[0].Share, 0.5)
	near(t, "mean of cd ef", s.words[0].Shares.value(), (0.375+0.5)/2)
	near(t, "mean of ef", s.words[1].Shares.value(), (0.125+0.5)/2)
	near(t, "largest of ef", s.words[1].largest, 0.5)
	if s.words[2].Texts != 0 || s.words[3].Texts != 0 {
		t.Errorf("a part of a word is found, or a word that is in no text: %+v", s.words)
	}
	tokens := s.top.all[0].picture.prompt
	if tokens[1].marked || !tokens[2].marked || !tokens[3].marked {
		t.Errorf("marked tokens: %+v", tokens)
	}
}

func TestOccurrences(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       []int
	}{
		{"not nothing not", "not", []int{0, 12}},
		{"knot", "not", nil},
		{"not_", "not", nil},
		{"a not, b", "not", []int{2}},
		{"Not", "not", nil},
		{"été tés", "té", nil},
		{"世界世", "世", []int{0, 6}},
		{"<b> b", "<b>", []int{0}},
		{"a\u0301 a", "a", []int{4}},
		{"ha haha ha", "ha", []int{0, 8}},
		{"", "a", nil},
	} {
		if got := occurrences(c.text, c.word); !slices.Equal(got, c.want) {
			t.Errorf("occurrences(%q, %q) = %v, want %v", c.text, c.word, got, c.want)
		}
	}
}

// The list has the best texts whatever the order in which they come, and equal shares in the order
// of the input.
func TestTop(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}} {
		h := topTexts{limit: 3}
		for _, i := range order {
			x := &listed{Share: float64(i / 2), file: "f", number: int64(i)}
			h.add(x, func(x *listed) { x.ID = fmt.Sprint(x.number) })
		}
		var ids []string
		for _, x := range h.all {
			ids = append(ids, x.ID)
		}
		if got := strings.Join(ids, " "); got != "6 7 4" {
			t.Errorf("the best of %v are %s, want 6 7 4", order, got)
		}
	}
}

// Reasons that differ in numbers are one, and a corpus with a million reasons needs no more memory
// than one with a thousand.
func TestReasons(t *testing.T) {
	s := newScan(manifest(), Options{Top: 1}, 0)
	for i := range 3 {
		s.addReason(fmt.Sprintf("the text has %d tokens; the limit is 16", 100*i))
	}
	names := newScan(manifest(), Options{Top: 1}, 0)
	const named = "the line is not valid UTF-8; smollm2 and id_17a say so"
	names.addReason(named)
	names.found.Errors = 1
	if got := names.sortedReasons()[0]; got != named {
		t.Errorf("a reason with digits in names is %q", got)
	}
	if page := (&writer{scan: names}).errors(); strings.Contains(page, "stands for") {
		t.Errorf("nothing is left out, and the page says %q", page)
	}
	letters := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6",
		"g", "7", "h", "8", "i", "9", "j")
	for i := range 2 * maxReasons {
		s.addReason(letters.Replace(fmt.Sprint(i)) + strings.Repeat("x", 2*reasonSize))
	}
	if got := s.sortedReasons()[0]; got != "the text has N tokens; the limit is N" {
		t.Errorf("the most frequent reason is %q", got)
	}
	if len(s.reasons) != maxReasons || s.others != maxReasons+1 {
		t.Errorf("%d reasons and %d others", len(s.reasons), s.others)
	}
}

// A text that is longer than a picture is cut around the token that it is listed for, and a row
// whose lists do not fit is an error.
func TestLongText(t *testing.T) {
	const n, m, strong = 50, 1000, 700
	r := &corpus.Result{Text: strings.Repeat("a ", m)}
	x := corpus.Scores{Layers: []int32{0}}
	for j := range m {
		r.PromptIDs, r.PromptTexts = append(r.PromptIDs, 1), append(r.PromptTexts, "a")
		r.PromptBegin = append(r.PromptBegin, int32(2*j))
		r.PromptEnd = append(r.PromptEnd, int32(2*j+1))
	}
	for t := range n {
		r.IDs, r.Texts = append(r.IDs, 1), append(r.Texts, "b")
		r.Probability = append(r.Probability, 0.5)
		row := make([]float32, m)
		row[0], row[strong] = 1, float32(t+1)/100
		x.Scores = append(x.Scores, row...)
		x.Generated, x.Shown = append(x.Generated, 0), append(x.Shown, 0)
		x.Totals, x.Firsts = append(x.Totals, 1), append(x.Firsts, 1)
	}
	r.Methods = []corpus.Scores{x, x}
	s := newScan(manifest(), Options{Top: 1}, 1)
	if err := s.add(corpus.Record{}, r); err != nil {
		t.Fatal(err)
	}
	p := s.top.all[0].picture
	if len(p.prompt) != maxPrompt || p.before != 550 || p.after != 150 ||
		len(p.generated) != maxGenerated || p.earlier != 18 || p.later != 0 || p.chosen != 31 ||
		len(p.shares) != maxPrompt*maxGenerated {
		t.Errorf("%d of the prompt between %d and %d, %d generated between %d and %d, chosen %d",
			len(p.prompt), p.before, p.after, len(p.generated), p.earlier, p.later, p.chosen)
	}
	r.Methods[1].Scores = x.Scores[1:]
	err := s.add(corpus.Record{File: "f.txt", Number: 3}, r)
	if err == nil || !strings.Contains(err.Error(), "record 3 of f.txt: its lists do not fit") {
		t.Errorf("lists that do not fit: %v", err)
	}
}

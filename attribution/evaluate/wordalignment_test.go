package evaluate

import (
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestAlignmentErrorRate: three links are found, of which one is sure and one more is possible, and
// two are sure: 1 - (1 + 2) / (3 + 2) = 0.4. What is sure is possible without being named twice.
func TestAlignmentErrorRate(t *testing.T) {
	sure, possible := [][2]int{{0, 0}, {1, 1}}, [][2]int{{1, 2}}
	for _, c := range []struct {
		name  string
		found [][2]int
		want  float64
	}{
		{"one sure, one possible, one wrong", [][2]int{{0, 0}, {1, 2}, {2, 1}}, 0.4},
		{"a link twice", [][2]int{{0, 0}, {0, 0}, {1, 2}, {2, 1}}, 0.4},
		{"all sure links", [][2]int{{0, 0}, {1, 1}}, 0},
		{"all links", [][2]int{{0, 0}, {1, 1}, {1, 2}}, 0},
		{"one sure link alone", [][2]int{{1, 1}}, 1 - 2.0/3},
		{"source and target swapped", [][2]int{{2, 1}}, 1},
		{"none", nil, 1},
	} {
		if got := AlignmentErrorRate(c.found, sure, possible); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := AlignmentErrorRate(nil, nil, nil); !math.IsNaN(got) {
		t.Errorf("without any link: %v", got)
	}
}

// TestWordAt: words are counted by the white space before them.
func TestWordAt(t *testing.T) {
	const text = " la  reina vieja"
	for at, want := range map[int]int{1: 0, 2: 0, 5: 1, 9: 1, 11: 2, 15: 2} {
		if got := wordAt(text, at); got != want {
			t.Errorf("byte %d is of word %d, want %d", at, got, want)
		}
	}
	const others = "в садах à toi" // х and à end in a byte that is a space by itself
	for at, want := range map[int]int{9: 1, 11: 1, 14: 2, 17: 3} {
		if got := wordAt(others, at); got != want {
			t.Errorf("byte %d is of word %d, want %d", at, got, want)
		}
	}
	if got := wordAt("садах.", 10); got != 0 {
		t.Errorf("the full stop is of word %d, want 0", got)
	}
}

// TestWordsIn: a span with white space at its ends is of the words inside.
func TestWordsIn(t *testing.T) {
	const text = " la  reina vieja "
	for span, want := range map[[2]int][]int{
		{0, 3}: {0}, {4, 9}: {1}, {6, 13}: {1, 2}, {3, 5}: nil, {16, 17}: nil, {0, 17}: {0, 1, 2},
	} {
		if got := wordsIn(text, span); !slices.Equal(got, want) {
			t.Errorf("span %v is of the words %v, want %v", span, got, want)
		}
	}
}

// TestLinks: a word of the source has the sum of its tokens, with their signs, over the tokens of
// a word of the target. Control tokens belong to no word, and a row of zeros has no link.
func TestLinks(t *testing.T) {
	sources, targets := []int{-1, 0, 1, 1, 2, -1}, []int{0, 0, 1, 2, -1}
	r := &attribution.Result{
		Layers: []int{3}, Shape: [3]int{5, 6, 1}, Rows: [][]float64{
			{9, 3, 2, 2, 1, 9},       // 3, 4 and 1
			{9, 2, 1, -1, 1, 9, 5},   // and with these 5, 4 and 2
			{9, 1, 3, -3, -2, 9, 5},  // 1, 0 and -2, which is the largest in size
			{9, 0, 0, 0, 0, 9, 5, 5}, // none
			{0, 9, 9, 9, 9, 0, 0, 0}, // the end of the target
		},
	}
	want := [][2]int{{0, 0}, {1, 0}}
	for _, level := range []int{0, -1} {
		scores := wordScores(r, level, sources, targets, [2]int{3, 3})
		if got := links(scores, [2]int{3, 3}); !slices.Equal(got, want) {
			t.Errorf("level %d: %v, want %v", level, got, want)
		}
	}
}

// TestRecall: of the first word one source word is proven, which has most of its row; of the second
// two, of which one is among the two largest; of the third nothing; of the fourth one, which has
// the largest size and speaks against it. That is 2 of 4.
func TestRecall(t *testing.T) {
	scores := []float64{
		1, 3, 2,
		5, 4, 3,
		0, 0, 9,
		-9, 0, 0,
	}
	words := [2]int{4, 3}
	if got := recall(scores, words, [][]int{{1}, {1, 2}, nil, {0}}); got != 0.5 {
		t.Errorf("%v of the evidence is found, want 0.5", got)
	}
	for want, evidence := range map[float64][][]int{
		1: {{1}, {0, 1}, {2}}, 0: {{0}, {2}, {1}},
	} {
		if got := recall(scores, words, evidence); got != want {
			t.Errorf("%v of %v is found, want %v", got, evidence, want)
		}
	}
	if got := recall(scores, words, [][]int{nil, nil}); !math.IsNaN(got) {
		t.Errorf("without evidence: %v", got)
	}
}

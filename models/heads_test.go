package models_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// recorded returns the first text of a golden, with its token types if the pass has some, and the
// logits that the reference computes: a row for the text, or one for each token.
func recorded(t *testing.T, name, pass string, rows bool) (ids, types []int, logits [][]float32) {
	t.Helper()
	f, err := checkpoint.Open("testdata/goldens/" + name + "/golden.safetensors")
	must(t, err)
	defer f.Close()
	first := func(name string) (row []int) {
		all, err := f.Int64(name)
		must(t, err)
		for _, x := range all[:len(all)/2] { // of two texts
			row = append(row, int(x))
		}
		return row
	}
	if ids = first("input_ids"); pass == "types." {
		types = first("token_type_ids")
	}
	flat, err := f.Float32(pass + "logits")
	must(t, err)
	flat = flat[:len(flat)/2]
	n := len(flat)
	if rows {
		n /= len(ids)
	}
	return ids, types, slices.Collect(slices.Chunk(flat, n))
}

// said is a prediction, as text.
func said(at int, text string, p float64) string { return fmt.Sprintf("%d %s %.4f", at, text, p) }

// predictions returns what a model predicts of a text.
func predictions(t *testing.T, name string, ids []int, ask trace.Ask) (all []string) {
	t.Helper()
	for _, step := range generate(t, open(t, "testdata/goldens/"+name), ids, ask) {
		p := step.Next.Probability
		if step.Next.Unscored {
			p = 0
		}
		all = append(all, said(step.Next.Position, step.Next.Token.Text, p))
	}
	return all
}

func sigmoid(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

// softmaxed is the softmax of scores, by its definition.
func softmaxed(scores []float32) []float64 {
	sum := 0.0
	for _, x := range scores {
		sum += math.Exp(float64(x))
	}
	p := make([]float64, len(scores))
	for i, x := range scores {
		p[i] = math.Exp(float64(x)) / sum
	}
	return p
}

// TestHeads: each head predicts what follows from the logits that the reference recorded.
func TestHeads(t *testing.T) {
	check := func(t *testing.T, name string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, c := range []struct {
		name, pass string
		at         int // where it is read: the last token of the decoders' texts is padding
	}{
		{"bert_multilabel", "", 0},
		{"bert_multilabel", "types.", 0},
		{"gpt2_cls", "", 10},
	} {
		ids, types, logits := recorded(t, c.name, c.pass, false)
		var want []string
		order := []int{0, 1, 2, 3}[:len(logits[0])]
		slices.SortStableFunc(order, func(a, b int) int {
			if logits[0][a] > logits[0][b] {
				return -1
			}
			return 1
		})
		for i, k := range order {
			if p := sigmoid(logits[0][k]); p > 0.5 || i == 0 {
				want = append(want, said(c.at, fmt.Sprintf("LABEL_%d", k), p))
			}
		}
		check(t, c.name+" "+c.pass, want, predictions(t, c.name, ids, trace.Ask{Types: types}))
	}
	for _, c := range []struct {
		name, pass string
		at         int
	}{{"bert_reranker", "types.", 0}, {"qwen3_reward", "", 10}} {
		ids, types, logits := recorded(t, c.name, c.pass, false)
		want := []string{said(c.at, fmt.Sprintf("%.4g", logits[0][0]), 0)}
		check(t, c.name, want, predictions(t, c.name, ids, trace.Ask{Types: types}))
	}
	for name, at := range map[string]int{"llama_cls": 10, "gemma2_cls": 10, "bloom_cls": 10, "opt_cls": 10} {
		ids, _, logits := recorded(t, name, "", false)
		p := softmaxed(logits[0])
		best := slices.Index(p, slices.Max(p))
		check(t, name, []string{said(at, fmt.Sprintf("LABEL_%d", best), p[best])},
			predictions(t, name, ids, trace.Ask{}))
	}
}

// TestTokenClasses: without positions, the tokens that are explained are those whose class is not
// "O" or, where no class has that name, not the class of most tokens.
func TestTokenClasses(t *testing.T) {
	for _, c := range []struct {
		name, pass string
		label      func(k int) string
	}{
		{"bert_tokens", "types.", func(k int) string {
			return []string{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}[k]
		}},
		{"roberta_tokens", "", func(k int) string { return fmt.Sprintf("LABEL_%d", k) }},
		{"qwen2_tokens", "", func(k int) string { return fmt.Sprintf("LABEL_%d", k) }},
		{"gpt2_tokens", "", func(k int) string { return fmt.Sprintf("LABEL_%d", k) }},
	} {
		ids, types, logits := recorded(t, c.name, c.pass, true)
		count := map[int]int{}
		class := make([]int, len(ids))
		for i, row := range logits {
			class[i] = slices.Index(row, slices.Max(row))
			count[class[i]]++
		}
		usual := 0
		for k := range count {
			if count[k] > count[usual] || count[k] == count[usual] && k < usual {
				usual = k
			}
		}
		if c.label(0) == "O" {
			usual = 0
		}
		var want []string
		for i, k := range class {
			if k != usual {
				want = append(want, said(i, c.label(k), softmaxed(logits[i])[k]))
			}
		}
		got := predictions(t, c.name, ids, trace.Ask{Types: types})
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestSpans: the answer is the pair of a start and an end with the largest sum of scores, the end
// not before the start, both within the answers; a probability is among these positions.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		name, pass string
		within     [2]int
	}{
		{"bert_qa", "", [2]int{}}, {"bert_qa", "types.", [2]int{6, 11}},
		{"distilbert_qa", "", [2]int{3, 9}}, {"electra_qa", "types.", [2]int{6, 12}},
		{"llama_qa", "", [2]int{0, 12}}, {"llama_qa", "", [2]int{5, 6}},
	} {
		ids, types, logits := recorded(t, c.name, c.pass, true)
		from, to := c.within[0], c.within[1]
		if to == 0 {
			to = len(ids)
		}
		start, end := from, from
		for i := from; i < to; i++ {
			for j := i; j < to; j++ {
				if logits[i][0]+logits[j][1] > logits[start][0]+logits[end][1] {
					start, end = i, j
				}
			}
		}
		column := func(k int) (scores []float32) {
			for i := from; i < to; i++ {
				scores = append(scores, logits[i][k])
			}
			return scores
		}
		want := []string{
			said(start, "start", softmaxed(column(0))[start-from]),
			said(end, "end", softmaxed(column(1))[end-from]),
		}
		got := predictions(t, c.name, ids, trace.Ask{Types: types, Answers: c.within})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s within %v (-want +got):\n%s", c.name, c.within, diff)
		}
		chosen := predictions(t, c.name, ids, trace.Ask{
			Types: types, Answers: c.within, Positions: []int{from, to - 1},
		})
		want = []string{
			said(from, "start", softmaxed(column(0))[0]),
			said(to-1, "end", softmaxed(column(1))[to-1-from]),
		}
		if diff := cmp.Diff(want, chosen); diff != "" {
			t.Errorf("%s, positions chosen (-want +got):\n%s", c.name, diff)
		}
	}
}

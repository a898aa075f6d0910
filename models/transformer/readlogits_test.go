package transformer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestReadLogits: from any position on, the scores are those that PyTorch recorded.
func TestReadLogits(t *testing.T) {
	ctx := context.Background()
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		want, V := g.Recorded(t, "logits"), g.model.Spec.Vocab
		for _, first := range []int{0, len(g.ids) - 3} {
			at := first
			use := func(position int, got []float32) error {
				if position != at {
					t.Errorf("position %d, want %d", position, at)
				}
				check(t, fmt.Sprintf("scores after token %d", at), got, want[at*V:(at+1)*V],
					logitsTol)
				at++
				return nil
			}
			must(t, g.model.ReadLogits(ctx, g.ids, nil, first, use))
			if at != len(g.ids) {
				t.Errorf("from %d on, read to %d of %d tokens", first, at, len(g.ids))
			}
		}
	})
}

// TestReadLogitsOfLongText: a text that takes several passes, and several parts of the head, has
// every position once, and the scores of a pass over the whole.
func TestReadLogitsOfLongText(t *testing.T) {
	g := openGolden(t, "bloom") // which has no limit of its context
	var ids []int
	for i := range 300 {
		ids = append(ids, g.ids[i%len(g.ids)])
	}
	for _, first := range []int{5, 290} {
		next, at := ids[first+1:], first
		want := whole(t, g.model, ids[:first+1], next)
		must(t, g.model.ReadLogits(context.Background(), ids, nil, first,
			func(position int, logits []float32) error {
				if position != at {
					t.Fatalf("position %d, want %d", position, at)
				}
				if at++; position+1 < len(ids) {
					near(t, "next token", []float64{transformer.LogProbability(logits, ids[position+1])},
						want[position-first:][:1])
				}
				return nil
			}))
		if at != len(ids) {
			t.Errorf("read to %d of %d tokens", at, len(ids))
		}
	}
}

// TestReadLogitsRefusals: a position outside of the text, and a model that does not generate. The
// error of use is returned, and ends the reading.
func TestReadLogitsRefusals(t *testing.T) {
	g, stop := openGolden(t, "gpt2"), errors.New("enough")
	calls := 0
	use := func(int, []float32) error {
		calls++
		return stop
	}
	if err := g.model.ReadLogits(context.Background(), g.ids, nil, 0, use); !errors.Is(err, stop) ||
		calls != 1 {
		t.Errorf("%d calls, error %v; want 1 and that of use", calls, err)
	}
	for name, c := range map[string]struct {
		golden string
		first  int
		say    string
	}{
		"before the text": {"gpt2", -1, "position -1 is not in 0..11"},
		"after the text":  {"gpt2", 12, "position 12 is not in 0..11"},
		"an encoder":      {"bert", 0, "bert is an encoder"},
	} {
		g := openGolden(t, c.golden)
		err := g.model.ReadLogits(context.Background(), g.ids, nil, c.first, use)
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.say)
		}
	}
}

// TestScoresOfInseq: KL and entropy of an answer with and without a context are those of Inseq, and
// the other scores those of PyTorch.
func TestScoresOfInseq(t *testing.T) {
	text, err := os.ReadFile("../testdata/context/context.json")
	must(t, err)
	var recorded struct {
		Context, Current, Answer []int
		Models                   map[string]struct {
			KL, Entropy, Gain, Surprisal []float64
			Rank                         []int
		}
	}
	must(t, json.Unmarshal(text, &recorded))
	if len(recorded.Models) != 5 {
		t.Fatalf("%d models are recorded", len(recorded.Models))
	}
	answer := recorded.Answer
	for name, want := range recorded.Models {
		m := openGolden(t, name).model
		read := func(prompt []int) (all [][]float32) {
			ids := slices.Concat(prompt, answer[:len(answer)-1])
			must(t, m.ReadLogits(context.Background(), ids, nil, len(prompt)-1,
				func(_ int, logits []float32) error {
					all = append(all, slices.Clone(logits))
					return nil
				}))
			return all
		}
		with := read(slices.Concat(recorded.Context, recorded.Current))
		without := read(recorded.Current)
		for i, id := range answer {
			entropy, surprisal, rank := rowmath.Scores(with[i], id)
			_, other, _ := rowmath.Scores(without[i], id)
			kl := rowmath.Divergence(with[i], without[i])
			for what, d := range map[string]float64{
				"KL": kl - want.KL[i], "entropy": entropy - want.Entropy[i],
				"surprisal": surprisal - want.Surprisal[i], "gain": other - surprisal - want.Gain[i],
				"rank": float64(rank - want.Rank[i]),
			} {
				if math.Abs(d) > logitsTol { // scores are differences of logits
					t.Errorf("%s, token %d: %s is off by %v", name, i, what, d)
				}
			}
		}
	}
}

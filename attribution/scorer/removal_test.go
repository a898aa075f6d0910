package scorer_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// replacer is a fake with a mask.
type replacer struct{ *fakemodel.Model }

func (replacer) Replacement(kind string) (int, bool) { return 9, kind == "mask" }

// Several tokens are removed at once, and the predicting position moves with them.
func TestRemovalWithout(t *testing.T) {
	q := trace.Query{IDs: []int{1, 2, 3, 4}, Objective: trace.Objective{Position: 3, Token: 5}}
	for _, c := range []struct {
		kind   string
		tokens []int
		ids    string
		at     int
	}{
		{"mask", []int{2, 0}, "[9 2 9 4]", 3},
		{"mask", []int{0, 1, 2, 3}, "[9 9 9 9]", 3},
		{"w6", []int{3}, "[1 2 3 7]", 3},
		{"delete", []int{0, 2}, "[2 4]", 1},
		{"delete", []int{3}, "[1 2 3]", 2},
		{"delete", []int{3, 1, 2}, "[1]", 0},
		{"delete", []int{0, 1, 2, 3}, "[4]", 0},
		{"delete", nil, "[1 2 3 4]", 3},
	} {
		r, err := scorer.NewRemoval(t.Context(), replacer{fakemodel.New(1, fakemodel.Evenly)}, q,
			scorer.Options{Replacement: c.kind})
		must(t, err)
		got := r.Without(c.tokens...)
		if fmt.Sprint(got.IDs) != c.ids || got.Position != c.at ||
			got.Quantity != trace.Probability {
			t.Errorf("%s %v: ids %v, position %d, %s; want %s, %d", c.kind, c.tokens, got.IDs,
				got.Position, got.Quantity, c.ids, c.at)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4}, q.IDs); diff != "" {
		t.Errorf("the query changed (-want +got):\n%s", diff)
	}
	if _, err := scorer.NewRemoval(t.Context(), replacer{fakemodel.New(1, fakemodel.Evenly)}, q,
		scorer.Options{Replacement: "unknown"}); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// An encoder is asked at its position, which cannot be deleted.
func TestRemovable(t *testing.T) {
	m := fakemodel.NewEncoder(1, fakemodel.Evenly)
	q := trace.Query{IDs: []int{1, 2, 3}, Objective: trace.Objective{Position: 1}}
	r, err := scorer.NewRemoval(t.Context(), m, q, scorer.Options{Replacement: "delete"})
	must(t, err)
	if diff := cmp.Diff([]int{0, 2}, r.Removable()); diff != "" {
		t.Errorf("removable (-want +got):\n%s", diff)
	}
	if got := r.Without(0, 2); fmt.Sprint(got.IDs, got.Position) != "[2] 0" {
		t.Errorf("ids %v, position %d", got.IDs, got.Position)
	}
}

// TestRemovalRefusals: positions outside the text panic with what is wrong, and soft removal
// refuses a mean over no draws.
func TestRemovalRefusals(t *testing.T) {
	q := trace.Query{IDs: []int{1, 2, 3}, Objective: trace.Objective{Position: 2}}
	r, err := scorer.NewRemoval(t.Context(), fakemodel.NewLinear(), q, scorer.Options{})
	must(t, err)
	for _, draws := range []int{0, -1} {
		_, err := r.Soft(t.Context(), []float64{1, 1, 1}, draws)
		if !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%d draws: error %v, want a usage error", draws, err)
		}
	}
	if _, err := r.Soft(t.Context(), []float64{1}, 1); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("one probability: error %v, want a usage error", err)
	}
	for at, want := range map[int]string{
		3: "attribution: removal of tokens [3] of 3", -1: "attribution: removal of tokens [-1] of 3",
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			r.Without(at)
		}()
	}
}

package figures_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/reproduction"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// sloped is a model whose gradients are given, or are moved by a number for each position.
type sloped struct {
	*models.Model
	given []float32
}

func (m sloped) Gradients(
	ctx context.Context, queries []trace.Query, rule trace.Backward,
) ([]trace.Gradient, error) {
	if m.given != nil {
		return []trace.Gradient{{Data: m.given}}, nil
	}
	got, err := m.Model.Gradients(ctx, queries, rule)
	if err != nil {
		return nil, err
	}
	d := m.Info().Width
	for i := range got[0].Data {
		got[0].Data[i] += float32(i/d) / 10
	}
	return got, nil
}

// A gradient (3,-4) has the norm 5, and its components add up to -1, whose size is 1. The control
// token is left out.
func TestGradientSumsAndNorms(t *testing.T) {
	m := sloped{open(t, tiny.VerbName), []float32{9, 9, 3, -4, 1, 1, -2, -1}}
	norms, sums, err := figures.Gradients(t.Context(), m, []trace.Token{
		{Special: true}, {}, {}, {},
	})
	must(t, err)
	for i, want := range [][2]float64{{5, 1}, {math.Sqrt2, 2}, {math.Sqrt(5), 3}} {
		if len(norms) != 3 || math.Abs(norms[i]-want[0]) > 1e-12 || sums[i] != want[1] {
			t.Fatalf("norms %v and sums %v; want %v for word %d", norms, sums, want, i)
		}
	}
}

// Sums that are rounding are not compared, and a remark says so; others have a table of their own.
func TestGradientSumTable(t *testing.T) {
	table := func(r *reproduction.Reproduction) *reproduction.Table {
		for i := range r.Tables {
			if r.Tables[i].Name == "sums" {
				return &r.Tables[i]
			}
		}
		return nil
	}
	r, err := makeOne(t.Context(), t, "s1-table2", open(t, tiny.VerbName))
	must(t, err)
	const rounding = "the sum is below 0.0001 of the norm for every word"
	if note := strings.Join(r.Notes, "\n"); table(r) != nil || !strings.Contains(note, rounding) {
		t.Errorf("sums of rounding: table %v, remarks %s", table(r), note)
	}
	r, err = makeOne(t.Context(), t, "s1-table2", sloped{Model: open(t, tiny.VerbName)})
	must(t, err)
	// The sums rise with the position, so the first layer of the two is the rank correlation of
	// attention with the position: the same number for rollout and flow, and another one than with
	// the norms.
	sums := table(r)
	if sums == nil || len(sums.Rows) != 3 || len(sums.Rows[0]) != 1+layersOf(r) {
		t.Fatalf("the table of sums is %v", sums)
	}
	if sums.Rows[1][1] != sums.Rows[2][1] || !strings.Contains(sums.Rows[1][1], " ± ") {
		t.Errorf("after the first layer rollout has %q and flow %q", sums.Rows[1][1],
			sums.Rows[2][1])
	}
}

// layersOf is the number of layers that the first table of a figure has.
func layersOf(r *reproduction.Reproduction) int { return len(r.Tables[0].Columns) - 2 }

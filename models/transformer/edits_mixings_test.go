package transformer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// editedRowTol bounds rows under edits, as parts of the largest number that they are taken from,
// against two passes, of which both round.
const editedRowTol = 3e-6 // worst seen 9e-7

// editedMixings are those that are computed from what a target gets from each source.
var editedMixings = []trace.MixingAsk{
	{Name: "value-zeroing", AllRows: true}, {Name: "value-zeroing-euclidean", AllRows: true},
	{Name: "norms", AllRows: true}, {Name: "norms-residual", AllRows: true},
	{Name: "norms-residual-norm", AllRows: true}, {Name: "alti", AllRows: true},
	{Name: "globenc", AllRows: true},
}

// editedRows are the rows of a mixing, by layer and target, of all ways in which a golden computes
// them under edits: of a text at once, or of a prompt and of tokens on the cache, of all layers and
// of one layer alone.
func (g *golden) editedRows(t *testing.T, edits []trace.Edit,
	use func(what string, k, l, target int, row []float32),
) {
	t.Helper()
	of := func(what string, all []trace.Rows) {
		for k, rows := range all {
			for l := range rows.L {
				for n := range rows.N {
					use(what, k, l, rows.First+n, rows.Row(l, 0, n))
				}
			}
		}
	}
	s := g.model.Spec
	if s.Bidirectional || s.Classifies() {
		r, err := g.model.Read(t.Context(), g.ids, nil, slices.Clone(editedMixings), edits, nil)
		must(t, err)
		defer r.Close()
		of("reading", r.Rows)
		return
	}
	session, err := g.model.NewSession(editedMixings, 0)
	must(t, err)
	defer session.Close()
	session.Edit(edits...)
	must(t, session.KeepTerms(editedMixings...))
	n := len(g.ids) - 2
	out, err := session.Prompt(t.Context(), g.ids[:n], nil)
	for {
		must(t, err)
		of(fmt.Sprintf("session of %d tokens", n), out.Rows)
		for k, ask := range editedMixings {
			for l := range s.Layers {
				rows, err := session.RowsOfLayer(t.Context(), l, ask)
				must(t, err)
				use(fmt.Sprintf("layer alone after %d tokens", n), k, l, n-1, rows.Row(0, 0, 0))
			}
		}
		if n == len(g.ids) {
			return
		}
		out, err = session.Step(t.Context(), g.ids[n])
		n++
	}
}

// TestRowsUnderEdits: Value Zeroing, norms and ALTI of an edited model are what two passes under
// the edits tell apart, of which one sets the value of a source to zero in one layer besides: how
// far the output of the block moves, and by which vector its attention output does.
func TestRowsUnderEdits(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		s, n := g.model.Spec, len(g.ids)
		if r := s.Rotary; r != nil && r.Original < n &&
			(r.Stretch > 0 || r.LongFrequencies != nil) {
			t.Skip("the length of its text turns all its keys")
		}
		edits := g.someEdits(n)
		for i := range edits {
			if edits[i].Tap == trace.Hidden { // the output of a block is compared before that
				edits[i].Layers = []int{0}
			}
			if edits[i].Positions != nil {
				edits[i].Positions = []int{n - 1, 1}
			}
		}
		taps := []trace.Tap{trace.Hidden, trace.AttentionOutput}
		whole, layers := g.run(t, g.ids, edits, taps...), g.layers(t)
		// kept is what edits of the stream after the attention multiply it by.
		kept := func(l, target int) float64 {
			factor := 1.0
			for _, e := range edits {
				if e.Tap == trace.HiddenAfterAttention && e.Change == trace.Scale &&
					slices.Contains(e.Layers, l) && slices.Contains(e.Positions, target) {
					factor *= e.Factor
				}
			}
			return factor
		}
		without := map[[2]int][]trace.Tensor{}
		for l := range s.Layers {
			for source := range n {
				zero := trace.Edit{Tap: trace.Value, Layers: []int{l}, Positions: []int{source},
					Change: trace.SetZero}
				all := append(slices.Clone(edits), zero)
				without[[2]int{l, source}] = g.run(t, g.ids, all, taps...)
			}
		}
		read := func(l, target, source int) []float64 { // by the attention output
			return minus(wide(at(whole[1], l, target)),
				wide(at(without[[2]int{l, source}][1], l, target)))
		}
		// part is that in the stream after the attention, with the residual, before its norm and
		// edit or after them.
		part := func(l, target, source int, normed bool) []float64 {
			x, a := wide(at(whole[0], l, target)), wide(at(whole[1], l, target))
			u := read(l, target, source)
			if s.Order == spec.PreNorm && s.NormAfter {
				u = layers[l].linearised("attention-after-norm", u, a)
			}
			if source == target {
				u = plus(u, x)
			}
			if !normed {
				return u
			}
			if s.Order == spec.PostNorm {
				u = layers[l].linearised("attention-norm", u, plus(x, a))
			}
			for i := range u {
				u[i] *= kept(l, target)
			}
			return u
		}
		worst, maps := 0.0, g.run(t, g.ids, edits, trace.ValueZeroing)[0]
		g.editedRows(t, edits, func(what string, k, l, target int, row []float32) {
			name := editedMixings[k].Name
			residual := name != "norms" && !strings.HasPrefix(name, "value-zeroing")
			switch {
			case residual && (s.NormedResidual || s.ResidualScale != 0),
				name == "globenc" && s.Order == spec.PostNorm:
				return // the test of blocks that are not edited covers their formulas
			}
			normed := name != "norms-residual"
			y, scale := make([]float64, s.Width), 1.0
			for source := range row {
				y = plus(y, part(l, target, source, normed))
			}
			for source, got := range row {
				output := wide(at(whole[0], l+1, target))
				moved := wide(at(without[[2]int{l, source}][0], l+1, target))
				want := 0.0
				switch name {
				case "value-zeroing":
					want = cosineDistance(moved, output)
					if tap := at(maps, l, target)[source]; !(math.Abs(float64(tap)-want) <=
						editedRowTol) {
						t.Fatalf("tap, layer %d, target %d, source %d: %g, want %g", l, target,
							source, tap, want)
					}
				case "value-zeroing-euclidean":
					want, scale = length2(minus(moved, output)), max(1, length2(output))
				case "norms":
					want = length2(read(l, target, source))
					scale = max(1, length2(wide(at(whole[1], l, target))))
				case "alti":
					want = max(0, length1(y)-length1(minus(y, part(l, target, source, normed))))
					scale = max(1, length1(y))
				default:
					want, scale = length2(part(l, target, source, normed)), max(1, length2(y))
				}
				d := math.Abs(float64(got)-want) / scale
				if worst = max(worst, d); !(d <= editedRowTol) {
					t.Fatalf("%s, %s, layer %d, target %d, source %d: %g, want %g", what, name, l,
						target, source, got, want)
				}
			}
		})
		t.Logf("worst %.1e", worst)
	})
}

package methods

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/study/heads"
	"github.com/headwater-ml/headwater/models"
)

// TestHeadKindsUnderEdits: an edit everywhere is one of the random text, too, and one at a position
// of the prompt is not.
func TestHeadKindsUnderEdits(t *testing.T) {
	circuit, err := planted.Lookup("planted-induction")
	must(t, err)
	m, err := models.Open("planted-induction", models.Options{})
	must(t, err)
	for everywhere, edit := range map[bool]trace.Edit{
		true:  {Tap: trace.Attention, Layers: []int{0}, Change: trace.SetZero},
		false: {Tap: trace.Attention, Layers: []int{0}, Positions: []int{-1}, Change: trace.SetZero},
	} {
		e, err := attribution.Explain(t.Context(), m, circuit.Texts(1, 1)[0].Prompt(),
			attribution.Options{
				Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": heads.Ablate},
				Edits: []trace.Edit{edit},
			})
		must(t, err)
		k := heads.Of(e)
		if none := k.Kinds[1].Random[0] == 0; none != everywhere || (k.Loss > 1) != everywhere ||
			(k.Without[0] == 0) != everywhere {
			t.Errorf("edit of %s: the first head reads the token before with %v, the loss is %v "+
				"and %v more without it", edit, k.Kinds[1].Random[0], k.Loss, k.Without[0])
		}
	}
}

// TestPlantedHeadKinds: of circuits whose heads are known, exactly these are found. Head 0 is that
// of the first layer. Heads that read by a place other than the one before, or find a word of a
// list, are of no kind but that they rest on the first token where random words have none to find.
func TestPlantedHeadKinds(t *testing.T) {
	want := map[string]map[string][]int{
		"planted-induction": {"previous token": {0}, "induction": {1}, "name mover": {1}},
		"planted-offset":    {"name mover": {0}},
		// Both heads go by position, and what they copy is the first head's.
		"planted-relay": {},
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Run(name, func(t *testing.T) {
			circuit, err := planted.Lookup(name)
			must(t, err)
			m, err := models.Open(name, models.Options{})
			must(t, err)
			e, err := attribution.Explain(t.Context(), m, circuit.Texts(1, 1)[0].Prompt(),
				attribution.Options{
					Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": heads.Ablate},
				})
			must(t, err)
			got := map[string][]int{}
			for _, kind := range heads.Of(e).Kinds {
				if kind.Heads != nil {
					got[kind.Name] = kind.Heads
				}
			}
			if d := cmp.Diff(want[name], got); d != "" {
				t.Errorf("heads (-want +got):\n%s", d)
			}
			a := heads.Of(e)
			t.Log(a.Loss, a.Without)
			if name == "planted-induction" && !(a.Loss < .01 && a.Without[0] > 1 &&
				a.Without[1] > 1) {
				t.Errorf("both heads of the circuit are needed; without them the loss of %v "+
					"grows by %v", a.Loss, a.Without)
			}
		})
	}
}

// TestSmolLM2HeadKinds: the five heads of SmolLM2 with the highest induction score are needed to
// repeat other random tokens than those of the score, more than five random heads of the same
// layers, in each of 20 draws.
func TestSmolLM2HeadKinds(t *testing.T) {
	m := nameModel(t)
	H := m.Info().Heads
	e, err := attribution.Explain(t.Context(), m,
		"When Mary and John went to the store, John gave a drink to", attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"head-kinds": heads.Random},
		})
	must(t, err)
	for _, kind := range heads.Of(e).Kinds {
		line := kind.Name + ":"
		scores := kind.Random
		if scores == nil {
			scores = kind.Text
		}
		for _, i := range kind.Heads[:min(len(kind.Heads), 8)] {
			line += fmt.Sprintf(" %d.%d %.2f", i/H, i%H, scores[i])
		}
		t.Log(line, len(kind.Heads), "heads")
	}
	top := heads.Of(e).Kinds[0].Heads[:5]
	rng := rand.New(rand.NewPCG(5, 0))
	var ids []int
	for len(ids) < 25 {
		if id := rng.IntN(m.Info().Vocab); id > 16 && !slices.Contains(ids, id) { // of text
			ids = append(ids, id)
		}
	}
	ids = append(ids, ids...)
	r := repeating{t, m, ids, nil}
	whole := r.loss(nil)
	without := r.loss(top) - whole
	var layers []int // from which random heads are drawn
	for _, i := range top {
		layers = append(layers, i/H)
	}
	var others []float64
	for range 20 {
		var heads []int
		for len(heads) < len(top) {
			i := layers[rng.IntN(len(layers))]*H + rng.IntN(H)
			if !slices.Contains(top, i) && !slices.Contains(heads, i) {
				heads = append(heads, i)
			}
		}
		others = append(others, r.loss(heads)-whole)
	}
	slices.Sort(others)
	t.Logf("loss %.2f; without the five %+.2f; without five others %+.2f to %+.2f, median %+.2f",
		whole, without, others[0], others[19], others[10])
	if !(without > others[19]) {
		t.Errorf("without the induction heads the loss grows by %.3f, without others by %.3f",
			without, others)
	}
}

// repeating measures the loss of a model on the second half of ids.
type repeating struct {
	t        *testing.T
	m        *models.Model
	ids      []int
	contexts *trace.Tensor // [L,H,T,E]
}

// loss returns the loss without some heads, i = l·H + h.
func (r *repeating) loss(heads []int) float64 {
	var edits []trace.Edit
	for _, i := range heads {
		s := r.contexts.Shape
		edits = append(edits, trace.Edit{
			Tap: trace.Context, Layers: []int{i / s[1]}, Heads: []int{i % s[1]},
			Change: trace.SetMean, Shape: []int{s[2], 1, 1, 1, s[3]},
			Value: r.contexts.Data[i*s[2]*s[3]:][:s[2]*s[3]],
		})
	}
	x, err := r.m.Run(r.t.Context(), r.ids, []trace.Tap{trace.Logits, trace.Context}, edits)
	must(r.t, err)
	if heads == nil {
		r.contexts = &x[1]
	}
	loss, K, V := 0.0, len(r.ids)/2, x[0].Shape[1]
	for at := K; at < 2*K-1; at++ {
		sum, row := 0.0, x[0].Data[at*V:][:V]
		for _, y := range row {
			sum += math.Exp(float64(y))
		}
		loss += (math.Log(sum) - float64(row[r.ids[at+1]])) / float64(K-1)
	}
	return loss
}

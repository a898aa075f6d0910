package patch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/models"
)

// pathTo returns where a path ends.
func pathTo(layer, head int, through trace.Tap) patch.Node {
	return patch.Node{Kind: patch.HeadNode, Layer: layer, Head: head, Through: through}
}

// TestPlantedPaths: between the two heads of a circuit, a change passes where it was planted and
// nowhere else, and the second head alone writes it into the logits.
func TestPlantedPaths(t *testing.T) {
	for _, c := range []struct {
		circuit  string
		evidence int
		through  trace.Tap
	}{
		{"planted-relay", 0, trace.Value}, {"planted-carry", 0, trace.Value},
		// The first head tells each token which word is before it, by which the second finds it.
		{"planted-induction", 0, trace.KeyVector},
	} {
		m := open(t, c.circuit)
		circuit, err := planted.Lookup(c.circuit)
		must(t, err)
		text := circuit.Texts(1, 3)[0]
		clean, corrupted := changedText(t, m, circuit, text, text.Evidence[c.evidence])
		for _, through := range []trace.Tap{
			trace.QueryVector, trace.KeyVector, trace.Value, trace.Logits,
		} {
			o := patch.Options{Clean: clean, Corrupted: corrupted, Place: patch.Path}
			want := []float64{0, 1}
			if through != trace.Logits {
				o.Receiver, want[1] = pathTo(1, 0, through), 0
			}
			if through == c.through {
				want[0] = 1
			}
			got, err := patch.Map(t.Context(), m, o)
			must(t, err)
			for layer, x := range want {
				near(t, fmt.Sprint(c.circuit, " from layer ", layer, " through ", through),
					got.At(layer, 0), x, 1e-6)
			}
		}
	}
}

// TestPathAgainstStreams: a path is what comes out when the residual stream that reaches the
// receiver is added up by hand: that of a run with the sender patched, and after each layer between
// the attention of a run without.
func TestPathAgainstStreams(t *testing.T) {
	const answer, foil = 7, 9
	m := open(t, "tiny")
	clean, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the keys to the doors", trace.SpecialsAuto)
	must(t, err)
	run := func(all []trace.Token, edits []trace.Edit, taps ...trace.Tap) []trace.Tensor {
		out, err := m.Run(t.Context(), trace.IDs(all), append(taps, trace.Logits), edits)
		must(t, err)
		return out
	}
	difference := func(out []trace.Tensor) float64 {
		last := out[len(out)-1]
		row := last.Data[len(last.Data)-last.Shape[1]:]
		return float64(row[answer]) - float64(row[foil])
	}
	set := func(tap trace.Tap, layer int, x []float32, shape ...int) trace.Edit {
		return trace.Edit{
			Tap: tap, Layers: []int{layer}, Change: trace.SetValue, Value: x, Shape: shape,
		}
	}
	for _, direction := range patch.Directions() {
		base, other := corrupted, clean
		if direction == patch.Noising {
			base, other = clean, corrupted
		}
		plain := run(base, nil, trace.AttentionOutput)
		whole := difference(run(other, nil)) - difference(plain)
		T, D := plain[0].Shape[1], plain[0].Shape[2]
		o := patch.Options{
			Clean: clean, Corrupted: corrupted, Answer: new(answer), Foil: new(foil),
			Place: patch.Path, Direction: direction,
		}
		for _, c := range []struct {
			sender, receiver [2]int
			through          trace.Tap
		}{
			{[2]int{0, 1}, [2]int{1, 3}, trace.QueryVector},
			{[2]int{0, 2}, [2]int{3, 0}, trace.KeyVector},
			{[2]int{1, 0}, [2]int{5, 7}, trace.Value},
			{[2]int{2, 5}, [2]int{4, 2}, trace.QueryVector},
		} {
			sent := trace.Edit{
				Tap: trace.HeadOutput, Layers: c.sender[:1], Heads: c.sender[1:],
				Change: trace.SetValue,
			}
			sent, err := sent.From(run(other, nil, trace.HeadOutput)[0])
			must(t, err)
			at := func(x trace.Tensor, layer int) []float32 {
				return slices.Clone(x.Data[layer*T*D:][:T*D])
			}
			x := at(run(base, []trace.Edit{sent}, trace.Hidden)[0], c.sender[0]+1)
			for l := c.sender[0] + 1; l < c.receiver[0]; l++ {
				for i, a := range at(plain[0], l) {
					x[i] += a
				}
				edit := set(trace.HiddenAfterAttention, l, x, T, D)
				x = at(run(base, []trace.Edit{edit}, trace.Hidden)[0], l+1)
			}
			taken := run(base, []trace.Edit{set(trace.Hidden, c.receiver[0], x, T, D)}, c.through)
			received := trace.Edit{
				Tap: c.through, Layers: c.receiver[:1], Heads: c.receiver[1:],
				Change: trace.SetValue,
			}
			received, err = received.From(taken[0])
			must(t, err)
			want := difference(run(base, []trace.Edit{received})) - difference(plain)
			o.Receiver = pathTo(c.receiver[0], c.receiver[1], c.through)
			got, err := patch.Map(t.Context(), m, o)
			must(t, err)
			near(t, fmt.Sprint(direction, c), got.At(c.sender[0], c.sender[1])*whole, want,
				logitTol)
			if want > -1e-6 && want < 1e-6 {
				t.Errorf("%v %v: nothing passes, so the test proves nothing", direction, c)
			}
		}
	}
}

// TestPathsToLogits: a path to the logits is what comes out when the sender is patched and each
// later attention keeps what it puts out.
func TestPathsToLogits(t *testing.T) {
	m := open(t, "tiny")
	clean, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the key to the cabinet", trace.SpecialsAuto)
	must(t, err)
	r, err := patch.Map(t.Context(), m, patch.Options{
		Clean: clean, Corrupted: corrupted, Place: patch.Path, Direction: patch.Noising,
	})
	must(t, err)
	taps := []trace.Tap{trace.HeadOutput, trace.AttentionOutput}
	kept, err := m.Run(t.Context(), trace.IDs(clean), taps, nil)
	must(t, err)
	other, err := m.Run(t.Context(), trace.IDs(corrupted), taps, nil)
	must(t, err)
	for l := range r.Shape[0] {
		for h := range r.Shape[1] {
			sent, err := trace.Edit{
				Tap: trace.HeadOutput, Layers: []int{l}, Heads: []int{h}, Change: trace.SetValue,
			}.From(other[0])
			must(t, err)
			edits := []trace.Edit{sent}
			for later := l + 1; later < r.Shape[0]; later++ {
				e, err := trace.Edit{
					Tap: trace.AttentionOutput, Layers: []int{later}, Change: trace.SetValue,
				}.From(kept[1])
				must(t, err)
				edits = append(edits, e)
			}
			out, err := m.Run(t.Context(), trace.IDs(clean), []trace.Tap{trace.Logits}, edits)
			must(t, err)
			row := out[0].Data[len(out[0].Data)-out[0].Shape[1]:]
			got := r.CleanDifference - r.At(l, h)*(r.CleanDifference-r.CorruptedDifference)
			near(t, fmt.Sprintf("head %d.%d", l, h), got,
				float64(row[r.Answer.ID])-float64(row[r.Foil.ID]), logitTol)
		}
	}
	if *r.Receiver != (patch.Node{Kind: patch.LogitsNode}) {
		t.Errorf("by default paths lead to %v", *r.Receiver)
	}
}

// asked is a model that keeps the queries that it is asked.
type asked struct {
	*models.Model
	queries *[]trace.Query
}

// Predict implements [trace.Predictor].
func (m asked) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	*m.queries = append(*m.queries, queries...)
	return m.Model.Predict(ctx, queries)
}

// TestFrozenHeads: all paths share what later heads keep, from whatever layer on, so that this
// takes the memory of one run and not that of a run for each path.
func TestFrozenHeads(t *testing.T) {
	m := asked{open(t, "tiny"), new([]trace.Query)}
	clean, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the key to the cabinet", trace.SpecialsAuto)
	must(t, err)
	_, err = patch.Map(t.Context(), m, patch.Options{
		Clean: clean, Corrupted: corrupted, Place: patch.Path,
	})
	must(t, err)
	kept, frozen := map[*float32]bool{}, 0
	for _, q := range *m.queries {
		for _, e := range q.Edits[min(1, len(q.Edits)):] { // after that of the sender
			frozen++
			kept[&e.Value[len(e.Value)-1]] = true
		}
	}
	if frozen < 2 || len(kept) != 1 {
		t.Errorf("%d paths keep %d arrays", frozen, len(kept))
	}
}

// TestSharedKeys: heads that share a key or a value receive it together.
func TestSharedKeys(t *testing.T) {
	g := goldens(t)["llama"]
	m := openGolden(t, "llama")
	for _, through := range []trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value} {
		x, err := patch.Map(t.Context(), m, patch.Options{
			Clean: tokens(g.Clean), Corrupted: tokens(g.Corrupted), Answer: &g.Answer,
			Foil: &g.Foil, Place: patch.Path, Receiver: pathTo(1, 1, through),
		})
		must(t, err)
		if x.At(0, 0) == 0 {
			t.Errorf("nothing passes through the %s", through)
		}
	}
}

// TestPathRefusals: what is no path says why before anything is run.
func TestPathRefusals(t *testing.T) {
	m := open(t, "tiny")
	clean, corrupted := tokens([]int{1, 2}), tokens([]int{1, 3})
	for want, o := range map[string]patch.Options{
		"heads 0 to 7":                {Receiver: pathTo(1, 99, "")},
		"layers 0 to 5":               {Receiver: pathTo(6, 0, "")},
		"reads the embedding alone":   {Receiver: pathTo(0, 1, "")},
		"key, value":                  {Receiver: pathTo(1, 0, trace.Hidden)},
		"want a head or the logits":   {Receiver: patch.Node{Kind: patch.InputNode}},
		"no estimates of the place":   {Estimate: patch.Alone},
		"tiny-translation has two st": {},
	} {
		o.Clean, o.Corrupted, o.Place = clean, corrupted, patch.Path
		model := m
		if strings.Contains(want, "tiny-translation") {
			model = open(t, "tiny-translation")
		}
		err := patch.Check(model, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestPathsOfLongPrompts: long prompts are refused before anything is run, and the advice is none
// that paths do not take.
func TestPathsOfLongPrompts(t *testing.T) {
	long := func(last int) []trace.Token { return tokens(append(make([]int, 800), last)) }
	err := patch.Check(open(t, "tiny-alibi"), patch.Options{
		Clean: long(9), Corrupted: long(12), Answer: new(7), Foil: new(9), Place: patch.Path,
		Receiver: pathTo(11, 0, ""),
	})
	if err == nil || !strings.HasSuffix(err.Error(), "are read; take shorter prompts") {
		t.Errorf("error %v", err)
	}
}

// TestParseReceiver: a receiver is written as a message names what is wrong with it.
func TestParseReceiver(t *testing.T) {
	for text, want := range map[string]patch.Node{
		"logits": {Kind: patch.LogitsNode}, "3.1": pathTo(3, 1, trace.QueryVector),
		"0.10.key": pathTo(0, 10, trace.KeyVector), "3.1.value": pathTo(3, 1, trace.Value),
	} {
		if got, err := patch.ParseReceiver(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "3", "3.", "3.1.", "-1.2", "3.1.hidden", "3.1.query.key", "input", "99999999999.1",
	} {
		if got, err := patch.ParseReceiver(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

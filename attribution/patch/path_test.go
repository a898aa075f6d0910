package patch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/patch"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
)

// TestPlantedPaths: between the two heads of a circuit, a change passes where it was planted and
// nowhere else.
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
		for _, through := range []trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value} {
			got, err := patch.Path(t.Context(), m, patch.PathOptions{
				Options:  patch.Options{Clean: clean, Corrupted: corrupted},
				Receiver: [2]int{1, 0}, Through: through,
			})
			must(t, err)
			want := 0.0
			if through == c.through {
				want = 1
			}
			near(t, fmt.Sprint(c.circuit, " through ", through), got, want, 1e-6)
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
			got, err := patch.Path(t.Context(), m, patch.PathOptions{
				Options: patch.Options{
					Clean: clean, Corrupted: corrupted, Answer: new(answer), Foil: new(foil),
					Direction: direction,
				},
				Sender: c.sender, Receiver: c.receiver, Through: c.through,
			})
			must(t, err)
			near(t, fmt.Sprint(direction, c), got*whole, want, logitTol)
			if want > -1e-6 && want < 1e-6 {
				t.Errorf("%v %v: nothing passes, so the test proves nothing", direction, c)
			}
		}
	}
}

// TestSharedKeys: heads that share a key or a value receive it together.
func TestSharedKeys(t *testing.T) {
	g := goldens(t)["llama"]
	m := openGolden(t, "llama")
	for _, through := range []trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value} {
		x, err := patch.Path(t.Context(), m, patch.PathOptions{
			Options: patch.Options{
				Clean: tokens(g.Clean), Corrupted: tokens(g.Corrupted), Answer: &g.Answer,
				Foil: &g.Foil,
			},
			Receiver: [2]int{1, 1}, Through: through,
		})
		must(t, err)
		if x == 0 {
			t.Errorf("nothing passes through the %s", through)
		}
	}
}

// TestPathRefusals: what is no path says why.
func TestPathRefusals(t *testing.T) {
	m := open(t, "tiny")
	for want, o := range map[string]patch.PathOptions{
		"heads 0 to 7":         {Sender: [2]int{0, 99}, Receiver: [2]int{1, 0}},
		"layers 0 to 5":        {Receiver: [2]int{6, 0}},
		"earlier layers wrote": {Sender: [2]int{2, 0}, Receiver: [2]int{2, 1}},
		"key, value":           {Receiver: [2]int{1, 0}, Through: trace.Hidden},
		"the same tokens":      {Receiver: [2]int{1, 0}},
	} {
		_, err := patch.Path(t.Context(), m, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

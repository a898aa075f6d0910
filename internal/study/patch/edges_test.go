package patch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// TestPlantedEdges: in circuits whose weights were set by hand, exactly the planted edges have a
// score. All of the difference passes on each of them, and they are the smallest circuit. The areas
// are computed by hand: of the relay's 23 edges a tenth is 2, which carry nothing, and a fifth is
// 4.
func TestPlantedEdges(t *testing.T) {
	for _, c := range []struct {
		circuit  string
		edges    []string
		cpr, cmd float64
	}{
		{
			"planted-relay", []string{
				"input → head 0.0 value", "head 0.0 → head 1.0 value", "head 1.0 → logits",
			}, .05 + .3 + .5, .099 + .05,
		},
		{
			"planted-carry", []string{
				"input → head 0.0 value", "head 0.0 → head 1.0 value", "head 1.0 → logits",
			}, .05 + .3 + .5, .099 + .05,
		},
		// Of 8 edges a fifth is one, and a half is 4.
		{
			"planted-offset", []string{"input → head 0.0 value", "head 0.0 → logits"}, .15 + .5,
			.199 + .15,
		},
	} {
		for _, steps := range []int{1, 3} {
			m := open(t, c.circuit)
			circuit, err := planted.Lookup(c.circuit)
			must(t, err)
			text := circuit.Texts(1, 3)[0]
			clean, corrupted := changedText(t, m, circuit, text, text.Evidence[0])
			r, err := patch.Map(t.Context(), m, patch.Options{
				Clean: clean, Corrupted: corrupted, Place: patch.Edges, Steps: steps,
			})
			must(t, err)
			e, carries := r.Edges, map[string]float64{}
			for _, name := range c.edges {
				carries[name] = 1
			}
			for _, edge := range e.Strongest {
				name := fmt.Sprint(edge.Sender, " → ", edge.Receiver)
				near(t, c.circuit+": "+name, edge.Score, carries[name], 1e-6)
			}
			if len(e.Strongest) != e.Count || e.Kept.Edges != len(c.edges) {
				t.Errorf("%s: %d of %d edges are listed, %d are kept", c.circuit,
					len(e.Strongest), e.Count, e.Kept.Edges)
			}
			near(t, c.circuit+": kept", e.Kept.Faithfulness, 1, 1e-6)
			near(t, c.circuit+": m", e.Kept.Difference, r.CleanDifference, 1e-4)
			near(t, c.circuit+": CPR", e.CPR, c.cpr, 1e-6)
			near(t, c.circuit+": CMD", e.CMD, c.cmd, 1e-6)
		}
	}
}

// TestEdgesAgainstMap: without the edges from one head, the model loses what it loses if the head
// is patched with its output after the corrupted prompt.
func TestEdgesAgainstMap(t *testing.T) {
	m := open(t, "tiny")
	clean, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the key to the cabinet", trace.SpecialsAuto)
	must(t, err)
	r, err := patch.Map(t.Context(), m, patch.Options{
		Clean: clean, Corrupted: corrupted, Place: patch.Heads, Direction: patch.Noising,
	})
	must(t, err)
	g, err := m.EdgeGraph()
	must(t, err)
	objective := trace.Objective{
		Quantity: trace.Logit, Position: r.Position, Token: r.Answer.ID, Contrast: &r.Foil.ID,
	}
	runs, err := m.PatchEdges(t.Context(), trace.IDs(clean), trace.IDs(corrupted), nil, objective)
	must(t, err)
	defer runs.Close()
	for l := range g.Layers {
		for h := range g.Heads {
			keep := make([]bool, g.Senders()*g.Receivers())
			for i := range keep {
				keep[i] = i%g.Senders() != 1+l*(g.Heads+1)+h
			}
			got, err := runs.Run(t.Context(), keep)
			must(t, err)
			want := r.CleanDifference - r.At(l, h)*(r.CleanDifference-r.CorruptedDifference)
			near(t, fmt.Sprintf("without head %d.%d", l, h), got, want, logitTol)
		}
	}
	e, err := patch.Map(t.Context(), m, patch.Options{
		Clean: clean, Corrupted: corrupted, Place: patch.Edges,
	})
	must(t, err)
	all := e.Edges.Circuits[len(e.Edges.Circuits)-1]
	near(t, "all edges", all.Signed, 1, 1e-4)
}

// TestEdgesRefused: what edges cannot be patched for is a usage error before anything is run.
func TestEdgesRefused(t *testing.T) {
	m := open(t, "tiny")
	clean, err := m.Encode("the keys", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the key", trace.SpecialsAuto)
	must(t, err)
	encoder := open(t, "tiny-mlm")
	for want, c := range map[string]struct {
		m trace.Model
		o patch.Options
	}{
		"101 steps; want 1 to 100": {m, patch.Options{Steps: 101}},
		"read more than 131072":    {m, patch.Options{Steps: 99}},
		"not patched under an edit of hidden": {m, patch.Options{
			Edits: []trace.Edit{{Tap: trace.Hidden, Change: trace.SetZero}},
		}},
		"is no sum of what heads":         {encoder, patch.Options{}},
		"no estimates of the place edges": {m, patch.Options{Estimate: patch.Beside}},
	} {
		c.o.Clean, c.o.Corrupted, c.o.Place = clean, corrupted, patch.Edges
		if c.o.Steps == 99 {
			c.o.Clean, c.o.Corrupted = slices.Repeat(clean, 1000), slices.Repeat(corrupted, 1000)
		}
		err := patch.Check(c.m, c.o)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

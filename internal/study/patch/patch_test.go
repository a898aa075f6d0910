package patch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

// logitTol bounds what float32 may change in a difference of logits, as in package modeltest.
const logitTol = 2e-5

var must = testhelp.Must // ends a test at an error

func open(t testing.TB, name string) *models.Model {
	t.Helper()
	m, err := models.Open(name, models.Options{Backend: "go"})
	must(t, err)
	return m
}

// tokens are tokens of ids, with the ids as their texts.
func tokens(ids []int) []trace.Token {
	all := make([]trace.Token, len(ids))
	for i, id := range ids {
		all[i] = trace.Token{ID: id, Text: fmt.Sprint(id)}
	}
	return all
}

// golden is a checkpoint with what PyTorch hooks gave; see make_patches.py.
type golden struct {
	Clean, Corrupted    []int
	Answer, Foil        int
	CleanDifference     float64 `json:"clean_difference"`
	CorruptedDifference float64 `json:"corrupted_difference"`
	Maps                []struct {
		Place     patch.Place
		Direction patch.Direction
		M         []float64
	}
}

func goldens(t *testing.T) (all map[string]golden) {
	t.Helper()
	text, err := os.ReadFile("../../../models/testdata/edits/patches.json")
	must(t, err)
	must(t, json.Unmarshal(text, &all))
	return all
}

func openGolden(t testing.TB, name string) *models.Model {
	return open(t, filepath.Join("../../../models/testdata/goldens", name))
}

// TestMapAgainstHooks: every patch of every kind of place, in both directions, gives the difference
// of logits that the reference implementation gives with PyTorch hooks.
func TestMapAgainstHooks(t *testing.T) {
	for name, g := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			m := openGolden(t, name)
			for _, want := range g.Maps {
				got, err := patch.Map(t.Context(), m, patch.Options{
					Clean: tokens(g.Clean), Corrupted: tokens(g.Corrupted), Place: want.Place,
					Direction: want.Direction, Answer: &g.Answer, Foil: &g.Foil,
				})
				must(t, err)
				what := fmt.Sprint(want.Direction, " of ", want.Place)
				near(t, what+": clean", got.CleanDifference, g.CleanDifference, logitTol)
				near(t, what+": corrupted", got.CorruptedDifference, g.CorruptedDifference,
					logitTol)
				if len(got.Recovery) != len(want.M) {
					t.Fatalf("%s: %d places, want %d", what, len(got.Recovery), len(want.M))
				}
				base, other := g.CorruptedDifference, g.CleanDifference
				if want.Direction == patch.Noising {
					base, other = other, base
				}
				for k, x := range got.Recovery {
					near(t, fmt.Sprint(what, " at ", k), base+x*(other-base), want.M[k], logitTol)
				}
				first := 3 // the first position that differs
				if name != "bert" && !want.Place.ByHead() {
					if most := got.Shape[0] * (got.Shape[1] - first); got.Runs > most {
						t.Errorf("%s: %d runs; %d places can differ", what, got.Runs, most)
					}
				}
			}
		})
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// TestMapAgainstRuns: the map is that of single runs of the model at every place, also at those
// that are not run because both prompts have the same values there, whose recovery is exactly 0.
func TestMapAgainstRuns(t *testing.T) {
	m := open(t, "tiny")
	clean, err := m.Encode("the keys to the cabinet", trace.SpecialsAuto)
	must(t, err)
	corrupted, err := m.Encode("the keys to the doors", trace.SpecialsAuto)
	must(t, err)
	T := len(clean)
	for _, place := range patch.Places() {
		r, err := patch.Map(t.Context(), m, patch.Options{
			Clean: clean, Corrupted: corrupted, Place: place, Answer: new(7), Foil: new(9),
		})
		must(t, err)
		tap := map[patch.Place]trace.Tap{
			patch.Residual: trace.Hidden, patch.Attention: trace.AttentionOutput,
			patch.FeedForward: trace.FeedForwardOutput, patch.Heads: trace.HeadOutput,
			patch.LastHeads: trace.HeadOutput, patch.Queries: trace.QueryVector,
			patch.Keys: trace.KeyVector, patch.Values: trace.Value,
		}[place]
		run := func(all []trace.Token, edits []trace.Edit) (trace.Tensor, float64) {
			out, err := m.Run(t.Context(), trace.IDs(all), []trace.Tap{tap, trace.Logits}, edits)
			must(t, err)
			last := out[1].Data[(T-1)*out[1].Shape[1]:]
			return out[0], float64(last[7]) - float64(last[9])
		}
		values, mClean := run(clean, nil)
		_, mCorrupted := run(corrupted, nil)
		for l := range r.Shape[0] {
			for i := range r.Shape[1] {
				e := trace.Edit{Tap: tap, Layers: []int{l}, Change: trace.SetValue}
				switch place {
				case patch.Heads, patch.Queries, patch.Keys, patch.Values:
					e.Heads = []int{i}
				case patch.LastHeads:
					e.Heads, e.Positions = []int{i}, []int{T - 1}
				default:
					e.Positions = []int{i}
				}
				e, err = e.From(values)
				must(t, err)
				_, patched := run(corrupted, []trace.Edit{e})
				what := fmt.Sprintf("%s %d.%d", place, l, i)
				near(t, what, r.At(l, i)*(mClean-mCorrupted), patched-mCorrupted, logitTol)
				if x := r.At(l, i); !place.ByHead() && i < r.Different[0] && x != 0 {
					t.Errorf("%s: %g before the first token that differs", what, x)
				}
			}
		}
		if want := r.Shape[0] * (T - r.Different[0]); !place.ByHead() && r.Runs > want {
			t.Errorf("%s: %d runs, want %d at most", place, r.Runs, want)
		}
	}
}

// at is a place in a layer: a head, or how many positions before the last one.
type at struct{ layer, i int }

// fromEnd returns places at positions of T.
func fromEnd(T int, all []at) (places []at) {
	for _, one := range all {
		places = append(places, at{one.layer, T - 1 - one.i})
	}
	return places
}

// changedText returns the tokens of a text of a circuit, and of the text with another word at one
// place.
func changedText(
	t *testing.T, m *models.Model, c *planted.Circuit, text planted.Text, at int,
) (clean, corrupted []trace.Token) {
	t.Helper()
	clean, err := m.Encode(text.Prompt(), trace.SpecialsAuto)
	must(t, err)
	word := c.Others(text, at)[0]
	text.Words = slices.Clone(text.Words)
	text.Words[at] = word
	corrupted, err = m.Encode(text.Prompt(), trace.SpecialsAuto)
	must(t, err)
	return clean, corrupted
}

// TestPlantedPath: in circuits whose weights were set by hand, patching finds exactly the planted
// path: 1 at the places that carry the word that was changed, 0 at all others.
func TestPlantedPath(t *testing.T) {
	for _, c := range []struct {
		circuit  string
		evidence int
		residual []at
		attends  []at
		heads    []at
		last     []at
	}{
		{ // gathered by the token 2 places before the last, and read there
			"planted-relay", 0, []at{{0, 5}, {1, 2}}, []at{{0, 2}, {1, 0}}, []at{{0, 0}, {1, 0}},
			[]at{{1, 0}},
		},
		{
			"planted-carry", 0, []at{{0, 5}, {1, 2}}, []at{{0, 2}, {1, 0}}, []at{{0, 0}, {1, 0}},
			[]at{{1, 0}},
		},
		{"planted-offset", 0, []at{{0, 3}}, []at{{0, 0}}, []at{{0, 0}}, []at{{0, 0}}},
		// One of two heads reads each word.
		{"planted-sum", 0, []at{{0, 5}}, []at{{0, 0}}, []at{{0, 1}}, []at{{0, 1}}},
		{"planted-sum", 1, []at{{0, 2}}, []at{{0, 0}}, []at{{0, 0}}, []at{{0, 0}}},
	} {
		t.Run(fmt.Sprint(c.circuit, " ", c.evidence), func(t *testing.T) {
			m := open(t, c.circuit)
			circuit, err := planted.Lookup(c.circuit)
			must(t, err)
			text := circuit.Texts(1, 3)[0]
			clean, corrupted := changedText(t, m, circuit, text, text.Evidence[c.evidence])
			T := len(clean)
			o := patch.Options{Clean: clean, Corrupted: corrupted}
			if c.circuit == "planted-sum" { // the answer stays: its logit changes
				foil, err := m.Encode(text.Foil, trace.SpecialsOff)
				must(t, err)
				o.Foil = &foil[len(foil)-1].ID
			}
			for place, want := range map[patch.Place][]at{
				patch.Residual: fromEnd(T, c.residual), patch.Attention: fromEnd(T, c.attends),
				patch.FeedForward: nil, patch.Heads: c.heads, patch.LastHeads: c.last,
			} {
				o.Place = place
				r, err := patch.Map(t.Context(), m, o)
				must(t, err)
				for k, x := range r.Recovery {
					expected := 0.0
					for _, w := range want {
						if w.layer == k/r.Shape[1] && w.i == k%r.Shape[1] {
							expected = 1
						}
					}
					near(t, fmt.Sprint(place, " ", k/r.Shape[1], ".", k%r.Shape[1]), x, expected,
						1e-6)
				}
			}
		})
	}
}

// TestEstimate: where m is linear, as the logit of planted-sum is in the words, an estimate
// is the exact recovery.
func TestEstimate(t *testing.T) {
	m := open(t, "planted-sum")
	circuit, err := planted.Lookup("planted-sum")
	must(t, err)
	text := circuit.Texts(1, 3)[0]
	clean, corrupted := changedText(t, m, circuit, text, text.Evidence[0])
	foil, err := m.Encode(text.Foil, trace.SpecialsOff)
	must(t, err)
	for _, place := range patch.Places() {
		for _, direction := range patch.Directions() {
			o := patch.Options{
				Clean: clean, Corrupted: corrupted, Foil: &foil[len(foil)-1].ID, Place: place,
				Direction: direction, Estimate: patch.Beside,
			}
			r, err := patch.Map(t.Context(), m, o)
			must(t, err)
			o.Estimate = patch.Alone
			alone, err := patch.Map(t.Context(), m, o)
			must(t, err)
			for k, x := range r.Recovery {
				near(t, fmt.Sprint(direction, " of ", place, " at ", k), r.Estimate[k], x, 1e-5)
				near(t, "alone", alone.Estimate[k], r.Estimate[k], 0)
			}
			if alone.Recovery != nil || alone.Runs != 0 {
				t.Errorf("an estimate made %d runs", alone.Runs)
			}
			if r.Runs > 1 && r.Correlation != nil {
				near(t, "correlation", *r.Correlation, 1, 1e-5)
			}
		}
	}
}

// TestMapUnderEdits: edits act in both runs and in every patched one: with half of
// what the second head of the planted relay writes the same part of half the difference is carried,
// and without that head there is none.
func TestMapUnderEdits(t *testing.T) {
	m := open(t, "planted-relay")
	circuit, err := planted.Lookup("planted-relay")
	must(t, err)
	text := circuit.Texts(1, 3)[0]
	clean, corrupted := changedText(t, m, circuit, text, text.Evidence[0])
	o := patch.Options{Clean: clean, Corrupted: corrupted, Place: patch.Heads}
	plain, err := patch.Map(t.Context(), m, o)
	must(t, err)
	o.Answer, o.Foil = &plain.Answer.ID, &plain.Foil.ID
	half := trace.Edit{
		Tap: trace.Context, Layers: []int{1}, Change: trace.Scale, Factor: .5,
	}
	o.Edits, o.Estimate = []trace.Edit{half}, patch.Beside
	got, err := patch.Map(t.Context(), m, o)
	must(t, err)
	near(t, "half of the answer", got.CleanDifference, plain.CleanDifference/2, 1e-5)
	for k, x := range plain.Recovery {
		// A patch of the head itself comes after the edit, and sets what the edit left.
		near(t, fmt.Sprint("place ", k), got.Recovery[k], x, 1e-5)
		near(t, fmt.Sprint("estimate ", k), got.Estimate[k], x, 1e-5)
	}
	o.Edits[0].Change, o.Edits[0].Factor = trace.SetZero, 0
	if _, err := patch.Map(t.Context(), m, o); err == nil ||
		!strings.Contains(err.Error(), "there is nothing to carry") {
		t.Errorf("without the head that reads: error %v", err)
	}
}

// TestLastHeadsOfClasses: the heads that an encoder of whole texts reads are those at the first
// token, or at all tokens if it reads their mean.
func TestLastHeadsOfClasses(t *testing.T) {
	for name, o := range map[string]patch.Options{
		"bert_cls": {Place: patch.LastHeads, Position: new(0)}, "modernbert_mean": {Place: patch.Heads},
	} {
		m := openGolden(t, name)
		o.Clean, o.Corrupted = tokens([]int{3, 4, 5, 6}), tokens([]int{3, 9, 5, 6})
		o.Answer, o.Foil = new(0), new(1)
		want, err := patch.Map(t.Context(), m, o)
		must(t, err)
		o.Place, o.Position = patch.LastHeads, nil
		got, err := patch.Map(t.Context(), m, o)
		must(t, err)
		if !slices.Equal(got.Recovery, want.Recovery) {
			t.Errorf("%s: recoveries %v, want %v", name, got.Recovery, want.Recovery)
		}
	}
}

// TestRefusals: what cannot be patched says why, and what to do.
func TestRefusals(t *testing.T) {
	m := open(t, "tiny")
	text := func(s string) []trace.Token {
		all, err := m.Encode(s, trace.SpecialsAuto)
		must(t, err)
		return all
	}
	clean, corrupted := text("the keys to the cabinet"), text("the keys to the doors")
	long := func(last int) []trace.Token {
		ids := make([]int, 400)
		for i := range ids {
			ids[i] = clean[1].ID
		}
		ids[0] = last
		return tokens(ids)
	}
	for name, c := range map[string]struct {
		o    patch.Options
		want string
	}{
		"lengths": {
			patch.Options{Clean: clean, Corrupted: text("the keys to the old doors")},
			"positions do not correspond; they differ in [",
		},
		"same":      {patch.Options{Clean: clean, Corrupted: clean}, "the same tokens"},
		"place":     {patch.Options{Clean: clean, Corrupted: corrupted, Place: "head"}, "heads-last"},
		"direction": {patch.Options{Clean: clean, Corrupted: corrupted, Direction: "x"}, "noising"},
		"estimate":  {patch.Options{Clean: clean, Corrupted: corrupted, Estimate: "x"}, "alone"},
		"position": {
			patch.Options{Clean: clean, Corrupted: corrupted, Position: new(99)}, "positions 0 to",
		},
		"foil": {
			patch.Options{Clean: clean, Corrupted: corrupted, Answer: new(7), Foil: new(7)},
			"name another foil",
		},
		"token": {
			patch.Options{
				Clean: clean, Corrupted: corrupted, Answer: new(7), Foil: new(1 << 30),
			}, "",
		},
		"size": {
			patch.Options{
				Clean: long(clean[2].ID), Corrupted: long(clean[3].ID), Answer: new(7),
				Foil: new(9),
			}, "at most 131072 are read",
		},
	} {
		_, err := patch.Map(t.Context(), m, c.o)
		if c.want == "at most 131072 are read" {
			err = patch.Check(m, c.o) // before anything is run
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		if c.want != "" && !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%s: %v is no usage error", name, err)
		}
	}
}

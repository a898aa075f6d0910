package models_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// TestSentences: every embedded model has sentences of each of its kinds, with the evidence, the
// right and the wrong answer that its grammar or circuit gives them.
func TestSentences(t *testing.T) {
	var tested []string
	words := func(s models.Sentence) (found []string) {
		for _, e := range s.Evidence {
			found = append(found, s.Text[e[0]:e[1]])
		}
		return found
	}
	for _, toy := range tiny.Models() {
		tested = append(tested, toy.Name)
		for _, kind := range toy.Kinds() {
			got, err := models.Sentences(toy.Name, kind, 3, 7)
			must(t, err)
			for i, want := range toy.Sentences(tiny.HeldOut, kind, 3, 7) {
				var evidence []string
				for _, e := range want.Evidence {
					evidence = append(evidence, want.Words[e.Word])
				}
				if got[i].Text != want.Text() || got[i].Kind != kind ||
					got[i].Right != want.Right || got[i].Wrong != want.Wrong ||
					!slices.Equal(words(got[i]), evidence) {
					t.Errorf("%s: %+v, want %+v", toy.Name, got[i], want)
				}
			}
		}
	}
	for _, c := range planted.Circuits() {
		tested = append(tested, c.Name)
		got, err := models.Sentences(c.Name, "", 3, 7)
		must(t, err)
		for i, want := range c.Texts(3, 7) {
			var evidence []string
			for _, w := range want.Evidence {
				evidence = append(evidence, want.Words[w])
			}
			if got[i].Text != want.Prompt() || got[i].Kind != c.Rule ||
				got[i].Right != want.Answer || got[i].Wrong != want.Foil ||
				!slices.Equal(words(got[i]), evidence) {
				t.Errorf("%s: %+v, want %+v", c.Name, got[i], want)
			}
		}
	}
	if !slices.Equal(tested, models.Builtin()) {
		t.Errorf("tested %q, want %q", tested, models.Builtin())
	}
}

func TestSentencesRefuses(t *testing.T) {
	for want, call := range map[string]struct {
		model, kind string
		n           int
	}{
		`no embedded model is called "tinny"; did you mean tiny?`: {"tinny", "", 1},
		`tiny-mlm has no sentences of the kind "pronun"; did you`: {"tiny-mlm", "pronun", 1},
		`planted-sum has sentences of one kind, not of "pronoun"`: {"planted-sum", "pronoun", 1},
		"-1 sentences; want 0 to 2000":                            {"tiny", "", -1},
		"2001 sentences; want 0 to 2000":                          {"planted-sum", "", 2001},
	} {
		_, err := models.Sentences(call.model, call.kind, call.n, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

package render_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// TestSetTokens reads numbers and words, and says of anything else what is accepted.
func TestSetTokens(t *testing.T) {
	for text, want := range map[string]render.Show{
		"0": {Token: new(0)}, " 1000000": {Token: new(1000000)}, "2,0, 7": {Tokens: []int{2, 0, 7}},
		"Pell ": {Word: "Pell"}, "x1": {Word: "x1"}, "東京": {Word: "東京"},
	} {
		got := render.Show{Token: new(5), Tokens: []int{5}, Word: "five"}
		if err := got.SetTokens(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Pell,Rome", "0,Pell", "-1", "1,", "1.5", "1000001", "."} {
		err := new(render.Show).SetTokens(text)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), render.TokenNumbers) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestAtWord finds the token where a generated word begins, as every picture of it does. Of several
// it names the places.
func TestAtWord(t *testing.T) {
	e := &attribution.Explanation{}
	for _, text := range []string{" P", "ell", ",", ` "`, "the", " Ġthe", " lake", " the", " dé", "."} {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
	}
	for word, want := range map[string]int{
		"Pell": 0, "“lake”": 6, "lake": 6, "dé": 8} {
		s := render.Show{Word: word}
		named, err := s.AtWord(e)
		if err != nil || !reflect.DeepEqual(named, render.Show{Token: &want}) ||
			!reflect.DeepEqual(s.Opened(e), named) {
			t.Errorf("%q: %+v, %v; want token %d", word, named, err, want)
		}
		v, err := s.Picture(e, nil)
		if err != nil || *v.(render.Heatmap).Token != want {
			t.Errorf("the picture of %q: %v", word, err)
		}
	}
	for word, want := range map[string]string{
		"the":  `the word "the" is generated 3 times; give the number of one, of the tokens 4, 5, 7`,
		"pell": `no generated word is "pell"; did you mean Pell? the answer is "Pell, `,
		"ell":  `no generated word is "ell"; did you mean Pell? the answer`,
		"Rome": `no generated word is "Rome"; the answer is`,
		".":    `no generated word is "."; `,
	} {
		s := render.Show{Word: word}
		_, err := s.AtWord(e)
		_, drawn := s.Picture(e, nil)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) ||
			drawn == nil || drawn.Error() != err.Error() || s.Opened(e).Token != nil {
			t.Errorf("%q: %v, and drawn %v; want %q", word, err, drawn, want)
		}
	}
	for _, s := range []render.Show{
		{Word: "Pell", Token: new(1)}, {Word: "Pell", Kind: render.KindMaps},
		{Word: "Pell", Kind: render.KindLayers, Tokens: []int{1, 2}},
	} {
		if err := s.Check(); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%+v: error %v", s, err)
		}
	}
}

// TestTokensSaid: the defaults are what the help says they are.
func TestTokensSaid(t *testing.T) {
	e := &attribution.Explanation{}
	for _, text := range []string{".", " the", " key", ",", " a", " b", " c", " d", " e"} {
		e.Steps = append(e.Steps, attribution.GeneratedToken{Text: text})
	}
	if got := *(render.Show{Kind: render.KindFlow}).Opened(e).Token; got != 2 {
		t.Errorf("one token is %d, and the help says %q", got, render.OneToken)
	}
	several := render.Show{Kind: render.KindLayers}
	if got := several.Opened(e).Tokens; !slices.Equal(got, []int{1, 2, 4, 5, 6, 7}) {
		t.Errorf("some tokens are %v, and the help says %q", got, render.SomeTokens)
	}
}

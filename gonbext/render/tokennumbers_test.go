package render_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// TestParseTokens reads numbers, and says of anything else what is accepted.
func TestParseTokens(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "2,0, 7": {2, 0, 7}, "1000000": {1000000}} {
		if got, err := render.ParseTokens(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "is", "-1", "1,", "1.5", "1000001"} {
		_, err := render.ParseTokens(text)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), render.TokenNumbers) {
			t.Errorf("%q: error %v", text, err)
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

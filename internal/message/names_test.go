package message

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{
		"flow", "gradient", "norms", "rollout", "value-zeroing",
		"value-zeroing-rollout",
	}
	for _, c := range []struct {
		name   string
		want   []string
		reason string
	}{
		{"rolout", []string{"rollout"}, "a letter is missing"},
		{"rolllout", []string{"rollout"}, "one too many"},
		{"rollaut", []string{"rollout"}, "one is wrong"},
		{"rolluot", []string{"rollout"}, "two are swapped, which is one slip"},
		{"Rollout", []string{"rollout"}, "case does not count"},
		{"value_zeroing", []string{"value-zeroing"}, "nor does the kind of hyphen"},
		{"valeu zeroing", []string{"value-zeroing"}, "the nearest alone"},
		{"folw", []string{"flow"}, "one slip in four letters"},
		{"value", []string{"value-zeroing", "value-zeroing-rollout"}, "a beginning"},
		{"grad", []string{"gradient"}, "a beginning"},
		{"va", nil, "a beginning of two letters says nothing"},
		{"xyz", nil, "nothing is near"},
		{"", nil, "nothing was said"},
		{"rollo", []string{"rollout"}, "a beginning, two slips being too many for five letters"},
		{"rawflow", nil, "three slips in four letters"},
		{"fxyw", nil, "two slips in four letters"},
		{strings.Repeat("rollout", 100_000), nil, "too long to be a slip"},
	} {
		if got := Nearest(c.name, known); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%.20q) = %q, want %q: %s", c.name, got, c.want, c.reason)
		}
	}
	// Of equally near names the first two count, each once.
	if got := Nearest("axc", []string{"abc", "adc", "adc", "aec"}); !slices.Equal(got,
		[]string{"abc", "adc"}) {
		t.Errorf("equally near are %q", got)
	}
	if got := Nearest("a", nil); got != nil {
		t.Errorf("nothing known gives %q", got)
	}
}

func TestKnownAre(t *testing.T) {
	known := []string{"flow", "rollout"}
	if got, want := KnownAre("rolout",
		known), "did you mean rollout? known are flow, rollout"; got != want {
		t.Errorf("KnownAre = %q, want %q", got, want)
	}
	if got, want := KnownAre("magic", known), "known are flow, rollout"; got != want {
		t.Errorf("KnownAre = %q, want %q", got, want)
	}
}

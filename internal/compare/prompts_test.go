package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCommonTokens compares the length of the subsequence with that of a search of all, and checks
// that it is one.
func TestCommonTokens(t *testing.T) {
	var longest func(x, y []string) int
	longest = func(x, y []string) int {
		if len(x) == 0 || len(y) == 0 {
			return 0
		}
		if strings.TrimSpace(x[0]) == strings.TrimSpace(y[0]) {
			return 1 + longest(x[1:], y[1:])
		}
		return max(longest(x[1:], y), longest(x, y[1:]))
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (all []string) {
		for range random.IntN(9) {
			all = append(all, []string{"a", " a", "b", " c", "d"}[random.IntN(5)])
		}
		return all
	}
	for range 500 {
		x, y := text(), text()
		pairs := commonTokens(x, y)
		if want := longest(x, y); len(pairs) != want {
			t.Fatalf("%q and %q: %d common tokens, want %d", x, y, len(pairs), want)
		}
		last := [2]int{-1, -1}
		for _, p := range pairs {
			if p[0] <= last[0] || p[1] <= last[1] || !sameToken(x[p[0]], y[p[1]]) {
				t.Fatalf("%q and %q: the pairs %v", x, y, pairs)
			}
			last = p
		}
	}
	long := slices.Repeat([]string{"a"}, 3000)
	other := slices.Repeat([]string{"b"}, 3000)
	if pairs := commonTokens(append(long, "x"), append(other, "x")); len(pairs) != 1 {
		t.Errorf("%d pairs of long prompts, want the last one", len(pairs))
	}
}

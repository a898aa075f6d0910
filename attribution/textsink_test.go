package attribution_test

import (
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// The sums are worked out by hand: what the other tokens that see a token give it, against what
// they give in all.
func TestTextSinks(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		encoder      bool
		special      []bool
		rows         [][]float64
		want         []bool
	}{
		{
			name: "decoder", reason: "token 0 has 0.8+0.2 of 2; token 1 has 0.7 of 1 and is a word",
			special: []bool{false, false, false},
			rows:    [][]float64{{1, 0, 0}, {0.8, 0.2, 0}, {0.2, 0.7, 0.1}},
			want:    []bool{true, false, false},
		},
		{
			name: "control token", reason: "token 1 has 0.7 of 1, token 0 has 0.3 of 2",
			special: []bool{false, true, false},
			rows:    [][]float64{{1, 0, 0}, {0.1, 0.9, 0}, {0.2, 0.7, 0.1}},
			want:    []bool{false, true, false},
		},
		{
			name: "encoder", reason: "token 0 is a word; token 2 has 0.5+0.2 of 2 from those before",
			encoder: true, special: []bool{false, false, true},
			rows: [][]float64{{0.4, 0.1, 0.5}, {0.7, 0.1, 0.2}, {0.9, 0, 0.1}},
			want: []bool{false, false, true},
		},
		{
			name: "generated", reason: "the last token is not of the prompt, and token 0 has 0 of 2",
			special: []bool{false, true},
			rows:    [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0.3, 0.7}},
			want:    []bool{false, false, false}, // 0.3 is not more than 30 %
		},
		{name: "none", reason: "there is no token", want: nil},
		{name: "one token", reason: "no other token gives it anything", special: []bool{true}, rows: [][]float64{{1}}, want: []bool{false}},
	} {
		e := &attribution.Explanation{
			Model: trace.Info{Bidirectional: c.encoder},
			Prompt: attribution.Prompt{
				Texts: make([]string, len(c.special)), Special: c.special,
			},
		}
		got := e.TextSinks(len(c.rows), func(i, j int) (part, whole float64) {
			return c.rows[i][j], 1
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v: %s", c.name, got, c.want, c.reason)
		}
	}
}

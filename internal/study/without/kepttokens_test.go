package without_test

import (
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// promptOf returns the prompt of [fakemodel.Converse].
func promptOf(words string) *attribution.Prompt {
	c := fakemodel.Converse(words)
	return &attribution.Prompt{
		Text: c.Text, IDs: c.IDs, Texts: c.Texts, Offsets: c.Offsets, Parts: c.Parts,
	}
}

// TestKeptTokens: tokens of a prompt have their places without a turn, or without bytes, also where
// what is taken away begins and ends as its neighbours do.
func TestKeptTokens(t *testing.T) {
	chat := "0.SYS 0.ask 0.END 1.SYS 1.tell 1.END 2.SYS 2.ask 2.END"
	for name, c := range map[string]struct {
		whole, rest string
		part        string
		removed     int
		want        []int
	}{
		"the first turn": {
			chat, "0.SYS 0.tell 0.END 1.SYS 1.ask 1.END", "turn:1", 0,
			[]int{0, -1, -1, -1, 1, 2, 3, 4, 5, 6},
		},
		"the second turn": {
			chat, "0.SYS 0.ask 0.END 1.SYS 1.ask 1.END", "turn:2", 1,
			[]int{0, 1, 2, 3, -1, -1, -1, 4, 5, 6},
		},
		"the template writes another text": {
			"0.SYS 0.be 0.END 1.SYS 1.ask 1.END", "0.SYSTEM 0.ask 0.END", "system", 0,
			[]int{0, -1, -1, -1, -1, 2, 3},
		},
		"a document in the text of the template": {
			"0.DOC 0.ONE 0.ask 0.END", "0.DOC 0.ask 0.END", "document:1", -1,
			[]int{0, 1, -1, 2, 3},
		},
		"bytes": {
			"0.ab 0.cd 0.ab 0.ef 0.ab", "0.ab 0.ef", "8:10,2:6", -1,
			[]int{0, 1, -1, -1, 2, -1},
		},
		"bytes of a token": {
			"0.ab 0.cd 0.ef", "0.ab 0.c 0.ef", "3:4", -1, []int{0, 1, -1, 3},
		},
	} {
		got, wrong := without.KeptTokens(promptOf(c.whole), promptOf(c.rest), c.part, c.removed)
		if wrong != "" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v %s", name, got, c.want, wrong)
		}
	}
}

package tokenizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBatch pads to the longest; the rest of truncation and padding is in TestExtra.
func TestBatch(t *testing.T) {
	tok := load(t, "bert_uncased.json")
	pair := "the keys"
	for _, c := range []struct {
		name  string
		opts  BatchOptions
		input []Input
		ids   [][]int
		types [][]int
		mask  [][]bool
	}{
		{
			"padded on the right",
			BatchOptions{Padding: &Padding{ID: 0}},
			[]Input{{Text: "the"}, {Text: "the keys"}},
			[][]int{{2, 360, 3, 0}, {2, 360, 709, 3}},
			[][]int{{0, 0, 0, 0}, {0, 0, 0, 0}},
			[][]bool{{true, true, true, false}, {true, true, true, true}},
		},
		{
			"padded on the left to a multiple",
			BatchOptions{Padding: &Padding{ID: 4, TypeID: 1, Left: true, MultipleOf: 3}},
			[]Input{{Text: "the keys"}},
			[][]int{{4, 4, 2, 360, 709, 3}},
			[][]int{{1, 1, 0, 0, 0, 0}},
			[][]bool{{false, false, true, true, true, true}},
		},
		{
			"cut, of a pair the longer first",
			BatchOptions{Truncation: &Truncation{MaxLength: 6}},
			[]Input{{Text: "the the the the", Pair: &pair}},
			[][]int{{2, 360, 360, 3, 360, 3}},
			[][]int{{0, 0, 0, 0, 1, 1}},
			[][]bool{{true, true, true, true, true, true}},
		},
		{
			"cut on the left, without control tokens",
			BatchOptions{NoSpecials: true, Truncation: &Truncation{MaxLength: 1, Left: true}},
			[]Input{{Text: "the keys"}},
			[][]int{{709}},
			[][]int{{0}},
			[][]bool{{true}},
		},
	} {
		batch, err := tok.EncodeBatch(c.input, c.opts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, e := range batch {
			if diff := cmp.Diff(c.ids[i], idsOf(e.Tokens)) + cmp.Diff(c.types[i], e.TypeIDs) + cmp.Diff(c.mask[i], e.Mask); diff != "" {
				t.Errorf("%s: input %d (-want +got):\n%s", c.name, i, diff)
			}
		}
	}
}

func TestBatchRefuses(t *testing.T) {
	tok := load(t, "bert_uncased.json")
	pair := "the"
	for _, c := range []struct {
		name  string
		opts  BatchOptions
		input Input
		want  string
	}{
		{"no room", BatchOptions{Truncation: &Truncation{MaxLength: 1}}, Input{Text: "the"}, "leave no room"},
		{"no pair to cut", BatchOptions{Truncation: &Truncation{MaxLength: 3, Strategy: "OnlySecond"}}, Input{Text: "the keys"}, "needs a pair"},
		{"too short to cut", BatchOptions{Truncation: &Truncation{MaxLength: 4, Strategy: "OnlySecond"}}, Input{Text: "the keys the keys", Pair: &pair}, "too few"},
		{"unknown strategy", BatchOptions{Truncation: &Truncation{MaxLength: 3, Strategy: "Random"}}, Input{Text: "the keys"}, "not LongestFirst"},
		{"padding without end", BatchOptions{Padding: &Padding{Length: 1 << 40}}, Input{Text: "the"}, "is not from 0 to"},
		{"negative padding", BatchOptions{Padding: &Padding{Length: -1}}, Input{Text: "the"}, "is not from 0 to"},
	} {
		if _, err := tok.EncodeBatch([]Input{c.input}, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestBatchAsTheFileSays has a file that truncates and pads, and a caller who wants neither.
func TestBatchAsTheFileSays(t *testing.T) {
	tok := edited(t, "bert_uncased", "truncation", `{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0}`,
		"padding", `{"strategy":{"Fixed":5},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"}`)
	for _, c := range []struct {
		opts BatchOptions
		want []int
	}{
		{BatchOptions{}, []int{2, 360, 3, 0, 0}},
		{BatchOptions{IgnoreFile: true}, []int{2, 360, 709, 3}},
		{BatchOptions{IgnoreFile: true, Padding: &Padding{Length: 5}}, []int{2, 360, 709, 3, 0}},
	} {
		batch, err := tok.EncodeBatch([]Input{{Text: "the keys"}}, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, idsOf(batch[0].Tokens)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.opts, diff)
		}
	}
	if got := idsOf(encode(t, tok, "the keys")); len(got) != 4 {
		t.Errorf("Encode cuts or pads: %v", got)
	}
}

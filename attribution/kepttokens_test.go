package attribution

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// promptOf returns a prompt with a token for each word, whose id is its first byte, after one for
// the begin of the text. A word of turn N, "N.word", belongs to that turn; in capital letters, the
// template wrote it.
func promptOf(words string) *Prompt {
	p := &Prompt{IDs: []int{0}, Texts: []string{"<s>"}, Offsets: [][2]int{{0, 0}}}
	for word := range strings.FieldsSeq(words) {
		turn, text, _ := strings.Cut(word, ".")
		begin := len(p.Text)
		p.Text += text
		p.IDs, p.Texts = append(p.IDs, int(text[0])), append(p.Texts, text)
		p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
		p.Parts = append(p.Parts, trace.Part{
			Turn: int(turn[0] - '0'), Begin: begin, End: len(p.Text),
		})
		if text == strings.ToUpper(text) {
			p.Parts[len(p.Parts)-1].Kind = trace.Label
		}
	}
	return p
}

// TestControlTokens: control tokens that stand in a message are told, with their number and the
// message; those of the template and of no text are not.
func TestControlTokens(t *testing.T) {
	p := promptOf("0.SYS 0.hi 0.END 1.SYS 1.<a> 1.ho 1.<b> 1.END 2.SYS 2.<a> 2.END")
	p.Special = []bool{true, true, false, true, true, true, false, true, true, true, true, true}
	p.Parts = append(p.Parts[:4], append([]trace.Part{
		{Turn: 1, Begin: p.Parts[4].Begin, End: p.Parts[6].End},
	}, p.Parts[7:]...)...)
	want := []string{
		`Message 2, the role is "user", has 2 control tokens, which the model does not read as ` +
			`text: "<a>", "<b>".`,
		`Message 3, the role is "user", has 1 control token, which the model does not read as ` +
			`text: "<a>".`,
	}
	for i := range p.Parts {
		p.Parts[i].Role = "user"
	}
	if got := p.controlTokens(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
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
		part, wrong := parseWithout(c.part)
		got := keptTokens(promptOf(c.whole), promptOf(c.rest), part, c.removed)
		if wrong != "" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v %s", name, got, c.want, wrong)
		}
	}
}

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

package attribution_test

import (
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
)

// TestControlTokens: control tokens that stand in a message are told, with their number and the
// message; those of the template and of no text are not.
func TestControlTokens(t *testing.T) {
	c := fakemodel.Converse("0.SYS 0.hi 0.END 1.SYS 1.<a> 1.ho 1.<b> 1.END 2.SYS 2.<a> 2.END")
	p := &attribution.Prompt{
		Text: c.Text, IDs: c.IDs, Texts: c.Texts, Offsets: c.Offsets, Parts: c.Parts,
	}
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
	if got := p.ControlTokens(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

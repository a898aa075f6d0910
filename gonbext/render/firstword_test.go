package render

import (
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
)

// TestFirstWord: a picture opens with a word of the answer where there is one, not with the full
// stop or the control token that an answer ends with.
func TestFirstWord(t *testing.T) {
	token := func(text string) attribution.GeneratedToken {
		return attribution.GeneratedToken{Text: text}
	}
	control := attribution.GeneratedToken{Text: "<|im_end|>", Special: true}
	tokens := func(all ...attribution.GeneratedToken) []attribution.GeneratedToken { return all }
	for _, c := range []struct {
		name  string
		steps []attribution.GeneratedToken
		want  int
	}{
		{"an answer and its end", tokens(token(" Paris"), token("."), control), 0},
		{"quotes and a line break first", tokens(token("\n"), token(" “"), token("Paris")), 2},
		{"a control token first", tokens(control, token(" yes")), 1},
		{"a number", tokens(token(" "), token("4718"), token(".")), 1},
		{"a piece of a word", tokens(token("'"), token("s")), 1},
		{"vocabulary marks", tokens(token("Ċ"), token("Ġ"), token("Ġmary")), 2},
		{"another script", tokens(token("。"), token("東京")), 1},
		{"punctuation alone", tokens(token("\n"), token(" …"), token("."), control), 1},
		{"a control token alone", tokens(control), 0},
		{"bytes of a character alone", tokens(token("\xe6"), token("\x9d")), 0},
		{"an article", tokens(token("The"), token(" author"), token(" of")), 1},
		{"an article with marks", tokens(token("Ċ"), token("▁Das"), token("▁Buch")), 2},
		{"two articles", tokens(token(" the"), token(" a"), token(" lamp")), 2},
		{"an article alone", tokens(token(" the"), control), 0},
		{"a letter that is the answer", tokens(token(" A"), token("."), token(" Paris")), 0},
		{"a word that begins like an article", tokens(token(" la"), token("mp"), token(" is")), 0},
		{"nothing", nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &attribution.Explanation{Steps: c.steps}
			if got := firstWord(e); got != c.want {
				t.Errorf("the picture opens with token %d, want %d", got, c.want)
			}
		})
	}
}

// TestFirstWordFramed: the word is framed in the text, and the colours are those of its row.
func TestFirstWordFramed(t *testing.T) {
	e := example()
	e.Steps[0].Text, e.Steps[1].Text, e.Steps[2].Text = " “", " Paris", "."
	d := newDrawing(Heatmap{Explanation: e}.picture(true), nil)
	if d.chosen != 1 {
		t.Errorf("token %d is chosen, want the word, 1", d.chosen)
	}
	all := Layers{Heatmap: Heatmap{Explanation: e}}.panels().methods[0].list
	if len(all) != 1 || !strings.Contains(all[0].name, "“Paris”") {
		t.Errorf("layers of %d tokens are shown, want those of the word alone", len(all))
	}
}

// TestNext: what a reader can do next is said in the part on how to read the picture, as text.
func TestNext(t *testing.T) {
	h := Heatmap{Explanation: example(), Next: "Save <it>."}
	out := written(t, h)
	const want = "<div>Save &lt;it&gt;.</div>"
	if !strings.Contains(out, want) {
		t.Errorf("the picture lacks %q:\n%s", want, out)
	}
}

package train

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

func TestTokenizerPieces(t *testing.T) {
	tok, err := Tokenizer()
	must(t, err)
	encode := func(text string, addSpecials bool) []tokenizer.Encoded {
		encoded, err := tok.Encode(text, addSpecials)
		must(t, err)
		return encoded
	}
	for _, w := range tiny.Words() {
		n := len(encode("the "+w.Text, false)) - 1
		want := max(1, len(w.Pieces))
		if n != want {
			t.Errorf("%q is %d tokens, want %d", w.Text, n, want)
		}
		if n := len(encode(w.Text, false)); n != want {
			t.Errorf("%q at the beginning is %d tokens, want %d", w.Text, n, want)
		}
	}
	if e := encode("the key", true); len(e) != 3 || tok.TokenText(e[0].ID) != bosToken {
		t.Errorf("Encode with specials = %v, want %s first", e, bosToken)
	}
	if tok.VocabSize() > 2048 {
		t.Errorf("VocabSize = %d, want at most 2048", tok.VocabSize())
	}
}

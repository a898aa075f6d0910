package tokenizer

import (
	"strings"
	"testing"
)

// written is the file of a tokenizer.
func written(t testing.TB, tok *Tokenizer) string {
	t.Helper()
	var b strings.Builder
	if _, err := tok.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

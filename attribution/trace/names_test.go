package trace

import (
	"strings"
	"testing"
)

// Every error about an unknown name in this package proposes what is near.
func TestUnknownNames(t *testing.T) {
	want := `trace: quantity "logits" is unknown; did you mean logit? known are logit, ` +
		`probability, log-probability`
	if _, err := ParseQuantity("logits"); err == nil || err.Error() != want {
		t.Errorf("ParseQuantity: %v, want %s", err, want)
	}
	if _, err := ParseHeads("maen"); err == nil ||
		!strings.Contains(err.Error(), "did you mean mean? ") {
		t.Errorf("ParseHeads: %v", err)
	}
	if _, err := ParseQuantity(strings.Repeat("x", 5000)); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long name gives %d bytes of error", len(err.Error()))
	}
}

package trace

import (
	"strings"
	"testing"
)

// Every error about an unknown name in this package proposes what is near.
func TestUnknownNames(t *testing.T) {
	if _, err := ParseQuantity("logits"); err == nil ||
		err.Error() != `trace: quantity "logits" is unknown; did you mean logit? known are logit, probability, log-probability` {
		t.Errorf("ParseQuantity: %v", err)
	}
	if _, err := ParseHeads("maen"); err == nil ||
		!strings.Contains(err.Error(), "did you mean mean? ") {
		t.Errorf("ParseHeads: %v", err)
	}
	if _, err := ParseQuantity(strings.Repeat("x", 5000)); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long name gives %d bytes of error", len(err.Error()))
	}
}

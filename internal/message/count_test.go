package message_test

import (
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/internal/message"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 shards", 1: "1 shard", 2: "2 shards"} {
		if got := message.Count(n, "shard"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := message.Count(int64(1)<<40, "record"); got != "1099511627776 records" {
		t.Errorf("got %q", got)
	}
}

func TestIsOrAre(t *testing.T) {
	for n, want := range map[int]string{0: "are", 1: "is", 2: "are"} {
		if got := message.IsOrAre(n); got != want {
			t.Errorf("IsOrAre(%d) = %q, want %q", n, got, want)
		}
	}
}

// A whole number with a point counts as long as a float64 has its neighbours.
func TestWholeNumber(t *testing.T) {
	for text, want := range map[string]string{
		"17": "17 true", "-3": "-3 true", "1.0": "1 true", "-0.0": "0 true", "2e3": "2000 true",
		"9223372036854775807": "9223372036854775807 true", "9007199254740992.0": "9007199254740992 true",
		"1.5": "0 false", "9007199254740994.0": "0 false", "9223372036854775808": "0 false",
		"1e400": "0 false", "NaN": "0 false", "inf": "0 false", "": "0 false", "a": "0 false",
	} {
		n, ok := message.WholeNumber(text)
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

package message_test

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/message"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0.0 MB",
		99_900_000:    "99.9 MB",
		100_000_000:   "100 MB",
		999_400_000:   "999 MB",
		1_000_000_000: "1.0 GB",
		2_340_000_000: "2.3 GB",
	} {
		if got := message.FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

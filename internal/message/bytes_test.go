package message_test

import (
	"testing"

	"github.com/headwater-ml/headwater/internal/message"
)

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0 bytes",
		999:           "999 bytes",
		1_000:         "1.0 kB",
		99_900:        "99.9 kB",
		500_000:       "0.5 MB",
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

// TestParseBytes reads sizes as people write them, and refuses what is no size.
func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"4096": 4096, "8GB": 8e9, "500 mb": 5e8, "1.5GiB": 3 << 29, "2T": 2e12, "1b": 1,
	} {
		if got, err := message.ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "0", "1e30", "12 elephants", "NaN", "0.5"} {
		if got, err := message.ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
}

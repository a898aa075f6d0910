package message_test

import (
	"strings"
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
	const size, large = "want a size such as 8GB", "it is too large: want less than 1000000TB"
	for text, want := range map[string]string{
		"": size, "GB": size, "-1GB": size, "0": size, "12 elephants": size, "NaN": size, "0.5": size,
		"1e30": large, "1e999": large, "1000000000GB": large, "1e30 elephants": size,
	} {
		got, err := message.ParseBytes(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseBytes(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

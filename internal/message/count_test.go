package message_test

import (
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

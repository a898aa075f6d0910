package message

import (
	"testing"
	"time"
)

// TestPace counts tokens that come at known times. The first token has no time before it, so n
// tokens have n-1 intervals.
func TestPace(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name   string
		tokens int
		every  time.Duration
		want   string
	}{
		{"none", 0, time.Second, ""},
		{"two", 2, time.Second, ""},
		{"three", 3, time.Second, ", 1.0 tokens/s"},
		{"too early", 5, 100 * time.Millisecond, ""},
		{"from half a second on", 6, 100 * time.Millisecond, ", 10 tokens/s"},
		{"slow", 4, 8 * time.Second, ", 0.1 tokens/s"},
		{"fast", 1001, time.Millisecond, ", 1000 tokens/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p Pace
			for i := range c.tokens {
				p.Add(begin.Add(time.Duration(i) * c.every))
			}
			if got := p.String(); got != c.want {
				t.Errorf("pace %q, want %q", got, c.want)
			}
		})
	}
}

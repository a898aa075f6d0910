package render

import "testing"

// One of something has the name of one.
func TestCountOf(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{
		{0, "tokens", "0 tokens"},
		{1, "prompt tokens", "1 prompt token"},
		{2, "prompt tokens", "2 prompt tokens"},
		{1, "spans of the prompt", "1 span of the prompt"},
		{1200, "spans of the prompt", "1,200 spans of the prompt"},
	} {
		if got := countOf(c.n, c.what); got != c.want {
			t.Errorf("%d %s: got %q, want %q", c.n, c.what, got, c.want)
		}
	}
}

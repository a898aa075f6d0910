package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000) // longer than any buffer
	cases := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "a", []string{"a"}},
		{"end of line", "a\n", []string{"a"}},
		{"two", "a\nb", []string{"a", "b"}},
		{"empty lines", "\n\na\n\n", []string{"", "", "a", ""}},
		{"carriage returns", "a\r\nb\r\n", []string{"a", "b"}},
		{"long", long + "\n" + long, []string{long, long}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
				var got []string
				for l, err := range Lines(r, "test") {
					must(t, err)
					if l.Number != len(got)+1 {
						t.Errorf("line %d has number %d", len(got)+1, l.Number)
					}
					got = append(got, string(l.Text))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestLinesErrors(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name string
		r    io.Reader
		want string
	}{
		{
			"too long", io.LimitReader(zeros{}, 2*maxLine),
			"test line 1: it has more than 33554432 bytes, the limit is 33554432 (32 MiB); " +
				"split it into lines",
		},
		{"no UTF-8", strings.NewReader("a\n\xff\n"), "test line 2: it is not valid UTF-8"},
		{"reader fails", io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), "test line 2: broken"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var last error
			for _, err := range Lines(c.r, "test") {
				last = err
			}
			if last == nil || last.Error() != c.want {
				t.Errorf("error %v, want %s", last, c.want)
			}
		})
	}
}

// zeros is a file without a line break.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

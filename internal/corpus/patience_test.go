package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headwater-ml/headwater/internal/corpus/bucket"
)

// slowReader gives a byte for each of its pauses.
type slowReader struct {
	ctx    context.Context
	pauses []time.Duration
}

func (s *slowReader) Read(b []byte) (int, error) {
	if len(s.pauses) == 0 {
		return 0, io.EOF
	}
	pause := s.pauses[0]
	s.pauses = s.pauses[1:]
	select {
	case <-time.After(pause):
		return copy(b, "x"), nil
	case <-s.ctx.Done():
		return 0, fmt.Errorf("read: %w", s.ctx.Err())
	}
}

func (*slowReader) Close() error { return nil }

// A request may take as long as the patience in all, and an answer as long for each of its pieces.
// What the program does between two pieces does not count.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name   string
		pauses []time.Duration
		want   string
	}{
		{"slow", []time.Duration{patience - 1, patience - 1, patience - 1}, ""},
		{"silent", []time.Duration{1, patience + 1}, "no success within 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			request := begin(t.Context(), 0)
			r := patientReader{&slowReader{request.ctx, c.pauses}, request}
			if err := request.pause(nil); err != nil {
				t.Fatal(err)
			}
			n := 0
			var err error
			for err == nil {
				time.Sleep(2 * patience)
				var read int
				read, err = r.Read(make([]byte, 10))
				n += read
			}
			if err == io.EOF {
				err = nil
			}
			if got := text(err); got != c.want || c.want == "" && n != len(c.pauses) {
				t.Errorf("%s: %d bytes, error %q, want %q", c.name, n, got, c.want)
			}
			if errors.Is(err, context.Canceled) {
				t.Errorf("%s: the error is that of a user's interruption", c.name)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An upload may take a second more for each 256 KiB, and the error of a request that is given up is
// one to try again, with what the client met last.
func TestUploadPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		request := begin(t.Context(), 10*slowestUpload)
		<-request.ctx.Done()
		if took := time.Since(start); took != patience+10*time.Second {
			t.Errorf("10 s of sending were given up after %v", took)
		}
		err := request.end(fmt.Errorf("retry failed with %w; last error: %w",
			&bucket.Answer{Status: 503, Code: "SlowDown"}, context.Canceled))
		err = bucketFailed("be written", "corpus: x cannot be written", err)
		const want = "corpus: x cannot be written: no success within 40s: the server answers SlowDown"
		if again := (*RetryError)(nil); !errors.As(err, &again) || err.Error() != want {
			t.Errorf("error %v, want that of a retry: %s", err, want)
		}
	})
}

// An interruption by the user is no lack of patience.
func TestInterruptedRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	request := begin(ctx, 0)
	cancel()
	err := request.end(request.ctx.Err())
	if late := (*lateError)(nil); !errors.Is(err, context.Canceled) || errors.As(err, &late) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// What a bucket answers decides what to do: nothing of it would pass by itself.
func TestBucketFailed(t *testing.T) {
	noHost := &net.DNSError{Err: "no such host", Name: "b.s3.example.org", IsNotFound: true}
	for _, c := range []struct {
		what  string
		err   error
		again bool
		want  []string
	}{
		{
			"be read", &bucket.Answer{Status: 403, Code: "AccessDenied"}, false,
			[]string{
				"refuses access; check its name, the account (AWS_ACCESS_KEY_ID and ",
				"and its permissions: the server answers AccessDenied",
			},
		},
		{"be read", &bucket.Answer{Status: 401}, false, []string{"answers 401 Unauthorized"}},
		{"be read", &bucket.Answer{Status: 404, Code: "NoSuchKey"}, false, []string{"file does not exist"}},
		{
			"be read", &bucket.Answer{Status: 404, Code: "NoSuchBucket"}, false,
			[]string{"there is no such bucket; check its name, or create it"},
		},
		{
			"be written", &bucket.Answer{Status: 404, Message: "not found"}, false,
			[]string{"there is no such bucket; check its name, or create it"},
		},
		// The parts of an upload are gone: it was completed, or somebody removed them.
		{"be written", &bucket.Answer{Status: 404, Code: "NoSuchUpload"}, true, []string{"NoSuchUpload"}},
		{"be written", &bucket.Answer{Status: 501, Code: "NotImplemented"}, false, []string{"NotImpl"}},
		{"be written", &bucket.Answer{Status: 409, Code: "ConditionalRequestConflict"}, true, []string{"Con"}},
		{"be read", bucket.ErrNoAccount, true, []string{"finds no account (AWS_ACCESS_KEY_ID "}},
		{"be read", noHost, true, []string{"no such host"}},
		{"be read", &bucket.Answer{Status: 503, Code: "SlowDown"}, true, []string{"answers SlowDown"}},
	} {
		err := bucketFailed(c.what, "corpus: x cannot "+c.what, c.err)
		again := errors.As(err, new(*RetryError))
		if again != c.again {
			t.Errorf("%v: try again is %v, want %v", c.err, again, c.again)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q, want %q", c.err, err, want)
			}
		}
	}
}

package bucket

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// early answers before it has read the body of a request, and keeps the body.
type early struct{ body io.Reader }

func (e *early) RoundTrip(r *http.Request) (*http.Response, error) {
	e.body = r.Body
	_, err := io.ReadFull(r.Body, make([]byte, 2))
	return &http.Response{StatusCode: http.StatusServiceUnavailable}, err
}

// Nothing reads the body of a request after its answer: the client sends the same reader again.
func TestBodyAfterReply(t *testing.T) {
	data := strings.NewReader("0123456789")
	r := httptest.NewRequest(http.MethodPut, "/x", io.NopCloser(data))
	inner := &early{}
	if _, err := (transport{inner}).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	if n, err := inner.body.Read(make([]byte, 2)); n != 0 || err == nil || data.Len() != 8 {
		t.Errorf("%d bytes were read after the answer, error %v; %d are left, want 8", n, err,
			data.Len())
	}
}

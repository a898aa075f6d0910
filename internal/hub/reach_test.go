package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestReachable(t *testing.T) {
	var authorized bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized = r.Header.Get("Authorization") != ""
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	opts := Options{Cache: t.TempDir(), Endpoint: server.URL, Token: "t"}
	if err := Reachable(t.Context(), opts, time.Minute); err != nil || authorized {
		t.Errorf("Reachable = %v, token sent: %v", err, authorized)
	}
	opts.Offline = true
	if err := Reachable(t.Context(), opts, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "HF_HUB_OFFLINE forbids") {
		t.Errorf("offline: error %v", err)
	}
}

// wrapped is a transport of a program's own.
type wrapped struct{ http.RoundTripper }

// A program that put a transport of its own in the place of the usual one can ask the Hub.
func TestOtherDefaultTransport(t *testing.T) {
	usual := http.DefaultTransport
	http.DefaultTransport = wrapped{usual}
	defer func() { http.DefaultTransport = usual }()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	opts := Options{Cache: t.TempDir(), Endpoint: server.URL}
	if err := Reachable(t.Context(), opts, time.Minute); err != nil {
		t.Error(err)
	}
}

// A host that takes the connection and says nothing, and one that refuses it, are not reachable.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	opts := Options{Cache: t.TempDir(), Endpoint: "http://" + silent.Addr().String()}
	err = Reachable(t.Context(), opts, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "has not answered within 50ms") {
		t.Errorf("silent: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Reachable(ctx, opts, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: error %v", err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	opts.Endpoint = gone.URL
	err = Reachable(t.Context(), opts, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "the connection to 127.0.0.1") {
		t.Errorf("gone: error %v", err)
	}
	opts.Endpoint = "nowhere"
	err = Reachable(t.Context(), opts, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "look at HF_ENDPOINT") {
		t.Errorf("no address: error %v", err)
	}
}

// TestUnknownHost: a host without an address is named, and not the server that was asked for it.
func TestUnknownHost(t *testing.T) {
	dns := &net.DNSError{Err: "no such host", Name: "hub.example", Server: "192.0.2.7:53"}
	err := &unreachable{host: "hub.example", err: &net.OpError{Op: "dial", Net: "tcp", Err: dns}}
	const want = "the Hub cannot be reached: hub.example: no such host"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

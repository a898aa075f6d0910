package hub

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A request for a model that was renamed is redirected to the same host. The token is sent there
// too, but not to the storage, which fakeHub checks.
func TestTokenFollowsARename(t *testing.T) {
	h := newHub(t, model())
	opts := h.options(t)
	opts.Token = "hf_secret"
	var with atomic.Int64
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Host == strings.TrimPrefix(h.hub.URL, "http://") {
			if r.Header.Get("Authorization") != "Bearer hf_secret" {
				t.Errorf("%s has no token", r.URL.Path)
			}
			with.Add(1)
		}
		if !strings.Contains(r.URL.Path, "org/old") {
			return false
		}
		http.Redirect(w, r, strings.Replace(r.URL.Path, "org/old", "org/new", 1),
			http.StatusTemporaryRedirect)
		return true
	}
	if _, err := resolve(t.Context(), "org/old", opts); err != nil {
		t.Fatal(err)
	}
	if with.Load() == 0 {
		t.Error("no request came")
	}
}

// The token is bound to scheme, host and port; a subdomain is another host.
func TestTokenStaysHome(t *testing.T) {
	endpoint := &url.URL{Scheme: "https", Host: "hub.example"}
	for address, want := range map[string]bool{
		"https://hub.example/x": true, "https://HUB.example/x": true,
		"https://cdn.hub.example/x": false, "http://hub.example/x": false,
		"https://hub.example:8443/x": false, "https://hub.example.evil/x": false,
		"https://evil@other/x": false,
	} {
		var sent string
		a := &authorized{endpoint: endpoint, token: "hf_secret", base: &recorder{&sent}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer of an earlier host")
		if _, err := a.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if got := sent == "Bearer hf_secret"; got != want || (!want && sent != "") {
			t.Errorf("%s got %q, want the token: %v", address, sent, want)
		}
	}
}

// recorder records the request that would have been sent.
type recorder struct{ authorization *string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	*r.authorization = req.Header.Get("Authorization")
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestCheckRedirect(t *testing.T) {
	request := func(address string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must(t, err)
		return req
	}
	for name, c := range map[string]struct {
		from, to string
		n        int
		want     string
	}{
		"once":                 {"https://a/", "https://b/", 1, ""},
		"ten times":            {"https://a/", "https://b/", 10, ""},
		"eleven times":         {"https://a/", "https://b/", 11, "more than 10 redirects"},
		"to plain http":        {"https://a/", "http://a/", 1, "redirected from https to http"},
		"plain from the start": {"http://a/", "http://b/", 1, ""},
	} {
		via := make([]*http.Request, c.n)
		for i := range via {
			via[i] = request(c.from)
		}
		err := checkRedirect(request(c.to), via)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// wrapped is a transport of a program's own.
type wrapped struct{ http.RoundTripper }

// A program that put a transport of its own in the place of the usual one can ask the Hub.
func TestOtherDefaultTransport(t *testing.T) {
	usual := http.DefaultTransport
	http.DefaultTransport = wrapped{usual}
	defer func() { http.DefaultTransport = usual }()
	h := newHub(t, model())
	_, err := resolve(t.Context(), "org/name", h.options(t))
	must(t, err)
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

package hub

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/message"
)

// client does one call of Resolve.
type client struct {
	ref      Ref
	opts     Options
	endpoint *url.URL
	repo     repo
	http     *http.Client
	stop     func() // closes its connections
	reached  bool   // whether the endpoint has answered

	window       time.Duration                   // over which the speed is averaged
	lockPatience time.Duration                   // for another download that makes no progress
	wait         func(attempt int) time.Duration // before another attempt
	disk         func(io.Writer) io.Writer       // wraps the writer of a blob; nil does not
}

// maxAttempts is how many attempts in a row a request has without progress.
const maxAttempts = 5

func backoff(attempt int) time.Duration { return time.Second << attempt }

// newHTTP returns a client and a function that closes its connections.
func newHTTP(endpoint *url.URL, opts Options) (client *http.Client, stop func()) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have its own
		t = usual.Clone()
	}
	t.DisableCompression = true // sizes and hashes are those of the file as it is
	t.ResponseHeaderTimeout = opts.Patience
	t.TLSHandshakeTimeout = opts.Patience
	t.MaxResponseHeaderBytes = maxHeaders
	t.DialContext = (&net.Dialer{Timeout: opts.Patience}).DialContext
	client = &http.Client{
		Transport:     &authorized{base: t, endpoint: endpoint, token: opts.Token},
		CheckRedirect: checkRedirect,
	}
	return client, t.CloseIdleConnections
}

// maxHeaders is the largest header of an answer in bytes: a hundred times what a Hub sends.
const maxHeaders = 256 << 10

// authorized sends the token to the host of the endpoint and to no other host, even after
// redirects.
type authorized struct {
	base     http.RoundTripper
	endpoint *url.URL
	token    string
}

func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("Authorization")
	req.Header.Set("User-Agent", "headwater")
	if a.token != "" && req.URL.Scheme == a.endpoint.Scheme &&
		strings.EqualFold(req.URL.Host, a.endpoint.Host) {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	return a.base.RoundTrip(req)
}

const maxRedirects = 10

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &misdirected{fmt.Sprintf("more than %d redirects", maxRedirects)}
	}
	if req.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
		return &misdirected{"redirected from https to " + req.URL.Scheme}
	}
	return nil
}

// misdirected is the error for a redirect that is not followed.
type misdirected struct{ reason string }

func (e *misdirected) Error() string { return e.reason }

// do sends a request and returns a response with status 200 or 206. An error that may go away by
// itself is a *transient.
func (c *client) do(client *http.Client, req *http.Request, what string) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.failed(req.Context(), req.URL, err)
	}
	c.reached = true
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	// a redirect that describe does not follow
	if resp.StatusCode/100 == 3 && req.Method == http.MethodHead {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refused(resp, what)
}

// failed returns the error for a request that got no answer.
func (c *client) failed(ctx context.Context, to *url.URL, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errLate) { // another attempt would take as long
		late := fmt.Errorf("%w than %v", errLate, wholePatience(c.opts.Patience))
		return &unreachable{host: to.Host, err: late}
	}
	if ctx.Err() != nil && !errors.Is(cause, errSilent) {
		return pkg.Errorf("%s: %w", c.ref, ctx.Err())
	}
	err = withoutAddress(err)
	var wrong *misdirected
	if errors.As(err, &wrong) {
		return pkg.Errorf("%s: %s: %w", c.ref, to.Host, wrong)
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = fmt.Errorf("%w for %v", errSilent, c.opts.Patience)
	} else if !ofNetwork(err) {
		err = errNoAnswer
	}
	return &transient{err: &unreachable{host: to.Host, err: err}}
}

// ofNetwork reports whether a request failed on the way, and not because what came back is no whole
// answer of HTTP.
func ofNetwork(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, new(*net.OpError)) || errors.As(err, &record) ||
		errors.As(err, new(*tls.CertificateVerificationError))
}

// withoutAddress returns what is wrong with a request without its address, because addresses of the
// storage have a signature.
func withoutAddress(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

var (
	errSilent = errors.New("no answer")
	// errNoAnswer is what a server says that is no Hub, or one that breaks off.
	errNoAnswer = errors.New("what answers there breaks off or does not speak HTTP as a Hub does")
	errLate     = errors.New("the whole answer takes longer")
)

// limited returns the context of a request that is not for the bytes of a file. Such a request must
// end within a fixed time, even if its answer keeps coming byte by byte.
func (c *client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, wholePatience(c.opts.Patience), errLate)
}

// unreachable is the error of a request without an answer.
type unreachable struct {
	host string
	err  error
}

func (e *unreachable) Error() string {
	var dns *net.DNSError
	if errors.As(e.err, &dns) { // whose own text has the address of the resolver
		return fmt.Sprintf("the Hub cannot be reached: %s: %s", e.host, dns.Err)
	}
	return fmt.Sprintf("the connection to %s fails: %v", e.host, e.err)
}
func (e *unreachable) Unwrap() error { return e.err }

// transient is an error that may not come again at the next attempt.
type transient struct {
	err   error
	after time.Duration // how long the server asks us to wait; 0 if it does not
}

func (e *transient) Error() string { return e.err.Error() }
func (e *transient) Unwrap() error { return e.err }

// try calls once until it succeeds, fails with an error that is not transient, or has failed
// maxAttempts times in a row without progress. There is progress if once returns more bytes than
// best, the best number so far, and the new bytes came at the lowest allowed speed or faster. If
// the endpoint has never answered, there is no second attempt: there is no network.
func (c *client) try(ctx context.Context, best int64,
	once func() (progress int64, err error),
) error {
	since := time.Now()
	for attempt := 1; ; attempt++ {
		n, err := once()
		var t *transient
		if !errors.As(err, &t) {
			return err
		}
		// Without the check of the speed, a server that sends one byte and hangs up would be asked
		// forever.
		if now := time.Now(); n > best && c.enough(n-best, now.Sub(since)) {
			best, since, attempt = n, now, 1
		}
		var away *unreachable
		if attempt >= maxAttempts || (!c.reached && errors.As(err, &away)) {
			return err
		}
		wait := max(t.after, c.wait(attempt-1))
		select {
		case <-ctx.Done():
			return pkg.Errorf("%s: %w", c.ref, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// maxRetryAfter is the longest time that a server can make us wait before one attempt.
const maxRetryAfter = time.Minute

// refused returns the error for an answer that is an error. what is the file, or empty for the
// repository.
func (c *client) refused(resp *http.Response, what string) error {
	status, code := resp.StatusCode, resp.Header.Get("X-Error-Code")
	what = strings.TrimSpace(c.ref.String() + " " + what)
	page := c.endpoint.String() + "/" + c.ref.Repo
	switch {
	case code == "GatedRepo" || (status == http.StatusForbidden && code == ""):
		return pkg.Errorf("%s: access is denied (%d%s): ask for it at %s, then set HF_TOKEN "+
			"to a token of that account", what, status, serverMessage(resp), page)
	case code == "RevisionNotFound":
		return pkg.Errorf("%s has no revision %q; look at %s", c.ref.Repo, c.ref.Revision, page)
	case code == "EntryNotFound":
		return pkg.Errorf("%s: the Hub lists the file and does not have it (%d)", what, status)
	case status == http.StatusUnauthorized && c.opts.Token == "":
		return unknownModel{pkg.Errorf("%s: there is no such model, or it is private or "+
			"gated (401): look at %s, and set HF_TOKEN to a token that may read it", what, page)}
	case status == http.StatusUnauthorized:
		return pkg.Errorf("%s: the token was refused (401): look at HF_TOKEN, or make a new "+
			"one in the settings of %s", what, c.endpoint)
	case status == http.StatusNotFound:
		return unknownModel{pkg.Errorf("%s is not at %s (404); if it is private, set HF_TOKEN",
			what, c.endpoint)}
	}
	err := pkg.Errorf("%s: %s answers %d%s", what, resp.Request.URL.Host, status,
		serverMessage(resp))
	if status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status/100 == 5 {
		return &transient{err: err, after: retryAfter(resp)}
	}
	return err
}

// unknownModel is the error about a name that the Hub does not have.
type unknownModel struct{ error }

// Unwrap returns what the Hub says.
func (e unknownModel) Unwrap() error { return e.error }

// Kind is errorkind.Model, which this package does not import.
func (e unknownModel) Kind() string { return "model" }

// serverMessage returns the message that the server sent with an error, for our own message.
func serverMessage(resp *http.Response) string {
	message := resp.Header.Get("X-Error-Message")
	if message == "" {
		return ""
	}
	return fmt.Sprintf(" %q", shortened(message))
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(int64(seconds), int64(maxRetryAfter/time.Second))) * time.Second
}

// listing is what the Hub says about a commit.
type listing struct {
	commit string
	files  []string
	sizes  map[string]int64 // where the Hub gives them
}

// maxListing is the largest listing in bytes; it has room for some hundred thousand files.
const maxListing = 64 << 20

// list asks the Hub for the commit and the files of a revision.
func (c *client) list(ctx context.Context, revision string) (listing, error) {
	address := c.endpoint.String() + "/api/models/" + c.ref.Repo + "/revision/" +
		url.PathEscape(revision) + "?blobs=true"
	var body []byte
	err := c.try(ctx, 0, func() (int64, error) {
		var err error
		body, err = c.read(ctx, address)
		return 0, err
	})
	if err != nil {
		return listing{}, err
	}
	return c.parseListing(body)
}

func (c *client) read(ctx context.Context, address string) ([]byte, error) {
	ctx, done := c.limited(ctx)
	defer done()
	watch := newWatch(ctx, c.opts.Patience)
	defer watch.stop()
	req, err := http.NewRequestWithContext(watch.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", c.ref, err)
	}
	resp, err := c.do(c.http, req, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(watch.reader(resp.Body), maxListing+1))
	if err != nil {
		return nil, c.failed(watch.ctx, req.URL, err)
	}
	if len(body) > maxListing {
		return nil, pkg.Errorf("%s: the list of files has more than %d bytes", c.ref, maxListing)
	}
	return body, nil
}

func (c *client) parseListing(body []byte) (listing, error) {
	var info struct {
		SHA      string   `json:"sha"`
		Siblings siblings `json:"siblings"`
	}
	err := json.Unmarshal(body, &info)
	var outside *unsafeName
	if errors.As(err, &outside) {
		return listing{}, pkg.Errorf("%s: the Hub lists a file named %q, which would be outside "+
			"the cache; nothing was written", c.ref, shortened(outside.name))
	}
	if err != nil {
		return listing{}, pkg.Errorf("%s: %s does not answer as a Hub does: %s; look at "+
			"HF_ENDPOINT and the proxy", c.ref, c.endpoint, message.NotJSON(err))
	}
	if !commitName.MatchString(info.SHA) {
		return listing{}, pkg.Errorf("%s: the Hub gives %q as commit, not 40 hexadecimal "+
			"digits", c.ref, shortened(info.SHA))
	}
	l := listing{commit: info.SHA, sizes: map[string]int64{}}
	for _, s := range info.Siblings {
		l.files = append(l.files, s.Name)
		if s.Size != nil {
			l.sizes[s.Name] = *s.Size
		}
	}
	return l, nil
}

// siblings are the files of a listing.
type siblings []sibling

type sibling struct {
	Name string `json:"rfilename"`
	Size *int64 `json:"size"`
}

// UnmarshalJSON reads one file after the other. It stops at the first file that has no name or an
// unsafe one: otherwise a hostile list of entries of three bytes each would need ten times as much
// memory as its text.
func (s *siblings) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return &json.UnmarshalTypeError{
			Value: message.KindOfJSON(b), Field: "siblings", Type: reflect.TypeFor[siblings](),
		}
	}
	for d.More() {
		var one sibling
		if err := d.Decode(&one); err != nil {
			return err
		}
		if !safe(one.Name) {
			return &unsafeName{one.Name}
		}
		*s = append(*s, one)
	}
	return nil
}

// unsafeName is the error for a file that would be outside the cache.
type unsafeName struct{ name string }

func (e *unsafeName) Error() string {
	return "the file " + shortened(e.name) + " would be outside the cache"
}

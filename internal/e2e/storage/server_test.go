package storage

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A fault is what goes wrong with a request.
type fault int

const (
	none      fault = iota
	refuse          // the connection ends before anything is read
	busy            // 503, "slow down"
	denied          // 403
	cutUpload       // the connection ends after half of what is sent
	loseReply       // the request is carried out, but the connection ends before the answer
	cutReply        // the answer ends in the middle
	slow            // the answer comes late and in pieces
	stall           // the request is never answered
)

var faultNames = map[fault]string{
	refuse: "connections are refused", busy: "the server is busy", denied: "access is denied",
	cutUpload: "uploads are cut", loseReply: "answers are lost", cutReply: "answers are cut",
	slow: "answers are slow",
}

func (f fault) String() string { return faultNames[f] }

const bucket = "corpora"

// server is a server of S3 on loopback with a bucket and with faults in front of it.
type server struct {
	t    *testing.T
	host string

	mu    sync.Mutex
	inner http.Handler
	// disturb chooses the fault of a request. It gets how often the same request came before.
	disturb func(r *http.Request, before int) fault
	seen    map[string]int // requests by method and path
	written map[string]int // successful uploads by path
	faults  map[fault]int
	// stalled gets a value when a request is not answered, and closing release ends it.
	stalled, release chan struct{}
}

func newServer(t *testing.T) *server {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	s := &server{
		t: t, inner: gofakes3.New(objects).Server(), written: make(map[string]int),
		stalled: make(chan struct{}, 100), release: make(chan struct{}),
	}
	s.calm()
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.release)
		front.Close()
	})
	s.host = strings.TrimPrefix(front.URL, "http://")
	return s
}

// calm ends all faults.
func (s *server) calm() { s.fail(func(*http.Request, int) fault { return none }) }

// fail chooses the faults of what comes next and forgets what came before.
func (s *server) fail(disturb func(r *http.Request, before int) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturb, s.seen, s.faults = disturb, make(map[string]int), make(map[fault]int)
}

// failed returns how many requests had a fault since the last call of fail.
func (s *server) failed(f fault) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults[f]
}

// place is what the command calls a folder of the bucket.
func (s *server) place(folder string) string {
	return fmt.Sprintf("s3://%s/%s?region=us-east-1&use_path_style=true&endpoint=http://%s", bucket,
		folder, s.host)
}

// account is the environment in which the command has an account, and no other one of the machine.
var account = []string{
	"AWS_ACCESS_KEY_ID=reader", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
	"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
}

// store stores an object behind the faults.
func (s *server) store(path string, body []byte) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPut, "/"+bucket+"/"+path, bytes.NewReader(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	if reply := s.request(r); reply.Code >= http.StatusMultipleChoices {
		s.t.Fatalf("%s: status %d", path, reply.Code)
	}
}

// object returns what is stored under a path of an S3 bucket.
func (s *server) object(path string) []byte {
	s.t.Helper()
	reply := s.request(httptest.NewRequest(http.MethodGet, "/"+bucket+"/"+path, nil))
	if reply.Code != http.StatusOK {
		s.t.Fatalf("%s: status %d", path, reply.Code)
	}
	return reply.Body.Bytes()
}

// replace stores something else under a path of an S3 bucket.
func (s *server) replace(path string, body []byte) {
	s.t.Helper()
	// With its checksum.
	s.request(httptest.NewRequest(http.MethodDelete, "/"+bucket+"/"+path, nil))
	s.store(path, body)
}

// request asks the server behind the faults.
func (s *server) request(r *http.Request) *httptest.ResponseRecorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Host = s.host
	reply := httptest.NewRecorder()
	s.inner.ServeHTTP(reply, r)
	return reply
}

// shards returns the paths of the shards that were uploaded.
func (s *server) shards() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := slices.Sorted(maps.Keys(s.written))
	return slices.DeleteFunc(paths, func(path string) bool {
		return !strings.HasSuffix(path, ".parquet")
	})
}

// onceEach checks that nothing was uploaded twice with success.
func (s *server) onceEach() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, n := range s.written {
		if n != 1 {
			s.t.Errorf("%s was written %d times", path, n)
		}
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := s.choose(r)
	switch f {
	case refuse:
		hangUp(w)
		return
	case busy:
		refusal(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
		return
	case denied:
		refusal(w, http.StatusForbidden, "AccessDenied", "Access Denied")
		return
	case cutUpload:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		hangUp(w)
		return
	case stall:
		s.stalled <- struct{}{}
		<-s.release
		hangUp(w)
		return
	}
	reply, err := s.carryOut(r)
	if err != nil {
		return // the client has ended the connection
	}
	switch f {
	case loseReply:
		hangUp(w)
		return
	case slow:
		time.Sleep(300 * time.Millisecond)
	}
	maps.Copy(w.Header(), reply.Header())
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", fmt.Sprint(reply.Body.Len()))
	}
	w.WriteHeader(reply.Code)
	body := reply.Body.Bytes()
	if f == cutReply {
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler) // the server ends the connection
	}
	pieces := 1
	if f == slow {
		pieces = 4
	}
	for i := range pieces {
		if i > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		_, _ = w.Write(body[len(body)*i/pieces : len(body)*(i+1)/pieces])
		_ = http.NewResponseController(w).Flush() // an error is the client's affair
	}
}

// choose returns the fault of a request.
func (s *server) choose(r *http.Request) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + r.URL.Path
	f := s.disturb(r, s.seen[name])
	s.seen[name]++
	s.faults[f]++
	return f
}

// carryOut passes a request on. Two uploads of one object do not overlap, so that a condition holds
// as it does on S3.
func (s *server) carryOut(r *http.Request) (*httptest.ResponseRecorder, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	reply := httptest.NewRecorder()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inner.ServeHTTP(reply, r)
	if reply.Code < http.StatusMultipleChoices {
		query := r.URL.Query()
		if r.Method == http.MethodPut && !query.Has("uploadId") ||
			r.Method == http.MethodPost && query.Has("uploadId") { // the last step of several
			s.written[strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")]++
		}
	}
	return reply, nil
}

// hangUp ends the connection of a request without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // the server is one of HTTP/1.1
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the client sees a reset, not the end of an answer
	}
	_ = conn.Close()
}

// refusal answers with an error.
func refusal(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>"+
		"<Message>%s</Message></Error>", code, message)
}

// isUpload reports whether a request stores something.
func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost
}

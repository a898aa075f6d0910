// Package buckettest is a server of buckets in memory, for tests. It speaks as much of S3's
// protocol as package bucket does, and checks no account.
package buckettest

import (
	"bytes"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server has one bucket, which is called corpora. It is safe for concurrent use.
type Server struct {
	// Refuse, if not nil, returns the status and the code with which a request is refused, or 0. It
	// is set before the first request.
	Refuse func(r *http.Request) (status int, code string)

	url     string
	mu      sync.Mutex
	objects map[string][]byte
	parts   map[string][]byte // of uploads that are not complete, by the key and their number
}

// New starts a server that ends with the test, and sets an account in the environment.
func New(t *testing.T) *Server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "reader")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := &Server{objects: map[string][]byte{}, parts: map[string][]byte{}}
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	s.url = front.URL
	return s
}

// Address returns the address of a folder of the bucket.
func (s *Server) Address(folder string) string {
	return "s3://corpora/" + folder + "?region=us-east-1&endpoint=" + s.url
}

// Object returns the bytes of an object, nil if there is none.
func (s *Server) Object(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

// Set sets the bytes of an object.
func (s *Server) Set(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = data
}

// Parts returns how many parts the server keeps of uploads that are not complete.
func (s *Server) Parts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parts)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Refuse != nil {
		if status, code := s.Refuse(r); status != 0 {
			refuse(w, status, code)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ours := strings.CutPrefix(r.URL.Path, "/corpora/")
	query := r.URL.Query()
	_, exists := s.objects[key]
	upload := query.Has("uploadId")
	switch {
	case !ours:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case query.Has("list-type"):
		s.list(w, query.Get("prefix"), query.Get("continuation-token"))
	case query.Has("uploads"):
		answer(w, initiated{UploadID: key})
	case upload && r.Method == http.MethodPut:
		s.parts[key+"?"+query.Get("partNumber")] = body
		w.Header().Set("ETag", query.Get("partNumber"))
	case upload && r.Method == http.MethodDelete:
		s.complete(key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if !exists {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(s.objects[key]))
	case exists && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case upload:
		s.objects[key] = s.complete(key)
		answer(w, completed{Bucket: "corpora", Key: key})
	default:
		s.objects[key] = body
	}
}

// complete forgets the parts of an upload and returns them in their order.
func (s *Server) complete(key string) (data []byte) {
	for n := 1; ; n++ {
		name := key + "?" + strconv.Itoa(n)
		part, ok := s.parts[name]
		if !ok {
			return data
		}
		delete(s.parts, name)
		data = append(data, part...)
	}
}

type initiated struct {
	XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
	UploadID string   `xml:"UploadId"`
}

type completed struct {
	XMLName     xml.Name `xml:"CompleteMultipartUploadResult"`
	Bucket, Key string
}

type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []content
}

type content struct {
	Key          string
	Size         int
	LastModified time.Time
}

// list answers with at most 3 objects, so that there are several pages.
func (s *Server) list(w http.ResponseWriter, prefix, after string) {
	var page listed
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(page.Contents) == 3 {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[2].Key
			break
		}
		page.Contents = append(page.Contents, content{key, len(s.objects[key]), time.Unix(1e9, 0)})
	}
	answer(w, page)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	answer(w, struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code})
}

func answer(w io.Writer, page any) { _ = xml.NewEncoder(w).Encode(page) } // the client may be gone

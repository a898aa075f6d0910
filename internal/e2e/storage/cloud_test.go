package storage

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A cloud is a kind of bucket: a server that speaks its protocol, and how the command reaches it.
type cloud struct {
	name string
	// server returns a server with an empty bucket that is reached at a host.
	server func(t *testing.T, host string) http.Handler
	// place is what the command calls a folder of the bucket, and env its account.
	place func(host, folder string) string
	env   func(host string) []string
	// put is a request that stores an object.
	put func(path string, body io.Reader) *http.Request
	// uploaded returns the path of the object that a request has stored, "" if it is another
	// request. It gets a successful answer.
	uploaded func(r *http.Request, reply *httptest.ResponseRecorder) string
}

var clouds = []cloud{s3, google, azure}

// account is that of all clouds.
const account = "reader"

var s3 = cloud{
	name: "s3",
	server: func(t *testing.T, _ string) http.Handler {
		objects := s3mem.New()
		if err := objects.CreateBucket(bucket); err != nil {
			t.Fatal(err)
		}
		return gofakes3.New(objects).Server()
	},
	place: func(host, folder string) string {
		return fmt.Sprintf("s3://%s/%s?region=us-east-1&use_path_style=true&endpoint=http://%s",
			bucket, folder, host)
	},
	env: func(string) []string {
		return []string{
			"AWS_ACCESS_KEY_ID=" + account, "AWS_SECRET_ACCESS_KEY=secret",
			"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null",
			"AWS_SHARED_CREDENTIALS_FILE=/dev/null",
		}
	},
	put: func(path string, body io.Reader) *http.Request {
		return httptest.NewRequest(http.MethodPut, "/"+bucket+"/"+path, body)
	},
	uploaded: func(r *http.Request, _ *httptest.ResponseRecorder) string {
		query := r.URL.Query()
		if r.Method == http.MethodPut && !query.Has("uploadId") ||
			r.Method == http.MethodPost && query.Has("uploadId") { // the last step of several
			return strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")
		}
		return ""
	},
}

var google = cloud{
	name: "gs",
	server: func(t *testing.T, host string) http.Handler {
		s, err := fakestorage.NewServerWithOptions(fakestorage.Options{
			NoListener: true, PublicHost: host,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucket})
		return s.HTTPHandler()
	},
	place: func(_, folder string) string { return fmt.Sprintf("gs://%s/%s", bucket, folder) },
	env:   func(host string) []string { return []string{"STORAGE_EMULATOR_HOST=" + host} },
	put: func(path string, body io.Reader) *http.Request {
		return httptest.NewRequest(http.MethodPost, "/upload/storage/v1/b/"+bucket+
			"/o?uploadType=media&name="+url.QueryEscape(path), body)
	},
	uploaded: func(r *http.Request, reply *httptest.ResponseRecorder) string {
		if !strings.HasPrefix(r.URL.Path, "/upload/") {
			return ""
		}
		var object struct{ Name string }
		if err := json.Unmarshal(reply.Body.Bytes(), &object); err != nil {
			return ""
		}
		return object.Name
	},
}

var azure = cloud{
	name: "azblob",
	server: func(*testing.T, string) http.Handler {
		return &azureServer{blobs: map[string][]byte{}}
	},
	place: func(host, folder string) string {
		return fmt.Sprintf("azblob://%s/%s?protocol=http&domain=%s", bucket, folder, host)
	},
	env: func(string) []string {
		return []string{
			"AZURE_STORAGE_ACCOUNT=" + account,
			"AZURE_STORAGE_KEY=" + base64.StdEncoding.EncodeToString([]byte("secret")),
		}
	},
	put: func(path string, body io.Reader) *http.Request {
		r := httptest.NewRequest(http.MethodPut, azureFolder+path, body)
		r.Header.Set("x-ms-blob-type", "BlockBlob")
		return r
	},
	uploaded: func(r *http.Request, _ *httptest.ResponseRecorder) string {
		if r.Method != http.MethodPut {
			return ""
		}
		return strings.TrimPrefix(r.URL.Path, azureFolder)
	},
}

// azureFolder is the path of the bucket on an azureServer.
const azureFolder = "/" + account + "/" + bucket + "/"

// azureServer is what headwater needs of Azure Blob Storage: it lists blobs, reads and writes whole
// ones and pieces, and refuses to replace one if it is asked to. It does not check the account.
type azureServer struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

// azureTime is when all blobs were written.
var azureTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(http.TimeFormat)

func (s *azureServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ours := strings.CutPrefix(r.URL.Path+"/", azureFolder)
	name = strings.TrimSuffix(name, "/")
	comp := r.URL.Query().Get("comp")
	body, there := s.blobs[name]
	switch {
	case !ours:
		azureError(w, http.StatusNotFound, "ContainerNotFound")
	case r.Method == http.MethodGet && comp == "list":
		s.list(w, r)
	case comp != "":
		azureError(w, http.StatusNotImplemented, "NotImplemented")
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		azureError(w, http.StatusConflict, "BlobAlreadyExists")
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("x-ms-blob-type") != "BlockBlob" {
			azureError(w, http.StatusBadRequest, "InvalidInput")
			return
		}
		s.blobs[name] = body
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Last-Modified", azureTime)
		w.WriteHeader(http.StatusCreated)
	case !there:
		azureError(w, http.StatusNotFound, "BlobNotFound")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		azureRead(w, r, body)
	default:
		azureError(w, http.StatusMethodNotAllowed, "UnsupportedHttpVerb")
	}
}

func azureError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
}

// azureRead answers with a blob or the piece of it that is asked for.
func azureRead(w http.ResponseWriter, r *http.Request, body []byte) {
	h := w.Header()
	h.Set("ETag", `"1"`)
	h.Set("Last-Modified", azureTime)
	h.Set("x-ms-creation-time", azureTime)
	h.Set("x-ms-blob-type", "BlockBlob")
	status := http.StatusOK
	if piece, ok := strings.CutPrefix(r.Header.Get("x-ms-range"), "bytes="); ok {
		from, to, _ := strings.Cut(piece, "-")
		first, err := strconv.Atoi(from)
		last := len(body) - 1
		if to != "" && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first >= len(body) {
			azureError(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		last = min(last, len(body)-1)
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(body)))
		body, status = body[first:last+1], http.StatusPartialContent
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // an error is the client's affair
	}
}

// azureBlob is a blob in a list.
type azureBlob struct {
	Name       string
	Properties struct {
		Size     int    `xml:"Content-Length"`
		Modified string `xml:"Last-Modified"`
		ETag     string `xml:"Etag"`
	}
}

// list answers with the names of at most 3 blobs, so that there are several pages.
func (s *azureServer) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var names []string
	for name := range s.blobs {
		if strings.HasPrefix(name, query.Get("prefix")) && name >= query.Get("marker") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var page struct {
		XMLName    xml.Name    `xml:"EnumerationResults"`
		Blobs      []azureBlob `xml:"Blobs>Blob"`
		NextMarker string
	}
	if len(names) > 3 {
		page.NextMarker, names = names[3], names[:3]
	}
	for _, name := range names {
		b := azureBlob{Name: name}
		b.Properties.Size, b.Properties.Modified = len(s.blobs[name]), azureTime
		b.Properties.ETag = "1"
		page.Blobs = append(page.Blobs, b)
	}
	w.Header().Set("Content-Type", "application/xml")
	if err := xml.NewEncoder(w).Encode(page); err != nil {
		panic(err) // names and sizes are encoded always
	}
}

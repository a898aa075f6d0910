package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// status answers every request for a path that contains part with a status code.
func status(part string, code int, header ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		return true
	}
}

// change is what a case does to the Hub or to the options.
type change func(h *fakeHub, o *Options)

// answers makes the Hub answer requests for paths that contain part with a status code.
func answers(part string, code int, header ...string) change {
	return func(h *fakeHub, _ *Options) { h.intercept = status(part, code, header...) }
}

// lists adds a file to the first commit.
func lists(name string) change {
	return func(h *fakeHub, _ *Options) { h.commits[commitA][name] = "x" }
}

// lacks removes files from the first commit.
func lacks(names ...string) change {
	return func(h *fakeHub, _ *Options) {
		for _, name := range names {
			delete(h.commits[commitA], name)
		}
	}
}

// etag changes the hash of a file.
func etag(name, hash string) change {
	return func(h *fakeHub, _ *Options) { h.etags[name] = hash }
}

// shard makes the weights one file of that name, which an index names.
func shard(name string) change { return func(h *fakeHub, _ *Options) { sharded(h, name) } }

func TestRefusals(t *testing.T) {
	none := strings.Repeat("0", 64)
	cases := []struct {
		name   string
		ref    string
		change change
		want   string
	}{
		{"no such repository", "", answers("/api/", 404, "X-Error-Code", "RepoNotFound"), "hub: org/name is not at http://127.0.0.1"},
		{"no such revision", "org/name@v9", nil, `hub: org/name has no revision "v9"`},
		{"no such file", "", answers("tokenizer.json", 404, "X-Error-Code", "EntryNotFound"), "hub: org/name tokenizer.json: the Hub lists the file and does not have it"},
		{"token missing", "", answers("/api/", 401), "there is no such model, or it is private or gated (401): look at"},
		{
			"token wrong", "",
			func(h *fakeHub, o *Options) {
				h.intercept, o.Token = status("/api/", 401), "hf_wrong"
			}, "the token was refused (401): look at HF_TOKEN",
		},
		{"gated", "", answers("/resolve/", 403, "X-Error-Code", "GatedRepo"), "access is denied (403): ask for it at"},
		{"teapot", "", answers("/api/", 418, "X-Error-Message", "short and stout"), `answers 418 "short and stout"`},
		{"always busy", "", answers("/api/", 429), "answers 429"},
		{"always broken", "", answers("/resolve/", 503), "answers 503"},
		{"not a Hub", "", answers("/api/", 200), "does not answer as a Hub does"},
		{
			"commit that leads away", "",
			func(h *fakeHub, _ *Options) {
				h.revisions["main"] = "../../x"
				h.commits["../../x"] = model()
			}, `gives "../../x" as commit`,
		},
		{"name that leads up", "", lists("../../evil"), `lists a file named "../../evil"`},
		{"absolute name", "", lists("/etc/evil"), `lists a file named "/etc/evil"`},
		{"name with backslash", "", lists(`..\evil`), "lists a file named"},
		{
			"only a pickle", "", lacks("model.safetensors"),
			`hub: org/name: it has no model.safetensors, only pytorch_model.bin: convert it once in Python, and name the folder in place of the model:
	from transformers import AutoModelForCausalLM, AutoTokenizer
	AutoModelForCausalLM.from_pretrained("org/name", revision="main")`,
		},
		{"no weights", "", lacks("model.safetensors", "pytorch_model.bin"), "it has neither model.safetensors nor model.safetensors.index.json"},
		{"no config", "", lacks("config.json"), "is not a model of transformers: it has no config.json"},
		{"shard that leads away", "", shard("../../../x.safetensors"), `names the file "../../../x.safetensors", which is not a safetensors file`},
		{"shard that is a pickle", "", shard("x.bin"), `names the file "x.bin"`},
		{"shard that is not there", "", shard("x.safetensors"), "names x.safetensors, which the repository does not have"},
		{"wrong hash", "", etag("model.safetensors", none), "model.safetensors: the downloaded bytes are not those of the Hub: their hash is"},
		{"wrong git hash", "", etag("config.json", none[:40]), "config.json: the downloaded bytes are not those"},
		{"hash that is a path", "", etag("config.json", "../../x"), `gives "\"../../x\"" as its ETag, not a hash`},
		{"sizes that differ", "", func(h *fakeHub, _ *Options) {
			h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == "HEAD" && strings.Contains(r.URL.Path, "config.json") &&
					status("", 200, "Content-Length", "3", "ETag", none[:40])(w, r)
			}
		}, "the Hub lists 21 bytes and offers 3"},
		{
			"storage has less", "",
			func(h *fakeHub, _ *Options) { h.intercept = body("/storage/", "short") },
			"offers 5 bytes, the Hub has 800000",
		},
		{
			"storage has more", "",
			func(h *fakeHub, _ *Options) { h.intercept = stream("/storage/", 800_001) },
			"more bytes come than the 800000",
		},
		{"redirects without end", "", func(h *fakeHub, _ *Options) {
			h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
				return true
			}
		}, "more than 10 redirects"},
		{"not in the cache, offline", "", func(_ *fakeHub, o *Options) { o.Offline = true }, "hub: org/name: it is not in the cache, and HF_HUB_OFFLINE forbids downloading it: set HF_HUB_OFFLINE=0, or copy"},
		{"no network", "", func(_ *fakeHub, o *Options) { o.Endpoint = "http://127.0.0.1:1" }, "hub: org/name: it is not in the cache, and the connection to 127.0.0.1:1 fails"},
		{"endpoint no address", "", func(_ *fakeHub, o *Options) { o.Endpoint = "huggingface" }, `endpoint "huggingface" is not an address`},
		{"no cache folder", "", func(_ *fakeHub, o *Options) { o.Cache = "" }, "no cache folder was given"},
		{"bad name", "a/b/c", nil, "is not the name of a model"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, model())
			opts := h.options(t)
			root := opts.Cache
			if c.change != nil {
				c.change(h, &opts)
			}
			ref := c.ref
			if ref == "" {
				ref = "org/name"
			}
			_, err := resolve(t.Context(), ref, opts)
			if err == nil || !strings.HasPrefix(err.Error(), "hub: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") ||
				strings.Contains(err.Error(), "hf_wrong") {
				t.Errorf("the error shows a secret: %v", err)
			}
			if n := len(h.requests()); n > 40 {
				t.Errorf("%d requests", n)
			}
			untouched(t, root)
		})
	}
}

// untouched checks that a cache has complete files only, and that no revision was recorded.
func untouched(t *testing.T, root string) {
	t.Helper()
	if !isDir(root) {
		return
	}
	for name, text := range contents(t, root) {
		if strings.Contains(name, "/refs/") || strings.Contains(name, ".tmp") {
			t.Errorf("%s was written", name)
		}
		if strings.Contains(name, "/snapshots/") && text != model()[filepath.Base(name)] &&
			!strings.Contains(name, "index.json") && text != "T" {
			t.Errorf("%s holds %d bytes that are not the file", name, len(text))
		}
	}
}

// TestShardsOfOtherTypes: an error about a list of shards speaks of JSON.
func TestShardsOfOtherTypes(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                     " is not a list of shards: it is a list, want an object",
		`{"weight_map":[]}`:      ` is not a list of shards: "weight_map" is a list, want an object`,
		`{"weight_map":`:         " is not a list of shards: unexpected end of JSON input",
		`{"weight_map":{"a":1}}`: `: what weight_map has for the tensor "a" is not the name of a file`,
		`{"weight_map":{"a":"b.safetensors","b":null,"c":[]}}`: `: what weight_map has for the ` + `tensor "b" is not the name of a file`,
	} {
		_, err := shards([]byte(text))
		if want = indexFile + want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func sharded(h *fakeHub, shard string) {
	delete(h.commits[commitA], "model.safetensors")
	h.commits[commitA]["model.safetensors.index.json"] = fmt.Sprintf(`{"weight_map":{"a":%q}}`,
		shard)
}

func body(part, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		_, _ = io.WriteString(w, text)
		return true
	}
}

// stream sends n bytes without saying how many.
func stream(part string, n int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		w.(http.Flusher).Flush()
		_, _ = w.Write(make([]byte, n))
		return true
	}
}

// cutting makes the storage send the next n bytes of a file and then cut the connection.
func cutting(content string, n int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/storage/") {
			return false
		}
		var from int
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		if from > 0 {
			w.Header().Set("Content-Range",
				fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.WriteString(w, content[from:min(from+n, len(content))])
		if from+n < len(content) {
			panic(http.ErrAbortHandler)
		}
		return true
	}
}

// bringsAll ends the test unless the weights are there after a download.
func (h *fakeHub) bringsAll(t *testing.T, opts Options) {
	t.Helper()
	dir, err := resolve(t.Context(), "org/name", opts)
	if err != nil || contents(t, dir)["model.safetensors"] != model()["model.safetensors"] {
		t.Fatalf("%s, %v, want the whole file", dir, err)
	}
}

// A download whose connection is cut again and again continues as long as bytes come.
func TestResumesWithinOneCall(t *testing.T) {
	files := model()
	h := newHub(t, files)
	h.hub.Config.ErrorLog, h.storage.Config.ErrorLog = nil, nil
	// 12 connections, more than maxAttempts
	h.intercept = cutting(files["model.safetensors"], 70_000)
	h.bringsAll(t, h.options(t))
	ranges := 0
	for _, line := range h.requests() {
		if strings.Contains(line, "/storage/") && strings.Contains(line, "bytes=") {
			ranges++
		}
	}
	if ranges != 11 {
		t.Errorf("%d requests with a range, want 11", ranges)
	}
}

// A later call continues where an earlier one stopped.
func TestResumesAcrossCalls(t *testing.T) {
	files := model()
	content := files["model.safetensors"]
	for _, c := range []struct {
		name string
		left string // in .incomplete
		want string // range of the first request to the storage
	}{
		{"half", content[:400_000], "bytes=400000-"},
		{"all", content, "none"},
		{"damaged", "x" + content[1:400_000], "bytes=400000-"},
		{"damaged and all", "x" + content[1:], ""},
		{"too long", content + "x", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, files)
			opts := h.options(t)
			blob := filepath.Join(opts.Cache, "models--org--name", "blobs",
				h.etag("model.safetensors", content))
			write(t, blob+".incomplete", c.left)
			h.bringsAll(t, opts)
			got := "none"
			for _, line := range h.requests() {
				if _, rest, ok := strings.Cut(line, "/model.safetensors"); ok &&
					strings.Contains(line, "/storage/") && got == "none" {
					got = strings.TrimSpace(rest)
				}
			}
			if got != c.want {
				t.Errorf("first range %q, want %q", got, c.want)
			}
			if isFile(blob + ".incomplete") {
				t.Error(".incomplete is still there")
			}
		})
	}
}

// If a server does not know ranges, the download starts again.
func TestServerWithoutRanges(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	h.intercept = body("/storage/", files["model.safetensors"])
	write(t, filepath.Join(opts.Cache, "models--org--name", "blobs",
		h.etag("model.safetensors", files["model.safetensors"])+".incomplete"), "weigh")
	h.bringsAll(t, opts)
}

// A blob that was cut later is downloaded again.
func TestRepairsABlobOfWrongSize(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	write(t, filepath.Join(opts.Cache, "models--org--name", "blobs",
		h.etag("model.safetensors", files["model.safetensors"])), "weigh")
	h.bringsAll(t, opts)
}

func TestRetriesWhatPasses(t *testing.T) {
	h := newHub(t, model())
	codes := []int{429, 500, 502, 503, 504, 408}
	seen := map[string]bool{}
	var mu sync.Mutex
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		key := r.Method + r.URL.Path
		if seen[key] {
			return false
		}
		seen[key] = true
		return status("", codes[len(seen)%len(codes)], "Retry-After", "0")(w, r)
	}
	if _, err := resolve(t.Context(), "org/name", h.options(t)); err != nil {
		t.Errorf("the first request of each kind fails: %v", err)
	}
	if len(seen) < len(codes) {
		t.Errorf("%d kinds of requests, want one for each status", len(seen))
	}
}

func TestWaitsAsTold(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second,
		"100000": time.Minute, "-1": 0, "soon": 0, "9223372036854775807": time.Minute,
	} {
		response := &http.Response{Header: http.Header{"Retry-After": {header}}}
		if got := retryAfter(response); got != want {
			t.Errorf("Retry-After %q: %v, want %v", header, got, want)
		}
	}
	if backoff(0) != time.Second || backoff(3) != 8*time.Second {
		t.Errorf("backoff %v, %v, want 1s, 8s", backoff(0), backoff(3))
	}
}

// full fails like a full disk after n bytes.
type full struct {
	w io.Writer
	n *int
}

func (f full) Write(b []byte) (int, error) {
	k := min(len(b), *f.n)
	k, err := f.w.Write(b[:k])
	*f.n -= k
	if err == nil && k < len(b) {
		err = &os.PathError{Op: "write", Path: "blob", Err: syscall.ENOSPC}
	}
	return k, err
}

func TestFullDisk(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	room := 300_000
	_, err := resolve(t.Context(), "org/name", opts, func(c *client) {
		c.disk = func(w io.Writer) io.Writer { return full{w, &room} }
	})
	if !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "the bytes so far are kept; make room in "+opts.Cache) {
		t.Fatalf("error %v, want a full disk and what to do", err)
	}
	untouched(t, opts.Cache)
	h.requests()
	if _, err := resolve(t.Context(), "org/name", opts); err != nil {
		t.Fatal(err)
	}
	if log := strings.Join(h.requests(), "\n"); !strings.Contains(log,
		"/model.safetensors bytes=29") {
		t.Errorf("no range from where the disk was full:\n%s", log)
	}
}

func TestReadOnlyCache(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	h := newHub(t, model())
	opts := h.options(t)
	must(t, os.MkdirAll(opts.Cache, 0o500))
	if _, err := resolve(t.Context(), "org/name", opts); err == nil ||
		!strings.Contains(err.Error(), "permission denied; set HF_HOME to another folder") {
		t.Errorf("error %v", err)
	}
}

func TestSilentServer(t *testing.T) {
	release := make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	wait := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	silent := &httptest.Server{
		Listener: listener,
		Config:   &http.Server{Handler: http.HandlerFunc(wait)},
	}
	silent.Start()
	defer silent.Close()
	defer close(release)
	opts := Options{Cache: t.TempDir(), Endpoint: silent.URL, Patience: 50 * time.Millisecond}
	if _, err := resolve(t.Context(), "org/name", opts); err == nil ||
		!strings.Contains(err.Error(), "no answer for 50ms") {
		t.Errorf("error %v, want that there is no answer", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	opts.Patience = time.Hour
	if _, err := resolve(ctx, "org/name", opts); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
}

// If a server stops in the middle of a file, the rest is requested again.
func TestServerThatFallsSilent(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	opts.Patience = 100 * time.Millisecond
	var first atomic.Bool
	first.Store(true)
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/storage/") || !first.Swap(false) {
			return false
		}
		w.Header().Set("Content-Length", "800000")
		_, _ = io.WriteString(w, files["model.safetensors"][:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	h.bringsAll(t, opts)
	if log := strings.Join(h.requests(), "\n"); !strings.Contains(log, "bytes=1000-") {
		t.Errorf("no range from byte 1000:\n%s", log)
	}
}

func TestCancelledInTheMiddle(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	ctx, cancel := context.WithCancel(t.Context())
	opts.Progress = func(p Progress) {
		if p.File == "model.safetensors" && p.Done > 0 {
			cancel()
		}
	}
	if _, err := resolve(ctx, "org/name", opts); !errors.Is(err, context.Canceled) ||
		!strings.HasPrefix(err.Error(), "hub: org/name") {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	untouched(t, opts.Cache)
	opts.Progress = nil
	h.requests()
	if _, err := resolve(t.Context(), "org/name", opts); err != nil {
		t.Fatal(err)
	}
	if log := strings.Join(h.requests(), "\n"); !strings.Contains(log,
		"/model.safetensors bytes=") {
		t.Errorf("nothing was resumed:\n%s", log)
	}
}

// TestTwoProcesses: processes and goroutines ask for the same model at once. All get it, and its
// bytes are sent once.
func TestTwoProcesses(t *testing.T) {
	if endpoint := os.Getenv("HUB_TEST_ENDPOINT"); endpoint != "" {
		dir, err := resolve(t.Context(), "org/name",
			Options{Cache: os.Getenv("HUB_TEST_CACHE"), Endpoint: endpoint})
		fmt.Println("RESOLVED", dir, err)
		return
	}
	files := model()
	h := newHub(t, files)
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/storage/") {
			time.Sleep(50 * time.Millisecond) // so that the others come while the first is at it
		}
		return false
	}
	opts := h.options(t)
	want := filepath.Join(opts.Cache, "models--org--name", "snapshots", commitA)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			if i%2 == 0 {
				if dir, err := resolve(t.Context(), "org/name", opts); err != nil || dir != want {
					t.Errorf("goroutine: %s, %v", dir, err)
				}
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$")
			cmd.Env = append(os.Environ(), "HUB_TEST_ENDPOINT="+opts.Endpoint,
				"HUB_TEST_CACHE="+opts.Cache)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "RESOLVED "+want+" <nil>") {
				t.Errorf("process: %v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	if diff := cmp.Diff(files["model.safetensors"],
		contents(t, want)["model.safetensors"]); diff != "" {
		t.Error("other weights")
	}
	n := 0
	for _, line := range h.requests() {
		if strings.Contains(line, "/storage/") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the weights were fetched %d times, want once", n)
	}
}

package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// fakeHub speaks the protocol of the Hub on one host, and of its storage on another.
type fakeHub struct {
	t            *testing.T
	hub, storage *httptest.Server

	mu        sync.Mutex
	revisions map[string]string            // to commits
	commits   map[string]map[string]string // files and contents
	large     map[string]bool              // files that are in the storage
	log       []string                     // METHOD PATH RANGE of every request

	// intercept, if it is not nil, may answer a request itself.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	etags     map[string]string // in place of the true ones
}

func newHub(t *testing.T, files map[string]string) *fakeHub {
	h := &fakeHub{
		t: t, revisions: map[string]string{"main": commitA},
		commits: map[string]map[string]string{commitA: files},
		large:   map[string]bool{}, etags: map[string]string{},
	}
	for f := range files {
		h.large[f] = strings.HasSuffix(f, ".safetensors")
	}
	h.hub = httptest.NewServer(http.HandlerFunc(h.serve))
	h.storage = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.hub.Close)
	t.Cleanup(h.storage.Close)
	return h
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.log = append(h.log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	h.mu.Unlock()
	if r.Header.Get("Authorization") != "" && r.Host != strings.TrimPrefix(h.hub.URL, "http://") {
		h.t.Errorf("the token went to %s", r.Host)
	}
	if h.intercept != nil && h.intercept(w, r) {
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/models/"); ok {
		_, revision, _ := strings.Cut(rest, "/revision/")
		h.serveListing(w, revision)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/storage/"); ok {
		commit, file, _ := strings.Cut(rest, "/")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(h.commits[commit][file]))
		return
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/resolve/")
	commit, file, _ := strings.Cut(rest, "/")
	content, ok := h.commits[commit][file]
	if !ok {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	if h.large[file] {
		w.Header().Set("X-Linked-Etag", `"`+h.etag(file, content)+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(content)))
		http.Redirect(w, r, h.storage.URL+"/storage/"+commit+"/"+file+"?signature=secret",
			http.StatusFound)
		return
	}
	w.Header().Set("ETag", `"`+h.etag(file, content)+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

func (h *fakeHub) serveListing(w http.ResponseWriter, revision string) {
	commit := revision
	if c, ok := h.revisions[revision]; ok {
		commit = c
	}
	files, ok := h.commits[commit]
	if !ok {
		w.Header().Set("X-Error-Code", "RevisionNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	siblings := []map[string]any{}
	for f, content := range files {
		siblings = append(siblings, map[string]any{"rfilename": f, "size": len(content)})
	}
	if err := json.NewEncoder(w).Encode(map[string]any{
		"sha":      commit,
		"siblings": siblings,
	}); err != nil {
		h.t.Error(err)
	}
}

// etag returns the hash that the Hub names: SHA-256 for a large file, and for others what `git
// hash-object` prints.
func (h *fakeHub) etag(file, content string) string {
	if e, ok := h.etags[file]; ok {
		return e
	}
	if h.large[file] {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return hex.EncodeToString(sum[:])
}

// requests returns the log since the last call.
func (h *fakeHub) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

func (h *fakeHub) options(t *testing.T) Options {
	return Options{
		Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: h.hub.URL,
		Patience: 2 * time.Second,
	}
}

// resolve is Resolve without waiting between attempts.
func resolve(ctx context.Context, ref string, opts Options, change ...func(*client)) (string,
	error,
) {
	r, err := ParseRef(ref)
	if err != nil {
		return "", err
	}
	c, err := newClient(r, opts)
	if err != nil {
		return "", err
	}
	defer c.stop()
	c.wait = func(int) time.Duration { return 0 }
	for _, f := range change {
		f(c)
	}
	return c.resolve(ctx)
}

// model returns a repository that has more files than are needed.
func model() map[string]string {
	return map[string]string{
		"README.md": "x", ".gitattributes": "x", "config.json": `{"model_type":"gpt2"}`,
		"tokenizer.json": "{}", "vocab.json": "{}",
		"tokenizer_config.json": "{}", "additional_chat_templates/tool_use.jinja": "T",
		"pytorch_model.bin": "pickle", "model.safetensors": strings.Repeat("weights ", 100_000),
		"onnx/model.onnx": "x",
	}
}

// contents reads a snapshot, following its links.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(b)
		return err
	})
	must(t, err)
	return files
}

func pick(files map[string]string, names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		out[n] = files[n]
	}
	return out
}

func TestResolveDownloadsAndThenAsksNothing(t *testing.T) {
	files := model()
	h := newHub(t, files)
	opts := h.options(t)
	opts.Token = "hf_secret"
	var seen []Progress
	opts.Progress = func(p Progress) { seen = append(seen, p) }
	dir, err := resolve(t.Context(), "org/name", opts)
	must(t, err)
	repo := filepath.Join(opts.Cache, "models--org--name")
	if want := filepath.Join(repo, "snapshots", commitA); dir != want {
		t.Errorf("directory %s, want %s", dir, want)
	}
	want := pick(files, "config.json", "tokenizer.json", "tokenizer_config.json",
		"additional_chat_templates/tool_use.jinja", "model.safetensors")
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	links := map[string]string{
		"model.safetensors": "../../blobs/" +
			h.etag("model.safetensors", files["model.safetensors"]),
		"additional_chat_templates/tool_use.jinja": "../../../blobs/" +
			h.etag("additional_chat_templates/tool_use.jinja", "T"),
	}
	for file, want := range links {
		if got, err := os.Readlink(filepath.Join(dir, file)); err != nil ||
			filepath.ToSlash(got) != want {
			t.Errorf("%s is a link to %s, %v, want %s", file, got, err, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(repo, "refs", "main")); err != nil ||
		string(b) != commitA {
		t.Errorf("refs/main = %q, %v, want the commit", b, err)
	}
	absent := contents(t, filepath.Join(repo, ".no_exist", commitA))
	if diff := cmp.Diff(map[string]string{
		"chat_template.jinja": "", "generation_config.json": "",
		"special_tokens_map.json": "",
	}, absent); diff != "" {
		t.Errorf(".no_exist (-want +got):\n%s", diff)
	}
	last := seen[len(seen)-1]
	if last != (Progress{
		File: "model.safetensors", Done: 800_000, Size: 800_000, Number: 5,
		Count: 5,
	}) {
		t.Errorf("last progress %+v", last)
	}
	h.requests()
	h.hub.Close()
	for name, change := range map[string]func(*Options){
		"as before": func(*Options) {},
		"offline":   func(o *Options) { o.Offline = true },
	} {
		o := opts
		change(&o)
		if again, err := resolve(t.Context(), "org/name", o); err != nil || again != dir {
			t.Errorf("%s: %s, %v, want %s", name, again, err, dir)
		}
		if again, err := resolve(t.Context(), "org/name@"+commitA, o); err != nil || again != dir {
			t.Errorf("%s, by commit: %s, %v, want %s", name, again, err, dir)
		}
	}
	if log := h.requests(); log != nil {
		t.Errorf("requests %v, want none", log)
	}
}

func TestResolveShards(t *testing.T) {
	files := model()
	delete(files, "model.safetensors")
	files["model.safetensors.index.json"] = `{"weight_map":{"a":"model-1.safetensors",` +
		`"b":"model-2.safetensors","c":"model-1.safetensors"}}`
	files["model-1.safetensors"] = "one"
	files["model-2.safetensors"] = "two"
	files["model-3.safetensors"] = "not named"
	h := newHub(t, files)
	opts := h.options(t)
	dir, err := resolve(t.Context(), "gpt2", opts)
	must(t, err)
	got := slices.DeleteFunc(keys(contents(t, dir)),
		func(s string) bool { return !strings.Contains(s, "safetensors") })
	if diff := cmp.Diff([]string{
		"model-1.safetensors", "model-2.safetensors",
		"model.safetensors.index.json",
	}, got); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	// A shard that is missing from the cache is downloaded again.
	must(t, os.Remove(filepath.Join(dir, "model-2.safetensors")))
	offline := opts
	offline.Offline = true
	if _, err := resolve(t.Context(), "gpt2", offline); err == nil ||
		!strings.Contains(err.Error(),
			"hub: gpt2: the cache lacks model-2.safetensors, and HF_HUB_OFFLINE forbids") {
		t.Errorf("offline: error %v, want that the shard is missing", err)
	}
	h.requests()
	if _, err := resolve(t.Context(), "gpt2", opts); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GET /api/models/gpt2/revision/main",
		"HEAD /gpt2/resolve/" + commitA + "/model-2.safetensors",
	}
	if diff := cmp.Diff(want, h.requests()); diff != "" {
		t.Errorf("requests (-want +got): the blob was still there\n%s", diff)
	}
}

func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func TestRevisions(t *testing.T) {
	files, newer := model(), model()
	newer["config.json"] = `{"model_type":"bloom"}`
	h := newHub(t, files)
	h.commits[commitB] = newer
	h.revisions["refs/pr/7"] = commitB
	opts := h.options(t)
	first, err := resolve(t.Context(), "org/name", opts)
	must(t, err)
	second, err := resolve(t.Context(), "org/name@refs/pr/7", opts)
	if err != nil || filepath.Base(second) != commitB ||
		contents(t, second)["config.json"] != newer["config.json"] {
		t.Errorf("refs/pr/7 is %s, %v, want commit b", second, err)
	}
	if b, err := os.ReadFile(filepath.Join(opts.Cache,
		"models--org--name/refs/refs/pr/7")); err != nil || string(b) != commitB {
		t.Errorf("refs/refs/pr/7 = %q, %v", b, err)
	}
	// A complete model stays as it is until an update is asked for.
	h.revisions["main"] = commitB
	if again, err := resolve(t.Context(), "org/name", opts); err != nil || again != first {
		t.Errorf("after a change on the Hub: %s, %v, want %s", again, err, first)
	}
	h.requests()
	opts.Update = true
	if again, err := resolve(t.Context(), "org/name", opts); err != nil || again != second {
		t.Errorf("Update: %s, %v, want %s", again, err, second)
	}
	if diff := cmp.Diff([]string{"GET /api/models/org/name/revision/main"},
		h.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	h.hub.Close()
	if _, err := resolve(t.Context(), "org/name", opts); err == nil ||
		!strings.Contains(err.Error(), "the connection to") {
		t.Errorf("Update without network: error %v", err)
	}
}

// A cache that another program filled with single files may lack the tokenizer. The Hub is asked
// once, for the commit in the cache.
func TestCompletesWhatPythonLeft(t *testing.T) {
	files := model()
	h := newHub(t, files)
	h.revisions["main"] = commitB // newer by now
	opts := h.options(t)
	snapshot := filepath.Join(opts.Cache, "models--org--name", "snapshots", commitA)
	write(t, filepath.Join(snapshot, "config.json"), files["config.json"])
	write(t, filepath.Join(snapshot, "model.safetensors"), files["model.safetensors"])
	write(t, filepath.Join(opts.Cache, "models--org--name", "refs", "main"), commitA)

	offline := opts
	offline.Offline = true
	if dir, err := resolve(t.Context(), "org/name", offline); err != nil || dir != snapshot {
		t.Errorf("offline: %s, %v, want what is there", dir, err)
	}
	away := opts
	away.Endpoint = "http://127.0.0.1:1"
	if dir, err := resolve(t.Context(), "org/name", away); err != nil || dir != snapshot {
		t.Errorf("without network: %s, %v, want what is there", dir, err)
	}
	dir, err := resolve(t.Context(), "org/name", opts)
	if err != nil || dir != snapshot || contents(t, dir)["tokenizer.json"] != "{}" {
		t.Errorf("%s, %v, want the tokenizer beside what is there", dir, err)
	}
	if log := h.requests(); log[0] != "GET /api/models/org/name/revision/"+commitA {
		t.Errorf("first request %s, want one for the commit", log[0])
	}
	if _, err := resolve(t.Context(), "org/name", opts); err != nil || h.requests() != nil {
		t.Errorf("the second time: error %v, or requests", err)
	}
}

// The list that newer Python tools leave names the files of a commit.
func TestReadsTheTreeOfPython(t *testing.T) {
	for name, c := range map[string]struct {
		tree     string
		requests bool
	}{
		"nothing more":   {`{"format_version":1,"files":{"config.json":{"size":1},"model.safetensors":{},"vocab.bin":{}}}`, false},
		"a tokenizer":    {`{"format_version":1,"files":{"config.json":{},"model.safetensors":{},"tokenizer.json":{}}}`, true},
		"a newer format": {`{"format_version":2,"files":{"config.json":{},"model.safetensors":{}}}`, true},
		"damaged":        {`{`, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, model())
			opts := h.options(t)
			repo := filepath.Join(opts.Cache, "models--org--name")
			write(t, filepath.Join(repo, "snapshots", commitA, "config.json"), "{}")
			write(t, filepath.Join(repo, "snapshots", commitA, "model.safetensors"), "x")
			write(t, filepath.Join(repo, "trees", commitA+".json"), c.tree)
			if _, err := resolve(t.Context(), "org/name@"+commitA, opts); err != nil {
				t.Fatal(err)
			}
			if log := h.requests(); (log != nil) != c.requests {
				t.Errorf("requests %v, want some: %v", log, c.requests)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestParseRef(t *testing.T) {
	good := map[string]Ref{
		"gpt2":                      {"gpt2", "main"},
		"org/name":                  {"org/name", "main"},
		"org/Name_1.5-b@v1.0":       {"org/Name_1.5-b", "v1.0"},
		"org/name@refs/pr/12":       {"org/name", "refs/pr/12"},
		"EleutherAI/pythia@step143": {"EleutherAI/pythia", "step143"},
	}
	for s, want := range good {
		got, err := ParseRef(s)
		if err != nil || got != want {
			t.Errorf("ParseRef(%q) = %+v, %v, want %+v", s, got, err, want)
		}
		if back, err := ParseRef(got.String()); err != nil || back != got {
			t.Errorf("ParseRef(%q) = %+v, %v, want %+v", got.String(), back, err, got)
		}
	}
	for _, s := range []string{
		"", "/", "a/b/c", "../x", "./x", "/abs", "a/..", "a..b", "a--b", "-a", "a-", "a.", "org/",
		"/name", "a b", "a\\b", "ä", "x.git", "C:\\x",
		strings.Repeat("a", 97), "x@", "x@..", "x@a..b", "x@/a", "x@a/", "x@a//b", "x@a/.b", "x@-a",
		"x@a b", "x@a.lock", "x@a\x00", "x@" + strings.Repeat("a", 201),
	} {
		if r, err := ParseRef(s); err == nil || !strings.HasPrefix(err.Error(), "hub: ") {
			t.Errorf("ParseRef(%q) = %+v, %v, want an error", s, r, err)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"gpt2", "a/b@main", "a/../b", "x@refs/pr/1", "x@..", "@", "a@b@c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			return
		}
		repo := newRepo("cache", r)
		ref := filepath.Join(repo.dir, "refs", filepath.FromSlash(r.Revision))
		if filepath.Dir(repo.dir) != "cache" ||
			!strings.HasPrefix(ref, filepath.Join(repo.dir, "refs")+string(filepath.Separator)) {
			t.Errorf("%q leads to %s and %s", s, repo.dir, ref)
		}
		if _, err := url.Parse(defaultEndpoint + "/" + r.Repo); err != nil {
			t.Error(err)
		}
	})
}

func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"sha":"`+commitA+`","siblings":[{"rfilename":"config.json","size":5},`+
		`{"rfilename":"../x"}]}`), []byte(`{"weight_map":{"a":"b.safetensors"}}`))
	f.Add([]byte(`{"sha":"..","siblings":[]}`), []byte(`{"weight_map":{"a":"../b.safetensors"}}`))
	f.Fuzz(func(t *testing.T, body, index []byte) {
		if len(body)+len(index) > 1<<16 {
			return
		}
		c := &client{endpoint: &url.URL{}}
		l, err := c.parseListing(body)
		if err != nil {
			l.files = nil
		}
		named, err := shards(index)
		if err == nil {
			l.files = append(l.files, named...)
		}
		for _, f := range l.files {
			if !filepath.IsLocal(f) || filepath.Clean(f) != f {
				t.Errorf("file %q was accepted", f)
			}
		}
	})
}

var must = testhelp.Must // ends a test at an error

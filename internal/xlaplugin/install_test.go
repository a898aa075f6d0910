package xlaplugin

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// wheel packs a file as a Python package would.
func wheel(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{{"xla_plugins/__init__.py", nil}, {name, data}, {"x.dist-info/METADATA", []byte("Name: x\n")}} {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write(f.data)
		}
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// release packs a file as go-xla's releases do.
func release(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wheelName is where the plugin is in its wheel.
const wheelName = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"

func TestInstall(t *testing.T) {
	good := fake(t)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"wheel":              {wheel(t, wheelName, good), ""},
		"release":            {release(t, "pjrt_c_api_cpu_v0.114.0_plugin.so", good), ""},
		"plugin":             {good, ""},
		"name climbs out":    {wheel(t, "../../../../"+File, good), ""}, // its name alone counts
		"wheel without it":   {wheel(t, "other.so", good), "it holds no xla_cpu_pjrt.so"},
		"release without it": {release(t, "other.so", good), "it holds no xla_cpu_pjrt.so"},
		"wheel of text":      {wheel(t, wheelName, []byte("text")), "is no readable shared library"},
		"text":               {[]byte("<html>sign in</html>"), "neither a wheel, nor a .tar.gz, nor a shared library"},
		"short":              {[]byte("P"), "it has 1 bytes"},
		"broken wheel":       {wheel(t, wheelName, good)[:60], "zip: not a valid zip file"},
		"broken release":     {release(t, File, good)[:40], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			home := alone(t)
			from := write(t, filepath.Join(home, "file"), c.data)
			dir := filepath.Join(home, "to", "xla")
			got, err := Install(t.Context(),
				InstallOptions{Dir: dir, From: from, SHA256: hash(c.data)})
			checkError(t, err, c.want)
			if err != nil {
				checkMissing(t, filepath.Dir(dir))
				return
			}
			want := Installed{
				Path: filepath.Join(dir, File), Source: "file", SHA256: hash(good),
				Checked: true, Bytes: int64(len(good)),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Install: want -, got +\n%s", diff)
			}
			checkFolder(t, dir, recordFile, File)
			if data, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(data, good) {
				t.Errorf("%d bytes are installed, %v; want %d", len(data), err, len(good))
			}
			if again, err := Record(got.Path); err != nil || again != got {
				t.Errorf("Record = %+v, %v; want %+v", again, err, got)
			}
		})
	}
}

// checkMissing reports a folder that a failure has left.
func checkMissing(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left, %v", dir, err)
	}
}

// checkFolder compares the names in a folder.
func checkFolder(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s, %v: want -, got +\n%s", dir, err, diff)
	}
}

// The default place is where Find looks.
func TestInstallDefault(t *testing.T) {
	home := alone(t)
	from := write(t, filepath.Join(home, "file"), fake(t))
	got, err := Install(t.Context(),
		InstallOptions{From: from, SHA256: strings.ToUpper(hash(fake(t)))})
	must(t, err)
	checkFound(t, Find, got.Path)
}

func TestHashes(t *testing.T) {
	home := alone(t)
	from, sum := write(t, filepath.Join(home, "file"), fake(t)), hash(fake(t))
	for want, opts := range map[string]InstallOptions{
		"its SHA-256 is " + sum + ", which is not that of xla-cpu-pjrt==0.0.1": {From: from},
		"its SHA-256 is " + sum + ", want " + strings.Repeat("0", 64):          {From: from, SHA256: strings.Repeat("0", 64)},
		`"xyz" is no SHA-256: want 64 hexadecimal digits`:                      {From: from, SHA256: "xyz"},
	} {
		opts.Dir = filepath.Join(home, "to")
		_, err := Install(t.Context(), opts)
		checkError(t, err, want)
	}
}

// The requirement of make setup and the help of setup xla name the same wheel.
func TestSameWheel(t *testing.T) {
	for file, want := range map[string]string{
		"setup/requirements-xla.txt": "\n" + Wheel + " --hash=sha256:" + WheelSHA256 + "\n",
		"cli/help/setup-xla.txt":     " " + Wheel + " ",
	} {
		data, err := os.ReadFile("../" + file)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("internal/%s, %v, does not have %q", file, err, want)
		}
	}
}

// serve answers with data; where cut is set it promises more than it sends.
func serve(t *testing.T, data []byte, cut int) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/plugin.whl" {
			http.NotFound(w, r)
			return
		}
		if cut > 0 {
			w.Header().Set("Content-Length", "100000")
			data = data[:cut]
		}
		w.Write(data) //nolint:errcheck // the test sees it
	}))
	t.Cleanup(server.Close)
	return server
}

func TestDownload(t *testing.T) {
	home := alone(t)
	data := wheel(t, wheelName, fake(t))
	good, short := serve(t, data, 0), serve(t, data, 50)
	gone := serve(t, data, 0)
	gone.Close()
	old := write(t, filepath.Join(home, "to", File), []byte("what was there"))
	for name, c := range map[string]struct{ from, want string }{
		"cut":       {short.URL + "/plugin.whl", "it ends after 50 bytes: unexpected EOF"},
		"not found": {good.URL + "/other", "the server says 404 Not Found"},
		"no server": {gone.URL + "/plugin.whl", "connection refused"},
		"no file":   {filepath.Join(home, "none.whl"), "no such file"},
		"password":  {"http://me:secret@127.0.0.1:1/plugin.whl", "me:xxxxx@127.0.0.1"},
	} {
		_, err := Install(t.Context(),
			InstallOptions{Dir: filepath.Dir(old), From: c.from, SHA256: hash(data)})
		checkError(t, err, c.want)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v tells a password", name, err)
		}
		if left, err := os.ReadFile(old); err != nil || string(left) != "what was there" {
			t.Errorf("%s: what was there is now %q, %v", name, left, err)
		}
		checkFolder(t, filepath.Dir(old), File)
	}
	var told, total int64
	progress := func(_ string, done, all int64) { told, total = max(told, done), max(total, all) }
	_, err := Install(t.Context(), InstallOptions{
		Dir: filepath.Dir(old), From: good.URL + "/plugin.whl", SHA256: hash(data),
		OnProgress: progress,
	})
	checkError(t, err, "")
	if told < int64(len(data)) || total != int64(len(data)) {
		t.Errorf("progress told %d of %d bytes, want %d", told, total, len(data))
	}
	checkFolder(t, filepath.Dir(old), recordFile, File)
}

// With neither a network nor Python the error names what failed for each source, and what works
// without them.
func TestNoSources(t *testing.T) {
	home := alone(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	refuse := http.DefaultTransport
	defer func() { http.DefaultTransport = refuse }()
	http.DefaultTransport = roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("no network")
	})
	_, err := Install(t.Context(), InstallOptions{Dir: filepath.Join(home, "to")})
	for _, want := range []string{"source go-xla: ", "no network", "source wheel: python3 with pip is needed", ErrNoSource.Error()} {
		checkError(t, err, want)
	}
	checkMissing(t, filepath.Join(home, "to"))
	_, err = Install(t.Context(), InstallOptions{Dir: filepath.Join(home, "to"), Source: "conda"})
	checkError(t, err, `source "conda" is unknown; known are go-xla, wheel`)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fakePip writes a program that stands for python3.
func fakePip(t *testing.T, home, script string) {
	t.Helper()
	path := write(t, filepath.Join(home, "bin", "python3"), []byte("#!/bin/sh\n"+script+"\n"))
	must(t, os.Chmod(path, 0o755))
}

func TestWheelByPip(t *testing.T) {
	home := alone(t)
	to := InstallOptions{Dir: filepath.Join(home, "to"), Source: SourceWheel}
	fakePip(t, home, `echo "WARNING: a" >&2; echo "ERROR: no matching distribution" >&2; exit 1`)
	_, err := Install(t.Context(), to)
	checkError(t, err, "pip: exit status 1: ERROR: no matching distribution")
	// pip checks the hash; so do we. The arguments must ask it to.
	fakePip(t, home, `case "$*" in *"-m pip download"*"--require-hashes --dest "*) ;; *) echo "arguments: $*" >&2; exit 2;; esac
for last; do :; done; folder="${last%/*}/wheel"; /bin/mkdir -p "$folder"; echo other >"$folder/x.whl"`)
	_, err = Install(t.Context(), to)
	checkError(t, err, "source wheel: its SHA-256 is ")
	checkMissing(t, to.Dir)
}

func TestInterrupted(t *testing.T) {
	home := alone(t)
	ctx, cancel := context.WithCancel(t.Context())
	data := wheel(t, wheelName, fake(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(data[:10])       //nolint:errcheck // the test sees it
		w.(http.Flusher).Flush() // the client has begun
		cancel()                 // the user has not the patience
		<-t.Context().Done()     // never the rest
		w.Write(data[10:])       //nolint:errcheck // nobody reads it
	}))
	dir := filepath.Join(home, "to")
	_, err := Install(ctx,
		InstallOptions{Dir: dir, From: server.URL + "/plugin.whl", SHA256: hash(data)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	checkMissing(t, dir)
	server.CloseClientConnections()
}

func TestUnwritable(t *testing.T) {
	home := alone(t)
	from := write(t, filepath.Join(home, "file"), fake(t))
	// A file where a folder should be is in the way of root, too, whom permissions do not stop.
	_, err := Install(t.Context(),
		InstallOptions{Dir: filepath.Join(from, "xla"), From: from, SHA256: hash(fake(t))})
	checkError(t, err, "not a directory")
	if os.Getuid() == 0 {
		return
	}
	locked := filepath.Join(home, "locked")
	must(t, os.Mkdir(locked, 0o555))
	_, err = Install(t.Context(), InstallOptions{Dir: locked, From: from, SHA256: hash(fake(t))})
	checkError(t, err, "permission denied; name another folder")
}

func TestRecord(t *testing.T) {
	home := alone(t)
	path := write(t, filepath.Join(home, File), fake(t))
	if got, err := Record(path); err != nil || got.Source != "" || got.SHA256 != hash(fake(t)) {
		t.Errorf("Record = %+v, %v", got, err)
	}
	write(t, filepath.Join(home, recordFile), []byte(`{"path":"`+path+`","sha256":"00"}`))
	_, err := Record(path)
	checkError(t, err, "has changed since it was installed")
	write(t, filepath.Join(home, recordFile), []byte(`{`))
	_, err = Record(path)
	checkError(t, err, "the record ")
}

// A record is read up to its limit, whatever lies in its place.
func TestRecordLimit(t *testing.T) {
	record := `{"path":"` + File + `","sha256":"` + hash(fake(t)) + `","source":"wheel"`
	for name, c := range map[string]struct {
		size int64 // of the file
		want string
	}{
		"as large as it may be": {maxRecord, ""},
		"a byte too large":      {maxRecord + 1, "plugin.json: it has more than 16384 bytes"},
		"far too large":         {1 << 40, "plugin.json: it has more than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			home := alone(t)
			path := write(t, filepath.Join(home, File), fake(t))
			beside := write(t, filepath.Join(home, recordFile),
				[]byte(record+strings.Repeat(" ", maxRecord-len(record)-1)+"}"))
			if err := os.Truncate(beside, c.size); err != nil {
				t.Skip("no such file can be made here: ", err)
			}
			got, err := Record(path)
			checkError(t, err, c.want)
			if err == nil && got.Source != SourceWheel {
				t.Errorf("Record = %+v, want the source of the record", got)
			}
		})
	}
	home := alone(t)
	path := write(t, filepath.Join(home, File), fake(t))
	must(t, os.Mkdir(filepath.Join(home, recordFile), 0o755))
	_, err := Record(path)
	checkError(t, err, "plugin.json: it is not a regular file")
}

var must = testhelp.Must // ends a test at an error

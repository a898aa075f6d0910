package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/models/hub"
)

// oneModelHub serves org/name as the Hub does, with SHA-256 for every file, and sets the
// environment for it.
func oneModelHub(t *testing.T, files map[string]string) (cache string) {
	t.Helper()
	commit := strings.Repeat("c", 40)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/models/org/name/revision/") {
			siblings := []map[string]any{}
			for f := range files {
				siblings = append(siblings, map[string]any{"rfilename": f})
			}
			if err := json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings}); err != nil {
				t.Error(err)
			}
			return
		}
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/org/name/resolve/"+commit+"/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256([]byte(text))
		w.Header().Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(sum[:])))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(server.Close)
	cache = t.TempDir()
	for key, value := range map[string]string{"HF_HUB_CACHE": cache, "HF_ENDPOINT": server.URL, "HF_TOKEN": "t", "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""} {
		t.Setenv(key, value)
	}
	return filepath.Join(cache, "models--org--name", "snapshots", commit)
}

func TestDownload(t *testing.T) {
	dir := oneModelHub(t, map[string]string{"config.json": "{}", "model.safetensors": strings.Repeat("w", 1_500_000)})
	status, stdout, stderr := execute(t, "", "download", "org/name")
	if status != statusOK || stdout != dir+"\n" {
		t.Errorf("status %d, output %q, want %q; %s", status, stdout, dir, stderr)
	}
	const want = "headwater: downloading config.json (1 of 2), 0.0 MB\n" +
		"headwater: downloading model.safetensors (2 of 2), 1.5 MB\n"
	if stderr != want {
		t.Errorf("standard error %q, want %q", stderr, want)
	}
	status, stdout, stderr = execute(t, "", "download", "org/name")
	if status != statusOK || stdout != dir+"\n" || stderr != "" {
		t.Errorf("again: status %d, %q, %q, want the directory and no word", status, stdout, stderr)
	}
}

// Only the file that is damaged in the cache is downloaded again.
func TestDownloadRepairs(t *testing.T) {
	weights := strings.Repeat("w", 1_500_000)
	dir := oneModelHub(t, map[string]string{"config.json": "{}", "model.safetensors": weights})
	mustExecute(t, "", "download", "org/name")
	path := filepath.Join(dir, "model.safetensors")
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	const want = "headwater: downloading model.safetensors (2 of 2), 1.5 MB\n"
	status, stdout, stderr := execute(t, "", "download", "org/name")
	if status != statusOK || stdout != dir+"\n" || stderr != want {
		t.Errorf("status %d, %q, %q, want the directory and %q", status, stdout, stderr, want)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != weights {
		t.Errorf("the file has %d bytes, %v, want those of the Hub", len(text), err)
	}
}

func TestDownloadRefuses(t *testing.T) {
	oneModelHub(t, map[string]string{"config.json": "{}"})
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"no model":     {[]string{"download"}, statusUsage, "download needs the name of a model"},
		"no name":      {[]string{"download", "a/b/c"}, statusError, `"a/b/c" is not the name of a model`},
		"not there":    {[]string{"download", "org/other"}, statusError, "hub: org/other is not at http://127.0.0.1"},
		"no weights":   {[]string{"download", "org/name"}, statusError, "it has neither model.safetensors nor"},
		"unknown flag": {[]string{"download", "--force", "org/name"}, statusUsage, "--force"},
	} {
		status, _, stderr := execute(t, "", c.args...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %q, want %d and %q", name, status, stderr, c.status, c.want)
		}
	}
}

// On a terminal a bar is drawn and removed.
func TestDownloadBar(t *testing.T) {
	var b strings.Builder
	bar := &downloadBar{p: &program{stderr: &b}, width: 100}
	for done := int64(0); done <= 4; done += 2 {
		bar.show(hub.Progress{
			File: "a\x1b[31m.safetensors", Done: done, Size: 4, Number: 1, Count: 2,
		})
	}
	for done := range int64(3) {
		bar.show(hub.Progress{File: "a\x1b[31m.safetensors", Done: done, Size: 4, Checking: true})
	}
	bar.done()
	if !strings.Contains(b.String(), "checking a") {
		t.Errorf("drawn %q, want that the file is checked", b.String())
	}
	if !strings.Contains(b.String(), "(1 of 2)") || strings.Contains(b.String(), "\x1b[31m") {
		t.Errorf("drawn %q, want the number, and the name without its escapes", b.String())
	}
}

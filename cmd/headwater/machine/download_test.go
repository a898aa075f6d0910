package machine

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

	"github.com/google/go-cmp/cmp"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"

	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/tiny"
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
	status, stdout, stderr := headwater.Execute(t, "", "download", "org/name")
	if status != cli.StatusOK || stdout != dir+"\n" {
		t.Errorf("status %d, output %q, want %q; %s", status, stdout, dir, stderr)
	}
	const want = "headwater: downloading config.json (1 of 2), 2 bytes\n" +
		"headwater: downloading model.safetensors (2 of 2), 1.5 MB\n"
	if stderr != want {
		t.Errorf("standard error %q, want %q", stderr, want)
	}
	status, stdout, stderr = headwater.Execute(t, "", "download", "org/name")
	if status != cli.StatusOK || stdout != dir+"\n" || stderr != "" {
		t.Errorf("again: status %d, %q, %q, want the directory and no word", status, stdout, stderr)
	}
}

// Only the file that is damaged in the cache is downloaded again.
func TestDownloadRepairs(t *testing.T) {
	weights := strings.Repeat("w", 1_500_000)
	dir := oneModelHub(t, map[string]string{"config.json": "{}", "model.safetensors": weights})
	headwater.Output(t, "download", "org/name")
	path := filepath.Join(dir, "model.safetensors")
	must(t, os.Truncate(path, 1000))
	const want = "headwater: downloading model.safetensors (2 of 2), 1.5 MB\n"
	status, stdout, stderr := headwater.Execute(t, "", "download", "org/name")
	if status != cli.StatusOK || stdout != dir+"\n" || stderr != want {
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
		"no model":     {[]string{"download"}, cli.StatusUsage, "download needs the name of a model"},
		"no name":      {[]string{"download", "a/b/c"}, cli.StatusError, `"a/b/c" is not the name of a model`},
		"not there":    {[]string{"download", "org/other"}, cli.StatusError, "headwater: org/other is not at http://127.0.0.1"},
		"no weights":   {[]string{"download", "org/name"}, cli.StatusError, "it has neither model.safetensors nor"},
		"unknown flag": {[]string{"download", "--force", "org/name"}, cli.StatusUsage, "--force"},
	} {
		status, _, stderr := headwater.Execute(t, "", c.args...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %q, want %d and %q", name, status, stderr, c.status, c.want)
		}
	}
}

// alone gives a test a home without models or a network. It returns the folder of short names.
func alone(t *testing.T) (models string) {
	t.Helper()
	home := nowhere(t)
	for key, value := range map[string]string{"HF_HUB_CACHE": filepath.Join(home, "hub"), "HF_HOME": "", "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "", "HF_TOKEN": ""} {
		t.Setenv(key, value)
	}
	models = filepath.Join(home, "models")
	t.Setenv("HEADWATER_MODELS", models)
	return models
}

// cacheSmolLM2 puts the embedded model into the cache of the Hub in place of SmolLM2.
func cacheSmolLM2(t *testing.T, cache string) (dir string) {
	t.Helper()
	commit := strings.Repeat("c", 40)
	repo := filepath.Join(cache, "models--HuggingFaceTB--SmolLM2-135M-Instruct")
	dir = filepath.Join(repo, "snapshots", commit)
	for _, folder := range []string{dir, filepath.Join(repo, "refs")} {
		must(t, os.MkdirAll(folder, 0o755))
	}
	clitest.Write(t, filepath.Join(repo, "refs", "main"), []byte(commit))
	must(t, os.CopyFS(dir, tiny.Files()))
	return dir
}

// A short name means the model of the Hub, which needs no network if it is in the cache, or the
// GGUF file in its folder. The lists and the command that opens it name which of them it is.
func TestShortName(t *testing.T) {
	models := alone(t)
	const missing = "HuggingFaceTB/SmolLM2-135M-Instruct: it is not in the cache, and the connection to 127.0.0.1:1 fails: "
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"not downloaded", []string{"explain", "--model", "smollm2", "a"}, "", 1, "headwater: " + missing},
		{"no network", []string{"download", "smollm2"}, "", 1, "headwater: " + missing},
	})
	const line = "\nsmollm2: HuggingFaceTB/SmolLM2-135M-Instruct of the Hub, "
	if out := headwater.Output(t, "models"); !strings.Contains(out, line+
		"not downloaded: headwater download smollm2 brings it\n") {
		t.Errorf("models says %s", out)
	}
	dir := cacheSmolLM2(t, os.Getenv("HF_HUB_CACHE"))
	opens := func(path string) {
		t.Helper()
		status, stdout, stderr := headwater.Execute(t, "", "download", "smollm2")
		if status != cli.StatusOK || stdout != path+"\n" || stderr != "" {
			t.Errorf("download: status %d, %q, %q; want %s", status, stdout, stderr, path)
		}
		// A line of models that make demo looks for.
		if out := headwater.Output(t, "models", "smollm2"); !strings.Contains(out,
			line+"downloaded: "+path+"\n") {
			t.Errorf("models smollm2 says %s", out)
		}
		var list modelList
		out := headwater.Output(t, "models", "--json", "tiny", "smollm2")
		must(t, json.Unmarshal([]byte(out), &list))
		want := []knownFacts{{Name: "smollm2", Repo: "HuggingFaceTB/SmolLM2-135M-Instruct", Path: path}}
		if diff := cmp.Diff(want, list.Known); diff != "" || len(list.Models) != 2 ||
			list.Models[1].Name != "smollm2" {
			t.Errorf("models --json says %+v (-want +got):\n%s", list, diff)
		}
		status, _, stderr = headwater.Execute(t, "", "explain", "--model", "smollm2", "--backend",
			"go", "--max-tokens", "1", "--methods", "rollout", "the keys")
		if status != cli.StatusOK || !strings.Contains(stderr, "headwater: smollm2 is "+path+"\n") {
			t.Errorf("explain: status %d, %q, want %s", status, stderr, path)
		}
	}
	opens(dir)
	file := filepath.Join(models, "smollm2", "a.gguf")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	clitest.Write(t, file, gguftest.Small().Bytes())
	opens(file)
	clitest.Write(t, filepath.Join(models, "smollm2", "b.gguf"), nil)
	const two = "has 2 GGUF files; leave the one that the name means"
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"two files", []string{"explain", "--model", "smollm2", "a"}, "", 1, two},
		{"two files of download", []string{"download", "smollm2"}, "", 1, two},
	})
	if out := headwater.Output(t, "models"); !strings.Contains(out, line+"smollm2: ") ||
		!strings.Contains(out, two+"\n") {
		t.Errorf("models says %s", out)
	}
}

// The mistakes that are easy to make, and what the command says.
func TestDownloadMistakes(t *testing.T) {
	alone(t)
	t.Setenv("HF_HUB_OFFLINE", "1")
	t.Setenv("OLLAMA_MODELS", filepath.Join(t.TempDir(), "none"))
	download := func(args ...string) []string { return append([]string{"download"}, args...) }
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"typing error", download("smolm2"), "", 1, "did you mean smollm2?"},
		{"model of Ollama", download("ollama:llama3.2:1b"), "", 2, "is downloaded by Ollama: ollama pull llama3.2:1b"},
		{"embedded model", download("tiny"), "", 2, "tiny is part of this program"},
		{"one wrong of two", download("tiny", "smollm2"), "", 2, "tiny is part of this program"},
		{"offline", download("smollm2"), "", 1, "HF_HUB_OFFLINE forbids downloading it"},
		{"Ollama without the model", []string{"explain", "--model", "ollama:llama3.2:1b", "a"}, "", 1, "headwater: llama3.2:1b is not in the store of Ollama; ollama pull llama3.2:1b downloads it (there are no models in "},
		{"Ollama with a path", []string{"explain", "--model", "ollama:../x", "a"}, "", 1, `namespace ".."`},
	})
}

// The help names what short names mean.
func TestDownloadHelp(t *testing.T) {
	help := headwater.Output(t, "download", "--help")
	for _, want := range []string{
		"  smollm2  HuggingFaceTB/SmolLM2-135M-Instruct\n", "HEADWATER_MODELS",
		"headwater download smollm2\n",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not say %q:\n%s", want, help)
		}
	}
	for line := range strings.SplitSeq(help, "\n") {
		if len(line) > 120 {
			t.Errorf("the help has a line of %d bytes: %s", len(line), line)
		}
	}
}

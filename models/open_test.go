package models_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// cacheTiny puts the embedded model into a cache of the Hub, as revisions v1 and main of a
// repository, and returns its folder.
func cacheTiny(t *testing.T, cache, repo string) string {
	t.Helper()
	const commit = "cccccccccccccccccccccccccccccccccccccccc"
	repo = filepath.Join(cache, "models--"+strings.ReplaceAll(repo, "/", "--"))
	dir := filepath.Join(repo, "snapshots", commit)
	for _, folder := range []string{dir, filepath.Join(repo, "refs")} {
		must(t, os.MkdirAll(folder, 0o755))
	}
	write(t, filepath.Join(repo, "refs", "v1"), []byte(commit))
	write(t, filepath.Join(repo, "refs", "main"), []byte(commit))
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := fs.ReadFile(tiny.Files(), name)
		must(t, err)
		write(t, filepath.Join(dir, name), data)
	}
	return dir
}

// TestBrokenInTheCache cuts the weights of a model of the Hub short. The error names that
// file of the cache.
func TestBrokenInTheCache(t *testing.T) {
	cache := t.TempDir()
	dir := cacheTiny(t, cache, "org/name")
	open := func() error {
		_, err := models.Open("org/name@v1",
			models.Options{Backend: "go", Hub: &hub.Options{Cache: cache, Offline: true}})
		return err
	}
	must(t, open())
	_, wrong := models.Open("org/name@v1", models.Options{
		Backend: "xla:/nowhere/plugin.so", Hub: &hub.Options{Cache: cache, Offline: true},
	})
	if wrong == nil || !strings.Contains(wrong.Error(), "backend xla") ||
		strings.Contains(wrong.Error(), "damaged") {
		t.Errorf("error of a backend: %v, want one that does not blame the model", wrong)
	}
	must(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 1000))
	err := open()
	var cached *models.CacheError
	if !errors.As(err, &cached) || cached.Ref != "org/name@v1" || cached.Dir != dir ||
		errorkind.Of(err) != errorkind.Cache {
		t.Errorf("error %v, want one that names the model", err)
	}
	for _, want := range []string{filepath.Join(dir, "model.safetensors"), dir + " was downloaded and may be damaged"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestAbsentTensors opens a model in one shard whose index names more than is there. What the
// family does not need is a remark; what it needs, or may read where it is there, is an error.
func TestAbsentTensors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "goldens", "llama"))))
	const index = "model.safetensors.index.json"
	must(t, os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "a.safetensors")))
	for name, want := range map[string]string{
		"mtp.layers.0.weight":                  "",
		"model.layers.0.self_attn.q_proj.bias": "has no place in the llama",
		"lm_head.bias":                         "has no place in the llama",
	} {
		write(t, filepath.Join(dir, index), []byte(`{"weight_map":{"model.norm.weight":`+
			`"a.safetensors","`+name+`":"b.safetensors"}}`))
		m, err := models.Open(dir, models.Options{Backend: "go"})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
			continue
		}
		must(t, err)
		if got := strings.Join(m.Info().Remarks, " "); !strings.Contains(got, "in no shard "+
			"and that the model does not need: \""+name+"\"") {
			t.Errorf("%s: remarks %q", name, got)
		}
	}
	// A tensor that is needed is in no shard.
	file, err := checkpoint.Open(filepath.Join(dir, "a.safetensors"))
	must(t, err)
	defer file.Close()
	var all []checkpoint.Tensor
	for _, name := range file.Names() {
		shape, err := file.Shape(name)
		must(t, err)
		data, err := file.Float32(name)
		must(t, err)
		if name != "lm_head.weight" {
			all = append(all, checkpoint.Tensor{Name: name, Shape: shape, Data: data})
		}
	}
	must(t, checkpoint.WriteFile(filepath.Join(dir, "b.safetensors"), all, nil))
	write(t, filepath.Join(dir, index), []byte(`{"weight_map":{"model.norm.weight":`+
		`"b.safetensors","lm_head.weight":"c.safetensors"}}`))
	_, err = models.Open(dir, models.Options{Backend: "go"})
	want := `c.safetensors has no tensor "lm_head.weight", where ` + index +
		" says it is; download the shard again"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// A short name means the GGUF file in its folder, or else the model of the Hub. A damaged file
// there is not one that downloading would replace.
func TestShortName(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	t.Chdir(t.TempDir())
	open := func() (trace.Info, error) {
		m, err := models.Open("smollm2", models.Options{Backend: "go", Hub: &hub.Options{
			Cache: cache, Models: folder, Offline: true,
		}})
		if err != nil {
			return trace.Info{}, err
		}
		return m.Info(), nil
	}
	_, err := open()
	if err == nil || !strings.HasPrefix(err.Error(), "models: hub: HuggingFaceTB/SmolLM2-135M-"+
		"Instruct: it is not in the cache, and HF_HUB_OFFLINE forbids downloading it") ||
		strings.Contains(err.Error(), "neither") {
		t.Errorf("error %v, want that it is not downloaded", err)
	}
	cacheTiny(t, cache, "HuggingFaceTB/SmolLM2-135M-Instruct")
	if info, err := open(); err != nil || info.Name != "smollm2" || info.Layers != 6 {
		t.Errorf("opened %+v, %v, want the model of the cache", info, err)
	}
	file := filepath.Join(folder, "smollm2", "a.gguf")
	must(t, os.Mkdir(filepath.Dir(file), 0o755))
	write(t, file, gguftest.Small().Bytes())
	if info, err := open(); err != nil || info.Name != "smollm2" || info.Layers == 6 {
		t.Errorf("opened %+v, %v, want the file", info, err)
	}
	for _, size := range []int64{4, 1000} {
		must(t, os.Truncate(file, size))
		_, err = open()
		if err == nil || !strings.Contains(err.Error(), file) ||
			errorkind.Of(err) == errorkind.Cache {
			t.Errorf("error %v, want one that names the file of %d bytes alone", err, size)
		}
	}
	write(t, filepath.Join(folder, "smollm2", "b.gguf"), nil)
	_, err = open()
	if err == nil || !strings.HasPrefix(err.Error(), "models: hub: smollm2: ") ||
		!strings.Contains(err.Error(), "has 2 GGUF files") {
		t.Errorf("error %v, want that there are two files", err)
	}
}

// A directory that has a short name comes first, as one with a name of the Hub does.
func TestShortNameDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HEADWATER_MODELS", t.TempDir())
	must(t, os.Mkdir("smollm2", 0o755))
	_, err := models.Open("smollm2", models.Options{Backend: "go"})
	if err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("error %v, want that the directory has no config.json", err)
	}
}

// A model that Ollama does not have, or whose name is invalid, is not looked for on the Hub.
func TestOllamaUnknown(t *testing.T) {
	t.Setenv("OLLAMA_MODELS", t.TempDir())
	for ref, want := range map[string]string{
		"ollama:llama3.2:1b":  "models: ollama: llama3.2:1b is not in the store",
		"ollama:../../secret": `host ".."`,
		"ollama:":             `models: ollama: "" is not the name of a model`,
	} {
		_, err := models.Open(ref, models.Options{Backend: "go"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", ref, err, want)
		}
	}
}

// TestOllamaDamaged: a file of the right size whose contents are not those of its name is refused.
func TestOllamaDamaged(t *testing.T) {
	file := gguftest.Small().Bytes()
	for _, damaged := range []bool{false, true} {
		store := t.TempDir()
		t.Setenv("OLLAMA_MODELS", store)
		sum := sha256.Sum256(file)
		if damaged {
			sum[0]++
		}
		digest := hex.EncodeToString(sum[:])
		manifest := fmt.Sprintf(`{"layers":[{"mediaType":"application/vnd.ollama.image.model",`+
			`"digest":"sha256:%s","size":%d}]}`, digest, len(file))
		names := filepath.Join(store, "manifests", "registry.ollama.ai", "library", "small")
		for _, dir := range []string{names, filepath.Join(store, "blobs")} {
			must(t, os.MkdirAll(dir, 0o755))
		}
		write(t, filepath.Join(names, "latest"), []byte(manifest))
		write(t, filepath.Join(store, "blobs", "sha256-"+digest), file)
		_, err := models.Open("ollama:small", models.Options{Backend: "go"})
		want := "is damaged: its SHA-256 is not " + digest
		if !damaged && err != nil || damaged && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("damaged %v: error %v", damaged, err)
		}
	}
}

// A name that is close to a short one gets a question.
func TestShortNameSuggested(t *testing.T) {
	for _, ref := range []string{"smollm", "smolm2", "SmolLM2"} {
		_, err := models.Open(ref, models.Options{
			Backend: "go", Hub: &hub.Options{Cache: t.TempDir(), Offline: true},
		})
		want := "models: " + ref + ": did you mean smollm2? " + ref + " is neither a directory"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want the question whether smollm2 was meant", ref, err)
		}
	}
}

// How to get a model of the Hub comes before the places that were searched as well.
func TestMissingOfTheHub(t *testing.T) {
	_, err := models.Open("no/such", models.Options{
		Backend: "go", Hub: &hub.Options{Cache: t.TempDir(), Offline: true},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "models: hub: no/such: it is not in the "+
		"cache, and HF_HUB_OFFLINE forbids downloading it: set HF_HUB_OFFLINE=0, or copy ") ||
		!strings.Contains(err.Error(), "; besides, no/such is neither a directory nor a GGUF") {
		t.Errorf("error %v", err)
	}
}

// TestUnknownModel checks which errors say that a name is wrong, and not that the machine lacks
// something.
func TestUnknownModel(t *testing.T) {
	t.Setenv("OLLAMA_MODELS", t.TempDir())
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	offline := &hub.Options{Cache: t.TempDir(), Offline: true}
	online := &hub.Options{Cache: t.TempDir(), Endpoint: gone.URL}
	for _, c := range []struct {
		ref  string
		hub  *hub.Options
		want errorkind.Kind
	}{
		{"./nothing", offline, errorkind.Model},
		{"nothing.gguf", offline, errorkind.Model},
		{"planted:nothing", offline, errorkind.Model},
		{"ollama:nothing", offline, errorkind.Model},
		{"tinny", offline, errorkind.Model},
		{"org/nothing", online, errorkind.Model},
		{"org/nothing", offline, errorkind.None}, // the Hub may have it
	} {
		_, err := models.Open(c.ref, models.Options{Backend: "go", Hub: c.hub})
		if err == nil || errorkind.Of(err) != c.want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q of kind %q, want kind %q", c.ref, err, errorkind.Of(err), c.want)
		}
	}
}

// TestMisspeltSetting checks that a wrong backend or data type is an error of the caller.
func TestMisspeltSetting(t *testing.T) {
	for want, o := range map[string]models.Options{
		`backend "xlaa" is unknown; did you mean xla? known are go, xla, cuda`: {Backend: "xlaa"},
		`data type "flot32" is unknown; did you mean float32? known are float32, bfloat16`: {
			DType: "flot32",
		},
		"max memory -5; want a number of bytes, or 0": {MaxMemory: -5},
	} {
		_, err := models.Open("tiny", o)
		if !errors.Is(err, trace.ErrUsage) || !strings.HasPrefix(err.Error(), "models: "+want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestNegativeFoils: the error speaks of the number, and of no contrast where there is none.
func TestNegativeFoils(t *testing.T) {
	m, err := models.Open("tiny", models.Options{Backend: "go"})
	must(t, err)
	ask := trace.Ask{MaxTokens: 1, Terms: &trace.TermsAsk{Foils: -3}}
	for _, err := range m.Steps(t.Context(), []int{1}, ask) {
		if want := "models: -3 foils; want 0 or more"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A model has the taps of experts if it has experts.
func TestTapsOfExperts(t *testing.T) {
	for name, want := range map[string]int{"mixtral": 5, "llama": 0} {
		info := open(t, "testdata/goldens/"+name).Info()
		if has := slices.Contains(info.Taps(), trace.Experts) &&
			slices.Contains(info.Taps(), trace.Router); info.Experts != want || has != (want > 0) {
			t.Errorf("%s has %d experts and the taps %v, want %d experts", name, info.Experts,
				info.Taps(), want)
		}
	}
}

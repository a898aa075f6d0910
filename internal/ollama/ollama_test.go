package ollama

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testStore is a store in a folder of the test, laid out as Ollama's.
type testStore struct {
	t *testing.T
	Store
}

func newStore(t *testing.T) testStore {
	t.Helper()
	return testStore{t, Store{Folders: []string{t.TempDir()}}}
}

// put writes a file below the store and returns its path.
func (s testStore) put(content string, parts ...string) string {
	s.t.Helper()
	path := filepath.Join(append([]string{s.Folders[0]}, parts...)...)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(content), 0o644))
	return path
}

// must ends the test if there is an error.
func (s testStore) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func digestOf(content string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
}

// blob writes the file of a layer and returns its path and its line in a manifest.
func (s testStore) blob(kind, content string) (string, layer) {
	s.t.Helper()
	d := digestOf(content)
	path := s.put(content, "blobs", strings.Replace(d, ":", "-", 1))
	return path, layer{"application/vnd.ollama.image." + kind, d, int64(len(content))}
}

// manifest writes the manifest of a model.
func (s testStore) manifest(n Name, layers ...layer) string {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.docker.distribution.manifest.v2+json",
		"config":        layer{"application/vnd.docker.container.image.v1+json", digestOf("c"), 1},
		"layers":        layers,
	})
	s.must(err)
	return s.put(string(text), "manifests", n.Host, n.Namespace, n.Model, n.Tag)
}

var llama = Name{"registry.ollama.ai", "library", "llama3.2", "1b"}

func TestFind(t *testing.T) {
	s := newStore(t)
	_, template := s.blob("template", "{{ .Prompt }}")
	_, params := s.blob("params", `{"stop":["<|eot_id|>"]}`)
	_, licence := s.blob("license", "words")
	for name, n := range map[string]Name{
		"llama3.2:1b":                 llama,
		"qwen3":                       {"registry.ollama.ai", "library", "qwen3", "latest"},
		"mike/mistral:7b-q4_0":        {"registry.ollama.ai", "mike", "mistral", "7b-q4_0"},
		"hf.co/org/name-GGUF:Q4_K_M":  {"hf.co", "org", "name-GGUF", "Q4_K_M"},
		"localhost:5000/team/private": {"localhost:5000", "team", "private", "latest"},
	} {
		want, model := s.blob("model", "GGUF of "+name)
		s.manifest(n, model, template, params, licence)
		for _, ref := range []string{name, Prefix + name} {
			if got, err := s.Find(ref); err != nil || got != want {
				t.Errorf("Find(%s) = %s, %v; want %s", ref, got, err, want)
			}
		}
	}
}

// The folders of a store are searched in their order.
func TestFindInSecondFolder(t *testing.T) {
	first, second := newStore(t), newStore(t)
	want, model := second.blob("model", "GGUF")
	second.manifest(llama, model)
	both := Store{Folders: []string{first.Folders[0], second.Folders[0]}}
	if got, err := both.Find("llama3.2:1b"); err != nil || got != want {
		t.Errorf("Find = %s, %v; want %s", got, err, want)
	}
	want, model = first.blob("model", "GGUF")
	first.manifest(llama, model)
	if got, err := both.Find("llama3.2:1b"); err != nil || got != want {
		t.Errorf("Find = %s, %v; want %s", got, err, want)
	}
}

func TestFindBroken(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s testStore, model layer, blob string)
		want  []string
	}{
		"no file": {func(s testStore, m layer, blob string) {
			s.manifest(llama, m)
			s.must(os.Remove(blob))
		}, []string{"the file of " + digestOf("GGUF") + " is missing", filepath.Join("blobs", "sha256-"), "ollama pull"}},
		"half a file": {func(s testStore, m layer, blob string) {
			s.manifest(llama, m)
			s.must(os.Truncate(blob, 2))
		}, []string{"has 2 bytes, want 4", "ollama pull"}},
		"a folder": {func(s testStore, m layer, blob string) {
			s.manifest(llama, m)
			s.must(os.Remove(blob))
			s.must(os.Mkdir(blob, 0o755))
		}, []string{"is not a regular file"}},
		"digest of another kind": {func(s testStore, m layer, _ string) {
			m.Digest = "md5:00"
			s.manifest(llama, m)
		}, []string{`the digest of the model is "md5:00"`}},
		"digest that climbs out": {func(s testStore, m layer, _ string) {
			m.Digest = "sha256:../../../../etc/passwd"
			s.manifest(llama, m)
		}, []string{`the digest of the model is "sha256:../../../../etc/passwd", want sha256: and 64`}},
		"no weights": {func(s testStore, m layer, _ string) {
			m.MediaType = "application/vnd.ollama.image.tensor"
			s.manifest(llama, m, m)
		}, []string{"it has 0 layers of the type application/vnd.ollama.image.model, want 1", `its types are ["application/vnd.ollama.image.tensor"]`}},
		"two weights": {func(s testStore, m layer, _ string) { s.manifest(llama, m, m) }, []string{"it has 2 layers"}},
		"an adapter": {func(s testStore, m layer, _ string) {
			_, adapter := s.blob("adapter", "a")
			s.manifest(llama, m, adapter)
		}, []string{"has an adapter, which is not supported"}},
		"not JSON":    {func(s testStore, _ layer, _ string) { write(s, "<html>") }, []string{"is not JSON as Ollama writes it"}},
		"other JSON":  {func(s testStore, _ layer, _ string) { write(s, `{"layers":3}`) }, []string{`is not JSON as Ollama writes it: "layers" is a number, want a list`}},
		"a list":      {func(s testStore, _ layer, _ string) { write(s, `[]`) }, []string{`is not JSON as Ollama writes it: it is a list, want an object`}},
		"other size":  {func(s testStore, _ layer, _ string) { write(s, `{"layers":[{"size":1.5}]}`) }, []string{`"layers.size" is 1.5, which does not fit`}},
		"long size":   {func(s testStore, _ layer, _ string) { write(s, `{"layers":[{"size":`+strings.Repeat("9", 1<<19)+`}]}`) }, []string{`"layers.size" is 999`}},
		"empty":       {func(s testStore, _ layer, _ string) { write(s, "") }, []string{"is not JSON as Ollama writes it"}},
		"too large":   {func(s testStore, _ layer, _ string) { s.must(os.Truncate(write(s, "{}"), 1<<40)) }, []string{"it has more than 1048576 bytes"}},
		"many layers": {func(s testStore, _ layer, _ string) { write(s, many()) }, []string{"it has 0 layers"}},
		"manifest is a folder": {func(s testStore, _ layer, _ string) {
			path := write(s, "")
			s.must(os.Remove(path))
			s.must(os.Mkdir(path, 0o755))
		}, []string{"it is not a regular file"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			blob, model := s.blob("model", "GGUF")
			c.spoil(s, model, blob)
			_, err := s.Find("ollama:llama3.2:1b")
			if err == nil || len(err.Error()) > 2000 {
				t.Fatalf("error %v, want a short one", err)
			}
			want := append(c.want, "ollama: llama3.2:1b: manifest "+s.Folders[0])
			for _, want := range want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "Go ") {
				t.Errorf("error %v names types of Go", err)
			}
		})
	}
}

// write writes the text of the manifest of llama3.2:1b.
func write(s testStore, text string) string {
	return s.put(text, "manifests", llama.Host, llama.Namespace, llama.Model, llama.Tag)
}

// many returns a manifest of a hundred thousand layers, each of a type of its own.
func many() string {
	var b strings.Builder
	b.WriteString(`{"layers":[{}`)
	for i := 0; b.Len() < maxManifest-30; i++ {
		fmt.Fprintf(&b, `,{"mediaType":"%d"}`, i)
	}
	b.WriteString("]}")
	return b.String()
}

func TestFindUnknown(t *testing.T) {
	s := newStore(t)
	_, err := s.Find("llama3.2")
	for _, want := range []string{"llama3.2:latest is not in the store of Ollama; ollama pull llama3.2:latest", "there are no models in " + s.Folders[0], "OLLAMA_MODELS", "ollama pull llama3.2:latest"} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, model := s.blob("model", "GGUF")
	s.manifest(llama, model)
	s.manifest(Name{"hf.co", "org", "name", "Q4_0"}, model)
	s.put("x", "manifests", ".DS_Store")
	s.put("x", "manifests", llama.Host, "library", "..odd", "x")
	for ref, want := range map[string]string{
		"llama3.2":    "llama3.2:latest is not in the store of Ollama; ",
		"llama32:1b":  "did you mean llama3.2:1b? ollama pull llama32:1b downloads it (in " + s.Folders[0] + " there are hf.co/org/name:Q4_0, llama3.2:1b)",
		"LLama3.2:1B": "did you mean llama3.2:1b? ",
		"bert":        "bert:latest is not in the store of Ollama; ollama pull bert:latest downloads it (in " + s.Folders[0] + " there are hf.co/org/name:Q4_0, llama3.2:1b)",
	} {
		if _, err := s.Find(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%s): error %v, want %q", ref, err, want)
		}
	}
	for i := range 30 {
		n := llama
		n.Tag = fmt.Sprintf("tag%02d", i)
		s.manifest(n, model)
	}
	_, err = s.Find("bert")
	if err == nil || !strings.Contains(err.Error(), "llama3.2:tag07 and 22 more") {
		t.Errorf("error %v, want 10 names and how many more there are", err)
	}
}

func TestParseName(t *testing.T) {
	for _, s := range []string{"llama3.2:1b", "mike/mistral:7b", "hf.co/org/name:Q4_K_M", "localhost:5000/a/b:c", "_x:_y"} {
		n, err := ParseName(Prefix + s)
		if err != nil || n.String() != s {
			t.Errorf("ParseName(%s) = %s, %v", s, n, err)
		}
	}
	for s, want := range map[string]string{
		"":                          `name ""`,
		":1b":                       `name ""`,
		"a:":                        `tag ""`,
		"a:b:c":                     `tag "b:c"`,
		"..":                        `name ".."`,
		"a:..":                      `tag ".."`,
		"a..b":                      `name "a..b"`,
		"../a":                      `namespace ".."`,
		"../../a":                   `host ".."`,
		"a/b/c/d":                   "more than three parts",
		"/a":                        `namespace ""`,
		"a/":                        `name ""`,
		`a\b`:                       `name "a\\b"`,
		"a b":                       `name "a b"`,
		"a\x00":                     `name "a\x00"`,
		".hidden":                   `name ".hidden"`,
		"ü":                         `name "ü"`,
		"http://x/y":                "more than three parts",
		"host:123456/a/b":           `host "host:123456"`,
		strings.Repeat("a", 129):    "is not the name of a model",
		strings.Repeat("a", 100000): "is not the name of a model",
	} {
		_, err := ParseName(s)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("ParseName(%.20q): error %.300v, want %q", s, err, want)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Setenv("OLLAMA_MODELS", "/models")
	if got, err := FromEnvironment(); err != nil || !cmp.Equal(got.Folders, []string{"/models"}) {
		t.Errorf("FromEnvironment = %v, %v", got, err)
	}
	t.Setenv("OLLAMA_MODELS", "")
	t.Setenv("HOME", "/home/me")
	t.Setenv("USERPROFILE", "/home/me")
	got, err := FromEnvironment()
	if want := filepath.Join("/home/me", ".ollama", "models"); err != nil ||
		got.Folders[0] != want {
		t.Errorf("FromEnvironment = %v, %v; want %s first", got, err, want)
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if _, err := FromEnvironment(); err == nil ||
		!strings.Contains(err.Error(), "set OLLAMA_MODELS") {
		t.Errorf("error %v without a home folder", err)
	}
}

// No name leads out of the store.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"llama3.2:1b", "hf.co/org/name:Q4_K_M", "../../x", "localhost:5000/a/b", "a:..", `a\..\b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		rel, err := filepath.Rel("/store/manifests", n.manifest("/store"))
		if err != nil || strings.Count(filepath.ToSlash(rel), "/") != 3 ||
			strings.Contains(rel, "..") {
			t.Errorf("the manifest of %q is at %s, %v", s, rel, err)
		}
		if again, err := ParseName(n.String()); err != nil || again != n {
			t.Errorf("%q is %+v and reads as %+v, %v", s, n, again, err)
		}
	})
}

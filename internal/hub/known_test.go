package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKnown: a short name means the one GGUF file in its folder, without a request, or else a model
// of the Hub.
func TestKnown(t *testing.T) {
	for _, name := range Known() {
		if r, err := ParseRef(name + "@v1"); err != nil || r.Repo == name || r.Revision != "v1" ||
			strings.Count(r.Repo, "/") != 1 {
			t.Errorf("ParseRef(%s@v1) = %+v, %v, want a model of the Hub", name, r, err)
		}
	}
	const name = "smollm2"
	folder := t.TempDir()
	dir := filepath.Join(folder, name)
	write(t, filepath.Join(folder, "other", "a.gguf"), "")
	opts := Options{Models: folder, Cache: t.TempDir(), Offline: true, Check: true, Update: true}
	const elsewhere = "hub: HuggingFaceTB/SmolLM2-135M-Instruct: it is not in the cache"
	check := func(ref, want, wrong string) {
		t.Helper()
		got, err := Resolve(t.Context(), ref, opts)
		if got != want || wrong == "" && err != nil ||
			wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), wrong)) {
			t.Errorf("Resolve(%s) = %q, %v, want %q, error %q", ref, got, err, want, wrong)
		}
	}
	check(name, "", elsewhere) // there is no folder
	write(t, filepath.Join(dir, "README.md"), "")
	check(name, "", elsewhere) // without a GGUF file
	write(t, filepath.Join(dir, "a.gguf"), "")
	check(name, filepath.Join(dir, "a.gguf"), "")
	check("other", "", "hub: other: it is not in the cache") // no short name
	check(name+"@main", "", elsewhere)                       // a revision is one of the Hub
	write(t, filepath.Join(dir, "b.gguf"), "")
	check(name, "", "hub: smollm2: "+dir+" has 2 GGUF files; leave the one that the name means")
	must(t, os.RemoveAll(dir))
	write(t, dir, "a file")
	check(name, "", "hub: smollm2: ")
	opts.Models = ""
	check(name, "", elsewhere)
}

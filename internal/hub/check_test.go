package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shardedModel returns a repository with two shards.
func shardedModel() map[string]string {
	files := model()
	delete(files, "model.safetensors")
	files["model.safetensors.index.json"] = `{"weight_map":{"a":"model-1.safetensors",` +
		`"b":"model-2.safetensors"}}`
	files["model-1.safetensors"], files["model-2.safetensors"] = strings.Repeat("one ",
		300_000), strings.Repeat("two ", 300_000)
	return files
}

// downloaded returns a hub, and the options and the directory of its model, which is complete in
// the cache.
func downloaded(t *testing.T, files map[string]string) (h *fakeHub, opts Options, dir string) {
	t.Helper()
	files["tokenizer_config.json"] = `{"a":1}` // and not the blob of tokenizer.json
	h = newHub(t, files)
	opts = h.options(t)
	dir, err := resolve(t.Context(), "org/name", opts)
	must(t, err)
	h.requests()
	return h, opts, dir
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	must(t, os.Truncate(path, size))
}

// flip changes one byte in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(path, b, 0o644))
}

// TestCheckRepairs: files that were damaged in the cache are downloaded again, and no others.
// Without the check they stay as they are.
func TestCheckRepairs(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		damage  func(t *testing.T, path string)
		damaged []string
	}{
		{
			"weights cut short", model(),
			func(t *testing.T, path string) { truncate(t, path, 1000) },
			[]string{"model.safetensors"},
		},
		{
			"weights of nothing", model(), func(t *testing.T, path string) { truncate(t, path, 0) },
			[]string{"model.safetensors"},
		},
		{
			"weights too long", model(),
			func(t *testing.T, path string) { truncate(t, path, 900_000) },
			[]string{"model.safetensors"},
		},
		{"one bit of the weights", model(), flip, []string{"model.safetensors"}},
		{"settings", model(), flip, []string{"config.json"}},
		{"what a model could do without", model(), flip, []string{"additional_chat_templates/tool_use.jinja"}},
		{"several", model(), flip, []string{"config.json", "tokenizer.json", "model.safetensors"}},
		{"a shard", shardedModel(), flip, []string{"model-2.safetensors"}},
		{
			"the list of shards", shardedModel(),
			func(t *testing.T, path string) { truncate(t, path, 20) },
			[]string{"model.safetensors.index.json"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, opts, dir := downloaded(t, c.files)
			want := contents(t, dir)
			h.commits[commitB], h.revisions["main"] = model(), commitB // newer by now
			for _, f := range c.damaged {
				c.damage(t, filepath.Join(dir, f))
			}
			damaged := contents(t, dir)
			// an error where the list of shards is not one
			_, _ = resolve(t.Context(), "org/name", opts)
			if diff := cmp.Diff(damaged, contents(t, dir)); diff != "" || h.requests() != nil {
				t.Errorf("without the check something was done (-want +got):\n%s", diff)
			}
			opts.Check = true
			again, err := resolve(t.Context(), "org/name", opts)
			if err != nil || again != dir {
				t.Fatalf("%s, %v, want %s", again, err, dir)
			}
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Errorf("repaired (-want +got):\n%s", diff)
			}
			var asked []string
			for _, request := range h.requests() {
				if file, ok := strings.CutPrefix(request,
					"HEAD /org/name/resolve/"+commitA+"/"); ok {
					asked = append(asked, file)
				}
			}
			slices.Sort(c.damaged)
			slices.Sort(asked)
			if diff := cmp.Diff(c.damaged, asked); diff != "" {
				t.Errorf("files asked for (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckOfWhatIsRight: the check of an undamaged model sends no request, and reports the reading
// of every file once.
func TestCheckOfWhatIsRight(t *testing.T) {
	files := shardedModel()
	h, opts, dir := downloaded(t, files)
	h.hub.Close()
	read := map[string]int64{}
	opts.Check = true
	opts.Progress = func(p Progress) {
		if !p.Checking || p.Number != 0 || p.Size != int64(len(files[p.File])) ||
			p.Done <= read[p.File] || p.Done > p.Size {
			t.Errorf("progress %+v after %d bytes of that file", p, read[p.File])
		}
		read[p.File] = p.Done
	}
	if again, err := resolve(t.Context(), "org/name", opts); err != nil || again != dir {
		t.Fatalf("%s, %v, want %s", again, err, dir)
	}
	want := map[string]int64{}
	for f, text := range contents(t, dir) {
		want[f] = int64(len(text))
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("bytes read (-want +got):\n%s", diff)
	}
	// A file that another program put there without a blob has no hash, so it passes.
	must(t, os.Remove(filepath.Join(dir, "config.json")))
	write(t, filepath.Join(dir, "config.json"), "by hand")
	opts.Progress = nil
	if again, err := resolve(t.Context(), "org/name", opts); err != nil || again != dir {
		t.Errorf("with a file instead of a link: %s, %v, want %s", again, err, dir)
	}
}

// TestCheckCannotRepair: if the Hub cannot be reached, the error names the broken files, and the
// directory is not used.
func TestCheckCannotRepair(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"offline": {
			func(o *Options) { o.Offline = true },
			", and HF_HUB_OFFLINE forbids downloading it",
		},
		"no network": {
			func(o *Options) { o.Endpoint = "http://127.0.0.1:1" },
			", and the connection to 127.0.0.1:1 fails",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, opts, dir := downloaded(t, model())
			opts.Check = true
			c.change(&opts)
			refused := func(want string) {
				t.Helper()
				if _, err := resolve(t.Context(), "org/name", opts); err == nil ||
					!strings.Contains(err.Error(), want+c.want) {
					t.Errorf("error %v, want one with %q", err, want+c.want)
				}
			}
			flip(t, filepath.Join(dir, "tokenizer_config.json"))
			refused("hub: org/name: the cache has other bytes than the Hub in " +
				"tokenizer_config.json")
			must(t, os.Remove(filepath.Join(dir, "model.safetensors")))
			refused("hub: org/name: the cache lacks model.safetensors and has other bytes than " +
				"the Hub in tokenizer_config.json")
			_, opts, dir = downloaded(t, shardedModel())
			opts.Check = true
			c.change(&opts)
			truncate(t, filepath.Join(dir, "model.safetensors.index.json"), 20)
			refused("hub: org/name: the cache has other bytes than the Hub in " +
				"model.safetensors.index.json")
		})
	}
}

// TestCheckStops: a check that is cancelled repairs nothing.
func TestCheckStops(t *testing.T) {
	h, opts, _ := downloaded(t, shardedModel())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Check = true
	opts.Progress = func(p Progress) {
		if strings.HasSuffix(p.File, ".safetensors") {
			cancel()
		}
	}
	if _, err := resolve(ctx, "org/name", opts); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if log := h.requests(); log != nil {
		t.Errorf("requests %v, want none", log)
	}
}

// TestCheckAtOnce: two calls that find the same broken file download it once.
func TestCheckAtOnce(t *testing.T) {
	h, opts, dir := downloaded(t, model())
	want := contents(t, dir)
	flip(t, filepath.Join(dir, "model.safetensors"))
	opts.Check = true
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, err := resolve(t.Context(), "org/name", opts); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("repaired (-want +got):\n%s", diff)
	}
	fetched := 0
	for _, request := range h.requests() {
		if strings.HasPrefix(request, "GET /storage/") {
			fetched++
		}
	}
	if fetched != 1 {
		t.Errorf("the file was fetched %d times, want once", fetched)
	}
}

package hub

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ModelsVariable is the environment variable that sets [Options.Models].
const ModelsVariable = "HEADWATER_MODELS"

// known are the models that have a short name, with their names on the Hub.
var known = map[string]string{"smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"}

// Known returns the short names of models, sorted. [ParseRef] returns what they stand for.
func Known() []string { return slices.Sorted(maps.Keys(known)) }

// Local returns the GGUF file that a short name means on this machine instead of the Hub's model:
// the one in the folder of that name in [Options.Models]. It returns "" if there is none, and for
// every other name. It is an error if the folder has several.
func Local(ref string, opts Options) (string, error) {
	if known[ref] == "" || opts.Models == "" {
		return "", nil
	}
	dir := filepath.Join(opts.Models, ref)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", pkg.Errorf("%s: %w", ref, err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".gguf") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	switch len(files) {
	case 0:
		return "", nil
	case 1:
		return files[0], nil
	}
	return "", pkg.Errorf("%s: %s has %d GGUF files; leave the one that the name means", ref,
		dir, len(files))
}

// Here returns what a short name opens on this machine: its GGUF file, else the folder of its
// repository in the cache; "" if it would have to be downloaded. The errors are those of [Local].
func Here(ctx context.Context, name string, opts Options) (path string, err error) {
	if path, err = Local(name, opts); err != nil || path != "" {
		return path, err
	}
	opts.Offline = true
	path, _ = Resolve(ctx, name, opts) // an error: it is not there
	return path, nil
}

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// openShards opens every file that model.safetensors.index.json names. As in the reference
// implementation, a tensor in a shard counts even if the index does not name it; a tensor that the
// index names must be in the shard that the index says. The result has the parts of all shards, so
// a caller sees one checkpoint.
func (d *Dir) openShards() (_ *File, err error) {
	text, err := d.read(indexFile, maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := parseIndex(text)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", d.path(indexFile), err)
	}
	all := &File{
		name: d.path(indexFile), tensors: map[string]entry{},
		metadata: map[string]string{},
	}
	// After an error the shards that are open already are closed.
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	for _, shard := range shards(index) {
		// A shard may be missing after an incomplete download.
		if err := d.checkRegular(shard, -1); err != nil {
			return nil, fmt.Errorf("%w; %s names it", err, indexFile)
		}
		f, err := openFS(d.fsys, shard, d.path(shard))
		if err != nil {
			return nil, err
		}
		if err := all.add(f); err != nil {
			return nil, err
		}
	}
	return all, all.checkIndex(index, d)
}

// shards returns the names of the shard files, sorted, each once. The order decides the hash of the
// model, so it must not be that of a map.
func shards(index map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(index)))
}

// add adds the one part of another file, with its tensors, to f. A tensor in two shards is an
// error, because nothing tells which one counts. Metadata are remarks, of which the first with a
// key counts.
func (f *File) add(shard *File) error {
	f.parts = append(f.parts, shard.parts...)
	for _, name := range shard.Names() {
		if first, ok := f.tensors[name]; ok {
			return pkg.Errorf("tensor %s is in %s and in %s: these shards are not of one "+
				"checkpoint", quoted(name), first.part.name, shard.name)
		}
		f.tensors[name] = shard.tensors[name]
	}
	for key, value := range shard.metadata {
		if _, ok := f.metadata[key]; !ok {
			f.metadata[key] = value
		}
	}
	return nil
}

// checkIndex checks that every tensor is in the shard that the index names for it. Names are
// sorted, so that the same directory gives the same error.
func (f *File) checkIndex(index map[string]string, d *Dir) error {
	for _, name := range slices.Sorted(maps.Keys(index)) {
		want := d.path(index[name])
		e, ok := f.tensors[name]
		if !ok {
			return pkg.Errorf("%s has no tensor %s, where %s says it is; download "+
				"the shard again", want, quoted(name), indexFile)
		}
		if e.part.name != want {
			return pkg.Errorf("tensor %s is in %s, but %s says in %s: the shards are swapped or "+
				"of different checkpoints", quoted(name), e.part.name, indexFile, want)
		}
	}
	return nil
}

// parseIndex returns the weight_map: by tensor name, the file that holds it. The metadata's
// total_size is not checked, because programs disagree on whether a tied tensor counts. Keys that
// come twice are an error, because one of the two files would be ignored. It looks like
// {"metadata":{…},"weight_map":{"wte.weight":"model-00001-of-00002.safetensors",…}}.
func parseIndex(text []byte) (map[string]string, error) {
	r := jsonread.New(text)
	var index map[string]string
	err := r.Object(func(key string) error {
		if key != "weight_map" {
			// Other keys are read past.
			_, err := r.Raw()
			return err
		}
		index = map[string]string{}
		err := r.Object(func(name string) error { return readShard(r, index, name) })
		if err != nil {
			return fmt.Errorf("weight_map: %w", err)
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
	case index == nil:
		err = errors.New("key weight_map is missing; it must name the file of each tensor")
	// An empty index would open as a checkpoint without weights.
	case len(index) == 0:
		err = errors.New("weight_map is empty; it must name the file of each tensor")
	}
	return index, err
}

// readShard reads the file name of one tensor. It must be a path within the directory. An index
// comes with a download, so it must not make this program read files elsewhere. Windows takes a
// backslash for a slash, so it is refused too.
func readShard(r *jsonread.Reader, index map[string]string, name string) error {
	file, err := r.Text()
	if err != nil {
		return fmt.Errorf("tensor %s: %w", quoted(name), err)
	}
	if !fs.ValidPath(file) || file == "." || strings.Contains(file, `\`) {
		return fmt.Errorf("tensor %s: file %s is not within the directory", quoted(name),
			quoted(file))
	}
	if !strings.HasSuffix(file, ".safetensors") {
		return fmt.Errorf("tensor %s: file %s is not safetensors", quoted(name), quoted(file))
	}
	index[name] = file
	return nil
}

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// openIndexed opens every file that model.safetensors.index.json names.
func (d *Dir) openIndexed() (*File, error) {
	text, err := d.read(indexFile, maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := parseIndex(text)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", d.path(indexFile), err)
	}
	return d.openShards(indexFile, shards(index), index)
}

// unlisted returns the names of the shards of a checkpoint without an index, by the first name that
// has their number, as model-00001-of-00002.safetensors; none if there is no such name.
func (d *Dir) unlisted() (names []string) {
	found, _ := fs.Glob(d.fsys, "model-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]"+
		".safetensors") // sorted
	if len(found) == 0 {
		return nil
	}
	_, number, _ := strings.Cut(found[0], "-of-")
	n, _ := strconv.Atoi(strings.TrimSuffix(number, ".safetensors")) // at most 99,999
	for i := range n {
		names = append(names, fmt.Sprintf("model-%05d-of-%s", i+1, number))
	}
	return names
}

// openShards opens shards as one checkpoint, which has the parts of all. As in the reference
// implementation, a tensor in a shard counts even if the index does not name it. A tensor that the
// index names and that is nowhere is an error only when it is asked for, because a model may do
// without it; one in another shard than the index says is an error at once. Without an index, all
// shards must be there. name is what the result is called.
func (d *Dir) openShards(name string, files []string, index map[string]string) (
	_ *File, err error,
) {
	all := &File{name: d.path(name), tensors: map[string]entry{}, metadata: map[string]string{}}
	// After an error the shards that are open already are closed.
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	for _, shard := range files {
		// A shard may be missing after an incomplete download.
		err := d.checkRegular(shard, -1)
		if index != nil && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w; it is one of the %d shards of the model", err, len(files))
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

// checkIndex checks that no tensor is in another shard than the one that the index names for it,
// and adds those that are nowhere, with a remark. Names are sorted, so that the same directory
// gives the same error.
func (f *File) checkIndex(index map[string]string, d *Dir) error {
	var absent []string
	for _, name := range slices.Sorted(maps.Keys(index)) {
		want := d.path(index[name])
		e, ok := f.tensors[name]
		if !ok {
			absent = append(absent, quoted(name))
			f.tensors[name] = entry{part: &part{name: want}, absent: true}
			continue
		}
		if e.part.name != want {
			return pkg.Errorf("tensor %s is in %s, but %s says in %s: the shards are swapped or "+
				"of different checkpoints", quoted(name), e.part.name, indexFile, want)
		}
	}
	if absent != nil {
		d.Remarks = append(d.Remarks, fmt.Sprintf("%s names tensors that are in no shard and "+
			"that the model does not need: %s", indexFile, message.Some(absent, 4)))
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

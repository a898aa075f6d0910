package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/internal/message"
)

// The files of a Hugging Face directory that this package reads.
const (
	configFile     = "config.json"
	generationFile = "generation_config.json"
	tokenizerFile  = "tokenizer.json"
	weightsFile    = "model.safetensors"
	indexFile      = "model.safetensors.index.json"
)

// Limits in bytes. They are far above the sizes in real checkpoints.
const (
	maxConfig    = 16 << 20
	maxTokenizer = 128 << 20
	maxIndex     = 64 << 20
)

// Dir is a model in the directory layout of Hugging Face. It has config.json and the weights
// (model.safetensors or, if that file is missing, the shards listed in
// model.safetensors.index.json, or all shards without that list). It may have
// generation_config.json and the files of the tokenizer. The fields must not be modified. A Dir is
// safe for concurrent use.
type Dir struct {
	// Name is the path or name that the directory was opened with.
	Name string
	// ConfigJSON is config.json, byte for byte. Config is the same file decoded, with numbers as
	// json.Number.
	ConfigJSON []byte
	Config     map[string]any
	// Generation is generation_config.json, decoded like Config. It is nil if the file is missing.
	Generation map[string]any
	// Remarks are what was noticed in config.json and generation_config.json and changes no number,
	// one sentence each.
	Remarks []string
	// Weights is the open weights. The shards of a sharded checkpoint are read as one file.
	Weights *File

	fsys fs.FS
}

// OpenDir opens a directory on disk. If a file is missing, the error names it, what was found
// instead and what to do. The caller must close the result.
func OpenDir(path string) (*Dir, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	if !info.IsDir() {
		return nil, pkg.Errorf("%s is not a directory; name the one that holds %s "+
			"and %s", path, configFile, weightsFile)
	}
	return FromFS(os.DirFS(path), path)
}

// OpenText opens a directory for what is about text, such as its tokenizer: config.json may be
// missing, and Weights is nil.
func OpenText(path string) (d *Dir, err error) {
	d = &Dir{Name: path, fsys: os.DirFS(path)}
	d.Config, err = d.readOptional(configFile)
	return d, err
}

// FromFS opens the root of a file system as [OpenDir] opens a directory. The name is for error
// messages.
func FromFS(fsys fs.FS, name string) (*Dir, error) {
	d := &Dir{Name: name, fsys: fsys}
	var err error
	if d.ConfigJSON, err = d.read(configFile, maxConfig); err != nil {
		return nil, d.explainMissing(err)
	}
	if d.Config, err = d.decode(configFile, d.ConfigJSON); err != nil {
		return nil, err
	}
	if d.Generation, err = d.readOptional(generationFile); err != nil {
		return nil, err
	}
	if d.Weights, err = d.openWeights(); err != nil {
		return nil, err
	}
	return d, nil
}

// openWeights opens the single file or, if it is missing, the shards of the index or, if that is
// missing, those whose names count them. If several are there, the first counts, as in the
// reference implementation, and a remark names the others.
func (d *Dir) openWeights() (*File, error) {
	files, opened := d.unlisted(), weightsFile
	open := func() (*File, error) { return openFS(d.fsys, weightsFile, d.path(weightsFile)) }
	switch err := d.checkRegular(weightsFile, -1); {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case d.exists(indexFile):
		opened, open = indexFile, d.openIndexed
	case files != nil:
		opened = files[0]
		d.Remarks = append(d.Remarks, fmt.Sprintf("there is no %s: the weights are those of %s "+
			"and all other shards", indexFile, opened))
		open = func() (*File, error) { return d.openShards(opened, files, nil) }
	default:
		return nil, d.explainMissing(err)
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	if left := d.otherWeights(f, opened); len(left) > 0 {
		d.Remarks = append(d.Remarks, fmt.Sprintf("the weights are those of %s; other weights in "+
			"the folder were left: %s", opened, message.Some(left, 4)))
	}
	return f, nil
}

// otherWeights returns the files of weights in the directory that are not parts of f.
func (d *Dir) otherWeights(f *File, opened string) (left []string) {
	entries, _ := fs.ReadDir(d.fsys, ".") // a folder that cannot be listed has no remark
	for _, e := range entries {
		name := e.Name()
		isPart := slices.ContainsFunc(f.parts, func(p *part) bool { return p.name == d.path(name) })
		if !isPart && name != opened && isWeights(name) {
			left = append(left, name)
		}
	}
	return left
}

// Close closes the weights.
func (d *Dir) Close() error { return d.Weights.Close() }

// EOS returns the ids of the tokens that end a text, [Dir.TokenIDs] of eos_token_id.
func (d *Dir) EOS() ([]int, error) { return d.TokenIDs("eos_token_id") }

// TokenIDs returns the token ids under the first of the keys that generation_config.json has or, if
// it has none of them, that config.json has. The result is empty if neither file has one; ids below
// 0 are left out. It returns an error if the value is not a token id or a list of token ids.
func (d *Dir) TokenIDs(keys ...string) ([]int, error) {
	var file, key string
	var value any
	for i := 0; value == nil && i < 2*len(keys); i++ {
		file, key = generationFile, keys[i%len(keys)]
		if value = d.Generation[key]; i >= len(keys) {
			file, value = configFile, d.Config[key]
		}
	}
	if value == nil {
		return nil, nil
	}
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	var ids []int
	for i, v := range list {
		number, _ := v.(json.Number)
		id, err := strconv.Atoi(number.String())
		if err != nil {
			entry := key
			if many {
				entry = fmt.Sprintf("%s[%d]", key, i)
			}
			return nil, pkg.Errorf("%s: %s is %s; it must be a token id, which is a whole number",
				d.path(file), entry, shown(v))
		}
		if id >= 0 { // others are of no token
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Hash returns what identifies the model, as 64 hexadecimal digits. It is the SHA-256 of a list of
// SHA-256 sums of 32 bytes each: first the sum of config.json, then those of the weight files in
// the order of their names. It reads all weights once, and the error wraps ctx.Err() if ctx ends
// that.
func (d *Dir) Hash(ctx context.Context) (string, error) {
	config := sha256.Sum256(d.ConfigJSON)
	sums := config[:]
	for _, p := range d.Weights.parts {
		h := sha256.New()
		err := p.storage.each(0, p.size, chunk, func(b []byte) error {
			h.Write(b) // a hash never returns an error
			return ctx.Err()
		})
		if err != nil {
			return "", pkg.Errorf("%s: %w", p.name, err)
		}
		sums = h.Sum(sums)
	}
	all := sha256.Sum256(sums)
	return hex.EncodeToString(all[:]), nil
}

func (d *Dir) path(file string) string { return d.Name + "/" + file }

func (d *Dir) exists(file string) bool {
	_, err := fs.Stat(d.fsys, file)
	return err == nil
}

// read returns a whole file of at most limit bytes.
func (d *Dir) read(file string, limit int64) ([]byte, error) {
	if err := d.checkRegular(file, limit); err != nil {
		return nil, err
	}
	b, err := fs.ReadFile(d.fsys, file)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", d.path(file), err)
	}
	return b, nil
}

// checkRegular returns an error if the file is missing, is not a regular file (such as a pipe or a
// directory), or is longer than limit bytes. A limit of −1 means no limit.
func (d *Dir) checkRegular(file string, limit int64) error {
	info, err := fs.Stat(d.fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return pkg.Errorf("%s has no %s: %w", d.Name, file, fs.ErrNotExist)
	}
	if err != nil {
		return pkg.Errorf("%s: %w", d.path(file), err)
	}
	if !info.Mode().IsRegular() {
		return pkg.Errorf("%s is not a regular file (%s)", d.path(file), info.Mode().Type())
	}
	if limit >= 0 && info.Size() > limit {
		return pkg.Errorf("%s has %d bytes, the limit is %d", d.path(file), info.Size(), limit)
	}
	return nil
}

// decode reads a JSON object. Numbers stay as they are written in the file. A key that comes twice
// is a remark while the directory is opened; later, nothing in it may change.
func (d *Dir) decode(file string, b []byte) (map[string]any, error) {
	m, twice, err := decodeObject(b)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", d.path(file), err)
	}
	if d.Weights != nil {
		return m, nil
	}
	for _, key := range twice {
		d.Remarks = append(d.Remarks, fmt.Sprintf("%s: key %s comes twice; the last value counts",
			file, quoted(key)))
	}
	return m, nil
}

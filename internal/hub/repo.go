package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// repo is the part of the cache for one model.
type repo struct {
	dir   string // models--ORG--NAME
	locks string
	check *check // nil if files are not checked
}

func newRepo(cache string, ref Ref) repo {
	name := "models--" + strings.ReplaceAll(ref.Repo, "/", "--")
	return repo{dir: filepath.Join(cache, name), locks: filepath.Join(cache, ".locks", name)}
}

func (r repo) snapshot(commit string) string { return filepath.Join(r.dir, "snapshots", commit) }
func (r repo) blob(etag string) string       { return filepath.Join(r.dir, "blobs", etag) }

func (r repo) file(commit, file string) string {
	return filepath.Join(r.snapshot(commit), filepath.FromSlash(file))
}

// commit returns the commit that a revision means in the cache. It is empty if the cache does not
// know the revision.
func (r repo) commit(revision string) (string, error) {
	if commitName.MatchString(revision) {
		return revision, nil
	}
	path := filepath.Join(r.dir, "refs", filepath.FromSlash(revision))
	b, err := atomicfile.ReadRegular(path, 200)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", pkg.Errorf("%s: %w", path, atomicfile.Cause(err))
	}
	commit := strings.TrimSpace(string(b))
	if !commitName.MatchString(commit) {
		return "", pkg.Errorf("%s holds %q, which is not a commit: remove the file", path,
			shortened(commit))
	}
	return commit, nil
}

// state is what the cache has of a commit.
type state struct {
	found   bool     // whether the cache has the commit
	missing []string // required files that are missing
	broken  []string // files with other bytes than on the Hub
	unsure  bool     // whether files may be missing that the cache does not know of
}

func (s state) usable() bool   { return s.found && len(s.missing) == 0 && len(s.broken) == 0 }
func (s state) complete() bool { return s.usable() && !s.unsure }

// describe returns the state in words, for an error.
func (s state) describe() string {
	if !s.found {
		return "it is not in the cache"
	}
	if s.usable() {
		return "the cache has it, perhaps not the newest"
	}
	var wrong []string
	if len(s.missing) > 0 {
		wrong = append(wrong, "lacks "+message.Some(s.missing, 4))
	}
	if len(s.broken) > 0 {
		wrong = append(wrong, "has other bytes than the Hub in "+message.Some(s.broken, 4))
	}
	return "the cache " + strings.Join(wrong, " and ")
}

// inspect returns what the cache has of a commit. It writes nothing, so it works with a read-only
// cache.
func (r repo) inspect(commit string) (state, error) {
	if commit == "" || !isDir(r.snapshot(commit)) {
		return state{}, nil
	}
	s := state{found: true}
	if !r.has(commit, configFile) {
		s.missing = append(s.missing, configFile)
	}
	weights, err := r.missingWeights(commit)
	if err != nil {
		return state{}, err
	}
	s.missing = append(s.missing, weights...)
	s.unsure = !r.knowsRest(commit)
	s.broken = r.broken(commit)
	s.missing = slices.DeleteFunc(s.missing,
		func(f string) bool { return slices.Contains(s.broken, f) })
	return s, nil
}

// broken returns the files of a snapshot that this project reads and that do not pass the check.
func (r repo) broken(commit string) (files []string) {
	if r.check == nil {
		return nil
	}
	root := r.snapshot(commit)
	all, _ := listed(root) // a file that cannot be listed counts as missing
	for _, f := range append(small(all), weightFiles(all)...) {
		if isFile(r.file(commit, f)) && !r.has(commit, f) {
			files = append(files, f)
		}
	}
	return files
}

// listed returns the files below a folder, with the names that the Hub uses.
func listed(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := filepath.Rel(root, path)
		files = append(files, filepath.ToSlash(file))
		return err
	})
	return files, err
}

// missingWeights returns the files of the weights that are missing.
func (r repo) missingWeights(commit string) ([]string, error) {
	if r.has(commit, weightsFile) {
		return nil, nil
	}
	if !isFile(r.file(commit, indexFile)) {
		return []string{weightsFile}, nil
	}
	if !r.has(commit, indexFile) {
		return []string{indexFile}, nil
	}
	files, err := r.shards(commit)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", r.snapshot(commit), err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return r.has(commit, f) }), nil
}

// shards returns the files in the list of shards of a snapshot.
func (r repo) shards(commit string) ([]string, error) {
	b, err := atomicfile.ReadRegular(r.file(commit, indexFile), maxIndex)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, atomicfile.Cause(err))
	}
	return shards(b)
}

// knowsRest returns whether all other files that are read and that the commit has are in the cache.
// Newer Python tools leave a list of what the commit has. Without that list, there must be a
// tokenizer, or the mark that the commit has none.
func (r repo) knowsRest(commit string) bool {
	if files, ok := r.listing(commit); ok {
		return !slices.ContainsFunc(small(files), func(f string) bool { return !r.has(commit, f) })
	}
	return r.has(commit, tokenizerFile) ||
		isFile(filepath.Join(r.dir, ".no_exist", commit, tokenizerFile))
}

// listing reads trees/COMMIT.json. ok is false if the file is missing or not understood.
func (r repo) listing(commit string) ([]string, bool) {
	b, err := atomicfile.ReadRegular(filepath.Join(r.dir, "trees", commit+".json"), maxListing)
	if err != nil {
		return nil, false
	}
	var tree struct {
		Version int                        `json:"format_version"`
		Files   map[string]json.RawMessage `json:"files"`
	}
	if json.Unmarshal(b, &tree) != nil || tree.Version != 1 {
		return nil, false
	}
	var files []string
	for f := range tree.Files {
		if safe(f) {
			files = append(files, f)
		}
	}
	return files, true
}

// has returns whether a file is in a snapshot and passes the check. A link to a blob that is
// missing does not count.
func (r repo) has(commit, file string) bool {
	path := r.file(commit, file)
	return isFile(path) && r.check.accepts(path, file)
}

// link puts a blob into a snapshot in one step: it makes the link under another name and renames
// it.
func (r repo) link(commit, file, etag string) error {
	path, blob := r.file(commit, file), r.blob(etag)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	temp := temporaryName(path)
	if err := os.Symlink(target, temp); err != nil {
		// On systems where the user may not make symbolic links, a hard link to the same file works
		// as well.
		if os.Link(blob, temp) != nil {
			return err
		}
	}
	return os.Rename(temp, path)
}

// setRef records that a revision means a commit.
func (r repo) setRef(revision, commit string) error {
	if revision == commit {
		return nil
	}
	path := filepath.Join(r.dir, "refs", filepath.FromSlash(revision))
	if old, err := atomicfile.ReadRegular(path, 200); err == nil && string(old) == commit {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(commit))
}

// markAbsent records that a commit does not have a file.
func (r repo) markAbsent(commit, file string) error {
	path := filepath.Join(r.dir, ".no_exist", commit, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o666)
}

var unfinished atomic.Int64

// temporaryName returns a name for a new file in the folder of path. It skips names that a process
// which was killed left.
func temporaryName(path string) string {
	for {
		temp := fmt.Sprintf("%s.%d-%d.tmp", path, os.Getpid(), unfinished.Add(1))
		if _, err := os.Lstat(temp); err != nil {
			return temp
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

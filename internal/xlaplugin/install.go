package xlaplugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// Sources of a plugin.
const (
	// SourceGoXLA is the installer of go-xla, which takes a release of gomlx/pjrt-cpu-binaries from
	// GitHub.
	SourceGoXLA = "go-xla"
	// SourceWheel is the Python package [Wheel], fetched by pip.
	SourceWheel = "wheel"
)

// Wheel is the Python package that carries a CPU plugin.
const Wheel = "xla-cpu-pjrt==0.0.1"

// Known hashes (SHA-256): of the wheel, and of the plugin in it.
const (
	WheelSHA256  = "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc"
	PluginSHA256 = "88c3f28c5900f48ad4a82cab9e79bba9537809743395e341485f8794268820dc"
)

// recordFile, beside the plugin, has what was installed.
const recordFile = "plugin.json"

// Installed is a plugin that was installed.
type Installed struct {
	// Path is where it is.
	Path string `json:"path"`
	// Source is where it came from, and Version what that calls it.
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	// SHA256 is the hash of the plugin.
	SHA256 string `json:"sha256"`
	// Checked reports whether what was fetched had a hash that was known before.
	Checked bool `json:"checked"`
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}

// InstallOptions select what is installed where. The zero value takes the first source that works
// and puts it into [Dir].
type InstallOptions struct {
	// Dir is the folder of the plugin.
	Dir string
	// Source is the only source to try. Empty tries [SourceGoXLA], then [SourceWheel].
	Source string
	// From is a file, or an http or https address, to take instead: the wheel, a .tar.gz of
	// go-xla's releases, or the plugin itself.
	From string
	// SHA256 is the hash that the file of From must have, in hexadecimal. Empty allows the known
	// ones.
	SHA256 string
	// OnProgress, if not nil, is told what is done, and how many of how many bytes; total is 0 if
	// it is not known.
	OnProgress func(what string, done, total int64)
}

// Install installs the CPU plugin. The plugin appears when it is complete, checked and written to
// disk; whatever fails before changes nothing. It is safe to run twice at a time.
func Install(ctx context.Context, opts InstallOptions) (Installed, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return Installed{}, fmt.Errorf("plugin: there is no plugin for %s/%s that this program "+
			"could use, only for linux/amd64; models run in pure Go",
			runtime.GOOS, runtime.GOARCH)
	}
	if opts.SHA256 != "" {
		if raw, err := hex.DecodeString(opts.SHA256); err != nil || len(raw) != sha256.Size {
			return Installed{}, fmt.Errorf("plugin: %q is no SHA-256: want %d hexadecimal digits",
				opts.SHA256, 2*sha256.Size)
		}
	}
	if opts.From != "" && !isAddress(opts.From) {
		if _, err := os.Stat(opts.From); err != nil {
			return Installed{}, fmt.Errorf("plugin: %w", err)
		}
	}
	if opts.OnProgress == nil {
		opts.OnProgress = func(string, int64, int64) {}
	}
	if opts.Dir == "" {
		dir, err := Dir()
		if err != nil {
			return Installed{}, err
		}
		opts.Dir = dir
	}
	dir, err := filepath.Abs(opts.Dir)
	defer removeEmpty(missing(dir)) // what a failure leaves of the folder
	if err == nil {
		err = os.MkdirAll(dir, 0o755) //nolint:gosec // others may read a plugin
	}
	if err != nil {
		return Installed{}, fmt.Errorf("plugin: %w; %w", err, ErrFolder)
	}
	removeLeftovers(dir)
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return Installed{}, fmt.Errorf("plugin: %w; %w", err, ErrFolder)
	}
	defer os.RemoveAll(work) // if it fails, the next run removes it
	opts.Dir = dir
	got, err := fetch(ctx, opts, work)
	if err == nil {
		got, err = finish(ctx, got, dir)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return Installed{}, fmt.Errorf("%w; make room there, or %w", err, ErrFolder)
	}
	return got, err
}

// missing returns the folders, dir and those that it is in, that do not exist, the innermost first.
func missing(dir string) (folders []string) {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		folders = append(folders, dir)
	}
	return folders
}

// removeEmpty removes the folders that have nothing in them.
func removeEmpty(folders []string) {
	for _, f := range folders {
		_ = os.Remove(f) // which fails if something is in it
	}
}

// workPrefix begins the name of the folder in which a plugin is prepared.
const workPrefix = ".installing-"

// removeLeftovers removes what runs that were killed have left behind.
func removeLeftovers(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), workPrefix) &&
			time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name())) // it takes room, no more
		}
	}
}

// ErrNoSource is the last of the errors of [Install] where no source has the plugin. The file that
// it speaks of is [InstallOptions.From].
var ErrNoSource = errors.New("without a network: fetch the wheel of " + Wheel +
	" elsewhere and install it from that file")

// ErrFolder is the end of an error of [Install] about the folder, [InstallOptions.Dir].
var ErrFolder = errors.New("name another folder")

// source is one way to get a plugin into a folder. It returns the plugin's path there.
type source func(ctx context.Context, opts InstallOptions, work string) (Installed, error)

// fetch gets a plugin from the first source that has it.
func fetch(ctx context.Context, opts InstallOptions, work string) (Installed, error) {
	if opts.From != "" {
		return fromUser(ctx, opts, work)
	}
	sources := []struct {
		name string
		get  source
	}{{SourceGoXLA, fromGoXLA}, {SourceWheel, fromWheel}}
	var failures []error
	for _, s := range sources {
		if opts.Source != "" && opts.Source != s.name {
			continue
		}
		got, err := s.get(ctx, opts, work)
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return Installed{}, fmt.Errorf("plugin: %w", ctx.Err())
		}
		failures = append(failures, fmt.Errorf("plugin: source %s: %w", s.name, err))
	}
	if failures == nil {
		return Installed{}, fmt.Errorf("plugin: source %q is unknown; known are %s, %s",
			opts.Source, SourceGoXLA, SourceWheel)
	}
	failures = append(failures, ErrNoSource)
	return Installed{}, errors.Join(failures...)
}

// finish checks the plugin and puts it in its place.
func finish(ctx context.Context, got Installed, dir string) (Installed, error) {
	if err := Check(got.Path); err != nil {
		return Installed{}, err
	}
	sum, size, err := hashFile(got.Path)
	if err != nil {
		return Installed{}, err
	}
	got.SHA256, got.Bytes = sum, size
	if err := ctx.Err(); err != nil {
		return Installed{}, fmt.Errorf("plugin: %w", err)
	}
	prepared := got.Path
	got.Path = filepath.Join(dir, File)
	record, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		return Installed{}, fmt.Errorf("plugin: %w", err)
	}
	preparedRecord := filepath.Join(filepath.Dir(prepared), recordFile)
	err = os.WriteFile(preparedRecord, append(record, '\n'), 0o644) //nolint:gosec // not secret
	if err != nil {
		return Installed{}, fmt.Errorf("plugin: %w", err)
	}
	if err := errors.Join(settle(prepared), os.Rename(prepared, got.Path),
		os.Rename(preparedRecord, filepath.Join(dir, recordFile))); err != nil {
		return Installed{}, fmt.Errorf("plugin: %w", err)
	}
	return got, nil
}

// settle sets a file's permissions and waits until it is on the disk.
func settle(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Chmod(0o755) //nolint:gosec // other users may run the plugin
	return errors.Join(err, f.Sync(), f.Close())
}

func hashFile(path string) (sum string, size int64, err error) {
	f, _, err := atomicfile.OpenRegular(path)
	if err != nil {
		return "", 0, fmt.Errorf("plugin: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("plugin: %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// Record returns what is known of the plugin at a path: what was said when it was installed, if it
// is still that file. Another file has its hash and size, and a Source if it is the known one.
func Record(path string) (Installed, error) {
	sum, size, err := hashFile(path)
	if err != nil {
		return Installed{}, err
	}
	now := Installed{Path: path, SHA256: sum, Bytes: size}
	if sum == PluginSHA256 {
		now.Source, now.Version, now.Checked = SourceWheel, Wheel, true
	}
	file := filepath.Join(filepath.Dir(path), recordFile)
	data, err := atomicfile.ReadRegular(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	var then Installed
	if err == nil {
		err = json.Unmarshal(data, &then)
	}
	if err != nil {
		return now, &Error{
			Reason: fmt.Sprintf("the record %s: %v", file, atomicfile.Cause(err)), Err: err,
		}
	}
	if filepath.Base(then.Path) != filepath.Base(path) {
		return now, nil
	}
	if then.SHA256 != sum {
		return now, &Error{Reason: fmt.Sprintf(
			"%s has changed since it was installed: its "+
				"SHA-256 is %s, was %s", path, sum, then.SHA256)}
	}
	then.Path = path
	return then, nil
}

// maxRecord is the largest record in bytes: two paths of the system's longest fit.
const maxRecord = 16 << 10

// allowed reports whether a hash is the one asked for, or a known one.
func allowed(sum string, opts InstallOptions) bool {
	if opts.SHA256 != "" {
		return strings.EqualFold(sum, opts.SHA256)
	}
	return slices.Contains([]string{WheelSHA256, PluginSHA256}, sum)
}

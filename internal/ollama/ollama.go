// Package ollama finds the GGUF file of a model in the store of Ollama on this machine.
//
//	store, err := ollama.FromEnvironment()
//	if err != nil {
//		return err
//	}
//	path, err := store.Find("ollama:llama3.2:1b")
//
// The package reads the store and writes nothing. It needs neither the network nor a running
// Ollama. Only the weights are used: the prompt template, the parameters, the system prompt and
// the licence that Ollama keeps beside them are not read, because a GGUF file has its own chat
// template. A model with an adapter is refused, because its numbers would be those of the model
// without it.
//
// # Layout of a store
//
//	manifests/HOST/NAMESPACE/NAME/TAG   JSON that lists the layers of a model
//	blobs/sha256-DIGEST                 a layer
package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("ollama")

// Prefix begins the reference of a model in the store of Ollama, as in ollama:llama3.2:1b.
const Prefix = "ollama:"

// The parts of a name that is short. The host is the name of a folder below manifests.
const (
	defaultHost      = "registry.ollama.ai"
	defaultNamespace = "library"
	defaultTag       = "latest"
)

const (
	maxManifest = 1 << 20 // bytes; real ones have about 1,000
	maxListed   = 10      // names in an error
	maxEntries  = 1000    // entries of each folder that are read for an error
)

// The kinds of layers that matter here.
const (
	modelLayer   = "application/vnd.ollama.image.model"
	adapterLayer = "application/vnd.ollama.image.adapter"
)

// Name is the full name of a model in a store.
type Name struct {
	// Host, Namespace, Model and Tag are registry.ollama.ai, library, llama3.2 and 1b for
	// llama3.2:1b.
	Host, Namespace, Model, Tag string
}

var (
	namePart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	hostPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,249}(:[0-9]{1,5})?$`)
	digest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ParseName reads NAME, NAME:TAG, NAMESPACE/NAME:TAG or HOST/NAMESPACE/NAME:TAG, with or without
// [Prefix]. It returns an error if a part is missing or has characters that no part of a name has,
// so that no name leads out of the store.
func ParseName(s string) (Name, error) {
	text := strings.TrimPrefix(s, Prefix)
	n := Name{Host: defaultHost, Namespace: defaultNamespace, Tag: defaultTag}
	parts := strings.Split(text, "/")
	last := parts[len(parts)-1]
	var tagged bool
	if n.Model, n.Tag, tagged = strings.Cut(last, ":"); !tagged {
		n.Tag = defaultTag
	}
	switch len(parts) {
	case 1:
	case 2:
		n.Namespace = parts[0]
	case 3:
		n.Host, n.Namespace = parts[0], parts[1]
	default:
		return Name{}, malformed(text, "it has more than three parts")
	}
	if !hostPart.MatchString(n.Host) || strings.Contains(n.Host, "..") {
		return Name{}, malformed(text, "host "+message.Quote(n.Host))
	}
	for _, part := range []struct{ what, text string }{
		{"namespace", n.Namespace}, {"name", n.Model}, {"tag", n.Tag},
	} {
		if !namePart.MatchString(part.text) || strings.Contains(part.text, "..") {
			return Name{}, malformed(text, part.what+" "+message.Quote(part.text))
		}
	}
	return n, nil
}

// malformed returns the error for a text that is not a name.
func malformed(text, why string) error {
	return pkg.Errorf("%s is not the name of a model: %s; want NAME, NAME:TAG, "+
		"NAMESPACE/NAME:TAG or HOST/NAMESPACE/NAME:TAG, each of letters, "+
		"digits, - _ . (but not ..)", message.Quote(text), why)
}

// String returns the shortest text that [ParseName] reads as this name, with its tag.
func (n Name) String() string {
	s := n.Model + ":" + n.Tag
	switch {
	case n.Host != defaultHost:
		return n.Host + "/" + n.Namespace + "/" + s
	case n.Namespace != defaultNamespace:
		return n.Namespace + "/" + s
	}
	return s
}

// Store is where models are looked for.
type Store struct {
	// Folders are searched in this order. Each has the folders manifests and blobs.
	Folders []string
}

// systemFolder is the store of Ollama where it runs as a service of Linux, with a user of its own.
const systemFolder = "/usr/share/ollama/.ollama/models"

// FromEnvironment returns the store of OLLAMA_MODELS if that is set. Otherwise it returns
// ~/.ollama/models and, on Linux, the store of Ollama's service.
func FromEnvironment() (Store, error) {
	if folder := os.Getenv("OLLAMA_MODELS"); folder != "" {
		return Store{Folders: []string{folder}}, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Store{}, pkg.Errorf("there is no home folder: set OLLAMA_MODELS to the "+
			"folder of Ollama's models: %w", err)
	}
	s := Store{Folders: []string{filepath.Join(home, ".ollama", "models")}}
	if runtime.GOOS == "linux" {
		s.Folders = append(s.Folders, systemFolder)
	}
	return s, nil
}

// Find returns the path of the GGUF file of a model, for a name as [ParseName] reads it.
//
// If there is no such model, the error wraps [fs.ErrNotExist] and lists some that there are. If a
// manifest is broken, or the file that it names is missing or has another size than it says, the
// error names the manifest, the digest and the path.
func (s Store) Find(name string) (string, error) {
	n, err := ParseName(name)
	if err != nil {
		return "", err
	}
	for _, folder := range s.Folders {
		manifest := n.manifest(folder)
		text, err := atomicfile.ReadRegular(manifest, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err = atomicfile.Cause(err); err == nil {
			var path string
			if path, err = weights(folder, text); err == nil {
				return path, nil
			}
		}
		return "", pkg.Errorf("%s: manifest %s: %w", n, manifest, err)
	}
	return "", s.unknown(n)
}

// Sum returns the SHA-256, in hexadecimal, that the file at a path of [Store.Find] has according to
// its name. Find does not read the file.
func Sum(path string) string { return strings.TrimPrefix(filepath.Base(path), "sha256-") }

// manifest returns the path of the manifest of a model in a store.
func (n Name) manifest(folder string) string {
	return filepath.Join(folder, "manifests", n.Host, n.Namespace, n.Model, n.Tag)
}

// layer is one file of a model.
type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// weights returns the path of the weights that the text of a manifest names.
func weights(folder string, text []byte) (string, error) {
	var manifest struct {
		Layers []layer `json:"layers"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return "", fmt.Errorf("it is not JSON as Ollama writes it: %s", message.NotJSON(err))
	}
	var found []layer
	var kinds []string
	for _, l := range manifest.Layers {
		switch l.MediaType {
		case modelLayer:
			found = append(found, l)
		case adapterLayer:
			return "", errors.New("the model has an adapter, which is not supported: its numbers " +
				"would be those of the model without the adapter")
		}
		if kind := message.Quote(l.MediaType); !slices.Contains(kinds, kind) &&
			len(kinds) < maxListed {
			kinds = append(kinds, kind)
		}
	}
	if len(found) != 1 {
		slices.Sort(kinds)
		return "", fmt.Errorf("it has %d layers of the type %s, want 1; its types are [%s]",
			len(found), modelLayer, strings.Join(kinds, ", "))
	}
	return found[0].path(folder)
}

// path returns the path of the file of a layer, after it has compared its size.
func (l layer) path(folder string) (string, error) {
	if !digest.MatchString(l.Digest) {
		return "", fmt.Errorf("the digest of the model is %s, want sha256: and 64 hexadecimal "+
			"digits", message.Quote(l.Digest))
	}
	path := filepath.Join(folder, "blobs", strings.Replace(l.Digest, ":", "-", 1))
	const again = "; ollama pull downloads it again"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file of %s is missing: %w%s", l.Digest, err, again)
	case err != nil:
		return "", fmt.Errorf("the file of %s cannot be read: %w", l.Digest, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s of %s is not a regular file", path, l.Digest)
	case info.Size() != l.Size:
		return "", fmt.Errorf("the file of %s has another size than the manifest says: %s has %d "+
			"bytes, want %d%s", l.Digest, path, info.Size(), l.Size, again)
	}
	return path, nil
}

// notFound is the error for a model that no store has. It wraps [fs.ErrNotExist].
type notFound string

func (e notFound) Error() string { return string(e) }
func (e notFound) Unwrap() error { return fs.ErrNotExist }

// unknown returns the error for a model that no store has.
func (s Store) unknown(n Name) error {
	looked := strings.Join(s.Folders, " and ")
	names := s.Names()
	if len(names) == 0 {
		return notFound(fmt.Sprintf("ollama: %s is not in the store of Ollama; ollama pull %[1]s "+
			"downloads it (there are no models in %s; OLLAMA_MODELS names another folder)", n,
			looked))
	}
	return notFound(fmt.Sprintf("ollama: %s is not in the store of Ollama; %sollama pull %[1]s "+
		"downloads it (in %[3]s there are %s)", n, message.DidYouMean(n.String(), names), looked,
		message.Some(names, maxListed)))
}

// Names returns the models in the store, sorted, each with its tag. Folders that cannot be read
// count as empty, and of each folder the first 1,000 entries are read.
func (s Store) Names() []string {
	var names []string
	for _, folder := range s.Folders {
		root := filepath.Join(folder, "manifests")
		for _, parts := range paths(root, 4) {
			if n, err := ParseName(fmt.Sprintf("%s/%s/%s:%s", parts[0], parts[1], parts[2],
				parts[3])); err == nil && len(names) < maxEntries {
				names = append(names, n.String())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// paths returns the paths of files exactly depth levels below a folder, each as its parts.
func paths(folder string, depth int) [][]string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	// An error means that there are fewer entries than asked for.
	entries, _ := f.ReadDir(maxEntries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(a.Name(), b.Name())
	})
	var found [][]string
	for _, e := range entries {
		if depth == 1 {
			if !e.IsDir() {
				found = append(found, []string{e.Name()})
			}
			continue
		}
		for _, rest := range paths(filepath.Join(folder, e.Name()), depth-1) {
			found = append(found, append([]string{e.Name()}, rest...))
		}
		if len(found) >= maxEntries {
			break
		}
	}
	return found
}

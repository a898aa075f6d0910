package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// ManifestName is the name of the manifest in the folder or bucket of a corpus.
const ManifestName = "manifest.json"

// Form is the version of the manifest and of the columns of a shard.
const Form = 1

// Manifest is what a corpus is made of: model, options, input and shards. It is written once, by a
// plan, and every worker reads it. All fields that decide the bytes of a shard are in its hash.
type Manifest struct {
	// Form is [Form]. Version is that of the program; another version may compute other numbers.
	Form    int    `json:"form"`
	Version string `json:"version"`
	// Model is what explains the records, and Options how. The options have no continuation and no
	// positions: records have them.
	Model   Model               `json:"model"`
	Options attribution.Options `json:"options"`
	// Methods are the methods in the order of their columns.
	Methods []Method `json:"methods"`
	// Input is where the records come from.
	Input Input `json:"input"`
	// Shards has what each shard contains, [number of shards].
	Shards []Contents `json:"shards"`
	// Tasks is the number of tasks among which a scheduler divides the shards: task t of T makes
	// the shards s with s mod T = t. It is not part of the hash.
	Tasks int `json:"tasks"`
	// Hash is the hexadecimal SHA-256 of the manifest without Tasks, Model.Name and Input.Place.
	Hash string `json:"hash"`
}

// Model is a model as a manifest names it.
type Model struct {
	// Name is what the user called it; another machine may know it by another name.
	Name string `json:"name"`
	// Hash is the hexadecimal SHA-256 of configuration and weights.
	Hash    string `json:"hash"`
	Family  string `json:"family"`
	Backend string `json:"backend"`
	// DType is the type of the weights in memory, "" for the default.
	DType string `json:"dtype,omitempty"`
}

// Method is a method of a manifest: its name, the ending of its columns and the unit of its values,
// which is empty if the input has no record that can be explained.
type Method struct {
	Name   string `json:"name"`
	Column string `json:"column"`
	Unit   string `json:"unit"`
}

// Input is where records come from.
type Input struct {
	// Place is the file, folder or bucket that the user named.
	Place string `json:"place"`
	// Format is jsonl, parquet or text; in a folder the files have it by their names.
	Format string `json:"format"`
	// Files are the files in the order of their names.
	Files []InputFile `json:"files"`
	// Records counts all records, those that have no id or text included.
	Records int64 `json:"records"`
}

// InputFile is one file of an input.
type InputFile struct {
	// Name is relative to the input, with slashes.
	Name    string `json:"name"`
	Format  string `json:"format"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Records int64  `json:"records"`
}

// Contents is what a shard must contain.
type Contents struct {
	// Records is the number of rows. IDs is the hexadecimal SHA-256 of file, record and id of each
	// row, in order.
	Records int64  `json:"records"`
	IDs     string `json:"ids"`
}

// MethodNames returns the names of the methods in their order.
func (m *Manifest) MethodNames() []string {
	names := make([]string, len(m.Methods))
	for i, method := range m.Methods {
		names[i] = method.Name
	}
	return names
}

// digest returns the hash that [Manifest.Hash] must be.
func (m *Manifest) digest() (string, error) {
	part := *m
	part.Hash, part.Tasks, part.Model.Name, part.Input.Place = "", 0, "", ""
	text, err := json.Marshal(part)
	if err != nil {
		return "", pkg.Errorf("the manifest cannot be written: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// JSON returns the manifest as a file: indented JSON with a line break at the end.
func (m *Manifest) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(m); err != nil {
		return nil, pkg.Errorf("the manifest cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// isManifest is whether a file is a manifest, of this version of the program or another.
func isManifest(text []byte) bool {
	var m struct {
		Form int    `json:"form"`
		Hash string `json:"hash"`
	}
	return json.Unmarshal(text, &m) == nil && m.Form > 0 && len(m.Hash) == 2*sha256.Size
}

// ParseManifest reads a manifest. Unknown keys, another form and a hash that is not that of the
// contents are errors.
func ParseManifest(text []byte) (*Manifest, error) {
	var form struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal(text, &form); err != nil && !json.Valid(text) {
		return nil, fmt.Errorf("it is not valid JSON: %s; make the plan again in an empty folder",
			message.NotJSON(err))
	} else if err != nil {
		return nil, errors.New(`it is no object whose "form" is a whole number; make the plan ` +
			"again in an empty folder")
	}
	if form.Form != Form {
		return nil, fmt.Errorf("it has form %d; this program reads form %d; use the version that "+
			"made the plan", form.Form, Form)
	}
	var m Manifest
	if err := jsonread.Into(text, &m); err != nil {
		return nil, fmt.Errorf("it cannot be read: %.200s; make the plan again in an empty folder",
			message.NotJSON(err))
	}
	hash, err := m.digest()
	switch {
	case err != nil:
		return nil, err
	case hash != m.Hash:
		return nil, fmt.Errorf("it has been changed: its hash is %.12s…, that of its contents "+
			"%.12s…; make the plan again in an empty folder", m.Hash, hash)
	case len(m.Shards) == 0 || m.Tasks < 1 || max(len(m.Shards), m.Tasks) > MaxShards:
		return nil, fmt.Errorf("it has %s and %s; want 1 to %d of each",
			message.Count(len(m.Shards), "shard"), message.Count(m.Tasks, "task"), MaxShards)
	}
	return &m, nil
}

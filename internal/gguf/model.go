package gguf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// Model is a GGUF file read as a model. The fields must not be modified. A Model is safe for
// concurrent use.
type Model struct {
	// File is the open file.
	File *File
	// Config has the settings under the keys of config.json of Hugging Face, with numbers as
	// json.Number.
	Config map[string]any
	// Weights is the weights as they were before the conversion to GGUF, under the names of the
	// file.
	Weights *Weights

	settings *settings
	words    *words // nil if the file has no tokenizer
}

// Open opens a GGUF file, or the first part of a split one, as a model. It returns an error if the
// file is missing, truncated or malformed, if its architecture is unknown, if a key of the metadata
// is missing or of another type, or if a key may change the arithmetic in a way that is not
// supported. The caller must close the result.
func Open(path string) (*Model, error) { return OpenAs(path, "") }

// OpenAs is [Open] for a file that does not say, or says wrongly, how its byte-level tokenizer cuts
// a text: pre is one of the values of tokenizer.ggml.pre, "" for what the file says. The error
// lists the known names.
func OpenAs(path, pre string) (*Model, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	m, err := newModel(f, pre)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// NewModel reads an open file as a model. Its errors are those of [Open].
func NewModel(f *File) (*Model, error) { return newModel(f, "") }

func newModel(f *File, pre string) (*Model, error) {
	name, arch, err := f.architecture()
	if err != nil {
		return nil, err
	}
	s := &settings{
		file: f, arch: name, form: arch, read: map[string]bool{}, config: map[string]any{},
		origin: map[string]string{}, tensors: arch.tensors, stands: map[string]Value{},
	}
	s.config["architectures"], s.config["model_type"] = []any{arch.class}, arch.model
	arch.settings(s)
	s.vocabulary()
	s.unread()
	if s.err == nil {
		s.err = s.unknownTensors()
	}
	if s.err != nil {
		return nil, s.err
	}
	m := &Model{File: f, Config: s.config, settings: s}
	if m.words, err = readWords(f, pre); err != nil {
		return nil, err
	}
	if m.words != nil && s.apart != nil {
		m.words.cut(int(s.configInt("vocab_size")))
	}
	m.ids()
	m.Weights, err = newWeights(f, arch, s)
	return m, err
}

// maxTitle is the longest title that is taken, in bytes: longer ones are no names.
const maxTitle = 200

// Title returns what general.name says, "" if there is none or it is longer than 200 bytes. After
// [Model.ForgetTokenizer] there is none.
func (m *Model) Title() string {
	if title, _ := m.File.metadata["general.name"].Text(); len(title) <= maxTitle {
		return title
	}
	return ""
}

// architecture returns what general.architecture says.
func (f *File) architecture() (string, architecture, error) {
	const key = "general.architecture"
	supported := "supported are " + strings.Join(Architectures(), ", ")
	v, ok := f.metadata[key]
	if !ok {
		return "", architecture{}, f.fail("key %s is missing; %s", key, supported)
	}
	name, ok := v.Text()
	arch, known := architectures[name]
	if !ok || !known {
		return "", architecture{}, f.fail("%s %v is not supported; %s", key, v, supported)
	}
	if v, ok := f.metadata["general.type"]; ok {
		if kind, isText := v.Text(); !isText || kind != "model" {
			return "", architecture{}, f.fail("general.type is %v; it must be \"model\": an "+
				"adapter or a projector is no model of its own", v)
		}
	}
	return name, arch, nil
}

// vocabulary sets the size of the vocabulary and whether the head is tied to the embedding: a file
// with a tied head has no tensor for it.
func (s *settings) vocabulary() {
	const embedding, head = "token_embd.weight", "output.weight"
	s.countRows("vocab_size", embedding)
	s.sizeIfAny("vocab_size", "vocab_size")
	if s.form.headless {
		return
	}
	s.config["tie_word_embeddings"] = !s.file.Has(head)
}

// buffers are tensors that are no weights here.
var buffers = []string{ropeFactors, shortFactors, longFactors, unusedBias}

// unknownTensors returns an error if a tensor is in no table: a weight that the graph does not know
// would change the numbers. It also returns one if the type of a tensor cannot be converted, before
// anything of a large file is read.
func (s *settings) unknownTensors() error {
	for _, name := range s.file.Names() {
		known := s.isApart(name) || slices.Contains(buffers, name)
		parts := strings.Split(name, ".")
		for i, part := range parts { // of a layer, or of an expert
			if n, err := strconv.Atoi(part); err == nil && strconv.Itoa(n) == part {
				parts[i] = "%d"
			}
		}
		generic := strings.Join(parts, ".")
		if !known && !slices.ContainsFunc(s.tensors, func(r row) bool {
			return strings.TrimSuffix(r.tensor, "[%d]") == generic || r.tensor == name
		}) {
			return s.file.fail("tensor %s has no place in the architecture %s: it would be "+
				"ignored, and may change the numbers", quoted(name), s.arch)
		}
		if err := s.file.checkType(name, s.file.tensors[name]); err != nil && !s.isApart(name) {
			return err
		}
	}
	return nil
}

// ids sets the ids that begin and end a text. A null says that there is none, so that no default
// counts.
func (m *Model) ids() {
	m.Config["bos_token_id"], m.Config["eos_token_id"] = nil, nil
	if m.words == nil {
		return
	}
	if id := m.words.role["bos_token"]; id != nil {
		m.Config["bos_token_id"] = json.Number(strconv.Itoa(*id))
	}
	if id := m.words.role["pad_token"]; id != nil {
		m.Config["pad_token_id"] = json.Number(strconv.Itoa(*id))
	}
	var ends []any
	for _, id := range m.words.ends() {
		ends = append(ends, json.Number(strconv.Itoa(id)))
	}
	switch len(ends) {
	case 0:
	case 1:
		m.Config["eos_token_id"] = ends[0]
	default:
		m.Config["eos_token_id"] = ends
	}
}

// Read returns the family of the model, with the tensors of the file in place of those of Hugging
// Face, and its spec. Its errors name the keys of the metadata.
func (m *Model) Read() (*family.Family, *spec.Spec, error) {
	known, s, err := family.Read(family.NewConfig(m.File.name, m.Config))
	if err != nil {
		return nil, nil, m.Explain(err)
	}
	s.Remarks = append(s.Remarks, m.settings.remarks...)
	f := *known
	f.Weights, f.Prefixes, f.Unused = nil, []string{""}, nil
	for _, r := range m.settings.tensors {
		f.Weights = append(f.Weights, family.Weight{
			Param: r.param, Tensor: r.tensor, Layout: r.layout,
		})
	}
	f.Buffers = buffers
	if m.words != nil {
		s.Remarks = append(s.Remarks, m.words.remarks...)
	}
	return &f, s, nil
}

// Explain adds to an error of package family, which names keys of config.json, the keys of the
// metadata that they come from.
func (m *Model) Explain(err error) error { return m.settings.explain(err) }

// Hash returns what identifies the model, as 64 hexadecimal digits: the SHA-256 of the SHA-256 sums
// of all files, 32 bytes each, in the order of their numbers. It reads all files once, and the
// error wraps ctx.Err() if ctx ends that.
func (m *Model) Hash(ctx context.Context) (string, error) {
	var sums []byte
	for _, p := range m.File.parts {
		h := sha256.New()
		err := p.raw.Each(0, p.raw.Size(), 1<<20, func(b []byte) error {
			h.Write(b) // a hash never returns an error
			return ctx.Err()
		})
		if err != nil {
			return "", pkg.Errorf("%s: %w", p.raw.Name(), err)
		}
		sums = h.Sum(sums)
	}
	all := sha256.Sum256(sums)
	return hex.EncodeToString(all[:]), nil
}

// Close closes the file.
func (m *Model) Close() error { return m.File.Close() }

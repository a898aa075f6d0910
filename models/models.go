// Package models opens transformers and runs them: what a program calls.
//
//	m, err := models.Open("tiny", models.Options{})
//	e, err := attribution.Explain(ctx, m, "the keys to the cabinet", attribution.Options{})
//
// A model is a directory in the layout of Hugging Face (config.json, model.safetensors, tokenizer.json) or the embedded one,
// "tiny". It computes in pure Go; importing github.com/headwater-ml/headwater/models/xla for its side effect adds XLA, which is
// then used where a plugin is found.
//
// The package never draws and never asks the network.
package models

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/tiny"
	"github.com/headwater-ml/headwater/models/tokenizer"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Default is the name of the model that [Open] takes for the empty reference: the embedded toy grammar model.
const Default = "tiny"

// Options says how to open a model. The zero value is the default of every field.
type Options struct {
	// Backend is what computes: go, xla, xla:PATH of a PJRT plugin. Empty is go for an embedded model, which answers before
	// XLA has started and looks the same on every machine; for others xla if it is linked and a plugin is found, else go.
	Backend string
}

// Model is an open model. It satisfies attribution.Model, attribution.Tracer and attribution.Limited, and is safe for
// concurrent use.
type Model struct {
	info      trace.Info
	spec      *transformer.Spec
	graph     *transformer.Model
	tokenizer *tokenizer.Tokenizer // nil if the directory has none
	stop      map[int]bool
	grammar   bool // whether it knows the words of the toy grammar only
}

// Builtin are the names of the embedded models.
func Builtin() []string { return []string{tiny.Name} }

// Open opens a model: an embedded one by name, or a directory. It returns an error that names the file, key or tensor that is
// wrong. The weights are copied to the backend, so no file stays open.
func Open(ref string, opts Options) (*Model, error) {
	if ref == "" || ref == tiny.Name {
		dir, err := checkpoint.FromFS(tiny.Files(), tiny.Name)
		if err != nil {
			return nil, err
		}
		if opts.Backend == "" {
			opts.Backend = "go"
		}
		m, err := open(dir, opts)
		if err != nil {
			return nil, err
		}
		m.info.Note, m.grammar = tiny.Note, true
		return m, nil
	}
	if _, err := os.Stat(ref); err != nil {
		if os.IsNotExist(err) {
			return nil, fmt.Errorf("models: %s is neither a directory nor an embedded model (%s): %w", ref, tiny.Name, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("models: %w", err)
	}
	dir, err := checkpoint.OpenDir(ref)
	if err != nil {
		return nil, err
	}
	return open(dir, opts)
}

// open builds the model of a directory and closes it.
func open(dir *checkpoint.Dir, opts Options) (_ *Model, err error) {
	defer func() {
		if e := dir.Close(); err == nil && e != nil {
			err = fmt.Errorf("models: %w", e)
		}
	}()
	f, spec, err := family.Read(family.NewConfig(dir.Name+"/config.json", dir.Config))
	if err != nil {
		return nil, err
	}
	load, err := f.Loader(dir.Weights.Name(), dir.Weights, spec)
	if err != nil {
		return nil, err
	}
	m := &Model{spec: spec, stop: map[int]bool{}}
	if m.tokenizer, err = openTokenizer(dir, spec); err != nil {
		return nil, err
	}
	eos, err := dir.EOS()
	if err != nil {
		return nil, err
	}
	for _, id := range append(eos, spec.EOS...) {
		m.stop[id] = true
	}
	hash, err := dir.Hash()
	if err != nil {
		return nil, err
	}
	backend, err := OpenBackend(opts.Backend)
	if err != nil {
		return nil, err
	}
	if m.graph, err = transformer.New(backend, spec, dtypes.Float32, load); err != nil {
		return nil, err
	}
	m.info = trace.Info{
		Name: dir.Name, Hash: hash, Family: spec.Family, Backend: m.graph.Backend(),
		Layers: spec.Layers, Heads: spec.Heads, Width: spec.Width, Vocab: spec.Vocab, Context: spec.Context,
	}
	return m, nil
}

// openTokenizer reads the directory's tokenizer.json, nil if there is none: ids can be run without it.
func openTokenizer(dir *checkpoint.Dir, spec *transformer.Spec) (*tokenizer.Tokenizer, error) {
	if !dir.HasTokenizer() {
		return nil, nil
	}
	data, err := dir.TokenizerJSON()
	if err != nil {
		return nil, err
	}
	t, err := tokenizer.Parse(data, dir.Name+"/tokenizer.json")
	if err != nil {
		return nil, err
	}
	if t.VocabSize() > spec.Vocab {
		return nil, fmt.Errorf("models: %s: tokenizer.json has %d tokens, the embedding has %d", dir.Name, t.VocabSize(), spec.Vocab)
	}
	return t, nil
}

// Info describes the model.
func (m *Model) Info() trace.Info { return m.info }

// Package models opens transformers and runs them: what a program calls.
//
//	m, err := models.Open("tiny", models.Options{})
//	e, err := attribution.Explain(ctx, m, "the keys to the cabinet", attribution.Options{})
//
// A model is an embedded one ("tiny", or a circuit of package planted), a directory in the layout
// of Hugging Face (config.json, model.safetensors, tokenizer.json), or a name of the Hub such as
// openai-community/gpt2@main, which is looked up in the user's cache and downloaded if it is not
// complete there. It computes in pure Go; importing github.com/headwater-ml/headwater/models/xla
// for its side effect adds XLA, which is then used where a plugin is found.
//
// The package never draws, and asks the network for nothing but a model that is named and not
// there.
package models

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/chat"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/planted"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/tiny"
	"github.com/headwater-ml/headwater/models/tokenizer"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Default is the name of the model that [Open] takes for the empty reference: the embedded toy
// grammar model.
const Default = "tiny"

// Model is an open model. It satisfies trace.Model, trace.Tracer, trace.Limited,
// trace.Conversational, trace.Predictor, trace.Differentiable and
// trace.Replacer, and is safe for concurrent use.
type Model struct {
	info      trace.Info
	spec      *spec.Spec
	graph     *transformer.Model
	tokenizer *tokenizer.Tokenizer // nil with textErr, which says why
	textErr   error
	stop      map[int]bool
	mask      int            // the id that stands for a missing token; -1: none
	standIns  map[string]int // by kind; see Replacement
	chat      *chat.Template // nil with chatErr, which says why
	chatErr   error
	limit     Limit
	ownBytes  int64
	allowNaN  bool           // whether numbers may be NaN or infinite
	nonFinite []*WeightError // with allowNaN
	grammar   bool           // whether it knows the words of the toy grammar only
}

// Builtin are the names of the embedded models: the one that was trained, and circuits with weights
// set by hand.
func Builtin() []string { return append([]string{tiny.Name}, planted.Names()...) }

// Open is [OpenContext] without a way to stop it.
func Open(ref string, opts Options) (*Model, error) {
	return OpenContext(context.Background(), ref, opts)
}

// OpenContext opens a model: an embedded one by name, a directory, or a name of the Hub. It returns
// an error that names the file, key or tensor that is wrong, within a [*CacheError] if the model is
// in the cache of the Hub, a [*MemoryError] if the weights would not fit, and one that wraps
// ctx.Err() if ctx ends a download. The weights are copied to the backend, so no file stays open.
func OpenContext(ctx context.Context, ref string, opts Options) (*Model, error) {
	if ref == "" || ref == tiny.Name {
		return openEmbedded(tiny.Files(), tiny.Name, tiny.Note, opts)
	}
	if circuit, err := planted.Lookup(ref); err == nil {
		return openEmbedded(circuit.Files(), ref, planted.Note, opts)
	}
	path, err := find(ctx, ref, opts)
	if err != nil {
		return nil, err
	}
	m, err := openDir(path, ref, opts)
	if err != nil && path != ref && trace.KindOf(err) == trace.NoKind {
		return nil, &CacheError{Ref: ref, Dir: path, Err: err}
	}
	return m, err
}

// openDir opens the directory at path, which the user calls name.
func openDir(path, name string, opts Options) (*Model, error) {
	dir, err := checkpoint.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return open(dir, name, opts)
}

// openEmbedded opens a model that is part of the program. It runs in pure Go unless opts name a
// backend: it has answered before another backend has started.
func openEmbedded(files fs.FS, name, note string, opts Options) (*Model, error) {
	dir, err := checkpoint.FromFS(files, name)
	if err != nil {
		return nil, err
	}
	if opts.Backend == "" {
		opts.Backend = "go"
	}
	m, err := open(dir, name, opts)
	if err != nil {
		return nil, err
	}
	m.info.Note, m.grammar = note, name == tiny.Name
	return m, nil
}

// open builds the model of a directory, which the user calls name, and closes it.
func open(dir *checkpoint.Dir, name string, opts Options) (_ *Model, err error) {
	defer func() {
		if e := dir.Close(); err == nil && e != nil {
			err = fmt.Errorf("models: %w", e)
		}
	}()
	dtype, err := opts.dtype()
	if err != nil {
		return nil, err
	}
	f, spec, err := family.Read(family.NewConfig(dir.Name+"/config.json", dir.Config))
	if err != nil {
		return nil, err
	}
	weights := &finiteWeights{File: dir.Weights, dtype: dtype, allow: opts.AllowNaN}
	load, err := f.Loader(dir.Weights.Name(), weights, spec)
	if err != nil {
		return nil, err
	}
	m := &Model{spec: spec}
	if err := m.openText(dir); err != nil {
		return nil, err
	}
	plugin, err := PluginPath(opts.Backend)
	if err != nil {
		return nil, err
	}
	m.limit = opts.limit(plugin != "", spec.Layers)
	// Now, because opening the backend takes memory too.
	if err := m.limit.checkWeights(name, spec, dtype); err != nil {
		return nil, err
	}
	hash, err := dir.Hash()
	if err != nil {
		return nil, err
	}
	if opts.Shuffle != 0 {
		load = shuffled(load, opts.Shuffle)
		hash = fmt.Sprintf("%s, shuffled by seed %d", hash, opts.Shuffle)
	}
	backend, err := OpenBackend(opts.Backend)
	if err != nil {
		return nil, err
	}
	if m.graph, err = transformer.New(backend, spec, dtype, load); err != nil {
		return nil, err
	}
	m.nonFinite, m.allowNaN = weights.found, opts.AllowNaN
	m.ownBytes = m.taken() - programBytes - opts.Beside
	m.limitPasses()
	m.info = trace.Info{
		Name: name, Hash: hash, Family: spec.Family, Backend: BackendName(backend),
		Head: m.head(), Bidirectional: spec.Bidirectional,
		Layers: spec.Layers, Heads: spec.Heads, Width: spec.Width, Vocab: spec.Vocab, Context: spec.Context,
	}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() trace.Info { return m.info }

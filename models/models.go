// Package models opens transformers and runs them.
//
//	m, err := models.Open("tiny", models.Options{})
//	e, err := attribution.Explain(ctx, m, "the keys to the cabinet", attribution.Options{})
//
// A reference to a model is one of these:
//   - an embedded model: one of package tiny, such as "tiny", or a circuit of package planted;
//   - a directory in the layout of Hugging Face (config.json, model.safetensors, tokenizer.json);
//   - a GGUF file (model.gguf, or the first part of a split one), whose weights are converted to
//     float32 or bfloat16 (package gguf);
//   - ollama:NAME:TAG, a model in the store of Ollama on this machine (package ollama);
//   - a name on the Hub such as openai-community/gpt2@main, which is looked up in the user's cache
//     and downloaded if the cache does not have all its files (package hub);
//   - a short name, smollm2, which means the only GGUF file in the folder smollm2 of
//     HEADWATER_MODELS, or else HuggingFaceTB/SmolLM2-135M-Instruct on the Hub.
//
// A [Model] implements [trace.Model] and all optional interfaces of package trace: it generates,
// records tensors, predicts, differentiates, splits logits, names classes and fills chat templates.
//
// Models run in pure Go. Importing github.com/headwater-ml/headwater/models/xla for its side effect
// adds XLA, which is then used if a plugin is found.
//
// The package never draws. It uses the network only to download a model that the caller named.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("models")

// Default is the name of the model that [Open] opens for an empty reference: the embedded model of
// a toy grammar.
const Default = "tiny"

// Model is an open model. It implements every interface of package trace for models, and is safe
// for concurrent use.
type Model struct {
	passes
	graph *transformer.Model // what passes calls

	info      trace.Info
	spec      *spec.Spec
	tokenizer *tokenizer.Tokenizer // nil if textErr says why there is none
	target    *tokenizer.Tokenizer // of the texts of targets; the same in most models
	first     []int                // ids that follow the one with which a target begins
	beams     beamRules
	textErr   error
	ends      map[int]bool            // the ids that end a text
	mask      int                     // the id of the mask token, or -1
	standIns  map[string]int          // by kind; see Replacement
	chats     map[string]chatTemplate // by name; none if chatErr says why
	chatErr   error
	memory    trace.Memory
	sizes     sizes
	allowNaN  bool           // whether results may be NaN or infinite
	nonFinite []*WeightError // found because of allowNaN
	largest   *WeightError   // the largest weight, if it is huge
	toy       *tiny.Model    // what is known of an embedded model that was trained, else nil
}

var (
	_ trace.Model          = (*Model)(nil)
	_ trace.Tracer         = (*Model)(nil)
	_ trace.Limited        = (*Model)(nil)
	_ trace.Classifier     = (*Model)(nil)
	_ trace.Conversational = (*Model)(nil)
	_ trace.LayerReader    = (*Model)(nil)
	_ trace.Editable       = (*Model)(nil)
	_ trace.Predictor      = (*Model)(nil)
	_ trace.Translator     = (*Model)(nil)

	_ trace.ContinuationPredictor = (*Model)(nil)
	_ trace.LogitReader           = (*Model)(nil)

	_ trace.Differentiable   = (*Model)(nil)
	_ trace.EdgePatcher      = (*Model)(nil)
	_ trace.Replacer         = (*Model)(nil)
	_ trace.TokenTexter      = (*Model)(nil)
	_ trace.LogitDecomposer  = (*Model)(nil)
	_ trace.VectorDecomposer = (*Model)(nil)
	_ trace.TextKeeper       = (*Model)(nil)
	_ trace.Budgeted         = (*Model)(nil)
)

// passes are the methods that a Model shares with its graph, [transformer.Model], which documents
// their shapes, costs and errors. It is an interface so that a Model has these methods of the
// graph and no others, and none of its fields.
type passes interface {
	// Predict returns the number that each query asks for.
	Predict(ctx context.Context, queries []trace.Query) ([]float64, error)
	// PredictIn is Predict with a choice of batches and a report of progress.
	PredictIn(ctx context.Context, queries []trace.Query, how transformer.Batching) (
		[]float64, error)
	// PredictContinuation returns how probable a continuation is after each of several prompts.
	PredictContinuation(ctx context.Context, prompts [][]int, continuation []int,
		done func(prompts int)) (*trace.Continuations, error)
	// ReadLogits calls use with the scores after each token of a text from position first on.
	ReadLogits(ctx context.Context, ids []int, edits []trace.Edit, first int,
		use func(position int, logits []float32) error) error
	// Embed returns the embeddings of ids, [T,W].
	Embed(ctx context.Context, ids []int) ([]float32, error)
	// Gradients returns what each query asks for and its gradient by a rule.
	Gradients(ctx context.Context, queries []trace.Query, rule trace.Backward) (
		[]trace.Gradient, error)
	// GradientsIn is Gradients with a choice of batches and a report of progress.
	GradientsIn(ctx context.Context, queries []trace.Query, rule trace.Backward,
		how transformer.Batching) ([]trace.Gradient, error)
	// EdgeGraph returns the nodes between which edges are patched.
	EdgeGraph() (trace.EdgeGraph, error)
	// PatchEdges records two runs whose edges are patched.
	PatchEdges(ctx context.Context, clean, corrupted []int, edits []trace.Edit,
		o trace.Objective) (trace.EdgeRuns, error)
	// LogitTerms returns the parts of the query's logit that its target's residual stream is made
	// of.
	LogitTerms(ctx context.Context, q trace.Query) (*trace.LogitTerms, error)
	// Decompose returns the part of the query's logit that comes from each token, [T], and the
	// rest.
	Decompose(ctx context.Context, q trace.Query) (parts []float64, rest float64, err error)
	// WithoutValue runs layer l on x, [T,D], with the value vector of one source set to zero.
	WithoutValue(ctx context.Context, l int, x []float32, source int) ([]float32, error)
	// Compiled returns how many graphs were compiled for the model, and how long that took.
	Compiled() (graphs int, took time.Duration)
}

// setGraph sets what the model runs on.
func (m *Model) setGraph(g *transformer.Model) { m.graph, m.passes = g, g }

// ForText implements [trace.TextKeeper]: the returned model keeps what Decompose computed of the
// text so far, at most 1 GiB.
func (m *Model) ForText() (trace.Model, func()) {
	view := *m
	graph, free := m.graph.ForText()
	view.setGraph(graph)
	return &view, free
}

// Builtin returns the names of the embedded models: first those that were trained, then the
// circuits whose weights were set by hand.
func Builtin() []string { return append(tiny.Names(), planted.Names()...) }

// Open opens a model as [OpenContext] does. It cannot be stopped.
func Open(ref string, opts Options) (*Model, error) {
	return OpenContext(context.Background(), ref, opts)
}

// OpenContext opens a model by a reference as the package comment lists them; "" is [Default]. The
// weights are copied to the backend, so no file stays open.
//
// If the files are wrong, the error names the file, key or tensor; if they were downloaded, it is a
// [*CacheError]. It is a [*trace.MemoryError] if the weights would not fit. It wraps ctx.Err() if
// ctx ended a download or the loading of the weights.
func OpenContext(ctx context.Context, ref string, opts Options) (*Model, error) {
	from, at, err := locate(ctx, ref, &opts)
	if err != nil {
		return nil, at.explain(ctx, err)
	}
	m, err := open(ctx, from, at, opts)
	if err != nil {
		return nil, at.explain(ctx, err)
	}
	if toy, ok := tiny.Lookup(at.name); ok {
		m.toy = &toy
	}
	return m, nil
}

// explain returns a [*CacheError] for an error of files that were downloaded.
func (at location) explain(ctx context.Context, err error) error {
	if ctx.Err() == nil && at.downloaded && errorkind.Of(err) == errorkind.None &&
		!errors.As(err, new(backendError)) {
		return &CacheError{Ref: at.name, Dir: at.path, Err: err}
	}
	return err
}

// locate opens what a reference names. An embedded model runs in pure Go unless opts name a
// backend, because such a model is done before another backend has started.
func locate(ctx context.Context, ref string, opts *Options) (from source, at location, err error) {
	embedded := func(files fs.FS, note string) (source, location, error) {
		if opts.PreTokenizer != "" {
			return nil, location{}, notGGUF(ref)
		}
		if opts.Backend == "" {
			opts.Backend = "go"
		}
		dir, err := checkpoint.FromFS(files, ref)
		return directory{dir}, location{name: ref, note: note}, err
	}
	if ref == "" {
		ref = Default
	}
	if toy, ok := tiny.Lookup(ref); ok {
		return embedded(toy.Files(), toy.Note)
	}
	if circuit, err := planted.Lookup(ref); err == nil {
		return embedded(circuit.Files(), planted.Note)
	}
	if at, err = find(ctx, ref, *opts); err != nil {
		return nil, location{}, err
	}
	at.name = ref
	from, err = openSource(at.path, opts.PreTokenizer)
	if err == nil && at.sum != "" {
		from = summed{from, at}
	}
	return from, at, err
}

// prepare reads the headers of a source, and says how its weights will be kept.
func prepare(from source, name string, opts Options) (*prepared, error) {
	if opts.MaxMemory < 0 {
		return nil, usagef("max memory %d; want a number of bytes, or 0 for nine tenths of what "+
			"the machine has left", opts.MaxMemory)
	}
	dtype, err := opts.dtype()
	if err != nil {
		return nil, err
	}
	f, spec, err := from.Read()
	if err != nil {
		return nil, err
	}
	weights := &finiteWeights{tensorFile: from.tensors(), dtype: dtype, allow: opts.AllowNaN}
	load, quantized, err := f.Loaders(weights.Name(), weights, spec)
	if err != nil {
		return nil, from.explain(err)
	}
	plugin, err := backends.PluginPath(opts.Backend)
	if err != nil {
		return nil, backendError{err}
	}
	if plugin == "" {
		quantized = transformer.OnHost(spec, quantized)
	}
	if dtype != dtypes.Float32 || opts.Shuffle != 0 || opts.FoldNormBias || opts.DropKeyBias {
		quantized = nil // these change numbers
	}
	p := &prepared{
		sizes: sizes{name: name, spec: spec, dtype: dtype, codes: quantized != nil},
		load:  load, quantized: quantized, weights: weights, backend: "go",
	}
	if plugin != "" {
		p.backend, _, _ = strings.Cut(cmp.Or(opts.Backend, "xla"), ":")
	}
	weights.halves = p.backend != "cuda" // where it was not measured
	p.count(quantized, p.backend, opts)
	return p, nil
}

// open builds the model of a source and closes the source.
func open(ctx context.Context, from source, where location, opts Options) (_ *Model, err error) {
	defer func() {
		if e := from.Close(); err == nil && e != nil {
			err = pkg.Errorf("%w", e)
		}
	}()
	p, err := prepare(from, where.name, opts)
	if err != nil {
		return nil, err
	}
	m := &Model{spec: p.spec, sizes: p.sizes}
	if err := m.openText(from); err != nil {
		return nil, err
	}
	title := from.Title()
	from.ForgetTokenizer()
	if m.tokenizer != nil && m.tokenizer.VocabSize() > largeVocabulary {
		debug.FreeOSMemory()
	}
	m.memory = opts.memory(p.parts)
	// This comes before the backend is opened, because that takes memory too.
	if err := p.check(m.memory); err != nil {
		return nil, err
	}
	if err := p.checkGPU(backends.GPUMemory(p.backend)); err != nil {
		return nil, err
	}
	at := newLoading(ctx, p.spec, opts.Loading)
	at.stage("checking the weights")
	hash, err := from.Hash(ctx)
	if err != nil {
		return nil, err
	}
	if opts.Shuffle != 0 {
		p.load = shuffled(p.load, opts.Shuffle)
		hash = fmt.Sprintf("%s, shuffled by seed %d", hash, opts.Shuffle)
	}
	if opts.PreTokenizer != "" {
		hash += ", texts cut as " + opts.PreTokenizer
	}
	if opts.FoldNormBias {
		if err := foldable(p.name, p.spec); err != nil {
			return nil, err
		}
		p.load = folded(p.load, p.spec)
		hash += ", bias of norms folded"
	}
	if opts.DropKeyBias {
		if err := keyBiasDroppable(p.name, p.spec); err != nil {
			return nil, err
		}
		p.load = withoutKeyBias(p.load)
		hash += ", without biases of keys"
	}
	if p.backend != "go" {
		at.stage("starting the backend")
	}
	backend, err := backends.Open(opts.Backend)
	if err != nil {
		return nil, backendError{err}
	}
	if p.backend == "go" { // while they load, garbage may be a tenth of the weights, not as large
		defer debug.SetGCPercent(debug.SetGCPercent(10))
	}
	graph, err := transformer.NewQuantized(backend, p.spec, p.dtype, at.loader(p.load),
		at.quantized(p.quantized))
	if err != nil {
		return nil, err
	}
	m.setGraph(graph)
	m.first = m.spec.TargetFirst
	found := p.weights.found
	slices.SortFunc(found, func(a, b *WeightError) int {
		return strings.Compare(a.Tensor, b.Tensor)
	})
	m.nonFinite, m.largest, m.allowNaN = found, p.weights.largest, opts.AllowNaN
	m.memory.Weights = graph.WeightBytes()
	m.sizes.parts.Layers = m.memory.Weights - m.sizes.parts.Tables
	m.memory.Held = m.memory.Program + m.memory.Weights - programBytes - opts.Beside
	if p.backend == "go" {
		m.memory.Unused = graph.RoundedBytes() - m.memory.Weights
	}
	m.limitPasses()
	m.info = m.describe()
	m.info.Name, m.info.Title, m.info.Note, m.info.Hash = p.name, title, where.note, hash
	m.info.Backend = backends.Name(backend)
	return m, nil
}

// describe returns what the spec says of the model.
func (m *Model) describe() trace.Info {
	s := m.spec
	info := trace.Info{
		Remarks: s.Remarks, Family: s.Family,
		Head: m.head(), Bidirectional: s.Bidirectional, Sinks: s.Sinks, Numbers: m.numbers(),
		MeanPooled: s.MeanPooled, EncoderLayers: s.Encoder, Parallel: s.Order == spec.Parallel,
		Layers: s.Layers, Heads: s.Heads, KeyValueHeads: s.Groups(), Width: s.Width,
		Vocab: s.Vocab, Context: s.Context,
		SourceVocab: s.SourceVocab, Experts: s.Experts(), NormsAfter: s.NormAfter,
		// Learned positions are added to an embedding of zeros before the first norm.
		NoGradientAtZero: s.RMS && (s.Rotary != nil || s.AlibiSlopes != nil),
	}
	for l := 0; s.Encoder > 0 && l < s.Layers; l++ {
		info.LayerNames = append(info.LayerNames, info.LayerLabel(l))
	}
	return info
}

// largeVocabulary is how many tokens leave so much garbage, about 90 MB for 262,144 of them, that
// it is given back to the system before the weights are read.
const largeVocabulary = 100_000

// Info returns the name, the backend and the sizes of the model.
func (m *Model) Info() trace.Info { return m.info }

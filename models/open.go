package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/ollama"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// Options say how to open a model. The zero value has the default of every field.
type Options struct {
	// Backend is the kind of backend: go, xla, cuda, or xla:PATH or cuda:PATH of a PJRT plugin. The
	// default for an embedded model is go, which gives the same numbers on every machine and is
	// done before XLA has started. For other models it is xla if XLA is linked and a plugin is
	// found, and otherwise go.
	Backend string
	// DType is the type of the weights in memory: float32, or bfloat16, which takes half the memory
	// and agrees to about 2 digits. The default is float32, whatever the file has, because the
	// numbers of the reference are in float32. Scores, norms and taps are always float32.
	DType string
	// MaxMemory is how many bytes of memory this process may hold in all: the program, the weights
	// and what a run needs. The program counts as 67 MB and 256 bytes for each token of the
	// vocabulary, in pure Go 832 and up to 48 MB of garbage; with XLA it counts as 206 MB more and
	// 2 MB for each layer. 0 means nine tenths of the
	// memory that the machine has left. Go's garbage collector does not know this limit; a program
	// that must stay below it calls debug.SetMemoryLimit, as the command does.
	MaxMemory int64
	// Beside is how many bytes of MaxMemory this process uses for other things, such as another
	// model; see [Model.Memory].
	Beside int64
	// AllowNaN allows weights that are NaN, infinite or too large for DType, and lets [Model.Trace]
	// and [Model.Forward] return such numbers. Without it, they are errors: [*WeightError] and
	// [*ResultError].
	AllowNaN bool
	// Shuffle, if it is not 0, is a seed that puts the entries of every matrix in random order. The
	// result is a model of the same shape that has learnt nothing; a method that does not notice
	// the difference says little about a model. The hash of the model says that it is shuffled.
	Shuffle uint64
	// FoldNormBias moves the bias of the norm before attention into the biases of query, key and
	// value. The model computes the same, but for rounding; in the tap terms, W_q β·k counts as
	// query-bias and not as content. It is an error for a model where that is not possible, such as
	// one whose norms have no bias.
	FoldNormBias bool
	// PreTokenizer says how the byte-level tokenizer of a GGUF file cuts a text, by a name that
	// tokenizer.ggml.pre may have, for a file that does not say it. The hash of the model says so
	// too. It is an error for other models.
	PreTokenizer string
	// DropKeyBias sets the biases of keys to 0. Their part of a score, q·b_k, is the same for every
	// source, so attention stays as it is and the tap terms loses that part. It is an error for a
	// model where that is not so, such as one with rotary positions.
	DropKeyBias bool
	// Hub says where to look for a model of the Hub. The default is what the environment says to
	// the Python tools.
	Hub *hub.Options
	// NoDownload forbids all requests to the Hub: the name of the model comes from a file that
	// anybody may have sent. A model of the Hub that is not here is a [*NotHereError].
	NoDownload bool
	// Progress, if not nil, is called while a model is downloaded. If Hub is set, its own Progress
	// is called instead.
	Progress func(hub.Progress)
	// Loading, if not nil, is called while the weights are checked and loaded, and before the
	// backend is started.
	Loading func(trace.Progress)
}

// dtype returns the type of the weights.
func (o Options) dtype() (dtypes.DType, error) {
	switch o.DType {
	case "", "float32", "f32":
		return dtypes.Float32, nil
	case "bfloat16", "bf16":
		return dtypes.BFloat16, nil
	}
	return dtypes.InvalidDType, usagef("data type %.60q is unknown; %s", o.DType,
		message.KnownAre(o.DType, []string{"float32", "bfloat16"}))
}

// usagef returns a [trace.UsageError] of this package with a formatted reason.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "models", Reason: fmt.Sprintf(format, args...)}
}

// location is where the files of a model are.
type location struct {
	// name is what the user called the model, and note what every picture of it must show.
	name, note string
	// path is a directory in the layout of Hugging Face, or a GGUF file; "" for an embedded model.
	path string
	// downloaded says that downloading the model again would repair a damaged file.
	downloaded bool
	// sum is the SHA-256 that the file must have, in hexadecimal; "" if that is not known.
	sum string
}

// find returns where a model is: at ref itself if that is a path, or else in the store of Ollama,
// in the folder of short names or in the cache of the Hub.
func find(ctx context.Context, ref string, opts Options) (location, error) {
	_, err := os.Stat(ref)
	if err == nil {
		return location{path: ref}, nil
	}
	if !os.IsNotExist(err) {
		return location{}, pkg.Errorf("%w", err)
	}
	if strings.HasPrefix(ref, planted.Prefix) {
		_, err := planted.Lookup(ref)
		return location{}, unknownModel("%s%w", suggestion(ref), err)
	}
	if strings.HasPrefix(ref, ollama.Prefix) {
		return findOllama(ref)
	}
	where, err := opts.hub()
	if err != nil {
		return location{}, err
	}
	file, err := hub.Local(ref, where)
	if err != nil {
		return location{}, pkg.Errorf("%w", err)
	}
	if file != "" {
		return location{path: file}, nil
	}
	if _, invalid := hub.ParseRef(ref); invalid != nil || looksLikePath(ref) {
		return location{}, unknownModel("%s%s, nor a name of the Hub "+
			"such as openai-community/gpt2%w", suggestion(ref), neither(ref), missing{})
	}
	where.Offline = where.Offline || opts.NoDownload
	dir, err := hub.Resolve(ctx, ref, where)
	if err != nil && opts.NoDownload && ctx.Err() == nil {
		return location{}, &NotHereError{ref}
	}
	if err != nil && slices.Contains(hub.Known(), ref) {
		return location{}, pkg.Errorf("%w", err)
	}
	if err != nil {
		// What to do comes first: the name that was meant, or how to get the model from the Hub.
		near := suggestion(ref)
		if near != "" && ctx.Err() == nil { // a name with a typing error
			return location{}, unknownModel("%s%s; as a name of the "+
				"Hub: %w", near, neither(ref), err)
		}
		return location{}, pkg.Errorf("%w; besides, %s", err, neither(ref))
	}
	return location{path: dir, downloaded: true}, nil
}

// unknownModel returns the error that no model has the name that was given.
func unknownModel(format string, args ...any) error {
	return &kindError{pkg.Errorf(format, args...), errorkind.Model}
}

// findOllama returns where the weights of a model in the store of Ollama are.
func findOllama(ref string) (location, error) {
	store, err := ollama.FromEnvironment()
	if err != nil {
		return location{}, pkg.Errorf("%w", err)
	}
	path, err := store.Find(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return location{}, unknownModel("%w", err)
	}
	if err != nil {
		return location{}, pkg.Errorf("%w", err)
	}
	return location{path: path, sum: ollama.Sum(path)}, nil
}

// suggestion returns the question whether ref should be the name of an embedded model or a short
// one, to stand before the rest of a message, or "" if no name is close to it.
func suggestion(ref string) string {
	near := message.DidYouMean(ref, append(Builtin(), hub.Known()...))
	if near == "" {
		return ""
	}
	return ref + ": " + near
}

// neither returns that a reference names no model of this machine, and lists those there are.
func neither(ref string) string {
	return fmt.Sprintf("%s is neither a directory nor a GGUF file, nor an embedded model (%s), "+
		"nor a known one (%s)", ref, message.List(tiny.Names()), message.List(hub.Known()))
}

// looksLikePath returns whether ref can only be a path.
func looksLikePath(ref string) bool {
	return strings.HasPrefix(ref, ".") || strings.HasPrefix(ref, "/") ||
		strings.HasPrefix(ref, "~") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".gguf")
}

// hub returns where to look for models of the Hub.
func (o Options) hub() (hub.Options, error) {
	if o.Hub != nil {
		return *o.Hub, nil
	}
	where, err := hub.FromEnvironment()
	where.Progress = o.Progress
	return where, err
}

package models

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/hub"
	"github.com/headwater-ml/headwater/models/planted"
	"github.com/headwater-ml/headwater/models/tiny"
)

// Options says how to open a model. The zero value is the default of every field.
type Options struct {
	// Backend is what computes: go, xla, cuda, xla:PATH or cuda:PATH of a PJRT plugin. Empty is go
	// for an embedded model, which answers before XLA has started and looks the same on every
	// machine; for others xla if it is linked and a plugin is found, else go.
	Backend string
	// DType is what the weights are held in: float32, or bfloat16 for half the memory and numbers
	// that agree to about 2 digits. Empty is float32, whatever the file has: its numbers are those
	// of the reference. Scores, norms and taps are float32 always.
	DType string
	// MaxMemory is how many bytes of memory this process may hold in all: the program, which counts
	// for 67 MB, and with XLA for 168 MB more and 13 MB a layer, the weights and what a run needs.
	// 0 is what the machine has left, of which a tenth is kept back. The collector of Go's memory
	// does not know of it: a program that must keep to it calls debug.SetMemoryLimit, as the
	// command does.
	MaxMemory int64
	// Beside is how many bytes of MaxMemory are taken by what else this process holds, such as
	// another model; see [Model.Held].
	Beside int64
	// AllowNaN is whether a model is opened that has weights which are NaN or infinite, or too
	// large for DType, and whether [Model.Trace] and [Model.Forward] return such numbers. Otherwise
	// both are an error, [*WeightError] and [*ResultError].
	AllowNaN bool
	// Shuffle, if it is not 0, is the seed by which the entries of every matrix change places: a
	// model of this shape that has learnt nothing, to see which methods notice. Its hash is
	// another.
	Shuffle uint64
	// Hub says where a model of the Hub is looked for; nil is as the user has set up the Python
	// tools, by the environment.
	Hub *hub.Options
	// Progress, if not nil, is told how far a download is. With Hub its own counts.
	Progress func(hub.Progress)
}

// dtype is the element type of weights.
func (o Options) dtype() (dtypes.DType, error) {
	switch o.DType {
	case "", "float32", "f32":
		return dtypes.Float32, nil
	case "bfloat16", "bf16":
		return dtypes.BFloat16, nil
	}
	return dtypes.InvalidDType, fmt.Errorf("models: weights as %q are not supported; "+
		"take float32 or bfloat16", o.DType)
}

// find returns the directory that ref names: a path, or the folder of the Hub's cache.
func find(ctx context.Context, ref string, opts Options) (string, error) {
	_, err := os.Stat(ref)
	if err == nil {
		return ref, nil
	}
	if !os.IsNotExist(err) {
		return "", fmt.Errorf("models: %w", err)
	}
	if strings.HasPrefix(ref, planted.Prefix) {
		_, err := planted.Lookup(ref)
		return "", fmt.Errorf("models: %w%s", err, meant(ref))
	}
	if _, invalid := hub.ParseRef(ref); invalid != nil || looksLikePath(ref) {
		return "", fmt.Errorf("models: %s is neither a directory, nor an embedded model (%s), "+
			"nor a name of the Hub such as openai-community/gpt2%s: %w",
			ref, tiny.Name, meant(ref), fs.ErrNotExist)
	}
	where, err := opts.hub()
	if err != nil {
		return "", err
	}
	dir, err := hub.Resolve(ctx, ref, where)
	if err != nil {
		return "", fmt.Errorf("models: %s is neither a directory nor an embedded model (%s)%s; "+
			"as a name of the Hub: %w",
			ref, tiny.Name, meant(ref), err)
	}
	return dir, nil
}

// meant asks whether an embedded model was meant whose name is near; "" if none is.
func meant(ref string) string {
	if near := strings.TrimSpace(message.DidYouMean(ref, Builtin())); near != "" {
		return "; " + near
	}
	return ""
}

// looksLikePath is whether ref can only be meant as a path.
func looksLikePath(ref string) bool {
	return strings.HasPrefix(ref, ".") || strings.HasPrefix(ref, "/") ||
		strings.HasPrefix(ref, "~") || strings.HasSuffix(ref, "/")
}

// hub returns where models of the Hub are looked for.
func (o Options) hub() (hub.Options, error) {
	if o.Hub != nil {
		return *o.Hub, nil
	}
	where, err := hub.FromEnvironment()
	where.Progress = o.Progress
	return where, err
}

package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
)

// Each kind of error of a library gets the flag or the command that helps, and no other error does.
func TestAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"results":          {&trace.MemoryError{}, "--max-memory"},
		"pass":             {&trace.MemoryError{Package: "transformer"}, "--max-memory"},
		"weights":          {&trace.MemoryError{Package: "models", Memory: trace.Memory{Chosen: true}}, "--max-memory"},
		"half the weights": {&trace.MemoryError{Package: "models", Memory: trace.Memory{Chosen: true}, Half: 1}, "--dtype bfloat16"},
		"machine":          {&trace.MemoryError{Package: "models", Machine: true}, ""},
		"cache":            {&models.CacheError{Ref: "a/b@v1", Err: errors.New("broken")}, "headwater download a/b@v1 fetches it again"},
		"no tokenizer":     {noTokenizer{}, "headwater trace --ids"},
		"no plugin":        {&xlaplugin.Error{Err: xlaplugin.ErrNone}, "headwater setup xla installs it"},
		"no CUDA plugin":   {xlaplugin.ErrNone, ""},
		"no source":        {errors.Join(errors.New("no network"), xlaplugin.ErrNoSource), "--from FILE"},
		"hash":             {xlaplugin.ErrUnknownHash, "--sha256 HASH"},
		"another":          {errors.New("no disk"), ""},
	} {
		want := message.Sprintf("line 1: %v", c.err)
		if c.want != "" {
			want += " (" + c.want + ")"
		}
		if got := ErrorText(fmt.Errorf("line 1: %w", c.err)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An error of a library is said in the words of a command line: no name of a package, and flags.
func TestSaidInFlags(t *testing.T) {
	for want, err := range map[string]error{
		"line 1: --set discard 2; it must be in [0,1), 0 for none": attribution.Options{
			Discard: 2,
		}.Check(),
		"line 1: --position -1; positions count from 0": attribution.Options{
			Positions: []int{-1},
		}.Check(),
		"line 1: first layer -1; layers count from 0 (--set layers)": attribution.Options{
			FirstLayer: -1,
		}.Check(),
		"line 1: the prompt is empty": trace.Usagef("the prompt is empty"),
		"line 1: no":                  &trace.UsageError{Reason: "no", Option: "of a plugin"},
		`line 1: set --set all-layers, not "AllLayers"`: trace.Usagef(`set %s, not "AllLayers"`,
			trace.Called("all layers", "AllLayers")),
		"line 1: Lift the lid": message.Package("models").Errorf("%w", message.Package("hub").Errorf("Lift the lid")),
	} {
		if got := ErrorText(fmt.Errorf("line 1: %w", err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// noTokenizer is the error of a model that takes no text.
type noTokenizer struct{}

func (noTokenizer) Error() string        { return "none" }
func (noTokenizer) Kind() errorkind.Kind { return errorkind.Tokenizer }

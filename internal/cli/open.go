package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla" // XLA, where the program is built with cgo
)

// Open opens the model and tells the user which backend computes it.
func (k *Kit) Open(ctx context.Context, f ModelFlags) (*models.Model, error) {
	line := k.Progress()
	line.Show("opening the model")
	defer line.Clear()
	bar := k.DownloadBar()
	defer bar.Done()
	m, err := models.OpenContext(ctx, f.Model, models.Options{
		Backend: f.Backend, DType: f.DType, MaxMemory: f.MaxMemory, Shuffle: f.Shuffle,
		Progress: bar.Show, AllowNaN: f.AllowNaN, Beside: k.modelBytes,
		FoldNormBias: f.FoldNormBias, DropKeyBias: f.DropKeyBias, NoDownload: f.FromFile,
		PreTokenizer: f.Pre,
		Loading: func(at trace.Progress) {
			bar.Done()
			line.Show("%v", at)
		},
	})
	bar.Done()
	if err == nil {
		err = ctx.Err()
	}
	if missing := (*models.NotHereError)(nil); errors.As(err, &missing) {
		err = fmt.Errorf("%w; headwater download %s brings it, or name a model with --model", err,
			missing.Ref)
	}
	if err != nil {
		return nil, err
	}
	k.keepWithin(m)
	line.Clear()
	if limit := m.Memory(); f.MaxMemory > 0 && !limit.Chosen {
		k.Say("--max-memory is more than %s allows; the limit is %s", limit.LimitedBy,
			message.FormatBytes(limit.Limit))
	}
	if f.Backend == "" && m.Info().Backend == "go" && os.Getenv(xlaplugin.Env) != "" &&
		m.Info().Note == "" {
		if _, err := xlaplugin.Find(); err != nil {
			k.Say("xla is not used: %s", ErrorText(err))
		}
	}
	if opts, err := hub.FromEnvironment(); err == nil && slices.Contains(hub.Known(), f.Model) {
		if path, err := hub.Here(ctx, f.Model, opts); err == nil {
			k.Say("%s is %s", f.Model, path)
		}
	}
	if line := DescribeBackend(m.Info().Backend, f.Backend); line != k.backend {
		k.Say("%s", line)
		k.backend = line
	}
	m, _ = m.Watched(func(at trace.Progress) {
		if k.line != nil {
			k.line.update(at.String())
		}
	})
	return m, nil
}

// OpenSilently opens one more model.
func (k *Kit) OpenSilently(ctx context.Context, f ModelFlags) (*models.Model, error) {
	m, err := models.OpenContext(ctx, f.Model, models.Options{
		Backend: f.Backend, DType: f.DType, MaxMemory: f.MaxMemory, Beside: k.modelBytes,
		Shuffle: f.Shuffle, PreTokenizer: f.Pre,
	})
	if err == nil {
		k.keepWithin(m)
	}
	return m, err
}

// DescribeBackend returns one line about the backend.
func DescribeBackend(backend, asked string) string {
	if backend != "go" {
		_, plugin, _ := strings.Cut(asked, ":")
		if plugin == "" {
			return "backend " + backend
		}
		return fmt.Sprintf("backend %s (%s)", backend, plugin)
	}
	if BuildSetting("GOEXPERIMENT") == "" {
		return "backend go (slow; built with GOEXPERIMENT=simd on amd64 it is several times faster)"
	}
	return "backend go (pure Go, slower than xla on large models)"
}

// BuildSetting returns a setting with which the program was built, empty if it is not recorded.
func BuildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// leastHeap is the least memory that the collector is told to keep to: below it, it would run all
// the time.
const leastHeap = 32 << 20

// codeBytes is how much of this program's memory is not Go's heap: code that has run.
const codeBytes = 32 << 20

// CollectWithin tells Go's garbage collector to keep to so many bytes. Without it garbage may be as
// large as what is in use. If more is in use the collector runs often, but it limits itself to half
// of the time.
func CollectWithin(bytes int64) {
	if bytes <= 0 {
		bytes = math.MaxInt64 - leastHeap
	}
	debug.SetMemoryLimit(max(bytes, leastHeap))
}

// Reserve counts bytes outside Go's heap that no open model counts. Models that are opened later
// have as much less.
func (k *Kit) Reserve(bytes int64) {
	k.modelBytes += bytes
	k.outsideHeap += bytes
}

// garbageBytes is how much garbage there may be beside weights in Go's heap. Without it, garbage
// may be as large as the weights.
const garbageBytes = 96 << 20

// keepWithin tells the garbage collector to keep to the memory that a model may take in addition to
// the models that are open already.
func (k *Kit) keepWithin(m *models.Model) {
	memory := m.Memory()
	if m.Info().Backend == "go" {
		k.outsideHeap -= memory.Unused
	} else {
		k.outsideHeap += memory.Held
	}
	k.modelBytes += memory.Held
	if m.Info().Backend == "go" && memory.Weights > garbageBytes {
		debug.SetGCPercent(int(100 * garbageBytes / memory.Weights))
	}
	// Half of what the budget leaves: the collector exceeds its limit by a few arrays.
	spare := memory.Left / 6
	CollectWithin(memory.Limit - codeBytes - k.outsideHeap - spare)
}

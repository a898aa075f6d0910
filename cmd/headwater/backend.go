package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla" // XLA, where the program is built with cgo
)

// open opens the model and tells the user which backend computes it.
func (p *program) open(ctx context.Context, f modelFlags) (*models.Model, error) {
	line := p.progress()
	line.show("opening the model")
	defer line.clear()
	bar := p.downloadBar()
	defer bar.done()
	m, err := models.OpenContext(ctx, f.model, models.Options{
		Backend: f.backend, DType: f.dtype, MaxMemory: f.maxMemory, Shuffle: f.shuffle,
		Progress: bar.show, AllowNaN: f.allowNaN, Beside: p.modelBytes,
		FoldNormBias: f.foldNormBias, DropKeyBias: f.dropKeyBias, NoDownload: f.fromFile,
		PreTokenizer: f.pre,
		Loading: func(at trace.Progress) {
			bar.done()
			line.show("%v", at)
		},
	})
	bar.done()
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
	p.keepWithin(m)
	line.clear()
	if f.backend == "" && m.Info().Backend == "go" && os.Getenv(xlaplugin.Env) != "" &&
		m.Info().Note == "" {
		if _, err := xlaplugin.Find(); err != nil {
			p.say("xla is not used: %s", said(err))
		}
	}
	for _, k := range knownModels(ctx, []string{f.model}) {
		p.say("%s is %s", k.Name, k.Path)
	}
	if line := describeBackend(m.Info().Backend, f.backend); line != p.backend {
		p.say("%s", line)
		p.backend = line
	}
	m, _ = m.Watched(func(at trace.Progress) {
		if p.line != nil {
			p.line.update(at.String())
		}
	}, models.UserCompileTimes())
	return m, nil
}

// describeBackend returns one line about the backend.
func describeBackend(backend, asked string) string {
	if backend != "go" {
		_, plugin, _ := strings.Cut(asked, ":")
		if plugin == "" {
			return "backend " + backend
		}
		return fmt.Sprintf("backend %s (%s)", backend, plugin)
	}
	if buildSetting("GOEXPERIMENT") == "" {
		return "backend go (slow; built with GOEXPERIMENT=simd on amd64 it is several times faster)"
	}
	return "backend go (pure Go, slower than xla on large models)"
}

// buildSetting returns a setting with which the program was built, empty if it is not recorded.
func buildSetting(key string) string {
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

// Command train-tiny makes the embedded toy model: see package internal/train. It is what make
// train runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/internal/train"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

func main() {
	cfg := train.Default()
	out := flag.String("o", "models/tiny/data", "directory to write")
	backend := flag.String("backend", "xla",
		"go, xla, cuda, or xla:PATH or cuda:PATH of a PJRT plugin")
	flag.IntVar(&cfg.Steps, "steps", cfg.Steps, "steps of the whole schedule")
	flag.IntVar(&cfg.Guided, "guided", cfg.Guided,
		"steps in which one head is shown the evidence, 0 for none")
	flag.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "seed of words, batches and first weights")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, cfg, *backend, *out); err != nil {
		fmt.Fprintln(os.Stderr, "train-tiny:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg train.Config, backend, out string) error {
	b, err := models.OpenBackend(backend)
	if err != nil {
		return err
	}
	return train.Run(ctx, b, cfg, out, os.Stdout)
}

// Command train-tiny makes the embedded models: see package internal/train. It is what make train
// runs for the first of them. The others are made with -model verb, mlm, sentiment, alibi
// and translation.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/train"
	_ "github.com/headwater-ml/headwater/models/xla"
)

func main() {
	model := flag.String("model", "decoder", "decoder, verb, mlm, sentiment, alibi or translation")
	out := flag.String("o", "", "directory to write (default: that of the model)")
	backend := flag.String("backend", "xla",
		"go, xla, cuda, or xla:PATH or cuda:PATH of a PJRT plugin")
	steps := flag.Int("steps", 0, "steps of the whole schedule (default: those of the model)")
	guided := flag.Int("guided", -1,
		"steps in which one head of the decoder is shown the evidence, 0 for none")
	seed := flag.Uint64("seed", 1, "seed of words, batches and first weights")
	flag.Parse()
	cfg, dir, err := settings(*model, *steps, *guided, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "train-tiny:", err)
		os.Exit(2)
	}
	if *out != "" {
		dir = *out
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, cfg, *backend, dir); err != nil {
		fmt.Fprintln(os.Stderr, "train-tiny:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg train.Config, backend, out string) error {
	b, err := backends.Open(backend)
	if err != nil {
		return err
	}
	return train.Run(ctx, b, cfg, out, os.Stdout)
}

// settings returns how to train a model and the directory of its files. steps of 0 and guided of -1
// mean those of the model.
func settings(model string, steps, guided int, seed uint64) (train.Config, string, error) {
	name, dir := tiny.Name+"-"+model, "internal/tiny/trained/"+tiny.Name+"-"+model
	if model == "decoder" {
		name, dir = tiny.Name, "internal/tiny/data"
	}
	if _, ok := tiny.Lookup(name); !ok {
		return train.Config{}, "", fmt.Errorf("-model %.60q is unknown; known are decoder, verb, "+
			"mlm, sentiment, alibi, translation", model)
	}
	cfg, err := train.For(name)
	if err != nil {
		return cfg, "", err
	}
	cfg.Seed = seed
	if steps > 0 {
		cfg.Steps = steps
	}
	if guided >= 0 {
		if name != tiny.Name && guided > 0 {
			return cfg, "", fmt.Errorf("-guided %d is for the decoder; %s is never shown the "+
				"evidence", guided, name)
		}
		cfg.Guided = guided
	}
	return cfg, dir, nil
}

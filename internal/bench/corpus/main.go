//go:build linux

// Command corpus measures headwater corpus on short texts: texts and tokens a second with one
// worker and with more, the fraction of plain batched generation that is left, and the memory of
// the process over time.
//
//	go run ./internal/bench/corpus --model tiny --texts 100000 --results DIR
//	go run ./internal/bench/corpus --model smollm2 --texts 1000 --results DIR --parts 2
//	go run ./internal/bench/corpus --table --results DIR
//
// A part is plain generation or one number of workers. Each writes a file into the folder of
// results, and a part whose file is there is not measured again, so what was interrupted goes on.
// --table prints all files as a table.
//
// Every run of the command makes all shards, from the start of the process to its end, so opening
// the model, compiling, reading and writing are in its time. Plain generation is measured in this
// process after it has compiled, so the fraction is a little too low rather than too high.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/headwater-ml/headwater/internal/tiny"
	_ "github.com/headwater-ml/headwater/models/xla"
)

// plainPart is the part that generates without attribution.
const plainPart = "plain"

// bench is what is measured.
type bench struct {
	command, model, backend, methods string
	texts, tokens, shards            int
	// batch is how many texts plain generation runs at a time, and plain how many it has in all.
	batch, plain int
	// parts are plainPart or a number of workers.
	parts []string
	// results is the folder of results, and folder has the input and the corpora.
	results, folder string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("corpus: ")
	var b bench
	var parts string
	var table bool
	flag.StringVar(&b.command, "headwater", "", "the command; empty to build it")
	flag.StringVar(&b.model, "model", tiny.Name, "the model")
	flag.StringVar(&b.backend, "backend", "go", "its backend, for the command and for generation")
	flag.StringVar(&b.methods, "methods", "rollout", "methods")
	flag.IntVar(&b.texts, "texts", 100_000, "number of texts")
	flag.IntVar(&b.tokens, "tokens", 16, "tokens after each text, fewer where it ends before")
	flag.IntVar(&b.shards, "shards", 64, "number of shards")
	flag.IntVar(&b.plain, "plain", 4096, "texts for plain generation, at most")
	flag.IntVar(&b.batch, "batch", 32, "texts at a time in plain generation")
	flag.StringVar(&parts, "parts", "plain,1,2", "what to measure: plain, or numbers of workers")
	flag.StringVar(&b.results, "results", "", "the folder of results; needed")
	flag.BoolVar(&table, "table", false, "measure nothing and print the results as a table")
	flag.Parse()
	if b.results == "" || flag.NArg() > 0 {
		log.Fatal("--results needs a folder, and there are no arguments")
	}
	if table {
		if err := printTable(os.Stdout, b.results); err != nil {
			log.Fatal(err)
		}
		return
	}
	b.parts = strings.Split(parts, ",")
	for _, part := range b.parts {
		if n, err := strconv.Atoi(part); part != plainPart && (err != nil || n < 1) {
			log.Fatalf("--parts %s: want %s and numbers of workers", parts, plainPart)
		}
	}
	for _, n := range []int{b.texts, b.tokens, b.shards, b.plain, b.batch} {
		if n < 1 {
			log.Fatal("--texts, --tokens, --shards, --plain and --batch must be at least 1")
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		stop()
		log.Fatal(err)
	}
}

// run measures the parts that have no result yet.
func (b *bench) run(ctx context.Context) (err error) {
	if err := os.MkdirAll(b.results, 0o755); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp("", "corpus-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	for _, part := range b.parts {
		r := &result{
			Model: b.model, Backend: b.backend, Methods: b.methods, Texts: b.texts,
			Tokens: b.tokens, Shards: b.shards, Part: part,
		}
		path := filepath.Join(b.results, r.fileName())
		if _, err := os.Stat(path); err == nil {
			log.Printf("%s is there and not measured again; remove it to do so", path)
			continue
		}
		log.Printf("%s on %s, %d texts, %s", b.model, b.backend, b.texts, r.what())
		if err := b.measure(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.what(), errors.Join(ctx.Err(), err))
		}
		if err := r.write(path); err != nil {
			return err
		}
		log.Printf("%.1f s, %.1f texts/s, %.0f tokens/s", r.Seconds,
			float64(r.Measured)/r.Seconds, r.rate())
	}
	return nil
}

// measure measures one part.
func (b *bench) measure(ctx context.Context, r *result) error {
	prompts := b.prompts()
	if r.Part == plainPart {
		return b.generate(ctx, prompts[:min(b.plain, len(prompts))], r)
	}
	input := filepath.Join(b.folder, "texts.jsonl")
	if err := writeInput(input, prompts); err != nil {
		return err
	}
	if b.command == "" {
		b.command = filepath.Join(b.folder, "headwater")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.command,
			"github.com/headwater-ml/headwater/cmd/headwater")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the command: %w\n%s", err, out)
		}
	}
	return b.explain(ctx, input, r)
}

//go:build linux

// Command corpus measures headwater corpus on short texts: texts and tokens a second with one
// worker and with more, the fraction of plain batched generation that is left, and the memory of
// the process over time.
//
//	go run ./internal/bench/corpus --model tiny --texts 100000
//	go run ./internal/bench/corpus --model smollm2 --texts 1000
//
// Every run of the command makes all shards, from the start of the process to its end, so opening
// the model, compiling, reading and writing are in its time. Plain generation is measured in this
// process after it has compiled, so the fraction is a little too low rather than too high.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/tiny"
	_ "github.com/headwater-ml/headwater/models/xla"
)

// interval is the time between two looks at the memory of a process.
const interval = 250 * time.Millisecond

// bench is what is measured.
type bench struct {
	command, model, backend, methods string
	texts, tokens, shards            int
	// plain is how many texts are generated without attribution.
	plain   int
	workers []int
	// folder has the input and the corpora.
	folder string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("corpus: ")
	var b bench
	var workers string
	flag.StringVar(&b.command, "headwater", "", "the command; empty to build it")
	flag.StringVar(&b.model, "model", tiny.Name, "the model")
	flag.StringVar(&b.backend, "backend", "go", "its backend, for the command and for generation")
	flag.StringVar(&b.methods, "methods", "rollout", "methods")
	flag.IntVar(&b.texts, "texts", 100_000, "number of texts")
	flag.IntVar(&b.tokens, "tokens", 16, "tokens after each text, fewer where it ends before")
	flag.IntVar(&b.shards, "shards", 64, "number of shards")
	flag.IntVar(&b.plain, "plain", 4096, "texts for plain generation, at most")
	flag.StringVar(&workers, "workers", "1,2", "numbers of workers")
	flag.Parse()
	for text := range strings.SplitSeq(workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			log.Fatalf("--workers %s: want numbers from 1", workers)
		}
		b.workers = append(b.workers, n)
	}
	if b.texts < 1 || b.tokens < 1 || b.shards < 1 || b.plain < 1 {
		log.Fatal("--texts, --tokens, --shards and --plain must be at least 1")
	}
	if err := b.run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.folder, err = os.MkdirTemp("", "corpus-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if b.command == "" {
		b.command = filepath.Join(b.folder, "headwater")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.command,
			"github.com/headwater-ml/headwater/cmd/headwater")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the command: %w\n%s", err, out)
		}
	}
	prompts := b.prompts()
	input := filepath.Join(b.folder, "texts.jsonl")
	if err := writeInput(input, prompts); err != nil {
		return err
	}
	plain, err := b.generate(ctx, prompts[:min(b.plain, len(prompts))])
	if err != nil {
		return err
	}
	fmt.Printf("%s on %s: %d texts, up to %d tokens after each, methods %s, %d shards\n\n",
		b.model, b.backend, b.texts, b.tokens, b.methods, b.shards)
	fmt.Printf("plain generation, one text at a time: %.0f tokens/s\n\n", plain)
	fmt.Println("| workers | seconds | texts/s | tokens/s | of plain | memory at most, MB |")
	fmt.Println("|---|---|---|---|---|---|")
	runs := make([]*measured, len(b.workers))
	for i, n := range b.workers {
		if runs[i], err = b.measure(ctx, input, n); err != nil {
			return err
		}
		r := runs[i]
		fmt.Printf("| %d | %.1f | %.1f | %.0f | %.2f | %.0f |\n", n, r.seconds,
			float64(b.texts)/r.seconds, float64(r.tokens)/r.seconds,
			float64(r.tokens)/r.seconds/plain, r.peak)
	}
	fmt.Println("\nMemory in MB after each tenth of the time, and how much it would grow over " +
		"the whole\ntime at the rate after the first quarter:")
	fmt.Println()
	for i, n := range b.workers {
		fmt.Printf("%d workers: %s; %+.1f MB\n", n, tenths(runs[i].memory), slope(runs[i].memory))
	}
	return nil
}

// prompts returns the texts: documents of the grammar for the embedded models, and beginnings of
// English sentences for others. They depend on their number alone.
func (b *bench) prompts() []string {
	all := make([]string, b.texts)
	random := rand.New(rand.NewPCG(1, 2))
	grammar := tiny.New(tiny.Train)
	kinds := tiny.Kinds()
	for i := range all {
		if _, embedded := tiny.Lookup(b.model); embedded {
			document := grammar.Document(random, kinds[i%len(kinds)])
			all[i] = document.Prompt(document.Answers[0])
			continue
		}
		all[i] = english[random.IntN(len(english))]
		for range random.IntN(3) {
			all[i] = english[random.IntN(len(english))] + " " + all[i]
		}
	}
	return all
}

// english begins sentences.
var english = []string{
	"The keys to the cabinet", "In the morning she", "My favourite city is", "When it rains",
	"The capital of France is", "Two plus two equals", "He opened the door and", "The old man",
	"A long time ago", "If you want to learn", "The first thing to do", "Water boils at",
	"After the war ended", "She looked at him", "The best way to cook rice", "Scientists found",
}

func writeInput(path string, prompts []string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffer := bufio.NewWriter(file)
	enc := json.NewEncoder(buffer)
	for i, prompt := range prompts {
		record := map[string]any{"id": i, "text": prompt}
		if err := enc.Encode(record); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// measured is one run of the command.
type measured struct {
	seconds, peak float64 // peak in MB
	tokens        int
	memory        []float64 // MB at equal intervals of time
}

// measure plans a corpus and runs it with n workers.
func (b *bench) measure(ctx context.Context, input string, n int) (*measured, error) {
	folder := filepath.Join(b.folder, fmt.Sprint("workers-", n))
	plan := exec.CommandContext(ctx, b.command, "corpus", "plan", input, folder,
		"--model", b.model, "--backend", b.backend, "--methods", b.methods,
		"--max-tokens", strconv.Itoa(b.tokens), "--shards", strconv.Itoa(b.shards))
	if out, err := plan.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("headwater corpus plan: %w: %s", err, out)
	}
	run := exec.CommandContext(ctx, b.command, "corpus", "run", folder,
		"--workers", strconv.Itoa(n))
	var problems bytes.Buffer
	run.Stderr = &problems
	began := time.Now()
	if err := run.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	r := new(measured)
	for ticker := time.NewTicker(interval); ; {
		select {
		case <-ticker.C:
			if now, ok := resident(run.Process.Pid); ok {
				r.memory = append(r.memory, now)
			}
			continue
		case err := <-ended:
			if err != nil {
				return nil, fmt.Errorf("headwater corpus run: %w: %s", err, problems.Bytes())
			}
		}
		ticker.Stop()
		break
	}
	r.seconds = time.Since(began).Seconds()
	if usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peak = float64(usage.Maxrss) / 1e3 // of KiB
	}
	var err error
	r.tokens, err = countTokens(folder, b.texts)
	return r, err
}

// resident returns the memory that a process holds at this moment, in MB.
func resident(pid int) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false // it has ended
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / 1e6, err == nil && pages > 0
}

// countTokens returns the number of generated tokens of a corpus, each of whose texts must have
// been explained.
func countTokens(folder string, texts int) (tokens int, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "shards", "*.parquet"))
	if err != nil {
		return 0, err
	}
	seen := 0
	for _, path := range paths {
		rows, err := parquet.ReadFile[struct {
			Error *string `parquet:"error,optional"`
			IDs   []int32 `parquet:"ids,list"`
		}](path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		for _, row := range rows {
			if row.Error != nil {
				return 0, fmt.Errorf("%s: a text has no scores: %s", path, *row.Error)
			}
			tokens += len(row.IDs)
		}
		seen += len(rows)
	}
	if seen != texts {
		return 0, fmt.Errorf("%s has %d records, want %d", folder, seen, texts)
	}
	return tokens, nil
}

// generate returns the tokens a second of plain generation, after a run that compiles. It is the
// one place that knows how texts are generated without attribution.
func (b *bench) generate(ctx context.Context, prompts []string) (float64, error) {
	m, err := models.OpenContext(ctx, b.model, models.Options{Backend: b.backend})
	if err != nil {
		return 0, err
	}
	var rate float64
	for range 2 {
		began, tokens := time.Now(), 0
		for _, prompt := range prompts {
			text, err := m.Encode(prompt, trace.SpecialsAuto)
			if err != nil {
				return 0, err
			}
			ids := make([]int, len(text))
			for i, token := range text {
				ids[i] = token.ID
			}
			for _, err := range m.Steps(ctx, ids, trace.Ask{MaxTokens: b.tokens}) {
				if err != nil {
					return 0, err
				}
				tokens++
			}
		}
		rate = float64(tokens) / time.Since(began).Seconds()
	}
	return rate, nil
}

// tenths returns the memory after each tenth of the time.
func tenths(memory []float64) string {
	if len(memory) == 0 {
		return "too short to be seen"
	}
	all := make([]string, 10)
	for i := range all {
		all[i] = strconv.FormatFloat(memory[(len(memory)-1)*(i+1)/10], 'f', 0, 64)
	}
	return strings.Join(all, ", ")
}

// slope returns how many MB the memory would grow over the whole time at the rate after the first
// quarter: the median over the pairs of points (Theil and Sen), which one peak does not move.
func slope(memory []float64) float64 {
	rest := memory[len(memory)/4:]
	step := max(1, len(rest)/200) // pairs of at most 200 points
	var slopes []float64
	for i := 0; i < len(rest); i += step {
		for j := i + step; j < len(rest); j += step {
			slopes = append(slopes, (rest[j]-rest[i])/float64(j-i))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2] * float64(len(memory))
}

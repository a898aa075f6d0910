//go:build unix

// Command batch measures what attribution costs when many short texts are generated together:
// tokens a second of plain batched generation, beside the same with rollout and with the parts of
// the logit, in turns in one process. It prints how large the fractions are, how much memory the
// largest batch is said to take, and how much the process took at most.
//
//	go run ./internal/bench/batch --model tiny
//	go run ./internal/bench/batch --model smollm2 --texts 64 --rounds 3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/bench/meter"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

func main() {
	var b bench
	var sizes string
	flag.StringVar(&b.model, "model", "tiny", "the model")
	flag.StringVar(&b.backend, "backend", "", "its backend; empty for the model's own")
	flag.IntVar(&b.texts, "texts", 256, "number of texts")
	flag.IntVar(&b.tokens, "tokens", 16, "tokens after each text, fewer where it ends before")
	flag.IntVar(&b.rounds, "rounds", 5, "how often each is measured, after once to compile")
	flag.StringVar(&sizes, "batch", "1,8,32", "texts at a time")
	flag.Parse()
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "batch: --batch %s: want numbers from 1\n", sizes)
			os.Exit(2)
		}
		b.sizes = append(b.sizes, n)
	}
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "batch:", err)
		os.Exit(1)
	}
}

type bench struct {
	model, backend        string
	texts, tokens, rounds int
	sizes                 []int
}

// methods are what is computed for each token; plain generation has none.
var methods = []string{"", "rollout", "direct"}

// prompts returns so many different short texts: the beginnings alone and in pairs.
func prompts(m *models.Model, n int) []string {
	begin := meter.Openings
	if examples := m.Examples(); len(examples) > 0 {
		begin = examples
	}
	all := make([]string, n)
	for i := range all {
		all[i] = begin[i%len(begin)]
		if second := i / len(begin) % (len(begin) + 1); second > 0 {
			all[i] = begin[second-1] + " " + all[i]
		}
	}
	return all
}

func (b *bench) run(ctx context.Context) error {
	m, err := models.Open(b.model, models.Options{Backend: b.backend})
	if err != nil {
		return err
	}
	texts := prompts(m, b.texts)
	fmt.Printf("%s on %s, %d texts, up to %d tokens after each, medians of %d rounds\n", b.model,
		m.Info().Backend, b.texts, b.tokens, b.rounds)
	fmt.Println("Tokens a second, in brackets a second of one processor:")
	fmt.Println()
	fmt.Println("| texts at a time | plain | rollout | of plain | direct | of plain |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, size := range b.sizes {
		rates := make([]rate, len(methods))
		for round := range b.rounds + 1 {
			for i, method := range methods {
				began, processor := time.Now(), meter.Processor()
				tokens, err := b.generate(ctx, m, texts, method, size)
				if err != nil {
					return err
				}
				if round > 0 { // the first compiles
					rates[i].add(tokens, time.Since(began), processor())
				}
			}
		}
		row := fmt.Sprintf("| %d | %s |", size, rates[0])
		for _, r := range rates[1:] {
			row += fmt.Sprintf(" %s | %s |", r, r.of(rates[0]))
		}
		fmt.Println(row)
	}
	largest := slices.Max(b.sizes)
	_, peak := meter.Used()
	ask := trace.Ask{Mixings: []trace.MixingAsk{{Name: "attention", AllRows: true}}}
	fmt.Printf("%d texts of 64 tokens with rollout are said to take %.0f MB beside %.0f MB of "+
		"weights; the process took at most %.0f MB\n", largest,
		float64(m.BatchBytes(ask, largest, 64))/1e6, float64(m.Memory().Weights)/1e6, peak)
	return nil
}

// generate generates all texts and returns how many tokens that were.
func (b *bench) generate(
	ctx context.Context, m *models.Model, texts []string, method string, size int,
) (tokens int, err error) {
	if method == "" {
		return meter.Generate(ctx, m, texts, b.tokens, size)
	}
	opts := attribution.Options{Methods: []string{method}, MaxTokens: b.tokens}
	all := make([]attribution.Text, len(texts))
	for i, text := range texts {
		all[i].Prompt = text
	}
	for e := range attribution.ExplainAll(ctx, m, slices.Values(all), opts,
		attribution.Batching{Texts: size, Window: len(texts)}) {
		if e.Err != nil {
			return 0, e.Err
		}
		tokens += len(e.Explanation.Steps)
	}
	return tokens, nil
}

// rate has what was measured in each round: tokens a second, and a second of one processor.
type rate struct{ wall, processor []float64 }

func (r *rate) add(tokens int, wall, processor time.Duration) {
	r.wall = append(r.wall, float64(tokens)/wall.Seconds())
	r.processor = append(r.processor, float64(tokens)/processor.Seconds())
}

func (r rate) String() string {
	return fmt.Sprintf("%.0f (%.0f)", meter.Median(r.wall), meter.Median(r.processor))
}

// of is the rate as a fraction of another.
func (r rate) of(other rate) string {
	return fmt.Sprintf("%.2f (%.2f)", meter.Median(r.wall)/meter.Median(other.wall),
		meter.Median(r.processor)/meter.Median(other.processor))
}

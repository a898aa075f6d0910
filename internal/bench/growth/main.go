// Command growth measures how the time and the memory of generating and explaining grow with the
// length of the prompt, and writes docs/growth.md with its pictures from what was measured:
//
//	go run ./internal/bench/growth -measure > internal/bench/growth/short.jsonl
//	go run ./internal/bench/growth
//
// Every measurement is a process of its own, so that its memory is its own too. The model is the
// embedded one, whose positions set no limit, on XLA if it is there.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

const (
	generated = 8 // tokens explained behind the prompt
	rounds    = 3 // measurements of each kind, of which the median counts
	// A length at which a process may take longer than this is left out.
	patience = 60 * time.Second
)

var (
	lengths = []int{64, 128, 256, 512, 1024, 2048}
	methods = []string{"raw", "rollout", "flow", "value-zeroing"}
)

// measurement is one process.
type measurement struct {
	Method string
	Tokens int
	// First is the time from the prompt to the first explained token, Next that of one more, in
	// seconds.
	First, Next float64
	// Memory is the most that the process held, in MB, and Stated what it said before that it would
	// hold; 0 if it did not say.
	Memory, Stated float64
	// Backend computed it.
	Backend string
}

func main() {
	log.SetFlags(0)
	one := flag.String("one", "", "measure this `method` once and print it as JSON")
	tokens := flag.Int("tokens", 64, "length of the prompt of -one")
	of := flag.String("of", "tiny",
		"`model` of -one: tiny, or small or smollm2 with random weights and long prompts")
	longToo := flag.Duration("long", 0,
		"measure long prompts of the model -of, each for at most this `time`, and print JSON")
	backend := flag.String("backend", "xla",
		"go, xla, cuda, or xla:PATH or cuda:PATH of a PJRT plugin")
	short := flag.Bool("measure", false, "measure the embedded model and print JSON")
	out := flag.String("out", "docs", "folder to write")
	flag.Parse()
	if *one != "" {
		m, err := measure(*one, *tokens, *backend, *of)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(m)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	var err error
	switch {
	case *longToo > 0:
		err = long(*backend, *of, *longToo)
	case *short:
		err = everything(*backend)
	default:
		err = write(*out)
	}
	if err != nil {
		log.Fatal("growth: ", err)
	}
}

// measure explains one prompt twice; the second time counts, when all graphs are compiled.
func measure(method string, tokens int, backend, of string) (measurement, error) {
	if of != "tiny" {
		return measureLong(method, tokens, backend, of)
	}
	m, prompt, err := opened(of, tokens, backend, 0)
	if err != nil {
		return measurement{}, err
	}
	r := measurement{Method: method, Tokens: tokens, Backend: m.Info().Backend}
	for range 2 {
		begin, first := time.Now(), time.Time{}
		opts := attribution.Options{Methods: []string{method}, MaxTokens: generated}
		opts.OnStep = func(*attribution.Explanation) {
			if first.IsZero() {
				first = time.Now()
			}
		}
		e, err := attribution.Explain(context.Background(), m, prompt, opts)
		if err != nil {
			return r, err
		}
		r.First, r.Next = first.Sub(begin).Seconds(), 0
		if n := len(e.Steps); n > 1 {
			r.Next = time.Since(first).Seconds() / float64(n-1)
		}
	}
	return r, nil
}

// promptOf returns a text of so many tokens.
func promptOf(m *models.Model, tokens int) (string, error) {
	const sentences = "mary has the red key . john has the blue lamp . "
	words := strings.Fields(strings.Repeat(sentences, tokens/12+1))
	for n := tokens; n > 0; n-- {
		text := strings.Join(words[:n], " ")
		encoded, err := m.Encode(text, 0)
		if err != nil || len(encoded) == tokens {
			return text, err
		}
	}
	return "", fmt.Errorf("no prompt of %d tokens was found", tokens)
}

// everything measures all methods at all lengths and prints the medians as JSON lines.
func everything(backend string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, method := range methods {
		for _, n := range lengths {
			var some []measurement
			begin := time.Now()
			for len(some) < rounds {
				m, err := process(context.Background(), self, method, n, backend, "tiny")
				if err != nil {
					return err
				}
				some = append(some, m)
				if time.Since(begin) > patience {
					break
				}
			}
			m := median(some)
			if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
				return err
			}
			log.Printf("%-14s %5d tokens  %8.3f s  %8.4f s a token  %6.0f MB",
				method, n, m.First, m.Next, m.Memory)
			const steepest = 8 // doubling the length costs no more: T³
			if steepest*time.Since(begin) > rounds*patience {
				break
			}
		}
	}
	return nil
}

// median returns the median of each figure.
func median(some []measurement) measurement {
	of := func(f figure) float64 {
		var x []float64
		for _, m := range some {
			x = append(x, *f.of(&m))
		}
		slices.Sort(x)
		return x[len(x)/2]
	}
	m := some[0]
	for _, f := range figures {
		*f.of(&m) = of(f)
	}
	return m
}

//go:build unix

// Command quantized measures what it pays to keep the matrices of a GGUF file in codes, beside the
// same file in float32 alone, in turns in one process: time and processor time of a token on the
// cache and of a prompt, loading, compiling, and the bytes of the weights. It also prints how far
// the scores are apart.
//
//	go run ./internal/bench/quantized --rounds 5 [--backend go] MODEL.gguf
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/bench/meter"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/models/transformer"
	_ "github.com/headwater-ml/headwater/models/xla"
)

func main() {
	var b bench
	flag.IntVar(&b.rounds, "rounds", 5, "how often each is measured, after once to compile")
	flag.IntVar(&b.prompt, "prompt", 32, "tokens of the prompt")
	flag.IntVar(&b.steps, "steps", 16, "tokens after it, at least 1")
	flag.StringVar(&b.backend, "backend", "xla", "xla or go")
	flag.StringVar(&b.mixing, "mixing", "", "a mixing whose rows every pass returns")
	flag.Parse()
	if flag.NArg() != 1 || b.steps < 1 || b.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := b.run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "quantized:", err)
		os.Exit(1)
	}
}

type bench struct {
	rounds, prompt, steps int
	backend, mixing       string
}

// kind is one way to keep the weights, with what was measured of it.
type kind struct {
	name         string
	model        *transformer.Model
	logits       [][]float32
	load         float64 // milliseconds
	prompt, step measured
}

// measured has milliseconds, and milliseconds of all processors together.
type measured struct{ wall, processor []float64 }

// time adds what a call takes.
func (m *measured) time(call func() error) error {
	began, processor := time.Now(), meter.Processor()
	err := call()
	m.wall = append(m.wall, milliseconds(time.Since(began)))
	m.processor = append(m.processor, milliseconds(processor()))
	return err
}

func (m *measured) String() string {
	return fmt.Sprintf("%.1f ms (least %.1f, processor %.1f)", meter.Median(m.wall),
		slices.Min(m.wall), meter.Median(m.processor))
}

func (b *bench) run(path string) error {
	kinds := []*kind{{name: "float32"}, {name: "codes"}}
	for i, k := range kinds {
		began := time.Now()
		if err := k.open(path, b.backend, i == 1); err != nil {
			return err
		}
		k.load = milliseconds(time.Since(began))
	}
	for range b.rounds + 1 {
		for _, k := range kinds {
			if err := b.generate(k); err != nil {
				return err
			}
		}
	}
	for _, k := range kinds {
		graphs, took := k.model.Compiled()
		fmt.Printf("%-8s %d MB  load %.0f ms  %d graphs compiled in %.0f ms\n", k.name,
			k.model.WeightBytes()/1_000_000, k.load, graphs, milliseconds(took))
		fmt.Printf("         prompt %v  token %v\n", &k.prompt, &k.step)
	}
	worst, largest := 0.0, 0.0
	for i, want := range kinds[0].logits {
		for j, w := range want {
			worst = max(worst, math.Abs(float64(w-kinds[1].logits[i][j])))
			largest = max(largest, math.Abs(float64(w)))
		}
	}
	fmt.Printf("scores differ by at most %.1e of the largest\n", worst/largest)
	return nil
}

// open loads the file on XLA, with its matrices in codes or in float32 alone.
func (k *kind) open(path, backendName string, codes bool) error {
	backend, err := backends.Open(backendName)
	if err != nil {
		return err
	}
	m, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	f, s, err := m.Read()
	if err != nil {
		return err
	}
	load, q, err := f.Loaders(path, m.Weights, s)
	if err != nil {
		return err
	}
	if !codes {
		q = nil
	}
	k.model, err = transformer.NewQuantized(backend, s, dtypes.Float32, load, q)
	return err
}

// generate runs a prompt and steps. The first time, which compiles, it keeps their scores.
func (b *bench) generate(k *kind) error {
	ctx := context.Background()
	var asks []trace.MixingAsk
	if b.mixing != "" {
		asks = append(asks, trace.MixingAsk{Name: b.mixing})
	}
	s, err := k.model.NewSession(asks, b.prompt+b.steps)
	if err != nil {
		return err
	}
	defer s.Close()
	ids := make([]int, b.prompt)
	for i := range ids {
		ids[i] = (i*7919 + 17) % k.model.Spec.Vocab
	}
	prompt, step, first := &k.prompt, &k.step, k.logits == nil
	if first {
		prompt, step = &measured{}, &measured{}
	}
	var out *transformer.Output
	keep := func() {
		if first {
			k.logits = append(k.logits, out.Logits)
		}
	}
	if err := prompt.time(func() (err error) {
		out, err = s.Prompt(ctx, ids, nil)
		return err
	}); err != nil {
		return err
	}
	keep()
	for i := range b.steps {
		if err := step.time(func() (err error) {
			out, err = s.Step(ctx, (i*31+5)%k.model.Spec.Vocab)
			return err
		}); err != nil {
			return err
		}
		keep()
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

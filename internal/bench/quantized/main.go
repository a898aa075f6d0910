// Command quantized measures what it pays to keep the matrices of a GGUF file as they are quantised:
// time and processor time of a token on the cache, of a prompt, of loading and compiling, and bytes,
// beside the same matrices in float32, in turns in one process.
//
//	go run ./internal/bench/quantized --rounds 5 MODEL.gguf
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/gguf"
	"github.com/headwater-ml/headwater/models/transformer"
	_ "github.com/headwater-ml/headwater/models/xla"
)

func main() {
	backend := flag.String("backend", "xla", "backend")
	rounds := flag.Int("rounds", 5, "how often each is measured")
	prompt := flag.Int("prompt", 32, "tokens of the prompt")
	steps := flag.Int("steps", 16, "tokens after it")
	method := flag.String("mixing", "", "a mixing whose rows every pass returns")
	flag.Parse()
	if err := run(flag.Arg(0), *backend, *method, *rounds, *prompt, *steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kind is one way to keep the weights, with what was measured.
type kind struct {
	name   string
	model  *transformer.Model
	logits [][]float32
	sys    []float64
	// Milliseconds, and of processor time.
	load, prompt, promptCPU, step, stepCPU []float64
}

func run(path, backend, mixing string, rounds, prompt, steps int) error {
	kinds := []*kind{{name: "float32"}, {name: "quantised"}}
	for i, k := range kinds {
		began := time.Now()
		if err := k.open(path, backend, i == 1); err != nil {
			return err
		}
		k.load = append(k.load, milliseconds(time.Since(began)))
	}
	for round := range rounds + 1 { // the first compiles
		for _, k := range kinds {
			if err := k.generate(mixing, prompt, steps, round > 0); err != nil {
				return err
			}
		}
	}
	for _, k := range kinds {
		graphs, took := k.model.Compiled()
		fmt.Println("sys of prompts", median(k.sys))
		fmt.Printf("%-10s %4d MB  load %5.0f ms  %d graphs compiled in %5.0f ms  prompt %6.1f ms "+
			"(cpu %6.1f)  token %6.1f ms (least %6.1f, cpu %6.1f)\n", k.name, k.model.WeightBytes()>>20,
			k.load[0], graphs, milliseconds(took), median(k.prompt), median(k.promptCPU),
			median(k.step), slices.Min(k.step), median(k.stepCPU))
	}
	worst, largest := 0.0, 0.0
	for i, want := range kinds[0].logits {
		for j, w := range want {
			worst = max(worst, math.Abs(float64(w-kinds[1].logits[i][j])))
			largest = max(largest, math.Abs(float64(w)))
		}
	}
	fmt.Printf("logits differ by at most %.1e of the largest\n", worst/largest)
	return nil
}

// open opens the file.
func (k *kind) open(path, backend string, quantised bool) error {
	b, err := models.OpenBackend(backend)
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
	load, q, err := f.Loaders(path, family.QuantizedTensors(m.Weights), s)
	if err != nil {
		return err
	}
	if !quantised {
		q = nil
	}
	k.model, err = transformer.NewQuantized(b, s, dtypes.Float32, load, q)
	return err
}

// generate runs a prompt and steps, and measures them.
func (k *kind) generate(mixing string, prompt, steps int, measure bool) error {
	ctx := context.Background()
	var asks []trace.MixingAsk
	if mixing != "" {
		asks = append(asks, trace.MixingAsk{Name: mixing})
	}
	s, err := k.model.NewSession(asks, prompt+steps)
	if err != nil {
		return err
	}
	defer s.Close()
	ids := make([]int, prompt)
	for i := range ids {
		ids[i] = (i*7919 + 17) % k.model.Spec.Vocab
	}
	began, cpu := time.Now(), processorTime()
	sys := sysTime()
	out, err := s.Prompt(ctx, ids, nil)
	if err != nil {
		return err
	}
	took, used := milliseconds(time.Since(began)), processorTime()-cpu
	k.sys = append(k.sys, sysTime()-sys)
	if measure {
		k.prompt, k.promptCPU = append(k.prompt, took), append(k.promptCPU, used)
	} else {
		k.logits = append(k.logits, out.Logits)
	}
	for i := range steps {
		began, cpu = time.Now(), processorTime()
		out, err = s.Step(ctx, (i*31+5)%k.model.Spec.Vocab)
		if err != nil {
			return err
		}
		took, used = milliseconds(time.Since(began)), processorTime()-cpu
		if measure {
			k.step, k.stepCPU = append(k.step, took), append(k.stepCPU, used)
		} else {
			k.logits = append(k.logits, out.Logits)
		}
	}
	return nil
}

// processorTime is the milliseconds that the process has computed.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

func sysTime() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Stime.Nano()) / 1e6
}

package backends

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
)

// widened returns a mixture so many times as wide, with random numbers: blocks need rows of 32.
func widened(file gguftest.File, by int) gguftest.File {
	random := rand.New(rand.NewPCG(3, 5))
	file.Keys, file.Tensors = slices.Clone(file.Keys), slices.Clone(file.Tensors)
	for i, k := range file.Keys {
		for _, end := range []string{
			"embedding_length", "feed_forward_length", "key_length", "value_length",
			"dimension_count", "vocab_size",
		} {
			if n, is := k.Value.(uint32); is && strings.HasSuffix(k.Name, end) {
				file.Keys[i].Value = n * uint32(by)
			}
		}
	}
	for i, tensor := range file.Tensors {
		if strings.Contains(tensor.Name, "rel_b") {
			continue // as many as buckets and heads
		}
		shape, size, low := slices.Clone(tensor.Shape), 1, float32(0)
		byExpert := strings.Contains(tensor.Name, "_exps") ||
			strings.Contains(tensor.Name, "gate_inp") || strings.Contains(tensor.Name, "sinks")
		for k := range shape {
			if k > 0 || !byExpert {
				shape[k] *= by
			}
			size *= shape[k]
		}
		if strings.HasSuffix(tensor.Name, "norm.weight") {
			low = 1
		}
		x := make([]float32, size)
		for k := range x {
			x[k] = low + float32(random.NormFloat64())/5
		}
		file.Tensors[i] = gguftest.Float32(tensor.Name, shape, x)
	}
	return file
}

// TestQuantizedExperts: experts stay in codes on XLA, where a token passes a few by their codes, a
// text all that it chooses one after the other, and a gradient all together; and each gives what
// pure Go computes with the same numbers in float32. Text is long enough for each way of Value
// Zeroing.
func TestQuantizedExperts(t *testing.T) {
	text := []int{5, 17, 33, 8, 90, 41, 6, 77, 23}
	for _, golden := range []string{"qwen2_moe_all", "gpt_oss"} {
		t.Run(golden, func(t *testing.T) {
			file := widened(convertedGolden(t, golden), 4)
			path := quantisedFile(t, file, nil)
			xla, plain := fixture.Open(t, path, "xla"), fixture.Open(t, path, "go")
			inCodes := xla.Memory().Weights
			if whole := plain.Memory().Weights; inCodes > whole/2 {
				t.Errorf("%d bytes of weights, in float32 %d: experts are not in codes", inCodes,
					whole)
			}
			tapsAgree(t, xla, plain, text, trace.Attention, trace.Hidden, trace.Router,
				trace.Experts, trace.Logits)
			agree(t, "parts of logits", stepTerms(t, xla, text), stepTerms(t, plain, text))
			mixingsAgree(t, xla, plain, mixings("alti", "value-zeroing"))
			longMixingsAgree(t, xla, plain, mixings("value-zeroing"))
			for _, n := range []int{1, len(text)} { // a single token passes few experts
				queries := []trace.Query{{
					IDs:       text[:n],
					Objective: trace.Objective{Quantity: trace.Logit, Position: n - 1, Token: 1},
				}}
				slope := gradients(t, plain, queries, trace.TrueGradient)[0].Data
				compare(t, fmt.Sprint("gradient of ", n),
					gradients(t, xla, queries, trace.TrueGradient)[0].Data, slope, scaled(slope))
			}
		})
	}
}

// TestExpertsInLargeBlocks: experts in blocks of 256 numbers, whose scales have factors.
func TestExpertsInLargeBlocks(t *testing.T) {
	file, random := widened(convertedGolden(t, "mixtral"), 16), rand.New(rand.NewPCG(1, 2))
	for i, tensor := range file.Tensors {
		if strings.Contains(tensor.Name, "_exps") {
			of := blockType{12, 144, 2, -12, -9} // Q4_K, which has a minimum to be subtracted
			if strings.Contains(tensor.Name, "down") {
				of = blockType{13, 176, 2, -13, -9} // Q5_K
			}
			file.Tensors[i].Type = of.kind
			file.Tensors[i].Data = of.blocks(random, len(tensor.Data)/4/8)
		}
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	must(t, os.WriteFile(path, file.With(gguftest.Words()...).Bytes(), 0o600))
	xla, plain := fixture.Open(t, path, "xla"), fixture.Open(t, path, "go")
	if xla.Memory().Weights > plain.Memory().Weights/2 {
		t.Errorf("%d bytes of weights: experts are not in codes", xla.Memory().Weights)
	}
	text := []int{5, 17, 33, 8, 90, 41, 6, 77, 23}
	tapsAgree(t, xla, plain, text, trace.Hidden, trace.Experts)
	agree(t, "parts of logits", stepTerms(t, xla, text), stepTerms(t, plain, text))
}

// TestPackedExperts: experts of safetensors in MXFP4 stay in codes, too.
func TestPackedExperts(t *testing.T) {
	const dir = "../../../models/testdata/mxfp4"
	xla, plain := fixture.Open(t, dir, "xla"), fixture.Open(t, dir, "go")
	if most := plain.Memory().Weights - 3*2*4*64*32*3; xla.Memory().Weights > most {
		t.Errorf("%d bytes of weights, want at most %d", xla.Memory().Weights, most)
	}
	tapsAgree(t, xla, plain, []int{5, 17, 33, 8, 20, 41, 6}, trace.Hidden, trace.Experts,
		trace.Logits)
}

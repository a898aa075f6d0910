package backends

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/models"
)

// blockType is a type of GGUF whose blocks have 32 numbers and begin with a scale, but for MXFP4,
// which begins with an exponent: how many bytes one has, where its minimum is, -1 if there is none,
// and the powers of two of scale and minimum that make numbers of about 0.2.
type blockType struct {
	kind                  uint32
	bytes                 int
	low                   int
	exponent, lowExponent int
}

var blockTypes = []blockType{
	{2, 18, -1, -6, 0},  // Q4_0
	{3, 20, 2, -6, -3},  // Q4_1
	{6, 22, -1, -7, 0},  // Q5_0
	{7, 24, 2, -7, -3},  // Q5_1
	{8, 34, -1, -10, 0}, // Q8_0
	{20, 18, -1, -9, 0}, // IQ4_NL
	{1, 64, -1, -4, 0},  // F16, each number a scale
	{30, 64, -1, -4, 0}, // BF16
	{39, 17, -1, -4, 0}, // MXFP4
}

// quantised writes a golden as a GGUF file whose matrices are random blocks of several types. Layer
// 1 has other types than the others, and its query is in float32. edit, if not nil, changes a
// matrix.
func quantised(t *testing.T, golden string, edit func(name string, data []byte)) (path string) {
	t.Helper()
	return quantisedFile(t, convertedGolden(t, golden), edit)
}

// convertedGolden returns a golden as GGUF.
func convertedGolden(t *testing.T, golden string) gguftest.File {
	t.Helper()
	dir, err := checkpoint.OpenDir(goldens + golden)
	must(t, err)
	defer dir.Close()
	file, err := gguftest.Convert(dir)
	must(t, err)
	return file
}

func quantisedFile(
	t *testing.T, file gguftest.File, edit func(name string, data []byte),
) (path string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 11))
	for i, tensor := range file.Tensors {
		odd := strings.Contains(tensor.Name, ".1.")
		if len(tensor.Shape) < 2 || odd && strings.Contains(tensor.Name, "attn_q.") ||
			strings.HasSuffix(tensor.Name, "bias") || strings.Contains(tensor.Name, "gate_inp") {
			continue
		}
		at := len(tensor.Name)
		if odd {
			at++
		}
		of := blockTypes[at%len(blockTypes)]
		data := of.blocks(random, len(tensor.Data)/4)
		if edit != nil {
			edit(tensor.Name, data)
		}
		file.Tensors[i].Type, file.Tensors[i].Data = of.kind, data
	}
	path = filepath.Join(t.TempDir(), "model.gguf")
	must(t, os.WriteFile(path, file.With(gguftest.Words()...).Bytes(), 0o600))
	return path
}

// blocks returns random blocks of so many numbers.
func (of blockType) blocks(random *rand.Rand, numbers int) []byte {
	half := func(sign, exponent int) uint16 { // ±2^exponent to twice that
		return uint16(sign<<15 | (exponent+15)<<10 | random.IntN(1<<10))
	}
	data := make([]byte, numbers/32*of.bytes)
	for b := 0; b < len(data); b += of.bytes {
		block := data[b:][:of.bytes]
		for k := range block {
			block[k] = byte(random.IntN(256))
		}
		for k := 0; k < len(block) && of.bytes == 64; k += 2 {
			number := half(random.IntN(2), of.exponent)
			if of.kind == 30 { // the exponent has 8 bits
				number = number&(1<<15) | uint16(of.exponent+127)<<7 | number&(1<<7-1)
			}
			binary.LittleEndian.PutUint16(block[k:], number)
		}
		switch {
		case of.bytes == 64:
		case of.kind == 39:
			block[0] = byte(of.exponent + 127)
		default:
			binary.LittleEndian.PutUint16(block, half(0, of.exponent))
		}
		if of.low >= 0 {
			binary.LittleEndian.PutUint16(block[of.low:], half(1, of.lowExponent))
		}
	}
	return data
}

// TestQuantizedAgrees: XLA, which keeps matrices in codes, computes what pure Go computes with the
// same numbers in float32: taps, scores, greedy tokens, rows of a prompt and of steps after it,
// parts of logits and gradients. The head is a table of its own in the first model and the
// embedding in the second.
func TestQuantizedAgrees(t *testing.T) {
	text := []int{5, 17, 33, 8, 90, 41, 6, 77, 23}
	for _, golden := range []string{"llama", "qwen3_tied"} {
		t.Run(golden, func(t *testing.T) {
			path := quantised(t, golden, nil)
			xla, plain := fixture.Open(t, path, "xla"), fixture.Open(t, path, "go")
			if xla.Memory().Weights == plain.Memory().Weights {
				t.Errorf("%d bytes of weights in both: none is in codes", xla.Memory().Weights)
			}
			tapsAgree(t, xla, plain, text, trace.Attention, trace.Hidden, trace.Logits)
			if got, want := generated(t, xla, text), generated(t, plain, text); !slices.Equal(got,
				want) {
				t.Errorf("greedy tokens %v, pure Go %v", got, want)
			}
			if golden != "llama" {
				return // all that differs is the head
			}
			want, got := stepTerms(t, plain, text), stepTerms(t, xla, text)
			agree(t, "parts of logits", got, want)
			mixingsAgree(t, xla, plain, mixings("alti", "value-zeroing"))
			longMixingsAgree(t, xla, plain, mixings("value-zeroing"))
			queries := []trace.Query{{
				IDs: text, Objective: trace.Objective{Quantity: trace.Logit, Position: 5, Token: 1},
			}}
			slope := gradients(t, plain, queries, trace.TrueGradient)[0].Data
			compare(t, "gradient", gradients(t, xla, queries, trace.TrueGradient)[0].Data, slope,
				scaled(slope))
		})
	}
}

// stepTerms are the parts of the logits of the last two tokens of a text, in all layers.
func stepTerms(t *testing.T, m *models.Model, text []int) (all []float64) {
	t.Helper()
	n := len(text) - 2
	ask := trace.Ask{Continuation: text[n:], Terms: &trace.TermsAsk{Foils: 3}}
	for step, err := range m.Steps(t.Context(), text[:n], ask) {
		must(t, err)
		all = append(all, step.Terms.Attention...)
	}
	return all
}

// tapsAgree compares taps of two models.
func tapsAgree(t *testing.T, got, want *models.Model, text []int, taps ...trace.Tap) {
	t.Helper()
	a, err := got.Trace(t.Context(), text, taps)
	must(t, err)
	b, err := want.Trace(t.Context(), text, taps)
	must(t, err)
	for i := range taps {
		compare(t, string(taps[i]), a[i].Data, b[i].Data, scaled(b[i].Data))
	}
}

// generated continues a text by eight tokens, the likeliest each.
func generated(t *testing.T, m trace.Model, text []int) (tokens []int) {
	t.Helper()
	for step, err := range m.Steps(t.Context(), text, trace.Ask{MaxTokens: 8}) {
		must(t, err)
		tokens = append(tokens, step.Next.Token.ID)
	}
	return tokens
}

// TestNotFiniteBlocks: a matrix with a scale that is infinite is read as float32, which says where,
// or is as pure Go has it.
func TestNotFiniteBlocks(t *testing.T) {
	const damaged = "output.weight"
	path := quantised(t, "llama", func(name string, data []byte) {
		if name == damaged {
			binary.LittleEndian.PutUint16(data, 0x7c00)
		}
	})
	fixture.Open(t, quantised(t, "llama", nil), "xla") // or the test is skipped
	_, err := models.Open(path, models.Options{Backend: "xla"})
	var broken *models.WeightError
	if !errors.As(err, &broken) || broken.Tensor != damaged {
		t.Errorf("opened with %v, want an error about %s", err, damaged)
	}
	m, err := models.Open(path, models.Options{Backend: "xla", AllowNaN: true})
	must(t, err)
	if found := m.NonFinite(); len(found) != 1 || found[0].Tensor != damaged {
		t.Errorf("%v are not finite, want one tensor, %s", found, damaged)
	}
}

// TestQuantizedNeeds: what a model in codes takes is known before it is opened, and one that is too
// large is refused with all parts and a type of file that would fit.
func TestQuantizedNeeds(t *testing.T) {
	path := quantised(t, "llama", nil)
	m := fixture.Open(t, path, "xla")
	_, needs, err := models.Examine(t.Context(), path, models.Options{Backend: "xla"})
	must(t, err)
	memory := m.Memory()
	if p := needs.Memory; !needs.Codes || p.Layers+p.Tables != memory.Weights ||
		p.Program+p.Graphs != memory.Program || !(needs.Bits > 4 && needs.Bits < 32) {
		t.Errorf("it needs %+v, and has %+v", needs, memory)
	}
	// Weights that are changed while they are read are not in codes.
	least := memory.Program + memory.Weights + 1
	_, err = models.Open(path, models.Options{Backend: "xla", MaxMemory: least})
	must(t, err)
	_, err = models.Open(path, models.Options{Backend: "xla", MaxMemory: least, Shuffle: 1})
	if err == nil || !strings.Contains(err.Error(), "the weights of "+path+" in float32 (") {
		t.Errorf("shuffled it opens with %v, want a refusal", err)
	}
	plain := goldens + "llama"
	_, all, err := models.Examine(t.Context(), plain, models.Options{Backend: "xla"})
	must(t, err)
	weights := all.Memory.Layers + all.Memory.Tables
	for share, want := range map[int64]string{
		2: "in bfloat16 it needs ",
		3: "a GGUF file of type Q8_0 would need ",
		9: "what is recorded takes more than that; take a smaller model",
	} {
		limit := all.Memory.Program + all.Memory.Graphs + weights/share + 10_000
		_, err = models.Open(plain, models.Options{Backend: "xla", MaxMemory: limit})
		if err == nil || !strings.Contains(err.Error(), "; "+want) ||
			!strings.Contains(err.Error(), " of it for compiled graphs, with the weights of ") ||
			!strings.Contains(err.Error(), " for layers, ") ||
			!strings.Contains(err.Error(), " for tables; passes over 64 tokens take about ") {
			t.Errorf("with a limit of %d bytes: %v, want %q", limit, err, want)
		}
	}
}

// TestQuantizedStacks: a model of two stacks in Q8_0 and Q4_K, with the embedding as the head. Its
// scores are not scaled and so as large that what LLVM rounds differently when it optimises nothing
// moves attention by 2e-5.
func TestQuantizedStacks(t *testing.T) {
	if optimisedInOther(t) {
		return
	}
	file, random := widened(convertedGolden(t, "t5_v1_1"), 16), rand.New(rand.NewPCG(1, 2))
	for i, tensor := range file.Tensors {
		// Q8_0, with small numbers, because scores are not scaled.
		of, numbers := blockType{8, 34, -1, -12, 0}, len(tensor.Data)/4
		if strings.Contains(tensor.Name, "ffn") { // Q4_K, in blocks of 256
			of, numbers = blockType{12, 144, 2, -12, -9}, numbers/8
		}
		if strings.HasSuffix(tensor.Name, "norm.weight") || strings.Contains(tensor.Name, "rel_b") {
			continue
		}
		file.Tensors[i].Type = of.kind
		file.Tensors[i].Data = of.blocks(random, numbers)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	must(t, os.WriteFile(path, file.With(gguftest.Words()...).Bytes(), 0o600))
	xla, plain := fixture.Open(t, path, "xla"), fixture.Open(t, path, "go")
	if xla.Memory().Weights > plain.Memory().Weights/2 {
		t.Errorf("%d bytes of weights: they are not in codes", xla.Memory().Weights)
	}
	text := []int{5, 17, 33, 8, 2, 48 * 16, 6, 77, 23}
	tapsAgree(t, xla, plain, text, trace.Attention, trace.Hidden, trace.Logits)
	agree(t, "parts of logits", stepTerms(t, xla, text), stepTerms(t, plain, text))
}

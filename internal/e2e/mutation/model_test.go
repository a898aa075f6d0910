package mutation

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/mutant"
)

// limit is what a mutant may use, as the command is told. The toy models of the tests take far
// less.
const limit = "300MB"

// modelRun is a command line that opens the model in folder "model" and runs it.
func modelRun(r *rand.Rand) []string {
	args := []string{
		"trace", "--model", "model", "--backend", "go", "--max-memory", limit,
		"-o", "out.safetensors",
	}
	if r.IntN(6) == 0 {
		args = append(args, "--dtype", "bfloat16")
	}
	taps := []string{
		"attention", "hidden", "logits", "value-zeroing", "scores,terms", "attention,hidden,logits",
	}
	ids := []string{"5", "5,6,7", "3,3,3,3,9,8"}
	return append(args, "--ids", mutant.Pick(r, ids), "--taps", mutant.Pick(r, taps))
}

// modelFiles are the files of a checkpoint, in folder "model".
func modelFiles(config, weights []byte) map[string][]byte {
	return map[string][]byte{"model/config.json": config, "model/model.safetensors": weights}
}

// mutateConfig damages config.json.
func mutateConfig(r *rand.Rand, s *Seeds) Mutant {
	seed := mutant.Pick(r, s.models)
	config := mutant.Parse(seed.config)
	keys := config.AllKeys(nil)
	config.Damage(r, nil)
	text := config.Text()
	names := append(config.AllKeys(keys),
		append(openContainer(seed.weights).names(), jsonWords...)...)
	names = append(names, "tensor ") // one that the config asks for, which the weights do not have
	if r.IntN(12) == 0 {
		text = mutant.Scratch(r, text)
		names = append(names, "key ") // of a name that is not known here
	}
	return Mutant{
		Args:   modelRun(r),
		Files:  modelFiles(text, seed.weights),
		Output: "out.safetensors",
		// A config that says other sizes fits the weights no longer: then a tensor is named.
		Names: [][]string{
			append([]string{"config.json", "model.safetensors"}, tapWords...),
			append(names, tapWords...),
		},
	}
}

// tapWords are what is said of a model that is whole: it has no such tap, or its numbers grow too
// large for float32 on the way to it, or it has two stacks and the ids are of one.
var tapWords = []string{"--taps", "tap ", "--ids"}

// jsonWords are what is said of a file that is no JSON object.
var jsonWords = []string{"JSON", "byte", "UTF-8"}

// mutateWeights damages model.safetensors.
func mutateWeights(r *rand.Rand, s *Seeds) Mutant {
	seed := mutant.Pick(r, s.models)
	c := openContainer(seed.weights)
	names := c.inMessages()
	file, size := c.damage(r)
	names = slices.Concat(names, c.inMessages(), headerWords, tapWords)
	m := Mutant{
		Args:   modelRun(r),
		Files:  modelFiles(seed.config, file),
		Output: "out.safetensors",
		Names: [][]string{
			append([]string{"model.safetensors", "config.json"}, tapWords...),
			names,
		},
	}
	if size > 0 {
		m.Sparse = map[string]int64{"model/model.safetensors": size}
	}
	return m
}

// headerWords are what is said of a safetensors file of which no tensor can be named.
var headerWords = []string{"header", "byte", "dtype", "shape", "data_offsets", "__metadata__"}

// mutateAttribute damages the tensors that headwater attribute reads.
func mutateAttribute(r *rand.Rand, _ *Seeds) Mutant {
	c := container{header: mutant.Object()}
	c.header.Set("__metadata__", mutant.Object("version", `"1"`))
	layers, heads, tokens := 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(24)
	scale := []float64{0.1, 1, 5, 15, 40, 100}[r.IntN(6)]
	c.add("attention", []int{layers, heads, tokens, tokens},
		softmaxRows(r, layers*heads, tokens, scale))
	if r.IntN(2) == 0 {
		c.add("value-zeroing", []int{layers, tokens, tokens}, softmaxRows(r, layers, tokens, scale))
	}
	methods := []string{
		"rollout", "flow", "raw", "rollout,flow", "value-zeroing", "flow-normalized",
		"attention+flow", "value-zeroing-rollout", "value-zeroing+flow", "norms", "gradient",
		"alti",
	}
	args := []string{
		"attribute", "--input", "in.safetensors", "--methods", mutant.Pick(r, methods),
		"-o", "out.safetensors",
	}
	for range r.IntN(3) {
		args = append(args, mutant.Pick(r, [][]string{
			{"--set", "heads=" + mutant.Pick(r, []string{"max", "min", "0", "5", "-1"})},
			{"--set", "layers=" + mutant.Pick(r, []string{"0:1", "1:", ":0", "7", "2:1"})},
			{"--set", "residual=" + mutant.Pick(r, []string{"0", "1", "0.3", "2", "NaN"})},
			{"--set", "discard=" + mutant.Pick(r, []string{"0.5", "0.99", "1", "-0.1"})},
			{"--set", "lift"},
			{"--set", "drop-sink"},
			{"--set", "per-head=" + mutant.Pick(r, []string{"0", "9"})},
			{"--set", "threshold=0.01"},
		})...)
	}
	m := Mutant{Args: args, Output: "out.safetensors"}
	names := c.inMessages()
	file, size := c.bytes(), int64(0)
	if r.IntN(3) > 0 {
		file, size = c.damage(r)
	}
	m.Files = map[string][]byte{"in.safetensors": file}
	if size > 0 {
		m.Sparse = map[string]int64{"in.safetensors": size}
	}
	words := []string{"--", "method", "layer", "head", "mixing"}
	m.Names = [][]string{slices.Concat(names, c.inMessages(), headerWords, words)}
	return m
}

// softmaxRows returns n causal maps [n,tokens,tokens] of the softmax of normal numbers. A large
// scale makes them nearly one-hot, with entries that vanish.
func softmaxRows(r *rand.Rand, n, tokens int, scale float64) []float32 {
	out := make([]float32, 0, n*tokens*tokens)
	for range n {
		for t := range tokens {
			row := softmax(r, t+1, scale)
			for _, x := range row {
				out = append(out, float32(x))
			}
			out = append(out, make([]float32, tokens-t-1)...)
		}
	}
	return out
}

// flagNames returns how a refusal may name each flag of a command line.
func flagNames(args []string) []string {
	var names []string
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			names = append(names, name)
		} else if strings.HasPrefix(arg, "-") {
			names = append(names, arg)
		}
	}
	return append(names, args[0])
}

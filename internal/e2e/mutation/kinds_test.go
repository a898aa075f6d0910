// Package mutation runs the command on damaged input: model weights, config.json, GGUF files,
// tokenizer.json, tensors for headwater attribute, flags and prompts. A mutant knows the structure
// of what it damages, so most of it stays valid and the damage reaches deep into the program.
//
// Every mutant follows from a seed and its number, so a failure can be repeated:
//
//	HEADWATER_MUTANT=17 go test ./internal/e2e/mutation
//	HEADWATER_MUTATIONS=50000 HEADWATER_MUTATION_SEED=2 go test ./internal/e2e/mutation
//
// The command must end by itself, within the limits of time and memory, without a panic, with
// status 0, 1 or 2, leaving no file behind that was not asked for. A refusal is one line that names
// the damaged file and a key or tensor of it, or the flag, in the words of a user.
package mutation

import (
	"math/rand/v2"
)

// Mutant is one run of the command on damaged input.
type Mutant struct {
	// Kind is what was damaged: a key of the table of kinds.
	Kind string
	// Args is the command line. Paths are relative to the folder that the mutant runs in.
	Args []string
	// Stdin is what the command reads from standard input.
	Stdin []byte
	// Files are written into the folder before the run, by path; Sparse makes a file of the folder
	// as long as it says, in bytes, without filling it.
	Files  map[string][]byte
	Sparse map[string]int64
	// Output is the file that a successful run leaves in the folder, "" for none.
	Output string
	// Names is what a refusal must name: at least one text of each list. An empty list asks
	// nothing.
	Names [][]string
}

// kinds are the makers of mutants, in the order in which a run goes round them.
var kinds = []struct {
	name string
	make func(r *rand.Rand, s *Seeds) Mutant
}{
	{"config", mutateConfig},
	{"weights", mutateWeights},
	{"gguf", mutateGGUF},
	{"tokenizer", mutateTokenizer},
	{"attribute", mutateAttribute},
	{"flags", mutateFlags},
	{"prompt", mutatePrompt},
	{"lines", mutateLines},
}

// Make returns mutant number n of a seed. Kinds take turns.
func Make(seed, n uint64, s *Seeds) Mutant {
	kind := kinds[n%uint64(len(kinds))]
	m := kind.make(rand.New(rand.NewPCG(seed, n)), s)
	m.Kind = kind.name
	return m
}

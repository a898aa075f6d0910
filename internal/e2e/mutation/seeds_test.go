package mutation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
)

// Seeds are the valid files that mutants are made of.
type Seeds struct {
	// models are tiny checkpoints by name, in order.
	models []modelDir
	// gguf are models in one file, the last one with a tokenizer.
	gguf []gguftest.File
	// tokenizers are texts of tokenizer.json.
	tokenizers [][]byte
	// flags are the names of flags by command; see [Seeds.ReadFlags].
	flags map[string][]string
}

// modelDir is the files of a small model.
type modelDir struct {
	name            string
	config, weights []byte
}

// ReadSeeds reads the checkpoints and tokenizers that the repository at root has for its tests.
func ReadSeeds(root string) (*Seeds, error) {
	s := &Seeds{}
	configs, err := filepath.Glob(filepath.Join(root, "models/testdata/goldens/*/config.json"))
	if err != nil || len(configs) == 0 {
		return nil, fmt.Errorf("mutation: no checkpoints below %s: %v", root, err)
	}
	for _, path := range configs {
		dir := filepath.Dir(path)
		c := modelDir{name: filepath.Base(dir)}
		if c.config, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		if c.weights, err = os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil {
			return nil, err
		}
		s.models = append(s.models, c)
	}
	if s.gguf, err = readGGUF(root); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "internal/tokenizer/testdata/*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("mutation: no tokenizers below %s: %v", root, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte(`"model":`)) { // others are records of tests
			s.tokenizers = append(s.tokenizers, text)
		}
	}
	return s, nil
}

package mutation

import (
	"fmt"
	"os"
	"path/filepath"
)

// Seeds are the valid files that mutants are made of.
type Seeds struct {
	// models are tiny checkpoints by name, in order.
	models []checkpoint
	// tokenizers are texts of tokenizer.json.
	tokenizers [][]byte
	// flags are the names of flags by command; see [Seeds.ReadFlags].
	flags map[string][]string
}

// checkpoint is the files of a small model.
type checkpoint struct {
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
		c := checkpoint{name: filepath.Base(dir)}
		if c.config, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		if c.weights, err = os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil {
			return nil, err
		}
		s.models = append(s.models, c)
	}
	files, err := filepath.Glob(filepath.Join(root, "models/tokenizer/testdata/*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("mutation: no tokenizers below %s: %v", root, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s.tokenizers = append(s.tokenizers, text)
	}
	return s, nil
}

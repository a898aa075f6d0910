package family_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/modeltest"
)

// TestFamilies: every family keeps its contract on each of its goldens.
func TestFamilies(t *testing.T) {
	configs, err := filepath.Glob("../testdata/goldens/*/config.json")
	if err != nil || len(configs) == 0 {
		t.Fatalf("there are no goldens: %v", err)
	}
	for _, config := range configs {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f, err := familyOf(config)
			if err != nil {
				t.Fatal(err)
			}
			modeltest.Family(t, f, dir)
		})
	}
}

// familyOf finds the family of a configuration.
func familyOf(path string) (*family.Family, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, err
	}
	return family.Lookup(family.NewConfig(path, values))
}

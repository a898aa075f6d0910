package gguf

import (
	"encoding/json"
	"os"
	"testing"
)

// Codes have as many bits as their coding has. That they give the right numbers is checked by
// TestBlocks, because the conversion to float32 reads codes.
func TestCodesFit(t *testing.T) {
	text, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var all recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	tested := 0
	for name, c := range all.Types {
		of, ok := codings[c.Type]
		if !ok {
			continue
		}
		tested++
		size := formats[c.Type].bytes
		for raw := c.Raw; len(raw) > 0; raw = raw[size:] {
			got := of.Make(of.Block)
			of.read(got, raw)
			for i, code := range got.Codes {
				if int(code) >= 1<<of.Bits {
					t.Fatalf("%s: code %d of number %d has more than %d bits", name, code,
						i, of.Bits)
				}
			}
		}
	}
	if tested != len(codings) {
		t.Errorf("%d types are recorded, want %d", tested, len(codings))
	}
}

package gguf

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
)

// Scale·code + minimum is the number that the conversion to float32 gives, bit for bit except for
// the sign of 0. The blocks are those that were recorded with the Python package gguf.
func TestCodesGiveTheNumbers(t *testing.T) {
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
		of, ok := quantized[c.Type]
		if !ok {
			continue
		}
		tested++
		format := formats[c.Type]
		n := len(c.Raw) / format.bytes * format.block
		want := make([]float32, n)
		format.convert(want, c.Raw)
		got := spec.Blocks{
			Codes: make([]uint8, n),
			Scale: make([]float32, n/spec.BlockSize), Min: make([]float32, n/spec.BlockSize),
		}
		of.read(got, c.Raw)
		compared := 0
		for i, code := range got.Codes {
			block := i / spec.BlockSize
			x := float32(got.Scale[block]*float32(code)) + got.Min[block]
			// Scales of the recording may be infinite; then nothing is read as codes.
			if math.IsInf(float64(want[i]), 0) || math.IsNaN(float64(want[i])) {
				continue
			}
			compared++
			if x != want[i] {
				t.Fatalf("%s: number %d is %v, want %v", name, i, x, want[i])
			}
			if int(code) >= 1<<of.bits {
				t.Fatalf("%s: code %d of number %d has more than %d bits", name, code, i, of.bits)
			}
		}
		if compared < n/2 {
			t.Errorf("%s: only %d of %d numbers are finite", name, compared, n)
		}
	}
	if tested != len(quantized) {
		t.Errorf("%d types are recorded, want %d", tested, len(quantized))
	}
}

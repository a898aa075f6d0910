package gguf

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// recorded is a file of testdata/make.py.
type recorded struct {
	Versions map[string]string
	Types    map[string]struct {
		Type    Type
		Raw     []byte
		Float32 string
	}
}

// Every type gives the same bits as the Python package gguf.
func TestBlocks(t *testing.T) {
	text, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var all recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if all.Versions["gguf"] != "0.19.0" {
		t.Fatalf("blocks.json is of gguf %s, want 0.19.0; run testdata/make.py",
			all.Versions["gguf"])
	}
	for kind, format := range formats {
		if _, ok := all.Types[format.name]; format.convert != nil && !ok {
			t.Errorf("no blocks of type %v", kind)
		}
	}
	for name, c := range all.Types {
		if c.Type.String() != name {
			t.Errorf("type %d is called %v, want %s", uint32(c.Type), c.Type, name)
		}
		want, err := base64.StdEncoding.DecodeString(c.Float32)
		if err != nil {
			t.Fatal(err)
		}
		format := formats[c.Type]
		got := make([]float32, len(c.Raw)/format.bytes*format.block)
		if len(want) != 4*len(got) {
			t.Fatalf("%s: %d bytes are %d numbers, want %d", name, len(c.Raw), len(got),
				len(want)/4)
		}
		format.convert(got, c.Raw)
		for i, x := range got {
			if w := binary.LittleEndian.Uint32(want[4*i:]); math.Float32bits(x) != w {
				t.Errorf("%s: number %d is %v, want %v", name, i, x, math.Float32frombits(w))
				break
			}
		}
	}
}

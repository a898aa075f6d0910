package planted

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// TestFiles: a circuit is a checkpoint with the same bytes every time.
func TestFiles(t *testing.T) {
	for _, c := range Circuits() {
		files, again := c.Files(), c.Files()
		for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors"} {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if second, err := fs.ReadFile(again, name); err != nil ||
				string(second) != string(data) {
				t.Errorf("%s: %s has other bytes the second time, error %v", c.Name, name, err)
			}
			info, err := fs.Stat(files, name)
			if err != nil || info.Size() != int64(len(data)) || info.Name() != name ||
				!info.Mode().IsRegular() || info.IsDir() || !info.ModTime().IsZero() {
				t.Errorf("%s: %s is described as %+v, error %v", c.Name, name, info, err)
			}
		}
		if _, err := files.Open("pytorch_model.bin"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file that is missing: error %v", c.Name, err)
		}
	}
}

// TestTensors reads the arrays of planted-offset and checks them against the design of all
// circuits: a feature is a pair of opposite numbers, and there are no biases.
func TestTensors(t *testing.T) {
	c, err := Lookup("planted-offset")
	must(t, err)
	dir, err := checkpoint.FromFS(c.Files(), c.Name)
	must(t, err)
	defer dir.Close()
	width, err := dir.Config["n_embd"].(json.Number).Int64()
	must(t, err)
	for _, name := range []string{"transformer.wte.weight", "transformer.wpe.weight"} {
		shape, err := dir.Weights.Shape(name)
		if err != nil || len(shape) != 2 || shape[1] != int(width) {
			t.Fatalf("%s has shape %v, error %v", name, shape, err)
		}
		data, err := dir.Weights.Float32(name)
		must(t, err)
		features := 0
		for i := 0; i < len(data); i += 2 {
			if data[i] != -data[i+1] {
				t.Fatalf("%s: numbers %d and %d are %v and %v, want a pair of opposites", name, i,
					i+1, data[i], data[i+1])
			}
			if data[i] != 0 {
				features++
				if data[i] != unit {
					t.Errorf("%s: a feature is %v, want %v", name, data[i], float32(unit))
				}
			}
		}
		if features == 0 {
			t.Errorf("%s has no feature", name)
		}
	}
	bias, err := dir.Weights.Float32("transformer.h.0.attn.c_attn.bias")
	must(t, err)
	for i, x := range bias {
		if x != 0 {
			t.Errorf("bias %d is %v", i, x)
		}
	}
}

// TestMatrix writes and reads a feature by hand: a pair of columns with opposite signs.
func TestMatrix(t *testing.T) {
	m := newMatrix(2, 4)
	m.pair(1, 1, 3)
	if diff := cmp.Diff([]float32{0, 0, 0, 0, 0, 0, 3, -3}, m.data); diff != "" {
		t.Errorf("pair (-want +got):\n%s", diff)
	}
	m = newMatrix(4, 2)
	m.read(1, 0, 6) // of (u,-u) times 3 and -3 comes 6u
	if diff := cmp.Diff([]float32{0, 0, 0, 0, 3, 0, -3, 0}, m.data); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	m = newMatrix(1, 2)
	m.write(0, 0, 2)
	if diff := cmp.Diff([]float32{2 * unit, -2 * unit}, m.data); diff != "" {
		t.Errorf("write (-want +got):\n%s", diff)
	}
}

// TestPanics: what the documentation says panics does, with the value.
func TestPanics(t *testing.T) {
	c := Circuits()[0]
	text := c.Texts(1, 1)[0]
	for name, call := range map[string]func(){
		"negative number of texts": func() { c.Texts(-1, 1) },
		"too many texts":           func() { c.Texts(1<<16+1, 1) },
		"word after the text":      func() { c.Others(text, len(text.Words)) },
		"support of no word":       func() { Support("zebra") },
		"doubt of no word":         func() { Doubt("zebra") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	if len(c.Texts(0, 1)) != 0 {
		t.Error("no texts are some")
	}
}

// TestCircuitsIsACopy: a caller that changes the list does not change the circuits.
func TestCircuitsIsACopy(t *testing.T) {
	Circuits()[0] = nil
	if Circuits()[0] == nil {
		t.Error("Circuits returns its own list")
	}
	for i, name := range Names() {
		if c, err := Lookup(name); err != nil || c != Circuits()[i] || c.Rule == "" {
			t.Errorf("Lookup(%s) = %+v, error %v", name, c, err)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

const (
	// mostEditBytes is the largest size of a file of edits. Larger values belong into safetensors.
	mostEditBytes = 16 << 20
	// mostEdits is how many edits a file may have. Each is an object of a few hundred bytes in
	// memory, and of as few as three in the file.
	mostEdits = 1 << 16
)

// editInFile is an edit, whose value may be in a safetensors file.
type editInFile struct {
	trace.Edit
	// From is that file, relative to the file of edits. Its tensor is named Key, and is the value.
	// Without Key it is named as the tap, as headwater trace writes it, or as in [activations], and
	// the value is what it has at the places of the edit.
	From string `json:"from"`
	Key  string `json:"key"`
}

// EditFlag adds --edit, which names a file.
func EditFlag(cmd *cobra.Command, edits *string) {
	cmd.Flags().StringVar(edits, "edit", "", "run under the edits of this `file`: a JSON list "+
		"of places and what is done to them")
}

// ReadEdits reads a file of edits, a list of [editInFile]; none if the name is empty. Their values,
// which all edits keep while the model runs, must fit what the memory has left.
func (k *Kit) ReadEdits(
	ctx context.Context, name string, memory trace.Memory,
) ([]trace.Edit, error) {
	if name == "" {
		return nil, nil
	}
	file, _, err := k.OpenInput(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("--edit: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostEditBytes+1))
	if err != nil {
		return nil, fmt.Errorf("--edit: %s: %w", name, err)
	}
	if len(text) > mostEditBytes {
		return nil, Usagef("%s has more than %s; put values into a safetensors file, and name "+
			"it with from", name, message.FormatBytes(mostEditBytes))
	}
	if n := bytes.Count(text, []byte("{")); n > mostEdits {
		return nil, Usagef("%s has %d edits; at most %d: several layers, heads and positions "+
			"can be in one", name, n, mostEdits)
	}
	var all []editInFile
	if err := jsonread.Into(text, &all); err != nil {
		return nil, Usagef("%s: the edits cannot be read: %s", name, message.NotJSON(err))
	}
	if len(all) == 0 {
		return nil, Usagef("%s has no edits", name)
	}
	edits, held := make([]trace.Edit, len(all)), 0.0
	for i, e := range all {
		if edits[i], err = e.read(filepath.Dir(name), held, memory); err == nil {
			held += 4 * float64(len(edits[i].Value))
			err = edits[i].Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: edit %d: %w", name, i, err)
		}
	}
	return edits, nil
}

// read returns the edit with its value, from a file relative to a folder. held is how many bytes
// the values of the edits before it have in the memory.
func (e editInFile) read(
	folder string, held float64, memory trace.Memory,
) (trace.Edit, error) {
	if e.From == "" {
		if e.Key != "" {
			return e.Edit, Usagef("key %.60q without from, the file that has it", e.Key)
		}
		return e.Edit, nil
	}
	if e.Value != nil || e.Shape != nil {
		return e.Edit, Usagef("a value and from %.60q; give one of them", e.From)
	}
	path, key := e.From, e.Key
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if key == "" {
		key = string(e.Tap)
	}
	f, err := checkpoint.Open(path)
	if err != nil {
		return e.Edit, err
	}
	defer f.Close()
	if e.Key == "" && !f.Has(key) {
		return fromActivations(f, e.Edit, held, memory)
	}
	t, err := readTensor(f, key, held, memory)
	if err != nil {
		return e.Edit, err
	}
	if e.Key == "" {
		return e.Edit.From(t)
	}
	e.Shape, e.Value = t.Shape, t.Data
	return e.Edit, nil
}

// readTensor reads a tensor of a file if the memory has room for it, and for what an edit takes out
// of it, beside so many bytes of values.
func readTensor(
	f *checkpoint.File, key string, held float64, memory trace.Memory,
) (t trace.Tensor, err error) {
	if t.Shape, err = f.Shape(key); err != nil {
		return t, err
	}
	size := 4.0
	for _, n := range t.Shape {
		size *= float64(n)
	}
	if err := memory.Check(held+2*size,
		fmt.Sprintf("the tensor %.60q beside %s of values before it", key,
			message.FormatBytes(int64(held))),
		"take fewer edits, or smaller tensors"); err != nil {
		return t, err
	}
	t.Data, err = f.Float32(key)
	return t, err
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"

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

// EditFile is a file of edits that has been read, without the values that other files have. Names
// of these are relative to its folder.
type EditFile struct {
	name  string
	edits []editInFile
}

// ReadEdits reads a file of edits, a list of [editInFile], and finds the files that it names, so
// that what is wrong is said before a model is opened. Without a name there are no edits.
func (k *Kit) ReadEdits(ctx context.Context, name string) (f EditFile, err error) {
	if name == "" {
		return f, nil
	}
	file, _, err := k.OpenInput(ctx, name)
	if err != nil {
		return f, fmt.Errorf("--edit: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostEditBytes+1))
	if err != nil {
		return f, fmt.Errorf("--edit: %s: %w", name, err)
	}
	if len(text) > mostEditBytes {
		return f, Usagef("%s has more than %s; put values into a safetensors file, and name "+
			"it with from", name, message.FormatBytes(mostEditBytes))
	}
	if n := bytes.Count(text, []byte("{")); n > mostEdits {
		return f, Usagef("%s has %d edits; at most %d: several layers, heads and positions "+
			"can be in one", name, n, mostEdits)
	}
	f.name = name
	err = jsonread.Into(text, &f.edits)
	if key, ok := errors.AsType[jsonread.UnknownKey](err); ok {
		return f, Usagef("%s: an edit has no key %s; known are %s", name, string(key),
			strings.Join(keysOf(reflect.TypeFor[editInFile]()), ", "))
	}
	if err != nil {
		return f, Usagef("%s: the edits cannot be read: %s", name, message.NotJSON(err))
	}
	if len(f.edits) == 0 {
		return f, Usagef("%s has no edits", name)
	}
	for i, e := range f.edits {
		if err = e.checkSource(); err == nil && e.From == "" {
			err = e.Edit.Check()
		}
		if e.From != "" && err == nil {
			var from *checkpoint.File
			if from, err = checkpoint.Open(f.path(e)); err == nil {
				from.Close()
			}
		}
		if err != nil {
			return f, fmt.Errorf("%s: edit %d: %w", name, i, err)
		}
	}
	return f, nil
}

// keysOf returns the keys in JSON of a struct, those of an embedded one first.
func keysOf(of reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(of) {
		if !field.Anonymous {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			keys = append(keys, key)
		}
	}
	return keys
}

// Edits returns the edits of a model with their values, which all edits keep while it runs and so
// must fit what the memory has left.
func (f EditFile) Edits(info trace.Info, memory trace.Memory) ([]trace.Edit, error) {
	var edits []trace.Edit
	held := 0.0
	for i, e := range f.edits {
		edit, err := f.read(e, held, info, memory)
		if err == nil {
			held += 4 * float64(len(edit.Value))
			err = edit.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: edit %d: %w", f.name, i, err)
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

// Named returns an error in an edit with the name of the file and the number of the edit, and other
// errors as they are.
func (f EditFile) Named(err error) error {
	if e, ok := errors.AsType[*trace.EditError](err); ok {
		return fmt.Errorf("%s: edit %d: %w", f.name, e.Number, e.Err)
	}
	return err
}

// checkSource refuses a value from two places, and a key without a file that has it.
func (e editInFile) checkSource() error {
	switch {
	case e.From == "" && e.Key != "":
		return Usagef("key %.60q without from, the file that has it", e.Key)
	case e.From != "" && (e.Value != nil || e.Shape != nil):
		return Usagef("a value and from %.60q; give one of them", e.From)
	}
	return nil
}

// path returns the file that an edit takes its value from.
func (f EditFile) path(e editInFile) string {
	if filepath.IsAbs(e.From) {
		return e.From
	}
	return filepath.Join(filepath.Dir(f.name), e.From)
}

// read returns an edit with its value. held is how many bytes the values of the edits before it
// have in the memory.
func (f EditFile) read(
	e editInFile, held float64, info trace.Info, memory trace.Memory,
) (trace.Edit, error) {
	if e.From == "" {
		return e.Edit, nil
	}
	key := e.Key
	if key == "" {
		key = string(e.Tap)
	}
	from, err := checkpoint.Open(f.path(e))
	if err != nil {
		return e.Edit, err
	}
	defer from.Close()
	if e.Key == "" && !from.Has(key) {
		return fromActivations(from, e.Edit, held, info, memory)
	}
	t, err := readTensor(from, key, held, memory)
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

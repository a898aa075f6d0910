// Package golden reads recordings of what a model computes on a batch of texts. They are made by
// the reference implementation, or by
// [github.com/headwater-ml/headwater/internal/certificate.Record] from a model that is trusted.
//
//	g, err := golden.Open("golden.safetensors")
//	batch, begins, err := g.Batch("", false)
//	want, err := g.Part("attn.0", 1, begins[1], len(batch.IDs[1]), 1, 2) // of text 1: [H,T,T]
//
// A file may come from anywhere, so contents that do not fit together are an error.
package golden

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/transformer"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("golden")

// Golden is a recording of what a model computes on a batch of B texts of T tokens. Its tensors are
// input_ids [B,T], logits [B,T,V] or [B,K], attn.l [B,H,T,T] and hidden.l [B,T,D], with l from 0;
// the last hidden state is after the final norm. Tensors with the prefix pad. are for the padded
// batch, in which padmask [B,T] is 1 where there is a token. Those with the prefix types. are for
// the batch with token_type_ids [B,T]. greedy [1,T+n] is the first text with n more tokens, none of
// which is end-of-text. Tensors may be missing. A Golden is safe for concurrent use.
type Golden struct{ file *checkpoint.File }

// Open opens a recording. It returns an error if the file is not a recording.
func Open(path string) (*Golden, error) {
	f, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	g := &Golden{f}
	if _, err := g.Texts(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: is it a golden?", err), f.Close())
	}
	return g, nil
}

// Close closes the recording.
func (g *Golden) Close() error { return g.file.Close() }

// Name returns the path that the recording was opened with.
func (g *Golden) Name() string { return g.file.Name() }

// Has returns whether a tensor was recorded.
func (g *Golden) Has(name string) bool { return g.file.Has(name) }

// Passes returns the prefix of the tensor names of each pass that was recorded: the empty prefix
// for the batch as it is, "pad." for the padded batch, "types." for the batch with token types.
func (g *Golden) Passes() []string {
	return slices.DeleteFunc([]string{"", "pad.", "types."},
		func(pass string) bool { return !g.Has(pass + "hidden.0") })
}

// Texts returns input_ids, [B][T]. There is at least one token.
func (g *Golden) Texts() ([][]int, error) { return g.Rows("input_ids") }

// Rows returns a matrix of integers. It returns an error if there is no tensor with that name, or
// if it has no row or no column.
func (g *Golden) Rows(name string) ([][]int, error) {
	data, err := g.file.Int64(name)
	if err != nil {
		return nil, err
	}
	shape, err := g.file.Shape(name)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 || len(data) == 0 {
		return nil, pkg.Errorf("%s: %s has shape %v, want a matrix with at least one row and one "+
			"column", g.Name(), name, shape)
	}
	var out [][]int
	for row := range slices.Chunk(data, shape[1]) {
		ids := make([]int, len(row))
		for i, id := range row {
			ids[i] = int(id)
		}
		out = append(out, ids)
	}
	return out, nil
}

// Batch returns the texts of a pass without padding, and the slot where each of them begins, [B]. A
// bidirectional model is padded on the right, any other on the left. It returns an error if padmask
// or token_type_ids is needed but missing, or does not fit the texts.
func (g *Golden) Batch(pass string, bidirectional bool) (b transformer.Batch, begins []int,
	err error,
) {
	if b.IDs, err = g.Texts(); err != nil {
		return b, nil, err
	}
	begins = make([]int, len(b.IDs))
	switch pass {
	case "types.":
		b.Types, err = g.perToken(b.IDs, "token_type_ids")
	case "pad.":
		b.PadLeft = !bidirectional
		err = g.unpad(b.IDs, begins)
	}
	return b, begins, err
}

// perToken returns a matrix that must have a number for each token of the texts.
func (g *Golden) perToken(texts [][]int, name string) ([][]int, error) {
	rows, err := g.Rows(name)
	if err != nil {
		return nil, err
	}
	if len(rows) != len(texts) || len(rows[0]) != len(texts[0]) {
		return nil, pkg.Errorf("%s: %s is [%d,%d], input_ids [%d,%d]", g.Name(), name,
			len(rows), len(rows[0]), len(texts), len(texts[0]))
	}
	return rows, nil
}

// unpad cuts each text to the tokens whose padmask is 1, which must be consecutive, and sets where
// they begin.
func (g *Golden) unpad(texts [][]int, begins []int) error {
	masks, err := g.perToken(texts, "padmask")
	if err != nil {
		return err
	}
	for i, mask := range masks {
		begin := slices.Index(mask, 1)
		if begin < 0 {
			return pkg.Errorf("%s: padmask leaves no token of text %d", g.Name(), i)
		}
		end := begin
		for end < len(mask) && mask[end] == 1 {
			end++
		}
		if slices.Contains(mask[end:], 1) {
			return pkg.Errorf("%s: padmask leaves tokens of text %d that are not "+
				"consecutive", g.Name(), i)
		}
		texts[i], begins[i] = texts[i][begin:end], begin
	}
	return nil
}

// Part returns text i of a recorded tensor, row-major: n places from slot begin on along the given
// axes, and everything along the other axes. Axes are counted from 0 without the axis of the batch.
// It returns an error if the tensor is missing or does not have these places.
func (g *Golden) Part(name string, i, begin, n int, axes ...int) ([]float32, error) {
	data, err := g.file.Float32(name)
	if err != nil {
		return nil, err
	}
	shape, err := g.file.Shape(name)
	if err != nil {
		return nil, err
	}
	if len(shape) == 0 || i >= shape[0] || len(data) == 0 {
		return nil, pkg.Errorf("%s: %s has shape %v, in which there is no text %d",
			g.Name(), name, shape, i)
	}
	size := len(data) / shape[0]
	data, shape = data[i*size:(i+1)*size], shape[1:]
	for _, axis := range axes {
		if axis >= len(shape) || begin+n > shape[axis] {
			return nil, pkg.Errorf("%s: %s has shape %v, which does not hold %d tokens",
				g.Name(), name, shape, begin+n)
		}
		data = along(data, shape, axis, begin, n)
		shape[axis] = n
	}
	return data, nil
}

// along returns n places of one axis, from begin on.
func along(data []float32, shape []int, axis, begin, n int) []float32 {
	inner := 1
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	var out []float32
	for block := range slices.Chunk(data, shape[axis]*inner) {
		out = append(out, block[begin*inner:(begin+n)*inner]...)
	}
	return out
}

package gguf

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// Weights is the tensors of a model as they were before llama.cpp's conversion, in float32. It
// undoes two changes:
//
//   - Rows of query and key of Llama. Position turns components i and i+E/2 of a head together.
//     The file has them next to each other: row 2i+j of a head is component j·E/2+i.
//   - 1 added to the gains of norms of Gemma.
//
// It is safe for concurrent use.
type Weights struct {
	*File
	arch architecture
	// heads is how many heads a tensor with paired rows has, by the end of its name.
	heads map[string]int
	// scalars are weights that are numbers of the metadata, by name.
	scalars map[string]float32
	// hidden are tensors that are left out: a head that is the embedding, and a part for images.
	hidden map[string]bool
}

func newWeights(f *File, arch architecture, s *settings) (*Weights, error) {
	w := &Weights{File: f, arch: arch, scalars: s.scalars, hidden: map[string]bool{}}
	for _, name := range f.Names() {
		w.hidden[name] = s.isApart(name)
	}
	if arch.paired {
		heads := int(s.configInt("num_attention_heads"))
		groups := heads
		if _, ok := s.config["num_key_value_heads"]; ok {
			groups = int(s.configInt("num_key_value_heads"))
		}
		w.heads = map[string]int{
			"attn_q.weight": heads, "attn_q.bias": heads, "attn_k.weight": groups,
			"attn_k.bias": groups,
		}
	}
	const embedding, head = "token_embd.weight", "output.weight"
	same, err := f.sameBytes(embedding, head)
	if same && !arch.headless {
		w.hidden[head], s.config["tie_word_embeddings"] = true, true
	}
	return w, err
}

// sameBytes returns whether two tensors have the same type, shape and bytes. Some programs write a
// tied head twice.
func (f *File) sameBytes(a, b string) (bool, error) {
	x, y := f.tensors[a], f.tensors[b]
	if x.part == nil || y.part == nil || x.kind != y.kind || !slices.Equal(x.shape, y.shape) {
		return false, nil
	}
	// One is read after the other, and not within the other: a file that is being closed in between
	// begins no other read until those that began have ended.
	const step = 1 << 20
	left := make([]byte, 0, min(step, x.size))
	for at := int64(0); at < x.size; at += step {
		n := min(step, x.size-at)
		left = left[:0]
		err := x.each(at, n, func(b []byte) error {
			left = append(left, b...)
			return nil
		})
		same := true
		if err == nil {
			err = y.each(at, n, func(b []byte) error {
				same = bytes.Equal(left, b)
				return nil
			})
		}
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// each calls use with n bytes of a tensor, at most 1 MiB, from byte at on, in one piece.
func (t tensor) each(at, n int64, use func([]byte) error) error {
	begin := t.part.data + t.offset + at
	if err := t.part.raw.Each(begin, begin+n, n, use); err != nil {
		return pkg.Errorf("%s: %w", t.part.raw.Name(), err)
	}
	return nil
}

// Names returns the names of the tensors, sorted.
func (w *Weights) Names() []string {
	names := slices.Concat(w.File.Names(), slices.Collect(maps.Keys(w.scalars)))
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return w.hidden[name] })
}

// Shape returns the shape of a tensor.
func (w *Weights) Shape(name string) ([]int, error) {
	if _, ok := w.scalars[name]; ok {
		return []int{1}, nil
	}
	shape, err := w.File.Shape(name)
	if len(shape) == 1 && strings.HasSuffix(name, sharedGate) {
		shape = append([]int{1}, shape...)
	}
	return shape, err
}

// Float32At fills dst as [File.Float32At] does, with the numbers as they were before the
// conversion.
func (w *Weights) Float32At(dst []float32, name string, first int) error {
	if x, ok := w.scalars[name]; ok && first == 0 && len(dst) == 1 {
		dst[0] = x
		return nil
	}
	if heads, paired := w.pairedRows(name); paired {
		return w.unpaired(dst, name, first, heads)
	}
	if err := w.File.Float32At(dst, name, first); err != nil {
		return err
	}
	if w.arch.gainsPlusOne && strings.HasSuffix(name, "norm.weight") {
		for i := range dst {
			dst[i]--
		}
	}
	return nil
}

// Float64At fills dst as Float32At does.
func (w *Weights) Float64At(dst []float64, name string, first int) error {
	values := make([]float32, len(dst))
	err := w.Float32At(values, name, first)
	for i, x := range values {
		dst[i] = float64(x)
	}
	return err
}

// pairedRows returns how many heads a tensor with paired rows has.
func (w *Weights) pairedRows(name string) (heads int, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[0] != "blk" {
		return 0, false
	}
	heads, ok = w.heads[parts[2]+"."+parts[3]]
	return heads, ok
}

// unpaired reads a tensor with paired rows, row by row, because they are asked for in another order
// than the file has them.
func (w *Weights) unpaired(dst []float32, name string, first, heads int) error {
	t, err := w.lookup(name)
	if err != nil {
		return err
	}
	rows, in := t.shape[0], t.count/t.shape[0]
	if heads < 1 || rows%heads != 0 || rows/heads%2 != 0 {
		return w.unevenHeads(name, rows, heads)
	}
	if first < 0 || first > t.count || len(dst) > t.count-first {
		return w.fail("tensor %s has %d elements, not %d from %d on", quoted(name), t.count,
			len(dst), first)
	}
	for len(dst) > 0 {
		row, column := first/in, first%in
		n := min(len(dst), in-column)
		at := pairedRow(row, rows/heads)*in + column
		if err := w.File.Float32At(dst[:n], name, at); err != nil {
			return err
		}
		dst, first = dst[n:], first+n
	}
	return nil
}

// unevenHeads is the error about a tensor whose rows cannot be in pairs.
func (w *Weights) unevenHeads(name string, rows, heads int) error {
	return w.fail("tensor %s has %d rows; they must be an even number for each of %d heads",
		quoted(name), rows, heads)
}

// pairedRow returns where the file has a row of a tensor with paired rows, whose heads have so many
// rows.
func pairedRow(row, width int) int {
	component := row % width
	return row - component + component%(width/2)*2 + component/(width/2)
}

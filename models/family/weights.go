package family

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/transformer"
)

// Tensors is the weights of a checkpoint. *checkpoint.File satisfies it.
type Tensors interface {
	Names() []string
	Shape(name string) ([]int, error)
	Float32(name string) ([]float32, error)
}

// Loader returns a function that reads the parameters of spec from the tensors of file. It returns an error at once if a tensor
// is missing, has another shape than the configuration says, or lies within a block and would be read by nobody.
func (f *Family) Loader(file string, tensors Tensors, spec *transformer.Spec) (func(transformer.Param) ([]float32, error), error) {
	names := map[string]bool{}
	for _, name := range tensors.Names() {
		names[name] = true
	}
	prefix, err := f.prefix(file, names)
	if err != nil {
		return nil, err
	}
	sources := map[string]Weight{} // by parameter
	read := map[string]bool{}
	for _, p := range spec.Params() {
		w, err := f.source(p.Name)
		if err != nil {
			return nil, err
		}
		if p.Name != "head" { // the head stands beside the model, not within
			w.Tensor = prefix + w.Tensor
		}
		if !names[w.Tensor] {
			return nil, fmt.Errorf("family: %s: tensor %s is missing", file, w.Tensor)
		}
		got, err := tensors.Shape(w.Tensor)
		if err != nil {
			return nil, err
		}
		if want := w.Layout.shape(p.Shape); !slices.Equal(got, want) {
			return nil, fmt.Errorf("family: %s: tensor %s has shape %v; config.json makes it %v", file, w.Tensor, got, want)
		}
		sources[p.Name], read[w.Tensor] = w, true
	}
	if err := f.unread(file, tensors.Names(), read); err != nil {
		return nil, err
	}
	return func(p transformer.Param) ([]float32, error) {
		w := sources[p.Name]
		data, err := tensors.Float32(w.Tensor)
		if err != nil {
			return nil, err
		}
		return w.Layout.take(data, p.Shape, spec), nil
	}, nil
}

// prefix finds what stands before the tensor names.
func (f *Family) prefix(file string, names map[string]bool) (string, error) {
	w, err := f.source("embedding")
	if err != nil {
		return "", err
	}
	for _, prefix := range f.Prefixes {
		if names[prefix+w.Tensor] {
			return prefix, nil
		}
	}
	return "", fmt.Errorf("family: %s: tensor %s is missing, with %s before its name or without", file, w.Tensor, strings.Join(f.Prefixes, " "))
}

// source returns where a parameter comes from, with the layer filled in.
func (f *Family) source(param string) (Weight, error) {
	layer, generic := -1, param
	if strings.HasPrefix(param, "blocks.") {
		rest := ""
		if _, err := fmt.Sscanf(param, "blocks.%d.%s", &layer, &rest); err != nil {
			return Weight{}, fmt.Errorf("family: parameter %s has no layer: %w", param, err)
		}
		generic = "blocks.%d." + rest
	}
	for _, w := range f.Weights {
		if w.Param == generic {
			w.Param = param
			if layer >= 0 {
				w.Tensor = fmt.Sprintf(w.Tensor, layer)
			}
			return w, nil
		}
	}
	return Weight{}, fmt.Errorf("family: %s has no tensor for parameter %s", f.Name, param)
}

// unread returns an error if a tensor of a block was not read: a weight that the graph does not know would change the numbers.
func (f *Family) unread(file string, names []string, read map[string]bool) error {
	for _, name := range names {
		inBlock := strings.Contains(name, ".h.") || strings.HasPrefix(name, "h.")
		buffer := slices.ContainsFunc(f.Buffers, func(b string) bool { return strings.HasSuffix(name, b) })
		if inBlock && !read[name] && !buffer {
			return fmt.Errorf("family: %s: tensor %s has no place in the %s architecture", file, name, f.Name)
		}
	}
	return nil
}

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
	Float32At(dst []float32, name string, first int) error
}

// Loader returns a function that reads the parameters of spec from the tensors of file, one at a time. It returns an error at once if a tensor
// is missing, has another shape than the configuration says, or lies within a block and would be read by nobody.
func (f *Family) Loader(file string, tensors Tensors, spec *transformer.Spec) (transformer.Loader, error) {
	c := &contents{family: f, file: file, names: map[string]bool{}, read: map[string]bool{}}
	for _, name := range tensors.Names() {
		c.names[name] = true
	}
	if err := c.findPrefix(); err != nil {
		return nil, err
	}
	sources := map[string]Weight{} // by parameter
	for _, p := range spec.Params() {
		w, err := c.find(p.Name)
		if err != nil {
			return nil, err
		}
		got, err := tensors.Shape(w.Tensor)
		if err != nil {
			return nil, err
		}
		if want := w.Layout.shape(p.Shape, spec); !slices.Equal(got, want) {
			return nil, fmt.Errorf("family: %s: tensor %s has shape %v; config.json makes it %v", file, w.Tensor, got, want)
		}
		sources[p.Name], c.read[w.Tensor] = w, true
	}
	if err := c.unread(tensors.Names()); err != nil {
		return nil, err
	}
	tmp := &scratch{}
	return func(p transformer.Param, put func(int, []float32)) error {
		w := sources[p.Name]
		read := func(dst []float32, first int) error { return tensors.Float32At(dst, w.Tensor, first) }
		return w.Layout.take(p.Shape, spec, tmp, read, put)
	}, nil
}

// contents is a checkpoint whose tensors are being found.
type contents struct {
	family *Family
	file   string
	names  map[string]bool
	read   map[string]bool
	prefix string
}

// findPrefix finds what stands before the tensor names of the body.
func (c *contents) findPrefix() error {
	ws, err := c.family.sources("embedding")
	if err != nil {
		return err
	}
	for _, prefix := range c.family.Prefixes {
		if c.names[prefix+ws[0].Tensor] {
			c.prefix = prefix
			return nil
		}
	}
	return fmt.Errorf("family: %s: tensor %s is missing, with %s before its name or without", c.file, ws[0].Tensor,
		strings.Join(c.family.Prefixes, " "))
}

// find returns where a parameter comes from. A head stands beside the body, so its tensors may go without the prefix.
func (c *contents) find(param string) (Weight, error) {
	ws, err := c.family.sources(param)
	if err != nil {
		return Weight{}, err
	}
	for _, w := range ws {
		for _, name := range []string{c.prefix + w.Tensor, w.Tensor, oldName(c.prefix + w.Tensor), oldName(w.Tensor)} {
			if c.names[name] {
				w.Tensor = name
				return w, nil
			}
		}
	}
	var missing []string
	for _, w := range ws {
		if c.family.inBlock(w.Tensor) {
			w.Tensor = c.prefix + w.Tensor
		}
		missing = append(missing, w.Tensor)
	}
	names := strings.Join(missing, " or ")
	if param == "head" {
		return Weight{}, fmt.Errorf("family: %s: tensor %s is missing, and tie_word_embeddings of config.json is false, "+
			"so that the embedding cannot serve", c.file, names)
	}
	return Weight{}, fmt.Errorf("family: %s: tensor %s is missing", c.file, names)
}

// oldName is what the first checkpoints called the gain and the bias of a norm.
func oldName(name string) string {
	if stem, ok := strings.CutSuffix(name, "LayerNorm.weight"); ok {
		return stem + "LayerNorm.gamma"
	}
	if stem, ok := strings.CutSuffix(name, "LayerNorm.bias"); ok {
		return stem + "LayerNorm.beta"
	}
	return name
}

// sources returns where a parameter may come from, with the layer filled in.
func (f *Family) sources(param string) ([]Weight, error) {
	layer, generic := -1, param
	if strings.HasPrefix(param, "blocks.") {
		rest := ""
		if _, err := fmt.Sscanf(param, "blocks.%d.%s", &layer, &rest); err != nil {
			return nil, fmt.Errorf("family: parameter %s has no layer: %w", param, err)
		}
		generic = "blocks.%d." + rest
	}
	var found []Weight
	for _, w := range f.Weights {
		if w.Param == generic {
			w.Param = param
			if layer >= 0 {
				w.Tensor = fmt.Sprintf(w.Tensor, layer)
			}
			found = append(found, w)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("family: %s has no tensor for parameter %s", f.Name, param)
	}
	return found, nil
}

// unread returns an error if a tensor of a block was not read: a weight that the graph does not know would change the numbers.
func (c *contents) unread(names []string) error {
	for _, name := range names {
		if c.read[name] || !c.family.inBlock(strings.TrimPrefix(name, c.prefix)) {
			continue
		}
		if !slices.ContainsFunc(c.family.Buffers, func(b string) bool { return strings.HasSuffix(name, b) }) {
			return fmt.Errorf("family: %s: tensor %s has no place in the %s that config.json describes", c.file, name, c.family.Name)
		}
	}
	return nil
}

// inBlock is whether a tensor belongs to a layer.
func (f *Family) inBlock(name string) bool {
	return slices.ContainsFunc(f.Weights, func(w Weight) bool {
		before, _, ok := strings.Cut(w.Tensor, "%d")
		return ok && strings.HasPrefix(name, before)
	})
}

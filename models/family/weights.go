package family

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/models/spec"
)

// Tensors is the weights of a checkpoint. A *checkpoint.File satisfies it. Several goroutines may
// read at once.
type Tensors interface {
	Names() []string
	Shape(name string) ([]int, error)
	Float32At(dst []float32, name string, first int) error
}

// QuantizedTensors is [Tensors] some of which are quantised. ReadBlocks reads rows of a matrix
// [out,in], or of a stack [X,out,in], whose rows are X·out, from row first on. Coding is zero for a
// tensor that must be read as float32; see [spec.Quantized].
type QuantizedTensors interface {
	Tensors
	Coding(name string) spec.Coding
	ReadBlocks(b spec.Blocks, name string, first int) error
}

// Loader returns a function that reads the parameters of s from the tensors of file, one at a
// time. It returns an error at once if a tensor is missing, has another shape than the
// configuration says, or looks like a weight of the model but would be ignored. If two tensors are
// for the same parameter, it compares their values and returns an error unless they are equal. It
// makes s one with an untied head where [Family.OwnHead] says so.
func (f *Family) Loader(file string, tensors Tensors, s *spec.Spec) (spec.Loader, error) {
	load, _, err := f.Loaders(file, tensors, s)
	return load, err
}

// Loaders is [Family.Loader] that also returns what reads parameters as they are quantised; nil if
// tensors is not [QuantizedTensors].
func (f *Family) Loaders(file string, tensors Tensors, s *spec.Spec) (
	spec.Loader, spec.Quantized, error,
) {
	c := &contents{family: f, spec: s, file: file, read: map[string]bool{}}
	c.setTensors(tensors)
	if err := c.findPrefix(); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(c.findOwnHead(), c.findOwnSource()); err != nil {
		return nil, nil, err
	}
	tensors = c.tensors
	sources := map[string]Weight{} // by parameter
	for _, p := range s.Params() {
		w, err := c.source(p)
		if err != nil {
			return nil, nil, err
		}
		sources[p.Name] = w
	}
	if err := c.unread(tensors.Names()); err != nil {
		return nil, nil, err
	}
	// Last, because it may read the tensors.
	if err := c.compareDoubles(); err != nil {
		return nil, nil, err
	}
	pieces := sync.Pool{New: func() any { return &scratch{} }}
	load := func(p spec.Param, put func(int, []float32)) error {
		w := sources[p.Name]
		if w.Layout.computed() {
			none := -1
			if c.spec.SkipPosition {
				none = c.spec.PositionOffset - 1
			}
			w.Layout.compute(p.Shape, none, put)
			return nil
		}
		tmp := pieces.Get().(*scratch)
		defer pieces.Put(tmp)
		read := func(dst []float32, first int) error {
			return tensors.Float32At(dst, w.Tensor, first)
		}
		return w.Layout.read(p.Shape, s, tmp, read, put)
	}
	if q, ok := tensors.(QuantizedTensors); ok {
		return load, &quantized{spec: s, tensors: q, sources: sources}, nil
	}
	return load, nil, nil
}

// quantized reads parameters from quantised tensors.
type quantized struct {
	spec    *spec.Spec
	tensors QuantizedTensors
	sources map[string]Weight // by parameter
}

// Coding implements [spec.Quantized]. A tensor has the rows that a product sums over if it is
// [out,in] or a table over the vocabulary.
func (q *quantized) Coding(p spec.Param) spec.Coding {
	w := q.sources[p.Name]
	coding := q.tensors.Coding(w.Tensor)
	table := w.Layout == AsIs && (p.Name == "embedding" || p.Name == "head")
	if len(p.Shape) != 2 || coding.Bits < 16 && !table && w.Layout.inFirst() {
		return spec.Coding{}
	}
	return coding
}

// ReadBlocks implements [spec.Quantized].
func (q *quantized) ReadBlocks(p spec.Param, first int, b spec.Blocks) error {
	w := q.sources[p.Name]
	out, in := p.Shape[0], p.Shape[1]
	if w.Layout != AsIs {
		out, in = in, out
	}
	coding := q.tensors.Coding(w.Tensor)
	spans, _ := w.Layout.spans(out, q.spec)
	for _, rows := range spans {
		if first >= rows.n {
			first -= rows.n
			continue
		}
		n := min(rows.n-first, len(b.Codes)/in) * in
		if n == 0 {
			break
		}
		part := coding.Of(b, 0, n)
		if err := q.tensors.ReadBlocks(part, w.Tensor, rows.from+first); err != nil {
			return err
		}
		b = coding.Of(b, n, len(b.Codes)-n)
		first = 0
	}
	return nil
}

// contents is a checkpoint and the tensors that have been found in it.
type contents struct {
	family  *Family
	spec    *spec.Spec
	file    string
	tensors Tensors
	names   map[string]bool
	read    map[string]bool
	prefix  string
	doubles []double
}

// double is two tensors for the same parameter, of which only the first is read.
type double struct {
	first, second string
	tied          bool // the embedding, and a head that is tied to it
}

// setTensors sets the tensors of the checkpoint, and their names.
func (c *contents) setTensors(tensors Tensors) {
	c.tensors, c.names = c.family.unstacked(tensors), map[string]bool{}
	for _, name := range c.tensors.Names() {
		c.names[name] = true
	}
}

// findPrefix finds the prefix of the tensor names. A prefix before it that all names share, as
// torch.compile and programs for training leave one, is cut off, with a remark.
func (c *contents) findPrefix() error {
	ws, err := c.family.sources(c.spec, "embedding")
	if err != nil {
		return err
	}
	prefixes := c.family.Prefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	shared := sharedPrefix(c.tensors.Names())
	for _, wrapped := range []string{"", shared} {
		for _, prefix := range prefixes {
			wrapper, ok := strings.CutSuffix(wrapped, prefix)
			if !ok && wrapped != "" {
				wrapper = wrapped
			}
			if !c.names[wrapper+prefix+ws[0].Tensor] {
				continue
			}
			c.prefix = prefix
			if wrapper != "" {
				c.setTensors(unwrap(c.tensors, wrapper))
				c.spec.Remarks = append(c.spec.Remarks, fmt.Sprintf("%s: all names of tensors "+
					"begin with %s, which was cut off", filepath.Base(c.file), cut(wrapper)))
			}
			return nil
		}
	}
	with := ""
	if before := strings.TrimSpace(strings.Join(prefixes, " ")); before != "" {
		with = fmt.Sprintf(", with %s before its name or without", before)
	}
	return pkg.Errorf("%s: tensor %s is missing%s", c.file, ws[0].Tensor, with)
}

// sharedPrefix returns the longest text that all names begin with and that ends in a point.
func sharedPrefix(names []string) string {
	if len(names) == 0 {
		return ""
	}
	prefix := slices.Min(names)
	last := slices.Max(names) // what the first and the last share, all share
	for !strings.HasPrefix(last, prefix) {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix[:strings.LastIndex(prefix, ".")+1]
}

// unwrapped is tensors whose names lack a prefix that they have in the file.
type unwrapped struct {
	Tensors
	prefix string
}

// unwrap returns the tensors under names without the prefix.
func unwrap(tensors Tensors, prefix string) Tensors {
	u := unwrapped{tensors, prefix}
	if q, ok := tensors.(QuantizedTensors); ok {
		return unwrappedBlocks{u, q}
	}
	return u
}

// Names implements [Tensors].
func (u unwrapped) Names() []string {
	names := u.Tensors.Names()
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, u.prefix)
	}
	return names
}

// Shape implements [Tensors].
func (u unwrapped) Shape(name string) ([]int, error) { return u.Tensors.Shape(u.prefix + name) }

// Float32At implements [Tensors].
func (u unwrapped) Float32At(dst []float32, name string, first int) error {
	return u.Tensors.Float32At(dst, u.prefix+name, first)
}

// unwrappedBlocks is unwrapped for quantised tensors.
type unwrappedBlocks struct {
	unwrapped
	blocks QuantizedTensors
}

// Coding implements [QuantizedTensors].
func (u unwrappedBlocks) Coding(name string) spec.Coding { return u.blocks.Coding(u.prefix + name) }

// ReadBlocks implements [QuantizedTensors].
func (u unwrappedBlocks) ReadBlocks(b spec.Blocks, name string, first int) error {
	return u.blocks.ReadBlocks(b, u.prefix+name, first)
}

// source returns the tensor of a parameter. It checks its shape, and records other tensors for the
// same parameter.
func (c *contents) source(p spec.Param) (Weight, error) {
	found, err := c.find(p.Name)
	if err != nil {
		return Weight{}, err
	}
	w := found[0]
	if w.Layout.computed() {
		return w, nil
	}
	if err := c.checkShape(w, p); err != nil {
		return Weight{}, err
	}
	c.read[w.Tensor] = true
	for _, other := range found[1:] {
		if err := c.checkShape(other, p); err != nil {
			return Weight{}, err
		}
		if pair := (double{first: w.Tensor, second: other.Tensor}); !slices.Contains(c.doubles,
			pair) {
			c.doubles = append(c.doubles, pair)
		}
		c.read[other.Tensor] = true
	}
	if p.Name == "embedding" && c.spec.TiedHead && c.spec.Head == spec.LanguageHead {
		return w, c.tiedHead(w, p)
	}
	return w, nil
}

// findOwnHead makes a tied head an untied one if the file has another one and the family says that
// it counts; see [Family.OwnHead].
func (c *contents) findOwnHead() error {
	s := c.spec
	if !c.family.OwnHead || !s.TiedHead || s.Head != spec.LanguageHead {
		return nil
	}
	p := spec.Param{Name: "embedding", Shape: []int{s.Vocab, s.Embedded()}}
	embedding, err := c.source(p)
	at := slices.IndexFunc(c.doubles, func(d double) bool { return d.tied })
	if err != nil || at < 0 {
		return err
	}
	s.TiedHead, err = c.equal(embedding.Tensor, c.doubles[at].second)
	c.doubles = nil // they are found again, those of the spec as it is now
	return err
}

// findOwnSource gives the source a vocabulary of its own if the file has two embeddings that
// differ and the family says that both count; see [Family.OwnSource]. The two have as many tokens.
func (c *contents) findOwnSource() error {
	s := c.spec
	if !c.family.OwnSource || s.TiedHead || s.SourceVocab > 0 || s.Head != spec.LanguageHead {
		return nil
	}
	own := *s
	own.SourceVocab = s.Vocab
	p := spec.Param{Shape: []int{s.Vocab, s.Embedded()}}
	var names []string
	for _, param := range []string{"source-embedding", "embedding"} {
		ws, err := c.family.sources(&own, param)
		if err != nil {
			return err
		}
		found := c.present(ws)
		if len(found) == 0 {
			return nil
		}
		if err := c.checkShape(found[0], p); err != nil {
			return err
		}
		names = append(names, found[0].Tensor)
	}
	equal, err := c.equal(names[0], names[1])
	if err == nil && !equal {
		s.SourceVocab = s.Vocab
	}
	return err
}

// tiedHead records the tensors of a head that is tied to the embedding. Some programs save them
// anyway. If such a head differs from the embedding, it was not tied when the model was trained.
func (c *contents) tiedHead(embedding Weight, p spec.Param) error {
	heads, err := c.family.sources(c.spec, "head")
	if err != nil {
		return nil // the family has no untied head
	}
	for _, head := range c.present(heads) {
		if err := c.checkShape(head, p); err != nil {
			return err
		}
		c.doubles = append(c.doubles, double{
			first: embedding.Tensor, second: head.Tensor,
			tied: true,
		})
		c.read[head.Tensor] = true
	}
	return nil
}

// checkShape returns an error if a tensor does not have the shape that its parameter needs.
func (c *contents) checkShape(w Weight, p spec.Param) error {
	got, err := c.tensors.Shape(w.Tensor)
	if err != nil {
		return err
	}
	if want := w.Layout.shape(p.Shape, c.spec); !slices.Equal(got, want) {
		return pkg.Errorf("%s: tensor %s has shape %v; config.json makes it %v", c.file,
			w.Tensor, got, want)
	}
	return nil
}

// find returns the tensors in the file that a parameter may come from. There is at least one.
func (c *contents) find(param string) ([]Weight, error) {
	all, err := c.family.sources(c.spec, param)
	if err != nil {
		return nil, err
	}
	ws := slices.DeleteFunc(slices.Clone(all), func(w Weight) bool { return c.unused(w.Tensor) })
	stored := slices.DeleteFunc(slices.Clone(ws), func(w Weight) bool {
		return w.Layout.computed()
	})
	if found := c.present(stored); len(found) > 0 {
		return found, nil
	}
	for _, w := range ws {
		if w.Layout == RowOrZeros {
			w.Layout = absent
		}
		if w.Layout.computed() {
			return []Weight{w}, nil
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
		return nil, pkg.Errorf("%s: tensor %s is missing, and tie_word_embeddings of "+
			"config.json is false, so the embedding cannot be used instead", c.file, names)
	}
	if others := c.present(all); len(others) > 0 {
		return nil, pkg.Errorf("%s: tensor %s is missing; the file has %s, which this "+
			"model does not read: architectures or tie_word_embeddings of config.json belong to "+
			"another model", c.file, names, others[0].Tensor)
	}
	return nil, pkg.Errorf("%s: tensor %s is missing", c.file, names)
}

// present returns those of ws that the file has, under each of their possible names. A head is not
// part of the body, so its tensors may lack the prefix.
func (c *contents) present(ws []Weight) []Weight {
	prefixes := append([]string{c.prefix, ""}, c.family.Prefixes...)
	var found []Weight
	for _, w := range ws {
		for _, prefix := range prefixes {
			for _, name := range []string{prefix + w.Tensor, oldName(prefix + w.Tensor)} {
				known := slices.ContainsFunc(found, func(f Weight) bool { return f.Tensor == name })
				if c.names[name] && !known {
					found = append(found, Weight{w.Param, name, w.Layout})
				}
			}
		}
	}
	return found
}

// unused returns whether a model with this spec does not read a tensor in the table of the family.
func (c *contents) unused(tensor string) bool {
	return c.family.Unused != nil && c.family.Unused(c.spec, tensor)
}

// compareDoubles returns an error if two tensors for the same parameter differ.
func (c *contents) compareDoubles() error {
	for _, d := range c.doubles {
		equal, err := c.equal(d.first, d.second)
		if err != nil {
			return err
		}
		if equal {
			continue
		}
		if d.tied {
			return pkg.Errorf("%s: tensor %s differs from the embedding %s, but "+
				"tie_word_embeddings of config.json is true (its default here): one of the two "+
				"would be ignored; set tie_word_embeddings to false if the model has a head of "+
				"its own, or remove %s", c.file, d.second, d.first, d.second)
		}
		return pkg.Errorf("%s: tensors %s and %s differ and are for the same parameter: "+
			"one of the two would be ignored; remove the one that the model was not trained with",
			c.file, d.first, d.second)
	}
	return nil
}

// equal returns whether two tensors of the same shape have the same values. It reads both in pieces
// of [pieceSize] values. The size of a tensor has been checked against the file, so the loop is
// bounded.
func (c *contents) equal(a, b string) (bool, error) {
	shape, err := c.tensors.Shape(a)
	if err != nil {
		return false, err
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	x, y := make([]float32, min(n, pieceSize)), make([]float32, min(n, pieceSize))
	for first := 0; first < n; first += pieceSize {
		size := min(pieceSize, n-first)
		if err := c.tensors.Float32At(x[:size], a, first); err != nil {
			return false, err
		}
		if err := c.tensors.Float32At(y[:size], b, first); err != nil {
			return false, err
		}
		if !slices.Equal(x[:size], y[:size]) {
			return false, nil
		}
	}
	return true, nil
}

// oldName returns what the first checkpoints called the gain or the bias of a norm.
func oldName(name string) string {
	if stem, ok := strings.CutSuffix(name, "LayerNorm.weight"); ok {
		return stem + "LayerNorm.gamma"
	}
	if stem, ok := strings.CutSuffix(name, "LayerNorm.bias"); ok {
		return stem + "LayerNorm.beta"
	}
	return name
}

// sources returns the tensors that a parameter may come from, with the number of the layer.
func (f *Family) sources(s *spec.Spec, param string) ([]Weight, error) {
	if found := classTensors(s, param); found != nil {
		return found, nil
	}
	generic, numbers := genericParam(InStack(s, param))
	var found []Weight
	for _, w := range f.Weights {
		if w.Param == generic {
			w.Param = param
			// A tensor without numbers is the same in all layers.
			w.Tensor = fmt.Sprintf(w.Tensor, numbers[:strings.Count(w.Tensor, "%d")]...)
			found = append(found, w)
		}
	}
	if found == nil {
		return nil, pkg.Errorf("%s has no tensor for parameter %s", f.Name, param)
	}
	return found, nil
}

// genericParam returns the name of a parameter with %d for the numbers of its layer and its expert,
// and these numbers.
func genericParam(param string) (generic string, numbers []any) {
	parts := strings.Split(param, ".")
	for i, part := range parts {
		if n, err := strconv.Atoi(part); err == nil {
			parts[i], numbers = "%d", append(numbers, n)
		}
	}
	return strings.Join(parts, "."), numbers
}

// unread returns an error if a tensor that looks like a weight of the model was not read: a weight
// that the graph does not know would change the numbers.
func (c *contents) unread(names []string) error {
	for _, name := range names {
		if !c.read[name] && c.ofModel(name) && !c.ignorable(name) {
			return pkg.Errorf("%s: tensor %s has no place in the %s that config.json describes: "+
				"it would be ignored, and may change the numbers", c.file, cut(name), c.family.Name)
		}
	}
	return nil
}

// ofModel returns whether a tensor that was not read looks like a weight of this model: it is in a
// layer or has the prefix of the body; it is in the table of the family for the body; or it is the
// bias of a weight that was read, or the weight of a bias that was read.
func (c *contents) ofModel(name string) bool {
	plain := strings.TrimPrefix(name, c.prefix)
	switch {
	case c.family.inBlock(plain), c.prefix != "" && plain != name:
		return true
	case slices.ContainsFunc(c.family.Weights, func(w Weight) bool {
		return w.Tensor == plain && !strings.HasPrefix(w.Param,
			"head") && !strings.HasPrefix(w.Param, "classifier")
	}):
		return true
	}
	if stem, ok := strings.CutSuffix(name, ".bias"); ok {
		return c.read[stem+".weight"] || c.isHead(stem+".weight")
	}
	stem, ok := strings.CutSuffix(name, ".weight")
	return ok && c.read[stem+".bias"]
}

// isHead returns whether a tensor is the head of this model, by the table of the family.
func (c *contents) isHead(name string) bool {
	heads, err := c.family.sources(c.spec, "head")
	return err == nil && c.spec.Head == spec.LanguageHead &&
		slices.ContainsFunc(heads, func(w Weight) bool { return w.Tensor == name })
}

// ignorable returns whether a tensor is known to change nothing here: it is a buffer, or the pooler
// in front of a head that does not read it.
func (c *contents) ignorable(name string) bool {
	plain := strings.TrimPrefix(name, c.prefix)
	return strings.HasPrefix(plain, "pooler.") || c.unused(plain) ||
		slices.ContainsFunc(slices.Concat(buffers, c.family.Buffers),
			func(b string) bool { return strings.HasSuffix(name, b) })
}

// buffers are ends of the names of tensors that hold no weights, in every family: the numbers 0, 1,
// 2 … of positions, and token types that are all 0.
var buffers = []string{"embeddings.position_ids", "embeddings.token_type_ids"}

// inBlock returns whether a tensor belongs to a layer.
func (f *Family) inBlock(name string) bool {
	return slices.ContainsFunc(f.Weights, func(w Weight) bool {
		before, _, ok := strings.Cut(w.Tensor, "%d")
		return ok && strings.HasPrefix(name, before)
	})
}

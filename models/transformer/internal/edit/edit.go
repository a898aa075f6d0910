// Package edit places the edits of activations in the passes of a model: which rows of a tap, of
// which text and layer, are multiplied and added to.
package edit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
)

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

// An edit reaches a graph as two inputs for each tap that is edited in a layer: what the tap has is
// multiplied by the one, keep, and the other, value, is added. So the graph depends on which taps
// are edited alone, and layers without edits have the graphs of a run without. The residual stream
// is edited between the graphs of two layers, so that what is recorded, cached and read by the head
// is the edited stream.

// Key is the part of a graph's key that tells which taps are edited.
func Key(taps []trace.Tap) string {
	if len(taps) == 0 {
		return ""
	}
	return fmt.Sprintf(" edits of %v", taps)
}

// Axes are the sizes of a tap's tensor for one token in one layer: rows is how many heads or
// groups it has, 0 without such an axis, and width how many numbers each has, 0 for one of each
// source.
func Axes(s *spec.Spec, tap trace.Tap) (rows, width int) {
	switch tap {
	case trace.Attention:
		return s.Heads, 0
	case trace.QueryVector:
		return s.Heads, s.HeadWidth
	case trace.KeyVector:
		return s.Groups(), s.HeadWidth
	case trace.Value:
		return s.Groups(), s.ValueWidth()
	case trace.Context:
		return s.Heads, s.ValueWidth()
	case trace.HeadOutput:
		return s.Heads, s.Width
	case trace.Router:
		return 0, s.Experts()
	}
	return 0, s.Width
}

// Placed is an edit whose places were checked against the model. Its positions and sources
// count from 0.
type Placed struct {
	trace.Edit
	// strides are those of Value along layers, heads, positions and numbers: 0 along an axis that
	// it does not have, or that stands for all.
	strides [4]int
}

// Place checks the edits of a text of n tokens, which may grow to most, and places them.
func Place(s *spec.Spec, edits []trace.Edit, n, most int) ([]Placed, error) {
	placed := make([]Placed, len(edits))
	for i, e := range edits {
		if err := e.Check(); err != nil {
			return nil, &trace.EditError{Number: i, Err: err}
		}
		placed[i].Edit = e
		err := graph.HasTap(s, e.Tap)
		if err == nil {
			err = placed[i].place(s, n, most)
		}
		if err != nil {
			return nil, &trace.EditError{Number: i, Err: pkg.Errorf("edit of %s: %w", e, err)}
		}
	}
	return placed, nil
}

// place checks where the edit is and what value it has there.
func (e *Placed) place(s *spec.Spec, n, most int) error {
	layers, heads := s.Layers, s.Heads
	rows, width := Axes(s, e.Tap)
	if e.Tap == trace.Hidden {
		layers++
	}
	if rows == 0 {
		if heads = 0; len(e.Heads) > 0 {
			return errors.New("it has no heads")
		}
	}
	tokens := n
	if most > n {
		tokens = 1 // tokens to come have no value of their own
	}
	// How many numbers the value may have along each axis.
	var sizes [4]int
	for i, axis := range []struct {
		name            string
		places          *[]int
		from, most, all int
	}{
		{"layer", &e.Layers, 0, layers, layers}, {"head", &e.Heads, 0, heads, heads},
		{"position", &e.Positions, n, most, tokens}, {"source", &e.Sources, n, most, tokens},
	} {
		var err error
		if *axis.places, err = placesOf(axis.name, *axis.places, axis.from, axis.most); err != nil {
			return err
		}
		if sizes[i] = len(*axis.places); sizes[i] == 0 {
			sizes[i] = axis.all
		}
	}
	for _, l := range e.Layers {
		if e.Tap == trace.Router && s.MixtureOf(l) == nil {
			return fmt.Errorf("layer %d has no experts", l)
		}
	}
	if width > 0 {
		sizes[3] = width
	}
	if err := e.measure(sizes); err != nil {
		return err
	}
	return e.checkShared(heads, rows)
}

// placesOf returns the places that an edit names along an axis, nil for all, counted from 0. They
// are below most, and where they may count from an end, it is at end.
func placesOf(axis string, places []int, end, most int) (all []int, err error) {
	named := map[int]bool{}
	for _, at := range places {
		from := at
		if at < 0 {
			from += end
		}
		if from < 0 || from >= most {
			return nil, fmt.Errorf("%s %d is not in %d..%d", axis, at, -end, most-1)
		}
		if named[from] {
			return nil, fmt.Errorf("%s %d is named twice", axis, from)
		}
		named[from], all = true, append(all, from)
	}
	return all, nil
}

// measure sets the strides of the value for a place of those sizes, and takes the mean where one is
// asked for. Where there are 0 heads, the value has no axis of them, or one of size 1.
func (e *Placed) measure(sizes [4]int) error {
	shape := e.Shape
	if e.Change == trace.SetMean {
		e.Value, shape = meanOfRows(e.Value, shape[0]), shape[1:]
	}
	stride, k := 1, len(shape)-1
	for axis := 3; axis >= 0 && k >= 0; axis-- {
		if sizes[axis] == 0 {
			if sizes[axis] = 1; len(shape) < len(sizes) {
				continue
			}
		}
		if shape[k] != 1 && shape[k] != sizes[axis] {
			break
		}
		if shape[k] > 1 {
			e.strides[axis] = stride
		}
		stride *= shape[k]
		k--
	}
	if k < 0 {
		return nil
	}
	return fmt.Errorf("its value has the shape %v, and layers, heads, positions and numbers of "+
		"the place are %v; where text is generated, name positions that have values of their own",
		shape, sizes)
}

// meanOfRows is the mean of n rows that are one after the other.
func meanOfRows(x []float32, n int) []float32 {
	mean := make([]float32, len(x)/n)
	for i := range mean {
		sum := 0.0
		for at := i; at < len(x); at += len(mean) {
			sum += float64(x[at])
		}
		mean[i] = float32(sum / float64(n))
	}
	return mean
}

// checkShared returns an error unless heads that share a row of the tap, a key or a value, are
// edited together and alike.
func (e *Placed) checkShared(heads, rows int) error {
	for h := range heads {
		first := h / (heads / rows) * (heads / rows)
		if h == first {
			continue
		}
		i, j := placeOf(e.Heads, first), placeOf(e.Heads, h)
		if (i < 0) != (j < 0) {
			return fmt.Errorf("heads %d to %d share it; name all of them or none", first,
				first+heads/rows-1)
		}
		stride, all := e.strides[1], len(e.Heads)
		if all == 0 {
			all = heads
		}
		for at := range e.Value {
			if stride > 0 && at/stride%all == i && e.Value[at] != e.Value[at+(j-i)*stride] {
				return fmt.Errorf("heads %d and %d share it, and have different values", first, h)
			}
		}
	}
	return nil
}

// placeOf returns where places, nil for all, have one; -1 if they do not.
func placeOf(places []int, at int) int {
	if places == nil {
		return at
	}
	return slices.Index(places, at)
}

// indexesOf returns what [placeOf] does for n places from first on, [n], in one look at places.
func indexesOf(places []int, first, n int) []int {
	all := make([]int, n)
	for i := range all {
		if all[i] = -1; places == nil {
			all[i] = first + i
		}
	}
	for k, at := range places {
		if at >= first && at < first+n {
			all[at-first] = k
		}
	}
	return all
}

// factors returns what the change multiplies by, and the factor of the value that it adds.
func (e *Placed) factors() (keep, add float32) {
	switch e.Change {
	case trace.Scale:
		return float32(e.Factor), 0
	case trace.AddValue:
		return 1, float32(e.Factor)
	case trace.SetZero:
		return 0, 0
	}
	return 0, 1
}

// Kept is the factor by which edits multiply a tap without heads in layer l at a position, 1
// without edits.
func Kept(edits []Placed, tap trace.Tap, l, position int) float32 {
	factor := float32(1)
	for _, e := range edits {
		if e.Tap == tap && placeOf(e.Layers, l) >= 0 && placeOf(e.Positions, position) >= 0 {
			keep, _ := e.factors()
			factor *= keep
		}
	}
	return factor
}

// Pass are the edits of a pass; nil without any. Row r of text i is position
// first+r-begins[i].
type Pass struct {
	machine *program.Machine
	spec    *spec.Spec
	// texts has the edits of each text, lengths how many of its tokens the pass has.
	texts           [][]Placed
	begins, lengths []int
	// first is the position of the first token, rows the rows of each text with padding, and slots
	// the number of sources with padding; sources that without, 0 where the last is a target.
	first, rows, slots, sources int
}

// OnCache returns the edits of a pass over n tokens of the only text from position first on, which
// has so many rows and sources with padding; nil without edits.
func OnCache(
	machine *program.Machine, s *spec.Spec, edits []Placed, first, n, rows, slots int,
) *Pass {
	if edits == nil {
		return nil
	}
	return &Pass{
		machine: machine, spec: s, texts: [][]Placed{edits}, begins: []int{0}, lengths: []int{n},
		first: first, rows: rows, slots: slots,
	}
}

// WholeTexts places the edits of the texts of a pass over whole texts of so many rows. Text i has
// lengths[i] tokens from row begins[i] on.
func WholeTexts(
	machine *program.Machine, s *spec.Spec, edits [][]trace.Edit, begins, lengths []int, rows int,
) (*Pass, error) {
	p := &Pass{
		machine: machine, spec: s, begins: begins, lengths: lengths, rows: rows, slots: rows,
	}
	for i, n := range lengths {
		placed, err := Place(s, edits[i], n, n)
		if err != nil && len(lengths) > 1 {
			err = fmt.Errorf("text %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		p.texts = append(p.texts, placed)
	}
	return p, nil
}

// edited reports whether an edit of a text changes a tap of layer l in the pass, or, on the cache,
// in a later one: steps would otherwise change their graphs with every position.
func (p *Pass) edited(tap trace.Tap, l int) bool {
	for i, edits := range p.texts {
		reached := func(at int) bool {
			return at >= p.first && (p.first > 0 || at < p.lengths[i])
		}
		for _, e := range edits {
			if e.Tap == tap && placeOf(e.Layers, l) >= 0 &&
				(e.Positions == nil || slices.ContainsFunc(e.Positions, reached)) {
				return true
			}
		}
	}
	return false
}

// Begins returns the first of so many layers that computes something else than without edits, the
// last one if none does. An edit of the stream changes it before a layer, or after the last one.
func (p *Pass) Begins(layers int) int {
	if p == nil {
		return 0
	}
	first := layers - 1
	for _, edits := range p.texts {
		for _, e := range edits {
			if e.Layers == nil {
				return 0
			}
			first = min(first, slices.Min(e.Layers))
		}
	}
	return first
}

// Tile is the edits of n targets of the only text from position at on, of which a pass has so many
// rows and slots with padding.
func (p *Pass) Tile(at, n, rows, slots int) *Pass {
	if p == nil {
		return nil
	}
	return &Pass{
		machine: p.machine, spec: p.spec, texts: p.texts, begins: []int{0}, lengths: []int{n},
		first: at, rows: rows, slots: slots, sources: min(p.lengths[0], slots),
	}
}

// taps returns which taps are edited inside layer l.
func (p *Pass) taps(l int) (taps []trace.Tap) {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(trace.EditableTaps(), func(tap trace.Tap) bool {
		return tap == trace.Hidden || !p.edited(tap, l) ||
			tap == trace.Router && p.spec.MixtureOf(l) == nil
	})
}

// Layer returns which taps are edited inside layer l, and the inputs of its graph for them.
func (p *Pass) Layer(l int) (taps []trace.Tap, in []*tensors.Tensor, err error) {
	taps = p.taps(l)
	for _, tap := range taps {
		made, err := p.inputs(tap, l)
		if err != nil {
			host.Free(in...)
			return nil, nil, err
		}
		in = append(in, made...)
	}
	return taps, in, nil
}

// ProgramOf returns which taps are edited in a layer, and the shapes of what [Pass.Layer]
// makes for them.
func (p *Pass) ProgramOf(l int) (taps []trace.Tap, in []shapes.Shape) {
	taps = p.taps(l)
	for _, tap := range taps {
		shapes := p.shapes(tap)
		in = append(in, shapes[:]...)
	}
	return taps, in
}

// shapes are those of [graph.EditNodes] for a tap: of keep and of value.
func (p *Pass) shapes(tap trace.Tap) [2]shapes.Shape {
	heads, width := Axes(p.spec, tap)
	dims, kept := []int{len(p.texts), heads, p.rows}, 1
	if tap == trace.Attention {
		width, kept = p.slots, p.slots
	}
	if heads == 0 {
		dims = slices.Delete(dims, 1, 2)
	}
	return [2]shapes.Shape{
		shapes.Make(dtypes.Float32, append(slices.Clone(dims), kept)...),
		shapes.Make(dtypes.Float32, append(dims, width)...),
	}
}

// Stream returns the residual stream x before layer l, [B,N,D], under the edits of [trace.Hidden];
// after the last layer, l is L. It frees x if it returns another one, or an error.
func (p *Pass) Stream(l int, x *tensors.Tensor) (*tensors.Tensor, error) {
	return p.streamWith(l, x, "edit of the stream", graph.EditNodes.Of)
}

// StreamBack is [Pass.Stream] for the derivative by the stream, [B,N,D]: it returns that by
// the stream before the edits for that by the stream after them.
func (p *Pass) StreamBack(l int, d *tensors.Tensor) (*tensors.Tensor, error) {
	return p.streamWith(l, d, "edit of the stream, back", func(e graph.EditNodes, d *Node) *Node {
		return Mul(d, e.Keep)
	})
}

// streamWith applies the edits of the stream before layer l to x as of says.
func (p *Pass) streamWith(l int, x *tensors.Tensor, what string,
	of func(e graph.EditNodes, x *Node) *Node,
) (*tensors.Tensor, error) {
	if p == nil || !p.edited(trace.Hidden, l) {
		return x, nil
	}
	defer host.Free(x)
	in, err := p.inputs(trace.Hidden, l)
	if err != nil {
		return nil, err
	}
	defer host.Free(in...)
	return host.Only(p.machine.Run(what, codes.NoWeights,
		func(_ codes.Weights, in []*Node) []*Node {
			return []*Node{of(graph.EditNodes{Keep: in[1], Value: in[2]}, in[0])}
		}, x, in[0], in[1]))
}

// inputs makes the tensors of [graph.EditNodes] for a tap of layer l.
func (p *Pass) inputs(tap trace.Tap, l int) ([]*tensors.Tensor, error) {
	sizes := p.shapes(tap)
	keep := slices.Repeat([]float32{1}, sizes[0].Size())
	value := make([]float32, sizes[1].Size())
	for i, edits := range p.texts {
		for _, e := range edits {
			if e.Tap == tap && placeOf(e.Layers, l) >= 0 {
				p.compose(keep, value, i, l, e)
			}
		}
	}
	var made []*tensors.Tensor
	for i, data := range [][]float32{keep, value} {
		t, err := p.machine.Filled(sizes[i].Dimensions, func(to []float32) { copy(to, data) })
		if err != nil {
			host.Free(made...)
			return nil, err
		}
		made = append(made, t)
	}
	return made, nil
}

// compose makes an edit of text i in layer l act on what keep and value do by then.
func (p *Pass) compose(keep, value []float32, i, l int, e Placed) {
	heads, width := Axes(p.spec, e.Tap)
	rows, numbers, kept, begin := max(1, heads), width, 1, 0
	if e.Tap == trace.Attention {
		numbers, width, kept, begin = p.first+p.lengths[i], p.slots, p.slots, p.begins[i]
		if p.sources > 0 {
			numbers = p.sources
		}
	}
	factor, add := e.factors()
	positions := indexesOf(e.Positions, p.first, p.lengths[i])
	sources := indexesOf(e.Sources, 0, numbers)
	for h := range rows {
		head := placeOf(e.Heads, h*p.spec.Heads/rows)
		for t, position := range positions {
			if head < 0 || position < 0 {
				continue
			}
			row := (i*rows+h)*p.rows + p.begins[i] + t
			from := placeOf(e.Layers, l)*e.strides[0] + head*e.strides[1] + position*e.strides[2]
			for c, k := range sources {
				if k < 0 {
					continue
				}
				if c < kept {
					keep[row*kept+begin+c] *= factor
				}
				x := &value[row*width+begin+c]
				if *x *= factor; add != 0 {
					*x += add * e.Value[from+k*e.strides[3]]
				}
			}
		}
	}
}

// Taps are the taps that edits of any text change, each once.
func Taps(texts ...[]trace.Edit) (all []trace.Tap) {
	for _, edits := range texts {
		for _, e := range edits {
			if !slices.Contains(all, e.Tap) {
				all = append(all, e.Tap)
			}
		}
	}
	return all
}

// Values returns how many numbers the values of edits have. Those that end in the same number
// share their memory and count once.
func Values(texts ...[]trace.Edit) (n int) {
	ends := map[*float32]int{}
	for _, edits := range texts {
		for _, e := range edits {
			if len(e.Value) > 0 {
				end := &e.Value[len(e.Value)-1]
				n += max(0, len(e.Value)-ends[end])
				ends[end] = max(ends[end], len(e.Value))
			}
		}
	}
	return n
}

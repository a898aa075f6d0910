package transformer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// An edit reaches a graph as two inputs for each tap that is edited in a layer: what the tap has is
// multiplied by the one, keep, and the other, value, is added. So the graph depends on which taps
// are edited alone, and layers without edits have the graphs of a run without.

// editNodes are the inputs of a graph for one tap. keep is [B,(H,)N,1], of attention [B,H,N,S];
// value has the shape of the tap. Keys and values have groups in place of heads.
type editNodes struct{ keep, value *Node }

// of is x under the edit. x may have other axes before its last than the inputs.
func (e editNodes) of(x *Node) *Node {
	dims := x.Shape().Dimensions
	keep := slices.Clone(dims)
	keep[len(keep)-1] = e.keep.Shape().Dimensions[e.keep.Rank()-1]
	return Add(Mul(x, Reshape(e.keep, keep...)), Reshape(e.value, dims...))
}

// cutEdits takes the inputs of edits of those taps off the end of those of a graph.
func cutEdits(in []*Node, taps []trace.Tap) ([]*Node, map[trace.Tap]editNodes) {
	edits := map[trace.Tap]editNodes{}
	own := len(in) - 2*len(taps)
	for i, tap := range taps {
		edits[tap] = editNodes{keep: in[own+2*i], value: in[own+2*i+1]}
	}
	return in[:own], edits
}

// editsKey is the part of a graph's key that tells which taps are edited.
func editsKey(taps []trace.Tap) string {
	if len(taps) == 0 {
		return ""
	}
	return fmt.Sprintf(" edits of %v", taps)
}

// editAxes are the sizes of a tap's tensor for one token in one layer: rows is how many heads or
// groups it has, 0 without such an axis, and width how many numbers each has, 0 for one of each
// source.
func (m *Model) editAxes(tap trace.Tap) (rows, width int) {
	s := m.Spec
	switch tap {
	case trace.Attention:
		return s.Heads, 0
	case trace.QueryVector, trace.Context:
		return s.Heads, s.HeadWidth
	case trace.KeyVector, trace.Value:
		return s.Groups(), s.HeadWidth
	case trace.HeadOutput:
		return s.Heads, s.Width
	case trace.Router:
		return 0, s.Experts()
	}
	return 0, s.Width
}

// placedEdit is an edit whose places were checked against the model. Positions and Sources count
// from 0 and are nil for all; Layers and Heads name all that are edited. Of heads that share a key
// the first is left.
type placedEdit struct {
	trace.Edit
	// value has the strides of Value: [layers,heads,positions,width], 0 along an axis that it does
	// not have or that stands for all.
	strides [4]int
	// headAt is where Value has each of Heads.
	headAt []int
}

// placeEdits checks the edits of a text of n tokens, which may grow to most, and places them.
func (m *Model) placeEdits(edits []trace.Edit, n, most int) ([]placedEdit, error) {
	placed := make([]placedEdit, len(edits))
	for i, e := range edits {
		if err := e.Check(); err != nil {
			return nil, err
		}
		p, err := m.placeEdit(e, n, most)
		if err != nil {
			return nil, pkg.Errorf("edit of %s: %w", e, err)
		}
		placed[i] = *p
	}
	return placed, nil
}

func (m *Model) placeEdit(e trace.Edit, n, most int) (*placedEdit, error) {
	s := m.Spec
	if err := m.hasTap(e.Tap); err != nil {
		return nil, err
	}
	layers := s.Layers
	if e.Tap == trace.Hidden {
		layers++
	}
	var errs [4]error
	p := &placedEdit{Edit: e}
	p.Layers, errs[0] = placesOf("layer", e.Layers, layers, layers, false)
	rows, width := m.editAxes(e.Tap)
	p.Heads = nil
	if rows == 0 && len(e.Heads) > 0 {
		return nil, errors.New("it has no heads")
	}
	if rows > 0 {
		p.Heads, errs[1] = placesOf("head", e.Heads, s.Heads, s.Heads, false)
	}
	p.Positions, errs[2] = placesOf("position", e.Positions, n, most, true)
	p.Sources, errs[3] = placesOf("source", e.Sources, n, most, true)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for _, l := range e.Layers {
		if e.Tap == trace.Router && s.MixtureOf(l) == nil {
			return nil, fmt.Errorf("layer %d has no experts", l)
		}
	}
	named := func(places []int) int { // how many numbers a value may have along the axis
		switch {
		case len(places) > 0:
			return len(places)
		case most > n: // tokens to come have none
			return 1
		}
		return n
	}
	if e.Tap == trace.Attention {
		width = named(p.Sources)
	}
	if err := p.measure([]int{len(p.Layers), len(p.Heads), named(p.Positions), width},
		most > n); err != nil {
		return nil, err
	}
	return p, p.joinGroups(s)
}

// placesOf returns the places that an edit names along an axis of so many, and of most in the end;
// those that count from the end, if that is allowed, from the start. None means all, which is nil
// where fromEnd and else each.
func placesOf(axis string, places []int, n, most int, fromEnd bool) ([]int, error) {
	if len(places) == 0 && !fromEnd {
		for i := range n {
			places = append(places, i)
		}
		return places, nil
	}
	var all []int
	for _, at := range places {
		from := at
		if fromEnd && at < 0 {
			from += n
		}
		if from < 0 || from >= most {
			if fromEnd {
				return nil, fmt.Errorf("%s %d is not in %d..%d, the tokens of the text", axis, at,
					-n, most-1)
			}
			return nil, fmt.Errorf("%s %d is not in 0..%d", axis, at, most-1)
		}
		if slices.Contains(all, from) {
			return nil, fmt.Errorf("%s %d is named twice", axis, from)
		}
		all = append(all, from)
	}
	return all, nil
}

// measure sets the strides of the value for a place of those sizes, of which heads may be 0, and
// takes the mean where one is asked for. grows is whether the text does.
func (p *placedEdit) measure(sizes []int, grows bool) error {
	shape := p.Shape
	if p.Change == trace.SetMean {
		p.Value, shape = meanOfRows(p.Value, shape[0]), shape[1:]
	}
	if len(p.Value) == 0 {
		return nil
	}
	stride, k := 1, len(shape)-1
	for axis := 3; axis >= 0; axis-- {
		if axis == 1 && sizes[axis] == 0 || k < 0 {
			continue
		}
		if shape[k] != 1 && shape[k] != sizes[axis] {
			break
		}
		if shape[k] > 1 {
			p.strides[axis] = stride
		}
		stride *= shape[k]
		k--
	}
	if k >= 0 {
		place := fmt.Sprintf("[%d,%d,%d]", sizes[0], sizes[2], sizes[3])
		if sizes[1] > 0 {
			place = fmt.Sprintf("[%d,%d,%d,%d]", sizes[0], sizes[1], sizes[2], sizes[3])
		}
		more := ""
		if grows {
			more = "; tokens that are generated have no value of their own, so name the positions"
		}
		return fmt.Errorf("its value has the shape %v, and the place has %s (layers, heads if it "+
			"has any, positions, numbers)%s", shape, place, more)
	}
	return nil
}

// meanOfRows is the mean of n rows that are one after the other.
func meanOfRows(x []float32, n int) []float32 {
	width := len(x) / n
	mean := make([]float32, width)
	for i := range mean {
		sum := 0.0
		for r := range n {
			sum += float64(x[r*width+i])
		}
		mean[i] = float32(sum / float64(n))
	}
	return mean
}

// joinGroups leaves the first head of each group that shares a key or a value, numbered as the
// group. All heads of a group must be named, and have one value.
func (p *placedEdit) joinGroups(s *spec.Spec) error {
	for i := range p.Heads {
		p.headAt = append(p.headAt, i)
	}
	if p.Tap != trace.KeyVector && p.Tap != trace.Value || s.Groups() == s.Heads {
		return nil
	}
	each := s.Heads / s.Groups()
	var groups, at []int
	for g := range s.Groups() {
		first := slices.Index(p.Heads, g*each)
		for h := g * each; h < (g+1)*each; h++ {
			i := slices.Index(p.Heads, h)
			if (i < 0) != (first < 0) {
				return fmt.Errorf("heads %d to %d share it; name all of them or none", g*each,
					(g+1)*each-1)
			}
			if i >= 0 && !p.sameValue(first, i) {
				return fmt.Errorf("heads %d and %d share it, and have different values", g*each, h)
			}
		}
		if first >= 0 {
			groups, at = append(groups, g), append(at, first)
		}
	}
	p.Heads, p.headAt = groups, at
	return nil
}

// sameValue reports whether the value is the same for the heads that it has at places i and j.
func (p *placedEdit) sameValue(i, j int) bool {
	stride := p.strides[1]
	for at := range p.Value {
		if stride > 0 && at/stride%len(p.Heads) == i && p.Value[at] != p.Value[at+(j-i)*stride] {
			return false
		}
	}
	return true
}

// factors returns what the change multiplies by, and the factor of the value that it adds.
func (p *placedEdit) factors() (keep, add float32) {
	switch p.Change {
	case trace.Scale:
		return float32(p.Factor), 0
	case trace.AddValue:
		return 1, float32(p.Factor)
	case trace.SetZero:
		return 0, 0
	}
	return 0, 1
}

// passEdits are the edits of a pass; nil without any. Row r of text i is position
// first+r-begins[i].
type passEdits struct {
	m *Model
	// texts has the edits of each text, lengths how many of its tokens the pass has.
	texts           [][]placedEdit
	begins, lengths []int
	// first is the position of the first token, rows the rows of each text with padding, and slots
	// the number of sources.
	first, rows, slots int
}

// inside returns which tokens of a text in the pass are at one of places, all if places is nil, and
// the index of each among these.
func (p *passEdits) inside(text int, places []int) (at []int, index []int) {
	for i := range p.lengths[text] {
		k := p.first + i
		if places != nil {
			k = slices.Index(places, k)
		}
		if k >= 0 {
			at, index = append(at, i), append(index, k)
		}
	}
	return at, index
}

// edited reports whether an edit of a text changes a tap of layer l in the pass, or, on the cache,
// in a later one: steps would otherwise change their graphs with every position.
func (p *passEdits) edited(tap trace.Tap, l int) bool {
	for i, edits := range p.texts {
		reached := func(at int) bool {
			return at >= p.first && (p.first > 0 || at < p.lengths[i])
		}
		for _, e := range edits {
			if e.Tap == tap && slices.Contains(e.Layers, l) &&
				(e.Positions == nil || slices.ContainsFunc(e.Positions, reached)) {
				return true
			}
		}
	}
	return false
}

// layer returns which taps are edited inside layer l, and the inputs of its graph for them.
func (p *passEdits) layer(l int) (taps []trace.Tap, in []*tensors.Tensor, err error) {
	if p == nil {
		return nil, nil, nil
	}
	for _, tap := range trace.EditableTaps() {
		if tap == trace.Hidden || !p.edited(tap, l) ||
			tap == trace.Router && p.m.Spec.MixtureOf(l) == nil {
			continue
		}
		made, err := p.inputs(tap, l)
		if err != nil {
			free(in...)
			return nil, nil, err
		}
		taps, in = append(taps, tap), append(in, made...)
	}
	return taps, in, nil
}

// stream returns the residual stream x before layer l, [B,N,D], under the edits of [trace.Hidden];
// after the last layer, l is L. It frees x if it returns another one, or an error.
func (p *passEdits) stream(l int, x *tensors.Tensor) (*tensors.Tensor, error) {
	if p == nil || !p.edited(trace.Hidden, l) {
		return x, nil
	}
	defer free(x)
	in, err := p.inputs(trace.Hidden, l)
	if err != nil {
		return nil, err
	}
	defer free(in...)
	return only(p.m.run("edit of the stream", noWeights, func(_ byName, in []*Node) []*Node {
		return []*Node{editNodes{keep: in[1], value: in[2]}.of(in[0])}
	}, x, in[0], in[1]))
}

// inputs makes the tensors of [editNodes] for a tap of layer l.
func (p *passEdits) inputs(tap trace.Tap, l int) ([]*tensors.Tensor, error) {
	heads, width := p.m.editAxes(tap)
	kept := 1
	if tap == trace.Attention {
		width, kept = p.slots, p.slots
	}
	dims := []int{len(p.texts), p.rows, kept}
	if heads > 0 {
		dims = []int{len(p.texts), heads, p.rows, kept}
	}
	keep, value := p.arrays(tap, l, max(1, heads), kept, width)
	var made []*tensors.Tensor
	for _, data := range [][]float32{keep, value} {
		t, err := p.m.filled(dims, func(to []float32) { copy(to, data) })
		if err != nil {
			free(made...)
			return nil, err
		}
		made, dims = append(made, t), append(slices.Clone(dims[:len(dims)-1]), width)
	}
	return made, nil
}

// arrays are the numbers of [editNodes] for a tap of layer l: keep [B,heads,N,kept] and value
// [B,heads,N,width].
func (p *passEdits) arrays(tap trace.Tap, l, heads, kept, width int) (keep, value []float32) {
	rows := len(p.texts) * heads * p.rows
	keep, value = make([]float32, rows*kept), make([]float32, rows*width)
	for i := range keep {
		keep[i] = 1
	}
	for i, edits := range p.texts {
		for _, e := range edits {
			layer := slices.Index(e.Layers, l)
			if e.Tap != tap || layer < 0 {
				continue
			}
			at, index := p.inside(i, e.Positions)
			for k, h := range e.rows() {
				for j, row := range at {
					row = (i*heads+h)*p.rows + p.begins[i] + row
					from := layer*e.strides[0] + e.headIndex(k)*e.strides[1] + index[j]*e.strides[2]
					e.change(keep[row*kept:(row+1)*kept], value[row*width:(row+1)*width], from,
						p.sources(i, e))
				}
			}
		}
	}
	return keep, value
}

// rows are the heads or groups of the edit, one for a tap without.
func (p *placedEdit) rows() []int {
	if p.Heads == nil {
		return []int{0}
	}
	return p.Heads
}

// headIndex is where the value has head k of [placedEdit.rows].
func (p *placedEdit) headIndex(k int) int {
	if p.Heads == nil {
		return 0
	}
	return p.headAt[k]
}

// sources returns for each number of a row of the tap where the value has it, -1 for those that the
// edit leaves as they are: of attention each source, else each component, which is nil.
func (p *passEdits) sources(text int, e placedEdit) []int {
	if e.Tap != trace.Attention {
		return nil
	}
	at := slices.Repeat([]int{-1}, p.slots)
	for s := range p.first + p.lengths[text] {
		at[p.begins[text]+s] = s
		if e.Sources != nil {
			at[p.begins[text]+s] = slices.Index(e.Sources, s)
		}
	}
	return at
}

// change composes the edit with what is in keep [1 or S] and value [width] of one row: its own
// value is that from index from on, whose numbers are at sources, or one after the other.
func (p *placedEdit) change(keep, value []float32, from int, sources []int) {
	factor, add := p.factors()
	for c := range value {
		k := c
		if sources != nil {
			if k = sources[c]; k < 0 {
				continue
			}
			keep[c] *= factor
		}
		value[c] *= factor
		if add != 0 {
			value[c] += add * p.Value[from+k*p.strides[3]]
		}
	}
	if sources == nil {
		keep[0] *= factor
	}
}

// wholeTexts places the edits of the texts of a pass over whole texts of so many rows.
func (m *Model) wholeTexts(batch Batch, rows int) (*passEdits, error) {
	if batch.Edits == nil {
		return nil, nil
	}
	if len(batch.Edits) != len(batch.IDs) {
		return nil, pkg.Errorf("edits of %d texts for %d", len(batch.Edits), len(batch.IDs))
	}
	p := &passEdits{m: m, rows: rows, slots: rows}
	for i, ids := range batch.IDs {
		placed, err := m.placeEdits(batch.Edits[i], len(ids), len(ids))
		if err != nil && len(batch.IDs) > 1 {
			err = fmt.Errorf("text %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		p.texts = append(p.texts, placed)
		p.begins = append(p.begins, batch.begin(i, batch.longest()))
		p.lengths = append(p.lengths, len(ids))
	}
	return p, nil
}

// mostTokens is how many tokens a text may have where nothing is known about its end.
func (m *Model) mostTokens() int {
	if m.Spec.Context > 0 {
		return m.Spec.Context
	}
	return math.MaxInt
}

// editedTaps are the taps that edits of any text change, each once.
func editedTaps(texts ...[]trace.Edit) (all []trace.Tap) {
	for _, edits := range texts {
		for _, e := range edits {
			if !slices.Contains(all, e.Tap) {
				all = append(all, e.Tap)
			}
		}
	}
	return all
}

// checkEditedTaps returns an error for a tap that is not recorded under these edits.
func checkEditedTaps(wanted []trace.Tap, edits [][]trace.Edit) error {
	edited := editedTaps(edits...)
	if len(edited) > 0 && slices.Contains(wanted, trace.ValueZeroing) {
		return pkg.Errorf("%s runs blocks again, without the edits; take another tap",
			trace.ValueZeroing)
	}
	if slices.Contains(edited, trace.QueryVector) && slices.Contains(wanted, trace.Terms) {
		return pkg.Errorf("%s are parts of queries, and an edit replaces queries; take %s",
			trace.Terms, trace.Scores)
	}
	return nil
}

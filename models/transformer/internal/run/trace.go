package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Batch is several texts for one pass; shorter ones are padded to the longest. If a rotary
// embedding depends on the length of the text (long-context Phi-3 models, dynamic scaling), the
// longest text decides for all, as in the reference implementation.
type Batch struct {
	IDs [][]int
	// Types are the token types of each text; nil means type 0 everywhere.
	Types [][]int
	// Edits are the edits of each text, in their order; nil for none. Each text has its own, so
	// that one pass can run a text under many edits.
	Edits [][]trace.Edit
	// PadLeft puts the padding before a text instead of after it, as batched generation needs. It
	// changes no number.
	PadLeft bool
}

// Trace implements [transformer.Model.Trace].
func (m *Model) Trace(ctx context.Context, ids []int, wanted []trace.Tap) ([]trace.Tensor, error) {
	texts, err := m.Forward(ctx, Batch{IDs: [][]int{ids}}, wanted)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// Forward implements [transformer.Model.Forward].
func (m *Model) Forward(ctx context.Context, batch Batch,
	wanted []trace.Tap,
) ([][]trace.Tensor, error) {
	if len(batch.IDs) == 0 {
		return nil, pkg.Errorf("the batch has no texts")
	}
	if batch.PadLeft && !m.Spec.Causal() {
		return nil, pkg.Errorf("%s has an encoder: pad its texts on the right", m.Spec.Family)
	}
	for i, ids := range batch.IDs {
		if err := CheckIDs(m.Spec, ids); err != nil {
			if len(batch.IDs) == 1 {
				return nil, err
			}
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	if err := CheckTypes(m.Spec, batch); err != nil {
		return nil, err
	}
	inGraph, err := tapsInGraph(m.Spec, wanted)
	if err != nil {
		return nil, err
	}
	if err := checkEditedTaps(wanted, batch.Edits); err != nil {
		return nil, err
	}
	edits, err := m.WholeTexts(batch, m.Padded(batch.longest()))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, pkg.Errorf("stopped before the pass: %w", err)
	}
	// Before anything is computed: a batch that does not fit should fail at once, and not after
	// minutes.
	pass := Need{
		Tokens: batch.longest(), Texts: len(batch.IDs), Taps: wanted,
		Edits: batch.Edits,
	}
	if err := m.CheckMemory(pass); err != nil {
		return nil, err
	}
	recorded, err := m.record(ctx, batch, edits, inGraph)
	if err != nil {
		return nil, err
	}
	// recorded has each tap once, but wanted may name one twice. Value Zeroing costs a pass for
	// each pair of tokens, so it runs text by text, in tiles.
	out := make([][]trace.Tensor, len(batch.IDs))
	for i, ids := range batch.IDs {
		for _, name := range wanted {
			if name != trace.ValueZeroing {
				at := slices.IndexFunc(recorded[i],
					func(t trace.Tensor) bool { return t.Name == string(name) })
				out[i] = append(out[i], recorded[i][at])
				continue
			}
			var types []int
			if batch.Types != nil {
				types = batch.Types[i]
			}
			var own []trace.Edit
			if batch.Edits != nil {
				own = batch.Edits[i]
			}
			read, err := m.Read(ctx, ids, types, []trace.MixingAsk{{Name: string(name)}},
				own, nil)
			if err != nil {
				return nil, err
			}
			read.Close()
			rows := read.Rows[0]
			out[i] = append(out[i], trace.Tensor{
				Name: string(name), Axes: "LTS",
				Shape: []int{rows.L, rows.N, rows.S}, Data: rows.Data,
			})
		}
	}
	return out, nil
}

// CheckTypes returns an error if the token types do not fit the texts of a batch or the model.
func CheckTypes(s *spec.Spec, batch Batch) error {
	if batch.Types == nil {
		return nil
	}
	if len(batch.Types) != len(batch.IDs) {
		return pkg.Errorf("token types of %d texts for %d", len(batch.Types), len(batch.IDs))
	}
	for i, types := range batch.Types {
		if len(types) != len(batch.IDs[i]) {
			return pkg.Errorf("text %d: %d token types for %d tokens", i, len(types),
				len(batch.IDs[i]))
		}
		for t, k := range types {
			if k < 0 || k >= s.TokenTypes {
				return pkg.Errorf("text %d: type %d of token %d is not in 0..%d", i, k,
					t, s.TokenTypes-1)
			}
		}
	}
	return nil
}

// tapsInGraph returns the taps that the graphs of one pass record, each once.
func tapsInGraph(s *spec.Spec, wanted []trace.Tap) ([]trace.Tap, error) {
	var in []trace.Tap
	for _, name := range wanted {
		if !slices.Contains(trace.Taps(), name) {
			return nil, unknownTap(name)
		}
		if err := graph.HasTap(s, name); err != nil {
			return nil, err
		}
		if _, ok := graph.Taps[name]; ok && !slices.Contains(in, name) {
			in = append(in, name)
		}
	}
	return in, nil
}

func unknownTap(name trace.Tap) error {
	return pkg.Errorf("tap %.60q is unknown; %s", name, message.KnownAre(name, trace.Taps()))
}

// checkEditedTaps returns an error for a tap that is not recorded under these edits.
func checkEditedTaps(wanted []trace.Tap, edits [][]trace.Edit) error {
	edited := edit.Taps(edits...)
	if slices.Contains(edited, trace.QueryVector) && slices.Contains(wanted, trace.Terms) {
		return pkg.Errorf("%s are parts of queries, and an edit replaces queries; take %s",
			trace.Terms, trace.Scores)
	}
	return nil
}

// WholeTexts places the edits of the texts of a pass over whole texts of so many rows.
func (m *Model) WholeTexts(batch Batch, rows int) (*edit.Pass, error) {
	if batch.Edits == nil {
		return nil, nil
	}
	if len(batch.Edits) != len(batch.IDs) {
		return nil, pkg.Errorf("edits of %d texts for %d", len(batch.Edits), len(batch.IDs))
	}
	var begins, lengths []int
	for i, ids := range batch.IDs {
		begins = append(begins, batch.begin(i, batch.longest()))
		lengths = append(lengths, len(ids))
	}
	return edit.WholeTexts(m.Machine, m.Spec, batch.Edits, begins, lengths, rows)
}

// record runs one pass over a batch and returns for each text one tensor per tap.
func (m *Model) record(ctx context.Context, batch Batch, edits *edit.Pass,
	wanted []trace.Tap,
) ([][]trace.Tensor, error) {
	if len(wanted) == 0 {
		return make([][]trace.Tensor, len(batch.IDs)), nil
	}
	r := &recorder{m: m, batch: batch, edits: edits, wanted: wanted, longest: batch.longest()}
	r.out = make([][]trace.Tensor, len(batch.IDs))
	if err := r.run(ctx); err != nil {
		return nil, pkg.Errorf("%s pass of %d texts of up to %d tokens: %w",
			m.Spec.Family, len(batch.IDs), r.longest, err)
	}
	return r.out, nil
}

// recorder is a pass that records taps. While a layer runs, another goroutine copies the taps of
// the layer before it to the host, without the padding.
type recorder struct {
	m       *Model
	batch   Batch
	longest int
	wanted  []trace.Tap
	edits   *edit.Pass
	// out is what was recorded: for each text a tensor per tap.
	out     [][]trace.Tensor
	copying job
}

// job is work that another goroutine does, one piece at a time.
type job struct{ done chan error }

// start begins a piece. The one before must have been waited for.
func (j *job) start(do func() error) {
	j.done = make(chan error, 1)
	go func() { j.done <- do() }()
}

// wait returns the error of the last piece, nil if there is none or somebody waited for it before.
func (j *job) wait() error {
	if j.done == nil {
		return nil
	}
	err := <-j.done
	j.done = nil
	return err
}

// run sends the batch through all layers. Taps of a layer are graph outputs that nothing else
// needs, so they are copied while the next layer runs. Hidden states go on to the next layer and
// are freed after it, so they are copied at once.
func (r *recorder) run(ctx context.Context) error {
	// The rows of all texts are as many as those of the longest, rounded up where shapes are
	// compiled.
	inputs := r.m.BatchInputs(r.batch, r.m.Padded(r.longest))
	inputs.Edits = r.edits
	x, err := inputs.Embed()
	if err != nil {
		return err
	}
	// A tap belongs to a layer, to the end of the model, or, as Hidden, to what goes from graph to
	// graph.
	var inLayers, atEnd []trace.Tap
	for _, name := range r.wanted {
		if graph.Taps[name].Block != nil {
			inLayers = append(inLayers, name)
		}
		if graph.Taps[name].End != nil {
			atEnd = append(atEnd, name)
		}
	}
	defer r.copying.wait() //nolint:errcheck // after another error this one does not matter
	// The names of the taps are in the key of the graph, because another set of taps is another
	// graph.
	collect := func(_ *graph.Builder, b *graph.Block, _ graph.Cache, _ []*Node) []*Node {
		var all []*Node
		for _, name := range inLayers {
			all = append(all, graph.Taps[name].Block(b))
		}
		return all
	}
	for step, err := range inputs.Layers(ctx, x, fmt.Sprintf("taps %v", inLayers), collect) {
		if err != nil {
			return err
		}
		l, collected := step.Layer, step.Collected
		// Without nil the loop would free the taps while they are copied. keep frees them.
		x, step.Collected = step.Out, nil
		if err := errors.Join(r.copying.wait(), r.keepHidden(l, step.In)); err != nil {
			host.Free(collected...)
			return err
		}
		// While the next layer runs.
		r.copying.start(func() error { return r.keep(inLayers, l, collected) })
	}
	defer host.Free(x)
	if err := r.copying.wait(); err != nil {
		return err
	}
	if err := r.keepHidden(r.m.Spec.Layers, x); err != nil || len(atEnd) == 0 {
		return err
	}
	weights := strings.TrimSpace(codes.EndsWeights + " " + graph.NormAfter(r.m.Spec,
		r.m.Spec.Encoder-1))
	made, err := inputs.Run(fmt.Sprintf("end taps %v", atEnd), weights,
		func(d *graph.Builder, in []*Node) []*Node {
			var all []*Node
			for _, name := range atEnd {
				all = append(all, graph.Taps[name].End(d, in[0]))
			}
			return all
		}, x)
	if err != nil {
		return err
	}
	return r.keep(atEnd, r.m.Spec.Layers, made)
}

// keepHidden copies hidden state l, [B,N,D], if it is wanted. It waits for the other goroutine
// first, because both add to out.
func (r *recorder) keepHidden(l int, x *tensors.Tensor) error {
	if !slices.Contains(r.wanted, trace.Hidden) {
		return nil
	}
	if err := r.copying.wait(); err != nil {
		return err
	}
	return r.copy([]trace.Tap{trace.Hidden}, l, []*tensors.Tensor{x})
}

// keep copies taps of layer l, [B,...] each, and frees them.
func (r *recorder) keep(names []trace.Tap, l int, made []*tensors.Tensor) error {
	defer host.Free(made...)
	return r.copy(names, l, made)
}

// copy copies taps of layer l, [B,...] each, to the tensors of their texts. Only the scores of a
// vocabulary may come without an axis for the texts: as columns, [V,B·N], and not as [B,N,V].
func (r *recorder) copy(names []trace.Tap, l int, made []*tensors.Tensor) error {
	for i, name := range names {
		dims := made[i].Shape().Dimensions
		err := host.Read(made[i], func(data []float32) {
			if name == trace.Logits && r.m.Spec.Head == spec.LanguageHead && len(dims) == 2 {
				r.putColumns(name, data)
				return
			}
			size := len(data) / dims[0]
			for k := range r.batch.IDs {
				r.put(k, name, l, dims[1:], data[k*size:(k+1)*size])
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// put copies tap name of text k in layer l, without padding; dims are the sizes of data.
func (r *recorder) put(k int, name trace.Tap, l int, dims []int, data []float32) {
	begin := r.batch.begin(k, r.longest)
	axes, layers := axesOf(r.m.Spec, name), 0
	if strings.HasPrefix(axes, "L") {
		axes, layers = axes[1:], r.m.Spec.Layers
		if name == trace.Hidden {
			// the embedding's output comes before layer 0
			layers++
		}
	}
	// from and keep are the part of each axis that belongs to the text: on the axes of tokens its
	// own slots, on the others everything. size is how many numbers of a layer that is.
	from, keep := make([]int, len(dims)), slices.Clone(dims)
	size := 1
	for i, axis := range axes {
		if axis == 'T' || axis == 'S' {
			from[i], keep[i] = begin, len(r.batch.IDs[k])
		}
		size *= keep[i]
	}
	// The tensor of a text is [layers,...] where the tap has layers, so layer l begins at l·size.
	to := r.tensor(k, name, layers, keep, size)
	if layers > 0 {
		to = to[l*size:]
	}
	Cut(to, data, dims, from, keep)
}

// putColumns copies scores [V,B·N] of every text, without padding. Column k·N+t is target t of text
// k, N the number of rows with padding.
func (r *recorder) putColumns(name trace.Tap, data []float32) {
	v, texts := r.m.Spec.Vocab, len(r.batch.IDs)
	columns := len(data) / v
	for k, ids := range r.batch.IDs {
		to := r.tensor(k, name, 0, []int{len(ids), v}, len(ids)*v)
		turn(to, data[k*columns/texts+r.batch.begin(k, r.longest):], len(ids), v, columns)
	}
}

// turn transposes the first n columns of src, [rows,·] with stride numbers from row to row, into
// dst, [n,rows]. Each processor gets some of the rows and goes through them in blocks that fit its
// cache. A block is 16 rows of src, so that it fills one cache line of 64 bytes in each row of dst.
// Workers write different columns of dst, so the result does not depend on their number.
func turn(dst, src []float32, n, rows, stride int) {
	const block = 16
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for w := range workers {
		begin, end := w*rows/workers, (w+1)*rows/workers
		all.Go(func() {
			for at := begin; at < end; at += block {
				till := min(at+block, end)
				for t := range n {
					row := dst[t*rows : (t+1)*rows]
					for i := at; i < till; i++ {
						row[i] = src[i*stride+t]
					}
				}
			}
		})
	}
	all.Wait()
}

// tensor returns the numbers of tap name of text k, which are made at the first call. layers is 0
// for a tap without layers; a layer has size numbers of that shape.
func (r *recorder) tensor(k int, name trace.Tap, layers int, shape []int, size int) []float32 {
	for i := range r.out[k] {
		if r.out[k][i].Name == string(name) {
			return r.out[k][i].Data
		}
	}
	t := trace.Tensor{
		Name: string(name), Axes: axesOf(r.m.Spec, name), Shape: shape,
		Data: make([]float32, max(1, layers)*size),
	}
	if layers > 0 {
		t.Shape = append([]int{layers}, shape...)
	}
	r.out[k] = append(r.out[k], t)
	return t.Data
}

// begin is the slot of the first token of text i.
func (b Batch) begin(i, longest int) int {
	if !b.PadLeft {
		return 0
	}
	return longest - len(b.IDs[i])
}

// longest is the length of the longest text.
func (b Batch) longest() int {
	longest := 0
	for _, ids := range b.IDs {
		longest = max(longest, len(ids))
	}
	return longest
}

// axesOf are the axes of a tap; those of logits depend on the head.
func axesOf(s *spec.Spec, name trace.Tap) string {
	if name != trace.Logits {
		return graph.Taps[name].Axes
	}
	switch {
	case s.Head == spec.ClassifierHead:
		return "K"
	case s.Classifies():
		return "TK"
	}
	return "TV"
}

// Cut copies the places from..from+keep-1 of every axis of data, whose sizes are dims, to the
// beginning of dst. It returns how many numbers it copied. For example dims [2,5,4], from [0,1,0]
// and keep [2,3,4] give rows 1 to 3 of both matrices. Where the axes that are left are kept whole,
// they are one copy.
func Cut(dst, data []float32, dims, from, keep []int) int {
	if slices.Equal(dims, keep) {
		return copy(dst, data)
	}
	inner, n := len(data)/dims[0], 0
	for i := range keep[0] {
		at := (from[0] + i) * inner
		if len(dims) == 1 {
			return copy(dst, data[from[0]:from[0]+keep[0]])
		}
		n += Cut(dst[n:], data[at:at+inner], dims[1:], from[1:], keep[1:])
	}
	return n
}

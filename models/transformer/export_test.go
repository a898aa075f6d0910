package transformer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// UnregisterMixing takes a mixing of a test out of the registry.
func UnregisterMixing(name string) { mixings.Remove(name) }

// Bucket is the size that a prompt or cache of n tokens gets.
func Bucket(n int) int { return bucket(n) }

// RoundUp makes the model round lengths up as it does where every new shape is compiled.
func (m *Model) RoundUp() { m.promptStep = slotStep }

// TermsAtOnce makes a view of the model that reads so many layers in one graph of the parts.
func (m *Model) TermsAtOnce(layers int) *Model {
	view := *m
	view.termsAtOnce = layers
	return &view
}

// ProjectAlways makes the model project sources also where that does not pay.
func (m *Model) ProjectAlways() { m.projectAlways = true }

// CanProject reports whether rows that are asked for can be computed from projected sources.
func (m *Model) CanProject(ask trace.MixingAsk) bool {
	mix, err := LookupMixing(ask.Name)
	return err == nil && m.canProject(asked{ask, mix})
}

// ThroughHeld is how many bytes the model keeps for projecting sources.
func (m *Model) ThroughHeld() int64 { return m.throughHeld() }

// KeptTokens is how many tokens of its text the model has parts of.
func (m *Model) KeptTokens() int {
	if m.parted.session == nil {
		return 0
	}
	return m.parted.session.Length()
}

// OnDevice makes the model keep its caches as where the host cannot write into them.
func (m *Model) OnDevice() { m.onHost = false }

// Prepared waits for what is compiled while the prompt is read.
func (s *Session) Prepared() { s.preparing.Wait() }

// Slots returns for how many tokens the session's cache has room.
func (s *Session) Slots() int { return s.cache.slots }

// Graphs returns what the model built graphs for, sorted.
func (m *Model) Graphs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.graphs))
}

// Need is what a pass is to do.
type Need = need

// Estimate is about how many bytes a pass needs besides the weights.
func (m *Model) Estimate(n Need) int64 { return m.estimate(n) }

// TilesOf are the axes of a matrix in codes; see [tilesOf].
func TilesOf(n, most int) [3]int { return tilesOf(n, most) }

// QuantizedResults is what graphs make of a matrix in codes: its numbers, its rows for ids, and the
// matrix times x.
type QuantizedResults struct{ Numbers, Rows, Times []float32 }

// Activate is f(x) of an activation without weights.
func Activate(f spec.Activation, x *graph.Node) *graph.Node { return activate(f, x, nil) }

// ActivationSlope is [Activate] divided by x.
func ActivationSlope(f spec.Activation, x *graph.Node) *graph.Node {
	return activationSlope(f, x, nil)
}

// Quantized loads the matrix [out,in] of q as a table over the vocabulary.
func Quantized(
	backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int, x []float32,
	ids []int32,
) (*QuantizedResults, error) {
	param := spec.Param{Name: "embedding", Shape: []int{out, in}}
	table := array{name: param.Name, parts: []spec.Param{param}}
	f := formsOf(table, q)
	if f == nil {
		return nil, fmt.Errorf("a matrix %dx%d has no codes", out, in)
	}
	m := &Model{loaded: &loaded{backend: backend}}
	all, err := m.loadQuantized(table, f, load, q)
	if err != nil {
		return nil, err
	}
	exec, err := graph.NewExec(backend, func(in []*graph.Node) []*graph.Node {
		at := map[string]*graph.Node{}
		for i, w := range all {
			at[w.name] = in[2+i]
		}
		table := withQuantized(at, named)("embedding")
		column := graph.Reshape(in[0], -1, 1)
		return []*graph.Node{table, gathered(table, in[1]), product{}.columns(column, 0, table)}
	})
	if err != nil {
		return nil, err
	}
	args := []any{tensors.FromValue(x), tensors.FromValue(ids)}
	for _, w := range all {
		args = append(args, w.tensor)
	}
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	var got QuantizedResults
	for i, to := range []*[]float32{&got.Numbers, &got.Rows, &got.Times} {
		if *to, err = floats(results[i]); err != nil {
			return nil, err
		}
	}
	return &got, nil
}

// QuantizedFromLeft loads the matrix [out,in] of q as an output projection, which load gives as
// [in,out], and returns x [out] times it, from its codes by columns or its numbers of 16 bits.
func QuantizedFromLeft(
	backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int, x []float32,
) ([]float32, error) {
	param := spec.Param{Name: "blocks.0.output.weight", Shape: []int{in, out}}
	matrix := array{name: param.Name, parts: []spec.Param{param}, outFirst: true}
	f := formsOf(matrix, q)
	if f == nil || f[0].columns == nil && f[0].Bits != 16 {
		return nil, fmt.Errorf("a matrix %dx%d has no codes by columns", out, in)
	}
	m := &Model{loaded: &loaded{backend: backend}}
	all, err := m.loadQuantized(matrix, f, load, q)
	if err != nil {
		return nil, err
	}
	exec, err := graph.NewExec(backend, func(in []*graph.Node) *graph.Node {
		at := map[string]*graph.Node{}
		for i, w := range all {
			at[w.name] = in[1+i]
		}
		w := withQuantized(at, named)
		if q := codesByColumn(w, param.Name); q != nil {
			return q.times(in[0])
		}
		return quantizedOf(w(param.Name)).leftTimes(graph.Reshape(in[0], 1, 1, -1))
	})
	if err != nil {
		return nil, err
	}
	args := []any{tensors.FromValue(x)}
	for _, w := range all {
		args = append(args, w.tensor)
	}
	results, err := exec.Call(args...)
	if err != nil {
		return nil, err
	}
	return floats(results[0])
}

// InTiles returns the model with prompts of more than above tokens computed in tiles of so many
// targets over at least so many sources.
func (m *Model) InTiles(above, targets, sources int) *Model {
	view := *m
	view.tiling = tiling{above: above, targets: targets, sources: sources}
	return &view
}

// TileOf is how many targets a tile has in a text of n tokens.
func (m *Model) TileOf(n int) int { return m.tileOf(n) }

// LogProbability is logProbability.
var LogProbability = logProbability

// TreeRows is how many rows queries have in trees of their texts, 0 if they run as they are.
func (m *Model) TreeRows(queries []trace.Query, how Batching) (rows int) {
	trees, err := m.prefixTrees(queries, how)
	if err != nil {
		panic(err)
	}
	for _, t := range trees {
		rows += len(t.ids)
	}
	return rows
}

// KeepCodes makes pure Go keep matrices in codes that would take more than so many bytes in
// float32. It returns what undoes that.
func KeepCodes(bytes int64) (undo func()) {
	before := hostFloats
	hostFloats = bytes
	return func() { hostFloats = before }
}

// OnHostResults is what the host makes of a matrix [out,in] in codes: its numbers, and x [rows,in]
// times it.
type OnHostResults struct{ Numbers, Times []float32 }

// QuantizedOnHost loads the matrix of q, with or without vector registers.
func QuantizedOnHost(backend compute.Backend, load spec.Loader, q spec.Quantized, out, in int,
	x []float32, plain bool,
) (*OnHostResults, error) {
	if plain {
		u, m := unpack, multiplyTile
		defer func() { unpack, multiplyTile = u, m }()
		unpack, multiplyTile = unpackPlain, multiplyTilePlain
	}
	param := spec.Param{Name: "embedding", Shape: []int{out, in}}
	table := array{name: param.Name, parts: []spec.Param{param}}
	q = onHost{q}
	m := &Model{loaded: &loaded{
		backend: backend, hosted: map[string][]*hostForm{}, graphs: map[string]*compiled{},
		chosen: map[string]chosen{},
	}}
	if _, err := m.loadQuantized(table, formsOf(table, q), load, q); err != nil {
		return nil, err
	}
	forms := m.hosted[param.Name]
	w, err := m.hostNumbers(forms)
	if err != nil {
		return nil, err
	}
	times, err := m.multiplied(tensors.FromFlatDataAndDimensions(x, len(x)/in, in), forms)
	if err != nil {
		return nil, err
	}
	var got OnHostResults
	for t, to := range map[*tensors.Tensor]*[]float32{w: &got.Numbers, times: &got.Times} {
		if *to, err = floats(t); err != nil {
			return nil, err
		}
	}
	return &got, nil
}

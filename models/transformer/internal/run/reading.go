package run

import (
	"context"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// Reading is a text of T tokens that went through all layers once; encoders are explained with it.
// It belongs to one goroutine.
type Reading struct {
	// Rows has one entry for each mixing asked for.
	Rows []trace.Rows

	inputs *Inputs
	length int
	// x is the residual stream after the last block, [1,N,D], with padding.
	x *tensors.Tensor
}

// Read implements [transformer.Model.Read].
func (m *Model) Read(ctx context.Context, ids, types []int, asks []trace.MixingAsk,
	edits []trace.Edit, progress func(trace.Progress),
) (*Reading, error) {
	if err := CheckIDs(m.Spec, ids); err != nil {
		return nil, err
	}
	if err := CheckTypes(m.Spec, Batch{IDs: [][]int{ids}, Types: RowOrNil(types)}); err != nil {
		return nil, err
	}
	asks = slices.Clone(asks)
	for i := range asks {
		asks[i].AllRows = true
	}
	mixings, err := graph.LookupMixings(m.Spec, asks...)
	if err != nil {
		return nil, err
	}
	p := &pass{m: m, asks: mixings, texts: [][]int{ids}, types: types, most: 1}
	if len(edits) > 0 {
		batch := Batch{IDs: p.texts, Edits: [][]trace.Edit{edits}}
		if p.edits, err = m.WholeTexts(batch, m.Padded(len(ids))); err != nil {
			return nil, err
		}
	}
	r := &Reading{length: len(ids)}
	need := Need{Tokens: len(ids), Asks: asks, Edits: [][]trace.Edit{edits}}
	if err := p.alone(ctx, need, func() error {
		out, inputs, x, err := p.run(ctx, progress)
		if err != nil {
			return err
		}
		r.Rows, r.inputs, r.x = out[0].Rows, inputs, x
		return nil
	}); err != nil {
		return nil, err
	}
	return r, nil
}

// RowOrNil returns the types of a batch of one text, nil without types.
func RowOrNil(types []int) [][]int {
	if types == nil {
		return nil
	}
	return [][]int{types}
}

// Logits returns the scores of the head at each of K positions, [V] each, or [K] of a classifier,
// which gives the same for every position; nil without a head. The weights of the head are read
// once for all positions, and K·V numbers are held. It returns an error for a position outside the
// text.
func (r *Reading) Logits(positions ...int) ([][]float32, error) {
	m := r.inputs.m
	for _, at := range positions {
		if at < 0 || at >= r.length {
			return nil, pkg.Errorf("position %d is not in 0..%d", at, r.length-1)
		}
	}
	all := make([][]float32, len(positions))
	if m.Spec.Head == spec.NoHead || len(positions) == 0 {
		return all, nil
	}
	whole, asked := m.Spec.Head == spec.ClassifierHead, positions
	// The result of a classifier is one row for the whole text, so one position stands for all.
	if whole { // it reads the first token itself, or the mean of all
		asked = positions[:1]
	}
	ends, err := r.inputs.End(r.x, "head", func(d *graph.Builder, x *Node, in []*Node) []*Node {
		if !whole {
			x = InsertAxes(Gather(Squeeze(x, 0), in[0]), 0) // [1,K,D]
		}
		return []*Node{d.Head(x)}
	}, rowNumbers(m, asked))
	if err != nil {
		return nil, pkg.Errorf("%s head at %d positions: %w", m.Spec.Family, len(positions), err)
	}
	defer host.Free(ends...)
	dims := ends[0].Shape().Dimensions
	width := dims[len(dims)-1]
	err = host.Read(ends[0], func(data []float32) {
		for i := range all {
			from := i * width
			if whole {
				from = 0
			}
			all[i] = slices.Clone(data[from : from+width])
		}
	})
	return all, err
}

// rowNumbers returns positions as [K,1], filled up with 0 where a new number of them would be one
// more graph to compile.
func rowNumbers(m *Model, positions []int) *tensors.Tensor {
	k := len(positions)
	if m.Machine.PromptStep > 1 && k > 1 {
		k = host.Bucket(k)
	}
	return host.Int32Tensor(append(slices.Clone(positions), make([]int, k-len(positions))...), k, 1)
}

// Close frees what the head reads. Rows and logits stay valid.
func (r *Reading) Close() {
	host.Free(r.x)
	r.x = nil
}

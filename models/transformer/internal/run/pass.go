package run

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
)

// pass runs whole texts at once, P of them, and returns the rows of mixings. Only one text alone
// has token types, or mixings that cost a pass for each pair of tokens.
type pass struct {
	m     *Model
	asks  []graph.Asked
	texts [][]int
	types []int // token types, nil for type 0
	// most is to how many texts the pass may be filled up.
	most int
	// edits are those of each text, nil for none.
	edits *edit.Pass
	// keep is called with the keys and values of every layer, [P,G,N,E] each with padding; nil for
	// an encoder.
	keep func(l int, now []*tensors.Tensor) error
	// slots is how many tokens they are kept for; 0 without keep.
	slots int
	// latest, if not nil, gets what the pass does to the last token of each text.
	latest *Latest
	// spare is how many bytes the pass leaves of what it may take. begins, if not nil, is called
	// once that is known, and takes from it what it needs.
	spare  int64
	begins func(p *pass)
}

// output executes the pass and returns, for each text, its rows and what the head says at its end.
// The head reads the last tokens only: scores of all tokens would be [P,N,V].
func (p *pass) output(ctx context.Context, progress func(trace.Progress)) ([]*Output, error) {
	out, inputs, x, err := p.run(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer host.Free(x)
	return out, inputs.ScoresAt(x, p.ends(), func(i int, scores []float32) {
		if i < len(out) {
			out[i].Logits = slices.Clone(scores)
		}
	})
}

// length is the length of the longest text.
func (p *pass) length() int { return Batch{IDs: p.texts}.longest() }

// ends are the last slot of each text, and 0 in those that fill the pass up.
func (p *pass) ends() []int {
	at := make([]int, p.m.TextsOfPass(len(p.texts), p.most))
	for i, ids := range p.texts {
		at[i] = len(ids) - 1
	}
	return at
}

// inputs are the texts padded on the right, where a decoder's tokens do not see it, and filled up
// with empty ones to a number of texts of which there are few.
func (p *pass) inputs() *Inputs {
	batch := Batch{IDs: make([][]int, len(p.ends())), Types: RowOrNil(p.types)}
	copy(batch.IDs, p.texts)
	inputs := p.m.BatchInputs(batch, p.m.Padded(p.length()))
	inputs.Edits = p.edits
	return inputs
}

// alone runs the pass over its only text, if what it needs fits the memory.
func (p *pass) alone(ctx context.Context, n Need, run func() error) error {
	if err := ctx.Err(); err != nil {
		return pkg.Errorf("stopped before the prompt: %w", err)
	}
	if err := p.m.CheckMemory(n); err != nil {
		return err
	}
	p.spare = p.m.Limit() - p.m.Estimate(n)
	if p.begins != nil {
		p.begins(p)
	}
	if err := run(); err != nil {
		return pkg.Errorf("%s prompt of %d tokens: %w", p.m.Spec.Family, p.length(), err)
	}
	return nil
}

// longPrompt is how many tokens a prompt has for which progress is worth a report.
const longPrompt = 512

// run sends the texts through all layers, [P,N,D] each. A layer's graph also returns its keys and
// values, [P,G,N,E], and the rows of the mixings that need no tiles. Those that do are computed
// from the keys and values afterwards. It also returns the stream after the last layer.
func (p *pass) run(ctx context.Context, progress func(trace.Progress)) (
	out []*Output, inputs *Inputs, x *tensors.Tensor, err error,
) {
	inputs = p.inputs()
	ends := host.Int32Tensor(p.ends())
	defer host.Free(ends)
	if x, err = inputs.Embed(); err != nil {
		return nil, nil, nil, err
	}
	out = p.emptyOutputs()
	// The graph is kept with the model, and the function below with it, so nothing else of this
	// pass may stay in it.
	asks, terms := p.asks, p.latest != nil
	collect := func(_ *graph.Builder, b *graph.Block, now graph.Cache, in []*Node) []*Node {
		out := []*Node{now.Key, now.Value}
		for _, ask := range asks {
			if ask.PerPair() {
				continue
			}
			rows := graph.VisibleRows(b, ask)
			if !ask.AllRows {
				rows = graph.OneRow(rows, in[0])
			}
			out = append(out, rows)
		}
		if terms {
			out = append(out, graph.KeptAt(b, in[0])...)
		}
		return out
	}
	what := fmt.Sprintf("keys, values and rows of %sterms=%v", graph.Describe(asks...), terms)
	for step, err := range inputs.Layers(ctx, x, what, collect, ends) {
		if err != nil {
			return nil, nil, nil, err
		}
		if progress != nil && p.length() >= longPrompt {
			progress(trace.Progress{
				Stage: "reading the prompt", Unit: "layer", Done: step.Layer + 1,
				Total: p.m.Spec.Layers,
			})
		}
		if err := p.layer(ctx, step, out, progress); err != nil {
			return nil, nil, nil, err
		}
		x = step.Out
	}
	return out, inputs, x, nil
}

// layer keeps the keys and values of a layer and fills in its rows.
func (p *pass) layer(ctx context.Context, step *LayerStep, out []*Output,
	progress func(trace.Progress),
) error {
	// The order is that of the collector: key, value, one tensor for each mixing without tiles, and
	// what [graph.KeptAt] gives.
	l, now, rows := step.Layer, step.Collected[:2], step.Collected[2:]
	if p.keep != nil {
		if err := p.keep(l, now); err != nil {
			return err
		}
	}
	if p.latest != nil {
		last := rows[len(rows)-graph.LastTensors(p.m.Spec, l):]
		if err := p.latest.addPrompt(p.m, last, p.slots); err != nil {
			return err
		}
	}
	for k, ask := range p.asks {
		if ask.PerPair() {
			continue
		}
		if err := putRows(out, k, l, nil, rows[0]); err != nil {
			return err
		}
		rows = rows[1:]
	}
	if !slices.ContainsFunc(p.asks, graph.Asked.PerPair) {
		return nil
	}
	t, err := p.m.tiledLayer(step, p.texts[0])
	if err != nil {
		return err
	}
	defer t.Free()
	pairs := pairLayer{TiledLayer: t, p: p}
	return pairs.all(ctx, out[0].Rows, progress)
}

// emptyOutputs have the rows that the pass fills in.
func (p *pass) emptyOutputs() []*Output {
	lengths := make([]int, len(p.texts))
	for i, ids := range p.texts {
		lengths[i] = len(ids)
	}
	return emptyOutputs(p.m.Spec, p.asks, lengths)
}

// emptyOutputs have rows of zeros for texts of those lengths.
func emptyOutputs(s *spec.Spec, asks []graph.Asked, lengths []int) []*Output {
	all := make([]*Output, len(lengths))
	for i, n := range lengths {
		all[i] = &Output{Rows: make([]trace.Rows, len(asks))}
		for k, ask := range asks {
			all[i].Rows[k] = emptyRows(s, ask.MixingAsk, n)
		}
	}
	return all
}

// emptyRows are rows of zeros for a text of n tokens, those of the last target only unless the
// mixing is asked for all.
func emptyRows(s *spec.Spec, ask trace.MixingAsk, n int) trace.Rows {
	r := trace.Rows{First: 0, L: s.Layers, H: 1, N: n, S: n}
	if !ask.AllRows {
		r.First, r.N = n-1, 1
	}
	if ask.Heads.Fusion == trace.EachHead {
		r.H = s.Heads
	}
	r.Data = make([]float32, r.L*r.H*r.N*r.S)
	return r
}

// putRows copies rows of mixing k in layer l, [P,(H,)n,s], without the padding at the end of
// targets and sources: those of text at[i] to out[i]; nil means i.
func putRows(out []*Output, k, l int, at []int, rows *tensors.Tensor) error {
	dims := rows.Shape().Dimensions
	n, s := dims[len(dims)-2], dims[len(dims)-1]
	return host.Read(rows, func(data []float32) {
		size := len(data) / dims[0]
		for i, o := range out {
			text := i
			if at != nil {
				text = at[i]
			}
			r := &o.Rows[k]
			copyRows(r, l, r.First, r.N, data[text*size:(text+1)*size], n, s)
		}
	})
}

// putTile copies n targets from position at on into layer l of rows; tile is [1,(H,)N,S].
func putTile(rows *trace.Rows, l int, tile *tensors.Tensor, at, n int) error {
	dims := tile.Shape().Dimensions
	return host.Read(tile, func(data []float32) {
		copyRows(rows, l, at, n, data, dims[len(dims)-2], dims[len(dims)-1])
	})
}

// copyRows copies the first n of so many targets of data, [(H,)targets,s], to those from position
// at on in layer l of r.
func copyRows(r *trace.Rows, l, at, n int, data []float32, targets, s int) {
	for h := range r.H {
		for k := range n {
			to := r.Row(l, h, at+k-r.First)
			copy(to[:min(len(to), s)], data[(h*targets+k)*s:])
		}
	}
}

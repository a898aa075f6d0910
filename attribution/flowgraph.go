package attribution

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// FlowGraph is the layered graph of attention flow: a node for each token before the first layer
// and after every layer, and an edge from target u after layer l to source v before it, of width
// Â_l[u,v] (Abnar and Zuidema 2020, Figure 1). It also has what limits the flow between two of its
// nodes, and the widest path between them.
type FlowGraph struct {
	// Layers are the layers of the model, 0-based, L of them.
	Layers []int `json:"layers"`
	// Tokens is the number of tokens, T.
	Tokens int `json:"tokens"`
	// Widths is Â, [L,T,T], row-major, the residual included.
	Widths []float64 `json:"widths"`
	// Cut is the flow between target and source, and its minimum cut.
	Cut *Cut `json:"cut"`
	// Path is, [L+1], the widest path: the target, the token before the last layer, and so on down
	// to the source. Its width is the smallest of its edges, and no other path has a larger one. It
	// is nil if nothing can flow.
	Path []int `json:"path"`
}

// Width returns Â_l[u,v] of layer Layers[l]. It panics if an index is out of range.
func (g *FlowGraph) Width(l, u, v int) float64 {
	if l < 0 || l >= len(g.Layers) || u < 0 || u >= g.Tokens || v < 0 || v >= g.Tokens {
		panic(fmt.Sprintf("attribution: edge %d,%d of layer %d; there are %d tokens and %d layers",
			u, v, l, g.Tokens, len(g.Layers)))
	}
	return g.Widths[(l*g.Tokens+u)*g.Tokens+v]
}

// NewFlowGraph returns the graph of the flow from a target to an input token, with the edges that
// limit it, the minimum cut between them:
//
//	F[t,j] = min over cuts of Σ Â_l[u,v] over the edges (l,u,v) that it cuts
//
// (Ford and Fulkerson 1956; the flow is that of Abnar and Zuidema 2020, §3). If several cuts are
// minimum cuts, it returns the one nearest the target; see [maxflow.Graph.MinCut]. If all its edges
// are in the last layer, the target itself limits the flow. Edges in lower layers say that tokens
// in between do.
//
// from and opts are as for [Attribute], but opts must name one method that aggregates by flow;
// the default is flow. The flow starts after the last layer of opts. It costs the preparation of
// the rows, two maximum flows, and L·T² comparisons for the widest path. It returns a
// [trace.UsageError] if options, target or source are invalid, another error if the data are, and
// one that wraps ctx.Err() if ctx is done.
func NewFlowGraph(
	ctx context.Context, from Input, opts Options, target, source int,
) (*FlowGraph, error) {
	mixed, p, err := flowRows(ctx, from, opts, target, source)
	if err != nil {
		return nil, err
	}
	cut, err := minCut(ctx, mixed, p, target, source)
	if err != nil {
		return nil, err
	}
	g := &FlowGraph{Tokens: mixed.N, Widths: mixed.Data, Cut: cut}
	for l := p.first; l <= p.last; l++ {
		g.Layers = append(g.Layers, l)
	}
	if mixed.Top != nil { // the target's own row is that of one head
		copy(g.Widths[((mixed.L-1)*g.Tokens+target)*g.Tokens:], mixed.TopRow(mixed.L-1, target))
	}
	g.Path = g.widest(target, source)
	return g, nil
}

// widest returns the widest path from a target after the last layer down to a source. Among equals
// it takes the first in the order of tokens.
func (g *FlowGraph) widest(target, source int) []int {
	layers, tokens := len(g.Layers), g.Tokens
	// best[k] is the width of the widest path from the target to each token below k layers, and
	// from[k] the token before it.
	best, from := make([][]float64, layers+1), make([][]int, layers+1)
	best[0] = make([]float64, tokens)
	best[0][target] = math.Inf(1)
	for k := range layers {
		l := layers - 1 - k
		best[k+1], from[k+1] = make([]float64, tokens), make([]int, tokens)
		for v := range tokens {
			from[k+1][v] = -1
		}
		for u := range tokens {
			if best[k][u] == 0 {
				continue
			}
			for v := range tokens {
				w := min(best[k][u], g.Width(l, u, v))
				if w > best[k+1][v] {
					best[k+1][v], from[k+1][v] = w, u
				}
			}
		}
	}
	if best[layers][source] == 0 {
		return nil
	}
	path := make([]int, layers+1)
	at := source
	for k := layers; k > 0; k-- {
		path[k], at = at, from[k][at]
	}
	path[0] = at
	return path
}

// FlowEnds returns where the flow that explains generated token t begins and ends: the tokens of
// the text, [T]; and, as ends, the target, whose row explains the token, and the source, a prompt
// token. If source is nil it is the prompt token with the largest flow. The first token, of two
// stacks that of the target, draws attention whatever a text is about, so it is chosen only if it
// is the only one.
//
// The explanation must have the method flow over tokens. FlowEnds returns a [trace.UsageError] if
// it does not, or if a token does not exist, and another error if the explanation is damaged.
func (e *Explanation) FlowEnds(t int, source *int) (ids []int, ends [2]int, err error) {
	if r := e.Methods["flow"]; r == nil || len(r.Rows) == 0 {
		return nil, ends, trace.Usagef("a graph of flow needs the method flow")
	}
	r, err := e.result("flow")
	switch {
	case err != nil:
		return nil, ends, err
	case r.Spans || r.Target != "":
		return nil, ends, trace.Usagef("a graph of flow has tokens, not words or sentences")
	case t < 0 || t >= len(e.Steps):
		return nil, ends, trace.Usagef("generated token %d; the explanation has %s, from 0", t,
			e.Made())
	case t >= r.Shape[0] || len(e.Prompt.IDs) != len(e.Prompt.Texts):
		return nil, ends, damaged("%d rows of flow for %s, and %d ids for %d tokens of the prompt",
			r.Shape[0], e.Made(), len(e.Prompt.IDs), len(e.Prompt.Texts))
	case source != nil && (*source < 0 || *source >= len(e.Prompt.IDs)):
		return nil, ends, trace.Usagef("source token %d; the prompt has tokens 0 to %d", *source,
			len(e.Prompt.IDs)-1)
	}
	ids = slices.Clone(e.Prompt.IDs)
	if at := e.Steps[t].Position; at != nil {
		ends[0] = *at
	} else {
		for _, s := range e.Steps[:t] {
			ids = append(ids, s.ID)
		}
		ends[0] = len(ids) - 1
	}
	if source != nil {
		ends[1] = *source
		return ids, ends, nil
	}
	row := r.Row(t, r.Level(t))[:len(e.Prompt.IDs)]
	rests, best := max(0, e.TargetBegin()), -1
	for j, x := range row {
		if (j != rests || len(row) == 1) && (best < 0 || x > row[best]) {
			best = j
		}
	}
	ends[1] = best
	return ids, ends, nil
}

// flowRows returns Â of every layer, [L,T,T], after the checks of a cut.
func flowRows(
	ctx context.Context, from Input, opts Options, target, source int,
) (aggregation.Rows, *plan, error) {
	if len(opts.Methods) == 0 {
		opts.Methods = []string{"flow"}
	}
	in, p, err := newInputPlan(ctx, from, opts, false)
	if err != nil {
		return aggregation.Rows{}, nil, err
	}
	if err := p.checkCut(in.tokens, target, source); err != nil {
		return aggregation.Rows{}, nil, err
	}
	rows := make([]aggregation.Rows, len(p.asks))
	for i, ask := range p.asks {
		fused, err := in.fuse(ctx, ask, p)
		if err != nil {
			return aggregation.Rows{}, nil, err
		}
		rows[i] = aggregation.Rows{L: p.last - p.first + 1, N: in.tokens, Data: fused}
	}
	j := p.jobs[0]
	mixed, _ := j.rule.Apply(j.pickRows(rows), j.cfg)
	return mixed, p, nil
}

package attribution

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/maxflow"
)

// Cut is a minimum cut between a target and an input token: edges that the flow fills completely,
// and without which nothing would flow.
type Cut struct {
	// Target and Source are the ends of the flow: a target after layer Layer and an input token.
	Target int `json:"target"`
	Source int `json:"source"`
	Layer  int `json:"layer"`
	// Flow is the maximum flow, the value of method flow. Up to rounding it is the sum of the
	// widths of Edges.
	Flow float64 `json:"flow"`
	// Edges are in the order of the flow: by layer from the top down, then by target and source.
	Edges []CutEdge `json:"edges"`
}

// CutEdge is the edge from a target after a layer to a source before it.
type CutEdge struct {
	// Layer is the model's, 0-based.
	Layer int `json:"layer"`
	// Target and Source are tokens, 0-based.
	Target int `json:"target"`
	Source int `json:"source"`
	// Width is Â_layer[target,source], the residual included.
	Width float64 `json:"width"`
}

// checkCut returns a usage error unless there is one method, it aggregates by flow without lift,
// and the tokens exist.
func (p *plan) checkCut(tokens, target, source int) error {
	if len(p.methods) != 1 || p.methods[0].Aggregation != "flow" {
		return trace.Usagef(
			"a cut is that of one method that aggregates by flow, not of %s and what "+
				"else is asked for; name flow",
			p.methods[0].Name,
		)
	}
	if p.opts.Lift {
		return trace.Usagef("a cut has no lift: its edges are as wide as they are; leave lift out")
	}
	for _, t := range []int{target, source} {
		if t < 0 || t >= tokens {
			return trace.Usagef("token %d of a cut; the text has tokens 0..%d", t, tokens-1)
		}
	}
	return nil
}

// minCut returns the minimum cut below the last layer. m must have the rows of the whole text.
func minCut(ctx context.Context, m aggregation.Rows, p *plan, target, source int) (*Cut, error) {
	g := maxflow.New(m.L, p.prefix)
	g.Extend(m.Data, m.N)
	var top []float64
	if m.Top != nil {
		top = m.TopRow(m.L-1, target)
	}
	found, err := g.MinCut(ctx, m.L-1, target, source, top)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	c := &Cut{Target: target, Source: source, Layer: p.last, Flow: found.Flow, Edges: []CutEdge{}}
	for _, e := range found.Edges {
		c.Edges = append(c.Edges, CutEdge{p.first + e.Layer, e.Target, e.Source, e.Capacity})
	}
	return c, nil
}

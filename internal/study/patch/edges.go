package patch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
)

const (
	// DefaultSteps is the default of [Options.Steps], that of Hanna et al., and MostSteps the
	// most that are taken.
	DefaultSteps, MostSteps = 5, 100
	// KeptPart is the part of the difference that [EdgeResult.Kept] keeps.
	KeptPart = .8
	// mostListed is how many edges a result lists.
	mostListed = 200
	// mostCircuits is how many circuits are run at most: two of each share, and those of halving.
	mostCircuits = 30
)

// shares are the sizes of circuits, as shares of all edges, between which MIB takes the area.
var shares = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1}

// EdgeResult is what the edges between the nodes of a model carry; see [trace.EdgeGraph].
type EdgeResult struct {
	// Steps is how many gradients were averaged, and Count the number of all edges.
	Steps int `json:"steps"`
	Count int `json:"count"`
	// Strongest are the edges of the largest absolute scores, at most 200, the largest first.
	Strongest []Edge `json:"strongest"`
	// Circuits are runs of growing numbers of edges.
	Circuits []Circuit `json:"circuits"`
	// CPR, the circuit performance ratio, is the area under Signed of Circuits over the share, and
	// CMD, the circuit–model distance, that between Absolute and 1 (Mueller et al. 2025, arXiv
	// 2504.13151). CPR is better if it is larger, and CMD is 0 at best. As in the code of that
	// paper, trapezoids begin at the smallest share, and are not taken over its logarithm.
	CPR float64 `json:"cpr"`
	CMD float64 `json:"cmd"`
	// Kept is a circuit of the largest absolute scores that keeps [KeptPart] of the difference: the
	// smallest of Circuits, made smaller by halving while it does.
	Kept Kept `json:"kept"`
	// Scores are the scores of all edges, [V,U], as in [Edge].
	Scores []float64 `json:"-"`
}

// Edge is an edge and its score: which part of the difference between the prompts would be lost if
// the edge alone had its value of the corrupted run, to the first order; below 0 it works against
// the answer.
type Edge struct {
	Sender   Node    `json:"sender"`
	Receiver Node    `json:"receiver"`
	Score    float64 `json:"score"`
}

// Circuit is a run of a number of edges, a share of all of them. Signed and Absolute are the
// faithfulness of those with the highest scores and of those with the largest absolute scores:
//
//	f = (m_circuit − m_corrupted) / (m_clean − m_corrupted)
type Circuit struct {
	Share    float64 `json:"share"`
	Edges    int     `json:"edges"`
	Signed   float64 `json:"signed"`
	Absolute float64 `json:"absolute"`
}

// Kept is a run of a number of edges and its faithfulness. Difference is its m.
type Kept struct {
	Edges        int     `json:"edges"`
	Faithfulness float64 `json:"faithfulness"`
	Difference   float64 `json:"difference"`
}

// NodeKind is a kind of nodes.
type NodeKind string

// The kinds.
const (
	InputNode       NodeKind = "input"
	HeadNode        NodeKind = "head"
	FeedForwardNode NodeKind = "feed-forward"
	LogitsNode      NodeKind = "logits"
)

// Node is a node of the model. Layer and Head are 0 where the kind has none. Through is what of a
// head an edge leads into; "" for other nodes.
type Node struct {
	Kind    NodeKind  `json:"kind"`
	Layer   int       `json:"layer"`
	Head    int       `json:"head"`
	Through trace.Tap `json:"through,omitempty"`
}

// String names the node: "head 3.1 query".
func (n Node) String() string {
	switch {
	case n.Kind == HeadNode && n.Through != "":
		return fmt.Sprintf("head %d.%d %s", n.Layer, n.Head, n.Through)
	case n.Kind == HeadNode:
		return fmt.Sprintf("head %d.%d", n.Layer, n.Head)
	case n.Kind == FeedForwardNode:
		return fmt.Sprintf("feed-forward %d", n.Layer)
	}
	return string(n.Kind)
}

// sender returns sender u of a graph.
func sender(g trace.EdgeGraph, u int) Node {
	if u == 0 {
		return Node{Kind: InputNode}
	}
	layer, part := (u-1)/(g.Heads+1), (u-1)%(g.Heads+1)
	if part == g.Heads {
		return Node{Kind: FeedForwardNode, Layer: layer}
	}
	return Node{Kind: HeadNode, Layer: layer, Head: part}
}

// receiver returns receiver v of a graph.
func receiver(g trace.EdgeGraph, v int) Node {
	if v == g.Receivers()-1 {
		return Node{Kind: LogitsNode}
	}
	layer, part := v/(3*g.Heads+1), v%(3*g.Heads+1)
	if part == 3*g.Heads {
		return Node{Kind: FeedForwardNode, Layer: layer}
	}
	return Node{Kind: HeadNode, Layer: layer, Head: part % g.Heads, Through: through[part/g.Heads]}
}

// checkEdges checks that the model has edges, and the options.
func (p *patching) checkEdges() error {
	o, runs := &p.o, p.o.Steps+mostCircuits
	e, ok := p.m.(trace.EdgePatcher)
	switch {
	case !ok:
		return usagef("%s does not run with edges that are patched", p.m.Info().Name)
	case o.Steps < 1 || o.Steps > MostSteps:
		return usagef("%d steps; want 1 to %d", o.Steps, MostSteps)
	case runs*len(o.Clean) > mostRead:
		return usagef("%d runs of %d tokens read more than %d tokens; take shorter prompts", runs,
			len(o.Clean), mostRead)
	}
	if err := trace.CheckEdgeEdits(o.Edits); err != nil {
		return err
	}
	g, err := e.EdgeGraph()
	p.r.Axes, p.r.Shape = [2]string{"receiver", "sender"}, [2]int{g.Receivers(), g.Senders()}
	return err
}

// edgePatching is a pair of prompts whose edges are being patched.
type edgePatching struct {
	*patching
	g    trace.EdgeGraph
	runs trace.EdgeRuns
	e    *EdgeResult
}

// edges scores every edge between the embedding, the heads, the feed-forward parts and the logits
// by edge attribution patching with integrated gradients (EAP-IG, Hanna et al. 2024, "Have Faith in
// Faithfulness", arXiv 2403.17806), and runs circuits of the edges with the highest scores, in
// which all other edges have what they have after the corrupted prompt. [Result.Runs] counts the
// circuits.
func (p *patching) edges(ctx context.Context) error {
	p.have, p.set = trace.Tensor{}, trace.Tensor{}
	m := p.m.(trace.EdgePatcher)
	g, err := m.EdgeGraph()
	if err != nil {
		return err
	}
	runs, err := m.PatchEdges(ctx, p.base, p.other, p.o.Edits, p.objective)
	if err != nil {
		return err
	}
	defer runs.Close()
	p.r.Edges = &EdgeResult{Steps: p.o.Steps, Count: g.Edges()}
	return (&edgePatching{p, g, runs, p.r.Edges}).run(ctx)
}

// run scores the edges and runs the circuits.
func (p *edgePatching) run(ctx context.Context) error {
	p.progress(0, 0)
	scores, err := p.runs.Scores(ctx, p.e.Steps)
	if err != nil {
		return err
	}
	for i, x := range scores { // m falls by x, and the difference is what all edges together do
		scores[i] = p.share(-x)
	}
	p.e.Scores = scores
	signed := p.order(func(i int) float64 { return scores[i] })
	absolute := p.order(func(i int) float64 { return math.Abs(scores[i]) })
	for _, i := range absolute[:min(len(absolute), mostListed)] {
		u := p.g.Senders()
		p.e.Strongest = append(p.e.Strongest, Edge{
			Sender: sender(p.g, i%u), Receiver: receiver(p.g, i/u), Score: scores[i],
		})
	}
	for k, share := range shares {
		c := Circuit{Share: share, Edges: int(share * float64(p.e.Count))}
		p.progress(2*k, 2*len(shares))
		for _, run := range []struct {
			order []int
			to    *float64
		}{{signed, &c.Signed}, {absolute, &c.Absolute}} {
			kept, err := p.circuit(ctx, run.order, c.Edges)
			if err != nil {
				return err
			}
			*run.to = kept.Faithfulness
		}
		p.e.Circuits = append(p.e.Circuits, c)
	}
	for k, c := range p.e.Circuits[1:] {
		before := p.e.Circuits[k]
		width := (c.Share - before.Share) / 2
		p.e.CPR += width * (before.Signed + c.Signed)
		p.e.CMD += width * (math.Abs(1-before.Absolute) + math.Abs(1-c.Absolute))
	}
	return p.halve(ctx, absolute)
}

// halve finds [EdgeResult.Kept].
func (p *edgePatching) halve(ctx context.Context, order []int) error {
	less := 0
	for _, c := range p.e.Circuits {
		if c.Absolute < KeptPart {
			less = c.Edges
			continue
		}
		var err error
		p.e.Kept, err = p.circuit(ctx, order, c.Edges)
		for err == nil && p.e.Kept.Edges-less > 1+p.e.Kept.Edges/64 {
			var kept Kept
			middle := (less + p.e.Kept.Edges) / 2
			if kept, err = p.circuit(ctx, order, middle); kept.Faithfulness < KeptPart {
				less = middle
			} else {
				p.e.Kept = kept
			}
		}
		return err
	}
	return nil
}

// order returns the edges, the largest first by a number and the first of equal ones.
func (p *edgePatching) order(by func(i int) float64) []int {
	all := make([]int, 0, p.e.Count)
	for v := range p.g.Receivers() {
		for u := range p.g.Reads(v) {
			all = append(all, v*p.g.Senders()+u)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(by(j), by(i)) })
	return all
}

// circuit runs the first n edges of an order.
func (p *edgePatching) circuit(ctx context.Context, order []int, n int) (Kept, error) {
	keep := make([]bool, len(p.e.Scores))
	for _, i := range order[:n] {
		keep[i] = true
	}
	m, err := p.runs.Run(ctx, keep)
	if err == nil && (math.IsNaN(m) || math.IsInf(m, 0)) {
		err = pkg.Errorf("a run of %d edges gives the difference %v", n, m)
	}
	p.r.Runs++
	return Kept{n, 1 - p.share(m-p.ends[0]), m}, err
}

package aggregation

import (
	"context"
	"slices"

	"github.com/headwater-ml/headwater/internal/maxflow"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Bounds is an aggregation that, for a target of a long text, gives two bounds of its result from
// products of vectors and layers.
type Bounds interface {
	Aggregation
	// Bounds returns, for the last level of target t in a causal text of T tokens, values that are
	// not above the result and values that are not below it, [T] each, and which tokens they are
	// close for, in order. The error is one of multiply or wraps ctx.Err().
	Bounds(ctx context.Context, cfg Config, t, T int, multiply Multiply) (*Bounded, error)
}

// Bounded are two bounds of a row: Low ≤ result ≤ High, [T] each. Kept are the tokens that were
// computed one by one.
type Bounded struct {
	Low, High []float64
	Kept      []int
}

// keptTokens is how many tokens of a long text flow keeps apart.
const keptTokens = 48

// BoundVectors is the largest number of vectors that [Bounds] has at a time.
const BoundVectors = 2*keptTokens + 3

// Bounds computes the flow among the strongest tokens of a text. Let S be the target and the tokens
// with the largest rollout. Two networks have a node for each of them at each level:
//
//	low   all other nodes are left out
//	high  each run of consecutive other tokens is one node, and parallel edges are added up
//
// A token between two of S is a run of its own and stays too. Then F_low ≤ F ≤ F_high. A flow of
// the low network is a flow of the whole one that does not use the other nodes. To join nodes is to
// connect them by edges without limit, and more edges carry no less; so every flow of the whole
// network is one of the high network. The difference of the two is at most the capacity left out:
// the edges between S and the rest that a minimum cut of the low network has to cut besides.
//
// A token outside S has its rollout as lower bound, because R ≤ F, and as upper bound the flow to
// its run. The rows are never stored: row a of the high network is a vector, 1 at the tokens of
// node a, times Â, added up over the tokens of each node. It costs as many vectors as there are
// nodes, at most 2·48 + 3, and as many maximum flows of that size.
func (flow) Bounds(
	ctx context.Context, cfg Config, t, T int, multiply Multiply,
) (*Bounded, error) {
	top := cfg
	top.TopOnly = true
	shares, err := rollout{}.Row(ctx, top, t, T, multiply)
	if err != nil {
		return nil, err
	}
	n := joined(strongest(shares[:t+1], keptTokens, t), t)
	if err := n.read(ctx, cfg.Layers, t, T, multiply); err != nil {
		return nil, err
	}
	high, err := n.flows(ctx, cfg.Layers, n.all())
	if err != nil {
		return nil, err
	}
	low, err := n.flows(ctx, cfg.Layers, n.single())
	if err != nil {
		return nil, err
	}
	b := &Bounded{Low: slices.Clone(shares), High: make([]float64, T)}
	for j := range t + 1 {
		b.High[j] = min(1, high[n.of[j]])
	}
	for i, a := range n.single() {
		j := n.first[a]
		b.Kept = append(b.Kept, j)
		b.Low[j] = max(b.Low[j], low[i])
		b.High[j] = max(b.High[j], b.Low[j]) // up to rounding they are in order
	}
	return b, nil
}

// strongest returns the tokens with the k largest shares and t, in order.
func strongest(shares []float64, k, t int) []int {
	order := rowmath.Falling(shares, nil)
	kept := slices.Clone(order[:min(k, len(order))])
	if !slices.Contains(kept, t) {
		kept = append(kept, t)
	}
	slices.Sort(kept)
	return kept
}

// joinedNetwork is a text whose tokens but some are joined to runs.
type joinedNetwork struct {
	// of is the node of each token, and first and size the first token and the number of tokens of
	// each node. target is the node of the target, the last one.
	of, first, size []int
	// edges are the capacities, [L,g,g].
	edges []float64
}

// joined makes the nodes of tokens 0..t: one for each kept token, and one for each run between two
// of them.
func joined(kept []int, t int) *joinedNetwork {
	n := &joinedNetwork{of: make([]int, t+1)}
	apart := make([]bool, t+1)
	for _, j := range kept {
		apart[j] = true
	}
	for j := range t + 1 {
		if j == 0 || apart[j] || apart[j-1] {
			n.first, n.size = append(n.first, j), append(n.size, 0)
		}
		n.of[j] = len(n.first) - 1
		n.size[n.of[j]]++
	}
	return n
}

// all returns the nodes, and single those of one token.
func (n *joinedNetwork) all() []int {
	nodes := make([]int, len(n.size))
	for a := range nodes {
		nodes[a] = a
	}
	return nodes
}

func (n *joinedNetwork) single() []int {
	return slices.DeleteFunc(n.all(), func(a int) bool { return n.size[a] > 1 })
}

// read asks for the capacities. In the top layer only the target's row counts.
func (n *joinedNetwork) read(ctx context.Context, layers, t, T int, multiply Multiply) error {
	g := len(n.size)
	n.edges = make([]float64, layers*g*g)
	sum := func(l, a int, row []float64) {
		for j := range t + 1 {
			n.edges[(l*g+a)*g+n.of[j]] += row[j]
		}
	}
	unit := make([]float64, T)
	unit[t] = 1
	row, err := multiply(layers-1, 1, unit, true)
	if err != nil {
		return err
	}
	sum(layers-1, g-1, row)
	left := make([]float64, g*T)
	for j := range t + 1 {
		left[n.of[j]*T+j] = 1
	}
	for l := range layers - 1 {
		if err := ctx.Err(); err != nil {
			return pkg.Errorf("flow: layer %d of %d: %w", l, layers, err)
		}
		rows, err := multiply(l, g, left, false)
		if err != nil {
			return err
		}
		for a := range g {
			sum(l, a, rows[a*T:(a+1)*T])
		}
	}
	return nil
}

// flows returns the flow from the target, the last of nodes, to each of nodes, in the network that
// has only these.
func (n *joinedNetwork) flows(ctx context.Context, layers int, nodes []int) ([]float64, error) {
	g, k := len(n.size), len(nodes)
	rows := make([]float64, 0, layers*k*k)
	for l := range layers {
		for _, a := range nodes {
			for _, b := range nodes {
				rows = append(rows, n.edges[(l*g+a)*g+b])
			}
		}
	}
	network := maxflow.New(layers, 0)
	network.Extend(rows, k)
	return network.Row(ctx, nil, layers-1, k-1, nil)
}

package trace

import "context"

// EdgeGraph has the nodes of a model whose residual stream is a sum of what they add, and the edges
// between them. A sender is the embedding, a head or a feed-forward part. A receiver is the query,
// the key or the value of a head, a feed-forward part, or the logits; each reads the sum of all
// senders before it. These are the nodes of Hanna et al. 2024 (arXiv 2403.17806): heads that share
// a key or a value read it apart.
//
// Senders are numbered in this order: the embedding, then for each layer its heads and its
// feed-forward part. Receivers: for each layer the queries, keys and values of its heads and its
// feed-forward part, then the logits.
type EdgeGraph struct {
	// Layers and Heads are L and H.
	Layers, Heads int
	// Parallel reports whether a feed-forward part does not read the heads of its own layer.
	Parallel bool
}

// Senders returns U, the number of senders.
func (g EdgeGraph) Senders() int { return 1 + g.Layers*(g.Heads+1) }

// Receivers returns V, the number of receivers.
func (g EdgeGraph) Receivers() int { return g.Layers*(3*g.Heads+1) + 1 }

// Reads returns how many senders a receiver reads, the first ones: each is an edge.
func (g EdgeGraph) Reads(receiver int) int {
	layer, part := receiver/(3*g.Heads+1), receiver%(3*g.Heads+1)
	n := 1 + layer*(g.Heads+1)
	if part == 3*g.Heads && !g.Parallel {
		n += g.Heads
	}
	return n
}

// Edges returns the number of edges.
func (g EdgeGraph) Edges() (n int) {
	for v := range g.Receivers() {
		n += g.Reads(v)
	}
	return n
}

// EdgePatcher is a model that runs with the edges between its nodes cut one by one.
type EdgePatcher interface {
	Model
	// EdgeGraph returns the nodes. It returns a [UsageError] for a model whose residual stream is
	// not the sum of what they add.
	EdgeGraph() (EdgeGraph, error)
	// PatchEdges records what every node adds in two runs of T tokens each. The edits are of what
	// nodes compute, see [CheckEdgeEdits], and act in all runs; the objective is that of all
	// results. The caller must close what it returns.
	PatchEdges(ctx context.Context, clean, corrupted []int, edits []Edit, o Objective) (
		EdgeRuns, error)
}

// CheckEdgeEdits returns a [UsageError] for edits that change the residual stream where no node
// adds to it, so that it would be no sum of what nodes add.
func CheckEdgeEdits(edits []Edit) error {
	for _, e := range edits {
		switch e.Tap {
		case Hidden, HiddenAfterAttention, AttentionOutput:
			return Usagef("edges are not patched under an edit of %s, which changes the residual "+
				"stream where no node adds to it; edit what heads or feed-forward parts compute",
				e)
		}
	}
	return nil
}

// EdgeRuns are the runs of two prompts whose edges are patched. It is used by one goroutine.
type EdgeRuns interface {
	// Scores returns for each edge how much the objective would lose if the edge had its value of
	// the corrupted run, to the first order: (a_clean − a_corrupted) · ∂m/∂(input of the receiver)
	// for the output a of the sender, [V,U], 0 where there is no edge. The gradient is the mean
	// over steps k = 1…n at the embeddings corrupted + k/n (clean − corrupted); with one step it is
	// that of the clean run.
	Scores(ctx context.Context, steps int) ([]float64, error)
	// Run returns the objective of the clean run in which every edge that is not kept, [V,U], has
	// its value of the corrupted run. What nodes compute from such an input goes on along the
	// edges that are kept.
	Run(ctx context.Context, keep []bool) (float64, error)
	// Close frees the memory of the runs.
	Close()
}

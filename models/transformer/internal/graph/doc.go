// Package graph is what a transformer computes, as graph code: it gets a [spec.Spec], weights by
// name and nodes of tokens, and knows nothing of sessions, caches or the memory of the host.
//
// Read it from the top of a paper's figure down:
//
//   - builder.go: from the tokens of a text to the residual stream, through the blocks, to the
//     head.
//   - block.go: one block, from the residual stream before it to that after it.
//   - projections.go, positions.go, scores.go: queries, keys and values, their positions, and the
//     attention.
//   - norm.go, feedforward.go, mixture.go: what else a [Layer] does, whatever the text.
//   - head.go: the scores of the vocabulary or the classes.
//   - mixing.go: what a [Mixing] reads of a block; contributions.go has most of it.
//   - taps.go, edits.go: what a pass records of a block, and changes in it.
//
// Sizes are in the legend of package transformer. An example builds one block of a Llama.
package graph

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

// Package graph is what a transformer computes, as graph code: it gets a [spec.Spec], weights by
// name and nodes of tokens, and knows nothing of sessions, caches or the memory of the host.
//
// Read it from the top of a paper's figure down:
//
//   - builder.go: [Scores] is the whole figure, from the tokens of a text ([Text]) through the
//     blocks to the head; [Builder] has its parts.
//   - block.go: a [Block], from the residual stream before it to that after it. blocks.go has those
//     that read a cache.
//   - projections.go, positions.go, mask.go, scores.go: queries, keys and values, their positions,
//     what a target sees, and the attention.
//   - layer.go, norm.go, feedforward.go, mixture.go: a [Layer], the weights of a block and what
//     they make of activations, whatever the text.
//   - head.go: the scores of the vocabulary or the classes.
//   - mixing.go, contributions.go: what a [Mixing] reads of a block.
//   - taps.go, edits.go, kept.go: what a pass records of a block, and changes in it.
//
// Sizes are in the legend of package transformer. The example builds one block of a Llama.
package graph

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

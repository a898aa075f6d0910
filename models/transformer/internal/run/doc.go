// Package run runs passes of a model over texts: whole texts in batches, long prompts in tiles, and
// texts that grow token by token on a cache of keys and values. It estimates the memory of a
// pass, and records taps and the rows of mixings. Graphs are those of package graph.
package run

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

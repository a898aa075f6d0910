// Package program compiles graphs over the weights of a model, keeps them by their keys, and runs
// them. It tells who watches about compilations, and answers what a graph needs of the host. It
// knows nothing of what a graph computes.
package program

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

// Package codes holds the weights of a model on a backend: in float32 or bfloat16, or, where a
// checkpoint has quantised them, in its codes alone. A graph multiplies by a matrix in codes as it
// is, or computes its numbers; in pure Go the host multiplies.
//
//   - [LoadWeights] puts the weights on a backend. Arrays have the names of [spec.Spec.Params], and
//     what is read together is side by side in one array.
//   - [WithQuantized] gives a graph its weights by name, whatever their form.
//   - [Product] multiplies activations by them.
//
// The package knows neither blocks nor texts.
package codes

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

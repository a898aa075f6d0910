// Package ask answers questions about the predictions of a model, by passes of package run: the
// scores of many texts ([Predict]), their gradients ([Gradients]), the parts of a logit
// ([LogitTerms], [Decompose]), edges that are patched ([PatchEdges]), what the head computes from
// every layer ([Lens]), and continuations ([PredictContinuation]).
package ask

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

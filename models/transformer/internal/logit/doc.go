// Package logit is what a prediction is made of: the number that a question asks of the scores of a
// head ([ObjectiveValue]), the direction of the residual stream that gives a logit and what a layer
// adds along it ([TermsOf]), and vectors that are sums of the parts of tokens ([Parted]). Most of
// it is graph code over blocks.
package logit

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")

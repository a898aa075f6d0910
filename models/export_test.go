package models

import (
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// What the tests outside the package see.
var OpenCompileTimes = openCompileTimes

type CompileTimes = compileTimes

// LensLayers is lensLayers of a model with so many tokens.
func LensLayers(vocab int, scores []float32, token, k int) ([]trace.LensLayer, error) {
	return (&Model{spec: &spec.Spec{Vocab: vocab}}).lensLayers(scores, token, k)
}

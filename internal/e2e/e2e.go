// Package e2e holds the tests that join layers: models with attribution, pure Go with XLA, the shipped model with its training.
package e2e

import (
	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
)

// What an explanation needs is what a model offers, though neither package knows the other.
var (
	_ attribution.Model            = (*models.Model)(nil)
	_ attribution.Tracer           = (*models.Model)(nil)
	_ attribution.Limited          = (*models.Model)(nil)
	_ attribution.Predictor        = (*models.Model)(nil)
	_ attribution.Differentiable   = (*models.Model)(nil)
	_ attribution.Replacer         = (*models.Model)(nil)
	_ attribution.LogitDecomposer  = (*models.Model)(nil)
	_ attribution.VectorDecomposer = (*models.Model)(nil)
)

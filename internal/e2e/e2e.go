// Package e2e holds the tests that join layers. The ones here compare the documents of this
// repository with the program, build the program for other systems and a plugin of another module,
// and train the shipped model for some steps. They cost about three minutes on two cores. The
// packages below this one join other layers.
package e2e

import (
	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
)

// A model offers what an explanation needs, though neither package knows the other.
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

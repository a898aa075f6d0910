// Package e2e holds the tests that join layers. The ones here compare the documents of this
// repository with the program, build the program for other systems and a plugin of another module,
// and train the shipped model for some steps. They cost about three minutes on two cores. The
// packages below this one join other layers.
package e2e

import (
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// A model offers what an explanation needs, though neither package knows the other.
var (
	_ trace.Model            = (*models.Model)(nil)
	_ trace.Tracer           = (*models.Model)(nil)
	_ trace.Limited          = (*models.Model)(nil)
	_ trace.Predictor        = (*models.Model)(nil)
	_ trace.Differentiable   = (*models.Model)(nil)
	_ trace.Replacer         = (*models.Model)(nil)
	_ trace.LogitDecomposer  = (*models.Model)(nil)
	_ trace.VectorDecomposer = (*models.Model)(nil)
	_ trace.TextKeeper       = (*models.Model)(nil)
)

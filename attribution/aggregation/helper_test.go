package aggregation_test

import "github.com/headwater-ml/headwater/internal/fakemodel"

var near = fakemodel.Near

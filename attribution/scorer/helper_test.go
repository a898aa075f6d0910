package scorer_test

import (
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var near = fakemodel.Near

var must = testhelp.Must // ends a test at an error

package attribution_test

import (
	_ "github.com/headwater-ml/headwater/attribution/study" // whose options the table has
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var near = fakemodel.Near

var must = testhelp.Must // ends a test at an error

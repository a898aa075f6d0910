package bench

import (
	"github.com/headwater-ml/headwater/cmd/headwater/explain"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// headwater has the commands that these tests run.
var headwater = clitest.Program{Commands, explain.Commands}

var must = clitest.Must // ends a test at an error

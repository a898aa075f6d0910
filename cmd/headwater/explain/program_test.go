package explain

import (
	"github.com/headwater-ml/headwater/cmd/headwater/corpus"
	"github.com/headwater-ml/headwater/cmd/headwater/trace"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// headwater has the commands that these tests run.
var headwater = clitest.Program{Commands, trace.Commands, corpus.Commands}

var must = clitest.Must // ends a test at an error

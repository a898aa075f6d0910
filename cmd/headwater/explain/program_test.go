package explain

import (
	"os"
	"testing"

	"github.com/headwater-ml/headwater/cmd/headwater/corpus"
	"github.com/headwater-ml/headwater/cmd/headwater/trace"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// TestMain runs the tests in pure Go. XLA compiles the graphs of a small model for seconds, and
// internal/e2e/backends compares both.
func TestMain(m *testing.M) {
	os.Setenv("HEADWATER_XLA", "none")
	headwater.Main(m, nil)
}

// headwater has the commands that these tests run.
var headwater = clitest.Program{Commands, trace.Commands, corpus.Commands}

var must = clitest.Must // ends a test at an error

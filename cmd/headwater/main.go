// Command headwater says where every token that a transformer writes came from.
//
//	headwater explain "the keys to the cabinet"
//
// Its subcommands explain prompts, record and attribute raw tensors, tokenize, and say what there
// is; headwater help lists them. The exit status is 0, 1 for an error and 2 for wrong usage,
// with two more for a corpus (internal/cli/status.go has the rule), and one line on standard error.
package main

import (
	"context"
	"os"

	"github.com/headwater-ml/headwater/cmd/headwater/bench"
	"github.com/headwater-ml/headwater/cmd/headwater/corpus"
	"github.com/headwater-ml/headwater/cmd/headwater/engine"
	"github.com/headwater-ml/headwater/cmd/headwater/explain"
	"github.com/headwater-ml/headwater/cmd/headwater/figures"
	"github.com/headwater-ml/headwater/cmd/headwater/machine"
	"github.com/headwater-ml/headwater/cmd/headwater/trace"
	"github.com/headwater-ml/headwater/internal/cli"
)

// families have all commands but help and version; each is a folder.
var families = []cli.Family{
	explain.Commands, trace.Commands, bench.Commands, corpus.Commands, figures.Commands,
	engine.Commands, machine.Commands,
}

func main() {
	machine.RestartForCUDA(os.Args)
	ignoreFileLimit()
	os.Exit(cli.Run(context.Background(), families, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

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

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
)

// families are all commands but version.
var families = []cli.Family{commands}

func commands(k *cli.Kit) []*cobra.Command {
	return []*cobra.Command{
		explainCommand(k), figuresCommand(k), reproduceCommand(k), showCommand(k),
		contextCommand(k), traceCommand(k), attributeCommand(k), focusCommand(k),
		tokenizeCommand(k), certifyCommand(k), benchCommand(k), corpusCommand(k),
		modelsCommand(k), methodsCommand(k), examplesCommand(k), downloadCommand(k),
		setupCommand(k), doctorCommand(k), installCommand(k), kernelCommand(k),
		serveCommand(k), engineCommand(k),
	}
}

func main() {
	restartForCUDA(os.Args)
	ignoreFileLimit()
	os.Exit(cli.Run(context.Background(), families, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

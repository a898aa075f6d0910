package main

import (
	"context"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// run executes a command line and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// --max-memory sets the limit for this run only.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	k := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	root := root(k)
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return statusOK
	}
	k.say("%s", cutNames(strings.ReplaceAll(said(err), context.Canceled.Error(), "interrupted")))
	return statusOf(err)
}

// root is the command without a subcommand.
func root(k *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "headwater",
		Short: "headwater says where every token that a transformer writes came from",
		Long: "headwater says where every token that a transformer writes came from\n\n" +
			statusHelp,
		Example: `  headwater explain "the keys to the cabinet"
  headwater explain -o page.html --methods rollout,flow "the keys to the cabinet"
  headwater download smollm2
  headwater explain --model smollm2 "The Eiffel Tower is in Paris. The Colosseum is in"
  headwater examples`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(k.stderr)
			if err := cmd.Help(); err != nil {
				return err
			}
			return usagef("a command is missing")
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		explainCommand(k), figuresCommand(k), reproduceCommand(k), showCommand(k),
		contextCommand(k), traceCommand(k), attributeCommand(k), focusCommand(k),
		tokenizeCommand(k), certifyCommand(k), benchCommand(k), corpusCommand(k),
		modelsCommand(k), methodsCommand(k), examplesCommand(k), downloadCommand(k),
		setupCommand(k), doctorCommand(k), installCommand(k), kernelCommand(k),
		serveCommand(k), engineCommand(k), versionCommand(k),
	)
	return root
}

// helpCommand shows the help of a command. Unlike cobra's own it refuses an unknown command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = knownCommand(about, rest)
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

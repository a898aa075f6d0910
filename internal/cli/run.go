package cli

import (
	"context"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Family makes the commands of one subject, which share a folder.
type Family func(*Kit) []*cobra.Command

// Run executes a command line of the commands of all families and returns its exit status.
func Run(
	ctx context.Context, families []Family, args []string, stdin io.Reader, stdout,
	stderr io.Writer,
) int {
	// --max-memory sets the limit for this run only.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	k := &Kit{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	root := Root(k, families)
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return StatusOK
	}
	k.Say("%s",
		cutNames(strings.ReplaceAll(ErrorText(err), context.Canceled.Error(), "interrupted")))
	return statusOf(err)
}

// Root returns the command without a subcommand, with the commands of all families below it.
func Root(k *Kit, families []Family) *cobra.Command {
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
		Version:           Version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(k.Stderr)
			if err := cmd.Help(); err != nil {
				return err
			}
			return Usagef("a command is missing")
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(versionCommand(k))
	for _, f := range families {
		root.AddCommand(f(k)...)
	}
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
				err = KnownCommand(about, rest)
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

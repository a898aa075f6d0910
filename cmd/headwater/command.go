package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/render"
)

// maxMessage is how many columns of an error are shown; file names and tokens can be of any length.
const maxMessage = 2000

// program is one run of the command.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// held is how many bytes the models that were opened hold for good, and outsideHeap how many more of them lie outside of
	// Go's heap than Go counts in vain.
	held, outsideHeap int64
}

// run executes a command line and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // which --max-memory sets for this run alone
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := withMemoryFlag(root.ExecuteContext(ctx))
	if err == nil {
		return statusOK
	}
	p.say("%s", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
	return statusOf(err)
}

// oneLine joins lines. Python that an error shows on lines of its own remains Python.
var oneLine = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ")

// say writes one line to standard error, whatever the text holds.
func (p *program) say(format string, args ...any) {
	text := oneLine.Replace(strings.TrimSpace(fmt.Sprintf(format, args...)))
	fmt.Fprintf(p.stderr, "headwater: %s\n", render.Visible(text, maxMessage))
}

// root is the command without a subcommand.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "headwater",
		Short: "headwater says where every token that a transformer writes came from",
		Long:  "headwater says where every token that a transformer writes came from\n\n" + statusHelp,
		Example: `  headwater explain "the keys to the cabinet"
  headwater explain --format html -o page.html --methods rollout,flow "the keys to the cabinet"
  headwater examples`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              knownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(p.stderr)
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
		p.explainCommand(), p.traceCommand(), p.attributeCommand(), p.tokenizeCommand(), p.certifyCommand(), p.benchCommand(),
		p.modelsCommand(), p.methodsCommand(), p.examplesCommand(), p.downloadCommand(), p.setupCommand(), p.doctorCommand(), p.serveCommand(), p.versionCommand(),
	)
	return root
}

// helpCommand shows the help of a command. Cobra's own does not refuse a command that there is not.
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

// knownCommand refuses what is no subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if names == nil {
		return usagef("%s has no commands, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return usagef("unknown command %q; known are %s", args[0], strings.Join(names, ", "))
}

// noArguments refuses arguments of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// needFlags returns a usage error that names the flags that are missing.
func needFlags(cmd *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	if missing == nil {
		return nil
	}
	return usagef("%s needs %s; see %s --help", cmd.Name(), strings.Join(missing, " and "), cmd.CommandPath())
}

// interruptible returns a context that the first Ctrl-C or termination signal ends; the second one ends the program.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

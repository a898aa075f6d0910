package cli

import (
	"context"
	"embed"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Family has the functions that make the commands of one subject, which share a folder.
type Family []func(*Kit) *cobra.Command

// Run executes a command line of the commands of all families and returns its exit status. The
// context of a command ends as [Interruptible] says.
func Run(
	ctx context.Context, families []Family, args []string,
	stdin io.Reader, stdout, stderr io.Writer,
) int {
	// --max-memory sets the limit for this run only.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	k := &Kit{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	root := Root(k, families)
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, stop := Interruptible(ctx)
	defer stop()
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
	root.SetHelpFunc(writeHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd, nil) })
	root.AddCommand(versionCommand(k))
	for _, command := range slices.Concat(families...) {
		root.AddCommand(command(k))
	}
	addHelp(root, "")
	return root
}

// helpTexts has a file for each command, named as it is called: what its help says before the
// flags, and examples.
//
//go:embed help
var helpTexts embed.FS

// addHelp gives commands below another one their texts, of which they have none of their own, and
// notes what their flags are given.
func addHelp(below *cobra.Command, path string) {
	for _, c := range below.Commands() {
		noteGiven(c)
		text, err := helpTexts.ReadFile("help/" + path + c.Name() + ".txt")
		if err == nil {
			help := strings.TrimSuffix(string(text), "\n")
			c.Long, c.Example, _ = strings.Cut(help, "\n\nExamples:\n")
		}
		addHelp(c, path+c.Name()+"-")
	}
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

// Interruptible returns a context that ends with the first Ctrl-C, termination or hangup of the
// terminal. The second one ends the program at once, and keeps what is complete of its outputs.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, and means that
		ends = append(ends, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ends...)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case s := <-signals:
			unfinished.rescue()
			endBy(s)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// endBy ends the program as the signal does by itself, so that a shell sees what it was.
func endBy(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // the signal is on its way
	}
	os.Exit(StatusError)
}

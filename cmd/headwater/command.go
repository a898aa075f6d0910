package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/message"
)

// maxMessage is how many columns of an error are shown; file names and tokens can be of any length.
const maxMessage = 2000

// program is one run of the command.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// modelBytes is how many bytes the open models keep. outsideHeap is how many of them Go does
	// not count, less what Go counts and the models do not use.
	modelBytes, outsideHeap int64
	// backend is the line on the backend that was said latest, so that two models on the same one
	// have one line.
	backend string
	// line is the line of progress that was made latest; nil before the first.
	line *progress
}

// run executes a command line and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// --max-memory sets the limit for this run only.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return statusOK
	}
	p.say("%s", cutNames(strings.ReplaceAll(said(err), context.Canceled.Error(), "interrupted")))
	return statusOf(err)
}

// Names in errors come from users and files and can be of any length. What is longer than longQuote
// in quotes, or than longWord without a space, such as a path, is cut, so that what follows can be
// read.
const (
	longQuote = 100
	longWord  = 300
)

var (
	quotes = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	words  = regexp.MustCompile(`\S+`)
)

// cutNames cuts the long names of an error: of a quoted one the beginning remains, of a path also
// the end.
func cutNames(text string) string {
	text = quotes.ReplaceAllStringFunc(text, func(quoted string) string {
		if len(quoted) <= longQuote {
			return quoted
		}
		return strings.ToValidUTF8(quoted[:60], "") + `…"`
	})
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if len(word) <= longWord {
			return word
		}
		begin, end := word[:100], word[len(word)-60:]
		return strings.ToValidUTF8(begin, "") + "…" + strings.ToValidUTF8(end, "")
	})
}

// oneLine joins lines. Python that an error shows on lines of its own remains Python.
var oneLine = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ")

// say writes the text to standard error, always as one line.
func (p *program) say(format string, args ...any) {
	text := message.WithoutPackages(fmt.Sprintf(format, args...))
	text = oneLine.Replace(strings.TrimSpace(text))
	fmt.Fprintf(p.stderr, "headwater: %s\n", render.Visible(text, maxMessage))
}

// root is the command without a subcommand.
func (p *program) root() *cobra.Command {
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
		p.explainCommand(), p.figuresCommand(), p.reproduceCommand(), p.showCommand(),
		p.contextCommand(), p.traceCommand(), p.attributeCommand(), p.focusCommand(),
		p.tokenizeCommand(), p.certifyCommand(), p.benchCommand(), p.corpusCommand(),
		p.modelsCommand(), p.methodsCommand(), p.examplesCommand(), p.downloadCommand(),
		p.setupCommand(), p.doctorCommand(), p.installCommand(), p.kernelCommand(),
		p.serveCommand(), p.engineCommand(), p.versionCommand(),
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

// knownCommand refuses an unknown subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if names == nil {
		return usagef("%s has no commands, got %.60q; see %s --help", cmd.Name(), args[0],
			cmd.CommandPath())
	}
	return usagef("unknown command %.60q; %s", args[0], message.KnownAre(args[0], names))
}

// noArguments refuses any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %.60q; see %s --help", cmd.Name(), args[0],
			cmd.CommandPath())
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
	return usagef("%s needs %s; see %s --help", cmd.Name(), strings.Join(missing, " and "),
		cmd.CommandPath())
}

// interruptible returns a context that ends with the first Ctrl-C, termination or hangup of the
// terminal. The second one ends the program at once, and keeps what is complete of its outputs.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(cmd.Context())
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
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
		cancel()
	})
}

// endBy ends the program as the signal does by itself, so that a shell sees what it was.
func endBy(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // the signal is on its way
	}
	os.Exit(statusError)
}

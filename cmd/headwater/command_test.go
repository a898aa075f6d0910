package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// headwater is the whole program.
var headwater = clitest.Program(families)

var must = clitest.Must // ends a test at an error

func TestMain(m *testing.M) { headwater.Main(m, actAsProgram) }

func TestWrongCommands(t *testing.T) {
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"unknown command", []string{"expose"}, "", 2, `unknown command "expose"; known are attribute, bench, certify, context, corpus, doctor, download, engine, examples, explain, `},
		{"misspelt command", []string{"explian"}, "", 2, `unknown command "explian"; did you mean explain? known are attribute, `},
		{"misspelt command of a command", []string{"setup", "xlaa"}, "", 2, `unknown command "xlaa"; did you mean xla? known are xla`},
		{"misspelt tap", []string{"trace", "--taps", "hiden", "--ids", "1", "-o", "OUT"}, "", 2, `unknown tap "hiden"; did you mean hidden? known are scores, `},
		{"misspelt source", []string{"setup", "xla", "--source", "wheels"}, "", 2, `--source "wheels" is unknown; did you mean wheel? known are go-xla, wheel`},
		{"long flag", []string{"explain", "--" + strings.Repeat("f", 5000)}, "", 2, "; see headwater explain --help"},
		{"gradients of a file", []string{"attribute", "--input", "nope", "--methods", "attn-lrp", "-o", "OUT"}, "", 2, "--methods attn-lrp: it asks the model again (it needs gradients"},
		{"gradients of a cut", []string{"attribute", "--input", "nope", "--methods", "occlusion", "--cut", "1:0"}, "", 2, "--methods occlusion: it asks the model again"},
		{"check without a check", []string{"doctor", "--quick", "--check"}, "", 2, "--check does nothing with --quick"},
		{"unknown flag", []string{"explain", "--modle", "tiny", "a"}, "", 2, "unknown flag: --modle; did you mean --model?; see headwater explain --help"},
		{"unknown command with a flag", []string{"maps", "--model", "tiny"}, "", 2, `unknown command "maps"; known are attribute, `},
		{"unknown short flag", []string{"methods", "-x"}, "", 2, "unknown flag: -x; see headwater methods"},
		{"flag without value", []string{"explain", "--format"}, "", 2, "flag needs an argument: --format"},
		{"help of an unknown command", []string{"help", "expose"}, "", 2, `unknown command "expose"`},
		{"argument of version", []string{"version", "rollout"}, "", 2, `version takes no argument, got "rollout"`},
		{"hostile command", []string{"\x1b[31mred\u202e\n\nx"}, "", 2, `unknown command`},
	})
}

// A person who types only the name gets help, and a script that lost its arguments fails.
func TestNoCommand(t *testing.T) {
	status, stdout, stderr := headwater.Execute(t, "")
	if status != cli.StatusUsage || stdout != "" || !strings.Contains(stderr, "explain") ||
		!strings.HasSuffix(stderr, "headwater: a command is missing\n") {
		t.Errorf("headwater: status %d, %q, %q", status, stdout, stderr)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "trace"}, {"trace", "--help"}, {"explain", "-h"}} {
		if out := headwater.Output(t, args...); !strings.Contains(out, "Usage:\n  headwater") {
			t.Errorf("headwater %q says %q", args, out)
		}
	}
	if a, b := headwater.Output(t, "help", "trace"),
		headwater.Output(t, "trace", "--help"); a != b {
		t.Errorf("help trace says %q, trace --help %q", a, b)
	}
}

// The help of every command has lines of at most 100 columns, but for examples and words that are
// longer, where nobody watches.
func TestHelpWidth(t *testing.T) {
	var visit func(c *cobra.Command, path []string)
	visit = func(c *cobra.Command, path []string) {
		help := headwater.Output(t, append(path, "--help")...)
		head, examples, _ := strings.Cut(help, "\nExamples:\n")
		_, flags, _ := strings.Cut(examples, "\n\n")
		for line := range strings.Lines(head + flags) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
				t.Errorf("headwater %s --help has a line of more than 100 columns: %s", path, line)
			}
		}
		for _, below := range c.Commands() {
			if !below.Hidden && below.Name() != "help" {
				visit(below, append(slices.Clone(path), below.Name()))
			}
		}
	}
	visit(cli.Root(&cli.Kit{}, headwater), nil)
}

// A switch that is off is accepted in all its forms, also where it could not be on.
func TestSwitchesOff(t *testing.T) {
	for _, args := range [][]string{
		{"--chat=off"}, {"--sinks=off"}, {"--prove=false"}, {"--prove", "off", "--by", "word"},
		{"--without=off"}, {"--set", "lens=off,patch=false,head-kinds=off"},
		{"--set", "lift=off,all-levels=off,prompt-scores=off", "--methods", "direct"},
	} {
		plain := headwater.Output(t, "explain", "--max-tokens", "1", "the keys to the cabinet")
		got := headwater.Output(t, slices.Concat([]string{"explain", "--max-tokens", "1"}, args,
			[]string{"the keys to the cabinet"})...)
		if args[0] == "--chat=off" && got != plain {
			t.Errorf("%q changes the text:\n%s\nwas:\n%s", args, got, plain)
		}
	}
	for _, args := range [][]string{
		{"--without=off", "--prove=off", "--chat=false"}, {"--set", "prompt-scores=off,lens=off"},
	} {
		headwater.Output(t, slices.Concat([]string{"explain", "--model", "tiny-mlm"}, args,
			[]string{"the keys to the [MASK]"})...)
	}
}

func TestVersion(t *testing.T) {
	a, b := headwater.Output(t, "version"), headwater.Output(t, "--version")
	if a != b || !strings.HasPrefix(a, "headwater ") || strings.Count(a, "\n") != 1 {
		t.Errorf("version says %q, --version %q", a, b)
	}
}

// A context that is cancelled before the start ends every command that computes, with an error.
func TestDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"explain", "--backend", "go", "-o", out, "the keys"},
		{"trace", "--backend", "go", "--ids", "1,2", "--taps", "hidden", "-o", out},
		{"focus", "--backend", "go", "-o", out, "the keys"},
		{"context", "--backend", "go", "-o", out, "-q", "who ?", "command_test.go"},
		{"tokenize", "--tokenizer", filepath.Join(clitest.Root, "internal/tokenizer/testdata/gpt2.json")},
	} {
		var stdout, stderr bytes.Buffer
		status := cli.Run(ctx, headwater, args, strings.NewReader(`"a"`), &stdout, &stderr)
		if status != cli.StatusError || stdout.Len() > 0 ||
			!strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("headwater %q: status %d, %q, %q", args, status, stdout.String(),
				stderr.String())
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("there is an output: %v", err)
	}
}

// No flag takes an empty value, which an unset variable of a shell leaves. This test finds a new
// flag that does.
func TestEmptyValues(t *testing.T) {
	flags := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			if err := c.Flags().Set(f.Name, ""); err == nil {
				t.Errorf("%s --%s takes an empty value", c.CommandPath(), f.Name)
			}
		})
	}
	visit(cli.Root(&cli.Kit{}, families))
	if flags < 250 {
		t.Errorf("%d flags; the others were not found", flags)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"a model", []string{"certify", "--model", ""}, "", 2,
			`--model "": it is empty; leave it out, or give it a value`},
	})
}

// Each file of help is the text of a command, which shows it and has no text of its own in Go.
func TestHelpFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(clitest.Root, "internal/cli/help/*.txt"))
	must(t, err)
	root := cli.Root(&cli.Kit{}, families)
	without := &cobra.Command{} // the commands before they have the texts of files
	for _, command := range slices.Concat(families...) {
		without.AddCommand(command(&cli.Kit{}))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		cmd, rest, err := root.Find(strings.Split(name, "-"))
		must(t, err)
		if text, err := os.ReadFile(file); err != nil || len(rest) > 0 ||
			!strings.HasPrefix(string(text), cmd.Long) || cmd.Long == "" {
			t.Errorf("%s is not the help of a command: %q, %v", file, rest, err)
		}
		cmd, _, err = without.Find(strings.Split(name, "-"))
		if must(t, err); cmd.Long+cmd.Example != "" {
			t.Errorf("%s would replace %q of the command", file, cmd.Long+cmd.Example)
		}
	}
	if len(files) < 20 {
		t.Errorf("%d files of help", len(files))
	}
}

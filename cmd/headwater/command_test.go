package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// goldens are checkpoints of random weights without a tokenizer; see models/testdata.
const goldens = "../../models/testdata/goldens"

// execute runs a command line as the program would.
func execute(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// mustExecute runs a command line that must succeed and returns its standard output.
func mustExecute(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	status, stdout, stderr := execute(t, stdin, args...)
	if status != statusOK {
		t.Fatalf("headwater %q: status %d, %s", args, status, stderr)
	}
	return stdout
}

// refusal is a command line that must fail with one line of error and nothing written.
type refusal struct {
	name  string
	args  []string
	stdin string
	// status is 1 or 2; say is a part of the error.
	status int
	say    string
}

// checkRefusals runs command lines that must fail. OUT in an argument stands for a file; afterwards
// its folder must be empty.
func checkRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var args []string
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "OUT", filepath.Join(dir, "out")))
			}
			status, stdout, stderr := execute(t, c.stdin, args...)
			stderr = withoutBackend(stderr)
			if status != c.status || !strings.Contains(stderr, c.say) {
				t.Errorf("headwater %q: status %d, error %q; want %d, %q", args, status, stderr,
					c.status, c.say)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "headwater: ") ||
				strings.Contains(stderr, "goroutine") {
				t.Errorf("error %q; want one line that begins with headwater:", stderr)
			}
			checkWords(t, stderr)
			long := regexp.MustCompile(`[^ ]{400}`).FindString(stderr)
			if long != "" || strings.Contains(stderr, "unmarshal") ||
				strings.Contains(stderr, "Go struct") {
				t.Errorf("error %q; want no long word and no word of Go", stderr)
			}
			if stdout != "" {
				t.Errorf("standard output %q; want none", stdout)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files %v, %v; want none", left, err)
			}
		})
	}
}

// checkWords checks that an error has no name of a package and no field of a struct of Go, which
// mean nothing to a user of the command.
func checkWords(t *testing.T, stderr string) {
	t.Helper()
	text := strings.TrimPrefix(stderr, "headwater: ")
	if plain := message.WithoutPackages(text); plain != text {
		t.Errorf("error %q names a package; want %q", text, plain)
	}
	unquoted := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`).ReplaceAllString(text, "")
	for _, row := range attribution.OptionTable() {
		for _, field := range strings.Split(row.Field, " and ") {
			if strings.ToLower(field[1:]) != field[1:] && strings.Contains(unquoted, field) {
				t.Errorf("error %q names %s, a field of Go", text, field)
			}
		}
	}
}

// withoutBackend removes the lines that name the backend and say why XLA is not used.
func withoutBackend(stderr string) string {
	for _, begins := range []string{"headwater: xla is not used: ", "headwater: backend "} {
		line, rest, ok := strings.Cut(stderr, "\n")
		if ok && rest != "" && strings.HasPrefix(line, begins) {
			stderr = rest
		}
	}
	return stderr
}

// spellable is a tokenizer of six characters for a golden, whose vocabulary of 96 has no room for
// 256 bytes.
const spellable = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
"fuse_unk":false,"byte_fallback":false,"vocab":{"a":3,"b":4,"Ġ":5,"<":6,">":7,"s":8},"merges":[]}}`

// copyModel copies a golden into a directory, with the tokenizer spellable and with config.json
// changed by edit, which may be nil. It returns the path.
func copyModel(t *testing.T, golden string, edit func(config map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	var config map[string]any
	text := read(t, filepath.Join(goldens, golden, "config.json"))
	must(t, json.Unmarshal(text, &config))
	if edit != nil {
		edit(config)
	}
	data, err := json.Marshal(config)
	must(t, err)
	write(t, filepath.Join(dir, "config.json"), data)
	write(t, filepath.Join(dir, "model.safetensors"),
		read(t, filepath.Join(goldens, golden, "model.safetensors")))
	write(t, filepath.Join(dir, "tokenizer.json"), []byte(spellable))
	return dir
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

func TestWrongCommands(t *testing.T) {
	checkRefusals(t, []refusal{
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
		{"argument of methods", []string{"methods", "rollout"}, "", 2, `methods takes no argument, got "rollout"`},
		{"hostile command", []string{"\x1b[31mred\u202e\n\nx"}, "", 2, `unknown command`},
	})
}

// A person who types only the name gets help, and a script that lost its arguments fails.
func TestNoCommand(t *testing.T) {
	status, stdout, stderr := execute(t, "")
	if status != statusUsage || stdout != "" || !strings.Contains(stderr, "explain") ||
		!strings.HasSuffix(stderr, "headwater: a command is missing\n") {
		t.Errorf("headwater: status %d, %q, %q", status, stdout, stderr)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "trace"}, {"trace", "--help"}, {"explain", "-h"}} {
		if out := mustExecute(t, "", args...); !strings.Contains(out, "Usage:\n  headwater") {
			t.Errorf("headwater %q says %q", args, out)
		}
	}
	if a, b := mustExecute(t, "", "help", "trace"), mustExecute(t, "", "trace", "--help"); a != b {
		t.Errorf("help trace says %q, trace --help %q", a, b)
	}
}

func TestVersion(t *testing.T) {
	a, b := mustExecute(t, "", "version"), mustExecute(t, "", "--version")
	if a != b || !strings.HasPrefix(a, "headwater ") || strings.Count(a, "\n") != 1 {
		t.Errorf("version says %q, --version %q", a, b)
	}
}

// say keeps hostile text and errors of many lines on one printable line.
func TestSay(t *testing.T) {
	var b bytes.Buffer
	k := program{stderr: &b}
	k.say("%v", "two\nlines, \x1b[31mred and \u202ebackwards")
	want := "headwater: two; lines, ␛[31mred and ⟨U+202E⟩backwards\n"
	if b.String() != want {
		t.Errorf("say wrote %q, want %q", b.String(), want)
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
		{"context", "--backend", "go", "-o", out, "-q", "who ?", "context_test.go"},
		{"tokenize", "--tokenizer", "../../models/tokenizer/testdata/gpt2.json"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(ctx, args, strings.NewReader(`"a"`), &stdout, &stderr)
		if status != statusError || stdout.Len() > 0 ||
			!strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("headwater %q: status %d, %q, %q", args, status, stdout.String(),
				stderr.String())
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("there is an output: %v", err)
	}
}

// TestSayPython checks that Python code in an error message can be copied from its one line.
func TestSayPython(t *testing.T) {
	var out strings.Builder
	k := &program{stderr: &out}
	k.say("found m.bin: convert it:\n\timport a\n\ta.b()\nand go on")
	const want = "headwater: found m.bin: convert it: import a; a.b(); and go on\n"
	if out.String() != want {
		t.Errorf("say wrote %q, want %q", out.String(), want)
	}
}

// The help of explain lists every flag once, those that people need first, in lines of 100 columns.
func TestExplainHelp(t *testing.T) {
	help := mustExecute(t, "", "explain", "--help")
	_, listed, _ := strings.Cut(help, "\nFlags:\n")
	if !strings.HasPrefix(listed, "  -m, --model") {
		t.Errorf("the first flag is not the model:\n%s", listed)
	}
	explainCommand((&program{})).Flags().VisitAll(func(f *pflag.Flag) {
		line := regexp.MustCompile(`(?m)^  (-.,|   ) --` + f.Name + `( |$)`)
		if n := len(line.FindAllString(listed, -1)); n != 1 {
			t.Errorf("--%s is there %d times", f.Name, n)
		}
	})
	for line := range strings.Lines(listed) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line has more than 100 columns: %s", line)
		}
	}
}

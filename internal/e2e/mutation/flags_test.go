package mutation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/mutant"
)

// bases are command lines that work, and end soon. The flags that mutants add come from each
// command's help, so a new flag is tried without a change here.
var bases = [][]string{
	{"explain", "--backend", "go", "--max-tokens", "2", "the keys to"},
	{
		"explain", "--backend", "go", "--max-tokens", "1", "--methods", "flow,value-zeroing",
		"the keys to",
	},
	{"explain", "--backend", "go", "--max-tokens", "1", "--methods", "attn-lrp", "the keys"},
	{
		"explain", "--backend", "go", "--max-tokens", "1", "--methods", "gradient-x-input",
		"--format", "json", "the",
	},
	{"trace", "--backend", "go", "--ids", "5,6,7", "--taps", "attention,logits", "-o", "out"},
	{"attribute", "--input", "in.safetensors", "--methods", "rollout,flow", "-o", "out"},
	{"tokenize", "--tokenizer", "tokenizer.json"},
	{"models"},
	{"methods"},
	{"examples"},
	{"version"},
	{"certify", "--backend", "go", "--text", "the keys"},
	{"bench", "methods", "--backend", "go", "--methods", "raw", "--cases", "1", "--timed", "0"},
}

// values are what flags are given.
var values = []string{
	"0", "1", "2", "3", "-1", "-5", "0.5", "1.5", "-0.1", "NaN", "Inf", "-Inf", "1e308", "1e-320",
	"0x10", "1_000", "٣", "2147483648", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "-9223372036854775808", "999999999", "", " ", "a", "rolout", "rollout",
	"rollout,rollout", ",", "attention+flow", "attention+", "+flow", "mean", "max", "0:1", "1:0",
	"0:", ":", "99999999999:1", "word", "text", "json", "html", "on", "true", "maybe", "float32",
	"bfloat16", "go", "xla:/nowhere.so", "gpu", "1MB", "80MB", "8GB", "1e30GB", "-1GB",
	"/nowhere/out", ".", "..", "in.safetensors", "tokenizer.json", "-", "tiny", "tyny",
	"planted-relay", "no/such-model", "no/such/model", "\xff", "\x1b[31m", "<script>", "logit",
	"mask", "zero", "delete", "probability", "lift", "heads=max", "layers=0:1,lift", "steps=0",
	"residual=NaN", "replacement=,", "chat-date=today",
}

var helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)(.*)$`)

// ReadFlags asks every command of bases for its flags.
func (s *Seeds) ReadFlags(ctx context.Context, binary string) error {
	s.flags = map[string][]string{}
	for _, base := range bases {
		command := commandOf(base)
		words := append(slices.Clone(command), "--help")
		help, err := exec.CommandContext(ctx, binary, words...).Output()
		if err != nil {
			return fmt.Errorf("mutation: %s --help: %w", strings.Join(command, " "), err)
		}
		for _, m := range helpFlag.FindAllStringSubmatch(string(help), -1) {
			if m[1] != "help" {
				s.flags[command[0]] = append(s.flags[command[0]], m[1])
			}
		}
		slices.Sort(s.flags[command[0]])
		s.flags[command[0]] = slices.Compact(s.flags[command[0]])
	}
	return nil
}

// commandOf returns the words of a command line that name the command.
func commandOf(args []string) []string {
	if args[0] == "bench" {
		return args[:2]
	}
	return args[:1]
}

// inWords returns how a message may name a flag's value without the flag: a file by itself, with
// spaces made visible, and one of several by its number ("head 3" for heads=3).
func inWords(name, value string) []string {
	words := []string{
		value + ": no such file", strings.ReplaceAll(value, " ", "␣") + ": no such file",
		strings.TrimSuffix(name, "s") + " " + value,
	}
	if strings.ContainsAny(value, "./") {
		words = append(words, " "+value+" ", " "+value+": ")
	}
	return words
}

// mutateFlags adds flags to a command line that works.
func mutateFlags(r *rand.Rand, s *Seeds) Mutant {
	base := mutant.Pick(r, bases)
	command := commandOf(base)
	args := slices.Clone(command)
	var names []string
	known := s.flags[command[0]]
	for range 1 + r.IntN(3) {
		name := "no-such-flag"
		if len(known) > 0 && r.IntN(25) > 0 {
			name = mutant.Pick(r, known)
		}
		names = append(names, name)
		flag := "--" + name
		if r.IntN(8) > 0 {
			flag += "=" + mutant.Pick(r, values)
		}
		args = append(args, flag)
	}
	args = append(args, base[len(command):]...)
	if r.IntN(10) == 0 { // leave something out, or say too much
		args = append(args, mutant.Pick(r, []string{"extra", "--", "-x", "--max-tokens"}))
	}
	names = append(names, flagNames(args)...)
	for _, name := range names { // a library says "max tokens" of --max-tokens
		names = append(names, strings.ReplaceAll(name, "-", " "))
	}
	for _, arg := range args {
		if name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "="); ok && value != "" {
			names = append(names, inWords(name, value)...)
		}
	}
	in := container{header: mutant.Object()}
	in.add("attention", []int{2, 2, 4, 4}, softmaxRows(r, 4, 4, 1))
	in.add("value-zeroing", []int{2, 4, 4}, softmaxRows(r, 2, 4, 1))
	return Mutant{
		Args:  args,
		Stdin: []byte("\"the keys\"\n"),
		Files: map[string][]byte{"in.safetensors": in.bytes(), "tokenizer.json": s.tokenizers[0]},
		// What a command line may create: any name that it holds.
		Output: "*",
		Names:  [][]string{append(names, "argument", "PROMPT", "prompt", "headwater "+command[0])},
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// TestStatuses checks the exit status of every command against the rule in internal/cli, with
// mistakes that lie near the border between the two errors.
func TestStatuses(t *testing.T) {
	gpt2, bare := filepath.Join(clitest.Goldens, "gpt2"),
		filepath.Join(clitest.Goldens, "bert_bare")
	recording := filepath.Join(gpt2, "golden.safetensors")
	many := strings.Repeat("1,", 64) + "1"
	explain := func(args ...string) []string {
		return append([]string{"explain", "--backend", "go", "-o", "OUT"}, args...)
	}
	trace := func(args ...string) []string {
		return append([]string{"trace", "--backend", "go", "-o", "OUT", "--taps"}, args...)
	}
	certify := func(args ...string) []string { return append([]string{"certify", "--backend", "go"}, args...) }
	headwater.CheckRefusals(t, []clitest.Refusal{
		// Requests that nothing could fulfil.
		{"backend", explain("--backend", "foo", "a"), "", 2, `--backend "foo": known are go, xla, cuda, and xla:PATH`},
		{"backend without its path", explain("--backend", "xla:", "a"), "", 2, `--backend "xla:": known are go`},
		{"backend of an engine", []string{"serve", "--socket", "OUT", "--backend", "foo"}, "", 2, `--backend "foo"`},
		{"backend of a trace", trace("hidden", "--ids", "1", "--backend", "go:x"), "", 2, `--backend "go:x"`},
		{"truth", []string{"methods", "--json=maybe"}, "", 2, `--json "maybe": want true or false; see headwater methods --help`},
		{"number", explain("--width", "x", "a"), "", 2, `--width "x": want a whole number from 60 to 10000; see headwater explain --help`},
		{"fraction", explain("--set", "threshold=x", "a"), "", 2, `--set threshold "x": want a number from 0 to 1000000;`},
		{"number beyond all", []string{"doctor", "--size", strings.Repeat("9", 30)}, "", 2, `want a whole number`},
		{"long value", trace("hidden", "--ids", strings.Repeat("1,", 5000)+"x"), "", 2, `"x" is not a token id, a whole number from 0 to 2147483647; see headwater trace --help`},
		{"command of a command", []string{"help", "explain", "foo"}, "", 2, `explain has no commands, got "foo"; see headwater explain --help`},
		{"hash", []string{"setup", "xla", "--from", "/nope", "--sha256", "00"}, "", 2, `--sha256 "00": want the 64 hexadecimal digits`},
		{"time", []string{"serve", "--socket", "OUT", "--idle", "-1s"}, "", 2, "--idle -1s: want a time of 0 or more"},
		{"head of a model", explain("--set", "heads=99", "a"), "", 2, "--set heads 99; there are 8, from 0 to 7"},
		{"id of a model", trace("hidden", "--ids", "1,929"), "", 2, "id 929 of token 1 is outside the vocabulary of 929 of tiny; ids are from 0 to 928"},
		{"context of a model", trace("hidden", "--model", gpt2, "--ids", many), "", 2, "65 tokens are more than the context of 64"},
		{"head that a model lacks", trace("hidden,logits", "--model", bare, "--ids", "1"), "", 2, "has no head that makes them; take final"},
		{"id of a check", certify("--ids", "929"), "", 2, "id 929 of token 0 is outside"},
		{"context of a check", certify("--model", gpt2, "--ids", many), "", 2, "65 tokens are more than the context"},
		{"empty text of a check", certify("--text", ""), "", 2, `--text "": it is empty; leave it out`},
		{"recording without a text", certify("--record", "OUT", "--model", "/nope"), "", 2, "--record needs a text: --text or --ids"},
		{"tokens of a recording", certify("--record", "OUT", "--ids", "1", "--max-tokens", "100000000"), "", 2, `--max-tokens "100000000": want a whole number from 0 to 4096`},
		{"negative tokens of a recording", certify("--record", "OUT", "--ids", "1", "--max-tokens", "-3"), "", 2, `--max-tokens "-3": want a whole number from 0`},
		{"context of a recording", certify("--record", "OUT", "--model", gpt2, "--ids", "1,2", "--max-tokens", "63"), "", 2, "2 tokens and --max-tokens 63 are more than the context of 64"},
		{"lengths of a recording", certify("--record", "OUT", "--ids", "1,2", "--ids", "1"), "", 2, "--ids of 2 and of 1 tokens"},
		{"a line that asks for what cannot be", explain("--input", "-"), `{"prompt":"a","positions":[1]}`, 2, `standard input line 1: --position [1]; "tiny" is a decoder`},
		{"value before file", explain("--input", "/nope", "--set", "heads=foo"), "", 2, `--set heads "foo"`},

		// Requests that fail.
		{"plugin", explain("--backend", "xla:/nope.so", "a"), "", 1, "/nope.so"},
		{"model", explain("--model", "a/b/c", "a"), "", 1, "a/b/c is neither a directory"},
		{"limit of memory", explain("--max-memory", "1KB", "a"), "", 1, "needs about 75.7 MB, the limit is 1.0 kB (given); what is recorded takes more than that; take a smaller model, or allow more memory (--max-memory)"},
		{"file of prompts", explain("--input", "/nope"), "", 1, "/nope: no such file"},
		{"a malformed line", explain("--input", "-"), `{"prompt":7}`, 1, `line 1: the key "prompt" is a number`},
		{"folder of an output", trace("hidden", "--ids", "1", "-o", "OUT/x/y"), "", 1, "does not exist"},
		{"folder that takes no file", explain("-o", "/proc/headwater", "a"), "", 1, "output /proc/headwater: no file can be created in that directory (no such file or directory); name a file in another one"},
		{"recording", certify("--golden", "/nope"), "", 1, "the golden /nope: no such file; --golden names a recording"},
		{"recording of another model", certify("--golden", recording), "", 1, "it is the recording of another one"},
		{"no recording", certify("--golden", "main.go"), "", 1, "main.go"},
		{"tensors", []string{"attribute", "--input", "/nope", "--methods", "rollout", "-o", "OUT"}, "", 1, "/nope: no such file"},
		{"tensors of another program", []string{"attribute", "--input", recording, "--methods", "rollout", "-o", "OUT"}, "", 1, `has no tensor "attention"`},
		{"tokenizer", []string{"tokenize", "--tokenizer", "main.go"}, "", 1, "main.go"},
		{"text of a model without a tokenizer", trace("hidden", "--model", gpt2, "--text", "a"), "", 1, "takes token ids and no text"},
		{"models", []string{"models", "main.go"}, "", 1, "not a GGUF file"},
		{"plugin to install", []string{"setup", "xla", "--dir", "OUT", "--from", "/nope"}, "", 1, "/nope: no such file"},
		{"socket", []string{"serve", "--socket", "/nope/s"}, "", 1, "/nope/s"},
	})
}

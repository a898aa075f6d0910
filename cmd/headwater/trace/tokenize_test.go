package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
	"github.com/headwater-ml/headwater/internal/tokenizer"
)

var tokenizers = filepath.Join(clitest.Root, "internal/tokenizer/testdata")

// The reference has the tokens of 319 texts, control tokens included, with offsets in characters.
func TestTokenizeReference(t *testing.T) {
	type reference struct {
		IDs     []int    `json:"ids"`
		Offsets [][2]int `json:"offsets"`
	}
	var all []struct {
		Text string
		Want map[string]reference
	}
	data := clitest.Read(t, filepath.Join(tokenizers, "ref.json.gz"))
	packed, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	must(t, json.NewDecoder(packed).Decode(&all))
	if len(all) < 300 {
		t.Fatalf("%d texts in the reference", len(all))
	}
	for kind := range all[0].Want {
		var input bytes.Buffer
		for _, r := range all {
			input.Write(append(clitest.JSON(t, r.Text), '\n'))
		}
		out := headwater.MustExecute(t, input.String(), "tokenize",
			"--tokenizer", filepath.Join(tokenizers, kind+".json"))
		results := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(results) != len(all) {
			t.Fatalf("%s: %d lines, want %d", kind, len(results), len(all))
		}
		for i, r := range all {
			want := r.Want[kind]
			var got reference
			must(t, json.Unmarshal([]byte(results[i]), &got))
			for k, at := range want.Offsets {
				want.Offsets[k] = [2]int{bytesOf(r.Text, at[0]), bytesOf(r.Text, at[1])}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %q (-want +got):\n%s", kind, r.Text, diff)
			}
		}
	}
}

// bytesOf returns how many bytes the first characters of s take.
func bytesOf(s string, characters int) int { return len(string([]rune(s)[:characters])) }

func TestTokenizeSpecials(t *testing.T) {
	args := []string{"tokenize", "--tokenizer", filepath.Join(tokenizers, "roberta.json")}
	got, want := headwater.MustExecute(t, `""`, args...),
		`{"ids":[0,2],"offsets":[[0,0],[0,0]]}`+"\n"
	if got != want {
		t.Errorf("empty text: %s, want %s", got, want)
	}
	got = headwater.MustExecute(t, `""`, append(args, "--no-specials")...)
	if want := `{"ids":[],"offsets":[]}` + "\n"; got != want {
		t.Errorf("empty text without specials: %s, want %s", got, want)
	}
	if got := headwater.Output(t, args...); got != "" {
		t.Errorf("no lines: %s", got)
	}
}

// A line may be longer than the buffer of any scanner.
func TestTokenizeLong(t *testing.T) {
	text := strings.Repeat("the keys ", 100_000)
	out := headwater.MustExecute(t, string(clitest.JSON(t, text)), "tokenize",
		"--tokenizer", filepath.Join(tokenizers, "gpt2.json"))
	var got struct{ Offsets [][2]int }
	must(t, json.Unmarshal([]byte(out), &got))
	if last := got.Offsets[len(got.Offsets)-1]; last[1] != len(text) {
		t.Errorf("the last token ends at %d, the text at %d", last[1], len(text))
	}
}

// A program that is connected by two pipes gets each answer before it sends the next line.
func TestTokenizeInteractive(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	done := make(chan int)
	go func() {
		status := cli.Run(t.Context(), headwater, []string{"tokenize", "--tokenizer", filepath.Join(tokenizers, "gpt2.json")}, in, out, io.Discard)
		out.Close()
		done <- status
	}()
	answers := bufio.NewReader(receive)
	tok, err := tokenizer.Load(filepath.Join(tokenizers, "gpt2.json"))
	must(t, err)
	for _, text := range []string{"the keys", " to", ""} {
		if _, err := send.Write(append(clitest.JSON(t, text), '\n')); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		must(t, err)
		tokens, err := tok.Encode(text, true)
		must(t, err)
		want := struct {
			IDs     []int    `json:"ids"`
			Offsets [][2]int `json:"offsets"`
		}{[]int{}, [][2]int{}}
		for _, e := range tokens {
			want.IDs = append(want.IDs, e.ID)
			want.Offsets = append(want.Offsets, [2]int{e.Begin, e.End})
		}
		if want := string(clitest.JSON(t, want)) + "\n"; answer != want {
			t.Errorf("%q: %s, want %s", text, answer, want)
		}
	}
	send.Close()
	if status := <-done; status != cli.StatusOK {
		t.Errorf("status %d", status)
	}
}

func TestTokenizeRefusals(t *testing.T) {
	in := []string{"tokenize", "--tokenizer", filepath.Join(tokenizers, "gpt2.json")}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no tokenizer", []string{"tokenize"}, "", 2, "tokenize needs --tokenizer"},
		{"missing file", []string{"tokenize", "--tokenizer", "nope.json"}, "", 1, "nope.json"},
		{"no JSON", []string{"tokenize", "--tokenizer", "trace.go"}, "", 1, "trace.go"},
		{"no tokenizer in it", []string{"tokenize", "--tokenizer", filepath.Join(clitest.Root, "internal/tiny/data/config.json")}, "", 1, "config.json"},
		{"no string", in, "the keys", 1, `standard input line 1: want a JSON string such as "some text"`},
		{"a number", in, "7", 1, "line 1: want a JSON string"},
		{"null", in, "null", 1, "line 1: want a JSON string"},
		{"an empty line", in, "\n", 1, "line 1: want a JSON string"},
		{"an open string", in, `"the`, 1, "line 1: want a JSON string"},
		{"two strings", in, `"a" "b"`, 1, "line 1: want a JSON string"},
		{"half a character", in, `"a\ud800b"`, 1, `line 1: \ud800 at byte 3 is the first half`},
		{"no UTF-8", in, "\"\xff\"", 1, "line 1: it is not valid UTF-8"},
		{"an argument", append(in, "the keys"), "", 2, "tokenize takes no argument"},
	})
	// Lines before a bad one are answered.
	status, stdout, stderr := headwater.Execute(t, "\"a\"\n\"b\"\nc\n\"d\"", in...)
	if status != cli.StatusError || strings.Count(stdout, "\n") != 2 ||
		!strings.Contains(stderr, "standard input line 3: ") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

// TestTokenizeTooLong: a text whose tokens could fill memory is refused before it is cut.
func TestTokenizeTooLong(t *testing.T) {
	line := `"` + strings.Repeat("~", mostText+1) + `"`
	status, _, stderr := headwater.Execute(t, line, "tokenize", "--tokenizer",
		filepath.Join(tokenizers, "gpt2.json"))
	if status != cli.StatusError || !strings.Contains(stderr, "4194305 bytes; at most 4194304") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// TestTokenizeStops checks that an interrupt also ends the work on a long line.
func TestTokenizeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tok, err := tokenizer.Load(filepath.Join(tokenizers, "gpt2.json"))
	must(t, err)
	if _, err := tokenize(ctx, tok, strings.Repeat("a b ", 1<<16), true); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// A GGUF file that does not say how its tokenizer cuts texts is opened with --pre, which the error
// offers and no other model takes.
func TestPreFlag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.gguf")
	small := gguftest.Small().With(gguftest.Key{Name: "tokenizer.ggml.pre"})
	must(t, os.WriteFile(path, small.Bytes(), 0o600))
	for _, c := range []struct{ model, pre, want string }{
		{path, "", "name how the texts of this model are cut as the pre-tokenizer: bloom, chatglm-bpe, "},
		{path, "foo", `the pre-tokenizer "foo" is unknown; known are bloom, `},
		{"tiny", "gpt-2", "tiny is not a GGUF file, so its tokenizer needs no --pre; leave it out"},
	} {
		args := []string{"explain", "-m", c.model, "the"}
		if c.pre != "" {
			args = append(args, "--pre", c.pre)
		}
		_, _, said := headwater.Execute(t, "", args...)
		if !strings.Contains(said, c.want) || !strings.Contains(said, "--pre") {
			t.Errorf("%s --pre %q: %q, want %q and --pre", c.model, c.pre, said, c.want)
		}
	}
	out := headwater.Output(t, "explain", "-m", path, "--pre", "smollm", "--max-tokens",
		"1", "--format", "json", "the")
	if !strings.Contains(out, ", texts cut as smollm") {
		t.Errorf("the hash does not say how texts are cut: %s", out)
	}
}

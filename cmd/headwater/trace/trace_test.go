package trace

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// traced runs headwater trace in pure Go and opens what it wrote.
func traced(t *testing.T, args ...string) *checkpoint.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.safetensors")
	headwater.Output(t, append([]string{"trace", "--backend", "go", "-o", path}, args...)...)
	return clitest.OpenFile(t, path)
}

const everyTap = "scores,terms,attention,value,context,head-output,head-added,value-output," +
	"hidden,final,logits,value-zeroing"

// traceTol is float32 rounding over three layers; the worst seen is 2e-6.
const traceTol = 2e-5

// The file has what Hugging Face computes on the same ids, under the names and in the shapes of the
// documentation.
func TestTraceParity(t *testing.T) {
	for _, name := range []string{"gpt2", "bloom", "bloom_h6", "falcon_rw"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(clitest.Goldens, name)
			golden := clitest.OpenFile(t, filepath.Join(dir, "golden.safetensors"))
			ids, err := golden.Int64("input_ids") // [2,12]
			must(t, err)
			f := traced(t, "--model", dir,
				"--ids", strings.Trim(strings.ReplaceAll(fmt.Sprint(ids[:12]), " ", ","), "[]"),
				"--taps", everyTap)
			m, err := models.Open(dir, models.Options{Backend: "go"})
			must(t, err)
			checkShapes(t, f, m.Info(), 12)
			got, err := f.Int32("ids")
			must(t, err)
			for i, id := range got {
				if int64(id) != ids[i] {
					t.Errorf("ids[%d] = %d, want %d", i, id, ids[i])
				}
			}
			checkFirst(t, "logits", clitest.Floats(t, f, "logits"),
				clitest.Floats(t, golden, "logits"))
			L := m.Info().Layers
			attention, hidden := clitest.Floats(t, f, "attention"), clitest.Floats(t, f, "hidden")
			for l := range L {
				checkFirst(t, fmt.Sprint("attention ", l), part1(attention, l, L),
					clitest.Floats(t, golden, fmt.Sprint("attn.", l)))
				checkFirst(t, fmt.Sprint("hidden ", l), part1(hidden, l, L+1),
					clitest.Floats(t, golden, fmt.Sprint("hidden.", l)))
			}
			checkFirst(t, "final", clitest.Floats(t, f, "final"),
				clitest.Floats(t, golden, fmt.Sprint("hidden.", L)))
			texts := strings.ReplaceAll(fmt.Sprint(ids[:12]), " ", `]","[`) // it has no tokenizer
			want := map[string]string{
				"version": "1", "model_hash": m.Info().Hash, "family": m.Info().Family,
				"model": m.Info().Name, "generated": "0", "tokens": `["` + texts + `"]`,
			}
			if diff := cmp.Diff(want, f.Metadata()); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

// part1 returns entry i of n along the first axis.
func part1(data []float64, i, n int) []float64 { return data[i*len(data)/n : (i+1)*len(data)/n] }

// checkFirst compares got with the first entry of a batch of two.
func checkFirst(t *testing.T, what string, got, want []float64) {
	t.Helper()
	want = want[:len(want)/2]
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i, x := range got {
		if !(math.Abs(x-want[i]) <= traceTol) {
			t.Fatalf("%s[%d] = %v, want %v", what, i, x, want[i])
		}
	}
}

func checkShapes(t *testing.T, f *checkpoint.File, info trace.Info, T int) {
	t.Helper()
	L, H, D, V := info.Layers, info.Heads, info.Width, info.Vocab
	want := map[string][]int{
		"scores": {L, H, T, T}, "terms": {L, H, 3, T, T}, "attention": {L, H, T, T}, "value": {L, H, T, D / H},
		"context": {L, H, T, D / H}, "head-output": {L, H, T, D}, "head-added": {L, H, T, D},
		"value-output": {L, H, T, D}, "hidden": {L + 1, T, D}, "final": {T, D},
		"logits": {T, V}, "value-zeroing": {L, T, T}, "ids": {T},
	}
	got := map[string][]int{}
	for _, name := range f.Names() {
		shape, err := f.Shape(name)
		must(t, err)
		dtype, err := f.DType(name)
		if err != nil || dtype != checkpoint.F32 && name != "ids" ||
			name == "ids" && dtype != checkpoint.I32 {
			t.Errorf("%s is %s, %v", name, dtype, err)
		}
		got[name] = shape
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shapes (-want +got):\n%s", diff)
	}
}

// Scores are the sum of their terms.
func TestTraceTerms(t *testing.T) {
	f := traced(t, "--model", filepath.Join(clitest.Goldens, "bloom"), "--ids", "5,6,7",
		"--taps", "terms,scores")
	terms, scores := clitest.Floats(t, f, "terms"), clitest.Floats(t, f, "scores")
	for block := range len(scores) / 9 { // [L,H], each 3×3
		for i := range 9 {
			sum := 0.0
			for k := range 3 {
				sum += terms[(block*3+k)*9+i]
			}
			if source, target := i%3, i/3; source <= target &&
				math.Abs(sum-scores[block*9+i]) > 1e-5 {
				t.Errorf("block %d target %d source %d: terms sum to %v, the score is %v", block,
					target, source, sum, scores[block*9+i])
			}
		}
	}
}

// Tap hidden also records final, but the file has only the taps asked for.
func TestTraceTaps(t *testing.T) {
	cases := map[string][]string{
		"hidden":            {"final", "hidden", "ids"},
		"final, hidden":     {"final", "hidden", "ids"},
		"logits,logits":     {"ids", "logits"},
		"value-zeroing":     {"ids", "value-zeroing"},
		"hidden,attention ": {"attention", "final", "hidden", "ids"},
	}
	for taps, want := range cases {
		f := traced(t, "--text", clitest.Prompt, "--taps", taps)
		if diff := cmp.Diff(want, f.Names()); diff != "" {
			t.Errorf("--taps %q (-want +got):\n%s", taps, diff)
		}
	}
}

// A text gives the same as its ids, with begin-of-text unless a flag removes it.
func TestTraceText(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	again, plain := filepath.Join(dir, "again"), filepath.Join(dir, "plain")
	args := []string{"trace", "--backend", "go", "--taps", "attention,logits"}
	headwater.Output(t, append(args, "--text", clitest.Prompt, "-o", text)...)
	ids, err := clitest.OpenFile(t, text).Int32("ids")
	must(t, err)
	joined := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
	headwater.Output(t, append(args, "--ids", joined, "-o", again)...)
	if string(clitest.Read(t, text)) != string(clitest.Read(t, again)) {
		t.Errorf("--text and --ids %s write different files", joined)
	}
	headwater.Output(t, append(args, "--text", clitest.Prompt, "--special", "off", "-o", plain)...)
	without, err := clitest.OpenFile(t, plain).Int32("ids")
	must(t, err)
	if diff := cmp.Diff(ids[1:], without); diff != "" {
		t.Errorf("--special off (-want +got):\n%s", diff)
	}
}

// The file has the texts of the tokens, and a text of parts of characters is one that can be read.
func TestTraceTokens(t *testing.T) {
	tokens, err := cli.TokensOf(traced(t, "--text", clitest.Prompt, "--taps", "logits"))
	if want := []string{"<bos>", " the", " keys", " to", " the", " cabinet"}; err != nil ||
		!slices.Equal(tokens, want) {
		t.Errorf("tokens %q, error %v; want %q", tokens, err, want)
	}
	// Tokens of a part of a character, of two, of what looks like an escape, and of control
	// characters.
	dir := clitest.CopyModel(t, "gpt2", nil)
	vocab := func(tokens string) {
		clitest.Write(t, filepath.Join(dir, "tokenizer.json"),
			[]byte(strings.Replace(clitest.Spellable, `{"a":3,`, "{"+tokens+`"a":3,`, 1)))
	}
	vocab(`"æ":0,"æå":1,"\\\\udc00\"":2,"ĀĊ":9,`)
	f := traced(t, "--model", dir, "--ids", "0,1,2,9,10", "--taps", "attention")
	tokens, err = cli.TokensOf(f)
	want := []string{"\uFFFD", "\uFFFD\uFFFD", `\\udc00"`, "\x00\n", "[10]"}
	if err != nil || !slices.Equal(tokens, want) {
		t.Errorf("tokens %q, error %v; want %q", tokens, err, want)
	}
	headwater.Output(t, "show", f.Name())
	// The texts of one long token, many times, would be larger than the header of a file may be.
	vocab(`"` + strings.Repeat("x", 4096) + `":0,`)
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	var said bytes.Buffer
	for ids, want := range map[int]bool{2048: true, 2049: false} {
		about := map[string]string{}
		err := addText(&cli.Kit{Stderr: &said}, about, m, make([]int, ids))
		if _, ok := about["tokens"]; ok != want || err != nil {
			t.Errorf("%d tokens: tokens are written %v, error %v; want %v", ids, ok, err, want)
		}
	}
	if !strings.Contains(said.String(), "headwater show needs them") {
		t.Errorf("it says %q", said.String())
	}
}

func TestTraceRefusals(t *testing.T) {
	gpt2 := filepath.Join(clitest.Goldens, "gpt2")
	in := func(args ...string) []string {
		return append([]string{"trace", "--backend", "go", "-o", "OUT", "--model", gpt2}, args...)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"nothing", []string{"trace"}, "", 2, "trace needs --taps, --output"},
		{"no output", []string{"trace", "--taps", "logits", "--ids", "1"}, "", 2, "trace needs --output"},
		{"no input", in("--taps", "logits"), "", 2, "trace needs one of --text and --ids"},
		{"two inputs", in("--taps", "logits", "--ids", "1", "--text", "a"), "", 2, "trace needs one of --text and --ids"},
		{"an argument", in("--taps", "logits", "the keys"), "", 2, "trace takes no argument"},
		{"unknown tap", in("--ids", "1", "--taps", "attention,attn"), "", 2, `unknown tap "attn"; known are scores, terms, attention, `},
		{"no tap", in("--ids", "1", "--taps", ""), "", 2, `unknown tap ""`},
		{"no ids", in("--taps", "logits", "--ids", ""), "", 2, `"" is not a token id`},
		{"a word as id", in("--taps", "logits", "--ids", "1,two"), "", 2, `"two" is not a token id`},
		{"a part of an id", in("--taps", "logits", "--ids", "1.5"), "", 2, `"1.5" is not a token id`},
		{"a negative id", in("--taps", "logits", "--ids=-1"), "", 2, `"-1" is not a token id`},
		{"a huge id", in("--taps", "logits", "--ids", "99999999999"), "", 2, "is not a token id"},
		{"no target", []string{"trace", "--backend", "go", "--model", "../../../models/testdata/goldens/t5", "--taps", "logits", "--ids", "5,6", "-o", "OUT"}, "", 2, "--ids: "},
		{"an id outside the vocabulary", in("--taps", "logits", "--ids", "1,96"), "", 2, "id 96 of token 1 is outside the vocabulary of 96"},
		{"more than the context", in("--taps", "logits", "--ids", strings.Repeat("1,", 64)+"1"), "", 2, "65 tokens are more than the context of 64"},
		{"text without a tokenizer", in("--taps", "logits", "--text", "a"), "", 1, "has no tokenizer.json"},
		{"empty text", in("--taps", "logits", "--text", "", "--model", "tiny"), "", 2, `--text "": it is empty; leave it out`},
		{"special of ids", in("--taps", "logits", "--ids", "1", "--special", "on"), "", 2, "--special goes with --text"},
		{"unknown model", in("--taps", "logits", "--ids", "1", "--model", "nope"), "", 1, "nope is neither a directory"},
		{"no such folder", in("--taps", "logits", "--ids", "1", "-o", "OUT/x"), "", 1, "does not exist"},
		{"more than memory", in("--model", "tiny", "--taps", "attention", "--max-memory", "1GB", "--ids", strings.Repeat("1,", 3000)+"1"), "", 1, "the mean over heads (attention-mean) needs 1.4 GB, or allow more memory (--max-memory)"},
	})
}

// TestPluginThatIsNotThere checks that a missing plugin is reported if the environment names it.
func TestPluginThatIsNotThere(t *testing.T) {
	t.Setenv("HEADWATER_XLA", filepath.Join(t.TempDir(), "no.so"))
	out := filepath.Join(t.TempDir(), "out.safetensors")
	status, _, stderr := headwater.Execute(t, "", "trace", "--model",
		filepath.Join(clitest.Goldens, "gpt2"), "--ids", "1,2", "--taps", "logits", "-o", out)
	if status != cli.StatusOK ||
		!strings.Contains(stderr, "xla is not used: plugin: HEADWATER_XLA") {
		t.Errorf("status %d, stderr %q; want one that names the variable", status, stderr)
	}
	_, _, stderr = headwater.Execute(t, "", "trace", "--ids", "1,2", "--taps", "logits", "-o", out)
	if strings.Contains(stderr, "HEADWATER_XLA") {
		t.Errorf("stderr %q of the embedded model, which does not ask for XLA", stderr)
	}
}

// Data frames write whole numbers with a point where a column has a gap.
func TestIDsWithAPoint(t *testing.T) {
	if ids, err := parseIDs("1.0, 2"); err != nil || !slices.Equal(ids, []int{1, 2}) {
		t.Errorf("ids %v, %v", ids, err)
	}
}

package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// Minimal pairs of BLiMP: with evidence they are aligned, and without it only the preference is
// counted. A pair that cannot be asked is left out with the reason.
func TestBenchCuesMinimalPairs(t *testing.T) {
	file := filepath.Join(clitest.Root, "attribution", "evaluate", "testdata",
		"minimal_pairs.jsonl")
	out := headwater.Output(t, "bench", "cues", "--model", "tiny-mlm", "--methods", "raw",
		"--input", file)
	for _, want := range []string{
		"24 cases on tiny-mlm", "in 24 of 24 minimal pairs", "tiny_anaphor_gender (",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not say %q:\n%s", want, out)
		}
	}
	in := `{"sentence_good":"the keys to the cabinet are here .","sentence_bad":"the keys to the ` +
		`cabinet is here .","UID":"u","pairID":"0","simple_LM_method":true}` + "\n"
	more := `{"sentence_good":"the keys are here .","sentence_bad":"the key is here ."}` + "\n"
	status, stdout, stderr := headwater.Execute(t, in+more, "bench", "cues", "--input", "-")
	if status != cli.StatusOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if want := "The model prefers the right word in 1 of 1 minimal pair.\n"; stdout != want {
		t.Errorf("%q, want %q", stdout, want)
	}
	for _, want := range []string{
		"1 pair is left out, the first because", "differ in more than one word",
		"1 pair is without evidence",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the notes do not say %q: %s", want, stderr)
		}
	}
}

// Pairs whose words are not one token each are left out of the preference, which says so.
func TestBenchCuesLongWords(t *testing.T) {
	pair := func(good, bad string) string {
		return `{"sentence_good":"the keys to the cabinet ` + good + ` here .",` +
			`"sentence_bad":"the keys to the cabinet ` + bad + ` here ."}` + "\n"
	}
	long := pair("arerere", "isisis")
	out := headwater.MustExecute(t, long, "bench", "cues", "--input", "-")
	if !strings.HasPrefix(out, `No minimal pair was compared: " arerere" is `) {
		t.Error(out)
	}
	status, out, stderr := headwater.Execute(t, long+pair("are", "is"), "bench", "cues", "--input",
		"-")
	if status != cli.StatusOK || !strings.Contains(out, "in 1 of 1 minimal pair.") ||
		!strings.Contains(stderr, `without 1 case, the first because " arerere" is `) {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
}

// Cases of a file: raw attention in each layer, of which the numbers are those of explain.
func TestBenchCues(t *testing.T) {
	in := `{"group":"a","prompt":"the keys to the cabinet","continuation":" are","contrast":" is",` +
		`"evidence":[[4,8]]}` + "\n"
	var r struct {
		Cases  int
		Groups []string
		Curves []evaluate.CueCurve
		Chance []evaluate.CueLevel
		Pairs  *evaluate.Preferences
	}
	out := headwater.MustExecute(t, in, "bench", "cues", "--input", "-", "--methods",
		"raw,gradient", "--json")
	must(t, json.Unmarshal([]byte(out), &r))
	if r.Cases != 1 || len(r.Groups) != 1 || len(r.Curves) != 2 || len(r.Curves[0].Layers) != 6 ||
		len(r.Curves[1].Layers) != 1 {
		t.Fatalf("curves %+v", r)
	}
	var e struct {
		Methods map[string]struct {
			Shape [3]int
			Rows  [][]float64
		}
	}
	out = headwater.Output(t, "explain", "--format", "json", "--methods", "raw",
		"--continuation", " are", "the keys to the cabinet")
	must(t, json.Unmarshal([]byte(out), &e))
	// Tokens 1 to 5 are text, and token 2 is the cue.
	raw := e.Methods["raw"]
	for l := range raw.Shape[2] {
		sum, cue, before := 0.0, raw.Rows[l][2], 0.0
		for j := 1; j < raw.Shape[1]; j++ {
			x := raw.Rows[l][j]
			sum += x
			if x > cue {
				before++
			}
		}
		level := r.Curves[0].Levels[0][l]
		if math.Abs(level.Dot.Mean-cue/sum) > 1e-9 ||
			math.Abs(level.AveragePrecision.Mean-1/(before+1)) > 1e-9 {
			t.Errorf("layer %d: dot %v and AP %v, want %v and %v", l, level.Dot.Mean,
				level.AveragePrecision.Mean, cue/sum, 1/(before+1))
		}
	}
	if r.Chance[0].Dot.Mean != .2 || r.Pairs == nil || r.Pairs.Right != 1 {
		t.Errorf("chance %v, pairs %+v", r.Chance[0].Dot.Mean, r.Pairs)
	}
	table := headwater.Output(t, "bench", "cues", "--methods", "raw", "--cases", "2")
	for _, want := range []string{
		"8 cases on tiny", "prefers the right word in ", "agreement (2 cases; by chance 0.",
		"\nraw     3      0.", "\nall (8 cases",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q:\n%s", want, table)
		}
	}
}

// The number of a noun can be read from its embedding.
func TestBenchProbe(t *testing.T) {
	var b strings.Builder
	for i := range 160 {
		noun, label := []string{"key", "dog", "cat", "keys", "dogs", "cats"}[i%6], "singular"
		if i%6 >= 3 {
			label = "plural"
		}
		fmt.Fprintf(&b, `{"text":"the %s to the cabinet","span":[4,%d],"label":%q}`+"\n\n", noun,
			4+len(noun), label)
	}
	path := filepath.Join(t.TempDir(), "number.jsonl")
	clitest.Write(t, path, []byte(b.String()))
	var r evaluate.Probing
	out := headwater.Output(t, "bench", "probe", "--input", path, "--json")
	must(t, json.Unmarshal([]byte(out), &r))
	if len(r.States) != 7 || strings.Join(r.Labels, " ") != "plural singular" {
		t.Fatalf("%d states, labels %q", len(r.States), r.Labels)
	}
	if c := r.States[0]; c.Compression < 10 || c.Examples != 160 ||
		math.Abs(c.Uniform-160*math.Ln2) > 1e-9 {
		t.Errorf("embedding: %+v", c)
	}
	if again := headwater.Output(t, "bench", "probe", "--input", path, "--json"); again != out {
		t.Error("two runs differ")
	}
	table := headwater.MustExecute(t, b.String(), "bench", "probe", "--input", "-")
	for _, want := range []string{"160 labels of 2 classes on tiny", "110.9 nats", "80 of 80"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q:\n%s", want, table)
		}
	}
}

func TestBenchLayersRefusals(t *testing.T) {
	cues := func(args ...string) []string { return append([]string{"bench", "cues", "-o", "OUT"}, args...) }
	probe := func(args ...string) []string { return append([]string{"bench", "probe", "-o", "OUT"}, args...) }
	const one = `{"text":"the key","label":"a"}` + "\n"
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"bench alone", []string{"bench"}, "", 2, "bench needs one of methods, cues and probe"},
		{"cues of another model", cues("--model", filepath.Join(clitest.Goldens, "gpt2")), "", 2, "bench cues needs --input"},
		{"no cue", cues("--input", "-"), `{"prompt":"the keys"}`, 1, `case 0 of 1 (standard input line 1): "the keys" has no evidence`},
		{"a cue outside", cues("--input", "-"), `{"prompt":"the keys","evidence":[[90,91]]}`, 1, "line 1: evidence, number 1: bytes 90 to 91 of a prompt of 8 bytes"},
		{"no cases", cues("--input", "-"), "", 1, "standard input has no cases"},
		{"half a pair", cues("--input", "-"), `{"sentence_good":"a"}`, 1, `line 1: it has no "sentence_bad"`},
		{"two words", cues("--input", "-"), `{"sentence_good":"a b","sentence_bad":"c d"}`, 1, "standard input: there is no minimal pair that can be asked: \"a b\" and \"c d\" differ"},
		{"no file", cues("--input", "/nope"), "", 1, "/nope: no such file"},
		{"no examples", probe(), "", 2, "probe needs --input"},
		{"one example", probe("--input", "-"), one, 1, "standard input has 1 example; probing needs 2 or more"},
		{"no label", probe("--input", "-"), `{"text":"a"}`, 1, `standard input line 1: it needs a "text" and a "label"`},
		{"another key", probe("--input", "-"), `{"text":"a","labels":"b"}`, 1, `unknown key "labels"; did you mean label?`},
		{"span", probe("--input", "-"), `{"text":"abc","span":[2,9],"label":"b"}`, 1, `"span" is bytes 2 to 9 of a text of 3 bytes`},
		{"weight", probe("--input", "-", "--l2", "0.0001"), one + one, 2, `--l2 "0.0001": want a number from 0.001 to 1000000`},
	})
}

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// The table has a line for every method asked for, for random and for chance, and every kind of
// number. A second run gives equal numbers.
func TestBenchMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	args := []string{"bench", "methods", "--methods", "raw,occlusion", "--cases", "2", "--timed", "0"}
	table := headwater.Output(t, args...)
	for _, want := range []string{
		"cases on tiny (go)", "proof of the evidence", "2 of 2", "agreement", "copying", "average precision (high is good",
		"raw, layer 3", "occlusion  ", "random  ", "chance  ", "earliest first  ", "latest first  ", "best in hindsight, not a score",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if again := headwater.Output(t, args...); again != table {
		t.Errorf("the second run differs:\n%s\n%s", table, again)
	}
	var r benchReport
	text := headwater.Output(t, append(args, "--cases", "1", "--json", "--faithful",
		"--references", "gradient", "--randomized", "--timed", "1")...)
	must(t, json.Unmarshal([]byte(text), &r))
	n := r.Cases
	if len(r.Proofs) != 5 || r.Proofs[4].Cases != 4 || n+r.Unproven != 4 || n < 3 {
		t.Fatalf("%d cases, %d unproven, proofs %+v", n, r.Unproven, r.Proofs)
	}
	if s, ok := r.At("all", "occlusion", "AOPC"); !ok || s.N != n {
		t.Errorf("AOPC of occlusion %+v, %v", s, ok)
	}
	if s, ok := r.At("all", "occlusion", "correlation with gradient"); !ok || s.N != n {
		t.Errorf("correlation with gradient %+v, %v", s, ok)
	}
	if s, ok := r.At("all", "chance", "average precision"); !ok || !(s.Mean > .1 && s.Mean < .6) {
		t.Errorf("chance %+v, %v", s, ok)
	}
	if r.Randomized["raw"].N != n || !(r.Cost["raw"].Milliseconds > 0) ||
		r.Cost[plainLine].Multiple != 1 {
		t.Errorf("randomized %+v, cost %+v", r.Randomized, r.Cost)
	}
}

// Every planted circuit is one group, and its models are always right. One circuit alone gives the
// same numbers as among the others.
func TestBenchPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	file := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{"bench", "methods", "--methods", "raw,attn-lrp", "--cases", "3", "--json"}
	var r, alone benchReport
	text := headwater.Output(t, append(args, "--planted", "--resume", file)...)
	must(t, json.Unmarshal([]byte(text), &r))
	if n := 3 * len(planted.Names()); r.Cases != n || r.Chosen != n ||
		len(r.Groups) != len(planted.Names())+1 || r.Cost != nil ||
		!strings.Contains(r.Rules["sum"], "two numbers") {
		t.Errorf("%d cases, %d chosen, groups %v, cost %v, rules %v", r.Cases, r.Chosen, r.Groups,
			r.Cost, r.Rules)
	}
	for _, p := range r.Proofs {
		if p.Proven != p.Cases || p.Evidence.Deciding != p.Evidence.Words ||
			p.Others.Deciding != 0 || p.Others.Most > 1e-5 {
			t.Errorf("%s is not proven: %+v", p.Group, p)
		}
	}
	if again := headwater.Output(t, append(args, "--planted", "--resume", file)...); again != text {
		t.Errorf("what was kept gives another report:\n%s\n%s", text, again)
	}
	text = headwater.Output(t, append(args, "--model", "planted-relay", "--timed", "0")...)
	must(t, json.Unmarshal([]byte(text), &alone))
	for method, want := range map[string]bool{"raw": false, "attn-lrp": true} {
		s, ok := r.At("relay", method, "average precision")
		if one, _ := alone.At("relay", method, "average precision"); !ok || s != one ||
			(s.Mean == 1) != want {
			t.Errorf("%s on relay has %+v among the circuits and %+v alone", method, s, one)
		}
	}
}

// As many sentences of the grammar choose layers as are scored, and no text occurs twice. Each word
// has changes, each piece of evidence is a token, and lists ask for several of their places.
func TestGrammarCases(t *testing.T) {
	m, err := models.Open("tiny", models.Options{})
	must(t, err)
	const n = 12
	cases := grammarCases(m, n, 3, true)
	prompts, count, places := map[string]bool{}, map[string]int{}, map[int]bool{}
	for _, c := range cases {
		if prompts[c.Prompt] {
			t.Errorf("%q comes twice", c.Prompt)
		}
		prompts[c.Prompt] = true
		count[fmt.Sprint(c.Group, " ", c.Selection)]++
		tokens, err := m.Encode(c.Prompt, trace.SpecialsOff)
		must(t, err)
		for _, e := range c.Evidence {
			inside := 0
			for _, token := range tokens {
				if token.Begin < e[1] && e[0] < token.End {
					inside++
				}
			}
			if inside != 1 {
				t.Errorf("%q: evidence %v is %d tokens", c.Prompt, e, inside)
			}
		}
		changed := map[[2]int]bool{}
		for _, change := range c.Changes {
			changed[change.Span] = true
			if fits, err := change.Fits(m, c.Prompt, trace.SpecialsAuto); err != nil || !fits {
				t.Errorf("%q: %+v does not fit: %v", c.Prompt, change, err)
			}
		}
		// Some words of several tokens have no match.
		if words := len(strings.Fields(c.Prompt)); len(changed) < words-2 {
			t.Errorf("%q: %d of %d words are changed", c.Prompt, len(changed), words)
		}
		if c.Group == "copying" {
			places[c.Evidence[0][0]] = true
		}
	}
	for _, kind := range tiny.Kinds() {
		a, b := count[fmt.Sprint(kind, " ", false)], count[fmt.Sprint(kind, " ", true)]
		if a != n || b != n {
			t.Errorf("%v: %d are scored and %d choose layers, want %d each", kind, a, b, n)
		}
	}
	if len(places) < n/2 {
		t.Errorf("lists are asked for places %v only", places)
	}
}

// A list is copied by position. The word before the copied one decides nothing, so a case that
// names it as evidence is not scored.
func TestOldCuesAreNotProven(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	m, err := models.Open("tiny", models.Options{})
	must(t, err)
	cases := slices.DeleteFunc(grammarCases(m, 8, 1, true),
		func(c evaluate.Case) bool { return c.Selection || c.Group != "copying" })
	opts := evaluate.Options{Methods: []string{"raw"}}
	right, err := evaluate.Run(t.Context(), m, cases, opts)
	if err != nil || right.Cases < 7 {
		t.Fatalf("%d of 8 are proven, %v", right.Cases, err)
	}
	var old []evaluate.Case
	for _, c := range cases {
		end := c.Evidence[0][0] - 1
		begin := strings.LastIndexByte(c.Prompt[:end], ' ') + 1
		// The colon after the first word says that a list begins, so some words in its place
		// change the answer.
		if c.Prompt[begin:end] == ":" {
			continue
		}
		c.Evidence = append(c.Evidence, [2]int{begin, end})
		old = append(old, c)
	}
	opts.OnResult = func(r *evaluate.Result) error {
		if !strings.Contains(r.Proof.Reason, "decides nothing") {
			t.Errorf("%q: reason %q", old[r.Case].Prompt, r.Proof.Reason)
		}
		return nil
	}
	wrong, err := evaluate.Run(t.Context(), m, old, opts)
	if err != nil || len(old) < 4 || wrong.Cases != 0 || wrong.Unproven != len(old) {
		t.Errorf("with the cue %d of %d are scored, %v", wrong.Cases, len(old), err)
	}
}

// A stopped run continues from its file and drops an incomplete line. It refuses the file of
// another run.
func TestBenchResume(t *testing.T) {
	if testing.Short() {
		t.Skip("measures methods on many texts")
	}
	file := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{"bench", "methods", "--methods", "raw", "--cases", "1", "--timed", "0", "--resume", file}
	table := headwater.Output(t, args...)
	whole := clitest.Read(t, file)
	lines := strings.SplitAfter(string(whole), "\n")
	if len(lines) != 10 { // header, 4 scored cases, 4 that choose layers, end
		t.Fatalf("%d lines:\n%s", len(lines), whole)
	}
	clitest.Write(t, file, []byte(lines[0]+lines[1]+lines[2][:20]))
	if again := headwater.Output(t, args...); again != table ||
		string(clitest.Read(t, file)) != string(whole) {
		t.Errorf("the resumed run differs:\n%s\n%s", table, again)
	}
	status, _, stderr := headwater.Execute(t, "", append(args, "--seed", "2")...)
	if status != cli.StatusError || !strings.Contains(stderr, "it is of another run") {
		t.Errorf("another run: status %d, %s", status, stderr)
	}
	if after := clitest.Read(t, file); string(after) != string(whole) {
		t.Error("the file of another run was changed")
	}
	for _, c := range []struct{ text, want string }{
		{"my notes, in one line", "it is of another run"},
		{lines[0] + `{"case":"x"}` + "\n", "line 2 is no result"},
		{lines[0] + lines[1] + "null\n", "line 3 is no result"},
	} {
		clitest.Write(t, file, []byte(c.text))
		status, _, stderr := headwater.Execute(t, "", args...)
		if status != cli.StatusError || !strings.Contains(stderr, c.want) {
			t.Errorf("status %d, %s, want %q", status, stderr, c.want)
		}
		if after := clitest.Read(t, file); string(after) != c.text {
			t.Errorf("a file that no run wrote was changed to %q", after)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestBenchResumeOptions: results of a run are not taken for those of a run with an option that
// changes the numbers.
func TestBenchResumeOptions(t *testing.T) {
	cases := `{"prompt":"the keys to the cabinet","counterfactual":"the key to the cabinet",` +
		`"evidence":[[4,8]],"answers":[" are"],"foils":[" is"]}` + "\n"
	args := []string{
		"bench", "methods", "--methods", "gradient-x-input", "--input", "-", "--timed", "0",
		"--resume", filepath.Join(t.TempDir(), "run.jsonl"),
	}
	table := headwater.MustExecute(t, cases, args...)
	if again := headwater.MustExecute(t, cases, args...); again != table {
		t.Errorf("the same options: %s, want %s", again, table)
	}
	for _, other := range [][]string{{"--no-contrast"}, {"--dtype", "bfloat16"}} {
		status, _, stderr := headwater.Execute(t, cases, append(slices.Clone(args), other...)...)
		if status != cli.StatusError || !strings.Contains(stderr, "it is of another run") {
			t.Errorf("%v: status %d, %s", other, status, stderr)
		}
	}
}

// TestBenchSkipsFirst: the first token is a sink of models that others made, and may be evidence in
// sentences of the grammar and in circuits. A pair says so itself.
func TestBenchSkipsFirst(t *testing.T) {
	for want, f := range map[bool]benchFlags{true: {input: "-"}, false: {planted: true}} {
		if got := f.options().SkipFirst; got != want {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}
}

// TestBenchCosts: the methods that classic stands for are timed one by one, and the times of a pair
// without its contrast are those of the scorers that are measured.
func TestBenchCosts(t *testing.T) {
	pair := `{"group":"mine","prompt":"the keys to the cabinet","continuation":" are",` +
		`"contrast":" is","evidence":[[4,8]],"counterfactual":"the key to the cabinet",` +
		`"question":[[0,3]],"changes":[{"span":[16,23],"text":"door"}]}` + "\n"
	text := headwater.MustExecute(t, pair, "bench", "methods", "--methods", "classic,direct", "-i",
		"-", "--timed", "1", "--no-contrast", "--set", "foils=2", "--json")
	var r benchReport
	must(t, json.Unmarshal([]byte(text), &r))
	for _, name := range []string{"rollout", "flow", "value-zeroing", "direct"} {
		if r.Cost[name].Milliseconds <= 0 {
			t.Errorf("%s has no time: %v", name, r.Cost)
		}
	}
}

func TestBenchInput(t *testing.T) {
	cases := `{"group":"mine","prompt":"the keys to the cabinet","continuation":" are",` +
		`"evidence":[[4,8]]}` + "\n"
	args := []string{"bench", "methods", "--methods", "raw", "-i", "-", "--timed", "0"}
	table := headwater.MustExecute(t, cases, args...)
	if !strings.Contains(table, "mine") || !strings.Contains(table, "1 case on tiny") {
		t.Error(table)
	}
	proven := `{"group":"mine","prompt":"the keys to the cabinet","continuation":" are",` +
		`"contrast":" is","evidence":[[4,8]],"changes":[` +
		`{"span":[4,8],"text":"key","answer":" is"},{"span":[16,23],"text":"cabinets"}]}` + "\n"
	wrong := strings.Replace(proven, "[[4,8]]", "[[4,8],[16,23]]", 1)
	table = headwater.MustExecute(t, proven+wrong, args...)
	for _, want := range []string{
		"1 more are not scored", "1 of 2", "2 of 3: ", "0 of 1: ",
		"not proven:\n\n\"the keys to the cabinet\"\n    evidence \"cabinet\" decides",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	pair := `{"group":"mine","prompt":"the keys to the cabinet","continuation":" are",` +
		`"contrast":" is","evidence":[[4,8]],"counterfactual":"the key to the cabinet",` +
		`"question":[[0,3]],"changes":[{"span":[16,23],"text":"door"}]}` + "\n"
	named := strings.NewReplacer("[[4,8]]", `["keys"]`, "[[0,3]]", `["the"]`).Replace(pair)
	if diff := cmp.Diff(headwater.MustExecute(t, pair, args...),
		headwater.MustExecute(t, named, args...)); diff != "" {
		t.Errorf("evidence and question in words give another table:\n%s", diff)
	}
	none := strings.Replace(pair, `"the key to`, `"the keys to`, 1)
	table = headwater.MustExecute(t, pair+none, append(args, "--limit", "3")...)
	for _, want := range []string{
		"1 more are not scored", "answered", "2 of 2", "1 of 2",
		"top token is evidence (high is good", "evidence in the top 3",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table of a pair lacks %q:\n%s", want, table)
		}
	}
	flips := headwater.MustExecute(t, pair, append(args, "--faithful")...)
	for _, want := range []string{
		"flip rate of the top token (high is good", "flip rate of the top 20 % (high is good",
	} {
		if !strings.Contains(flips, want) {
			t.Errorf("the table of a pair lacks %q:\n%s", want, flips)
		}
	}
	alone := headwater.MustExecute(t, pair, append(args, "--no-contrast")...)
	if !strings.Contains(alone, "1 case on tiny") {
		t.Errorf("a pair whose foil is left out of the scores:\n%s", alone)
	}
	var r benchReport
	text := headwater.MustExecute(t, cases, "bench", "methods", "--methods", "occlusion", "-i", "-",
		"--timed", "0", "--faithful", "--naopc", "1", "--json")
	must(t, json.Unmarshal([]byte(text), &r))
	if s, ok := r.At("mine", "occlusion", "NAOPC"); !ok || !(s.Mean > .5 && s.Mean <= 1) {
		t.Errorf("NAOPC of occlusion %+v, %v", s, ok)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no subcommand", []string{"bench"}, "", cli.StatusUsage, "bench needs one of methods, cues and probe"},
		{"misspelt subcommand", []string{"bench", "method"}, "", cli.StatusUsage, `unknown command "method"; did you mean methods? known are cues, methods, probe`},
		{"cases", []string{"bench", "methods", "--cases", "0"}, "", cli.StatusUsage, `--cases "0": want`},
		{"soft alone", []string{"bench", "methods", "--soft"}, "", cli.StatusUsage, "part of --faithful"},
		{"beam alone", []string{"bench", "methods", "--naopc", "3"}, "", cli.StatusUsage, "part of --faithful"},
		{"beam", []string{"bench", "methods", "--naopc", "-1"}, "", cli.StatusUsage, `--naopc "-1": want`},
		{"no such reference", []string{"bench", "methods", "--references", "truth"}, "", cli.StatusUsage, "unknown method"},
		{"tasks of a model without words", []string{"bench", "methods", "--model", filepath.Join(clitest.Goldens, "gpt2")}, "", cli.StatusError, "no answer of the tasks is one token"},
		{"tasks for an encoder", []string{"bench", "methods", "--model", filepath.Join(clitest.Goldens, "bert")}, "", cli.StatusError, "the tasks ask for the next token"},
		{"no file, before the model", []string{"bench", "methods", "--model", "/nope", "--input", "/gone"}, "", cli.StatusError, "/gone: no such file"},
		{"kinds of the grammar", []string{"bench", "methods", "--kinds", "facts"}, "", cli.StatusUsage, "--kinds and --split are for the tasks"},
		{"kinds of the toy that translates", []string{"bench", "methods", "--model", "tiny-translation", "--kinds", "facts"}, "", cli.StatusUsage, "--kinds and --split are for the tasks"},
		{"unknown kind", []string{"bench", "methods", "--kinds", "fact"}, "", cli.StatusUsage, "did you mean facts?"},
		{"unknown split", []string{"bench", "methods", "--split", "test"}, "", cli.StatusUsage, "it is held-out or dev"},
		{"a pair without a foil", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a b","evidence":[[0,1]],"continuation":" c","counterfactual":"d b"}`, cli.StatusError, `needs a "contrast" or "foils"`},
		{"answers without a pair", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a b","answers":[" c"]}`, cli.StatusError, `need a "counterfactual"`},
		{"answers that are no list", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a b","answers":" c"}`, cli.StatusError, `want a list of strings`},
		{"planted and a model", []string{"bench", "methods", "--planted", "--model", "tiny"}, "", cli.StatusUsage, "--planted brings its own models"},
		{"grammar and planted", []string{"bench", "methods", "--planted", "--grammar"}, "", cli.StatusUsage, "each say which cases to take"},
		{"another grammar", []string{"bench", "methods", "--grammar", "--model", filepath.Join(clitest.Goldens, "gpt2")}, "", cli.StatusError, "was not trained on the grammar"},
		{"planted and shuffled", []string{"bench", "methods", "--planted", "--randomized"}, "", cli.StatusUsage, "measured on one model"},
		{"planted and timed", []string{"bench", "methods", "--planted", "--timed", "2"}, "", cli.StatusUsage, "measured on one model"},
		{"no circuit", []string{"explain", "--model", "planted-parrot", "a"}, "", cli.StatusError, "there is no circuit"},
		{"both", []string{"bench", "methods", "-i", "-", "--cases", "3"}, "", cli.StatusUsage, "--input gives others"},
		{"no cases", []string{"bench", "methods", "-i", "-"}, "\n", cli.StatusError, "standard input has no cases"},
		{"no such field", []string{"bench", "methods", "-i", "-"}, `{"promt":"x"}`, cli.StatusError, `line 1: unknown key "promt"; did you mean prompt? known are "group"`},
		{"field of another type", []string{"bench", "methods", "-i", "-"}, `{"prompt":7}`, cli.StatusError, `line 1: "prompt" is a number; want a string`},
		{"field twice", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","prompt":"b"}`, cli.StatusError, `line 1: key "prompt" comes twice`},
		{"no pair", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":[[1]]}`, cli.StatusError, `"evidence", number 1: it is [1]; want [begin,end]`},
		{"a change without its text", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","changes":[{"span":[0,1]}]}`, cli.StatusError, `"changes", number 1: it has no "text"`},
		{"a change with another key", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","changes":[{"span":[0,1],"text":"b","Form":true}]}`, cli.StatusError, `unknown key "Form"`},
		{"selection", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","selection":1}`, cli.StatusError, `"selection" is a number; want true or false`},
		{"no list of pairs", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":3}`, cli.StatusError, `"evidence" is a number; want a list of [begin,end]`},
		{"evidence that is not there", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":["b"]}`, cli.StatusError, `"evidence", number 1: "b" is not in the prompt`},
		{"empty evidence", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":[""]}`, cli.StatusError, `"evidence", number 1: "" is not in the prompt`},
		{"negative position", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","position":-1}`, cli.StatusUsage, `"position": it is -1; want whole numbers from 0`},
		{"a change of another length", []string{"bench", "methods", "--methods", "raw", "-i", "-"}, strings.Replace(proven, `"key"`, `"old key"`, 1), cli.StatusError, "take a word of as many tokens"},
		{"evidence elsewhere", []string{"bench", "methods", "--methods", "raw", "-i", "-"}, `{"prompt":"the keys","evidence":[[50,60]]}`, cli.StatusError, "standard input line 1: evidence, number 1: bytes 50 to 60 of a prompt of 8 bytes"},
		{"evidence backwards", []string{"bench", "methods", "-i", "-"}, `{"prompt":"the keys","evidence":[[0,3],[8,4]]}`, cli.StatusError, "line 1: evidence, number 2: bytes 8 to 4 of a prompt of 8 bytes: want 0 ≤ begin < end ≤ 8"},
		{"half a character", []string{"bench", "methods", "-i", "-"}, `{"prompt":"the käys","evidence":[[4,6]]}`, cli.StatusError, "byte 6 is within a character"},
		{"a question elsewhere", []string{"bench", "methods", "-i", "-"}, `{"prompt":"the keys are","counterfactual":"the key is","continuation":" a","contrast":" b","evidence":[[4,8]],"question":[[9,99]]}`, cli.StatusError, "question, number 1: bytes 9 to 99"},
		{"a contrast that is the answer", []string{"bench", "methods", "-i", "-"}, `{"prompt":"the keys","continuation":" are","contrast":" are"}`, cli.StatusError, `"contrast" is " are", which is the "continuation" too`},
		{"a group that moves the cursor", []string{"bench", "methods", "-i", "-"}, `{"group":"a\u001b[2J","prompt":"the keys"}`, cli.StatusError, `"group" is "a\x1b[2J"; want a name of one line`},
		{"which line", []string{"bench", "methods", "--methods", "raw", "-i", "-"}, "\n" + `{"prompt":"the keys","continuation":" are are"}`, cli.StatusError, "case 0 of 1 (standard input line 2): 2 predictions"},
		{"a position for a decoder", []string{"bench", "methods", "--methods", "raw", "-i", "-"}, `{"prompt":"the keys","position":1}`, cli.StatusUsage, `(standard input line 1): --position [1]; "tiny" is a decoder`},
		{"unknown method", []string{"bench", "methods", "--methods", "best"}, "", cli.StatusUsage, "unknown method"},
	})
}

// One case is not "1 cases".
func TestBenchOfOneCase(t *testing.T) {
	r := benchReport{Report: &evaluate.Report{Cases: 1}}
	var b strings.Builder
	if err := r.write(&b); err != nil || !strings.HasPrefix(b.String(), "1 case on ") {
		t.Errorf("%q, error %v", b.String(), err)
	}
}

// TestMoreKinds: each pair of the file differs from its counterfactual in its evidence alone.
func TestMoreKinds(t *testing.T) {
	cases, err := readCases(t.Context(), &cli.Kit{},
		filepath.Join(clitest.Root, "internal/bench/methodpage/more-kinds.jsonl"))
	must(t, err)
	groups := map[string]int{}
	for _, c := range cases {
		rest, end := c.Counterfactual, 0
		for _, e := range c.Evidence {
			_, after, found := strings.Cut(rest, c.Prompt[end:e[0]])
			if !found || strings.HasPrefix(after, c.Prompt[e[0]:e[1]]) {
				t.Errorf("%s: the counterfactual of %q is %q", c.Source, c.Prompt, c.Counterfactual)
			}
			rest, end = after, e[1]
		}
		if !strings.HasSuffix(rest, c.Prompt[end:]) {
			t.Errorf("%s: the counterfactual of %q is %q", c.Source, c.Prompt, c.Counterfactual)
		}
		groups[c.Group]++
	}
	if len(groups) != 8 {
		t.Errorf("%d kinds, want 8: %v", len(groups), groups)
	}
}

// TestOtherKinds reads the pairs that docs/measured/real-models.md publishes results of: each
// differs from its counterfactual in its evidence alone, and asks with all other words.
func TestOtherKinds(t *testing.T) {
	k := &cli.Kit{}
	cases, err := readCases(t.Context(), k,
		filepath.Join(clitest.Root, "internal/bench/methodpage/other-kinds.jsonl"))
	must(t, err)
	if len(cases) != 61 {
		t.Errorf("there are %d pairs, want 61", len(cases))
	}
	for _, c := range cases {
		begin, end := c.Evidence[0][0], c.Evidence[0][1]
		if !strings.HasPrefix(c.Counterfactual, c.Prompt[:begin]) ||
			!strings.HasSuffix(c.Counterfactual, c.Prompt[end:]) || c.Counterfactual == c.Prompt {
			t.Errorf("%s: the counterfactual of %q is %q", c.Source, c.Prompt, c.Counterfactual)
		}
		asked := 0
		for _, span := range c.Question {
			asked += span[1] - span[0]
		}
		if asked+end-begin != len(c.Prompt) {
			t.Errorf("%s: %d of %d bytes ask", c.Source, asked, len(c.Prompt))
		}
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/models/planted"
)

// A line for every method asked for, random and chance; numbers of every kind; equal numbers in a second run.
func TestBenchMethods(t *testing.T) {
	args := []string{"bench", "methods", "--methods", "raw,occlusion", "--cases", "2", "--timed", "0"}
	table := mustExecute(t, "", args...)
	for _, want := range []string{"8 cases on tiny (go)", "agreement", "copying", "average precision (high is good", "occlusion  ", "random  ", "chance  "} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if again := mustExecute(t, "", args...); again != table {
		t.Errorf("the second run differs:\n%s\n%s", table, again)
	}
	var r benchReport
	text := mustExecute(t, "", append(args, "--cases", "1", "--json", "--faithful", "--references", "gradient", "--randomized", "--timed", "1")...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if s, ok := r.At("all", "occlusion", "AOPC"); !ok || s.N != 4 {
		t.Errorf("AOPC of occlusion %+v, %v", s, ok)
	}
	if s, ok := r.At("all", "occlusion", "correlation with gradient"); !ok || s.N != 4 {
		t.Errorf("correlation with gradient %+v, %v", s, ok)
	}
	if s, ok := r.At("all", "chance", "average precision"); !ok || !(s.Mean > .1 && s.Mean < .6) {
		t.Errorf("chance %+v, %v", s, ok)
	}
	if r.Randomized["raw"].N != 4 || !(r.Cost["raw"].Milliseconds > 0) || r.Cost[plainLine].Multiple != 1 {
		t.Errorf("randomized %+v, cost %+v", r.Randomized, r.Cost)
	}
}

// Every planted circuit is a group of its own, of models that are always right; one alone gives the numbers that it gives among them.
func TestBenchPlanted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{"bench", "methods", "--methods", "raw,attn-lrp", "--cases", "3", "--json"}
	var r, alone benchReport
	text := mustExecute(t, "", append(args, "--planted", "--resume", file)...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if n := 3 * len(planted.Names()); r.Cases != n || r.Chosen != n || len(r.Groups) != len(planted.Names())+1 || r.Cost != nil || !strings.Contains(r.Rules["sum"], "two numbers") {
		t.Errorf("%d cases, %d chosen, groups %v, cost %v, rules %v", r.Cases, r.Chosen, r.Groups, r.Cost, r.Rules)
	}
	if again := mustExecute(t, "", append(args, "--planted", "--resume", file)...); again != text {
		t.Errorf("what was kept gives another report:\n%s\n%s", text, again)
	}
	text = mustExecute(t, "", append(args, "--model", "planted-relay", "--timed", "0")...)
	if err := json.Unmarshal([]byte(text), &alone); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]bool{"raw": false, "attn-lrp": true} {
		s, ok := r.At("relay", method, "average precision")
		if one, _ := alone.At("relay", method, "average precision"); !ok || s != one || (s.Mean == 1) != want {
			t.Errorf("%s on relay has %+v among the circuits and %+v alone", method, s, one)
		}
	}
}

// A run that is stopped goes on from its file, drops a line that was cut, and refuses the file of another run.
func TestBenchResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{"bench", "methods", "--methods", "raw", "--cases", "1", "--timed", "0", "--resume", file}
	table := mustExecute(t, "", args...)
	whole := read(t, file)
	lines := strings.SplitAfter(string(whole), "\n")
	if len(lines) != 6 { // a head, four cases and nothing
		t.Fatalf("%d lines:\n%s", len(lines), whole)
	}
	write(t, file, []byte(lines[0]+lines[1]+lines[2][:20]))
	if again := mustExecute(t, "", args...); again != table || string(read(t, file)) != string(whole) {
		t.Errorf("the resumed run differs:\n%s\n%s", table, again)
	}
	if status, _, stderr := execute(t, "", append(args, "--seed", "2")...); status != statusError || !strings.Contains(stderr, "it is of another run") {
		t.Errorf("another run: status %d, %s", status, stderr)
	}
	if after := read(t, file); string(after) != string(whole) {
		t.Error("the file of another run was changed")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestBenchInput(t *testing.T) {
	cases := `{"group":"mine","prompt":"the keys to the cabinet","continuation":" are","evidence":[[4,8]]}` + "\n"
	if table := mustExecute(t, cases, "bench", "methods", "--methods", "raw", "-i", "-", "--timed", "0"); !strings.Contains(table, "mine") || !strings.Contains(table, "1 cases on tiny") {
		t.Error(table)
	}
	var r benchReport
	text := mustExecute(t, cases, "bench", "methods", "--methods", "occlusion", "-i", "-", "--timed", "0", "--faithful", "--naopc", "1", "--json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if s, ok := r.At("mine", "occlusion", "NAOPC"); !ok || !(s.Mean > .5 && s.Mean <= 1) {
		t.Errorf("NAOPC of occlusion %+v, %v", s, ok)
	}
	checkRefusals(t, []refusal{
		{"no subcommand", []string{"bench"}, "", statusUsage, "headwater bench methods"},
		{"misspelt subcommand", []string{"bench", "method"}, "", statusUsage, `unknown command "method"; did you mean methods? known are methods`},
		{"cases", []string{"bench", "methods", "--cases", "0"}, "", statusUsage, `--cases "0": want`},
		{"soft alone", []string{"bench", "methods", "--soft"}, "", statusUsage, "part of --faithful"},
		{"beam alone", []string{"bench", "methods", "--naopc", "3"}, "", statusUsage, "part of --faithful"},
		{"beam", []string{"bench", "methods", "--naopc", "-1"}, "", statusUsage, `--naopc "-1": want`},
		{"no such reference", []string{"bench", "methods", "--references", "truth"}, "", statusUsage, "unknown method"},
		{"grammar of another model", []string{"bench", "methods", "--model", filepath.Join(goldens, "gpt2")}, "", statusUsage, "knows no grammar"},
		{"planted and a model", []string{"bench", "methods", "--planted", "--model", "tiny"}, "", statusUsage, "--planted brings its own models"},
		{"planted and shuffled", []string{"bench", "methods", "--planted", "--randomized"}, "", statusUsage, "measured on one model"},
		{"planted and timed", []string{"bench", "methods", "--planted", "--timed", "2"}, "", statusUsage, "measured on one model"},
		{"no circuit", []string{"explain", "--model", "planted-parrot", "a"}, "", statusError, "there is no circuit"},
		{"both", []string{"bench", "methods", "-i", "-", "--cases", "3"}, "", statusUsage, "--input gives others"},
		{"no cases", []string{"bench", "methods", "-i", "-"}, "\n", statusError, "standard input has no cases"},
		{"no such field", []string{"bench", "methods", "-i", "-"}, `{"promt":"x"}`, statusError, `line 1: unknown key "promt"; did you mean prompt? known are "group"`},
		{"field of another type", []string{"bench", "methods", "-i", "-"}, `{"prompt":7}`, statusError, `line 1: "prompt" is a number; want a string`},
		{"field twice", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","prompt":"b"}`, statusError, `line 1: key "prompt" is there twice`},
		{"no pair", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":[[1]]}`, statusError, `"evidence" has [1] as number 1; want [begin,end]`},
		{"no list of pairs", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","evidence":3}`, statusError, `"evidence" is a number; want a list of [begin,end]`},
		{"negative position", []string{"bench", "methods", "-i", "-"}, `{"prompt":"a","position":-1}`, statusUsage, `"position" has -1 as number 1; want whole numbers from 0`},
		{"evidence elsewhere", []string{"bench", "methods", "--methods", "raw", "-i", "-"}, `{"prompt":"the keys","evidence":[[50,60]]}`, statusError, "no token of the prompt lies in the evidence"},
		{"unknown method", []string{"bench", "methods", "--methods", "best"}, "", statusUsage, "unknown method"},
	})
}

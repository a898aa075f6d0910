package explain

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

const told = "mary has the red key . john has the blue lamp . who has the lamp ?"

// --by groups columns as the package does, says so, and changes nothing else. It works for lines of
// --input too.
func TestExplainBy(t *testing.T) {
	args := []string{"--max-tokens", "2", "--methods", "rollout,flow,attn-lrp", "--contrast", " mary"}
	plain := headwater.Explained(t, append(args, told)...)
	for _, by := range []string{"word", "sentence", "0:20,22:46"} {
		d, err := units.ParseGrouping(by)
		must(t, err)
		want, err := plain.Group(d)
		must(t, err)
		got := headwater.Explained(t, append(args, "--by", by, told)...)
		// What leads from words to tokens is not in the JSON form.
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(attribution.Prompt{}, "Tokens",
			"Words")); diff != "" {
			t.Errorf("--by %s (-want +got):\n%s", by, diff)
		}
		if o := got.Methods["flow"].Options; o["by"] != by || o["spans"] != "highest of tokens" {
			t.Errorf("--by %s: options %v", by, o)
		}
		line := headwater.MustExecute(t, `{"prompt":"`+told+`"}`, append([]string{"explain", "--backend", "go", "--by", by, "--input", "-"}, args...)...)
		if diff := cmp.Diff(got, clitest.ParseExplanation(t, []byte(line))); diff != "" {
			t.Errorf("--by %s of a line (-want +got):\n%s", by, diff)
		}
	}
	// Of three sentences, the one about john answers the question, and the one about mary counts
	// against it.
	got := headwater.Explained(t,
		append(args, "--by", "sentence", told)...).Methods["attn-lrp"].Row(0, 0)
	if len(got) != 4 || !(got[2] > 1) || !(got[1] < 0) {
		t.Errorf("sentences have %v", got)
	}
}

func TestExplainByText(t *testing.T) {
	args := []string{"explain", "--backend", "go", "--max-tokens", "1", "--methods", "attn-lrp,rollout", "--contrast", " mary", told}
	for _, c := range []struct {
		name  string
		args  string
		has   []string
		hasNo []string
	}{
		{"contrast", "", []string{
			"john rather than mary: logit difference ", ", parts add up to ", "+ for the prediction and − for mary", "whole model",
		}, []string{"logit, layer"}},
		{"sentences", "--by sentence", []string{"john has the blue lamp .", "spans of the prompt (sources)", "by sentence"}, []string{"prompt tokens (sources)"}},
		{"top", "--top 2", []string{"attn-lrp  john +", " · mary −", "at most 2, the largest first"}, []string{"Columns:"}},
		{"page", "--format html --by 0:20", []string{"mary has the red key", "rather than mary", "by 0:20"}, []string{"prompt tokens"}},
	} {
		out := headwater.Output(t, append(args, strings.Fields(c.args)...)...)
		for _, want := range c.has {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%s", c.name, want, out)
			}
		}
		for _, wrong := range c.hasNo {
			if strings.Contains(out, wrong) {
				t.Errorf("%s says %q:\n%s", c.name, wrong, out)
			}
		}
	}
}

// --target has rows of several tokens in every form, and a file that shows them can be made again.
func TestExplainTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{
		"explain", "--backend", "go", "--methods", "occlusion,value-zeroing", "--by", "sentence",
		"--target", "sentence:2", "--continuation", " john . mary has the key",
	}
	text := headwater.Output(t, append(args, "--full", told)...)
	for _, want := range []string{
		"1  john .  2 tokens outside the target, ", "2  mary has the key  4 tokens, ",
		"sum over the target's tokens of change of the log-probability,", "output, the layer of",
		"spans taken away together", "the target itself +", "One block",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	e := headwater.Explained(t, append(args[3:], told)...)
	if len(e.Steps) != 2 || len(e.Steps[1].IDs) != 4 || !e.Steps[0].Rest || e.Steps[1].Rest {
		t.Errorf("steps %+v", e.Steps)
	}
	files := []string{"a.svg", "a.html", "a.csv", "a.json", "a.parquet", "text.svg"}
	for _, file := range files {
		more := []string{"-o", file, "-o", "out.txt"}
		if file == "text.svg" {
			more = append(more, "--view", "text")
		}
		headwater.Output(t, slices.Concat(args, more, []string{told})...)
		if file == "a.json" || file == "a.parquet" || file == "a.csv" {
			continue // which say nothing of their origin
		}
		if said := headwater.Output(t, "reproduce", file); !strings.Contains(said, "the same") {
			t.Errorf("%s: %s", file, said)
		}
	}
	page, err := os.ReadFile("a.html")
	if err != nil || !strings.Contains(string(page), "6 generated, explained in 2 rows") ||
		!strings.Contains(string(page), "the target itself +15.5") {
		t.Errorf("the page does not say what its rows are: %v", err)
	}
	table, err := os.ReadFile("a.csv")
	if err != nil || !strings.Contains(string(table), `" mary has the key",3,`) {
		t.Errorf("the table lacks the target: %v\n%s", err, table)
	}
}

// Two models that cut a text differently are compared target by target.
func TestCompareTargets(t *testing.T) {
	text := headwater.Output(t, "explain", "--backend", "go", "--methods", "direct",
		"--target", "sentence", "--by", "sentence", "--continuation", " john . mary has the key",
		"--against-model", "tiny-alibi", told)
	if !strings.Contains(text, "A − B") || !strings.Contains(text, "2  mary has the key") {
		t.Errorf("no comparison of targets:\n%s", text)
	}
}

func TestExplainByRefusals(t *testing.T) {
	in := func(args ...string) []string {
		return append([]string{"explain", "--backend", "go", "-o", "OUT"}, args...)
	}
	line := `{"prompt":"the keys"}`
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no parts", in("--by", "", "a"), "", 2, `--by "": want word, sentence, turn, or bytes of the prompt as BEGIN:END,BEGIN:END`},
		{"unknown parts", in("--by", "letters", "a"), "", 2, `--by "letters": want word, sentence, turn, or bytes`},
		{"lines", in("--by", "line", "a"), "", 2, `--by "line": want word, sentence, turn, or bytes of the prompt as BEGIN:END,BEGIN:END, each END above its BEGIN, counted from 0 and END not included; a sentence ends at a line break too`},
		{"span that ends before it begins", in("--by", "5:2", "a"), "", 2, `--by "5:2": want word, sentence, turn, or bytes of the prompt as BEGIN:END,BEGIN:END, each END above its BEGIN`},
		{"backwards", in("--by", "4:2", "the keys"), "", 2, `--by "4:2": want word, sentence, turn, or bytes`},
		{"outside the text", in("--by", "0:9", "the keys"), "", 2, "headwater: --by: span 0 to 9; the text has bytes 0 to 8"},
		{"overlap", in("--by", "0:3,2:5", "the keys"), "", 2, "spans 0 to 3 and 2 to 5 overlap"},
		{"of no token", in("--by", "3:4", "the keys"), "", 2, `--by 3:4: span 3 to 4, " ", holds the beginning of no token`},
		{"outside a line", in("--by", "0:9", "--input", "-"), line, 2, "line 1: --by 0:9: span 0 to 9; the text has bytes 0 to 8"},
		{"no chat", in("--by", "turn", "the keys"), "", 2, "--by turn: the prompt is no conversation and has no turns; --chat puts it into"},
		{"no target", in("--target", "", "a"), "", 2, `--target "": want answer, word, sentence`},
		{"unknown target", in("--target", "sentense", "a"), "", 2, `--target "sentense": did you mean sentence? want answer`},
		{"target twice", in("--target", "0:3,2:5", "a"), "", 2, "END not included and none twice"},
		{"target after the end", in("--target", "0:9", "--max-tokens", "3", "a"), "", 2, "--target 0:9; there are 3 generated tokens, from 0"},
		{"no such sentence", in("--target", "sentence:3", "--max-tokens", "2", "the keys"), "", 2, "--target sentence:3; the generated text has 1 sentence"},
		{"target and an encoder", in("--model", "tiny-mlm", "--target", "answer", "the keys"), "", 2, "--target answer;"},
		{"target of a graph", in("--view", "flow", "--target", "answer", "a"), "", 2, "--target does nothing here (text of the view flow): it is for --view heatmap, compare, layers, text"},
		{"target of maps", in("--view", "maps", "--target", "answer", "a"), "", 2, "--target does nothing here (text of the view maps): it is for --view heatmap, compare, layers, text"},
		{"no top", in("--top", "0", "a"), "", 2, `--top "0": want a whole number from 1 to 1000000`},
		{"top of a page", in("--top", "3", "--format", "html", "a"), "", 2, "--top does nothing here (html of the view heatmap): it is for -o a.txt\n"},
		{"top of lines", in("--top", "3", "--input", "-"), line, 2, "--top does nothing here (json of the view heatmap): it is for -o a.txt\n"},
	})
}

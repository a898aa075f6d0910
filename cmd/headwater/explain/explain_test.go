package explain

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models"
)

// The command does what the package does with the options that the flags mean.
func TestExplainFlags(t *testing.T) {
	m, err := models.Open("", models.Options{Backend: "go"})
	must(t, err)
	half, one := 0.25, 1
	rollout := []string{"rollout"}
	cases := []struct {
		name string
		args string
		opts attribution.Options
	}{
		{"default", "", attribution.Options{}},
		{"max-tokens", "--max-tokens 3", attribution.Options{MaxTokens: 3}},
		{
			"methods", "--methods raw,value-zeroing-rollout --methods flow --max-tokens 2",
			attribution.Options{
				MaxTokens: 2, Methods: []string{"raw", "value-zeroing-rollout", "flow"},
			},
		},
		{"continuation", "--continuation= is", attribution.Options{Continuation: " is"}},
		{"no special", "--special off --max-tokens 2", attribution.Options{MaxTokens: 2, Specials: trace.SpecialsOff}},
		{"special on", "--special on --max-tokens 2", attribution.Options{MaxTokens: 2, Specials: trace.SpecialsOn}},
		{"sampling", "--temperature 2.5 --set top-k=40,top-p=0.9 --seed 7", attribution.Options{
			Sampling: trace.Sampling{Temperature: 2.5, TopK: 40, TopP: 0.9, Seed: 7},
		}},
		{"alternatives", "--alternatives 2 --max-tokens 1", attribution.Options{MaxTokens: 1, Alternatives: 2}},
		{"heads", "--methods rollout --set heads=max --max-tokens 1", attribution.Options{MaxTokens: 1, Methods: rollout, Heads: trace.Heads{Fusion: trace.MaxHeads}}},
		{"one head", "--set heads=3 --max-tokens 1", attribution.Options{MaxTokens: 1, Heads: trace.Heads{Fusion: trace.OneHead, Head: 3}}},
		{"per head", "--set per-head=1 --max-tokens 1", attribution.Options{MaxTokens: 1, PerHead: &one}},
		{"residual", "--methods rollout --set residual=0.25 --max-tokens 1", attribution.Options{MaxTokens: 1, Methods: rollout, Residual: &half}},
		{"layers", "--set layers=1:1 --max-tokens 1", attribution.Options{MaxTokens: 1, FirstLayer: 1, LastLayer: &one}},
		{"one layer", "--set layers=1 --max-tokens 1", attribution.Options{MaxTokens: 1, FirstLayer: 1, LastLayer: &one}},
		{"layers from", "--set layers=2: --max-tokens 1", attribution.Options{MaxTokens: 1, FirstLayer: 2}},
		{"layers to", "--set layers=:1 --max-tokens 1", attribution.Options{MaxTokens: 1, LastLayer: &one}},
		{"all levels", "--methods flow --set all-levels --max-tokens 1", attribution.Options{
			MaxTokens: 1, Methods: []string{"flow"}, AllLevels: true,
		}},
		{"threshold", "--set threshold=0.01 --max-tokens 1", attribution.Options{MaxTokens: 1, Threshold: 0.01}},
		{"lift", "--methods rollout --set lift --max-tokens 1", attribution.Options{MaxTokens: 1, Methods: rollout, Lift: true}},
	}
	plain := map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Ask(verdict.Option, verdict.Auto)
			c.opts.Opens = render.Show{}.Opening
			want, err := attribution.Explain(t.Context(), m, clitest.Prompt, c.opts)
			must(t, err)
			args := strings.ReplaceAll(c.args, "= ", "=\x00") // a space that belongs to a value
			var words []string
			for _, w := range strings.Fields(args) {
				words = append(words, strings.ReplaceAll(w, "\x00", " "))
			}
			got := headwater.Explained(t, append(words, clitest.Prompt)...)
			if diff := cmp.Diff(clitest.RoundTrip(t, want), got); diff != "" {
				t.Errorf("explain %s (-want +got):\n%s", c.args, diff)
			}
			// A flag without an effect would pass as well. These two flags only describe what
			// another flag does.
			data := string(clitest.JSON(t, got))
			if other, same := plain[data]; same && c.name != "special on" && c.name != "one layer" {
				t.Errorf("%s gives what %s gives", c.name, other)
			}
			plain[data] = c.name
		})
	}
}

// The fields that the JSON form promises, under the names that it promises.
func TestExplainJSON(t *testing.T) {
	out := headwater.Output(t, "explain", "--backend", "go", "--format", "json",
		"--max-tokens", "2", "--methods", "rollout,value-zeroing", clitest.Prompt)
	var got struct {
		Version int
		Model   struct{ Name, Hash string }
		Prompt  struct {
			IDs     []int
			Texts   []string
			Offsets [][2]int
		}
		Steps []struct {
			ID           *int
			Text         string
			Probability  float64
			Alternatives []struct {
				ID          *int
				Text        string
				Probability float64
			}
		}
		Methods map[string]struct {
			Options   map[string]string
			Shape     [3]int
			Rows      [][]float64
			Shown     []int
			OtherMass []float64 `json:"other_mass"`
		}
		Warnings []string
	}
	must(t, json.Unmarshal([]byte(out), &got))
	if got.Version != 1 || got.Model.Name != "tiny" || len(got.Model.Hash) != 64 ||
		got.Warnings == nil {
		t.Errorf("version %d, model %+v, warnings %v", got.Version, got.Model, got.Warnings)
	}
	m := len(got.Prompt.IDs)
	if m < 5 || len(got.Prompt.Texts) != m || len(got.Prompt.Offsets) != m {
		t.Fatalf("prompt %+v", got.Prompt)
	}
	for j, at := range got.Prompt.Offsets {
		want := got.Prompt.Texts[j]
		// The tokenizer puts a space before the first word, which the prompt does not have.
		if at[0] == 0 {
			want = strings.TrimPrefix(want, " ")
		}
		if text := clitest.Prompt[at[0]:at[1]]; at[1] > 0 && text != want {
			t.Errorf("prompt token %d is %q, its offsets say %q", j, want, text)
		}
	}
	if len(got.Steps) != 2 || got.Steps[0].ID == nil || len(got.Steps[0].Alternatives) != 5 {
		t.Errorf("steps %+v", got.Steps)
	}
	r := got.Methods["rollout"]
	if r.Shape != [3]int{2, m, 6} || len(r.Rows) != 2*6 || r.Options["residual"] != "0.5" {
		t.Errorf("rollout %v, %d rows, %v; want [2 %d 6]", r.Shape, len(r.Rows), r.Options, m)
	}
	for name, method := range got.Methods {
		if len(method.Shown) != 2 || method.Shown[0] < 0 || method.Shown[0] > 5 {
			t.Errorf("%s shows layers %v, want two of 6", name, method.Shown)
		}
	}
	for step := range 2 { // rollout rows and their other_mass sum to 1
		for l := range 6 {
			sum := got.Methods["rollout"].OtherMass[step*6+l]
			for _, x := range r.Rows[step*6+l][:m] {
				sum += x
			}
			if math.Abs(sum-1) > 1e-6 { // attention is float32
				t.Errorf("step %d layer %d: prompt and other mass are %v, want 1", step, l, sum)
			}
		}
	}
}

// Two runs write the same bytes in every form, to standard output and to a file, but for the origin
// that JSON in a file has.
func TestExplainTwice(t *testing.T) {
	for _, format := range []string{"json", "html", "text"} {
		t.Run(format, func(t *testing.T) {
			args := []string{"explain", "--backend", "go", "--max-tokens", "3", "--methods", "rollout,flow,value-zeroing", "--format", format}
			first := headwater.Output(t, append(args, clitest.Prompt)...)
			if second := headwater.Output(t, append(args, clitest.Prompt)...); first != second {
				t.Errorf("two runs differ")
			}
			path := filepath.Join(t.TempDir(), "out")
			if out := headwater.Output(t, append(args, "-o", path, clitest.Prompt)...); out != "" {
				t.Errorf("standard output %q beside a file", out)
			}
			file := string(clitest.Read(t, path))
			if format != "json" {
				if file != first {
					t.Errorf("the file is not what standard output gets")
				}
				return
			}
			if strings.Contains(first, `"headwater":`) || !strings.Contains(file, `"headwater":`) {
				t.Error("the file lacks its origin, or standard output has it")
			}
			a := clitest.ParseExplanation(t, []byte(first))
			b := clitest.ParseExplanation(t, []byte(file))
			b.Origin = nil
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("(-standard output +file):\n%s", diff)
			}
		})
	}
}

// A prompt is shown as text, whatever characters it has.
func TestExplainHostile(t *testing.T) {
	hostile := "<script>alert(1)</script> \"quoted\" 'x' & \x1b[31m \x00 \u202eback \xff" +
		strings.Repeat("z", 100)
	args := []string{"explain", "--backend", "go", "--max-tokens", "1", "--methods", "rollout", hostile}
	page := headwater.Output(t, append(args, "--format", "html")...)
	for _, bad := range []string{"<script>alert", "\x1b", "\x00", "\u202e", "\xff"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("the page does not show <script>")
	}
	text := headwater.Output(t, args...)
	for _, bad := range []string{"\x1b", "\x00", "\u202e", "\xff"} {
		if strings.Contains(text, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
	e := headwater.Explained(t, args[3:]...)
	if want := strings.ToValidUTF8(hostile, "\ufffd"); e.Prompt.Text != want {
		t.Errorf("JSON has the prompt %q, want %q", e.Prompt.Text, want)
	}
}

// The output says that the model is a toy and what it does not know.
func TestExplainUnknownWords(t *testing.T) {
	for _, format := range []string{"text", "html", "json"} {
		out := headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
			"--format", format, "The capital of France is")
		if format == "text" { // one line for each sentence
			out = headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
				"--width", "200", "The capital of France is")
		}
		for _, want := range []string{"toy grammar model", "France", clitest.Prompt} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q", format, want)
			}
		}
	}
}

func TestExplainText(t *testing.T) {
	out := headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
		"--color", "always", clitest.Prompt)
	if !strings.Contains(out, "\x1b[48;2;") {
		t.Errorf("--color always has no colours")
	}
	for _, args := range [][]string{{"--color", "never"}, {"--color", "auto"}, nil} {
		if out := headwater.Output(t, append([]string{"explain", "--backend", "go", "--max-tokens", "1", clitest.Prompt}, args...)...); strings.Contains(out, "\x1b") {
			t.Errorf("%v colours what is no terminal", args)
		}
	}
	for _, width := range []int{60, 140} {
		out := headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
			"--color", "never", "--width", fmt.Sprint(width), clitest.Prompt)
		longest := 0
		for l := range strings.Lines(out) {
			longest = max(longest, len([]rune(l))-1)
		}
		if longest > width || longest < width-30 {
			t.Errorf("--width %d: the longest line has %d columns", width, longest)
		}
	}
}

// The ending of the file is the form of its content; without one --format does.
func TestExplainEnding(t *testing.T) {
	for _, c := range []struct {
		name, begin string // "": neither of the others
		args        []string
	}{
		{"page.html", "<!DOCTYPE html>", nil},
		{"page.HTM", "<!DOCTYPE html>", nil},
		{"row.json", "{", nil},
		{"row.txt", "", nil},
		{"page", "{", []string{"--format", "json"}},
		{"page.html", "<!DOCTYPE html>", []string{"--format", "html"}},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		headwater.Output(t, append([]string{
			"explain", "--backend", "go", "--max-tokens", "1",
			"-o", path, clitest.Prompt,
		}, c.args...)...)
		data, err := os.ReadFile(path)
		must(t, err)
		text := strings.TrimSpace(string(data))
		if c.begin == "" {
			if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") {
				t.Errorf("%s %v begins with %.40q", c.name, c.args, text)
			}
		} else if !strings.HasPrefix(strings.ToLower(text), strings.ToLower(c.begin)) {
			t.Errorf("%s %v begins with %.40q, want %q", c.name, c.args, text, c.begin)
		}
	}
}

// The filter greys tokens out and changes nothing else.
func TestExplainFilter(t *testing.T) {
	args := []string{"explain", "--backend", "go", "--full", "--max-tokens", "1", "--methods", "rollout", "mary has the key . john has the lamp ."}
	all := headwater.Output(t, args...)
	filtered := headwater.Output(t, append(args, "--filter")...)
	if strings.Contains(all, "·  ") || !strings.Contains(filtered, "·  ") {
		t.Errorf("with --filter the text is\n%s\nwithout\n%s", filtered, all)
	}
}

// What takes long is told before it begins, whether or not the output is a terminal.
func TestExplainSaysAblation(t *testing.T) {
	_, _, stderr := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		"--view", "heads", "--set", "head-kinds=ablate", clitest.Prompt)
	if !strings.Contains(stderr, "each of 48 heads is taken away in turn, a pass each: ") {
		t.Errorf("standard error is %q", stderr)
	}
}

// The backend is named once, and it is the requested one.
func TestExplainBackend(t *testing.T) {
	_, _, stderr := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
		clitest.Prompt)
	if !strings.HasPrefix(stderr, "headwater: backend go (") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("standard error is %q", stderr)
	}
	if got := cli.DescribeBackend("xla", "xla:/opt/gpu.so"); got != "backend xla (/opt/gpu.so)" {
		t.Errorf("xla with a path is %q", got)
	}
}

// A context that leaves room for fewer tokens than usual is named.
func TestExplainContextLeft(t *testing.T) {
	small := clitest.CopyModel(t, "gpt2", nil)
	const want = "has 64 tokens, so at most 3 come after the prompt."
	for n, warned := range map[int]bool{61: true, 48: false} {
		out := headwater.Output(t, "explain", "--backend", "go", "--model", small,
			"--width", "200", "--methods", "raw", strings.Repeat("a", n))
		if strings.Contains(out, want) != warned {
			t.Errorf("after %d tokens the warning is there: %v, in\n%s", n, !warned, out)
		}
	}
}

// refused is a command line of explain that must be refused.
func refused(args ...string) []string {
	return append([]string{"explain", "--backend", "go", "-o", "OUT"}, args...)
}

func TestExplainRefusals(t *testing.T) {
	small := clitest.CopyModel(t, "gpt2", nil)
	long := strings.Repeat("a", 65)
	in := refused
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no prompt", in(), "", 2, "explain needs a prompt"},
		{"empty prompt", in(""), "", 2, "the prompt is empty"},
		{"two prompts", in("the", "keys"), "", 2, "explain takes one prompt, got 2 arguments; put the prompt in quotes"},
		{"prompt without tokens", in("--model", small, "zzz"), "", 1, `the text "zzz" has no tokens`},
		{"prompt longer than the context", in("--model", small, long), "", 2, `is 64 tokens; shorten the prompt by 2 or more`},
		{"prompt that fills the context", in("--model", small, long[1:]), "", 2, "the prompt has 64 tokens, and the context of"},
		{"too many tokens for the context", in("--model", small, "--max-tokens", "64", "ab"), "", 2, "is 64 tokens"},
		{"unknown model", in("--model", "nope", "a"), "", 1, "nope is neither a directory nor a GGUF file, nor an embedded model (tiny, tiny-verb, tiny-mlm, tiny-sentiment, tiny-alibi, tiny-translation), nor a known one (smollm2)"},
		{"unknown method", in("--methods", "rollout,magic", "a"), "", 2, `--methods "rollout,magic": unknown method "magic"; known are `},
		{"empty method", in("--methods", "", "a"), "", 2, `unknown method ""`},
		{"unknown pair", in("--methods", "attention+magic", "a"), "", 2, `unknown aggregation "magic"; known are flow, layer, rollout`},
		{"unknown backend", in("--backend", "tpu", "a"), "", 2, `--backend "tpu": known are go, xla, cuda, and xla:PATH`},
		{"unknown format", in("--format", "pdf", "a"), "", 2, `--format "pdf" is unknown; known are text, html, json; for a file of this form give -o FILE.pdf`},
		{"format of a page", []string{"explain", "-o", "OUT.html", "--format", "json", "a"}, "", 2, "headwater: --format json does nothing: the name of every file says another form\n"},
		{"no tokens", in("--max-tokens", "0", "a"), "", 2, `--max-tokens "0": want a whole number from 1 to 4096; see headwater explain --help`},
		{"empty continuation", in("--continuation", "", "a"), "", 2, "want some text"},
		{"unknown special", in("--special", "yes", "a"), "", 2, "known are on, off, auto"},
		{"heads", in("--set", "heads=median", "a"), "", 2, `--set heads "median": want mean, max, min or the number of a head, from 0`},
		{"flag of an option that is set", in("--heads", "max", "a"), "", 2, "unknown flag: --heads; write --set heads=VALUE; see"},
		{"switch that is set", in("--lift", "a"), "", 2, "unknown flag: --lift; write --set lift; see"},
		{"flag as a setting", in("--set", "temperature=1", "a"), "", 2, `--set "temperature=1": there is no setting "temperature"; did you mean --temperature? known are all-l`},
		{"near setting", in("--set", "step=3", "a"), "", 2, `--set "step=3": there is no setting "step"; did you mean steps of integrated-gradients? known are all-layers,`},
		{"second of two settings", in("--set", "heads=max,layers=x", "a"), "", 2, `--set layers "x": want a whole number from 0 to 1000000; see`},
		{"setting without a value", in("--set", "steps", "a"), "", 2, "--set steps has no value; write steps=N"},
		{"head that is not there", in("--set", "heads=8", "a"), "", 2, "--set heads 8; there are 8, from 0 to 7"},
		{"per-head and heads", in("--set", "heads=max", "--set", "per-head=1", "a"), "", 2, "give one of the two"},
		{"residual", in("--set", "residual=1.5", "a"), "", 2, `--set residual "1.5": want a number from 0 to 1`},
		{"no layers", in("--set", "layers=:", "a"), "", 2, "want A:B, A:, :B or A"},
		{"layer word", in("--set", "layers=a:b", "a"), "", 2, "want a whole number from 0 to 1000000"},
		{"layers backwards", in("--set", "layers=3:1", "a"), "", 2, "layers 3 to 1; the last one must be at least the first"},
		{"layer that is not there", in("--set", "layers=6", "a"), "", 2, "layers 6 to 6; there are 6, from 0 to 5"},
		{"top-p", in("--temperature", "1", "--set", "top-p=2", "a"), "", 2, `--set top-p "2": want a number from 0 to 1`},
		{"top-k alone", in("--set", "top-k=3", "a"), "", 2, "headwater: --set top-k 3; it does nothing without a temperature above 0: the most probable token is taken and none is drawn\n"},
		{"seed alone", in("--seed", "3", "a"), "", 2, "headwater: --seed 3; it does nothing without a temperature above 0: the most probable token is taken and none is drawn\n"},
		{"no such folder", in("-o", "OUT/page.html", "a"), "", 1, "page.html: the directory "},
		{"a folder as output", in("-o", clitest.Goldens, "a"), "", 1, "goldens is a directory; name a file in it"},
		{"a slash as output", []string{"explain", "-o", "OUT/", "a"}, "", 1, "is no file's name"},
		{"no model there", in("--model", "/nomodel", "a"), "", 1, "nor a name of the Hub such as openai-community/gpt2\n"},
		{"a system without a template", in("--system", "be kind", "a"), "", 1, "has no chat template: it was not trained"},
		{"a system and special tokens", in("--system", "be kind", "--special", "on", "a"), "", 2, "--special and a chat"},
		{"a variable without a value", in("--chat-set", "x", "a"), "", 2, "want NAME=VALUE"},
		{"a wrong date", in("--set", "chat-date=today", "a"), "", 2, "want a date such as 2026-11-26"},
		{"tokens of a continuation", in("--max-tokens", "2", "--continuation", " is", "a"), "", 2, "--max-tokens 2 and a continuation; every token of a continuation is explained"},
		{"sampling of a continuation", in("--temperature", "1", "--continuation", " is", "a"), "", 2, "temperature 1 and a continuation"},
		{"all levels without flow", in("--set", "all-levels", "a"), "", 2, "--set all-levels applies to none of the methods: direct"},
		{"a sink of a scorer", in("--set", "drop-sink", "--methods", "attn-lrp", "a"), "", 2, "--set drop-sink applies to none of the methods: attn-lrp"},
		{"steps of another scorer", in("--set", "steps=5", "--methods", "occlusion", "a"), "", 2, "--set steps applies to none of the methods: occlusion"},
		{"near method", in("--methods", "rolout", "a"), "", 2, `--methods "rolout": unknown method "rolout"; did you mean rollout? known are `},
		{"near name elsewhere", in("--methods", "atention", "a"), "", 2, `unknown method "atention"; did you mean raw, which is attention as the model computed it? known are `},
		{"name elsewhere", in("--methods", "LayerGradientXActivation", "a"), "", 2, `did you mean gradient-x-input? known are `},
		{"samples", in("--methods", "lime", "a"), "", 2, `did you mean attn-lrp or decompx, which divide the logit among the tokens without samples? known are `},
		{"methods of heads", in("--view", "heads", "--methods", "direct", "a"), "", 2, `heads and head show attention as the model computed it, whatever the method`},
		{"methods of heads and numbers", in("--view", "heads", "--methods", "direct", "--format", "json", "--model", "nope", "a"), "", 2, "--view does nothing here"},
		{"layer of heads", in("--view", "heads", "--layer", "3", "a"), "", 2, "and --view head, with --layer and --head, shows one head in a figure\n"},
		{"empty prompt, no model", in("--model", "nope", ""), "", 2, "headwater: the prompt is empty; give some text\n"},
		{"near format", in("--format", "hmtl", "a"), "", 2, `--format "hmtl" is unknown; did you mean html? known are text, html, json`},
		{"near backend", in("--backend", "cuad:/x", "a"), "", 2, `--backend "cuad:/x": did you mean cuda? known are go, xla, cuda`},
		{"near type", in("--dtype", "bfloat61", "a"), "", 2, `did you mean bfloat16? known are float32, bfloat16`},
		{"near quantity", in("--set", "quantity=logits", "--methods", "occlusion", "a"), "", 2, "did you mean logit? known are logit, probability, log-probability"},
		{"near parts", in("--by", "words", "a"), "", 2, "did you mean word? want word, sentence"},
		{"long method", in("--methods", strings.Repeat("m", 5000), "a"), "", 2, "…; known are alti, "},
		{"long model", in("--model", "/"+strings.Repeat("m/", 2500), "a"), "", 1, "a"},
	})
}

// TestFlagsThatAskForNothing: a switch that is off, and a value that is the default, are no mistake
// where the flag means nothing.
func TestFlagsThatAskForNothing(t *testing.T) {
	for _, args := range [][]string{
		{"--view", "lens", "--prove", "off"}, {"--view", "lens", "--prove", "auto"},
		{"--by", "word", "--prove", "auto"}, {"-o", "OUT.svg", "--color", "never"},
		{"--format", "json", "--color", "auto", "--view", "heatmap", "--palette", "blue-rust"},
		{"--view", "maps", "--size", "double", "--sinks=false", "--filter=false"},
		{"-o", "OUT.svg", "--format", "text"}, {"--format", "json", "--caption", "none"},
	} {
		args = append([]string{"explain", "--backend", "go", "--max-tokens", "1", "a"}, args...)
		t.Chdir(t.TempDir())
		if status, _, stderr := headwater.Execute(t, "", args...); status != 0 {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
}

func TestViewRefusals(t *testing.T) {
	in := refused
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"unknown colours", in("--color", "red", "a"), "", 2, `--color "red" is unknown; known are auto, always, never`},
		{"narrow", in("--width", "10", "a"), "", 2, `--width "10": want a whole number from 60 to 10000`},
		{"late token of a figure", in("-o", "OUT.svg", "--view", "text", "--token", "9", "--max-tokens", "2", "a"), "", 2, "--token 9; the generated tokens are 0 to 1\n"},
		{"late tokens of a figure", in("-o", "OUT.svg", "--view", "layers", "--token", "0,9", "--methods", "raw", "--max-tokens", "2", "a"), "", 2, "--token 9; the generated tokens are 0 to 1\n"},
		{"late source of a figure", in("-o", "OUT.svg", "--view", "flow", "--methods", "flow", "--source", "7", "--max-tokens", "2", "the keys"), "", 2, "--source 7; the prompt tokens are 0 to 2\n"},
		{"width of a page", in("--width", "80", "--format", "html", "a"), "", 2, "--width does nothing here (html of the view heatmap): it is for -o a.txt\n"},
		{"colours of JSON", in("--color", "always", "--format", "json", "a"), "", 2, "--color does nothing here (json of the view heatmap): it is for -o a.txt\n"},
		{"near view", in("--view", "haeds", "a"), "", 2, `--view "haeds" is unknown; did you mean heads? known are heatmap, compare, experts, flow, head, heads, layers, lens, map`},
		{"near palette", in("--format", "html", "--palette", "perceptul", "a"), "", 2, `--palette "perceptul" is unknown; did you mean perceptual?`},
		{"palette of text", in("--palette", "perceptual", "a"), "", 2, "--palette does nothing here (text of the view heatmap): it is for -o a.html, a.svg, a.pdf, a.png, a.tex\n"},
		{"one side", in("--view", "compare", "--methods", "rollout", "a"), "", 2, `--view compare compares two methods`},
		{"layer and prove", in("--layer", "1", "--prove", "all", "a"), "", 2, `--prove tests the layer that a picture shows by itself: leave `},
		{"layer and heatmap", in("--methods", "rollout@1", "a"), "", 2, `layers after @ are for the view compare; --layer is for the others`},
		{"layer of classic", in("--view", "compare", "--methods", "classic@1,rollout", "a"), "", 2, `classic is several methods; name one of them before @`},
		{"no layer", in("--view", "compare", "--methods", "rollout@x,rollout", "a"), "", 2, `"rollout@x" is not a method and its layer`},
		{"late layer", in("--view", "compare", "--methods", "rollout@1,rollout@6", "--max-tokens", "1", "a"), "", 2, `--methods rollout@6; "tiny" has layers 0 to 5`},
		{"layers of too many", in("--view", "compare", "--methods", "rollout@1,rollout@2,raw", "a"), "", 2, `--view compare compares two methods`},
		{"scorers of maps", in("--view", "maps", "--methods", "direct,attn-lrp", "a"), "", 2, `there are no maps of method "direct"`},
		{"maps by word", in("--view", "maps", "--by", "word", "a"), "", 2, "--by does nothing here (text of the view maps): it is for --view heatmap, compare, layers, text\n"},
		{"late layer of maps", in("--view", "maps", "--layer", "6", "--max-tokens", "1", "a"), "", 2, `--layer 6; "tiny" has layers 0 to 5`},
		{"maps and a method's layer", in("--view", "maps", "--methods", "raw@2", "a"), "", 2, `layers after @ are for the view compare; --layer is for the others`},
		{"two against", in("--against", "b", "--against-model", "tiny", "a"), "", 2, `--against compares two prompts and --against-model two models`},
		{"model and heads", in("--view", "heads", "--against-model", "tiny", "a"), "", 2, "--against-model does nothing here (text of the view heads): it is for --view compare\n"},
		{"no other model", in("--model", "nope", "--against-model", "tinny", "a"), "", 1, `--against-model: tinny: did you mean tiny? tinny is neither a directory`},
		{"other kind of model", in("--against-model", "tiny-mlm", "--methods", "rollout", "the keys"), "", 2, `a decoder and an encoder cannot be compared`},
		{"methods of flow", in("--view", "flow", "--methods", "direct,rollout", "a"), "", 2, `out needs the graph of flow: name flow in --methods`},
		{"flow by word", in("--view", "flow", "--by", "word", "a"), "", 2, `--by does nothing here`},
		{"flow and lift", in("--view", "flow", "--set", "lift", "a"), "", 2, `--set lift does nothing here`},
		{"flow and filter", in("--view", "flow", "--filter", "a"), "", 2, `--filter does nothing here`},
		{"source", in("--source", "1", "a"), "", 2, "--source does nothing here (text of the view heatmap): it is for -o a.neuronpedia.json, or for --view flow\n"},
		{"token of a text", in("--token", " nobody", "--max-tokens", "1", "a"), "", 2, `--token: no generated word is "nobody"; the answer is "`},
		{"several tokens", in("--view", "flow", "--token", "1,2", "a"), "", 2, `several tokens are for a picture of layers`},
		{"no token", in("--view", "flow", "--token", "1.5", "a"), "", 2, `--token "1.5": want a whole number from 0 to 1000000: a generated token is named by its number`},
		{"late token", in("--view", "flow", "--token", "7", "--max-tokens", "1", "a"), "", 2, "--token 7; the only one of the generated tokens is 0\n"},
		{"late token of a page", in("--format", "html", "--token", "9", "--max-tokens", "2", "a"), "", 2, "--token 9; the generated tokens are 0 to 1\n"},
		{"late token of compare", in("--format", "html", "--view", "compare", "--methods", "direct,raw", "--token", "9", "--max-tokens", "2", "a"), "", 2, "--token 9; the generated tokens are 0 to 1\n"},
		{"contrast of maps", in("--view", "maps", "--contrast", " is", "--model", "nope", "a"), "", 2, "--contrast does nothing here: a picture of maps shows the method value-zeroing, which does not take it\n"},
		{"heads of maps", in("--view", "maps", "--set", "heads=max", "--model", "nope", "a"), "", 2, "--set heads does nothing here: a picture of maps shows the method value-zeroing"},
		{"token of a text of heads", in("--view", "heads", "--token", "1", "--model", "nope", "a"), "", 2, `--token does nothing here`},
		{"token of maps", in("--format", "html", "--view", "maps", "--token", "1", "--model", "nope", "a"), "", 2, `--token does nothing here`},
		{"no such word", in("--view", "flow", "--token", "nobody", "--max-tokens", "1", "a"), "", 2, `--token: no generated word is "nobody"; the answer is "`},
		{"empty other prompt", in("--model", "nope", "--against", "", "a"), "", 2, `--against "": it is empty; leave it out`},
		{"empty other model", in("--model", "nope", "--against-model", "", "a"), "", 2, `--against-model "": it is empty; leave it out`},
		{"late source", in("--view", "flow", "--source", "9", "--max-tokens", "1", "the keys"), "", 2, "--source 9; the prompt tokens are 0 to 2\n"},
		{"view and other prompt", in("--view", "heads", "--against", "b", "a"), "", 2, "--against does nothing here (text of the view heads): it is for --view compare, patch\n"},
	})
}

func TestInputRefusals(t *testing.T) {
	in := refused
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"prompt and input", in("--input", "x.jsonl", "a"), "", 2, "explain takes a prompt or --input, not both"},
		{"no such input", in("--input", "nope.jsonl"), "", 1, "headwater: --input: nope.jsonl: no such file or directory\n"},
		{"a folder as input", in("--input", clitest.Goldens), "", 1, "goldens is a directory; name a file"},
		{"input as html", in("--input", "-", "--format", "html"), "", 2, "--input writes a line of JSON for each prompt; html does not go with it"},
		{"input and continuation", in("--input", "-", "--continuation", "a"), "", 2, `write "continuation" into its lines`},
		{"input without prompt", in("--input", "-"), `{"continuation":"a"}`, 1, `standard input line 1: there is no text; give a prompt or a text that is not empty, or messages; the keys are continuation`},
		{"input with an empty prompt", in("--input", "-"), "\n" + `{"prompt":""}`, 2, `standard input line 2: "prompt" is empty; leave it out, or give it a value`},
		{"input of another type", in("--input", "-"), `{"prompt":7}`, 1, `line 1: the key "prompt" is a number; want a string`},
		{"input that is no object", in("--input", "-"), `["a"]`, 1, `line 1: ["a"] is not an object with "prompt", "text", "question", "continuation", `},
		{"input with an unknown key", in("--input", "-"), `{"prompt":"a","temperature":1}`, 1, `unknown key "temperature"; known are "prompt", "text", "question", "continuation", `},
		{"input with two objects", in("--input", "-"), `{"prompt":"a"}{"prompt":"b"}`, 1, "there is more after the value"},
		{"input that is no JSON", in("--input", "-"), `the keys`, 1, `line 1: not valid JSON at byte 2: unexpected "he keys"; want an object a line, such as {"prompt": "…"}`},
		{"no messages", in("--messages", "-"), `[]`, 2, "--messages: - has no message; write one, or give a prompt"},
		{"one message", in("--messages", "-"), `{"role":"user","content":"a"}`, 2, `the object has no key "messages"; want a list of messages, such as [{"role": "user", "content": "…"}], or`},
		{"messages with a byte order mark", in("--messages", "-"), "\ufeff[{}]", 2, `messages[0]: the key "role" is missing`},
		{"input with a key of other letters", in("--input", "-"), `{"Prompt":"a"}`, 1, `line 1: unknown key "Prompt"; did you mean prompt? known are`},
		{"input with a key twice", in("--input", "-"), `{"prompt":"the keys","prompt":"the dogs"}`, 1, `line 1: key "prompt" comes twice`},
		{"input with half a character", in("--input", "-"), `{"prompt":"\ud800"}`, 1, `line 1: not valid JSON at byte 12, in /prompt: \ud800 is half of a character`},
		{"input with another half", in("--input", "-"), `{"prompt":"\\\udc00x"}`, 1, `line 1: not valid JSON at byte 14, in /prompt: \udc00 is half of a character`},
		{"input with two first halves", in("--input", "-"), `{"prompt":"\ud83d\ud83d"}`, 1, `\ud83d is half of a character`},
		{"input with no prompt", in("--input", "-"), `{"prompt":null}`, 1, `line 1: there is no text`},
		{"input with an empty continuation", in("--input", "-"), `{"prompt":"a","continuation":""}`, 2, `line 1: "continuation" is empty; leave it out`},
		{"input with a bad message", in("--input", "-"), `{"messages":[{"role":"user"},{"content":"a"}]}`, 1, `line 1: the key "messages": messages[1]: the key "role" is missing`},
		{"input and messages", in("--input", "-", "--messages", "m.json"), "", 2, `write "messages" into its lines`},
		{"messages of an answer", in("--messages", "-"), `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, 2, "the conversation ends with messages[1]"},
		{"messages that wait for an answer", in("--messages", "-", "b"), `[{"role":"user","content":"a"}]`, 2, "messages[0], the last one, is the user's, and the prompt would be the user's too: leave the prompt out"},
		{"messages that are cut", in("--messages", "-"), `[{"role":"user"`, 2, "--messages: standard input: not valid JSON at byte"},
		{"messages with half a character", in("--messages", "-"), `[{"role":"user","content":"\ud800"}]`, 2, `\ud800 at byte `},
		{"no such messages", in("--messages", "nope.json"), "", 1, "--messages: nope.json: no such file"},
		{"input without positions", in("--input", "-"), `{"prompt":"a","positions":[]}`, 2, `line 1: "positions" is empty; leave it out`},
		{"input with a large position", in("--input", "-"), `{"prompt":"a","positions":[9223372036854775808]}`, 2, `number 1: it is 9223372036854775808; want whole numbers from 0 to 1000000`},
		{"input that ends early", in("--input", "-"), `{"prompt":"a"`, 1, "line 1: not valid JSON at byte 14: the text ends too early"},
		{"input with a long key", in("--input", "-"), `{"` + strings.Repeat("k", 5000) + `":1}`, 1, "known are"},
		{"filter of JSON", in("--filter", "--input", "-"), "", 2, "--filter does nothing here (json of the view heatmap): it is for -o a.txt, a.html, a.svg, a.pdf, a.png, a.tex\n"},
		{"input that is no UTF-8", in("--input", "-"), "{\"prompt\":\"\xff\"}", 1, "line 1: it is not valid UTF-8"},
	})
}

func TestModelRefusals(t *testing.T) {
	with := func(key string, value any) string {
		return clitest.CopyModel(t, "gpt2", func(c map[string]any) { c[key] = value })
	}
	broken := clitest.CopyModel(t, "gpt2", nil)
	weights := filepath.Join(broken, "model.safetensors")
	clitest.Write(t, weights, clitest.Read(t, weights)[:5000])
	missing := clitest.CopyModel(t, "gpt2", nil)
	must(t, os.Remove(filepath.Join(missing, "model.safetensors")))
	in := func(model string) []string {
		return []string{"explain", "--backend", "go", "-o", "OUT", "--model", model, "ab"}
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"another architecture", in(with("architectures", []string{"MambaForCausalLM"})), "", 1, "config.json: the head of architectures "},
		{"a value that changes arithmetic", in(with("activation_function", "prelu")), "", 1, "activation_function"},
		{"a key that the reference reads", in(with("is_causal", false)), "", 1, "key is_causal is not supported"},
		{"a shape of another size", in(with("n_embd", 48)), "", 1, "has shape"},
		{"heads that do not divide", in(with("n_head", 5)), "", 1, "config.json"},
		{"truncated weights", in(broken), "", 1, "model.safetensors"},
		{"no weights", in(missing), "", 1, "model.safetensors"},
		{"no tokenizer", in(filepath.Join(clitest.Goldens, "gpt2")), "", 1, "gpt2 has no tokenizer.json"},
		{"a file", in("explain_test.go"), "", 1, "explain_test.go"},
		{"an empty folder", in(t.TempDir()), "", 1, "config.json"},
	})
}

// TestCompileReport checks that only graphs that were kept are said to be loaded the next time.
func TestCompileReport(t *testing.T) {
	const compiled = "compiling 6 graphs took 11.6 s of this"
	for kept, want := range map[int]string{
		0: compiled, 1: compiled + "; the next time most of them are loaded instead",
	} {
		if got := compileReport(6, 11600*time.Millisecond, kept); got != want {
			t.Errorf("with %d kept graphs: %q, want %q", kept, got, want)
		}
	}
}

// TestBlankPrompt says that a prompt has nothing but blanks, and explains it.
func TestBlankPrompt(t *testing.T) {
	for text, noted := range map[string]bool{" \t": true, "a": false} {
		status, out, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens",
			"1", text)
		if has := strings.Contains(said, "nothing but blanks"); has != noted || status != 0 ||
			out == "" {
			t.Errorf("%q: status %d, %q and %d bytes", text, status, said, len(out))
		}
	}
}

// TestConversation explains the answer to a conversation, in a file and in a line of --input, and
// makes a figure of it again, with the date that the template asked for.
func TestConversation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	must(t, os.CopyFS(dir, tiny.Files()))
	clitest.Write(t, filepath.Join(dir, "chat_template.jinja"), []byte("{% for m in messages %}"+
		"{{ m.content }}{% if m.role != 'user' %} .{% endif %} {% endfor %}"+
		"{% if mood != 0 and strftime_now('%Y')|int > 2000 %}and{% endif %}"))
	messages := filepath.Join(t.TempDir(), "messages.json")
	clitest.Write(t, messages, []byte(`{"messages":[{"role":"user","content":"who has the key ?"},`+
		`{"content":"mary","role":"assistant"}]}`))
	const text = "the lamp . who has the key ? mary . who has the lamp ? and"
	args := []string{
		"explain", "--model", dir, "--backend", "go", "--methods", "rollout", "--max-tokens", "1",
		"--system", "the lamp", "--chat-set", "mood=1",
	}
	in := func(more ...string) []string { return slices.Concat(args, more) }
	const line = `{"messages":[{"role":"user","content":"who has the key ?"},` +
		`{"role":"assistant","content":"mary"},{"role":"user","content":"who has the lamp ?"},` +
		`{"role":"assistant","content":" mary"}]}`
	for name, out := range map[string]string{
		"flags": headwater.Output(t, in("--messages", messages, "--format", "json", "who has the lamp ?")...),
		"input": headwater.MustExecute(t, line, in("--input", "-")...),
	} {
		var e attribution.Explanation
		must(t, json.Unmarshal([]byte(out), &e))
		if e.Prompt.Text != text || len(e.Prompt.Parts) != 9 ||
			e.Prompt.Parts[8].Kind != trace.Added || e.Prompt.Parts[4].Role != "assistant" {
			t.Errorf("%s: prompt %q, parts %+v", name, e.Prompt.Text, e.Prompt.Parts)
		}
		if name == "input" && e.Steps[0].Text != " mary" {
			t.Errorf("the answer of the line is %q", e.Steps[0].Text)
		}
	}
	figure := filepath.Join(t.TempDir(), "a.svg")
	headwater.Output(t, in("--messages", messages, "-o", figure, "who has the lamp ?")...)
	saved, err := os.ReadFile(figure)
	if date := time.Now().Format(time.DateOnly); err != nil ||
		!strings.Contains(string(saved), date) {
		t.Errorf("the figure does not have the date %s: %v", date, err)
	}
	plain := filepath.Join(t.TempDir(), "plain.svg")
	headwater.Output(t, "explain", "--model", dir, "--backend", "go", "-o", plain, "mary")
	if saved, err := os.ReadFile(plain); err != nil ||
		strings.Contains(string(saved), time.Now().Format(time.DateOnly)) {
		t.Errorf("a figure of a plain prompt has a date: %v", err)
	}
	if out := headwater.Output(t, "reproduce", "--model", dir,
		figure); !strings.Contains(out, "byte for byte the same") {
		t.Errorf("reproduce: %s", out)
	}
}

// TestExplainPasses: a log learns once how many passes a method takes that asks the model for every
// token, of a short text nothing.
func TestExplainPasses(t *testing.T) {
	for words, want := range map[int]int{70: 1, 20: 0} {
		_, _, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "2",
			"--methods", "occlusion", strings.TrimSpace(strings.Repeat("the keys ", words/2)))
		if strings.Count(said, "pass 0 of ") != want ||
			strings.Count(said, "headwater: occlusion, 0 tokens done, pass 0 of 7") != want {
			t.Errorf("of %d words it says %q, want %d lines with passes", words, said, want)
		}
	}
}

// Before a long text is explained, a user is told what that takes, and not before a short one.
func TestExplainLong(t *testing.T) {
	for words, want := range map[int]string{
		1100: "1101 tokens × 2 methods (direct, rollout): this takes a while", 20: "",
	} {
		_, _, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens", "1",
			"--methods", "direct,rollout", strings.TrimSpace(strings.Repeat("the keys ", words/2)))
		if strings.Contains(said, "tokens ×") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("of %d words it says %q, want %q", words, said, want)
		}
	}
}

// TestEditsOfModel: an edit that does not fit the model or the text is told with the file, the
// number of the edit and the limit.
func TestEditsOfModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edits.json")
	const good = `[{"tap": "hidden", "change": "zero", "layers": [1]}, `
	for edit, want := range map[string]string{
		`{"tap": "attention", "change": "zero", "layers": [99]}]`: "edit of attention of " +
			"layer 99: layer 99 is not in 0..5",
		`{"tap": "hidden", "change": "zero", "positions": [-77]}]`: "edit of hidden of " +
			"position -77: 77 from the end of a prompt of ",
		`{"tap": "attention", "change": "zero", "positions": [0], "sources": [2]}]`: "edit of " +
			"attention of position 0, source 2: it would change nothing: no position",
	} {
		must(t, os.WriteFile(path, []byte(good+edit), 0o600))
		status, _, said := headwater.Execute(t, "", "explain", "--edit", path, clitest.Prompt)
		if status == 0 || !strings.Contains(said, "edits.json: edit 1: "+want) {
			t.Errorf("%s: status %d, %s; want %q", edit, status, said, want)
		}
	}
	must(t, os.WriteFile(path, []byte(`[{"tap": "hidden", "set": 0}]`), 0o600))
	_, _, said := headwater.Execute(t, "", "explain", "--edit", path, clitest.Prompt)
	const want = `edits.json: an edit has no key "set"; known are tap, layers, heads, positions, ` +
		`sources, change, factor, shape, value, from, key`
	if !strings.Contains(said, want) {
		t.Errorf("%s; want %q", said, want)
	}
}

// TestEditsBeforeModel: a file of edits that is not there, or names one that is not, is told before
// a model is opened.
func TestEditsBeforeModel(t *testing.T) {
	folder := t.TempDir()
	from := filepath.Join(folder, "from.json")
	must(t, os.WriteFile(from,
		[]byte(`[{"tap": "hidden", "change": "value", "from": "gone.safetensors"}]`), 0o600))
	for path, want := range map[string]string{
		filepath.Join(folder, "none.json"): "--edit: ", from: "edit 0: open ",
	} {
		status, _, said := headwater.Execute(t, "", "explain", "--edit", path, clitest.Prompt)
		if status != 1 || strings.Contains(said, "backend") || !strings.Contains(said, want) ||
			!strings.Contains(said, "no such file or directory") {
			t.Errorf("%s: status %d, %s; want 1 and %q", path, status, said, want)
		}
	}
}

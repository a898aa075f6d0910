package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models/family"
)

func TestModels(t *testing.T) {
	gpt2 := filepath.Join(clitest.Goldens, "gpt2")
	out := headwater.Output(t, "models")
	for _, want := range []string{"NAME", "tiny", "bloom", "toy grammar model"} {
		if !strings.Contains(out, want) {
			t.Errorf("models does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "before it is opened") {
		t.Errorf("models says what models take that are not named:\n%s", out)
	}
	// The families are a table of few lines that a terminal does not break.
	_, table, _ := strings.Cut(out, "family must be one of:\n\n")
	if got := strings.Fields(table); !slices.Equal(slices.Sorted(slices.Values(got)),
		slices.Sorted(slices.Values(family.Names()))) || strings.Count(table, "\n") > len(got)/3+1 {
		t.Errorf("the families are\n%s", table)
	}
	for line := range strings.Lines(table) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %s", len(line)-1, line)
		}
	}
	var list modelList
	text := headwater.Output(t, "models", "--json", "tiny", gpt2)
	must(t, json.Unmarshal([]byte(text), &list))
	for _, m := range list.Models {
		if m.Needs == nil || m.Needs.Memory.Total() == 0 {
			t.Errorf("models --json does not say what %s takes: %+v", m.Name, m.Needs)
		}
	}
	said := headwater.Output(t, "models", gpt2, "--backend", "go", "--max-memory", "60MB")
	for _, want := range []string{
		gpt2 + " on backend go, before it is opened:\n",
		"  weights  43296 parameters of 32 bits in the file; in memory\n           float32\n",
		"  memory   about 68.0 MB, more than the 60.0 MB that there are here:\n           program 67.3 MB, ",
		"layers 0.2 MB, embedding and head 20.7 kB,\n           passes over 64 tokens ",
		" tokens a second without an explanation; this is an estimate:\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("models does not say %q:\n%s", want, said)
		}
	}
	if len(list.Models) != 2 || list.Models[0].Name != "tiny" || list.Models[1].Context != 64 ||
		len(list.Families) > 0 {
		t.Errorf("models --json says %+v", list)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{{"unknown model", []string{"models", "nope"}, "", 1, "nope is neither a directory"}})
}

// Models in the store of Ollama are listed by the references that open them.
func TestModelsOfOllama(t *testing.T) {
	store := t.TempDir()
	t.Setenv("OLLAMA_MODELS", store)
	if out := headwater.Output(t, "models"); strings.Contains(out, "store of Ollama:") {
		t.Errorf("models says of an empty store:\n%s", out)
	}
	for i := range 22 {
		dir := filepath.Join(store, "manifests", "registry.ollama.ai", "library", "llama3.2")
		must(t, os.MkdirAll(dir, 0o755))
		clitest.Write(t, filepath.Join(dir, fmt.Sprintf("tag%02d", i)), []byte("{}"))
	}
	out := headwater.Output(t, "models")
	for _, want := range []string{"\n22 in the store of Ollama: ollama:llama3.2:tag00, ", "tag19, …\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("models does not say %q:\n%s", want, out)
		}
	}
	var list modelList
	text := headwater.Output(t, "models", "--json")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Ollama) != 22 {
		t.Errorf("models --json says %q, %v", list.Ollama, err)
	}
}

// Every method has a line, and by its name its kind, cost and source, its parts and its options.
func TestMethods(t *testing.T) {
	lines := headwater.Output(t, "methods")
	var list methodList
	must(t, json.Unmarshal([]byte(headwater.Output(t, "methods", "--json")), &list))
	if len(list.Methods) != len(attribution.MethodNames()) || len(list.Mixings) < 2 ||
		len(list.Aggregations) < 3 || list.Options != nil {
		t.Errorf("methods --json says %+v", list)
	}
	all := ""
	for _, m := range list.Methods {
		block := headwater.Output(t, "methods", m.Name)
		all += block
		kind := m.Mixing + " × " + m.Aggregation
		if m.Scorer != "" {
			kind = "scorer of a prediction"
		}
		for _, want := range []string{"kind     " + kind, "needs    ", "cost     " + m.Cost, "source   " + m.Paper, "value    " + m.Summary} {
			if m.Cost == "" || m.Paper == "" || !strings.HasPrefix(block, m.Name+"\n") ||
				!strings.Contains(block, want) {
				t.Errorf("%s does not say %q:\n%s", m.Name, want, block)
			}
		}
		line := fmt.Sprintf("\n%-25s %s\n", m.Name, m.Summary)
		if n := strings.Count("\n"+lines, line); n != 1 {
			t.Errorf("%d lines are %q:\n%s", n, line, lines)
		}
	}
	for _, s := range list.Scorers {
		if s.Needs == "" || s.Cost == "" || s.Paper == "" {
			t.Errorf("scorer %+v is not complete", s)
		}
	}
	all += headwater.Output(t, "methods", "value-zeroing-euclidean-final-norm+flow")
	for _, p := range append(list.Mixings, list.Aggregations...) {
		if p.Cost == "" || p.Paper == "" ||
			!strings.Contains(all, p.Name+"\n  value    "+p.Summary) {
			t.Errorf("part %+v is not complete", p)
		}
	}
}

// The options of a method are those that it takes, with their limits.
func TestMethodOptions(t *testing.T) {
	out := headwater.Output(t, "methods", "integrated-gradients")
	_, got, _ := strings.Cut(out, "\noptions\n")
	for name, want := range map[string]string{
		"--set steps=VALUE": "take N points of the integral of integrated gradients, between its two ends, from 1 to 1024 (default 32)",
		"--contrast":        "let scorers explain why",
		"--set quantity=VALUE": "let scorers explain the logit|probability|log-probability " +
			"(default each scorer's own)",
	} {
		if !strings.Contains(got, fmt.Sprintf("  %-32s %s", name, want)) {
			t.Errorf("integrated-gradients does not have %s: %s\n%s", name, want, out)
		}
	}
	if strings.Contains(got, "samples") || strings.Contains(got, "layers") {
		t.Errorf("integrated-gradients has options of others:\n%s", out)
	}
	var list methodList
	must(t, json.Unmarshal([]byte(headwater.Output(t, "methods", "classic", "--json")), &list))
	if len(list.Methods) != 3 || len(list.Mixings) != 2 || len(list.Aggregations) != 3 ||
		len(list.Scorers) != 0 || len(list.Options) != 9 {
		t.Errorf("methods classic --json says %+v", list)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"unknown method", []string{"methods", "flo"}, "", 2, `unknown method "flo"; did you mean flow? known are`},
		{"two names", []string{"methods", "flow", "raw"}, "", 2, "methods takes one name, got 2"},
	})
}

// Every example has its prompt and what to see. Those of SmolLM2 come first, with what to do where
// it is not downloaded.
func TestExamples(t *testing.T) {
	alone(t)
	out := headwater.Output(t, "examples")
	var all []example
	must(t, json.Unmarshal([]byte(headwater.Output(t, "examples", "--json")), &all))
	if len(all) != len(realExamples)+len(tiny.Examples()) || len(all) < 3 {
		t.Fatalf("%d examples", len(all))
	}
	for i, e := range all {
		model := "smollm2"
		if i >= len(realExamples) {
			model = "tiny"
		}
		if e.Model != model || e.See == "" || e.Expected == "" ||
			!strings.Contains(out, "\n"+e.Prompt+"\n  kind     "+e.Kind) ||
			!strings.Contains(out, "see      "+e.See) {
			t.Errorf("example %+v is not complete", e)
		}
	}
	const missing = "\nsmollm2: HuggingFaceTB/SmolLM2-135M-Instruct of the Hub, not downloaded: headwater download smollm2 brings it\n"
	if !strings.Contains(out, missing) {
		t.Errorf("examples does not say %q:\n%s", missing, out)
	}
	cacheSmolLM2(t, os.Getenv("HF_HUB_CACHE"))
	if out := headwater.Output(t, "examples"); strings.Contains(out, "download") {
		t.Errorf("examples says of a model that is there:\n%s", out)
	}
}

// SmolLM2 goes on as the examples say, and its picture shows what they say, where make smollm2 has
// brought the model.
func TestRealExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a language model")
	}
	folder, err := filepath.Abs(filepath.Join(clitest.Root, ".cache/models"))
	must(t, err)
	if files, err := filepath.Glob(filepath.Join(folder, smolLM2, "*.gguf")); len(files) == 0 {
		t.Skip("the model is not there; make smollm2 brings it: ", err)
	}
	t.Setenv("HEADWATER_MODELS", folder)
	// The two words with the largest shares of Value Zeroing, whether direct says that they speak
	// for the answer, and the least that the first two hold.
	seen := map[string]struct {
		first, second string
		signs         [2]bool
		least         float64
	}{
		"fact":            {"osse", "um", [2]bool{true, false}, 0.9},
		"analogy":         {" black", "Day", [2]bool{true, false}, 0.9},
		"indirect object": {" Mary", " John", [2]bool{true, false}, 0.7},
		"code":            {" height", " width", [2]bool{true, false}, 0.9},
	}
	prompts := []string{"black is to"}
	for _, e := range realExamples {
		prompts = append(prompts, e.Prompt)
	}
	var input strings.Builder
	for _, prompt := range prompts {
		fmt.Fprintf(&input, "{\"prompt\": %q}\n", prompt)
	}
	out := json.NewDecoder(strings.NewReader(headwater.MustExecute(t, input.String(), "explain",
		"--model", smolLM2, "--backend", "go", "--max-tokens", "1", "--input", "-")))
	results := make([]attribution.Explanation, len(prompts))
	for i := range results {
		must(t, out.Decode(&results[i]))
	}
	// The analogy needs the pair that its picture does not name.
	if results[0].Steps[0].Text == " white" {
		t.Errorf("%s goes on with white, without the pair day and night", prompts[0])
	}
	for i, e := range realExamples {
		got := results[i+1]
		step := got.Steps[0]
		if step.Text != " "+e.Expected || step.Probability < 0.6 {
			t.Errorf("%s: next is %q with %.2f, want %q with 0.6 or more", e.Kind, step.Text,
				step.Probability, e.Expected)
		}
		top, err := got.TopK(0, "value-zeroing", 2, nil)
		must(t, err)
		direct, err := got.M("direct")
		must(t, err)
		want := seen[e.Kind]
		signs := [2]bool{}
		for k := range signs {
			signs[k] = direct.At(0, top[k].Position, direct.Top()) > 0
		}
		if top[0].Text != want.first || top[1].Text != want.second || signs != want.signs ||
			top[0].Value+top[1].Value < want.least {
			t.Errorf("%s: %+v with signs %v, want %+v", e.Kind, top, signs, want)
		}
	}
}

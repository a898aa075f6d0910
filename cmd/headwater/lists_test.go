package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models/tiny"
)

func TestModels(t *testing.T) {
	gpt2 := filepath.Join(goldens, "gpt2")
	out := mustExecute(t, "", "models")
	for _, want := range []string{"NAME", "tiny", "bloom", "toy grammar model", "bloom, distilbert, electra, falcon"} {
		if !strings.Contains(out, want) {
			t.Errorf("models does not say %q:\n%s", want, out)
		}
	}
	var list modelList
	text := mustExecute(t, "", "models", "--json", "tiny", gpt2)
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Models) != 2 || list.Models[0].Name != "tiny" || list.Models[1].Context != 64 ||
		len(list.Families) < 3 {
		t.Errorf("models --json says %+v", list)
	}
	checkRefusals(t, []refusal{{"unknown model", []string{"models", "nope"}, "", 1, "nope is neither a directory"}})
}

// Models in the store of Ollama are listed by the references that open them.
func TestModelsOfOllama(t *testing.T) {
	store := t.TempDir()
	t.Setenv("OLLAMA_MODELS", store)
	if out := mustExecute(t, "", "models"); strings.Contains(out, "store of Ollama:") {
		t.Errorf("models says of an empty store:\n%s", out)
	}
	for i := range 22 {
		dir := filepath.Join(store, "manifests", "registry.ollama.ai", "library", "llama3.2")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("tag%02d", i)), []byte("{}"))
	}
	out := mustExecute(t, "", "models")
	for _, want := range []string{"\n22 in the store of Ollama: ollama:llama3.2:tag00, ", "tag19, …\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("models does not say %q:\n%s", want, out)
		}
	}
	var list modelList
	text := mustExecute(t, "", "models", "--json")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Ollama) != 22 {
		t.Errorf("models --json says %q, %v", list.Ollama, err)
	}
}

// Every method has its kind, cost and source, in both forms.
func TestMethods(t *testing.T) {
	out := mustExecute(t, "", "methods")
	blocks := map[string]string{}
	for block := range strings.SplitSeq(out, "\n\n") {
		name, _, _ := strings.Cut(block, "\n")
		blocks[name] = block
	}
	var list methodList
	if err := json.Unmarshal([]byte(mustExecute(t, "", "methods", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Methods) != len(attribution.MethodNames()) || len(list.Mixings) < 2 ||
		len(list.Aggregations) < 3 {
		t.Errorf("methods --json says %+v", list)
	}
	for _, m := range list.Methods {
		block := blocks[m.Name]
		kind := m.Mixing + " × " + m.Aggregation
		if m.Scorer != "" {
			kind = "scorer of a prediction"
		}
		for _, want := range []string{"kind     " + kind, "needs    ", "cost     " + m.Cost, "source   " + m.Paper, "value    " + m.Summary} {
			if m.Cost == "" || m.Paper == "" || !strings.Contains(block, want) {
				t.Errorf("%s does not say %q:\n%s", m.Name, want, block)
			}
		}
	}
	for _, s := range list.Scorers {
		if s.Needs == "" || s.Cost == "" || s.Paper == "" {
			t.Errorf("scorer %+v is not complete", s)
		}
	}
	for _, p := range append(list.Mixings, list.Aggregations...) {
		if p.Cost == "" || p.Paper == "" ||
			!strings.Contains(out, p.Name+"\n  value    "+p.Summary) {
			t.Errorf("part %+v is not complete", p)
		}
	}
}

// Every example has its prompt and what to see.
func TestExamples(t *testing.T) {
	out := mustExecute(t, "", "examples")
	var all []example
	if err := json.Unmarshal([]byte(mustExecute(t, "", "examples", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(tiny.Examples()) || len(all) < 3 {
		t.Fatalf("%d examples", len(all))
	}
	for _, e := range all {
		if e.See == "" || e.Expected == "" ||
			!strings.Contains(out, "\n"+e.Prompt+"\n  kind     "+e.Kind) ||
			!strings.Contains(out, "see      "+e.See) {
			t.Errorf("example %+v is not complete", e)
		}
	}
}

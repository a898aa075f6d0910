package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/checkpoint"
)

// Attention that is recorded from the embedded model and read from a file gives the numbers that
// explain computes with the model.
func TestShow(t *testing.T) {
	m, err := models.Open("", models.Options{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	e := explained(t, "--methods", "rollout,flow", "--max-tokens", "3", prompt)
	ids, texts := e.Prompt.IDs, e.Prompt.Texts
	for _, s := range e.Steps {
		ids, texts = append(ids, s.ID), append(texts, s.Text)
	}
	tensors, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Attention})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.safetensors")
	err = checkpoint.WriteFile(path, []checkpoint.Tensor{{
		Name: "attention", Shape: tensors[0].Shape, Data: tensors[0].Data,
	}}, map[string]string{"tokens": string(tokens), "generated": "3", "model": "another"})
	if err != nil {
		t.Fatal(err)
	}
	got := parseExplanation(t, []byte(mustExecute(t, "", "show", "--methods", "rollout,flow",
		"--format", "json", "--save", filepath.Join(dir, "a.svg"), path)))
	if got.Model.Name != "another" || len(got.Steps) != 3 || got.Steps[2].Text != e.Steps[2].Text {
		t.Errorf("model %q, steps %v", got.Model.Name, got.Steps)
	}
	const tol = 1e-5 // float32 of two runs, one of them on the cache; worst seen 3e-7
	for step := range 3 {
		for j := range e.Prompt.Texts {
			for _, method := range []string{"rollout", "flow"} {
				a, b := e.Methods[method], got.Methods[method]
				x, y := a.At(step, j, a.Top()), b.At(step, j, b.Top())
				if math.Abs(x-y) > tol {
					t.Errorf("%s M[%d,%d] is %v from the file, want %v", method, step, j, y, x)
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a.svg")); err != nil {
		t.Error(err)
	}
}

// What headwater trace writes is shown: the row of the last token, with the numbers that headwater
// attribute makes of the same file.
func TestShowTraced(t *testing.T) {
	dir := t.TempDir()
	path, rows := filepath.Join(dir, "run.safetensors"), filepath.Join(dir, "rows.safetensors")
	mustExecute(t, "", "trace", "--text", prompt, "--taps", "attention,value-zeroing", "-o", path)
	methods := []string{"rollout", "value-zeroing"}
	mustExecute(t, "", "attribute", "--input", path, "--methods", strings.Join(methods, ","),
		"-o", rows)
	got := parseExplanation(t, []byte(mustExecute(t, "", "show", "--methods",
		strings.Join(methods, ","), "--format", "json", path)))
	if got.Model.Name != "tiny" || len(got.Steps) != 1 || got.Prompt.Texts[2] != " keys" {
		t.Errorf("model %q, steps %v, tokens %q", got.Model.Name, got.Steps, got.Prompt.Texts)
	}
	T := len(got.Prompt.Texts)
	for _, method := range methods {
		all := floats(t, openFile(t, rows), method) // [L,T,T]
		r := got.Methods[method]
		for j, want := range all[len(all)-T:] {
			if x := r.At(0, j, r.Top()); x != want {
				t.Errorf("%s M[0,%d] is %v, want %v", method, j, x, want)
			}
		}
	}
	if text := mustExecute(t, "", "show", path); !strings.Contains(text, "cabinet") {
		t.Errorf("it shows %q, want the text", text)
	}
}

// A file that does not fit is an error that names the tensor or the metadata, and what is needed.
func TestShowRefusals(t *testing.T) {
	dir := t.TempDir()
	square := []float32{1, 0, .5, .5}
	for _, c := range []struct {
		want  string
		name  string
		shape []int
		about map[string]string
		args  []string
	}{
		{"its metadata has no tokens", "attention", []int{1, 2, 2}, nil, nil},
		{"want a JSON list", "attention", []int{1, 2, 2}, map[string]string{"tokens": "a b"}, nil},
		{
			`tokens in its metadata: \udc00 at byte 8 is the second half of a character`, "attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b\udc00"]`},
			nil,
		},
		{
			`tensor "attention" has shape [1 2 2]; want [L,H,3,3] or [L,3,3] for its 3 tokens`,
			"attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b","c"]`},
			nil,
		},
		{
			`tensor "attention" has shape [1 1 1 2 2]`, "attention",
			[]int{1, 1, 1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			nil,
		},
		{
			`has no tensor "attention", which method rollout needs; it has "pattern"`, "pattern",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`},
			nil,
		},
		{
			"generated in its metadata is \"2\"; want how many of the last tokens were generated, " +
				"0 to 1",
			"attention",
			[]int{1, 2, 2},
			map[string]string{"tokens": `["a","b"]`, "generated": "2"},
			nil,
		},
		{
			"asks the model again", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--methods", "direct"},
		},
		{
			"a graph of flow is made by headwater explain", "attention",
			[]int{1, 2, 2},
			nil,
			[]string{"--methods", "flow", "--save", filepath.Join(dir, "g.neuronpedia.json")},
		},
	} {
		path := filepath.Join(dir, "a.safetensors")
		err := checkpoint.WriteFile(path, []checkpoint.Tensor{{
			Name: c.name, Shape: c.shape, Data: square,
		}}, c.about)
		if err != nil {
			t.Fatal(err)
		}
		status, _, said := execute(t, "", append([]string{"show", path}, c.args...)...)
		if status == statusOK || !strings.Contains(said, c.want) {
			t.Errorf("status %d, %q; want %q", status, said, c.want)
		}
	}
}

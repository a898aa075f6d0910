package certificate

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

const goldens = "../../models/testdata/goldens/"

func open(t *testing.T, name string) *models.Model {
	t.Helper()
	m, err := models.Open(goldens+name, models.Options{Backend: "go"})
	must(t, err)
	return m
}

// TestGoldens: every recorded checkpoint passes every check, and says so in a table and in JSON.
func TestGoldens(t *testing.T) {
	dirs, err := filepath.Glob(goldens + "*/golden.safetensors")
	if err != nil || len(dirs) < 40 {
		t.Fatalf("%d goldens, %v", len(dirs), err)
	}
	for _, file := range dirs {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			g, err := golden.Open(file)
			must(t, err)
			defer g.Close()
			c, err := Run(context.Background(), open(t, name), Options{Golden: g})
			must(t, err)
			for _, k := range c.Failed() {
				t.Error(k)
			}
			for _, k := range c.Checks {
				if k.Skipped == "" && k.Compared == 0 {
					t.Errorf("%s compared nothing", k.Name)
				}
			}
			if _, err := json.Marshal(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWrongNumbers: one number of a recording changed is found, and named.
func TestWrongNumbers(t *testing.T) {
	for _, c := range []struct{ tensor, check, where string }{
		{"logits", "logits", "text 0, target 0, token 3"},
		{"attn.1", "attention", "text 0, layer 1, head 0, target 0, source 3"},
		{"pad.hidden.0", "padded hidden states", "text 0, layer 0, target"},
	} {
		t.Run(c.tensor, func(t *testing.T) {
			path := changed(t, "llama", c.tensor,
				3+8*boolInt(strings.HasPrefix(c.tensor, "pad."))*32)
			g, err := golden.Open(path)
			must(t, err)
			defer g.Close()
			cert, err := Run(context.Background(), open(t, "llama"), Options{Golden: g})
			must(t, err)
			if cert.OK {
				t.Fatal("a changed recording passes")
			}
			var table strings.Builder
			if _, err := cert.WriteTo(&table); err != nil {
				t.Fatal(err)
			}
			for _, k := range cert.Checks {
				if k.Passed() != (k.Name != c.check) {
					t.Errorf("%s passed is %v", k.Name, k.Passed())
				}
				if k.Name == c.check && !strings.Contains(k.Where, c.where) {
					t.Errorf("worst at %q, want %q", k.Where, c.where)
				}
			}
			if failed := cert.Failed(); len(failed) != 1 || failed[0].Name != c.check {
				t.Errorf("failed are %v, want %s alone", failed, c.check)
			}
			if !strings.Contains(table.String(), "WRONG") {
				t.Errorf("the table does not say WRONG:\n%s", table.String())
			}
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// changed copies a golden with 0.01 added to one element of a tensor.
func changed(t *testing.T, name, tensor string, at int) string {
	t.Helper()
	all := recorded(t, name)
	for _, a := range all {
		if a.Name == tensor {
			a.Data.([]float32)[at] += 0.01
		}
	}
	return write(t, all)
}

// replaced copies a golden with another tensor in the place of one.
func replaced(t *testing.T, name, tensor string, with checkpoint.Tensor) string {
	t.Helper()
	all := recorded(t, name)
	with.Name = tensor
	all[slices.IndexFunc(all, func(a checkpoint.Tensor) bool { return a.Name == tensor })] = with
	return write(t, all)
}

// recorded returns the tensors of a golden.
func recorded(t *testing.T, name string) []checkpoint.Tensor {
	t.Helper()
	return recordedIn(t, goldens+name+"/golden.safetensors")
}

// recordedIn returns the tensors of a file.
func recordedIn(t *testing.T, path string) []checkpoint.Tensor {
	t.Helper()
	f, err := checkpoint.Open(path)
	must(t, err)
	defer f.Close()
	var all []checkpoint.Tensor
	for _, n := range f.Names() {
		shape, err := f.Shape(n)
		must(t, err)
		if ids, err := f.Int32(n); err == nil {
			all = append(all, checkpoint.Tensor{Name: n, Shape: shape, Data: ids})
			continue
		}
		data, err := f.Float32(n)
		must(t, err)
		all = append(all, checkpoint.Tensor{Name: n, Shape: shape, Data: data})
	}
	return all
}

func write(t *testing.T, all []checkpoint.Tensor) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden.safetensors")
	must(t, checkpoint.WriteFile(path, all, nil))
	return path
}

// TestRecord: what one model records, the same model passes and another one does not.
func TestRecord(t *testing.T) {
	for _, name := range []string{"qwen3", "bert", "bert_cls", "bert_bare", "llama_cls", "bert_qa"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			tensors, err := Record(context.Background(), m, [][]int{{5, 6, 7, 8}, {9, 5, 9, 10}}, 3)
			must(t, err)
			g, err := golden.Open(write(t, tensors))
			must(t, err)
			defer g.Close()
			if c, err := Run(context.Background(), m, Options{Golden: g}); err != nil || !c.OK {
				t.Errorf("a model does not pass its own recording: %+v, %v", c, err)
			}
		})
	}
	m := open(t, "llama")
	tensors, err := Record(context.Background(), m, [][]int{{5, 6, 7, 8}}, 2)
	must(t, err)
	g, err := golden.Open(write(t, tensors))
	must(t, err)
	defer g.Close()
	c, err := Run(context.Background(), open(t, "qwen2"), Options{Golden: g})
	if err != nil || c.OK {
		t.Errorf("another model passes: %v", err)
	}
	if _, err := Run(context.Background(), open(t, "opt"), Options{Golden: g}); err == nil ||
		!strings.Contains(err.Error(), "not of a model with 2 layers") {
		t.Errorf("a model of other depth: %v", err)
	}
	if _, err := Record(context.Background(), m, [][]int{{1}, {1, 2}}, 1); err == nil {
		t.Error("texts of two lengths are recorded")
	}
}

// TestRead: the second target reads ¼·(2,0) + ¾·(4,8) = (3.5,6).
func TestRead(t *testing.T) {
	got := read([]float32{1, 0, 0.25, 0.75}, []float32{2, 0, 4, 8}, 2)
	if want := []float32{2, 0, 3.5, 6}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// TestBrokenGoldens: a recording that is not one of the model, or that does not hold together, is
// an error or a failed check.
func TestBrokenGoldens(t *testing.T) {
	ints := func(shape ...int) checkpoint.Tensor { return zeros(shape, []int32(nil)) }
	floats := func(shape ...int) checkpoint.Tensor { return zeros(shape, []float32(nil)) }
	for _, c := range []struct {
		name, tensor string
		value        checkpoint.Tensor
		err          string // empty: a check fails
	}{
		{"greedy of nothing", "greedy", ints(0, 20), "greedy has shape [0 20]"},
		{"greedy shorter than its text", "greedy", ints(1, 3), "greedy has 3 tokens"},
		{"padmask of nothing", "padmask", ints(0, 12), "padmask has shape [0 12]"},
		{"padding of the first text", "padmask", ints(2, 12), "padmask leaves no token of text 0"},
		{"number in place of logits", "logits", floats(), "logits has shape []"},
		{"hidden state without width", "hidden.1", floats(2, 12, 0), "hidden.1 has shape [2 12 0]"},
		{"hidden state of another width", "hidden.1", floats(2, 12, 3), ""},
		{"one axis more", "attn.0", floats(2, 4, 12, 12, 1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := golden.Open(replaced(t, "llama", c.tensor, c.value))
			must(t, err)
			defer g.Close()
			cert, err := Run(context.Background(), open(t, "llama"),
				Options{Golden: g, RecordingOnly: true})
			if c.err == "" && (err != nil || cert.OK) ||
				c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// zeros is a tensor of a shape.
func zeros[V any](shape []int, _ []V) checkpoint.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return checkpoint.Tensor{Shape: shape, Data: make([]V, n)}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := golden.Open(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(unwrapped(err)) {
		t.Errorf("missing file: %v", err)
	}
	_, err := golden.Open(goldens + "gpt2/model.safetensors")
	if err == nil || !strings.Contains(err.Error(), "is a golden") &&
		!strings.Contains(err.Error(), "a golden?") {
		t.Errorf("weights as a golden: %v", err)
	}
}

func unwrapped(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

// largeScores copies golden qwen2 with scores of about 1,060, which hardly differ between sources:
// what testdata/record_large.py does. edit changes the tensors further; nil for nothing.
func largeScores(t *testing.T, edit func(name string, data []float32)) *models.Model {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile(goldens + "qwen2/config.json")
	must(t, err)
	text := strings.Replace(string(config), `"rope_theta": 10000.0`, `"rope_theta": 1000000.0`, 1)
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o666))
	f, err := checkpoint.Open(goldens + "qwen2/model.safetensors")
	must(t, err)
	defer f.Close()
	var all []checkpoint.Tensor
	for _, name := range f.Names() {
		shape, err := f.Shape(name)
		must(t, err)
		data, err := f.Float32(name)
		must(t, err)
		if name == "model.layers.0.self_attn.k_proj.bias" {
			data[3], data[11] = 1050, 1050
		}
		if edit != nil {
			edit(name, data)
		}
		all = append(all, checkpoint.Tensor{Name: name, Shape: shape, Data: data})
	}
	must(t, checkpoint.WriteFile(filepath.Join(dir, "model.safetensors"), all, nil))
	m, err := models.Open(dir, models.Options{Backend: "go"})
	must(t, err)
	return m
}

// TestLargeScores: attention of large scores is as precise as float32 can be, not as TapTolerance
// wants it, and the checks grant that to the layers that have them and to what follows. Float64 of
// transformers is the reference, of which its own float32 is off by 4e-5. Wrong numbers still fail.
func TestLargeScores(t *testing.T) {
	const path = "testdata/large.safetensors"
	scaled := func(wanted string, factor float32) func(string, []float32) {
		return func(name string, data []float32) {
			if name == wanted {
				for i := range data {
					data[i] *= factor
				}
			}
		}
	}
	for _, c := range []struct {
		name, wrong string // the check that fails, empty for none
		edit        func(string, []float32)
		changed     string // a tensor of the recording of which a number is off by 1e-3
	}{
		{"right", "", nil, ""},
		{"an attention off by 1e-3", "attention", nil, "attn.0"},
		{"a hidden state off by 1e-3", "hidden states", nil, "hidden.2"},
		{"a logit off by 1e-3 of the largest", "logits", nil, "logits"},
		{"the embedding off by 1e-3", "hidden states", nil, "hidden.0"},
		{"queries 1 % too large", "attention", scaled("model.layers.0.self_attn.q_proj.weight", 1.01), ""},
		{"keys of another sign", "attention", scaled("model.layers.0.self_attn.k_proj.weight", -1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := path
			if c.changed != "" {
				all := recordedIn(t, path)
				for _, a := range all {
					if a.Name == c.changed {
						data := a.Data.([]float32)
						data[3] += 1e-3 * max(1, largest(data))
					}
				}
				g = write(t, all)
			}
			recording, err := golden.Open(g)
			must(t, err)
			defer recording.Close()
			m := largeScores(t, c.edit)
			cert, err := Run(context.Background(), m, Options{Golden: recording})
			must(t, err)
			failed := cert.Failed()
			if c.wrong == "" {
				for _, k := range failed {
					t.Error(k)
				}
				if k := cert.Checks[0]; k.Worst < TapTolerance || k.Tolerance > 3e-4 {
					t.Errorf("%v: want an error that needs the larger tolerance, of 2.6e-4", k)
				}
				return
			}
			if !slices.ContainsFunc(failed, func(k Check) bool { return k.Name == c.wrong }) {
				t.Errorf("%v failed, want %s", failed, c.wrong)
			}
		})
	}
}

// TestWorst: the worst error is the one that takes the largest part of its tolerance, and without a
// tolerance the largest.
func TestWorst(t *testing.T) {
	at := func(where string) func() string { return func() string { return where } }
	c := compared("some", 2)
	c.number(3, at("a"))
	c.by(10).number(20, at("b"))
	if k := c.check; k.Worst != 3 || k.Where != "a" || k.Tolerance != 2 || k.Passed() {
		t.Errorf("%v, want 3 at a", k)
	}
	c.number(40, at("c"))
	if k := c.check; k.Worst != 40 || k.Where != "c" || k.Tolerance != 20 || k.Passed() {
		t.Errorf("%v, want 40 at c", k)
	}
	c = compared("none", 0)
	c.number(0, at("a"))
	c.number(.1, at("b"))
	if k := c.check; k.Worst != .1 || k.Where != "b" || k.Passed() {
		t.Errorf("%v, want 0.1 at b", k)
	}
}

// TestInfiniteScores: scores that are not finite make no error pass.
func TestInfiniteScores(t *testing.T) {
	r := &run{m: open(t, "llama")}
	arch := r.m.Spec()
	terms := trace.Tensor{Shape: []int{arch.Layers, arch.Heads, 3, 1, 1}}
	terms.Data = make([]float32, arch.Layers*arch.Heads*3)
	terms.Data[0], terms.Data[4] = float32(math.Inf(1)), float32(math.NaN())
	if got := r.scoreFactors(terms); slices.Max(got) != 1 {
		t.Errorf("factors %v, want 1", got)
	}
}

// largest returns the largest size of a number.
func largest(data []float32) float32 {
	most := float32(0)
	for _, x := range data {
		most = max(most, x, -x)
	}
	return most
}

// TestOrdinaryScores: the tolerances of goldens with ordinary scores are those that they are made
// with.
func TestOrdinaryScores(t *testing.T) {
	for _, name := range []string{"qwen2", "llama", "bloom", "gemma2", "gpt2", "bert"} {
		r := &run{ctx: t.Context(), m: open(t, name), ids: []int{5, 6, 7, 8, 9, 10, 11, 12}}
		sizes, err := r.sizes()
		if err != nil || slices.Max(sizes) != 1 {
			t.Errorf("%s: tolerances grow by %v, %v", name, sizes, err)
		}
	}
}

var must = testhelp.Must // ends a test at an error

// TestTwoStacksWithoutGolden: a source gets a target, so that all checks compare something, for a
// sentence that is longer than the context, for a text of the caller, and for ids of a model that
// has no tokenizer, whose source may have a vocabulary of its own.
func TestTwoStacksWithoutGolden(t *testing.T) {
	toy, err := models.Open("tiny-translation", models.Options{Backend: "go"})
	must(t, err)
	given, err := toy.Encode("the old queen slept .", trace.SpecialsAuto)
	must(t, err)
	for name, c := range map[string]struct {
		m   *models.Model
		ids []int
	}{
		"toy":      {toy, nil},
		"text":     {toy, trace.IDs(given)},
		"separate": {open(t, "marian_separate"), nil},
		"t5":       {open(t, "t5"), nil},
	} {
		r, err := Run(t.Context(), c.m, Options{IDs: c.ids})
		if err != nil || !r.OK {
			t.Errorf("%s: %v, %v", name, r, err)
			continue
		}
		compared := 0
		for _, k := range r.Checks {
			if k.Skipped == "" && k.Compared == 0 {
				t.Errorf("%s: %s compared nothing", name, k.Name)
			}
			compared += k.Compared
		}
		if compared < 1000 || c.ids != nil && r.Tokens != len(c.ids)+8 {
			t.Errorf("%s: %d numbers of %d tokens are compared", name, compared, r.Tokens)
		}
	}
}

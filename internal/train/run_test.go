package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/models/family"
)

// small is a configuration whose steps are fast.
func small() Config {
	cfg := Default()
	cfg.Batch, cfg.Steps, cfg.WarmUp = 1, 4, 2
	return cfg
}

// TestSteps trains for two steps. The first loss is near that of a uniform guess, equal seeds give
// equal losses, and a step changes every parameter.
func TestSteps(t *testing.T) {
	tok := vocabulary(t)
	train := func(seed uint64, steps int) (*Trainer, []float64) {
		cfg := small()
		cfg.Seed = seed
		trainer, err := NewTrainer(goBackend(t), cfg, tok)
		must(t, err)
		var losses []float64
		for range steps {
			loss, err := trainer.Step(t.Context())
			must(t, err)
			losses = append(losses, loss)
		}
		return trainer, losses
	}
	trained, first := train(1, 2)
	// Random logits are no better than a uniform guess, and of this size not much worse.
	uniform := math.Log(float64(tok.VocabSize()))
	if first[0] < uniform-0.3 || first[0] > uniform+1 {
		t.Errorf("the first loss is %v nats, a uniform guess has %v", first[0], uniform)
	}
	_, again := train(1, 1)
	if math.Abs(again[0]-first[0]) > 1e-4 { // the backend may add in another order
		t.Errorf("first losses %v and %v with the same seed", first[0], again[0])
	}
	untrained, _ := train(1, 0)
	other, _ := train(2, 0)
	for _, p := range trained.spec.Params() {
		after, err := trained.Weights(p)
		must(t, err)
		before, err := untrained.Weights(p)
		must(t, err)
		if slices.Equal(before, after) {
			t.Errorf("%s is the same after two steps", p.Name)
		}
		drawn, err := other.Weights(p)
		must(t, err)
		if matrix := len(p.Shape) == 2; slices.Equal(before, drawn) == matrix {
			t.Errorf("%s: are two seeds the same? %v", p.Name, !matrix)
		}
	}
}

func TestStepStops(t *testing.T) {
	trainer, err := NewTrainer(goBackend(t), small(), vocabulary(t))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = trainer.Step(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "before step 0") {
		t.Errorf("after the context has ended: error %v", err)
	}
}

// TestWrite writes the first weights, which are random, and reads the directory as a user's program
// does: the spec and the weights are the same.
func TestWrite(t *testing.T) {
	tok := vocabulary(t)
	trainer, err := NewTrainer(goBackend(t), small(), tok)
	must(t, err)
	weights := map[string][]float32{}
	for _, p := range trainer.spec.Params() {
		data, err := trainer.Weights(p)
		must(t, err)
		for i, x := range data {
			data[i] = checkpoint.NewFloat16(x).Float32()
		}
		weights[p.Name] = data
	}
	path := filepath.Join(t.TempDir(), "new", "folder")
	report := &Report{Backend: "go", Config: small(), Vocabulary: tok.VocabSize()}
	must(t, write(path, trainer.recipe, trainer.spec, tok, weights, report))

	dir, err := checkpoint.OpenDir(path)
	must(t, err)
	defer dir.Close()
	f, spec, err := family.Read(family.NewConfig("config.json", dir.Config))
	must(t, err)
	if diff := cmp.Diff(trainer.spec, spec); diff != "" {
		t.Errorf("spec (-written +read):\n%s", diff)
	}
	load, err := f.Loader(path, dir.Weights, spec)
	must(t, err)
	for _, p := range spec.Params() {
		got := make([]float32, p.Size())
		put := func(first int, values []float32) { copy(got[first:], values) }
		must(t, load(p, put))
		if !slices.Equal(got, weights[p.Name]) {
			t.Errorf("%s is not what was written", p.Name)
		}
	}
	if eos, err := dir.EOS(); err != nil || !slices.Equal(eos, spec.EOS) {
		t.Errorf("EOS() = %v, error %v, want %v", eos, err, spec.EOS)
	}
	if b, err := dir.TokenizerJSON(); err != nil || !bytes.Contains(b, []byte(eosToken)) {
		t.Errorf("tokenizer.json has %d bytes, error %v", len(b), err)
	}
	checkReport(t, path, report)
}

// checkReport reads report.json back. Its hash is that of the weights in the directory.
func checkReport(t *testing.T, path string, want *Report) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path, "report.json"))
	must(t, err)
	var got Report
	must(t, json.Unmarshal(data, &got))
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("report (-written +read):\n%s", diff)
	}
	model, err := os.ReadFile(filepath.Join(path, "model.safetensors"))
	must(t, err)
	if sum := sha256.Sum256(model); got.WeightHash != hex.EncodeToString(sum[:]) {
		t.Errorf("the hash in the report is %s, that of the file %x", got.WeightHash, sum)
	}
}

func TestWriteRefuses(t *testing.T) {
	tok := vocabulary(t)
	spec := newSpec(tok)
	recipe, err := recipeOf(Default())
	must(t, err)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := write(file, recipe, spec, tok, nil, &Report{}); err == nil ||
		!strings.Contains(err.Error(), "train: ") {
		t.Errorf("a file in the place of the directory: error %v", err)
	}
	if err := write(t.TempDir(), recipe, spec, tok, nil, &Report{}); err == nil {
		t.Error("weights that are missing are written")
	}
	weights := map[string][]float32{}
	for _, p := range spec.Params() {
		weights[p.Name] = make([]float32, p.Size())
	}
	for _, p := range spec.Params() {
		data := weights[p.Name]
		weights[p.Name] = data[1:]
		_, err := tensorsOf(spec, weights)
		if err == nil || !strings.Contains(err.Error(), p.Name) {
			t.Errorf("%s with a number too few: error %v", p.Name, err)
		}
		weights[p.Name] = data
	}
	weights["new"] = nil
	if _, err := tensorsOf(spec, weights); err == nil {
		t.Error("weights of a parameter that the graph does not have are ignored")
	}
}

// TestEmbeddedConfig: the settings beside the weights of the embedded model are those that the
// trainer writes, so that training again gives the same directory.
func TestEmbeddedConfig(t *testing.T) {
	dir, err := checkpoint.FromFS(tiny.Files(), tiny.Name)
	must(t, err)
	defer dir.Close()
	spec := newSpec(vocabulary(t))
	if got, want := string(dir.ConfigJSON), string(encodeJSON(config(spec))); got != want {
		t.Errorf("config.json is\n%s\nand the trainer writes\n%s", got, want)
	}
	var embedded bytes.Buffer
	if _, err := vocabulary(t).WriteTo(&embedded); err != nil {
		t.Fatal(err)
	}
	if b, err := dir.TokenizerJSON(); err != nil || !bytes.Equal(b, embedded.Bytes()) {
		t.Errorf("tokenizer.json differs from what the trainer writes, error %v", err)
	}
	if eos := fmt.Sprint(dir.Generation["eos_token_id"]); eos != fmt.Sprint(spec.EOS[0]) {
		t.Errorf("generation_config.json ends texts with %s, want %d", eos, spec.EOS[0])
	}
}

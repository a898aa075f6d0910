// Package realmodels compares published models with the recordings of the reference implementation,
// in pure Go and on XLA with the settings that users have.
package realmodels

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

var (
	must    = testhelp.Must
	compare = fixture.Near
)

const (
	// smollm2Dir is where make smollm2 puts the model, and gemma3Dir where
	// internal/bench/peers/gemma3.sh does. Nothing of Gemma is in the repository, and nothing
	// fetches it by itself, because terms of use apply to it.
	smollm2Dir      = "../../../.cache/models/smollm2"
	gemma3Dir       = "../../../.cache/gemma3"
	smollm2Recorded = "../../../models/testdata/smollm2"
	tokenizerTexts  = "../../../internal/tokenizer/testdata/ref.json.gz"

	// everyLogit is the distance between tokens whose logits are recorded.
	everyLogit = 1024

	// realTol is how far logits and attention may be from the recording, as a part of the largest
	// logit of the text and of the largest attention, which is 1. Both sides compute in float32;
	// the recording is 2e-6 from sums in float64. Worst seen: 4e-6 in logits, 2.4e-6 in attention.
	realTol = 1e-5
)

// recordedText is a text and what the reference computes on it, next to the tensors of
// reference.safetensors.
type recordedText struct {
	Text         string
	IDs          []int
	Greedy       []int // the ids of the likeliest tokens after the text
	Continuation string
}

// TestSmolLM2 runs a real language model out of a quantised GGUF file, SmolLM2-135M-Instruct. Its
// tokens are those of the published tokenizer, and its logits, attention and greedy text are those
// of transformers with the same dequantised weights.
func TestSmolLM2(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a model of 538 MB")
	}
	checkReal(t, filepath.Join(smollm2Dir, "SmolLM2-135M-Instruct.Q4_1.gguf"), smollm2Recorded)
}

// TestGemma3 is [TestSmolLM2] for Gemma 3 270M in Q4_K_M: K-quants, SentencePiece, windows, norms
// after the attention.
func TestGemma3(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a model of 1.1 GB")
	}
	checkReal(t, filepath.Join(gemma3Dir, "gemma-3-270m-q4_k_m.gguf"),
		filepath.Join(gemma3Dir, "recorded"))
}

// checkReal opens a model and compares it with what the reference recorded in a folder.
func checkReal(t *testing.T, path, recorded string) {
	t.Helper()
	for _, needed := range []string{path, filepath.Join(recorded, "texts.json")} {
		if _, err := os.Stat(needed); err != nil {
			t.Skipf("%v; see models/testdata/smollm2/README.md", err)
		}
	}
	var recording struct {
		SHA256 string
		Texts  []recordedText
	}
	readJSON(t, filepath.Join(recorded, "texts.json"), &recording)
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	must(t, err)
	if got := hex.EncodeToString(sum.Sum(nil)); got != recording.SHA256 {
		t.Fatalf("recorded with the file with SHA-256 %s, and this is %s: fetch the model or run "+
			"models/testdata/smollm2/record.py again", recording.SHA256, got)
	}
	f, err := checkpoint.Open(filepath.Join(recorded, "reference.safetensors"))
	must(t, err)
	defer f.Close()
	for _, backend := range []string{"go", "xla"} {
		t.Run(backend, func(t *testing.T) {
			m := fixture.Open(t, path, backend)
			if backend == "go" {
				checkTokens(t, m, filepath.Join(recorded, "ids.json"))
			}
			for i, text := range recording.Texts {
				checkRecorded(t, m, f, i, text)
			}
		})
	}
}

// checkTokens compares the ids of the recorded texts of the tokenizer tests with those of a file.
func checkTokens(t *testing.T, m *models.Model, file string) {
	t.Helper()
	var texts []struct{ Text string }
	readJSON(t, tokenizerTexts, &texts)
	var want [][]int
	readJSON(t, file, &want)
	if len(texts) != 319 || len(want) != len(texts) {
		t.Fatalf("%d texts and %d recorded rows of ids, want 319 of both", len(texts), len(want))
	}
	for i, text := range texts {
		if len(want[i]) == 0 { // the empty text, which no model reads
			if got, err := m.Encode(text.Text, trace.SpecialsAuto); err == nil {
				t.Errorf("tokens of %q: %v, want an error", text.Text, got)
			}
			continue
		}
		if got := encoded(t, m, text.Text); !slices.Equal(got, want[i]) {
			t.Errorf("ids of %q: %v, want %v", text.Text, got, want[i])
		}
	}
}

// checkRecorded compares text i: its tokens, the logits of part of the vocabulary, the largest
// logit of every target, the attention, and the greedy text.
func checkRecorded(t *testing.T, m *models.Model, f *checkpoint.File, i int, want recordedText) {
	t.Helper()
	tensor := func(name string) []float32 {
		data, err := f.Float32(fmt.Sprintf("%d.%s", i, name))
		must(t, err)
		return data
	}
	if got := encoded(t, m, want.Text); !slices.Equal(got, want.IDs) {
		t.Fatalf("ids of %q: %v, want %v", want.Text, got, want.IDs)
	}
	ts, err := m.Trace(t.Context(), want.IDs, []trace.Tap{trace.Logits, trace.Attention})
	must(t, err)

	var some, largest []float32
	for row := range slices.Chunk(ts[0].Data, ts[0].Shape[1]) {
		for token := 0; token < len(row); token += everyLogit {
			some = append(some, row[token])
		}
		largest = append(largest, slices.Max(row))
	}
	tol := realTol * float64(tensor("scale")[0])
	compare(t, fmt.Sprintf("text %d: logits", i), some, tensor("logits"), tol)
	compare(t, fmt.Sprintf("text %d: largest logits", i), largest, tensor("largest"), tol)

	attention := ts[1]
	compare(t, fmt.Sprintf("text %d: attention of the last target", i), lastRows(attention),
		tensor("attention"), realTol)
	if i == 0 {
		layers := attention.Shape[0]
		layer := len(attention.Data) / layers
		for _, l := range []int{0, layers/2 - 1, layers - 1} {
			name := fmt.Sprintf("attention.%d", l)
			compare(t, "text 0: "+name, attention.Data[l*layer:][:layer], tensor(name), realTol)
		}
	}

	var greedy []int
	var continuation strings.Builder
	for step, err := range m.Steps(t.Context(), want.IDs, trace.Ask{MaxTokens: len(want.Greedy)}) {
		must(t, err)
		greedy = append(greedy, step.Next.Token.ID)
		continuation.WriteString(step.Next.Token.Text)
	}
	if !slices.Equal(greedy, want.Greedy) || continuation.String() != want.Continuation {
		t.Errorf("text %d goes on with %q, ids %v; want %q, ids %v", i, continuation.String(),
			greedy, want.Continuation, want.Greedy)
	}
}

// encoded returns the ids of a text.
func encoded(t *testing.T, m *models.Model, text string) (ids []int) {
	t.Helper()
	tokens, err := m.Encode(text, trace.SpecialsAuto)
	must(t, err)
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	return ids
}

// lastRows returns the row of the last target of attention [L,H,T,S] in every layer and head.
func lastRows(a trace.Tensor) (rows []float32) {
	targets, sources := a.Shape[2], a.Shape[3]
	for head := range slices.Chunk(a.Data, targets*sources) {
		rows = append(rows, head[(targets-1)*sources:]...)
	}
	return rows
}

// readJSON reads a file, compressed if its name ends with .gz.
func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	var r io.Reader = file
	if filepath.Ext(path) == ".gz" {
		if r, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

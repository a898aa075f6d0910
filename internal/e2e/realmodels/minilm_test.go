package realmodels

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

const (
	minilm         = "../../../.cache/minilm" // put there by internal/bench/peers/minilm.sh
	minilmRecorded = "../../../models/testdata/minilm/"
	minilmTol      = 1e-5 // worst seen 2e-6
)

// minilmSentence is a sentence and what the reference's tokenizer makes of it.
type minilmSentence struct {
	Text string
	IDs  []int
}

// TestMiniLM runs a real encoder, all-MiniLM-L6-v2: its tokens, hidden states, attention and
// sentence embeddings are those of transformers, for sentences one by one and in one padded batch.
func TestMiniLM(t *testing.T) {
	if _, err := os.Stat(filepath.Join(minilm, "model.safetensors")); err != nil {
		t.Skip("the checkpoint is not there; internal/bench/peers/minilm.sh downloads it: ", err)
	}
	text, err := os.ReadFile(minilmRecorded + "sentences.json")
	must(t, err)
	var sentences []minilmSentence
	must(t, json.Unmarshal(text, &sentences))
	f, err := checkpoint.Open(minilmRecorded + "reference.safetensors")
	must(t, err)
	defer f.Close()
	for _, backend := range []string{"go", "xla"} {
		t.Run(backend, func(t *testing.T) {
			m := fixture.Open(t, minilm, backend)
			taps := []trace.Tap{trace.Attention, trace.Final}
			var batch transformer.Batch
			for i, s := range sentences {
				checkMiniLMTokens(t, m, s)
				batch.IDs = append(batch.IDs, s.IDs)
				ts, err := m.Trace(context.Background(), s.IDs, taps)
				must(t, err)
				checkMiniLM(t, f, fmt.Sprint(i), ts)
			}
			texts, err := m.Forward(context.Background(), batch, taps)
			must(t, err)
			for i, ts := range texts {
				checkMiniLM(t, f, fmt.Sprint(i), ts)
			}
		})
	}
}

func checkMiniLMTokens(t *testing.T, m *models.Model, s minilmSentence) {
	t.Helper()
	tokens, err := m.Encode(s.Text, trace.SpecialsAuto)
	must(t, err)
	var ids []int
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	if d := cmp.Diff(s.IDs, ids); d != "" {
		t.Errorf("ids of %q (-want +got):\n%s", s.Text, d)
	}
}

// checkMiniLM compares one sentence.
func checkMiniLM(t *testing.T, f *checkpoint.File, i string, ts []trace.Tensor) {
	t.Helper()
	want := func(name string) []float32 {
		data, err := f.Float32(name)
		must(t, err)
		return data
	}
	compare(t, i+": hidden", ts[1].Data, want(i+".hidden"), minilmTol)
	compare(t, i+": embedding", meanRows(ts[1].Data, ts[1].Shape[1]), want(i+".embedding"),
		minilmTol)
	if f.Has(i + ".attention") {
		compare(t, i+": attention", ts[0].Data, want(i+".attention"), minilmTol)
		return
	}
	compare(t, i+": mean attention", meanHeads(ts[0]), want(i+".attention-mean"), minilmTol)
}

// meanRows returns the mean of the rows of a matrix.
func meanRows(data []float32, width int) []float32 {
	sum := make([]float64, width)
	for i, x := range data {
		sum[i%width] += float64(x)
	}
	out := make([]float32, width)
	for i := range out {
		out[i] = float32(sum[i] * float64(width) / float64(len(data)))
	}
	return out
}

// meanHeads returns the mean over the second axis of [L,H,T,S].
func meanHeads(a trace.Tensor) []float32 {
	l, h, n := a.Shape[0], a.Shape[1], a.Shape[2]*a.Shape[3]
	out := make([]float32, l*n)
	for i := range l {
		for k := range n {
			sum := 0.0
			for j := range h {
				sum += float64(a.Data[(i*h+j)*n+k])
			}
			out[i*n+k] = float32(sum / float64(h))
		}
	}
	return out
}

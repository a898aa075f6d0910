package methods

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

// ofInseq is what Inseq says of one model; see inseq/record.py of the test data of models.
type ofInseq struct {
	Attention struct {
		Encoder, Cross, Decoder [][][][]float64 // [blocks,heads,targets,sources]
	}
	ValueZeroing struct {
		Encoder, Cross [][][]float64 // [blocks,targets,sources]
	} `json:"value_zeroing"`
	// Rows are by target: the source, and the target before it.
	Saliency            [][]float64
	InputXGradient      [][]float64 `json:"input_x_gradient"`
	IntegratedGradients [][]float64 `json:"integrated_gradients"`
	Occlusion           [][]float64
}

// standingIn is a model with a token that replaces others as Inseq does: as an unknown one, which
// the recording has where M2M100 has its padding.
type standingIn struct {
	asked
	id int
}

func (m standingIn) Replacement(kind string) (int, bool) {
	return m.id, kind == "unknown" || kind == "pad"
}

// TestInseqOfTwoStacks: methods that are defined as those of Inseq give its numbers on models of
// two stacks. docs/measured/inseq.md lists those that are not.
func TestInseqOfTwoStacks(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "models", "testdata")
	text, err := os.ReadFile(filepath.Join(folder, "inseq", "inseq.json"))
	must(t, err)
	var recorded struct {
		Source, Target []int
		Unknown        int
		Models         map[string]ofInseq
	}
	must(t, json.Unmarshal(text, &recorded))
	if len(recorded.Models) != 7 {
		t.Fatalf("%d models are recorded", len(recorded.Models))
	}
	for name, want := range recorded.Models {
		t.Run(name, func(t *testing.T) {
			m := standingIn{asked{
				fixture.Open(t, filepath.Join(folder, "goldens", name), "go"), new([]trace.Query),
			}, recorded.Unknown}
			ids := slices.Concat(recorded.Source, []int{m.Info().Boundary()}, recorded.Target)
			checkInseqMaps(t, m, want, ids[:len(ids)-1], len(recorded.Source))
			scale := 1.0 // gradients are by embeddings before they are scaled, Inseq's after it
			if slices.Contains([]string{"bart", "m2m_100", "marian"}, name) {
				scale = math.Sqrt(float64(m.Info().Width))
			}
			for i, token := range recorded.Target {
				q := trace.Query{IDs: ids[:len(recorded.Source)+1+i]}
				q.Position, q.Token = len(q.IDs)-1, token
				opts := scorer.Options{Quantity: trace.Probability}
				alikeInSize(t, "saliency", scored(t, "gradient", m, q, opts).Values,
					want.Saliency[i], scale)
				alikeInSize(t, "input x gradient",
					scored(t, "gradient-x-input", m, q, opts).Values, want.InputXGradient[i], 1)
				opts.Replacement, opts.Steps = "unknown", 1024
				alike(t, "integrated gradients",
					scored(t, "integrated-gradients", m, q, opts).Values,
					want.IntegratedGradients[i])
				occlusion := scored(t, "occlusion", m, q, opts).Values
				for j := range occlusion {
					occlusion[j] = math.Abs(occlusion[j])
				}
				alikeInSize(t, "occlusion", occlusion, want.Occlusion[i], 1)
			}
		})
	}
}

// checkInseqMaps compares attention and Value Zeroing of a text whose first tokens are the source.
func checkInseqMaps(t *testing.T, m standingIn, want ofInseq, ids []int, source int) {
	t.Helper()
	taps, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Attention})
	must(t, err)
	first, H, T := m.Info().EncoderLayers, m.Info().Heads, len(ids)
	attention := func(what string, heads [][][]float64, layer, target, from int) {
		for h, rows := range heads {
			for i, row := range rows {
				got := make([]float64, len(row))
				for j := range row {
					got[j] = float64(taps[0].Data[((layer*H+h)*T+target+i)*T+from+j])
				}
				alike(t, fmt.Sprintf("%s attention of head %d, target %d, layer %d", what, h, i,
					layer), got, row)
			}
		}
	}
	for b, heads := range want.Attention.Encoder {
		attention("encoder", heads, b, 0, 0)
	}
	for b := range want.Attention.Decoder {
		attention("decoder", want.Attention.Decoder[b], first+2*b, source, source)
		attention("cross", want.Attention.Cross[b], first+2*b+1, source, 0)
	}
	layers := m.rowsOf(t, "value-zeroing-final-norm", ids)
	zeroing := func(rows [][]float64, layer, target int) {
		for i, row := range rows {
			alike(t, fmt.Sprintf("value zeroing of target %d, layer %d", i, layer),
				layers[layer][target+i][:source], row)
		}
	}
	for b, rows := range want.ValueZeroing.Encoder {
		zeroing(rows, b, 0)
	}
	for b, rows := range want.ValueZeroing.Cross {
		zeroing(rows, first+2*b+1, source)
	}
}

// alikeInSize compares numbers that may all be small, relative to the largest that is wanted, times
// which got is.
func alikeInSize(t *testing.T, what string, got, want []float64, times float64) {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	sized := func(values []float64, by float64) (all []float64) {
		for _, x := range values {
			all = append(all, x/by)
		}
		return all
	}
	alike(t, what, sized(got, times*largest), sized(want, largest))
}

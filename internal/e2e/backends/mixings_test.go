package backends

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/transformer"
)

// TestMixingsOnBackends compares rows in pure Go with those in XLA, for a prompt and for the step
// after it. The models have norms before the attention, norms after it, and a block parallel to it
// with one key for all heads. One of them is asked for each head by itself.
func TestMixingsOnBackends(t *testing.T) {
	together := mixings("alti", "globenc", "norms", "value-zeroing-euclidean-final-norm")
	apart := mixings("norms-residual", "value-zeroing")
	for i := range apart {
		apart[i].Heads.Fusion = trace.EachHead
	}
	for _, c := range []struct {
		golden string
		asks   []trace.MixingAsk
	}{{"gpt2", append(apart, together...)}, {"opt_350", together}, {"falcon7", together}} {
		t.Run(c.golden, func(t *testing.T) {
			dir := goldens + c.golden
			mixingsAgree(t, fixture.Open(t, dir, "xla"), fixture.Open(t, dir, "go"), c.asks)
		})
	}
}

// mixings ask for mixings by name, of every target.
func mixings(names ...string) (asks []trace.MixingAsk) {
	for _, name := range names {
		asks = append(asks, trace.MixingAsk{Name: name, AllRows: true})
	}
	return asks
}

// mixingsAgree compares rows of a text of nine tokens.
func mixingsAgree(t *testing.T, xla, plain *models.Model, asks []trace.MixingAsk) {
	t.Helper()
	mixingsOfText(t, xla, plain, []int{5, 17, 33, 8, 90, 41, 6, 77, 23}, asks)
}

// longMixingsAgree compares rows of a text that is long enough for Value Zeroing to compute once
// what each source adds.
func longMixingsAgree(t *testing.T, xla, plain *models.Model, asks []trace.MixingAsk) {
	t.Helper()
	text := make([]int, 48)
	for i := range text {
		text[i] = (5 + 17*i) % plain.Info().Vocab
	}
	mixingsOfText(t, xla, plain, text, asks)
}

func mixingsOfText(
	t *testing.T, xla, plain *models.Model, text []int, asks []trace.MixingAsk,
) {
	t.Helper()
	ask := trace.Ask{Mixings: asks, Continuation: []int{7, 40}}
	want := collect(t, plain, text, ask)
	for i, step := range collect(t, xla, text, ask) {
		for k, rows := range step.Rows {
			data := want[i].Rows[k].Data
			where := fmt.Sprintf("step %d %s/%s", i, asks[k].Name, asks[k].Heads)
			compare(t, where, rows.Data, data, scaled(data))
		}
	}
}

// TestLongTexts: rows of Value Zeroing for a longer text, of a model with biases, of one that is
// gated and of one with experts.
func TestLongTexts(t *testing.T) {
	for _, golden := range []string{"gpt2", "llama", "mixtral"} {
		t.Run(golden, func(t *testing.T) {
			dir := goldens + golden
			longMixingsAgree(t, fixture.Open(t, dir, "xla"), fixture.Open(t, dir, "go"),
				mixings("value-zeroing", "value-zeroing-euclidean-final-norm"))
		})
	}
}

// TestMixingsAreKnown: what attribution knows of mixings and what models compute are the same.
func TestMixingsAreKnown(t *testing.T) {
	if diff := cmp.Diff(transformer.MixingNames(), attribution.MixingNames()); diff != "" {
		t.Errorf("mixings (-computed +known):\n%s", diff)
	}
}

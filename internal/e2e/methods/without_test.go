package methods

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/internal/study/without"
	"github.com/headwater-ml/headwater/models"
)

// TestWithoutPlanted: words before the evidence of a circuit change nothing, and the evidence does.
func TestWithoutPlanted(t *testing.T) {
	m, err := models.Open("planted-offset", models.Options{})
	must(t, err)
	circuit, err := planted.Lookup("planted-offset")
	must(t, err)
	for _, text := range circuit.Texts(5, 1) {
		prompt, at := text.Prompt(), text.Evidence[0]
		before := len(strings.Join(text.Words[:at], " "))
		end := len(strings.Join(text.Words[:at+1], " "))
		for _, c := range []struct {
			part  string
			moves bool
		}{
			{fmt.Sprintf("0:%d", before), false}, {fmt.Sprintf("%d:%d", before, end), text.Words[at-1] != text.Words[at]},
		} {
			e, err := attribution.Explain(context.Background(), m, prompt, attribution.Options{
				Methods: []string{"raw"}, MaxTokens: 1, Studies: attribution.Studies{"without": c.part},
			})
			must(t, err)
			s := without.OfToken(e.Steps[0])
			if (s.KL > 0.1) != c.moves || s.Sensitive != c.moves || !c.moves && s.KL != 0 {
				t.Errorf("%q without %s: KL %v, sensitive %v", prompt, c.part, s.KL, s.Sensitive)
			}
		}
	}
}

// TestWithoutOfTwoStacks: a source without a part of it, and the same target, are read as one pass
// over both reads them.
func TestWithoutOfTwoStacks(t *testing.T) {
	for _, name := range []string{"t5", "bart", "marian"} {
		goldens := filepath.Join("..", "..", "..", "models", "testdata", "goldens")
		m := fixture.Open(t, filepath.Join(goldens, name), "go")
		e, err := attribution.Explain(t.Context(), counted{m}, "abcde", attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 3, Studies: attribution.Studies{"without": "0:1"},
		})
		must(t, err)
		whole := e.TokenIDs()
		rest, err := counted{m}.Encode("bcde", trace.SpecialsAuto)
		must(t, err)
		apart := slices.Concat(trace.IDs(rest), whole[5:])
		for i, g := range e.Steps {
			p, q := predicted(t, m, whole[:5+i]), predicted(t, m, apart[:4+i])
			if want := rowmath.Divergence(p, q); math.Abs(without.OfToken(g).KL-want) > 1e-5 {
				t.Errorf("%s, token %d: KL %v, want %v", name, i, without.OfToken(g).KL, want)
			}
		}
	}
}

// predicted returns the logits after the last token of a text.
func predicted(t *testing.T, m *models.Model, ids []int) []float32 {
	t.Helper()
	taps, err := m.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	return taps[0].Data[len(taps[0].Data)-m.Info().Vocab:]
}

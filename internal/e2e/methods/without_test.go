package methods

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/planted"
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
				Methods: []string{"raw"}, MaxTokens: 1, Without: c.part,
			})
			must(t, err)
			s := e.Steps[0].Scores
			if (*s.KL > 0.1) != c.moves || s.Sensitive != c.moves || !c.moves && *s.KL != 0 {
				t.Errorf("%q without %s: KL %v, sensitive %v", prompt, c.part, *s.KL, s.Sensitive)
			}
		}
	}
}

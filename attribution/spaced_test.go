package attribution_test

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/models"
)

// TestSpacedTexts: a contrast or a continuation without the space that the model goes on with is
// taken as it is, and told with the probabilities of both; others are not.
func TestSpacedTexts(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	const prompt = "the keys to the cabinet"
	for _, c := range []struct {
		prompt string
		opts   attribution.Options
		want   string // how a warning begins, "" for none
	}{
		{prompt, attribution.Options{Contrast: " is"}, ""},
		{prompt + " ", attribution.Options{Contrast: "is"}, ""},
		{prompt, attribution.Options{Continuation: " are"}, ""},
		{prompt, attribution.Options{Contrast: "is"}, `Explained against "is" without a space (p = `},
		{
			prompt, attribution.Options{Continuation: "is"},
			`The continuation begins with "is" without a space (p = `,
		},
	} {
		opts := c.opts
		opts.Methods = []string{"direct"}
		if opts.Continuation == "" {
			opts.MaxTokens = 1
		}
		e, err := attribution.Explain(context.Background(), m, c.prompt, opts)
		must(t, err)
		told := slices.IndexFunc(e.Warnings, func(w string) bool {
			return strings.Contains(w, "without a space")
		})
		if (told >= 0) != (c.want != "") ||
			told >= 0 && !strings.HasPrefix(e.Warnings[told], c.want) {
			t.Errorf("%q with %+v: warnings %q, want %q", c.prompt, c.opts, e.Warnings, c.want)
		}
		if told < 0 {
			continue
		}
		// Both probabilities are those of a pass over the prompt.
		p := fakemodel.Distributions(t, m, e.Prompt.IDs)[len(e.Prompt.IDs)-1]
		numbers := regexp.MustCompile(`p = ([0-9.]+) %`).FindAllStringSubmatch(e.Warnings[told], -1)
		for i, text := range []string{"is", " is"} {
			tokens, err := m.Encode(text, trace.SpecialsFollow)
			must(t, err)
			got, err := strconv.ParseFloat(numbers[i][1], 64)
			must(t, err)
			if want := 100 * p[tokens[0].ID]; math.Abs(got-want) > .05*want {
				t.Errorf("%q: p of %q is %v %%, want %v", e.Warnings[told], text, got, want)
			}
		}
	}
}

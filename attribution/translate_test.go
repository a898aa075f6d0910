package attribution_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// translator is a model with languages that are words, with which its texts begin.
type translator struct {
	*attributiontest.Model
	language string
}

func (m translator) Info() trace.Info {
	info := m.Model.Info()
	info.EncoderLayers = 1
	return info
}

func (m translator) Between(from, to string) (trace.Model, error) {
	if from != "" {
		return nil, trace.Usagef("no language %s", from)
	}
	m.language = to
	return m, nil
}

func (m translator) Encode(text string, s trace.Specials) ([]trace.Token, error) {
	return m.Model.Encode(m.language+" "+text, s)
}

// TestLanguages: a text is encoded by the model for its languages, alone and among others. Other
// models take no languages.
func TestLanguages(t *testing.T) {
	explain := func(m trace.Model, o attribution.Options) []attribution.Explained {
		o.Methods, o.MaxTokens = []string{"raw"}, 1
		e, err := attribution.Explain(t.Context(), m, "w5 w6", o)
		both := []attribution.Explained{{Explanation: e, Err: err}}
		texts := slices.Values([]attribution.Text{{Prompt: "w5 w6"}})
		for e := range attribution.ExplainAll(t.Context(), m, texts, o, attribution.Batching{}) {
			both = append(both, e)
		}
		if len(both) != 2 {
			t.Fatalf("%d explanations, want 2", len(both))
		}
		return both
	}
	plain := attributiontest.NewModel(5)
	for _, e := range explain(translator{plain, "w1"}, attribution.Options{To: "w2"}) {
		if e.Err != nil || !slices.Equal(e.Explanation.Prompt.IDs, []int{2, 5, 6}) {
			t.Errorf("%v, %v", e.Explanation, e.Err)
		}
	}
	for _, m := range []trace.Model{translator{plain, "w1"}, plain} {
		for _, e := range explain(m, attribution.Options{From: "w2"}) {
			if !errors.Is(e.Err, trace.ErrUsage) {
				t.Errorf("%T: error %v", m, e.Err)
			}
		}
	}
}

// TestContextOfTwoStacks: a source may fill the context, and what is refused names what fits.
func TestContextOfTwoStacks(t *testing.T) {
	m, err := models.Open("tiny-translation", models.Options{}) // of 28 tokens
	must(t, err)
	for _, c := range []struct {
		words, tokens int
		want          string
	}{
		{26, 1, ""}, {1, 27, ""}, // the source has two control tokens more
		{27, 1, "the source has 29 tokens, and the context of \"tiny-translation\" is 28 tokens; " +
			"shorten the source by 1 or more"},
		{1, 28, "28 tokens to explain, but the context of \"tiny-translation\" has room for 27 in " +
			"the target; take fewer"},
	} {
		_, err := attribution.Explain(t.Context(), m, strings.Repeat("the ", c.words),
			attribution.Options{Methods: []string{"raw"}, MaxTokens: c.tokens})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d words and %d tokens: %v, want %q", c.words, c.tokens, err, c.want)
		}
	}
}

// TestOneBeam: one beam searches for nothing, so tokens may be drawn.
func TestOneBeam(t *testing.T) {
	for beams, refused := range []bool{false, false, true} {
		o := attribution.Options{Sampling: trace.Sampling{Beams: beams, Temperature: .5}}
		if err := o.Check(); (err != nil) != refused {
			t.Errorf("%d beams and a temperature: %v", beams, err)
		}
	}
}

package attribution_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/trace"
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

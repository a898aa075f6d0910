package corpus_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
)

// decoder is a model that has facts and nothing else.
type decoder struct{ trace.Model }

// Info implements [trace.Model].
func (decoder) Info() trace.Info {
	return trace.Info{Name: "fake", Head: trace.NextToken, Layers: 1, Heads: 1, Width: 4, Vocab: 8}
}

// Whatever a record has reaches the model: this one continues a single text and knows no form of
// conversation, so it must refuse a pair, messages and tools.
func TestTogetherPassesRecords(t *testing.T) {
	question := []trace.Message{{Role: "user", Content: "q"}}
	for want, record := range map[string]corpus.Record{
		"it reads one text":             {Prompt: "a", Pair: "b"},
		"knows no form of conversation": {Messages: question},
		"no form of conversation":       {Prompt: "a", Tools: json.RawMessage("[]")},
	} {
		explainer := corpus.Together{
			Model:   decoder{},
			Options: attribution.Options{Methods: []string{"rollout"}, MaxTokens: 1},
		}
		records := []corpus.Record{record}
		err := explainer.Explain(t.Context(), records, func(_ int, r corpus.Result) {
			if !strings.Contains(r.Err, want) {
				t.Errorf("%+v: error %q, want %q", record, r.Err, want)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	opts := corpus.OptionsOf(attribution.Options{Pair: "of all"}, corpus.Record{Prompt: "a"})
	if opts.Pair != "of all" {
		t.Errorf("a record without a pair has %q, want that of the options", opts.Pair)
	}
}

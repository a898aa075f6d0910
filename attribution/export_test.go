package attribution

import (
	"testing"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/registry"
)

// RegisterAggregationForTest registers an aggregation and returns what removes it again.
func RegisterAggregationForTest(name string, a aggregation.Aggregation) func() {
	aggregation.Register(name, a)
	return func() { registry.Remove("aggregation", name) }
}

// RegisterForTest registers a method and returns what removes it again.
func RegisterForTest(m Method) func() {
	RegisterMethod(m)
	return func() { methods.Remove(m.Name) }
}

// RegisterScorerForTest registers a scorer with its method and returns what removes them again.
func RegisterScorerForTest(name string, s scorer.Scorer) func() {
	scorer.Register(name, s)
	return func() { registry.Remove("scorer", name) }
}

// SetLongText sets, until the test ends, the number of tokens up to which rows are always stored.
func SetLongText(t testing.TB, tokens int) {
	old := longText
	longText = tokens
	t.Cleanup(func() { longText = old })
}

// SetExactFlow sets, until the test ends, the number of tokens up to which flow is exact.
func SetExactFlow(t testing.TB, tokens int) {
	old := exactFlow
	exactFlow = tokens
	t.Cleanup(func() { exactFlow = old })
}

// Text returns the value of the option as [Option.Set] reads it.
func (r Option) Text(o *Options) string { return r.value.write(o) }

// ControlTokens are the remarks on control tokens in messages.
func (p *Prompt) ControlTokens() []string { return p.controlTokens() }

package attribution

import (
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Facts are the properties of values by which programs decide. They are set where a method is
// planned. The unit and the options of a result have them in words, for readers alone.
type Facts struct {
	// Quantity is the kind of the values.
	Quantity Quantity `json:"quantity"`
	// Evidence is what the values tell about the prediction.
	Evidence trace.Evidence `json:"evidence,omitempty"`
	// AddsUp reports whether values are parts of a whole, so that the value of several tokens
	// together is their sum; otherwise it is the highest of them.
	AddsUp bool `json:"adds_up"`
	// Combined reports whether the values of a level are about all layers up to it, as those of
	// rollout, flow and scorers are, and not about its own layer alone.
	Combined bool `json:"combined"`
	// TopOnly reports whether the aggregation computes the top layer alone, as flow does, unless
	// [Options.AllLevels] is set.
	TopOnly bool `json:"top_only,omitempty"`
	// LayerChosen reports whether [Result.Shown] is the layer that wrote most of each token.
	LayerChosen bool `json:"layer_chosen,omitempty"`
	// Scorer reports whether the values are those of a scorer: of the whole model and one
	// prediction. Explains is then the quantity that they explain, Contrast is the token or class
	// that it is compared with, "" for none, and Foils is the number of next most probable tokens
	// that it is compared with.
	Scorer   bool           `json:"scorer,omitempty"`
	Explains trace.Quantity `json:"explains,omitempty"`
	Contrast string         `json:"contrast,omitempty"`
	Foils    int            `json:"foils,omitempty"`
	// LastAsks is [scorer.Info.LastAsks].
	LastAsks bool `json:"last_asks,omitempty"`
	// Spans reports whether the columns are spans of the prompt and not tokens. By is how they were
	// grouped, as [ParseGrouping] reads it; "" for spans of [Explanation.GroupSpans]. Target is how
	// the rows were grouped, as [ParseTarget] reads it; "" for a row for each token.
	Spans  bool   `json:"spans,omitempty"`
	By     string `json:"by,omitempty"`
	Target string `json:"target,omitempty"`
}

// Quantity is a kind of values.
type Quantity string

// The kinds of values.
const (
	// Amount is any number without a range of its own, neutral at 0: a flow, a part of a logit.
	Amount Quantity = "amount"
	// Share is a part of a row, in [-1,1].
	Share Quantity = "share"
	// Lift is a ratio to what uniform attention gives, neutral at 1.
	Lift Quantity = "lift"
	// Cosine is how alike two states are, in [-1,1].
	Cosine Quantity = "cosine"
)

// mixedFacts returns the facts of a method with an aggregation.
func mixedFacts(m Method, info aggregation.Info, lift bool) Facts {
	f := Facts{
		Quantity: Amount, Combined: !info.Single, TopOnly: info.TopOnly,
		AddsUp: (info.Shares || m.Normalize) && !lift, Evidence: trace.Traced,
	}
	if info.Single {
		f.Evidence = trace.Read
	}
	switch {
	case lift:
		f.Quantity = Lift
	case f.AddsUp:
		f.Quantity = Share
	}
	return f
}

// scoredFacts returns the facts of a scorer.
func (o Options) scoredFacts(m planned, classes bool) Facts {
	f := Facts{
		Quantity: Amount, AddsUp: true, Combined: true, Scorer: true, Explains: m.quantity,
		Contrast: o.Contrast, Evidence: m.info().Evidence, LastAsks: m.info().LastAsks,
	}
	if m.info().Shares {
		f.Quantity = Share
	}
	if m.info().Foils {
		f.Foils = o.scoredFoils(classes)
	}
	return f
}

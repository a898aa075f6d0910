package figures

import (
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// attentionMethods are the three ways to read attention that the paper compares.
var attentionMethods = []string{"raw", "rollout", "flow"}

// The sentences' verb agrees with a noun that is not the last one. In verbMasked it is masked.
const (
	verbPrompt   = "the keys to the cabinet"
	verbLanguage = "The keys to the cabinet"
	verbMasked   = "the keys to the cabinet [MASK] old ."
)

// maps returns the maps of methods over all tokens of a text, with the tokens.
func (r *run) maps(prompt string, methods ...string) (
	map[string]*attribution.Map, []trace.Token, error,
) {
	tokens, ids, err := r.encode(prompt)
	if err != nil {
		return nil, nil, err
	}
	tensors, err := r.trace(ids, trace.Attention)
	if err != nil {
		return nil, nil, err
	}
	a, err := attribution.Attribute(r.ctx, attribution.InMemory(tensors),
		attribution.Options{Methods: methods})
	if err != nil {
		return nil, nil, err
	}
	return a.Methods, tokens, nil
}

// tokenNames returns tokens as the names of rows and columns.
func tokenNames(tokens []trace.Token) []string {
	texts := make([]string, len(tokens))
	for i, t := range tokens {
		texts[i] = t.Text
	}
	return names(texts)
}

func layerGraphs(r *run) error {
	maps, tokens, err := r.maps(r.prompt(verbPrompt, verbLanguage), attentionMethods...)
	if err != nil {
		return err
	}
	L, T := r.info.Layers, len(tokens)
	var charts []chart.Chart
	for _, method := range attentionMethods {
		m := maps[method]
		weights := make([]float64, 0, L*T*T)
		for l := range L {
			for t := range T {
				row := m.Row(l, t)
				if method == "flow" {
					row = shares(row)
				}
				for _, v := range row {
					weights = append(weights, min(v, 1)) // rounding
				}
			}
		}
		charts = append(charts, chart.Chart{
			Kind: chart.Layered, Title: graphTitles[method],
			X: chart.Axis{Title: "after so many layers"}, Y: chart.Axis{Title: "token"},
			Graph: &chart.Graph{Tokens: tokenNames(tokens), Weights: weights},
		})
	}
	r.picture("", 1, charts...)
	r.note("A line is as thick as the share that a token has of one in the layer below, in raw " +
		"attention, or of one in the input, in rollout and flow.")
	rollout, flow := maps["rollout"], maps["flow"]
	r.distinct(maps, T)
	worst, apart := 0.0, 0.0
	for l := range L {
		for t := range T {
			worst = max(worst, math.Abs(rowmath.Total(rollout.Row(l, t))-1))
		}
	}
	for t := range T {
		for j := range T {
			apart = max(apart, math.Abs(rollout.Row(0, t)[j]-flow.Row(0, t)[j]))
		}
	}
	r.zero(claim{"sum", "The rollout of every token sums to 1 in every layer: largest " +
		"difference"}, 1e-6, worst)
	r.zero(claim{"first-layer", "After the first layer rollout and flow are equal: largest " +
		"difference"}, 1e-6, apart)
	below := 0.0
	for l := range L {
		for t := range T {
			for j := range T {
				below = max(below, rollout.Row(l, t)[j]-flow.Row(l, t)[j])
			}
		}
	}
	r.zero(claim{"bound", "Flow is never below rollout, before it is normalised: largest " +
		"shortfall"}, 1e-6, below)
	return nil
}

// distinct checks what the paper says of the higher layers of the three graphs over T tokens.
func (r *run) distinct(maps map[string]*attribution.Map, T int) {
	top := r.info.Layers - 1
	spread := map[string]float64{}
	first, last := 0.0, 0.0 // the share of a token in its own rollout
	for t := range T {
		for _, method := range attentionMethods {
			spread[method] += effective(maps[method].Row(top, t)) / float64(T*T)
		}
		first += maps["rollout"].Row(0, t)[t] / float64(T)
		last += maps["rollout"].Row(top, t)[t] / float64(T)
	}
	for _, method := range attentionMethods[1:] {
		r.check(claim{"distinct-" + method, "In the last layer " + method + " has a more " +
			"distinct pattern than raw attention: effective share of the tokens, 1 if all " +
			"count alike"},
			"below raw", against(spread[method], spread["raw"]),
			spread[method] < spread["raw"])
	}
	r.check(claim{"fade", "The link of a token to itself fades with the layers: its share of " +
		"rollout, mean over tokens"}, "after the last layer below the first",
		against(last, first), last < first)
}

// graphTitles are the titles of the three graphs.
var graphTitles = map[string]string{
	"raw": "Raw attention", "rollout": "Attention rollout", "flow": "Attention flow, rows sum to 1",
}

// shares returns a row divided by its sum.
func shares(row []float64) []float64 {
	out := slices.Clone(row)
	if total := rowmath.Total(row); total > 0 {
		for i := range out {
			out[i] /= total
		}
	}
	return out
}

func headRollouts(r *run) error {
	prompt := r.prompt(verbPrompt, verbLanguage)
	if r.info.Head == trace.MaskedToken { // which predicts nothing without a mask token
		var err error
		if prompt, err = r.masked(verbMasked); err != nil {
			return err
		}
	}
	o := attribution.Options{Methods: []string{"rollout"}}
	if !r.info.Reads() {
		o.MaxTokens = 1
	}
	merged, err := r.explain(prompt, o)
	if err != nil {
		return err
	}
	M := merged.Methods["rollout"]
	L, m := M.Shape[2], M.Shape[1]
	total := make([]float64, L*m)
	var charts []chart.Chart
	for h := range r.info.Heads {
		o.PerHead = &h
		e, err := r.explain(prompt, o)
		if err != nil {
			return err
		}
		matrix := &chart.Matrix{Rows: levels(L), Columns: names(e.Prompt.Texts)}
		for k := range L {
			row := e.Methods["rollout"].Row(0, k)
			for j, v := range row {
				total[k*m+j] += v / float64(r.info.Heads)
			}
			matrix.Data = append(matrix.Data, row...)
		}
		charts = append(charts, chart.Chart{
			Kind: chart.Heatmap, Title: fmt.Sprintf("head %d", h), Matrix: matrix,
			X: chart.Axis{Title: "source"}, Y: chart.Axis{Title: "layer"},
			Color: chart.Scale{Title: "rollout", Percent: true, Max: 1},
		})
	}
	r.picture("", 3, charts...)
	worst := 0.0
	for k := range L {
		for j, v := range M.Row(0, k) {
			worst = max(worst, math.Abs(v-total[k*m+j]))
		}
	}
	r.zero(claim{"mean", "The mean over heads is the rollout of merged heads, because the " +
		"product is linear in the top layer: largest difference"}, 1e-6, worst)
	r.note("Row of the token that is predicted from: %s.", r.targetWords())
	return nil
}

// targetWords names the token whose row is shown.
func (r *run) targetWords() string {
	switch {
	case !r.info.Bidirectional:
		return "the last token"
	case r.info.Head == trace.MaskedToken:
		return "the masked token"
	}
	return "the first token, where the class is read"
}

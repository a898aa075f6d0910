package figures

import (
	"fmt"
	"math"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// The sentence of the published comparison needs a masked token; a decoder gets one without.
const (
	hatPrompt  = "the pictures of some hat [MASK] scaring marcus ."
	zeroPrompt = "mary talked to john about the book because"
	zeroText   = "When Mary and John went to the store, John gave a drink to"
)

// zeroingText returns the text of these figures for a model.
func (r *run) zeroingText() (string, error) {
	if r.info.Head == trace.MaskedToken {
		return r.masked(hatPrompt)
	}
	return r.prompt(zeroPrompt, zeroText), nil
}

// zeroingMaps returns the Value Zeroing maps, [L,T,T], with rows that sum to 1, and their rollout.
func (r *run) zeroingMaps() (
	single, rolled *attribution.Map, tokens []trace.Token, err error,
) {
	text, err := r.zeroingText()
	if err != nil {
		return nil, nil, nil, err
	}
	tokens, ids, err := r.encode(text)
	if err != nil {
		return nil, nil, nil, err
	}
	tensors, err := r.trace(ids, trace.ValueZeroing)
	if err != nil {
		return nil, nil, nil, err
	}
	a, err := attribution.Attribute(r.ctx, attribution.InMemory(tensors), attribution.Options{
		Methods: []string{"value-zeroing", "value-zeroing-rollout"},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return a.Methods["value-zeroing"], a.Methods["value-zeroing-rollout"], tokens, nil
}

// mapPalette is the palette of the paper's maps.
const mapPalette = "blues"

// square returns a map of one layer as a heatmap.
func square(m *attribution.Map, l int, tokens []trace.Token, title, unit string) chart.Chart {
	matrix := &chart.Matrix{Rows: tokenNames(tokens), Columns: tokenNames(tokens)}
	for t := range tokens {
		matrix.Data = append(matrix.Data, m.Row(l, t)...)
	}
	return chart.Chart{
		Kind: chart.Heatmap, Title: title, Matrix: matrix,
		X: chart.Axis{Title: "source"}, Y: chart.Axis{Title: "target"},
		Color: chart.Scale{Title: unit, Percent: true, Palette: mapPalette},
	}
}

// mostMaps is how many maps stand in one picture: those of the paper's twelve layers. The maps of
// thirty layers would take half of what a notebook may have.
const mostMaps = 12

// spacedLayers returns n layers of L at equal distances, the first and the last among them, or all
// if there are no more.
func spacedLayers(L, n int) []int {
	n = min(L, n)
	layers := make([]int, n)
	for i := range layers {
		layers[i] = (2*i*(L-1) + n - 1) / (2 * max(n-1, 1)) // rounded to the nearest one
	}
	return layers
}

func zeroingGrid(r *run) error {
	m, _, tokens, err := r.zeroingMaps()
	if err != nil {
		return err
	}
	var charts []chart.Chart
	layers := spacedLayers(m.Shape[0], mostMaps)
	for _, l := range layers {
		charts = append(charts, square(m, l, tokens, fmt.Sprintf("layer %d", l), "share"))
	}
	columns := 3
	if len(charts) >= 12 {
		columns = 4 // as the paper's twelve layers stand
	}
	r.picture("", columns, charts...)
	worst, above := 0.0, 0.0
	for l := range m.Shape[0] {
		for t := range tokens {
			row := m.Row(l, t)
			worst = max(worst, math.Abs(rowmath.Total(row)-1))
			above = max(above, rowmath.Total(row[t+1:]))
		}
	}
	r.zero(claim{"sum", "Each row sums to 1: largest difference"}, 1e-9, worst)
	if !r.info.Bidirectional {
		r.zero(claim{"causal", "In a decoder no token depends on a later one: largest share " +
			"above the diagonal"}, 1e-12, above)
	}
	if len(layers) < m.Shape[0] {
		r.note("The picture has %d of the %d layers. The verdicts are about all of them.",
			len(layers), m.Shape[0])
	}
	return nil
}

// mixings are the methods of one layer that the comparison shows.
var mixings = []struct{ name, title string }{
	{"raw", "attention weights"},
	{"norms", "norms of weighted values"},
	{"alti+layer", "ALTI"},
	{"value-zeroing", "Value Zeroing"},
}

func zeroingMethods(r *run) error {
	o := attribution.Options{AllLayers: true}
	for _, m := range mixings {
		o.Methods = append(o.Methods, m.name)
	}
	if !r.info.Reads() {
		o.MaxTokens = 1
	}
	text, err := r.zeroingText()
	if err != nil {
		return err
	}
	e, err := r.explain(text, o)
	if err != nil {
		return err
	}
	var charts []chart.Chart
	for _, x := range mixings {
		M := e.Methods[x.name]
		matrix := &chart.Matrix{Columns: names(e.Prompt.Texts)}
		for k := range M.Shape[2] {
			matrix.Rows = append(matrix.Rows, fmt.Sprint(M.Layer(0, k)))
			matrix.Data = append(matrix.Data, M.Row(0, k)...)
		}
		charts = append(charts, chart.Chart{
			Kind: chart.Heatmap, Title: x.title, Matrix: matrix,
			X: chart.Axis{Title: "source"}, Y: chart.Axis{Title: "layer"},
			Color: chart.Scale{Title: "share", Percent: true, Palette: mapPalette},
		})
	}
	r.picture("", 2, charts...)
	raw, zero := e.Methods["raw"], e.Methods["value-zeroing"]
	other, layers := 0, min(raw.Shape[2], zero.Shape[2])
	for k := range layers {
		if rowmath.Largest(raw.Row(0, k)) != rowmath.Largest(zero.Row(0, k)) {
			other++
		}
	}
	r.check(claim{"differ", "Value Zeroing names another token than attention"},
		fmt.Sprintf("in 1 or more of %d layers", layers), fmt.Sprintf("in %d", other), other > 0)
	r.note("Row of %s, which predicts “%s”.", r.targetWords(), names([]string{e.Steps[0].Text})[0])
	return nil
}

func zeroingRollout(r *run) error {
	m, rolled, tokens, err := r.zeroingMaps()
	if err != nil {
		return err
	}
	L, T := m.Shape[0], len(tokens)
	top := rolled.Shape[0] - 1
	r.picture("", 2, square(m, L-1, tokens, fmt.Sprintf("layer %d alone", L-1), "share"),
		square(rolled, top, tokens, "all layers, by rollout", "share"))
	// The product is computed here once more, without the code of the method.
	product := make([]float64, T*T)
	for t := range T {
		product[t*T+t] = 1
	}
	for l := range L {
		next := make([]float64, T*T)
		for t := range T {
			for k, w := range m.Row(l, t) {
				for j := range T {
					next[t*T+j] += w * product[k*T+j]
				}
			}
		}
		product = next
	}
	worst := 0.0
	for t := range T {
		for j, v := range rolled.Row(top, t) {
			worst = max(worst, math.Abs(v-product[t*T+j]))
		}
	}
	r.zero(claim{"product", "The rollout is the plain product of the layers' maps: largest " +
		"difference"}, 1e-9, worst)
	return nil
}

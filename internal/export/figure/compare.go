package figure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/compare"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Compare returns a picture of [render.Compare]: the values of side A, those of side B, and A minus
// B, below each other with the same columns and on one scale. Tokens that the filter of h hides are
// grey, and so are sinks; in the difference those of either side. Where the answers differ the
// difference ends, and without a row it is not drawn. Compare returns an error if h is another
// picture or has no rows.
func Compare(h render.Heatmap) (Drawing, error) {
	c, ok := h.Compared()
	if !ok {
		return Drawing{}, pkg.Errorf("the picture is no comparison; render.Compare makes one")
	}
	var views []*view
	limit := 0.0
	for i, method := range c.Methods {
		e := *h.Explanation
		if i == compare.Difference {
			if e.Steps = e.Steps[:e.Methods[method].Shape[0]]; len(e.Steps) == 0 {
				break
			}
		}
		v, err := newView(&e, method, h.Filter)
		if err != nil {
			return Drawing{}, err
		}
		if views = append(views, v); i == compare.Difference {
			v.greyOf(views[0], views[1])
		}
	}
	for _, v := range views {
		limit = max(limit, v.limit)
	}
	set := panels{high: 1.4}
	set.columns, set.rows = views[0].axisNames()
	if n := views[0].generated; n > 0 {
		set.columns += lastColumns(n)
	}
	color := chart.Scale{
		Title: comparedUnit(views[0]), Diverging: true, Percent: views[0].percent, Max: limit,
	}
	var notes []string
	for i, v := range views {
		one := panel{title: c.Methods[i], chart: chart.Chart{Kind: chart.Heatmap, Color: color}}
		one.chart.Matrix = v.matrix()
		if i == compare.Difference {
			one.note = "positive: A has more"
			one.chart.Matrix.RowNotes = nil // a row may be of two layers
		} else {
			one.note = v.layers()
			for _, note := range v.notes {
				notes = append(notes, c.Methods[i][:3]+note)
			}
		}
		set.list = append(set.list, one)
	}
	if rows := len(views[0].e.Steps); rows > 26 { // as for a long text
		set.high = max(0.25, 37/float64(rows))
	}
	const most = 6
	if notes = append(notes, h.Explanation.Warnings...); len(notes) > most {
		notes = append(notes[:most:most], fmt.Sprintf("%d more remarks are left out.",
			len(notes)-most))
	}
	about := nonEmpty(c.Differs, c.Agreement, modelNote(h.Explanation))
	return Drawing{draw: func(p *page, y float64) float64 {
		y = p.heading(c.Title, strings.Join(about, " · "), y)
		set := set
		set.list = p.withAbout(set.list, c)
		y = p.panels(set, 1, y)
		y = p.colorBar(&chart.Chart{Kind: chart.Heatmap, Color: color}, margin, y)
		return p.notes(notes, y)
	}}, nil
}

// greyOf makes the sinks of both sides grey in their difference, whose scale is without them.
func (v *view) greyOf(a, b *view) {
	for j := range v.sinks {
		v.sinks[j] = a.sinks[j] || b.sinks[j]
	}
	for t := range v.rowSinks {
		if v.rowSinks[t] = a.rowSinks[t]; v.rowSinks[t] < 0 {
			v.rowSinks[t] = b.rowSinks[t]
		}
	}
	v.scale()
}

// withAbout returns the panels of a comparison with the models or the prompts of both sides before
// their notes, both cut to the same characters if there is no room for one of them.
func (p *page) withAbout(list []panel, c render.Compared) []panel {
	list = slices.Clone(list)
	fits := func(about [2]string) bool {
		for i, text := range about {
			if p.textWidth(strings.Join(nonEmpty(text, list[i].note), " · "), noteStyle) >
				p.noteRoom(list[i].title, p.width-2*margin) {
				return false
			}
		}
		return true
	}
	about := c.About
	longest := max(len([]rune(about[0])), len([]rune(about[1])))
	for most := longest - 1; most >= 8 && !fits(about); most-- {
		about = c.AboutIn(most)
	}
	for i, text := range about {
		list[i].note = strings.Join(nonEmpty(text, list[i].note), " · ")
	}
	return list
}

// comparedUnit says what a colour means on the scale that both sides and their difference have.
func comparedUnit(side *view) string {
	unit := side.r.Unit
	if side.lift {
		unit = "lift, log2 (0 = uniform attention), and of A − B the ratio of both lifts"
	}
	return unit + "; one scale for A, B and A − B"
}

// modelNote names the model of both sides, "" if there are two and the panels name them.
func modelNote(e *attribution.Explanation) string {
	name := modelName(e.Model.Name)
	if e.Model.Hash == "" && strings.Contains(e.Model.Name, "│") {
		name = ""
	}
	return strings.Join(nonEmpty(name, e.Model.Note), " · ")
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) (all []string) {
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// LayerMaps returns M[t,:,:] of several generated tokens, side by side where there is room. Each
// has a row for each layer, the last one at the top, and a column for each prompt token. All have
// one scale. Tokens that the filter hides are grey. LayerMaps returns an error as [LayerMap] does,
// and if there are no tokens.
func LayerMaps(
	e *attribution.Explanation, method string, tokens []int, filter attribution.Filter,
) (Drawing, error) {
	if len(tokens) == 0 {
		return Drawing{}, pkg.Errorf("there are no tokens to draw the layers of")
	}
	v, err := newLayerView(e, method, tokens, filter)
	if err != nil {
		return Drawing{}, err
	}
	set := panels{rows: v.layerAxis(), high: 1.25}
	set.columns, _ = v.axisNames()
	set.high = min(set.high, 20/float64(len(v.r.Layers)))
	for _, t := range tokens {
		note := ""
		if s := e.Steps[t]; !s.Unscored {
			note = fmt.Sprintf("%.0f %%", 100*s.Probability)
		}
		set.list = append(set.list, panel{title: "→ " + v.step(t), note: note, chart: chart.Chart{
			Kind: chart.Heatmap, Color: v.color(), Matrix: v.layerMatrix(t),
		}})
	}
	return Drawing{draw: func(p *page, y float64) float64 {
		y = p.heading(method, v.subtitle(v.allLayers()+"; the last one on top"), y)
		// A column that has a name needs about a line of text.
		need := 4*p.size + 1.1*p.size*float64(len(v.sinks))
		across := int((p.width - 2*margin + panelGap) / (need + panelGap))
		across = min(max(across, 1), len(tokens))
		y = p.panels(set, across, y)
		y = p.colorBar(&chart.Chart{Kind: chart.Heatmap, Color: v.color()}, margin, y)
		return p.notes(v.greyNotes(), y)
	}}, nil
}

package render

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strings"
)

//go:embed experts.js
var expertsSource string

var expertsScript = script(scaleSource + matrixSource + expertsSource)

// expertsRules are the style of the page: columns have room for the number of an expert.
const expertsRules = `
.hm.hm-experts .hm-matrix{min-width:calc(100px + var(--cols)*24px)}
.hm.hm-experts .hm-matrix td b{display:inline}
.hm.hm-experts .hm-matrix td b span{font-size:12px}
.hm.hm-experts .hm-many :is(td,tbody th){height:18px!important}
.hm .hm-routes{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 8px}
.hm .hm-routes{font-size:12px;align-items:center}
.hm .hm-routes>span{display:flex;height:16px;gap:1px}
.hm .hm-routes i{overflow:hidden;text-align:center;font-style:normal;line-height:16px}
.hm .hm-routes [aria-pressed=true]{font-weight:680}`

// expertsData is what the script needs.
type expertsData struct {
	textData
	// Layers are L, Mixed those of them that have experts, Each is how many experts of each token
	// the data have, K or 1, and Experts is X.
	Layers  int `json:"layers"`
	Mixed   int `json:"mixed"`
	Each    int `json:"each"`
	Experts int `json:"experts"`
	// Token is framed and Layer open at first.
	Token int `json:"token"`
	Layer int `json:"layer"`
	// Numbers and Weights have for each token those of its experts, [L,Each].
	Numbers [][]int     `json:"numbers"`
	Weights []packedRow `json:"weights"`
	// Took has for each layer the experts that took tokens, each with how many. Routed is how many
	// tokens pass experts there, and Even how many each would take if all took as many.
	Took   [][][2]int `json:"took"`
	Routed []int      `json:"routed"`
	Even   []float64  `json:"even"`
	// Said is what a method says of generated tokens, and Scale the scale of the weights.
	Said  []string  `json:"said"`
	Scale drawnRows `json:"scale"`
}

// markup implements [Picture].
func (r Experts) markup(room int) *page {
	x := r.open()
	b := newBoard(x.drawing, r.Palette, limitOf(r.MaxBytes, room))
	b.begin("hm-experts", oneLine(expertsRules))
	b.top()
	var answer strings.Builder
	b.writeAnswer(&answer, x.sentence(x.layer, x.token).html(), x.facts(x.layer, x.token).html(),
		x.steps())
	b.WriteString(`<div class="hm-grid"><div>` + answer.String())
	rest := b.limit - b.Len() - len(expertsScript()) - 3000
	data, missing := x.packed(rest * 3 / 4)
	rest -= len(data)
	if table := b.table(x.table()); x.layers <= matrixColumns && len(table) <= rest*3/4 {
		b.WriteString(`<div class="hm-methods">` + table + "</div>")
		rest -= len(table)
	}
	b.WriteString(`<div class="hm-after"></div></div><div class="hm-side"></div></div>`)
	if missing != "" {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(missing) }))
	}
	b.WriteString(x.details(b, rest))
	b.end(data, expertsScript())
	return b.page()
}

// steps returns the colours of the text: by how much more than the mean of all tokens each has in
// common with the framed one.
func (x *expertsDrawing) steps() []int {
	same, mean := x.alike(x.token)
	steps := make([]int, len(same))
	for j, n := range same {
		if most := float64(x.mixed) - mean; j != x.token && most > 0 {
			steps[j] = stepOf(max(float64(n)-mean, 0) / most)
		}
	}
	return steps
}

// table returns the matrix for readers without a script.
func (x *expertsDrawing) table() plainTable {
	t := plainTable{title: "First expert of each token", note: "in each layer, layer 0 first"}
	for l := range x.layers {
		t.columns = append(t.columns, x.e.Model.LayerLabel(l))
	}
	for _, c := range x.columns {
		row := plainRow{name: x.columnName(c), chosen: x.here(c)}
		for l := range x.layers {
			number, step := x.cell(c, l)
			row.cells = append(row.cells,
				plainCell{step: step, number: number, empty: number == ""})
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// details returns the experts of every token and the load of every layer, in at most limit bytes,
// how to read the picture, and the model.
func (x *expertsDrawing) details(b *board, limit int) string {
	var s strings.Builder
	b.openDetails(&s, "every token and layer in a line", x.layers > matrixColumns)
	var lines []string
	for l := range x.layers {
		lines = append(lines, fmt.Sprintf("load of %s, %s", x.e.Model.LayerName(l), x.loadOf(l)))
	}
	for _, c := range x.columns {
		if c.folded {
			continue
		}
		var layers []string
		for l := range x.layers {
			layers = append(layers, x.e.Model.LayerName(l)+": "+x.allOf(l, c.from))
		}
		lines = append(lines, x.placedName(c.from)+" "+strings.Join(layers, "; "))
	}
	s.WriteString(`<div class="hm-lines">`)
	b.linesWithin(&s, limit, len(lines), func(i int) string {
		return "<div>" + html.EscapeString(lines[i]) + "</div>"
	})
	s.WriteString("</div>" + b.common(func(p *page) { p.settings(expertsLegend) }) + "</details>")
	return s.String()
}

// packed returns the data of the script in at most limit bytes: with all experts of each token, or
// where these do not fit with the first alone; "" if there is no room for these either. missing
// says what a reader cannot see.
func (x *expertsDrawing) packed(limit int) (code, missing string) {
	d := expertsData{
		textData: x.textData("experts", len(x.tokens)), Layers: x.layers, Mixed: x.mixed,
		Experts: x.e.Model.Experts, Token: x.token, Layer: x.layer, Scale: x.weights.scaled(),
	}
	for l := range x.layers {
		d.Took, d.Routed = append(d.Took, x.load(l)), append(d.Routed, x.routed(l))
		d.Even = append(d.Even, x.even(l))
	}
	for j := range x.tokens {
		d.Said = append(d.Said, x.said(j).String())
	}
	for _, each := range []int{x.each, 1} {
		d.Each, d.Numbers, d.Weights = each, nil, nil
		for j := range x.tokens {
			var numbers []int
			var weights []float64
			for l := range x.layers {
				for k := range each {
					expert, weight := x.at(l, j, k)
					numbers, weights = append(numbers, expert), append(weights, weight)
				}
			}
			d.Numbers = append(d.Numbers, numbers)
			d.Weights = append(d.Weights, packRow(weights, exactParts, math.Inf(1),
				func(i int, near float64) bool { return rounded(weights[i]) == rounded(near) }))
		}
		if code = packWithin(limit, d); code != "" {
			return code, missing
		}
		missing = "Clicks show the first expert of each layer alone"
	}
	return "", noClicks
}

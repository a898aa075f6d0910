package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Drawn works out the matrices of a method, one for each token. It returns an error if the method
// does not have several layers, or as [Layers.Check] does.
func (r Layers) Drawn(method string) (Drawn, error) {
	if err := r.Check(); err != nil {
		return Drawn{}, err
	}
	p := r.panels()
	i := slices.IndexFunc(p.methods, func(m panelMethod) bool {
		return m.name == Visible(method, nameLimit)
	})
	if i < 0 {
		r.Methods = []string{method}
		return Drawn{}, r.Check()
	}
	v := &p.views[slices.IndexFunc(p.views, func(v view) bool { return v.name == method })]
	m := &p.methods[i]
	f := p.figureOf(m, v, m.list)
	f.Title, f.Target = method, strings.TrimSpace(m.where)
	f.Caption = p.captioned(m.sums(p.e.Model, v.result))
	shown := func(t int) bool {
		return slices.ContainsFunc(m.list, func(one panel) bool {
			return one.token == p.tokenOf(t)
		})
	}
	f.Notes = append(p.sinkNotes(v, shown), nonEmpty(p.hiddenNote())...)
	f.withoutLater()
	return f, nil
}

// withoutLater removes the columns at the end that no row has a value of: tokens after those shown.
func (f *Drawn) withoutLater() {
	end := 0
	for _, one := range f.Panels {
		for _, row := range one.Rows {
			for c, cell := range row.Cells {
				if cell.Measured {
					end = max(end, c+1)
				}
			}
		}
	}
	if end == 0 {
		return
	}
	f.Columns = f.Columns[:end]
	for _, one := range f.Panels {
		for i := range one.Rows {
			one.Rows[i].Cells = one.Rows[i].Cells[:end]
		}
	}
}

// sums names the layers of matrices, and what a row is of if that is not its layer alone.
func (m *panelMethod) sums(of trace.Info, r *attribution.Result) string {
	first, last := r.Layers[0], r.Layers[len(r.Layers)-1]
	switch {
	case m.parts:
		return fmt.Sprintf("what each of %s adds to the sum", of.LayerRange(first, last))
	case r.Combined && r.Scorer:
		return fmt.Sprintf("sums of layers %s to the row's, up to %s", of.LayerLabel(first),
			of.LayerName(last))
	case r.Combined:
		return fmt.Sprintf("layers %s to the row's together, up to %s", of.LayerLabel(first),
			of.LayerName(last))
	}
	return of.LayerRange(first, last)
}

// figureOf returns a figure of matrices of a method. v has its name and its facts.
func (p *panels) figureOf(m *panelMethod, v *view, list []panel) Drawn {
	scaled := *v
	scaled.top, scaled.colors = m.top, m.colors
	f := p.drawing.figureOf(&scaled)
	for i := range list {
		f.Panels = append(f.Panels, DrawnPanel{
			Name: plain(list[i].name), Rows: m.drawnRows(&list[i], len(f.Columns)),
		})
	}
	for c := range f.Columns {
		f.Columns[c].Grey = c < len(list[0].grey) && list[0].grey[c]
	}
	return f
}

// drawnRows returns the rows of a matrix with so many columns; of parts, their sum comes first.
func (m *panelMethod) drawnRows(one *panel, columns int) (rows []DrawnRow) {
	add := func(name string, cells []panelCell) {
		row := DrawnRow{Name: plain(name), Cells: make([]DrawnCell, columns)}
		for c, cell := range cells {
			if math.IsNaN(cell.value) {
				continue
			}
			step := stepOf(m.colors.at(cell.value))
			if one.grey[c] {
				step = 0
			}
			row.Cells[c] = drawnCell(step, one.grey[c], m.number(cell.value))
		}
		rows = append(rows, row)
	}
	if one.total != nil {
		add("sum", one.total)
		rows[0].Total = true
	}
	for i, cells := range one.cells {
		add(m.rows[i], cells)
	}
	return rows
}

// Drawn works out the layers that the picture shows, or the open one alone. The error is that of
// [Maps.Check].
func (r Maps) Drawn(open bool) (Drawn, error) {
	if err := r.Check(); err != nil {
		return Drawn{}, err
	}
	p := r.panels()
	m := &p.methods[0]
	list, levels := m.list, p.levels
	if open {
		list, levels = list[m.open:m.open+1], levels[m.open:m.open+1]
	}
	f := p.figureOf(m, &view{name: r.Method, result: r.named()}, list)
	f.Title, f.Target, f.Source = r.Method, "target", "source"
	f.Notes = greyNotes(p.drawing, p.grey, "most rows")
	for i, level := range levels {
		f.Panels[i].Name = r.named().LayerName(r.Explanation.Model, 0, level)
		for k := range f.Panels[i].Rows { // the targets are the tokens of the columns
			f.Panels[i].Rows[k].Name = f.Columns[k].Name
		}
	}
	if f.Caption = p.captioned(); open {
		f.Title += ", " + f.Panels[0].Name
		f.Panels[0].Name = ""
		return f, nil
	}
	layers := message.Count(len(r.Map.Layers), "layer")
	if len(levels) < len(r.Map.Layers) {
		layers = fmt.Sprintf("%d of %s", len(levels), layers)
	}
	f.Caption = p.captioned(layers + ": rows are targets, columns sources, from the first token on")
	return f, nil
}

// greyNotes names the tokens that are grey, because they have more than 30 % of what they are sinks
// of.
func greyNotes(d *drawing, sinks []bool, of string) []string {
	var names []string
	for j, is := range sinks {
		if is {
			names = append(names, "“"+plain(d.axisName(j))+"”")
		}
	}
	if names == nil {
		return nil
	}
	return []string{"Grey: " + strings.Join(names, ", ") + ", a sink, which has more than 30 % " +
		"of " + of + "."}
}

// drawn works out the matrix of the open head: a row for each token that looks and is not folded.
func (h *headsDrawing) drawn() Drawn {
	p := &panels{drawing: h.drawing}
	m, one := panelMethod{}, panel{}
	v := &view{result: &attribution.Result{
		Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share},
	}}
	m.scale(v, []float64{1})
	grey := func(j int) bool { return h.Ignored[j] }
	for _, c := range h.columns {
		_, ok := m.cell(c, c.To, func(int) float64 { return 0 }, grey)
		one.grey = append(one.grey, !ok)
	}
	for _, row := range h.columns {
		if row.Folded || !h.LooksFrom(h.layer, row.From) {
			continue
		}
		var cells []panelCell
		for _, c := range h.columns {
			if c.From < h.Seen(row.From) {
				cell, _ := m.cell(c, h.Seen(row.From), func(j int) float64 {
					return h.At(h.layer, h.head, row.From, j)
				}, grey)
				cells = append(cells, cell)
			}
		}
		m.rows, one.cells = append(m.rows, h.axisName(row.From)), append(one.cells, cells)
	}
	f := p.figureOf(&m, v, []panel{one})
	f.Title = fmt.Sprintf("%s, head %d", h.e.Model.LayerName(h.layer), h.head)
	f.Caption = h.captioned(h.quotedPrompt())
	f.Target, f.Source = "token that looks", "token that is looked at"
	f.Notes = append([]string{h.sentence(h.layer, h.head, h.query).String() + "."},
		greyNotes(h.drawing, h.Ignored, "all attention")...)
	return f
}

// quotedPrompt returns the prompt or the last message of a chat as a part of a caption, cut if it
// is long, and "" if it is not known.
func (d *drawing) quotedPrompt() string {
	const most = 60
	prompt := d.e.Prompt.Text
	if n := len(d.turns); d.chat() && n > 1 {
		body := d.turns[n-2].body
		prompt = prompt[d.e.Prompt.Offsets[body[0]][0]:d.e.Prompt.Offsets[body[1]-1][1]]
	}
	text := []rune(Visible(strings.TrimSpace(prompt), 0))
	if len(text) > most {
		text = append(text[:most-1:most-1], '…')
	}
	if len(text) == 0 {
		return ""
	}
	return "“" + string(text) + "”"
}

package render

import (
	"fmt"
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

// figureOf returns a figure of matrices of a method; of parts, their sum comes first. v has its
// name and its facts.
func (p *panels) figureOf(m *panelMethod, v *view, list []panel) Drawn {
	scaled := *v
	scaled.top, scaled.colors = m.top, m.colors
	f := p.drawing.figureOf(&scaled)
	for i := range list {
		one := &list[i]
		t := p.matrix(m, one)
		if t.Name = one.name; one.total != nil {
			sum := p.rowOf(m, one, "sum", one.total)
			sum.total = true
			t.Rows = slices.Insert(t.Rows, 0, sum)
		}
		f.Panels = append(f.Panels, t.panel(len(f.Columns)))
	}
	for c := range f.Columns {
		f.Columns[c].Grey = c < len(list[0].grey) && list[0].grey[c]
	}
	return f
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
	b := &Board{
		drawing: h.drawing, Table: h.fromEveryToken(), Caption: []string{h.quotedPrompt()},
		Scale: NewScale("share of attention", attribution.Share, []float64{1}),
		Notes: append([]string{h.sentence(h.layer, h.head, h.query).String() + "."},
			greyNotes(h.drawing, h.Ignored, "all attention")...),
	}
	f := b.drawn()
	for i, c := range h.columns {
		f.Columns[i].Grey = !slices.Contains(h.Ignored[c.From:c.To], false)
	}
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

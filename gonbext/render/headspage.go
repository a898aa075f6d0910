package render

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/study/heads"
)

//go:embed heads.js
var headsSource string

var headsScript = script(scaleSource + matrixSource + headsSource)

// headsBoard is the state of writing [Heads] as HTML.
type headsBoard struct {
	*board
	h *headsDrawing
}

// markup implements [Picture].
func (r Heads) markup(room int) *page {
	h := r.open()
	b := headsBoard{newBoard(h.drawing, r.Palette, limitOf(r.MaxBytes, room)), h}
	b.write()
	return b.page()
}

func (r Heads) draw() drawer { return r }

func (r Heads) title() string { return titleOf(r.Explanation) }

// write writes the parts from top to bottom. Near the limit each part takes what those before it in
// the order of need have left: the answer with its text, the map, numbers for the script, matrices
// for readers without one, and the lines of all predictions.
func (b headsBoard) write() {
	b.begin("hm-heads", "")
	b.top()
	rest := b.limit - b.Len() - len(headsScript()) - 2000
	var answer strings.Builder
	steps := make([]int, len(b.tokens))
	for _, j := range b.h.standing(b.h.layer, b.h.head, b.h.query) {
		steps[j] = b.h.step(b.h.layer, b.h.head, b.h.query, j)
	}
	answer.WriteString(`<div class="hm-grid"><div>`)
	b.writeAnswer(&answer, b.h.sentence(b.h.layer, b.h.head, b.h.query).html(),
		html.EscapeString(b.h.facts()), steps)
	rest -= answer.Len()
	side := b.all(rest / 2)
	rest -= len(side)
	lines := b.lines(rest / 8)
	rest -= len(lines)
	data, missing := b.scriptData(rest * 3 / 4)
	rest -= len(data)
	b.WriteString(answer.String() + b.matrices(rest) + `<div class="hm-after"></div></div>` +
		`<div class="hm-side">` + side + "</div></div>")
	if missing != "" {
		b.WriteString(b.common(func(p *page) { p.withoutRoom(missing) }))
	}
	b.WriteString(lines)
	b.end(data, headsScript())
}

// facts returns from where the open head looks, and what it gives to sinks.
func (h *headsDrawing) facts() string {
	text := h.from(h.query)
	for j, sink := range h.Ignored {
		if x := h.At(h.layer, h.head, h.query, j); sink && x >= .01 {
			text += " · sink " + h.placedName(j) + " " + rounded(x)
		}
	}
	_, _, notes := h.kindsOf(h.layer, h.head)
	return strings.Join(append([]string{text}, notes...), " · ")
}

// all returns the map of all heads, layer 0 at the bottom, if it has room in at most limit bytes,
// and the list of heads. The script draws both for what a reader chooses.
func (b headsBoard) all(limit int) string {
	h := b.h
	t := Table{
		Title: "All heads", Note: "share given to " + h.placedName(h.source),
	}
	writes := h.writes(h.query)
	if writes != nil {
		t.Note = "what each wrote, up to ±" + fixed(largest(writes.Heads), 2)
	}
	t.Note += ", " + h.e.Model.LayerName(0) + " at the bottom"
	for k := range h.Heads {
		t.Columns = append(t.Columns, fmt.Sprint(k))
	}
	wrote := h.wroteLayer(h.predictions[h.query])
	for i := h.Layers - 1; i >= 0; i-- {
		row := Row{Name: h.e.Model.LayerLabel(i), Chosen: i == h.layer}
		if i == wrote {
			row.Name = "wrote " + row.Name
		}
		for k := range h.Heads {
			_, letters, _ := h.kindsOf(i, k)
			cell := Cell{
				Step: h.step(i, k, h.query, h.source), Text: strings.Join(letters, ""),
			}
			if writes != nil {
				cell.Step = wroteStep(writes, i*h.Heads+k)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	s := b.table(t)
	if len(s) > limit {
		s = ""
	}
	s = "<div>" + s + "</div><div>"
	for _, list := range h.lists(h.query, listedHeads) {
		what, heads, _ := strings.Cut(list, ": ")
		s += fmt.Sprintf(`<div class="hm-h" style="margin:12px 0 2px">%s</div><div `+
			`style="color:%s">%s</div>`, html.EscapeString(what), dimInk, html.EscapeString(heads))
	}
	return s + "</div>"
}

// matrices returns the heads of the open layer, and the open head from every token, as tables for
// readers without a script, if they have room in at most limit bytes.
func (b headsBoard) matrices(limit int) string {
	h := b.h
	if !h.fits() {
		return ""
	}
	heads := Table{
		Title: fmt.Sprintf("%s, all %d heads", h.capitalLayer(), h.Heads), Columns: h.columnNames(),
		Note: "what each looks at, per cent of its attention",
	}
	for k := range h.Heads {
		heads.Rows = append(heads.Rows, Row{
			Name: fmt.Sprintf("head %d", k), Chosen: k == h.head, Cells: h.row(k, h.query),
		})
	}
	s := `<div class="hm-methods">` + b.table(heads) + b.table(h.fromEveryToken()) + "</div>"
	if len(s) > limit {
		return ""
	}
	return s
}

// capitalLayer is the name of the open layer where it begins a title.
func (h *headsDrawing) capitalLayer() string {
	name := h.e.Model.LayerName(h.layer)
	return strings.ToUpper(name[:1]) + name[1:]
}

// fromEveryToken returns the open head as a table: a row for each token that looks and is not
// folded.
func (h *headsDrawing) fromEveryToken() Table {
	t := Table{
		Title: fmt.Sprintf("%s, head %d from every token", h.capitalLayer(), h.head),
		Note:  "rows look at columns", Columns: h.columnNames(), Over: h.columns,
		Heading: fmt.Sprintf("%s, head %d", h.e.Model.LayerName(h.layer), h.head),
		Target:  "token that looks", Source: "token that is looked at",
	}
	for _, c := range h.columns {
		if !c.Folded && h.LooksFrom(h.layer, c.From) {
			t.Rows = append(t.Rows, Row{
				Name: h.axisName(c.From), Chosen: c.From == h.query, Cells: h.row(h.head, c.From),
			})
		}
	}
	return t
}

// row returns what a head of the open layer gives the tokens of each column at most.
func (h *headsDrawing) row(head, query int) (cells []Cell) {
	for _, c := range h.columns {
		at := strongestIn(c, h.Seen(query),
			func(j int) float64 { return h.At(h.layer, head, query, j) },
			func(j int) bool { return h.Ignored[j] })
		cell := Cell{Empty: at < 0, First: h.isFirstGenerated(c)}
		if !cell.Empty {
			cell.Grey, cell.Step = h.Ignored[at], h.step(h.layer, head, query, at)
			cell.Text = fixed(100*h.At(h.layer, head, query, at), 0)
		}
		cells = append(cells, cell)
	}
	return cells
}

// lines returns the details: how to read the picture, the heads of every prediction in at most
// limit bytes, and the model.
func (b headsBoard) lines(limit int) string {
	h := b.h
	var s strings.Builder
	b.openDetails(&s, "Details: how to read this, heads of all "+h.words.shown+", settings", "",
		!h.fits())
	fmt.Fprintf(&s, `<p>Attention of every head, as the model computed it; nothing is merged. The `+
		`framed token is what the head looks from, or what is predicted there. %s Attention says `+
		`where a head reads, not what it makes of it.`, h.listing("Listed are "))
	if sinks := h.sinkNames(); sinks != "" {
		fmt.Fprintf(&s, " Not in the scale: %s, a sink, which has more than 30 %% of all "+
			"attention.", html.EscapeString(sinks))
	}
	for _, line := range h.kindLines() {
		s.WriteString("</p><p>" + html.EscapeString(line))
	}
	s.WriteString(`</p><div class="hm-lines">`)
	b.linesWithin(&s, limit, len(h.e.Steps), func(t int) string {
		where, what, chance := h.predictionText(t)
		return fmt.Sprintf("<div>%s<b>%s</b> %s: %s</div>", html.EscapeString(where),
			html.EscapeString(what), chance,
			html.EscapeString(strings.Join(h.lists(h.queryOf(t), listed), "; ")))
	})
	s.WriteString("</div>" + b.common(func(p *page) { p.settings("") }) + "</details>")
	return s.String()
}

// sinkNames names the sinks.
func (h *headsDrawing) sinkNames() string {
	var sinks []string
	for j, is := range h.Ignored {
		if is {
			sinks = append(sinks, h.placedName(j))
		}
	}
	return strings.Join(sinks, ", ")
}

// headsData is what the script needs beyond the elements of the picture.
type headsData struct {
	Layers int `json:"layers"`
	Heads  int `json:"heads"`
	// Query, Layer and Head are shown at first.
	Query int `json:"query"`
	Layer int `json:"layer"`
	Head  int `json:"head"`
	// Both says that tokens see those after them. Sinks are not in the scale.
	Both  bool  `json:"both,omitempty"`
	Sinks []int `json:"sinks"`
	// Encoder is how many of the layers are those of the encoder of two stacks, nil of one.
	Encoder *int `json:"encoder,omitempty"`
	textData
	// Rows has the rows of each head, in the order of layers and heads, from token First to token
	// Last, each with as many values as its token sees. Coarse says that they are whole per cents.
	First  int           `json:"first"`
	Last   int           `json:"last"`
	Coarse bool          `json:"coarse,omitempty"`
	Rows   [][]packedRow `json:"rows"`
	// Starts begin the sentence on any head at each token from First on, Named is what follows the
	// names of heads of a kind, by layer · heads + head, Notes what was measured of each head, and
	// Says the words of sentences.
	Starts [][]any          `json:"starts"`
	Named  map[int]string   `json:"named,omitempty"`
	Notes  map[int][]string `json:"notes,omitempty"`
	Says   any              `json:"says"`
	// Predicted has for each token the prediction that is made there, -1 if none. Wrote has the
	// layer that wrote each prediction, -1 where that is not known, and From says from where heads
	// look; Generated says that predictions are tokens of the text.
	Predicted []int    `json:"predicted"`
	Wrote     []int    `json:"wrote"`
	From      []string `json:"from"`
	Generated bool     `json:"generated,omitempty"`
	// Writes has what each head wrote into each prediction, [n], null where that is not known.
	Writes []*packedRow `json:"writes,omitempty"`
	// Best has for each token from First on the heads that are listed for it in their order, of
	// each its layer, its head, the token that it looks at, -1 if none, and how many per cent more
	// of its attention that is than its habit; Opens has the layer and the head that it opens.
	Best  [][]int     `json:"best"`
	Opens [][2]int    `json:"opens"`
	Kinds []shownKind `json:"kinds,omitempty"` // of heads
}

// scriptData returns the data of the script: the rows of all tokens, or, where they do not fit, of
// those from which generated tokens are predicted, or of the one that is shown; "" if there is no
// room for these either. missing says what a reader cannot click.
func (b headsBoard) scriptData(limit int) (code, missing string) {
	h := b.h
	m := len(h.e.Prompt.Texts)
	d := headsData{
		Layers: h.Layers, Heads: h.Heads, Query: h.query, Layer: h.layer,
		Head: h.head, Both: h.Bidirectional, Sinks: []int{},
		textData: h.textData("heads", h.Tokens), Predicted: h.predictions, Wrote: []int{},
		From: []string{}, Generated: !h.e.Model.Reads(), Kinds: h.kinds, Says: headSays,
		Named: map[int]string{}, Notes: map[int][]string{},
	}
	if h.targetBegin >= 0 {
		d.Encoder = &h.Encoder
	}
	for i := range h.Layers * h.Heads {
		if words := h.kindWords(i/h.Heads, i%h.Heads); words != "" {
			d.Named[i] = words
		}
		if _, _, notes := h.kindsOf(i/h.Heads, i%h.Heads); notes != nil {
			d.Notes[i] = notes
		}
	}
	for j, is := range h.Ignored {
		if is {
			d.Sinks = append(d.Sinks, j)
		}
	}
	for t, g := range h.e.Steps {
		if h.written() {
			d.Writes = append(d.Writes, packWrites(heads.Wrote(g)))
		}
		d.Wrote = append(d.Wrote, h.wroteLayer(t))
		d.From = append(d.From, h.from(min(h.queryOf(t), h.Tokens-1)))
	}
	for _, rows := range []struct{ first, last, parts int }{
		{0, h.Tokens - 1, 1000}, {0, h.Tokens - 1, 100}, {max(m-1, 0), h.Tokens - 1, 1000},
		{max(m-1, 0), h.Tokens - 1, 100}, {h.query, h.query, 1000},
	} {
		if code := b.packed(d, rows.first, rows.last, rows.parts, limit); code != "" {
			switch name := h.placedName(rows.first); {
			case rows.first == rows.last && h.Tokens > 1:
				missing = "Clicks show what heads look at from " + name + " alone"
			case rows.first > 0:
				missing = "Clicks show what heads look at from " + name + " and the tokens " +
					"after it, and not from those before"
			}
			return code, missing
		}
	}
	return "", noClicks
}

// packed returns the data with rows from token first to last, in so many parts of the attention, ""
// if they are larger than limit.
func (b headsBoard) packed(d headsData, first, last, parts, limit int) string {
	h := b.h
	d.First, d.Last, d.Coarse = first, last, parts == 100
	// Rows that take twice the room alone do not fit together: they are not all worked out.
	for i, size := 0, 0; i < h.Layers*h.Heads; i++ {
		if size > 2*limit {
			return ""
		}
		d.Rows = append(d.Rows, h.packed(i/h.Heads, i%h.Heads, first, last, float64(parts)))
		size += len(pack(d.Rows[i]))
	}
	for i := first; i <= last; i++ {
		ofLayer, others := h.listed(i, listedHeads)
		list := []int{}
		for _, b := range slices.Concat(ofLayer, others) {
			list = append(list, b.Layer, b.Head, b.Token, int(math.Round(100*b.Over)))
		}
		opens := [2]int{h.layer, h.head}
		if best, ok := h.best(i); ok {
			opens = [2]int{best.Layer, best.Head}
		}
		d.Best, d.Opens = append(d.Best, list), append(d.Opens, opens)
		d.Starts = append(d.Starts, h.begin(i).pieces())
	}
	return packWithin(limit, d)
}

// packed returns the rows of a head for the script. Each value has the colour and, unless it is
// coarse, the number of the picture.
func (h *headsDrawing) packed(layer, head, first, last int, parts float64) (rows []packedRow) {
	for i := first; i <= last; i++ {
		var values []float64
		for j := range h.Seen(i) {
			x := h.At(layer, head, i, j)
			if !(x > 0) { // NaN, too
				x = 0
			}
			values = append(values, min(x, 1))
		}
		rows = append(rows, packRow(values, []float64{parts}, 1, func(j int, near float64) bool {
			return stepOf(values[j]) == stepOf(near) &&
				(parts == 100 || rounded(values[j]) == rounded(near))
		}))
	}
	return rows
}

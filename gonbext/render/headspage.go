package render

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/internal/study/heads"
)

//go:embed heads.js
var headsSource string

var headsScript = script(scaleSource + matrixSource + headsSource)

func (r Heads) draw() drawer { return r.open().board(r) }

// board returns the heads as a board: the heads of the open layer and the open head from every
// token are its tables, and the map and the list of all heads stand beside them.
func (h *headsDrawing) board(r Heads) *Board {
	steps := make([]int, len(h.drawing.tokens))
	for _, j := range h.standing(h.layer, h.head, h.query) {
		steps[j] = h.step(h.layer, h.head, h.query, j)
	}
	legend := "Attention of every head, as the model computed it; nothing is merged. The framed " +
		"token is what the head looks from, or what is predicted there. " +
		h.listing("Listed are ") + " Attention says where a head reads, not what it makes of it."
	if sinks := h.sinkNames(); sinks != "" {
		legend += fmt.Sprintf(" Not in the scale: %s, a sink, which has more than 30 %% of all "+
			"attention.", sinks)
	}
	b := &Board{
		drawing: h.drawing, Kind: string(KindHeads), MaxBytes: r.MaxBytes, By: byPanel,
		Opened: Opening{
			Say:   h.sentence(h.layer, h.head, h.query),
			Facts: Phrase{{text: h.facts()}}, Steps: steps,
		},
		Table: h.ofLayer(), Details: "how to read this, heads of all " + h.words.shown,
		PageLegend: strings.Join(append([]string{legend}, h.kindLines()...), "\n"),
		TextLegend: strings.Join(append([]string{h.listing("Below each token: ")},
			h.kindLines()...), "\n"),
	}
	all := h.all()
	b.layout = layout{
		script: headsScript, data: h.packed,
		tables: []Table{h.fromEveryToken()}, aside: &all,
		figured: func(string) (Figure, error) { return Figure{Heads: &r}, nil },
	}
	for _, list := range h.lists(h.query, listedHeads) {
		what, heads, _ := strings.Cut(list, ": ")
		b.lists = append(b.lists, Line{Name: what, List: heads})
	}
	for t := range h.e.Steps {
		where, what, chance := h.predictionText(t)
		line := Phrase{{text: where}, {text: what, strong: true}, {text: " " + chance + ": " +
			strings.Join(h.lists(h.queryOf(t), listed), "; ")}}
		b.Lines = append(b.Lines, Line{Say: line})
		b.Lists = append(b.Lists, h.textLines(t)...)
	}
	return b
}

// textLines returns the lines of prediction t in a text.
func (h *headsDrawing) textLines(t int) []Line {
	where, what, chance := h.predictionText(t)
	query, indent := h.queryOf(t), "     "
	if l := h.wroteLayer(t); l >= 0 {
		chance += fmt.Sprintf(" · attention of %s wrote more of it than that of any other",
			h.e.Model.LayerName(l))
	}
	all := []Line{{Name: fmt.Sprintf("%3d  %s%s  ", t+1, where, what), Say: Phrase{{text: chance}}}}
	if w := h.writes(query); w != nil {
		all = append(all, Line{Name: indent, List: allWrote(w)})
	}
	wrote, others := h.listed(query, listed)
	write := func(list []focus.Look) {
		for _, b := range list {
			all = append(all, Line{
				Name: indent + h.headName(b.Layer, b.Head, 2) + "  ", List: h.lookName(query, b),
			})
		}
	}
	if wrote != nil {
		all = append(all,
			Line{Name: indent, List: "heads of " + h.e.Model.LayerName(wrote[0].Layer)})
		indent = "       "
		if write(wrote); others != nil {
			all = append(all, Line{Name: "     ", List: "other heads"})
		}
	}
	write(others)
	return all
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

// all returns the map of all heads, layer 0 at the bottom. The script draws it for what a reader
// chooses.
func (h *headsDrawing) all() Table {
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
	return t
}

// ofLayer returns the heads of the open layer as a table.
func (h *headsDrawing) ofLayer() Table {
	t := Table{
		Title: fmt.Sprintf("%s, all %d heads", h.capitalLayer(), h.Heads),
		Note:  "what each looks at, per cent of its attention", Columns: h.columnNames(),
	}
	for k := range h.Heads {
		t.Rows = append(t.Rows, Row{
			Name: fmt.Sprintf("head %d", k), Chosen: k == h.head, Cells: h.row(k, h.query),
		})
	}
	return t
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

// packed returns the data of the script: the rows of all tokens, or, where they do not fit, of
// those from which generated tokens are predicted, or of the one that is shown; "" if there is no
// room for these either. missing says what a reader cannot click.
func (h *headsDrawing) packed(limit int) (code, missing string) {
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
		if code := h.within(d, rows.first, rows.last, rows.parts, limit); code != "" {
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

// within returns the data with rows from token first to last, in so many parts of the attention, ""
// if they are larger than limit.
func (h *headsDrawing) within(d headsData, first, last, parts, limit int) string {
	d.First, d.Last, d.Coarse = first, last, parts == 100
	// Rows that take twice the room alone do not fit together: they are not all worked out.
	for i, size := 0, 0; i < h.Layers*h.Heads; i++ {
		if size > 2*limit {
			return ""
		}
		d.Rows = append(d.Rows, h.packedRows(i/h.Heads, i%h.Heads, first, last, float64(parts)))
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

// packedRows returns the rows of a head for the script. Each value has the colour and, unless it is
// coarse, the number of the picture.
func (h *headsDrawing) packedRows(layer, head, first, last int, parts float64) (rows []packedRow) {
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

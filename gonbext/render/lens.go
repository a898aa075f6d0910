package render

import (
	"cmp"
	"fmt"
	"github.com/headwater-ml/headwater/attribution/trace"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/study/lens"
)

func init() {
	RegisterView(View{
		Name: KindLens, Help: "what the model would have said after each layer", Method: "direct",
		Study: lens.Name,
		Takes: map[string]Media{
			"token": InAll, "methods": InAll, "lens": InAll, "all-layers": InAll,
			"all-levels": InAll,
		},
		Whole: "a picture of the kind lens has every token and layer",
		Options: func(s Show, o *attribution.Options) error {
			named := lens.Answer
			switch {
			case s.Token != nil:
				named = strconv.Itoa(*s.Token)
			case s.Word != "":
				named = attribution.OpeningToken
			}
			asked := cmp.Or(o.Studies[lens.Name], named)
			if named != lens.Answer && asked != named {
				return trace.Usagef("%s %s and a token of the picture; give one of the two",
					trace.Called("lens"), asked)
			}
			o.Ask(lens.Name, asked)
			return nil
		},
		Picture: func(s Show, e *attribution.Explanation, _ any) (Picture, error) {
			return Lens{Explanation: e, Token: s.Token, Look: s.Look()}, nil
		},
	})
}

// Lens is a picture of what the model would have said after each layer, for a notebook or a page:
// a matrix with a row for the input and one for each layer, the last one on top, and a column for
// each generated token. A cell has the most probable token there, shaded by its probability, and is
// marked where that is the token that came. For one token that [lens.Text] is about, the
// columns are the positions of the text before it, and cells are marked where the model would have
// said this token.
type Lens struct {
	// Explanation has the lens of every generated token; see package lens.
	Explanation *attribution.Explanation
	// Token is the generated token that is open, 0-based; nil is the one that the lens of the text
	// is about, if there is one, else a content word.
	Token *int
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
	// MaxBytes is the approximate limit of the result in bytes; default 480,000, of a page
	// 5,000,000.
	MaxBytes int
}

// Check returns a [trace.UsageError] if the explanation lacks the lens, or what it has of it does
// not fit its tokens.
func (r Lens) Check() error {
	e := r.Explanation
	if e == nil {
		return usagef("a picture of the lens needs an explanation")
	}
	layers := e.Model.Layers + 1
	if layers < 1 {
		return usagef("a model of %d layers has no lens", e.Model.Layers)
	}
	damaged := func(l lens.Layer) bool { return len(l.Likely) == 0 || l.Rank < 1 }
	whole := func(all []lens.Layers) bool {
		return !slices.ContainsFunc(all, func(one lens.Layers) bool {
			return len(one) != layers || slices.ContainsFunc(one, damaged)
		})
	}
	for t, g := range e.Steps {
		if !whole([]lens.Layers{lens.OfToken(g)}) {
			return usagef("token %d has no lens of the %d layers of the model: explain with "+
				"--view lens or --set lens=answer, or in a cell with "+
				"Studies{\"lens\": \"answer\"} of the options", t, e.Model.Layers)
		}
	}
	for t, g := range e.Steps {
		if at := g.Position; e.Model.Reads() && (at == nil || *at < 0 || *at >= textLength(e)) {
			return usagef("prediction %d has no position in the text", t)
		}
	}
	if l := lens.Of(e); l != nil && (l.Token < 0 || l.Token >= len(e.Steps) ||
		!whole(l.Positions) || len(l.Positions) < 1 || len(l.Positions) > textLength(e) ||
		len(l.Attention) != len(l.FeedForward) ||
		len(l.Attention) > 0 && len(l.Attention) != e.Model.Layers) {
		return usagef("the lens of token %d at %d positions does not fit a text of %d tokens",
			l.Token, len(l.Positions), textLength(e))
	}
	return nil
}

// lensDrawing is a picture of the lens worked out and not yet drawn. Its columns are those of the
// matrix: of the generated tokens or, with positions, of the text, which fold where the text does.
type lensDrawing struct {
	*drawing
	positions *lens.Text // nil for generated tokens
	matrix    []TextColumn
}

// matrixTitle is the title of the matrix, and what is marked in it.
func (d *lensDrawing) matrixTitle() (title, note string) {
	if d.positions == nil {
		return "What it would have said after each layer", "framed: what it did say"
	}
	note = "framed: “" + tokenName(d.e.Steps[d.chosen].Text) + "”"
	if d.wrote(d.e.Model.Layers) != "" {
		note += "; at the right: what attention and feed-forward wrote of its logit"
	}
	return "What it would have said at each position", note
}

// open works out what a picture of the lens shows. The lens fits.
func (r Lens) open() *lensDrawing {
	l := lens.Of(r.Explanation)
	if l != nil && r.Token == nil {
		r.Token = &l.Token
	}
	d := &lensDrawing{drawing: newDrawing(textPicture(r.Explanation, r.Look), r.Token)}
	d.words.title = "What the model would have said after each layer"
	if d.chosen < 0 && len(d.e.Steps) > 0 {
		d.chosen = 0
	}
	if l != nil && l.Token == *r.Token {
		d.positions = l
		d.words.title = "Where the text held the token, layer by layer"
		places := make([]float64, len(l.Positions))
		for at, layers := range l.Positions {
			for _, layer := range layers {
				places[at] = max(places[at], layer.Probability)
			}
		}
		d.columns = d.fold(places)
		d.matrix = d.columns
		return d
	}
	for t := range d.e.Steps {
		at := max(d.tokenOf(t), 0)
		d.matrix = append(d.matrix, TextColumn{From: at, To: at + 1})
	}
	return d
}

// layersOf returns the lens of column i of the matrix, nil if it is folded, and the token of which
// its marks are.
func (d *lensDrawing) layersOf(i int) (lens.Layers, *attribution.GeneratedToken) {
	switch {
	case d.positions == nil:
		return lens.OfToken(d.e.Steps[i]), &d.e.Steps[i]
	case d.matrix[i].Folded:
		return nil, &d.e.Steps[d.chosen]
	}
	return d.positions.Positions[d.matrix[i].From], &d.e.Steps[d.chosen]
}

// unread is how many layers, from the first on, leave all columns as they are at the input: those
// of the encoder, where columns are tokens of the target.
func (d *lensDrawing) unread() int {
	if d.positions != nil {
		return 0
	}
	return d.e.Model.EncoderLayers
}

// rows returns the rows of the lens, the last one first: the input, and each layer that works on a
// column.
func (d *lensDrawing) rows() (rows []int) {
	for l := d.e.Model.Layers; l > d.unread(); l-- {
		rows = append(rows, l)
	}
	return append(rows, 0)
}

// rowName is the name of row l of the lens: the number of the layer after which the head reads.
func (d *lensDrawing) rowName(l int) string {
	switch {
	case l <= d.unread():
		return "input"
	case l == d.e.Model.Layers:
		return d.e.Model.LayerLabel(l-1) + " (last)"
	}
	return d.e.Model.LayerLabel(l - 1)
}

// afterRows tells where the head reads in rows from..to of the lens: "after layers 3 to 5".
func (d *lensDrawing) afterRows(from, to int) string {
	last, unread := "", d.unread()
	if to <= unread {
		to = 0
	}
	if from <= unread {
		from = 0
	}
	if to == d.e.Model.Layers {
		last = " (the last)"
	}
	switch {
	case to == 0:
		return "at the input"
	case from == to && last != "":
		return fmt.Sprintf("after the last layer (%s)", d.e.Model.LayerLabel(to-1))
	case from == to:
		return "after " + d.e.Model.LayerName(to-1)
	case from == 0:
		return "at the input and " + d.afterRows(unread+1, to)
	}
	return "after " + d.e.Model.LayerRange(from-1, to-1) + last
}

// explain returns the sentence about prediction t and the line below it.
func (d *lensDrawing) explain(t int) (say, facts Phrase) {
	g, last := &d.e.Steps[t], d.e.Model.Layers
	layers := lens.OfToken(*g)
	from := last + 1
	for from > 0 && layers[from-1].Rank == 1 {
		from--
	}
	say = Phrase{{text: tokenName(g.Text), strong: true}}
	if d.tokenOf(t) >= len(d.e.Prompt.Texts) {
		say = d.wordOf(d.tokenOf(t))
	}
	say = quoted(say)
	if from > last {
		best := 0
		for l, layer := range layers {
			if layer.Rank <= layers[best].Rank {
				best = l
			}
		}
		say.Say(fmt.Sprintf(" was not first %s: it had rank %s, and at best %s, %s",
			d.afterRows(last, last), thousands(layers[last].Rank), thousands(layers[best].Rank),
			d.afterRows(best, best)))
	} else {
		at := ""
		if from < last {
			at = " " + d.afterRows(from, from)
		}
		say.Say(fmt.Sprintf(" was first %s, with %s%s", d.afterRows(from, last),
			rounded(layers[from].Probability), at))
	}
	if from > 0 && from <= last {
		other := layers[from-1].Likely[0]
		first := from - 1
		for first > 0 && layers[first-1].Likely[0].ID == other.ID {
			first--
		}
		say.Say("; before that ")
		say = append(say, quoted(Phrase{{text: tokenName(other.Text), strong: true}})...)
		say.Say(" " + d.afterRows(first, from-1))
	}
	const few = 10
	among := last + 1
	for among > 0 && layers[among-1].Rank <= few {
		among--
	}
	facts.Say(rounded(layers[last].Probability) + " " + d.afterRows(last, last))
	if among <= last {
		facts.Say(fmt.Sprintf(" · among the first %d %s", few, d.afterRows(among, last)))
	}
	facts.Say(" · rank " + thousands(layers[0].Rank) + " at the input")
	return say, facts
}

// runs lists what a lens says, layers with the same token together, with the probability at the
// last of them.
func (d *lensDrawing) runs(layers lens.Layers) string {
	var all []string
	for from := 0; from < len(layers); {
		to := from + 1
		one := layers[from].Likely[0]
		for to < len(layers) && layers[to].Likely[0].ID == one.ID {
			to++
		}
		rows := d.rowName(from)
		if last := d.rowName(to - 1); last != rows {
			rows += "–" + last
		}
		all = append(all, fmt.Sprintf("%s: %s %s", rows, tokenName(one.Text),
			rounded(layers[to-1].Likely[0].Probability)))
		from = to
	}
	return strings.Join(all, " · ")
}

// line returns what column i says in a line: its name and its runs, or, with positions, how near
// the token came there.
func (d *lensDrawing) line(i int) (name, list string) {
	layers, _ := d.layersOf(i)
	if d.positions == nil {
		where, what, chance := d.predictionText(i)
		return where + what + " " + chance, d.runs(layers)
	}
	if layers == nil {
		return "", ""
	}
	best, last := 0, len(layers)-1
	for l, layer := range layers {
		if layer.Rank < layers[best].Rank {
			best = l
		}
	}
	return d.placedName(d.matrix[i].From), fmt.Sprintf("at best rank %s, %s (%s); %s %s",
		thousands(layers[best].Rank), d.afterRows(best, best), rounded(layers[best].Probability),
		d.afterRows(last, last), tokenName(layers[last].Likely[0].Text))
}

// cell returns what stands in row l of column i: the step of its colour, the token, and whether it
// is the one that came.
func (d *lensDrawing) cell(i, l int) (step int, name string, came bool) {
	layers, g := d.layersOf(i)
	if layers == nil {
		largest := 0.0
		for at := d.matrix[i].From; at < d.matrix[i].To; at++ {
			largest = max(largest, d.positions.Positions[at][l].Probability)
		}
		return stepOf(largest), "", false
	}
	one := layers[l].Likely[0]
	return stepOf(one.Probability), tokenName(one.Text), one.ID == g.ID
}

// wrote returns what the layer of row l wrote of the token by attention and by its feed-forward
// part, "" if that is not known.
func (d *lensDrawing) wrote(l int) string {
	if d.positions == nil || len(d.positions.Attention) == 0 || l == 0 {
		return ""
	}
	signed := func(x float64) string {
		if text := fmt.Sprintf("%+.1f", x); text != "-0.0" && text != "+0.0" {
			return text
		}
		return "0"
	}
	return minus(signed(d.positions.Attention[l-1]) + " " + signed(d.positions.FeedForward[l-1]))
}

const (
	lensLegend = "A row is a layer, and each cell the token that the model would have said if " +
		"its last layer had been this one: the head of the model reads what the layers up to " +
		"there have written (the logit lens). After the last layer, that is what it said. Early " +
		"layers do not write for the head, so what it reads there may mean little"
	lensWrote = "the parts of its logit that attention and feed-forward of each layer wrote, " +
		"against the next most probable tokens or the contrast"
)

// board works out what the picture shows.
func (r Lens) board() *Board {
	d := r.open()
	b := &Board{
		drawing: d.drawing, Kind: "lens", MaxBytes: r.MaxBytes,
		Scale:  NewScale("probability of the token in the cell", attribution.Share, []float64{1}),
		Legend: lensLegend + ".", Details: "how to read this, every column in a line",
		Caption: []string{d.quotedPrompt()},
		Table: Table{
			Readout: Readout{Pattern: layerReadout},
			Words:   true, Over: d.matrix, Target: "after layer", Source: "generated token",
		},
	}
	b.Table.Axis = "layer"
	b.Table.Title, b.Table.Note = d.matrixTitle()
	if d.chosen < 0 {
		return b
	}
	open := func(t int) Opening {
		o := Opening{Token: d.tokenOf(t), Column: t, Row: -1}
		o.Say, o.Facts = d.explain(t)
		return o
	}
	if b.Opened = open(d.chosen); d.positions == nil {
		for t := range d.e.Steps {
			b.Opens = append(b.Opens, open(t))
		}
		b.At, b.By = d.chosen, ByColumn
	} else {
		b.Opened.More, b.Opened.Steps = d.mostWritten(), d.steps()
		b.Opened.Column = len(d.matrix) - 1
		b.Table.Source, b.Table.At, b.Table.Bands = "position in the text", "read at ", true
	}
	b.Notes = []string{plain(b.Opened.Say.String()) + ". " + plain(b.Opened.Facts.String()) + "."}
	if d.wrote(d.e.Model.Layers) != "" {
		b.Table.Last = []string{"of its logit"}
		b.Notes = append(b.Notes, "At the right: "+lensWrote+".")
		b.PageLegend = " At the right: " + lensWrote + "."
	}
	d.fill(b)
	return b
}

// layerReadout is what a readout of a token after a layer says.
var layerReadout = [][]string{
	{"before"}, {"", ": "}, {"first", "b"}, {"others"}, {"", " · "}, {"about", "b"}, {"", " "},
	{"own"}, {"place"}, {"after"},
}

// fill fills the table and the lines of a board.
func (d *lensDrawing) fill(b *Board) {
	t := &b.Table
	for i, c := range d.matrix {
		_, g := d.layersOf(i)
		t.Columns, t.About = append(t.Columns, d.columnName(c)), append(t.About, tokenName(g.Text))
		name, list := d.line(i)
		if list == "" {
			continue
		}
		page, inText := Line{Name: name, Say: Phrase{{text: name, strong: true}}, List: list},
			Line{Name: left(" "+name, 5) + "  ", List: list}
		if d.positions == nil {
			page.Say, page.Facts = b.Opens[i].Say, b.Opens[i].Facts
			inText.Name = fmt.Sprintf("%3d  ", i+1)
			inText.Say = append(Phrase{{text: name + " · "}}, page.Say...)
		}
		b.Lines, b.Lists = append(b.Lines, page), append(b.Lists, inText)
	}
	for _, l := range d.rows() {
		row := Row{Name: d.rowName(l)}
		t.Before = append(t.Before, d.afterRows(l, l))
		if t.Last != nil {
			row.Ends = []string{d.wrote(l)}
			after := ""
			if attention, forward, ok := strings.Cut(d.wrote(l), " "); ok {
				after = " · of its logit: attention " + attention + ", feed-forward " + forward
			}
			t.After = append(t.After, after)
		}
		for i, c := range d.matrix {
			cell := Cell{First: d.positions != nil && d.isFirstGenerated(c)}
			cell.Step, cell.Text, cell.Marked = d.cell(i, l)
			cell.Grey, cell.Detail = cell.Step == 0, d.detail(i, l)
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
}

// mostLikely is how many tokens a readout names.
const mostLikely = 5

// detail returns what a readout says of row l of column i: the most probable tokens, and how
// probable the token is that the column is about.
func (d *lensDrawing) detail(i, l int) string {
	layers, _ := d.layersOf(i)
	if layers == nil {
		return ""
	}
	one, names := layers[l], []string{}
	for _, a := range one.Likely[:min(len(one.Likely), mostLikely)] {
		names = append(names, tokenName(a.Text)+" "+rounded(a.Probability))
	}
	others := ""
	for _, name := range names[1:] {
		others += ", " + name
	}
	return fmt.Sprintf("%s\t%s\t%s · rank %d", names[0], others, rounded(one.Probability), one.Rank)
}

// steps returns the colours of the text: of positions, how probable the token was there at best.
func (d *lensDrawing) steps() []int {
	steps := make([]int, len(d.tokens))
	for at, layers := range d.positions.Positions {
		for _, layer := range layers {
			steps[at] = max(steps[at], stepOf(layer.Probability))
		}
	}
	return steps
}

func (r Lens) draw() drawer { return r.board() }

// mostWritten names the layers that wrote most of the token of the positions, "" if that is not
// known.
func (d *lensDrawing) mostWritten() string {
	if d.positions == nil || len(d.positions.Attention) == 0 {
		return ""
	}
	most := func(x []float64) string {
		best := 0
		for l := range x {
			if x[l] > x[best] {
				best = l
			}
		}
		return fmt.Sprintf("%s (%+.1f)", d.e.Model.LayerName(best), x[best])
	}
	return minus("largest parts of its logit: attention of " + most(d.positions.Attention) +
		", feed-forward of " + most(d.positions.FeedForward))
}

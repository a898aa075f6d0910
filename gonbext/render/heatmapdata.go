package render

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// heatmapData is what the script of a heatmap needs. Its texts are visible names; see [Visible].
type heatmapData struct {
	N int `json:"n"` // rows
	// Chosen is the row and Lead the name of the method that the picture opens with.
	Chosen int    `json:"chosen"`
	Lead   string `json:"lead"`
	textData
	// Positions are, for encoders, the tokens that rows belong to, and RowNames the names of rows.
	Positions []int    `json:"positions,omitempty"`
	RowNames  []string `json:"rowNames,omitempty"`
	// Targets says that each row has its own target as a source, which is grey. Hidden are the
	// tokens that a filter hides.
	Targets bool  `json:"targets,omitempty"`
	Hidden  []int `json:"hidden"`
	// Chances are the probabilities of rows, empty for none; where two prompts or models are
	// compared, those of both sides.
	Chances  []string `json:"chances"`
	Compared bool     `json:"compared,omitempty"` // the methods are two sides and A − B
	// Alternatives are what could have come, one list for each of these sides: names,
	// probabilities, and 1 for what came.
	Alternatives [][][][3]any `json:"alternatives"`
	Others       string       `json:"others"`
	Chance       string       `json:"chance"`
	Row          string       `json:"row"`
	// Title is that of the matrix and of the list, of which Notes say how to read them.
	Title   string      `json:"title"`
	Notes   [2]string   `json:"notes"`
	Methods []drawnRows `json:"methods"`
	// Aligned draws links from the start.
	Aligned bool `json:"aligned,omitempty"`
	// Finer is the picture of the tokens that this one joins to words.
	Finer *finerData `json:"finer,omitempty"`
	// Scores are those of the tokens of the text, in the form of the JSON of an explanation.
	Scores []*drawnScores `json:"scores,omitempty"`
}

// finerData is a picture without what the script does not need: its markup and its data.
type finerData struct {
	Markup string      `json:"markup"`
	Data   heatmapData `json:"data"`
}

// mostLayers is how many layers a model has at most. In a damaged file there may be any number.
const mostLayers = 1 << 10

// textData is what a script needs of a text.
type textData struct {
	// ID is the same for all pictures of one kind and explanation while it grows. What a reader
	// chose is kept by it.
	ID       string   `json:"id"`
	Palettes []string `json:"palettes"`
	// M is the number of prompt tokens, and Sources that of tokens that have a column.
	M       int `json:"m"`
	Sources int `json:"sources"`
	// Names are those of all tokens of the text, Roles has a letter for each, and Spaces a 1 where
	// a space stands before it and a 2 where a line break does that is in no name.
	Names []string `json:"names"`
	// Words has the first token of the word of each token.
	Words []int `json:"words"`
	// ColumnNames are the names of spans above their columns, nil for tokens.
	ColumnNames []string `json:"columnNames,omitempty"`
	Roles       string   `json:"roles"`
	Spaces      string   `json:"spaces"`
	// Turns are the names of the turns with the tokens [from,to) of each; Chat says that a chat
	// template wrote them, and Given is what the given text is called.
	Turns [][3]any `json:"turns"`
	Chat  bool     `json:"chat,omitempty"`
	Given string   `json:"given"`
	// Of a model of two stacks, Answer is what the generated text is called, Begins the token with
	// which the target begins, and LayerLabels are the names of the layers; nil for others.
	Answer      string   `json:"answer,omitempty"`
	Begins      *int     `json:"begins,omitempty"`
	LayerLabels []string `json:"layerLabels,omitempty"`
	// Columns are the tokens [from,to) of each column, and the name of a fold, "" for no fold.
	// Units are what tokens are called, and Whole says that they are words. Sorts has a letter for
	// each token: f for a function word, m for marks alone, w for others.
	Columns [][3]any `json:"columns"`
	Units   string   `json:"units"`
	Whole   bool     `json:"whole,omitempty"`
	Sorts   string   `json:"sorts"`
	// Absent are the tokens that have no element in the text.
	Absent []int `json:"absent,omitempty"`
}

// textData returns the text for the script of a kind of picture.
func (d *drawing) textData(kind string, sources int) textData {
	t := textData{
		ID: hashOf(strings.Join([]string{
			d.e.Model.Name, d.e.Model.Hash, d.e.Prompt.Text, kind,
		}, "\x00")),
		Palettes: PaletteNames(), M: len(d.e.Prompt.Texts), Sources: sources,
		Chat: d.chat(), Given: d.words.text, Turns: [][3]any{}, Columns: [][3]any{},
		Units: "tokens", Whole: d.e.ByWords(),
	}
	if d.e.ByWords() {
		t.Units = "words"
	}
	if d.targetBegin >= 0 {
		t.Answer, t.Begins = d.words.answer, &d.targetBegin
		for l := range min(d.e.Model.Layers, mostLayers) {
			t.LayerLabels = append(t.LayerLabels, d.e.Model.LayerLabel(l))
		}
	}
	for j, token := range d.tokens {
		first, _ := d.wordAround(j)
		t.Names, t.Words = append(t.Names, isolated(token.name)), append(t.Words, first)
		t.Roles += string(token.role)
		if !d.inText(j) {
			t.Absent = append(t.Absent, j)
		}
		switch {
		case slices.Contains(functionWords, strings.ToLower(token.name)):
			t.Sorts += "f"
		case !token.spoken():
			t.Sorts += "m"
		default:
			t.Sorts += "w"
		}
		switch {
		case j > 0 && strings.Contains(d.tokens[j-1].ends, "↵"):
			t.Spaces += "2"
		case token.space:
			t.Spaces += "1"
		default:
			t.Spaces += "0"
		}
	}
	for j := range d.e.Prompt.Texts {
		if d.e.Spans() && !d.e.ByWords() {
			t.ColumnNames = append(t.ColumnNames, d.shortIn(j, headColumns))
		}
	}
	for _, turn := range d.turns {
		t.Turns = append(t.Turns, [3]any{turn.name, turn.head[0], max(turn.body[1], turn.tail[1])})
	}
	for _, c := range d.columns {
		t.Columns = append(t.Columns, [3]any{c.From, c.To, c.Name})
	}
	return t
}

// drawnRows are the rows of a method.
type drawnRows struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"`
	Wrong string `json:"wrong,omitempty"` // why there are no rows
	// Kind is share, lift or amount; Layer names the layer of the values.
	Kind  string `json:"kind,omitempty"`
	Layer string `json:"layer,omitempty"`
	// For and Against are the names of the two sides of a scale.
	For     string `json:"for,omitempty"`
	Against string `json:"against,omitempty"`
	Signed  bool   `json:"signed,omitempty"`
	// Difference says that the values are those of side A minus those of side B.
	Difference bool `json:"difference,omitempty"`
	// Limit is the end of the scale. Digits, RowDigits and CellDigits are how many digits follow
	// the point; Power is the unit of cells, and Times its name.
	Limit      float64 `json:"limit,omitempty"`
	Digits     int     `json:"digits"`
	RowDigits  []int   `json:"rowDigits,omitempty"`
	CellDigits int     `json:"cellDigits"`
	Power      int     `json:"power,omitempty"`
	Times      string  `json:"times,omitempty"`
	// Maximum says that a group has the highest of its values and not the sum.
	Maximum bool `json:"maximum,omitempty"`
	// Grey are the sources that are in no scale, Sinks has for each row the token that is a sink of
	// it alone, or -1, and Silent why a row says nothing.
	Grey   []int          `json:"grey"`
	Sinks  []int          `json:"sinks,omitempty"`
	Silent map[int]string `json:"silent,omitempty"`
	// Has is the number of rows. Row t has M values, and with Own those of the t generated tokens
	// before it (1), or of itself too (2).
	Has int `json:"has"`
	// Source is how much of each row comes from the source of a model of two stacks, null where
	// that has no meaning; nil if it is not known.
	Source []*float64 `json:"source,omitempty"`
	// Links are the tokens of the source that rows are linked with, -1 for none, of a model of two
	// stacks.
	Links []int       `json:"links,omitempty"`
	Own   int         `json:"own,omitempty"`
	Rows  []packedRow `json:"rows,omitempty"`
	// Named are the sources of each row that stand out and that its facts list, in their order.
	Named [][]int `json:"named,omitempty"`
	// Whole is what each row explains, of which its values are parts, null where that is not known;
	// WholeIs names it. Tests are the tables of the tests of rows.
	Whole   []*float64          `json:"whole,omitempty"`
	WholeIs string              `json:"wholeIs,omitempty"`
	Tests   map[int][][2]string `json:"tests,omitempty"`
	// Said is how many of them the sentence of each row names, the first ones.
	Said []int `json:"said,omitempty"`
}

// data returns what the script needs.
func (b heatmapPage) data() heatmapData {
	kind := "heatmap"
	if b.comparison != nil {
		kind = strings.Join(b.comparison.names[:], "\x00")
	}
	if b.e.ByWords() {
		kind += " of words"
	}
	d := heatmapData{
		textData: b.textData(kind, b.sourceCount()), N: len(b.e.Steps), Chosen: b.chosen,
		Lead:      Visible(b.views[b.lead].name, nameLimit),
		Positions: b.positions(), Targets: b.itself(0, len(b.e.Prompt.Texts)),
		Hidden: []int{}, Compared: b.comparison != nil,
		Others: "What it could have written", Chance: "next token", Row: "generated token",
		Title: b.rowsTitle(), Notes: b.notes(), Scores: b.scores(), Aligned: b.aligned,
	}
	if b.e.Model.Reads() {
		d.Others, d.Chance, d.Row = "What it could have been", b.words.chance, "prediction"
	}
	for j := range b.tokens {
		if b.hidden[j] && j < d.Sources {
			d.Hidden = append(d.Hidden, j)
		}
	}
	sides := []*attribution.Explanation{b.e}
	if c := b.comparison; c != nil && c.about != nil {
		sides = []*attribution.Explanation{c.Sides[0].Explanation, c.Sides[1].Explanation}
	}
	d.Alternatives = make([][][][3]any, len(sides))
	for t := range b.e.Steps {
		var chances []string
		for i, side := range sides {
			g := side.Steps[t]
			d.Alternatives[i] = append(d.Alternatives[i], alternativesFor(g))
			if chances = append(chances, ""); !g.Unscored {
				chances[i] = rounded(g.Probability)
			}
		}
		d.Chances = append(d.Chances, both(chances[0], chances[len(chances)-1]))
		if b.e.Model.Reads() {
			d.RowNames = append(d.RowNames, b.rowName(t))
		}
	}
	for i := range b.views {
		d.Methods = append(d.Methods, b.rowsOf(&b.views[i]))
	}
	return d
}

// alternativesFor returns the first tokens that could have come in a step.
func alternativesFor(g attribution.GeneratedToken) (others [][3]any) {
	for _, a := range g.Alternatives[:min(len(g.Alternatives), 5)] {
		me := 0
		if a.ID == g.ID {
			me = 1
		}
		others = append(others, [3]any{alternativeName(g, a), a.Probability, me})
	}
	return others
}

// positions returns where an encoder's predictions are, [N]; nil for a decoder.
func (b heatmapPage) positions() (positions []int) {
	if !b.e.Model.Reads() {
		return nil
	}
	for _, g := range b.e.Steps {
		at := -1
		if g.Position != nil && *g.Position >= 0 && *g.Position < len(b.e.Prompt.Texts) {
			at = *g.Position
		}
		positions = append(positions, at)
	}
	return positions
}

// heatmapParts is into how many parts the largest value of a row is divided: a reader may choose
// groups, whose values are sums.
var heatmapParts = []float64{1 << 18, 1 << 22}

// packed returns a row of values of target t, each of which is written as sentences write it.
func (v *view) packed(t int, row []float64) packedRow {
	digits := &v.rows[t]
	return packRow(row, heatmapParts, math.Inf(1), func(j int, near float64) bool {
		return digits.value(row[j]) == digits.value(near)
	})
}

// scaled returns the scale of a method, without rows.
func (v *view) scaled() drawnRows {
	r := drawnRows{Name: Visible(v.name, nameLimit), Wrong: v.wrong, Grey: []int{}}
	if v.wrong != "" {
		return r
	}
	r.Unit, r.Layer, r.Kind = Visible(v.top.unit, 2*nameLimit), v.layers(), "amount"
	switch {
	case v.top.percent:
		r.Kind = "share"
	case v.top.lift:
		r.Kind = "lift"
	}
	r.Signed, r.For, r.Against = v.top.signed, "for it", "against it"
	switch contrast := v.contrast(); {
	case v.difference:
		r.Difference, r.For, r.Against = true, "more in A", "more in B"
	case contrast != "":
		r.Against = "for " + contrast
	case r.Kind == "lift":
		r.For, r.Against = "more than position explains", "less"
	case !r.Signed:
		r.For = ""
	case v.result.Evidence == trace.Written: // without such a token the answer may be less probable
		r.For, r.Against = "written for it", "written against it"
	}
	r.Limit, r.Digits, r.CellDigits = v.colors.limit, v.top.digits, v.cellDigits()
	r.Power, r.Times = v.top.power, v.top.times()
	return r
}

// rowsOf returns the rows of a method.
func (b heatmapPage) rowsOf(v *view) drawnRows {
	r := v.scaled()
	if v.wrong != "" {
		return r
	}
	parts := v.result
	if v.difference {
		parts = b.comparison.Results[0]
	}
	r.Maximum = !v.top.percent && !parts.AddsUp
	for j := range b.sourceCount() {
		if j < len(v.sinks) && v.sinks[j] || b.hidden[j] {
			r.Grey = append(r.Grey, j)
		}
	}
	if slices.ContainsFunc(v.rowSinks, func(j int) bool { return j >= 0 }) {
		r.Sinks = v.rowSinks
	}
	r.Has, r.Links = v.result.Shape[0], v.links
	for t := range v.contribution {
		r.Source = append(r.Source, finite(v.contribution[t]))
	}
	if v.generated {
		r.Own = 1 + v.own
	}
	r.Silent, r.Tests, r.WholeIs = map[int]string{}, map[int][][2]string{}, v.wholeName()
	for t := r.Has; t < len(b.e.Steps) && v.difference; t++ {
		r.Silent[t] = b.uncompared(v, t)
	}
	for t := range r.Has {
		if v.silent[t] != "" {
			r.Silent[t] = Visible(v.silent[t], 200)
		}
		row := make([]float64, v.sources(t))
		for j := range row {
			row[j] = v.at(t, j)
		}
		r.Rows = append(r.Rows, v.packed(t, row))
		said, _ := b.namedSources(v, t)
		r.Said = append(r.Said, len(said))
		r.Named = append(r.Named, append([]int{}, slices.Concat(b.listedSources(v, t))...))
		if test := b.testRows(v, t); test != nil {
			r.Tests[t] = test
		}
		if t < len(v.result.Residue) && !v.difference {
			whole := v.sum(t) + v.result.Residue[t]
			whole, _ = strconv.ParseFloat(strconv.FormatFloat(whole, 'g', 6, 64), 64)
			r.Whole = append(r.Whole, finite(whole))
		}
		r.RowDigits = append(r.RowDigits, v.rows[t].digits)
	}
	if !slices.ContainsFunc(r.RowDigits, func(n int) bool { return n != r.Digits }) {
		r.RowDigits = nil
	}
	return r
}

// finite returns a number, or nil if it is infinite or NaN.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

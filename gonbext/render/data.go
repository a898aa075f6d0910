package render

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
)

// scriptData is what the script needs beyond the elements of the picture. It has numbers, and names
// of layers, but no text of a user or a model: the script reads those from the elements.
type scriptData struct {
	// ID is the same for all pictures of one explanation while it grows. What a reader chose is
	// kept by it.
	ID string `json:"id"`
	// PromptTokens and Targets are the numbers of prompt tokens and of generated tokens; Target is
	// the generated token and Method the method that colour the text at first.
	PromptTokens int `json:"promptTokens"`
	Targets      int `json:"targets"`
	Target       int `json:"target"`
	Method       int `json:"method"`
	// Positions are, for encoders, the prompt tokens that predictions belong to, [Targets].
	Positions []int `json:"positions,omitempty"`
	// GeneratedColumns is the number of columns of generated tokens in the matrices.
	GeneratedColumns int `json:"generatedColumns,omitempty"`
	// Answer is, for decoders, what the script calls generated tokens.
	Answer string `json:"answer,omitempty"`
	// AllMatrices says that all matrices are shown at first.
	AllMatrices bool `json:"allMatrices,omitempty"`
	// Words and Sentences are spans of prompt tokens that a reader may choose instead of tokens;
	// see spanStarts. Sentences is empty if there is only one.
	Words     []int `json:"words,omitempty"`
	Sentences []int `json:"sentences,omitempty"`
	// Grouped says that prompt tokens are words or spans already.
	Grouped bool `json:"grouped,omitempty"`
	// GreyItself says that each row has its own target as a source, which is grey.
	GreyItself bool `json:"greyItself,omitempty"`
	// Palette is the number of the palette.
	Palette int `json:"palette,omitempty"`
	// Rounded says that the rows of the methods are rounded: there was no room for more.
	Rounded bool         `json:"rounded,omitempty"`
	Methods []scriptView `json:"methods"`
}

// scriptView is one method.
type scriptView struct {
	// Percent says that values are shares, and Lift that they are ratios. Limit is the limit of the
	// scale.
	Percent bool    `json:"percent,omitempty"`
	Lift    bool    `json:"lift,omitempty"`
	Signed  bool    `json:"signed,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
	// Digits and CellDigits are how many digits follow the point; Power is the unit of cells.
	Digits     int `json:"digits"`
	CellDigits int `json:"cellDigits"`
	Power      int `json:"power,omitempty"`
	// Grey are the sources that are sinks or filtered; source m+q is generated token q. Silent are
	// the rows without colours.
	Grey   []int `json:"grey,omitempty"`
	Silent []int `json:"silent,omitempty"`
	// RowSinks has, for each row, the source that is a sink of it alone, or -1; absent if none is.
	RowSinks []int `json:"rowSinks,omitempty"`
	// Rows has the values of each row at the level shown, of lifts their logarithms: those of the
	// m prompt tokens, and with Own those of the t generated tokens before row t (Own 1), or of
	// itself too (Own 2).
	Own  int         `json:"own,omitempty"`
	Rows []packedRow `json:"rows,omitempty"`
	// RowDigits are the digits that follow the point in each row, where rows differ.
	RowDigits []int `json:"rowDigits,omitempty"`
	// Shown is the level shown of each token, Layers the layer of each level, and Levels has the
	// rows of all levels of each token. LevelsRounded says that these are rounded.
	Shown         []int         `json:"shown,omitempty"`
	Layers        []int         `json:"layers,omitempty"`
	Levels        [][]packedRow `json:"levels,omitempty"`
	LevelsRounded bool          `json:"levelsRounded,omitempty"`
	// Combined says that the values of a level are about all layers up to it.
	Combined bool `json:"combined,omitempty"`
	// Maximum says that a word has the largest value of its tokens and not the sum.
	Maximum bool `json:"maximum,omitempty"`
}

// data returns the attribute for the script, or "" if there is nothing to choose or no room.
func (b *page) data(left int) string {
	if !b.touchable() {
		return ""
	}
	d, size := b.dataWithin(left)
	for i := range b.views {
		b.addLevels(&b.views[i], &d.Methods[i], &size, left)
	}
	return packWithin(left, d)
}

// touchable reports whether there is something to choose.
func (b *page) touchable() bool {
	return len(b.e.Prompt.Texts) > 0 && len(b.e.Steps) > 0 && b.lead >= 0
}

// reserved returns the room to keep for the script, of what is left: that of the values of the
// level shown, if they take a quarter of it at most. Without it a picture that grows would lose its
// buttons and what a reader chose as soon as the details of its tokens need all room.
func (b *page) reserved(left int) int {
	if !b.touchable() {
		return 0
	}
	_, size := b.dataWithin(left / 4)
	return max(min(size, left), 0)
}

// dataWithin returns what the script needs, without layers, and how large it is, packed. The values
// of the level shown are rounded if those of all methods do not fit the limit, and left out if they
// do not fit then.
func (b *page) dataWithin(limit int) (d scriptData, size int) {
	d = b.scriptFacts()
	for i := range b.views {
		d.Methods = append(d.Methods, b.scriptView(&b.views[i]))
	}
	without := len(pack(d))
	for _, d.Rounded = range []bool{false, true} {
		for i := range b.views {
			d.Methods[i].Rows = b.views[i].shownRows(!d.Rounded)
		}
		if !d.Rounded {
			b.addSpans(&d)
		}
		if size = len(pack(d)); size <= limit {
			return d, size
		}
		d.Words, d.Sentences = nil, nil
	}
	for i := range d.Methods {
		d.Methods[i].Rows = nil
	}
	return d, without
}

// scriptFacts returns what the script needs besides the methods.
func (b *page) scriptFacts() scriptData {
	m := len(b.e.Prompt.Texts)
	d := scriptData{
		ID: b.id(), PromptTokens: m, Targets: len(b.e.Steps), Target: b.chosen, Method: b.lead,
		Grouped: grouped(b.e), GreyItself: b.itself(0, m), AllMatrices: b.comparison != nil,
		Positions: b.positions(), GeneratedColumns: b.extraColumns(), Palette: b.palette.number(),
	}
	if !b.e.Model.Reads() {
		d.Answer = b.words.answer
	}
	return d
}

// addSpans adds words and sentences, whose values are sums of numbers.
func (b *page) addSpans(d *scriptData) {
	p := &b.e.Prompt
	if grouped(b.e) || !p.Placed() {
		return
	}
	d.Words = spanStarts(p.Words(), d.PromptTokens)
	sentences, several := p.Sentences(), 0
	for _, s := range sentences {
		// Control tokens, and white space between sentences, are spans too.
		if !p.Special[s.Tokens[0]] && strings.TrimSpace(s.Text) != "" {
			several++
		}
	}
	if several > 1 {
		d.Sentences = spanStarts(sentences, d.PromptTokens)
	}
}

// id returns a name for what is explained: by which model, of which text.
func (b *page) id() string {
	what := b.e.Model.Name + "\x00" + b.e.Model.Hash + "\x00" + b.e.Prompt.Text
	if b.comparison != nil {
		what += "\x00" + strings.Join(b.comparison.names[:], "\x00")
	}
	return hashOf(what)
}

// hashOf returns the name of a picture, by which a script knows it again, from what it shows.
func hashOf(what string) string {
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:4])
}

// spanStarts returns for each of m prompt tokens the first token of its span; nil if every token is
// a span of its own.
func spanStarts(spans []attribution.Span, m int) []int {
	starts, several := make([]int, m), false
	for j := range starts {
		starts[j] = j
	}
	for _, s := range spans {
		for _, j := range s.Tokens[1:] {
			starts[j], several = s.Tokens[0], true
		}
	}
	if !several {
		return nil
	}
	return starts
}

// positions returns where an encoder's predictions are, [N]; nil for a decoder.
func (b *page) positions() (positions []int) {
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

// scriptView returns what the script needs of one method besides its values.
func (b *page) scriptView(v *view) scriptView {
	if v.wrong != "" {
		return scriptView{}
	}
	s := scriptView{
		Percent: v.top.percent, Lift: v.top.lift, Signed: v.top.signed,
		Limit: v.linear(v.colors.limit), Digits: v.top.digits, CellDigits: v.cellDigits(),
		Power: v.top.power,
	}
	parts := v.result
	if v.difference {
		parts = b.comparison.result(0)
	}
	s.Maximum = !v.top.percent && !parts.AddsUp
	if v.generated {
		s.Own = 1 + v.own
	}
	for j := range len(v.sinks) + len(b.greyed) {
		if j < len(v.sinks) && v.sinks[j] || b.filtered(j) {
			s.Grey = append(s.Grey, j)
		}
	}
	for t, why := range v.silent {
		if why != "" {
			s.Silent = append(s.Silent, t)
		}
	}
	if slices.ContainsFunc(v.rowSinks, func(j int) bool { return j >= 0 }) {
		s.RowSinks = v.rowSinks
	}
	for _, row := range v.rows {
		s.RowDigits = append(s.RowDigits, row.digits)
	}
	if !slices.ContainsFunc(s.RowDigits, func(n int) bool { return n != s.Digits }) {
		s.RowDigits = nil
	}
	return s
}

// linear returns what the rows of a method count: the value, or for lifts its logarithm.
func (v *view) linear(x float64) float64 {
	if v.top.lift {
		return min(max(math.Log2(x), -12), 12)
	}
	return x
}

// unlinear returns the value that a row counts.
func (v *view) unlinear(x float64) float64 {
	if v.top.lift {
		return math.Exp2(x)
	}
	return x
}

// shownRows returns the rows of a method at the level shown, nil if its values do not fit the
// explanation; see packed.
func (v *view) shownRows(exact bool) (rows []packedRow) {
	for t := 0; v.has(t); t++ {
		rows = append(rows, v.packed(t, v.level(t), exact))
	}
	return rows
}

// packed returns the values of row t at level k for the script, each with the colour that it has in
// the picture. Exact numbers with a colour are also shown with the same digits, except where the
// row has one that is a million times as large.
func (v *view) packed(t, k int, exact bool) packedRow {
	var values []float64
	for j := range v.sources(t) {
		values = append(values, v.linear(v.atLevel(t, j, k)))
	}
	same := func(j int, near float64) bool {
		want, x := v.atLevel(t, j, k), v.unlinear(near)
		step := v.colors.step(want)
		return step == v.colors.step(x) &&
			(!exact || step == 0 || v.rows[t].value(want) == v.rows[t].value(x))
	}
	parts := roundedParts
	if exact {
		parts = exactParts
	}
	return packRow(values, parts, v.linear(v.colors.limit), same)
}

// addLevels adds the values of all levels of a method, if they fit, else rounded, if they fit then.
func (b *page) addLevels(v *view, s *scriptView, size *int, limit int) {
	if !b.layersShown(v) || s.Rows == nil {
		return
	}
	r := v.result
	for _, s.LevelsRounded = range []bool{false, true} {
		var levels [][]packedRow // [Targets][levels]
		for t := range r.Shape[0] {
			var rows []packedRow
			for k := range r.Shape[2] {
				rows = append(rows, v.packed(t, k, !s.LevelsRounded))
			}
			levels = append(levels, rows)
		}
		packed := len(pack(levels)) + 10*r.Shape[2] + 10*r.Shape[0]
		if *size+packed > limit {
			continue
		}
		*size += packed
		s.Levels, s.Layers, s.Combined = levels, slices.Clone(r.Layers), r.Combined
		for t := range r.Shape[0] {
			s.Shown = append(s.Shown, v.level(t))
		}
		return
	}
	s.LevelsRounded = false
}

package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html"
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
	// M and N are the numbers of prompt tokens and generated tokens; T is the chosen token and V
	// the method that colours it.
	M int `json:"m"`
	N int `json:"n"`
	T int `json:"t"`
	V int `json:"v"`
	// Positions are, for encoders, the prompt tokens that predictions belong to, [N].
	Positions []int `json:"p,omitempty"`
	// Extra is the number of columns of generated tokens in the matrices.
	Extra int `json:"G,omitempty"`
	// Terms are, for decoders, what the script calls generated tokens and the given text.
	Terms []string `json:"e,omitempty"`
	// All says that all matrices are shown at first.
	All bool `json:"a,omitempty"`
	// Words and Sentences are spans of prompt tokens that a reader may choose instead of tokens;
	// see spanCode. Sentences is empty if there is only one.
	Words     string `json:"W,omitempty"`
	Sentences string `json:"S,omitempty"`
	// Grouped says that prompt tokens are words or spans already.
	Grouped bool `json:"g,omitempty"`
	// Targets says that each row has its own target as a source, which is grey.
	Targets bool `json:"o,omitempty"`
	// Palette is the number of the palette.
	Palette int          `json:"c,omitempty"`
	Methods []scriptView `json:"d"`
}

// scriptView is one method.
type scriptView struct {
	// Kind is 0 for shares, 1 for lifts, 2 for other numbers; Limit is the limit of the scale.
	Kind   int     `json:"u"`
	Signed int     `json:"g,omitempty"`
	Limit  float64 `json:"lim"`
	// Digits and CellDigits are how many digits follow the point; Power is the unit of cells.
	Digits     int `json:"f"`
	CellDigits int `json:"c"`
	Power      int `json:"pw,omitempty"`
	// Grey are the sources that are sinks or filtered; source M+q is generated token q. Silent are
	// the rows without colours.
	Grey   []int `json:"s,omitempty"`
	Silent []int `json:"z,omitempty"`
	// RowSinks has, for each row, the source that is a sink of it alone, or -1; absent if none is.
	RowSinks []int `json:"h,omitempty"`
	// Top is the value that the codes of Rows count to. Rows has the values at the level shown,
	// two characters each, or three with Wide; see codes. Row t has M values, and with Own those of
	// the t generated tokens before it (Own 1), or of itself too (Own 2).
	Own  int     `json:"y,omitempty"`
	Top  float64 `json:"top,omitempty"`
	Rows string  `json:"w,omitempty"`
	// Wide says that values have three characters each.
	Wide bool `json:"W,omitempty"`
	// RowDigits are the digits that follow the point in each row, where rows differ.
	RowDigits []int `json:"F,omitempty"`
	// Paints has, instead of Rows, only the paints; see coarse.
	Paints []string `json:"r,omitempty"`
	// Shown is the level shown of each token, Layers the layer of each level, and Levels has the
	// paints of all levels of each token.
	Shown  []int    `json:"l,omitempty"`
	Layers []int    `json:"L,omitempty"`
	Levels []string `json:"k,omitempty"`
	// Deep says that Levels has the generated tokens that a row has as sources, too.
	Deep bool `json:"q,omitempty"`
	// Combined says that the values of a level are about all layers up to it.
	Combined bool `json:"o,omitempty"`
	// Maximum says that a word has the largest value of its tokens and not the sum.
	Maximum bool `json:"x,omitempty"`
}

// digits64 are the digits of codes: those of base64.
const digits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// codeMax is the largest number that two digits of a code hold, with a sign, and wideMax that of
// three.
const (
	codeMax = 2047
	wideMax = 1<<17 - 1
)

// data returns the attribute for the script, or "" if there is nothing to choose or no room.
func (b *page) data(left int) string {
	if !b.touchable() {
		return ""
	}
	d, size := b.dataWithin(left)
	for i := range b.views {
		b.addLevels(&b.views[i], &d.Methods[i], &size, left)
	}
	encoded, err := json.Marshal(d)
	if err != nil || size > left {
		return ""
	}
	return html.EscapeString(string(encoded))
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

// dataWithin returns what the script needs, without layers, and about how large it is. The values
// of the level shown are numbers if those of all methods fit the limit.
func (b *page) dataWithin(limit int) (d scriptData, size int) {
	m, n := len(b.e.Prompt.Texts), len(b.e.Steps)
	d = scriptData{
		ID: b.id(), M: m, N: n, T: b.chosen, V: b.lead, Grouped: grouped(b.e),
		Targets:   b.itself(0, m),
		All:       b.comparison != nil,
		Positions: b.positions(), Extra: b.extraColumns(), Palette: b.palette.number(),
	}
	if !b.e.Model.Reads() {
		d.Terms = []string{b.words.answer, b.words.text}
	}
	size = 1000
	numbers := size + 2*m + len(b.views)*(2*m*n+n*n+n+200+8*m)
	// Words and sentences are sums of numbers.
	if p := &b.e.Prompt; numbers <= limit && !grouped(b.e) && p.Placed() {
		d.Words = spanCode(p.Words(), m)
		sentences, several := p.Sentences(), 0
		for _, s := range sentences {
			// Control tokens, and white space between sentences, are spans too.
			if !p.Special[s.Tokens[0]] && strings.TrimSpace(s.Text) != "" {
				several++
			}
		}
		if several > 1 {
			d.Sentences = spanCode(sentences, m)
		}
		size += len(d.Words) + len(d.Sentences)
	}
	for i := range b.views {
		d.Methods = append(d.Methods, b.scriptView(&b.views[i], numbers <= limit, &size, limit))
	}
	return d, size
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

// spanCode returns spans of m prompt tokens as a digit for each token: how many tokens the one
// before it in its span is back, 0 for the first one. It is empty if every token is a span of its
// own.
func spanCode(spans []attribution.Span, m int) string {
	digits, any := bytes.Repeat([]byte{digits64[0]}, m), false
	for _, s := range spans {
		for i, j := range s.Tokens[1:] {
			if back := j - s.Tokens[i]; back < len(digits64) {
				digits[j], any = digits64[back], true
			}
		}
	}
	if !any {
		return ""
	}
	return string(digits)
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

// scriptView returns the values of one method at the level shown, as numbers or else as paints, and
// adds their size to size. Paints that would be above the limit are left out.
func (b *page) scriptView(v *view, numbers bool, size *int, limit int) scriptView {
	if v.wrong != "" {
		return scriptView{}
	}
	s := scriptView{
		Limit: v.colors.limit, Digits: v.top.digits, CellDigits: v.cellDigits(), Power: v.top.power,
		Kind: 2,
	}
	parts := v.result
	if v.difference {
		parts = b.comparison.result(0)
	}
	s.Maximum = !v.top.percent && !parts.AddsUp
	switch {
	case v.top.percent:
		s.Kind = 0
	case v.top.lift:
		s.Kind = 1
	}
	if v.top.signed {
		s.Signed = 1
	}
	if v.generated {
		s.Own = 1 + v.own
	}
	for j, hidden := range b.hidden {
		if j < len(v.sinks) && v.sinks[j] || hidden {
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
	*size += 200 + 5*len(s.Grey) + 3*len(s.Silent) + 4*len(s.RowSinks)
	if numbers {
		same := true
		s.Top, s.Rows, same = v.codes(codeMax)
		// Three characters are for pictures that stay small with them.
		if wider := len(s.Rows) / 2; !same && *size+len(b.views)*(wider+len(s.Rows)) < limit/4 {
			s.Wide = true
			s.Top, s.Rows, _ = v.codes(wideMax)
		}
		for _, row := range v.rows {
			s.RowDigits = append(s.RowDigits, row.digits)
		}
		if !slices.ContainsFunc(s.RowDigits, func(n int) bool { return n != s.Digits }) {
			s.RowDigits = nil
		}
		*size += len(s.Rows) + 2*len(s.RowDigits)
		return s
	}
	var paints []string
	total := 0
	for t := range v.result.Shape[0] {
		row := make([]int, v.sources(t))
		for j := range row {
			if !b.grey(v, t, j) {
				row[j] = v.colors.step(v.at(t, j))
			}
		}
		paints = append(paints, coarse(row))
		total += len(paints[t]) + 15 // with its quotes
	}
	if *size+total <= limit {
		s.Paints = paints
		*size += total
	}
	return s
}

// linear returns what the codes of a method count: the value, or for lifts its logarithm.
func (v *view) linear(x float64) float64 {
	if v.top.lift {
		return min(max(math.Log2(x), -12), 12)
	}
	return x
}

// unlinear returns the value that a code counts.
func (v *view) unlinear(x float64) float64 {
	if v.top.lift {
		return math.Exp2(x)
	}
	return x
}

// codes returns the values of all rows at the level shown, as codes of up to most; see appendCode.
// The nearest code may be shown with another last digit than sentences have: where the one beside
// it is shown with theirs, that is taken. same reports whether all values with a colour are shown
// as in sentences.
func (v *view) codes(most int) (top float64, rows string, same bool) {
	var values []float64
	for t := range v.result.Shape[0] {
		for j := range v.sources(t) {
			values = append(values, v.linear(v.at(t, j)))
		}
	}
	top, same = topOf(values), true
	var b []byte
	for t := range v.result.Shape[0] {
		for j := range v.sources(t) {
			x := values[0]
			values = values[1:]
			n, known := codeOf(x, top, most)
			if shown := v.at(t, j); known && v.colors.step(shown) != 0 {
				want := v.rows[t].value(shown)
				i := slices.IndexFunc([]int{n, n - 1, n + 1}, func(n int) bool {
					near := v.unlinear(float64(n) / float64(most) * top)
					return n >= -most && n <= most && v.rows[t].value(near) == want
				})
				n, same = n+[]int{0, 0, -1, 1}[i+1], same && i >= 0
			}
			b = appendCode(b, n, known, most)
		}
	}
	return top, string(b), same
}

// encode returns values as two digits each; see appendCode.
func encode(values []float64) (top float64, digits string) {
	top = topOf(values)
	var b []byte
	for _, x := range values {
		n, known := codeOf(x, top, codeMax)
		b = appendCode(b, n, known, codeMax)
	}
	return top, string(b)
}

// topOf returns the value that codes count to: the largest size, or 1 if there is none.
func topOf(values []float64) (top float64) {
	for _, x := range values {
		if x := math.Abs(x); x > top && !math.IsInf(x, 0) {
			top = x
		}
	}
	if top < 1e-300 {
		top = 1
	}
	return top
}

// codeOf returns how many parts of top, of most, a value has; known is false for NaN.
func codeOf(x, top float64, most int) (n int, known bool) {
	if math.IsNaN(x) {
		return 0, false
	}
	return int(math.Round(min(max(x/top, -1), 1) * float64(most))), true
}

// appendCode appends the digits of a code, two or with wideMax three: 64a + b - 2048 counts parts
// of top, of 2047, and 0 stands for NaN. Three digits count parts of wideMax in the same way.
func appendCode(b []byte, n int, known bool, most int) []byte {
	if n += most + 1; !known {
		n = 0
	}
	if most == wideMax {
		b = append(b, digits64[n>>12])
	}
	return append(b, digits64[n>>6&63], digits64[n&63])
}

// coarse returns paints in digits: a paint is paint + 6, that of NaN is 13, and a run of 1 to 50
// cells without a colour is 13 + its length. Paints of sinks are in the runs.
func coarse(paints []int) string {
	var b strings.Builder
	run := 0
	flush := func() {
		for ; run > 0; run -= min(run, 50) {
			b.WriteByte(digits64[13+min(run, 50)])
		}
	}
	for _, paint := range paints {
		if paint == 0 || paint == sinkPaint {
			run++
			continue
		}
		flush()
		b.WriteByte(digits64[min(paint+levels, 13)])
	}
	flush()
	return b.String()
}

// addLevels adds the paints of all levels of a method, if they fit.
func (b *page) addLevels(v *view, s *scriptView, size *int, limit int) {
	if !b.layersShown(v) || s.Rows == "" && s.Paints == nil {
		return
	}
	r := v.result
	var all []string
	total := 10 * r.Shape[2]
	for t := range r.Shape[0] {
		var paints []int // [levels,M], or with Deep [levels,M+q]
		for k := range r.Shape[2] {
			for j := range v.sources(t) {
				// Sinks have their colours, which a reader may ask for.
				paints = append(paints, v.colors.step(v.atLevel(t, j, k)))
			}
		}
		all = append(all, coarse(paints))
		if total += len(all[t]) + 20; *size+total > limit {
			return
		}
	}
	*size += total
	s.Levels, s.Layers, s.Combined = all, slices.Clone(r.Layers), r.Combined
	s.Deep = v.generated
	for t := range r.Shape[0] {
		s.Shown = append(s.Shown, v.level(t))
	}
}

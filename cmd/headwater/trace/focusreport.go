package trace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/internal/message"
)

// reportVersion is the version of the form of [focusReport] in JSON.
const reportVersion = 1

// focusAsk selects the contents of a [focusReport]. The zero value asks for the quantities of all
// heads alone.
type focusAsk struct {
	// Layer, if not nil, asks for updates and effects of its heads. Head, if not nil, restricts
	// them to one head, or to [focus.Together], and asks for its rows, markers, breakdown and
	// biases. Head needs Layer.
	Layer, Head *int
	// Index and ExcludeFirst are as in [focus.UpdateOptions].
	Index        focus.Index
	ExcludeFirst bool
	// Ranks is how many ranks the breakdown has; 0 means 1.
	Ranks int
}

// parts returns what a model has to record.
func (a focusAsk) parts() []focus.Part {
	switch {
	case a.Layer == nil:
		return nil
	case a.Head == nil || *a.Head == focus.Together:
		return []focus.Part{focus.Updates, focus.Effects}
	}
	return []focus.Part{focus.Scores, focus.Updates, focus.Effects}
}

// focusReport has the quantities of one or several texts, in the form that headwater focus
// writes as JSON. Lists over tokens are in the order of the tokens; layers, heads and positions
// count from 0.
type focusReport struct {
	Version int `json:"version"`
	// Index and ExcludeFirst are the conventions of Updates.
	Index        focus.Index `json:"index"`
	ExcludeFirst bool        `json:"exclude_first"`

	Layers int         `json:"layers"` // L
	Heads  int         `json:"heads"`  // H
	Texts  []focusText `json:"texts"`
	// Lines are the quantities of all heads, averaged over the texts: Figures 4, 5 and 6.
	Lines []focusLines `json:"lines"`
	// Rows are those of the head asked for: Figures 1, 2 and 3.
	Rows []focusRows `json:"rows,omitempty"`
	// Updates are Figures 7, 8 and 9, and Effects is Figure 10: for each text those of each head.
	Updates []focusUpdates `json:"updates,omitempty"`
	Effects []focusEffects `json:"effects,omitempty"`
	// Ellipse is drawn around the effects of the first token, of all heads and texts; nil if there
	// are none.
	Ellipse *focus.Ellipse `json:"ellipse,omitempty"`
	// LeftOut names what the tensors are not enough for, once for each reason.
	LeftOut []string `json:"left_out,omitempty"`

	ask     focusAsk
	lines   []*focus.Lines
	effects []focus.Effect
}

// focusText is one text of a report.
type focusText struct {
	// Tokens are its S texts; nil if they are not known.
	Tokens        []string `json:"tokens"`
	Targets       int      `json:"targets"` // T
	Sources       int      `json:"sources"` // S
	Bidirectional bool     `json:"bidirectional"`
	Sinks         bool     `json:"sinks,omitempty"` // see [focus.Text]
}

// focusLines is a quantity of all heads.
type focusLines struct {
	Quantity focus.Quantity `json:"quantity"`
	// Values are [L,H] by layer and head, Order the heads of each layer by rising value, [L,H], and
	// Together the quantity of the mean attention of each layer, [L].
	Values   [][]float64 `json:"values"`
	Order    [][]int     `json:"order"`
	Together []float64   `json:"together"`
}

// focusRows are the rows of one head. Row i has an entry for each source up to target i, and for
// all sources in a bidirectional text.
type focusRows struct {
	Text  int `json:"text"`
	Layer int `json:"layer"`
	Head  int `json:"head"` // -1 for all heads together
	// Probability, Score and the three terms are [T] rows; the last four are nil if not known. A
	// source that a window hides has probability 0. Its score is null in JSON if it was given as
	// -Inf.
	Probability [][]float64        `json:"probability"`
	Score       [][]evaluate.Value `json:"score,omitempty"`
	Content     [][]float64        `json:"content,omitempty"`
	QueryBias   [][]float64        `json:"query_bias,omitempty"`
	ALiBi       [][]float64        `json:"alibi,omitempty"`
	// Markers are the marked sources. Breakdown has the coordinates of the sources of the first
	// ranks in a ternary plot; nil without terms. Biases are those of the markers.
	Markers   []focusMarker   `json:"markers"`
	Breakdown *focusBreakdown `json:"breakdown,omitempty"`
	Biases    []focus.Bias    `json:"biases,omitempty"`
}

// focusMarker is a [focus.Marker].
type focusMarker struct {
	Target      int     `json:"target"`
	Source      int     `json:"source"`
	Rank        int     `json:"rank"`
	Kind        string  `json:"kind"` // Self, Zero, Other
	Probability float64 `json:"probability"`
}

// focusBreakdown is a [focus.Breakdown]: its points with their coordinates.
type focusBreakdown struct {
	// Minimum is the smallest content, query-bias and alibi of all points.
	Minimum [focus.NumTerms]float64 `json:"minimum"`
	Points  []focusPoint            `json:"points"`
}

// focusPoint is a point of a ternary plot.
type focusPoint struct {
	Target      int     `json:"target"`
	Source      int     `json:"source"`
	Rank        int     `json:"rank"`
	Probability float64 `json:"probability"`
	// Coordinates are content, query-bias and alibi minus their minima.
	Coordinates [focus.NumTerms]float64 `json:"coordinates"`
}

// focusUpdates are the updates of one head in one text, a list entry for each target.
type focusUpdates struct {
	focusEffects
	Alignment []evaluate.Value `json:"alignment"`
}

// focusEffects are the effects of one head in one text, a list entry for each target.
type focusEffects struct {
	Text      int              `json:"text"`
	Layer     int              `json:"layer"`
	Head      int              `json:"head"` // -1 for all heads together
	Target    []int            `json:"target"`
	Source    []int            `json:"source"`
	Magnitude []evaluate.Value `json:"magnitude"`
}

// newFocusReport returns a report without texts.
func newFocusReport(ask focusAsk) *focusReport {
	ask.Ranks = max(1, ask.Ranks)
	ask.Index = cmp.Or(ask.Index, focus.IndexCurrent)
	r := &focusReport{
		Version: reportVersion, ask: ask, Index: ask.Index, ExcludeFirst: ask.ExcludeFirst,
	}
	for _, q := range focus.Quantities() {
		r.lines = append(r.lines, &focus.Lines{Quantity: q})
	}
	return r
}

// add adds a text to the report; tokens are the texts of its S tokens, nil if they are not known.
// It costs what the quantities cost. What the tensors are not enough for is left out and named in
// LeftOut. It returns a usage error for a layer or head that does not exist, and an error for
// another number of tokens, or for a text of another model. After an error the report is not
// complete.
func (r *focusReport) add(t *focus.Text, tokens []string) error {
	if tokens != nil && len(tokens) != t.Sources {
		return fmt.Errorf("tokens has %d texts, and there are %d sources; want a text for "+
			"each", len(tokens), t.Sources)
	}
	for _, f := range r.lines {
		if err := f.Add(t); err != nil {
			return err
		}
	}
	r.Layers, r.Heads = t.Layers, t.Heads
	k := len(r.Texts)
	r.Texts = append(r.Texts, focusText{
		Tokens: tokens, Targets: t.Targets, Sources: t.Sources, Bidirectional: t.Bidirectional,
		Sinks: t.Sinks,
	})
	r.writeLines()
	if r.ask.Layer == nil {
		return nil
	}
	l := *r.ask.Layer
	if _, err := t.Head(l, focus.Together); err != nil {
		return err
	}
	first, n := focus.Together, t.Heads+1 // all heads, and each of them
	if r.ask.Head != nil {
		first, n = *r.ask.Head, 1
		if err := r.addRows(t, k, l, first); err != nil {
			return err
		}
	}
	for h := first; h < first+n; h++ {
		r.addUpdates(t, k, l, h)
		r.addEffects(t, k, l, h)
	}
	return nil
}

// writeLines fills Lines with the means over the texts so far.
func (r *focusReport) writeLines() {
	r.Lines = nil
	for _, f := range r.lines {
		x := focusLines{Quantity: f.Quantity}
		for l := range f.Layers {
			values, order := make([]float64, f.Heads), make([]int, f.Heads)
			for h := range values {
				values[h] = f.At(l, h)
			}
			for k, place := range f.Sorted(l) {
				order[k] = place.Head
			}
			x.Values, x.Order = append(x.Values, values), append(x.Order, order)
			x.Together = append(x.Together, f.At(l, focus.Together))
		}
		r.Lines = append(r.Lines, x)
	}
}

// addRows adds the rows of a head. It returns a usage error for a head that does not exist.
func (r *focusReport) addRows(t *focus.Text, k, l, h int) error {
	head, err := t.Head(l, h)
	if err != nil {
		return err
	}
	x := focusRows{
		Text: k, Layer: l, Head: h, Probability: visibleRows(head, head.Probability),
		Score: numbers(visibleRows(head, head.Scores)), Markers: []focusMarker{},
	}
	selected := head.Markers()
	x.Biases = focus.Biases(selected)
	for _, m := range selected {
		x.Markers = append(x.Markers, focusMarker{
			m.Target, m.Source, m.Rank, m.Kind(), m.Probability,
		})
	}
	if head.Terms != nil {
		n := t.Targets * t.Sources
		x.Content = visibleRows(head, head.Terms[:n])
		x.QueryBias = visibleRows(head, head.Terms[n:2*n])
		x.ALiBi = visibleRows(head, head.Terms[2*n:])
	}
	if b, err := head.Breakdown(r.ask.Ranks); err != nil {
		r.leaveOut(err)
	} else {
		x.Breakdown = &focusBreakdown{Minimum: b.Minimum}
		for _, p := range b.Points {
			x.Breakdown.Points = append(x.Breakdown.Points, focusPoint{
				p.Target, p.Source, p.Rank, p.Probability, b.Coordinates(p),
			})
		}
	}
	r.Rows = append(r.Rows, x)
	return nil
}

// visibleRows cuts data, [T,S], into rows of the sources that a target may see; nil for nil.
func visibleRows(h *focus.Head, data []float64) [][]float64 {
	if data == nil {
		return nil
	}
	rows := make([][]float64, h.Targets)
	for i := range rows {
		rows[i] = data[i*h.Sources:][:h.Visible(i)]
	}
	return rows
}

// numbers returns rows whose infinities JSON can have; nil for nil.
func numbers(rows [][]float64) (all [][]evaluate.Value) {
	for _, row := range rows {
		x := make([]evaluate.Value, len(row))
		for j, v := range row {
			x[j] = evaluate.Value(v)
		}
		all = append(all, x)
	}
	return all
}

// addUpdates adds the updates of a head, or why they are left out.
func (r *focusReport) addUpdates(t *focus.Text, k, l, h int) {
	all, err := t.Updates(l, h, focus.UpdateOptions{
		Index: r.ask.Index, ExcludeFirst: r.ask.ExcludeFirst,
	})
	if err != nil {
		r.leaveOut(err)
		return
	}
	none := []evaluate.Value{} // a list in JSON even if it is empty
	x := focusUpdates{focusEffects{k, l, h, []int{}, []int{}, none}, none}
	for _, u := range all {
		x.Target, x.Source = append(x.Target, u.Target), append(x.Source, u.Source)
		x.Magnitude = append(x.Magnitude, evaluate.Value(u.Magnitude))
		x.Alignment = append(x.Alignment, evaluate.Value(u.Alignment))
	}
	r.Updates = append(r.Updates, x)
}

// addEffects adds the effects of a head, or why they are left out. The ellipse is that of single
// heads, unless all of them together were asked for.
func (r *focusReport) addEffects(t *focus.Text, k, l, h int) {
	all, err := t.Effects(l, h)
	if err != nil {
		r.leaveOut(err)
		return
	}
	x := focusEffects{Text: k, Layer: l, Head: h}
	for _, e := range all {
		x.Target, x.Source = append(x.Target, e.Target), append(x.Source, e.Source)
		x.Magnitude = append(x.Magnitude, evaluate.Value(e.Magnitude))
	}
	r.Effects = append(r.Effects, x)
	if h == focus.Together && r.ask.Head == nil {
		return
	}
	r.effects = append(r.effects, all...)
	if e, ok := focus.ZeroEllipse(r.effects); ok {
		r.Ellipse = &e
	}
}

// leaveOut notes why something is left out.
func (r *focusReport) leaveOut(err error) {
	if reason := message.Words(err, nil); !slices.Contains(r.LeftOut, reason) {
		r.LeftOut = append(r.LeftOut, reason)
	}
}

package figures

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// The axes of Figures 7 to 9.
const (
	magnitudeTitle = "update magnitude: length of the update / of the hidden state"
	alignmentTitle = "update alignment: cosine of update and hidden state"
)

// updateSeries are the updates of all heads of one layer, a series for each head.
type updateSeries struct{ size, angle []chart.Series }

// updatesOf returns the updates of all heads of layer l.
func updatesOf(text *focus.Text, l int, o focus.UpdateOptions) (x updateSeries, err error) {
	for h := range text.Heads {
		all, err := text.Updates(l, h, o)
		if err != nil {
			return x, err
		}
		s := chart.Series{Name: fmt.Sprintf("head %d", h)}
		s.Columns = []chart.Column{{Name: "current", Named: true}, {Name: "target", Named: true}}
		a := s
		for _, u := range all {
			s.Y, a.Y = append(s.Y, u.Magnitude), append(a.Y, u.Alignment)
			s.Columns[0].Values = append(s.Columns[0].Values, float64(u.Target))
			s.Columns[1].Values = append(s.Columns[1].Values, float64(u.Source))
		}
		x.size, x.angle = append(x.size, s), append(x.angle, a)
	}
	for h := range x.angle {
		x.angle[h].Columns = x.size[h].Columns
	}
	return x, nil
}

// recordUpdates returns the layer whose updates a figure shows, and the updates and tokens of the
// first text.
func (r *run) recordUpdates() (layer int, text *focus.Text, tokens []trace.Token, err error) {
	layer, err = r.choice(layerChoice, r.layer(clausLayer), r.info.Layers)
	if err == nil {
		text, tokens, err = r.recordFocus(0, focus.Updates)
	}
	return layer, text, tokens, err
}

// indices are the two readings of the update figures: what the prose says, and what the published
// files have.
var indices = []struct {
	index focus.Index
	title string
}{
	{focus.IndexCurrent, "of the current token, as the document says"},
	{focus.IndexTarget, "of the token looked at, as its published data"},
}

// histograms adds a picture with a histogram of each reading, which c describes, and returns the
// series of the first reading: that of the document's text.
func (r *run) histograms(
	text *focus.Text, layer int, leaveFirst bool, c chart.Chart,
	series func(updateSeries) []chart.Series,
) ([]chart.Series, error) {
	var charts []chart.Chart
	for _, x := range indices {
		updates, err := updatesOf(text, layer, focus.UpdateOptions{
			Index: x.index, ExcludeFirst: leaveFirst,
		})
		if err != nil {
			return nil, err
		}
		c.Kind, c.Subtitle, c.Series = chart.Histogram, x.title, series(updates)
		c.Y = chart.Axis{Title: "tokens"}
		charts = append(charts, c)
	}
	r.picture("", 2, charts...)
	return charts[0].Series, nil
}

func focusMagnitude(r *run) error {
	layer, text, _, err := r.recordUpdates()
	if err != nil {
		return err
	}
	share := 1 / float64(r.info.Heads)
	current, err := r.histograms(text, layer, r.leaveFirst(false), chart.Chart{
		Title: fmt.Sprintf("Update magnitude, layer %d", layer),
		X:     chart.Axis{Title: magnitudeTitle}, Rules: []chart.Rule{{At: share, Label: "1/H"}},
	}, func(x updateSeries) []chart.Series { return x.size })
	if err != nil {
		return err
	}
	apart, err := updatesByTarget(text, layer)
	if err != nil {
		return err
	}
	r.zero(claim{"published-index", "Read at the token looked at, as in the published data, all " +
		"tokens that look at the same one have the same magnitude: largest difference"}, 1e-9,
		apart)
	over, all := 0, 0
	for _, s := range current {
		for _, v := range s.Y {
			all++
			if v > share {
				over++
			}
		}
	}
	r.note("The dashed line is at 1/H, one of H equal heads; %d of %d updates of the current "+
		"token are above it. The document states no share.", over, all)
	return nil
}

// updatesByTarget returns how far the magnitudes of tokens that look at the same one are apart, in
// the reading of the published data.
func updatesByTarget(text *focus.Text, layer int) (float64, error) {
	apart := 0.0
	for h := range text.Heads {
		all, err := text.Updates(layer, h, focus.UpdateOptions{Index: focus.IndexTarget})
		if err != nil {
			return 0, err
		}
		first := map[int]float64{}
		for _, u := range all {
			if _, seen := first[u.Source]; !seen {
				first[u.Source] = u.Magnitude
			}
			apart = max(apart, math.Abs(u.Magnitude-first[u.Source]))
		}
	}
	return apart, nil
}

func focusAlignment(r *run) error {
	layer, text, _, err := r.recordUpdates()
	if err != nil {
		return err
	}
	leave := r.leaveFirst(true)
	current, err := r.histograms(text, layer, leave, chart.Chart{
		Title: fmt.Sprintf("Update alignment, layer %d", layer),
		X:     chart.Axis{Title: alignmentTitle}, Rules: []chart.Rule{{At: 0}},
	}, func(x updateSeries) []chart.Series { return x.angle })
	if err != nil {
		return err
	}
	negative, all := 0, 0 // in the reading of the document's text
	for _, s := range current {
		for _, v := range s.Y {
			all++
			if v < 0 {
				negative++
			}
		}
	}
	r.check(claim{"negative", "Some updates take a part of the hidden state away"}, "1 or more",
		fmt.Sprintf("%d of %d", negative, all), negative > 0)
	if leave {
		r.note("Tokens that look at the first token most are left out, as in the document.")
	}
	return nil
}

func focusScatter(r *run) error {
	layer, text, tokens, err := r.recordUpdates()
	if err != nil {
		return err
	}
	updates, err := updatesOf(text, layer, focus.UpdateOptions{ExcludeFirst: r.leaveFirst(true)})
	if err != nil {
		return err
	}
	series := updates.size
	for h := range series {
		series[h].X = updates.angle[h].Y
	}
	r.picture("", 1, chart.Chart{
		Kind: chart.Scatter, Title: fmt.Sprintf("Alignment against magnitude, layer %d", layer),
		X: chart.Axis{Title: alignmentTitle}, Y: chart.Axis{Title: magnitudeTitle},
		Rules: []chart.Rule{{At: 0}}, Series: series, Names: tokenNames(tokens),
		Color: chart.Scale{Palette: "viridis-reversed"}, Opacity: 0.8,
	})
	near, all, beyond := 0, 0, 0.0
	for _, s := range series {
		for _, v := range s.X {
			all++
			if math.Abs(v) < orthogonal {
				near++
			}
			beyond = max(beyond, math.Abs(v)-1)
		}
	}
	r.zero(claim{"bounded", "No cosine is beyond 1: largest excess"}, 1e-9, beyond)
	r.note("%d of %d cosines are below %s in size. The document says what a value near zero means "+
		"and states no share; the cosine of two random directions of %d numbers is about %s.",
		near, all, short(orthogonal), r.info.Width, short(1/math.Sqrt(float64(r.info.Width))))
	return nil
}

// orthogonal is the size below which the note counts a cosine as near zero.
const orthogonal = 0.2

// effectColor is the colour of the points of the document's Figure 10.
var effectColor = chart.RGB{0x00, 0x68, 0xc9}

// effectsOf returns the effects of all heads of layer l and their points.
func effectsOf(text *focus.Text, l int) (s chart.Series, all []focus.Effect, err error) {
	s = chart.Series{Name: "effect", Color: &effectColor}
	s.Columns = []chart.Column{
		{Name: "head"}, {Name: "current", Named: true}, {Name: "target", Named: true},
	}
	for h := range text.Heads {
		effects, err := text.Effects(l, h)
		if err != nil {
			return s, nil, err
		}
		all = append(all, effects...)
		for _, e := range effects {
			s.X, s.Y = append(s.X, e.Magnitude), append(s.Y, float64(e.Source))
			for k, v := range []int{h, e.Target, e.Source} {
				s.Columns[k].Values = append(s.Columns[k].Values, float64(v))
			}
		}
	}
	return s, all, nil
}

func focusEffect(r *run) error {
	if err := r.needLayers(2); err != nil { // the first layer is not shown
		return err
	}
	layer, err := r.choice(layerChoice, max(r.layer(clausEffect), 1), r.info.Layers)
	if err != nil {
		return err
	}
	text, tokens, err := r.recordFocus(0, focus.Effects)
	if err != nil {
		return err
	}
	points, effects, err := effectsOf(text, layer)
	if err != nil {
		return err
	}
	c := chart.Chart{
		Kind: chart.Scatter, Title: fmt.Sprintf("Token effect, layer %d, all heads", layer),
		X:       chart.Axis{Title: "token effect magnitude"},
		Y:       chart.Axis{Title: "token id (position of the source)"},
		Opacity: 0.2, Series: []chart.Series{points}, Names: tokenNames(tokens),
	}
	if e, ok := focus.ZeroEllipse(effects); ok {
		c.Ellipses = []chart.Ellipse{{
			RadiusX: e.HalfWidth, RadiusY: e.HalfHeight, Label: "token 0",
		}}
	}
	r.picture("", 1, c)
	var first, others []float64
	for _, e := range effects {
		if e.Source == 0 {
			first = append(first, e.Magnitude)
		} else {
			others = append(others, e.Magnitude)
		}
	}
	ratio := math.NaN()
	if len(first) > 0 && len(others) > 0 {
		ratio = mean(first) / mean(others)
	}
	r.check(claim{"no-impact", "Where the first token is looked at most, the effect is at most a " +
		"tenth of that of other tokens"}, "at most 0.1", strings.TrimSpace(short(ratio)),
		ratio <= 0.1)
	return nil
}

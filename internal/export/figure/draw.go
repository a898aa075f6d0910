package figure

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

const margin = 4 // points around a page

// chart draws a chart below y and returns the y below it.
func (p *page) chart(c *chart.Chart, y float64) float64 {
	y = p.heading(c.Title, c.Subtitle, y)
	switch c.Kind {
	case chart.Heatmap:
		return p.heatmap(c, y)
	case chart.Ternary:
		return p.ternary(c, y)
	case chart.Layered:
		return p.layered(c, y)
	}
	return p.plot(c, y)
}

// heading draws a title and a subtitle.
func (p *page) heading(title, subtitle string, y float64) float64 {
	limit := p.width - 2*margin
	y = p.paragraph(margin, y, limit, title, style{scale: 1.15, bold: true})
	y = p.paragraph(margin, y, limit, subtitle, style{scale: 0.92, color: gray})
	return y + 0.4*p.size
}

// plot draws lines, bars, histograms and scatter plots.
func (p *page) plot(c *chart.Chart, y float64) float64 {
	f := p.newFrame(c)
	bins := []chart.Bin(nil)
	if c.Kind == chart.Histogram {
		bins = c.Histogram()
	}
	atX, textX := ticks(f.low, f.high, max(2, int((p.width-60)/(5*p.size))), c.X.Whole)
	atY, textY := ticks(f.lowY, f.highY, 5, c.Y.Whole)
	small := style{scale: 0.85}
	wide := 0.0
	for _, t := range textY {
		wide = max(wide, p.textWidth(t, small))
	}
	if c.Y.Hidden {
		wide, textY = 0, make([]string, len(atY))
	}
	left := margin + 1.4*p.size + wide + 5
	f.x, f.y, f.w = left, y+0.3*p.size, p.width-left-margin-0.6*p.size
	f.h = min(0.62*f.w, 420)
	if part := c.Proportion(); part > 0 {
		f.h = part * f.w
	}
	f.reversedX, f.reversedY = c.X.Reversed, c.Y.Reversed
	for i, v := range atY {
		q := f.at(f.low, v)
		p.line([]point{{f.x, q.y}, {f.x + f.w, q.y}}, 0.4, faint)
		p.text(f.x-4, q.y+0.3*p.size, textY[i], style{scale: 0.85, align: 1})
	}
	below := f.y + f.h + 1.1*p.size
	if c.Kind == chart.Bars {
		below = p.categories(c, f)
	} else {
		for i, v := range atX {
			q := f.at(v, f.lowY)
			p.line([]point{{q.x, f.y + f.h}, {q.x, f.y + f.h + 3}}, 0.6, chart.Black)
			if !c.X.Hidden {
				p.text(q.x, below, textX[i], style{scale: 0.85, align: 0.5})
			}
		}
	}
	p.frame(f.x, f.y, f.w, f.h, 0.6, chart.Black)
	p.text(f.x+f.w/2, below+1.3*p.size, c.X.Label(), style{align: 0.5})
	p.text(margin+p.size, f.y+f.h/2, c.Y.Label(), style{align: 0.5, angle: 90})
	p.data(c, f, bins)
	p.overlays(c, f)
	return p.legend(c, below+1.9*p.size)
}

// newFrame returns a frame with the ends of both axes.
func (p *page) newFrame(c *chart.Chart) (f frame) {
	xs, ys := newSpan(), newSpan()
	switch c.Kind {
	case chart.Bars:
		xs.see(-0.5)
		xs.see(float64(len(c.X.Categories)) - 0.5)
		for _, s := range c.Series {
			for _, v := range s.Y {
				ys.see(v)
			}
		}
		f.low, f.high = xs.low, xs.high
		f.lowY, f.highY = ys.ends(c.Y, true)
		return f
	case chart.Histogram:
		for _, b := range c.Histogram() {
			xs.see(b.Low)
			xs.see(b.High)
			sum := 0
			for _, n := range b.Counts {
				sum += n
			}
			ys.see(float64(sum))
		}
		f.low, f.high = xs.ends(c.X, false)
		f.lowY, f.highY = ys.ends(c.Y, true)
		return f
	}
	for _, s := range c.Series {
		for i := range s.Y {
			if !math.IsNaN(s.X[i]) && !math.IsNaN(s.Y[i]) {
				xs.see(s.X[i])
				ys.see(s.Y[i])
			}
		}
	}
	for _, e := range c.Ellipses {
		for _, s := range []float64{-1, 1} {
			xs.see(e.X + s*e.RadiusX)
			ys.see(e.Y + s*e.RadiusY)
		}
	}
	for _, r := range c.Rules {
		if r.Horizontal {
			ys.see(r.At)
		} else {
			xs.see(r.At)
		}
	}
	f.low, f.high = xs.ends(c.X, false)
	f.lowY, f.highY = ys.ends(c.Y, false)
	return f
}

// categories draws the names below bars and returns the y of their base line.
func (p *page) categories(c *chart.Chart, f frame) float64 {
	n := len(c.X.Categories)
	if n == 0 {
		return f.y + f.h + 1.1*p.size
	}
	room := f.w / float64(n)
	widest := 0.0
	for _, name := range c.X.Categories {
		widest = max(widest, p.textWidth(name, style{scale: 0.85}))
	}
	if widest < room-2 {
		for i, name := range c.X.Categories {
			p.text(f.at(float64(i), 0).x, f.y+f.h+1.1*p.size, name,
				style{scale: 0.85, align: 0.5})
		}
		return f.y + f.h + 1.1*p.size
	}
	return p.uprightNames(c.X.Categories, f.x, f.y+f.h, room, func(i int) float64 {
		largest := 0.0
		for _, s := range c.Series {
			if i < len(s.Y) && math.Abs(s.Y[i]) > largest {
				largest = math.Abs(s.Y[i])
			}
		}
		return largest
	})
}

// data draws the data of a plot.
func (p *page) data(c *chart.Chart, f frame, bins []chart.Bin) {
	n := len(c.Series)
	switch c.Kind {
	case chart.Bars:
		for k, s := range c.Series {
			for i, v := range s.Y {
				if math.IsNaN(v) {
					continue
				}
				wide := 0.8 / float64(n)
				from := f.at(float64(i)-0.4+float64(k)*wide, max(min(v, f.highY), f.lowY))
				zero := f.at(float64(i)-0.4+float64(k+1)*wide, 0)
				color := c.SeriesColor(k)
				if s.Colors != nil {
					color = s.Colors[i]
				}
				p.rect(from.x, min(from.y, zero.y), zero.x-from.x, math.Abs(zero.y-from.y), color)
				p.entitle(titleOf(c.Point(k, i)))
			}
		}
	case chart.Histogram:
		for _, b := range bins {
			sum := 0
			for k, count := range b.Counts {
				if count == 0 {
					continue
				}
				from := f.at(b.Low, float64(sum))
				sum += count
				to := f.at(b.High, float64(sum))
				p.rect(min(from.x, to.x), min(from.y, to.y), math.Abs(to.x-from.x),
					math.Abs(to.y-from.y), c.SeriesColor(k))
			}
		}
	case chart.Lines:
		for k, s := range c.Series {
			p.series(c, s, f, k)
		}
	default:
		p.scatter(c, func(s *chart.Series, i int) (point, bool) {
			return f.at(s.X[i], s.Y[i]), f.inside(s.X[i], s.Y[i])
		})
	}
}

// series draws one line with its points.
func (p *page) series(c *chart.Chart, s chart.Series, f frame, k int) {
	color := c.SeriesColor(k)
	var points []point
	pattern, thick := dashes(k), 1.2
	if c.Ordered() {
		pattern, thick = nil, 0.8
	}
	flush := func() {
		p.line(points, thick, color, pattern...)
		points = nil
	}
	for _, i := range s.Sorted() {
		if !f.inside(s.X[i], s.Y[i]) {
			flush()
			continue
		}
		points = append(points, f.at(s.X[i], s.Y[i]))
	}
	all := slices.Clone(points)
	flush()
	if !c.Ordered() && len(all) <= 60 {
		for _, q := range all {
			p.marker(q.x, q.y, 2, k, color, 1)
		}
	}
}

// scatter draws points; place returns the place of one and whether it is inside.
func (p *page) scatter(c *chart.Chart, place func(*chart.Series, int) (point, bool)) {
	limit := c.Limit()
	points := 0
	for _, s := range c.Series {
		points += len(s.Y)
	}
	radius, alpha := 2.2, 0.8
	if points > 300 {
		radius, alpha = 1.5, 0.45
	}
	if c.Opacity > 0 {
		alpha = c.Opacity
	}
	for k := range c.Series {
		s := &c.Series[k]
		for i := range s.Y {
			q, ok := place(s, i)
			if !ok {
				continue
			}
			color, kind := c.SeriesColor(k), k
			if s.Value != nil {
				color, kind = c.Color.At(s.Value[i], limit, p.palette), k
			}
			if c.Ordered() {
				kind = 0
			}
			p.marker(q.x, q.y, radius, kind, color, alpha)
			p.entitle(titleOf(c.Point(k, i)))
		}
	}
}

// titleOf returns the title of a shape with these values.
func titleOf(all []chart.Field) string {
	var parts []string
	for _, f := range all {
		if f.Value != "" {
			parts = append(parts, f.Name+" "+f.Value)
		}
	}
	return strings.Join(parts, ", ")
}

// overlays draws reference lines and ellipses.
func (p *page) overlays(c *chart.Chart, f frame) {
	for _, r := range c.Rules {
		a, b := f.at(r.At, f.lowY), f.at(r.At, f.highY)
		if r.Horizontal {
			a, b = f.at(f.low, r.At), f.at(f.high, r.At)
		}
		p.line([]point{a, b}, 0.7, gray, 4, 3)
		if r.Horizontal {
			y := a.y - 2
			if y < f.y+0.8*p.size { // the frame would cut it
				y = a.y + 0.8*p.size
			}
			p.text(f.x+f.w-2, y, r.Label, style{scale: 0.8, align: 1, color: gray})
		} else {
			p.text(a.x+2, f.y+0.9*p.size, r.Label, style{scale: 0.8, color: gray})
		}
	}
	for _, e := range c.Ellipses {
		xs, ys := e.Outline()
		var points []point
		for i := range xs {
			points = append(points, f.at(xs[i], ys[i]))
		}
		p.line(points, 0.9, chart.RGB{0xc6, 0x28, 0x28})
		q := f.at(e.X, e.Y+e.RadiusY)
		p.text(q.x, q.y-2, e.Label, style{
			scale: 0.8, align: 0.5,
			color: chart.RGB{0xc6, 0x28, 0x28},
		})
	}
}

// legend draws the names of series, or a bar of colours, below y.
func (p *page) legend(c *chart.Chart, y float64) float64 {
	n := len(c.Series)
	if c.Colored() {
		return p.colorBar(c, margin, y)
	}
	if n < 2 {
		return y
	}
	if c.Ordered() {
		return p.orderBar(c, y)
	}
	return p.keys(c, y)
}

// keys draws the name of each series beside its colour, below y.
func (p *page) keys(c *chart.Chart, y float64) float64 {
	x, key := float64(margin), 2.4*p.size
	y += 0.9 * p.size
	for k, s := range c.Series {
		wide := key + 4 + p.textWidth(s.Name, style{}) + 1.2*p.size
		if x > margin && x+wide > p.width-margin {
			x, y = margin, y+lineHeight*p.size
		}
		color, middle := c.SeriesColor(k), y-0.33*p.size
		switch c.Kind {
		case chart.Lines:
			p.line([]point{{x, middle}, {x + key, middle}}, 1.2, color, dashes(k)...)
			p.marker(x+key/2, middle, 2, k, color, 1)
		case chart.Scatter, chart.Ternary:
			p.marker(x+key/2, middle, 2.4, k, color, 1)
		case chart.Heatmap:
			p.marker(x+key/2, middle, 2.4, 0, color, 1)
		default:
			p.rect(x+key-p.size, y-0.75*p.size, p.size, 0.8*p.size, color)
		}
		p.text(x+key+4, y, s.Name, style{})
		x += wide
	}
	return y + 0.6*p.size
}

// orderBar draws the colours of many series in their order, from the first to the last.
func (p *page) orderBar(c *chart.Chart, y float64) float64 {
	n := len(c.Series)
	first, last := c.Series[0].Name, c.Series[n-1].Name
	y += 0.9 * p.size
	p.text(margin, y, first, style{})
	x := margin + p.textWidth(first, style{}) + 4
	for k := range n {
		p.rect(x+float64(k)*100/float64(n), y-0.75*p.size, 100/float64(n)+0.2, 0.8*p.size,
			c.SeriesColor(k))
	}
	p.text(x+104, y, last, style{})
	return y + 0.6*p.size
}

// colorBar draws the scale of colours with its ends and its title, below y.
func (p *page) colorBar(c *chart.Chart, x, y float64) float64 {
	limit := c.Limit()
	from := 0.0
	if c.Color.Diverging {
		from = -1
	}
	text := func(v float64) string {
		if c.Color.Percent {
			return format(100*v, 3) + " %"
		}
		return format(v, 3)
	}
	const cells = 40
	wide := min(12*p.size, p.width/2.6)
	y += 0.3 * p.size
	for i := range cells {
		v := from + (1-from)*(float64(i)+0.5)/cells
		p.rect(x+wide*float64(i)/cells, y, wide/cells+0.2, 0.9*p.size,
			chart.Ramp(cmp.Or(c.Color.Palette, p.palette), v))
	}
	key := p.markKey()
	if c.Color.Diverging && p.hatching {
		p.hatch(x, y, wide/cells, 0.9*p.size, cells/2-1, 1, func(_, j int) (chart.RGB, bool) {
			return hatchOn(chart.Ramp(cmp.Or(c.Color.Palette, p.palette),
				from+(1-from)*(float64(j)+0.5)/cells)), true
		})
	}
	p.frame(x, y, wide, 0.9*p.size, 0.4, gray)
	base := y + 2*p.size
	p.text(x, base, text(from*limit), style{scale: 0.85})
	if c.Color.Diverging {
		p.text(x+wide/2, base, "0", style{scale: 0.85, align: 0.5})
	}
	p.text(x+wide, base, text(limit), style{scale: 0.85, align: 1})
	left := x + wide + 0.8*p.size
	end := p.paragraph(left, y-0.35*p.size, p.width-margin-left, c.Color.Title+key,
		style{scale: 0.92})
	return max(base+0.3*p.size, end+0.2*p.size)
}

package main

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// draw writes the picture: average precision of each method, a mark for each kind and a bar of
// confidence over all.
func (r *report) draw(path string) error {
	const measure = "average precision"
	names := r.Ranked(measure)
	slices.Reverse(names) // the best on top
	p := plot.New()
	p.Title.Text = "How well each method ranks the evidence"
	p.X.Label.Text = "average precision, mean and 95 % confidence"
	p.X.Min, p.X.Max = 0, 1.05 // room for the last label
	labels := slices.Clone(names)
	for i, name := range names {
		if layer, ok := r.PickedLayer(name); ok {
			labels[i] = fmt.Sprintf("%s (%s)", name, r.LayerName(layer))
		}
	}
	p.NominalY(labels...)
	p.Y.Padding = vg.Points(40) // the reader's font may be wider than the one that is measured here
	p.Y.Tick.Label.Font.Size = vg.Points(9)
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(9), vg.Points(4)
	// The best methods stand at the right of the upper rows; at the left there is room.
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Centimeter/2, -vg.Points(14)
	p.Add(plotter.NewGrid())
	for g, group := range r.Groups {
		if group == r.all() {
			continue
		}
		var xy plotter.XYs
		for y, name := range names {
			s, _ := r.At(group, name, measure)
			xy = append(xy, plotter.XY{X: s.Mean, Y: float64(y)})
		}
		marks, err := plotter.NewScatter(xy)
		if err != nil {
			return err
		}
		marks.Color = plotutil.DarkColors[g%len(plotutil.DarkColors)]
		marks.Shape, marks.Radius = plotutil.Shape(g), vg.Points(3)
		p.Add(marks)
		p.Legend.Add(group, marks)
	}
	if err := r.drawAll(p, names, measure); err != nil {
		return err
	}
	height := vg.Length(len(names))*0.62*vg.Centimeter + 2.5*vg.Centimeter
	return p.Save(19*vg.Centimeter, height, path)
}

// drawAll draws the mean of each method over all kinds with its confidence, and lines where
// rankings are that know nothing.
func (r *report) drawAll(p *plot.Plot, names []string, measure string) error {
	all := struct {
		plotter.XYs
		plotter.XErrors
	}{}
	for y, name := range names {
		s, _ := r.At(r.all(), name, measure)
		all.XYs = append(all.XYs, plotter.XY{X: s.Mean, Y: float64(y)})
		distance := struct{ Low, High float64 }{s.Mean - s.Low, s.High - s.Mean}
		all.XErrors = append(all.XErrors, distance)
	}
	bars, err := plotter.NewXErrorBars(all)
	if err != nil {
		return err
	}
	bars.Width = vg.Points(1.5)
	dots, err := plotter.NewScatter(all.XYs)
	if err != nil {
		return err
	}
	dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(3.5)
	p.Add(bars, dots)
	p.Legend.Add("all", dots)
	for i, name := range []string{evaluate.ChanceLine, evaluate.EarliestLine} {
		s, ok := r.At(r.all(), name, measure)
		if !ok {
			continue
		}
		top := float64(len(names)) - .5
		line, err := plotter.NewLine(plotter.XYs{{X: s.Mean, Y: -.5}, {X: s.Mean, Y: top}})
		if err != nil {
			return err
		}
		dash := []vg.Length{vg.Points(4), vg.Points(1.5)}[i]
		line.Color, line.Dashes = color.Gray{128}, []vg.Length{dash, vg.Points(3)}
		p.Add(line)
		p.Legend.Add(name, line)
	}
	return nil
}

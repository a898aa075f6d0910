package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// figure is one quantity over the length of the prompt.
type figure struct {
	name, title, unit string
	of                func(*measurement) *float64
}

var figures = []figure{
	{
		"first", "from the prompt to the first explained token", "s",
		func(m *measurement) *float64 { return &m.First },
	},
	{"next", "one more explained token", "s", func(m *measurement) *float64 { return &m.Next }},
	{"memory", "memory of the process", "MB", func(m *measurement) *float64 { return &m.Memory }},
}

// missing stands in a table for a length that was left out.
const missing = "–"

// pageName is the page's file.
const pageName = "growth.md"

// intro begins the page.
//
//go:embed intro.md
var intro string

// write writes the page and its pictures.
func write(dir string) error {
	all, err := recorded(shortLines)
	if err != nil {
		return err
	}
	long, err := recorded(longLines)
	if err != nil {
		return err
	}
	var page strings.Builder
	fmt.Fprintf(&page, intro, generated, all[0].Backend, rounds, patience.Seconds())
	for _, f := range figures {
		if err := f.draw(filepath.Join(dir, "growth-"+f.name+".svg"), all); err != nil {
			return err
		}
		page.WriteString(f.table(all))
	}
	page.WriteString(longSection(long))
	return os.WriteFile(filepath.Join(dir, pageName), []byte(page.String()), 0o644)
}

// points returns length and value of a method, the value with the digits of the table, so that the
// page holds all that is made of it.
func (f figure) points(all []measurement, method string) plotter.XYs {
	var xy plotter.XYs
	for _, m := range all {
		if m.Method == method {
			y, _ := strconv.ParseFloat(number(*f.of(&m)), 64) // a number that was just written
			xy = append(xy, plotter.XY{X: float64(m.Tokens), Y: y})
		}
	}
	return xy
}

// number writes a value with three digits that count.
func number(x float64) string {
	// What was just written is a number.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// exponent is the slope of the logarithms from 256 tokens on, NaN for fewer than two points.
func exponent(xy plotter.XYs) float64 {
	var x, y []float64
	for _, p := range xy {
		if p.X >= 256 {
			x, y = append(x, math.Log(p.X)), append(y, math.Log(p.Y))
		}
	}
	if len(x) < 2 {
		return math.NaN()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// table returns the section of a figure.
func (f figure) table(all []measurement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s%s\n\n", strings.ToUpper(f.title[:1]), f.title[1:])
	fmt.Fprintf(&b, "![%s against the length of the prompt, both axes logarithmic]", f.title)
	fmt.Fprintf(&b, "(growth-%s.svg)\n\n| %s |", f.name, f.unit)
	rows(&b, lengths, methods, func(method string) ([]string, string) {
		xy := f.points(all, method)
		var cells []string
		for i := range lengths {
			if i < len(xy) {
				cells = append(cells, number(xy[i].Y))
			} else {
				cells = append(cells, missing)
			}
		}
		return cells, fmt.Sprintf("%.2f", exponent(xy))
	})
	return b.String()
}

// rows writes a table after its first column's name: the lengths, and for each method its cells and
// its exponent.
func rows(
	b *strings.Builder, lengths []int, methods []string, row func(string) ([]string, string),
) {
	for _, n := range lengths {
		fmt.Fprintf(b, " %d |", n)
	}
	b.WriteString(" exponent |\n|---|" + strings.Repeat("---|", len(lengths)+1) + "\n")
	for _, method := range methods {
		cells, slope := row(method)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", method, strings.Join(cells, " | "), slope)
	}
}

// draw writes the picture of a figure.
func (f figure) draw(path string, all []measurement) error {
	p := plot.New()
	p.Title.Text = strings.ToUpper(f.title[:1]) + f.title[1:]
	p.X.Label.Text, p.Y.Label.Text = "prompt tokens", f.unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = lengthTicks{}, valueTicks{}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, method := range methods {
		xy := f.points(all, method)
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		dots.Shape = plotutil.Shape(i)
		p.Add(line, dots)
		p.Legend.Add(fmt.Sprintf("%s, exponent %.2f", method, exponent(xy)), line, dots)
	}
	p.Y.Max *= 1.3 // room for the title
	p.X.Max *= 1.2 // room for the label of the last length, however wide the reader's font is
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}

// lengthTicks marks the lengths that were measured.
type lengthTicks struct{}

// Ticks implements plot.Ticker.
func (lengthTicks) Ticks(_, _ float64) []plot.Tick {
	var ticks []plot.Tick
	for _, n := range lengths {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	return ticks
}

// valueTicks marks 1, 2, 3, … of every power of ten and labels 1, 2 and 5.
type valueTicks struct{}

// Ticks implements plot.Ticker.
func (valueTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for k := math.Floor(math.Log10(low)); k <= math.Log10(high); k++ {
		for d := 1.0; d < 10; d++ {
			t := plot.Tick{Value: d * math.Pow(10, k)}
			if d == 1 || d == 2 || d == 5 {
				t.Label = number(t.Value)
			}
			if t.Value >= low && t.Value <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

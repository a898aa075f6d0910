package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// drawn is a chart with what it says.
type drawn struct {
	Chart chart.Chart
	// Says is one sentence on the numbers, and How one on how they were made.
	Says, How string
	SVG       []byte
}

// name returns the name of a method as it is shown.
func (s *scan) name(i int) string { return render.Visible(s.manifest.Methods[i].Name, 40) }

// look is a narrow figure, which keeps its text readable at the width of a phone.
var look = figure.Options{
	Format: figure.SVG, Look: render.Look{Size: render.Column, Font: 6.5},
}

// charts returns the charts that have data, drawn.
func (s *scan) charts() ([]drawn, error) {
	all := []drawn{
		s.distribution("Share of the strongest prompt token",
			"of a generated token comes from the strongest prompt token",
			"The first token and control tokens are left out.",
			func(m *methodStats) *histogram { return &m.strongest }),
		s.distribution("Share of the first prompt token",
			"of a generated token comes from the first prompt token",
			"Attention often has its sink there, which says little about the text.",
			func(m *methodStats) *histogram { return &m.first }),
		s.distribution("Share of the prompt",
			"of a generated token comes from the prompt, and the rest from generated tokens",
			"", func(m *methodStats) *histogram { return &m.prompt }),
		s.bySteps(),
	}
	all = append(all, s.byLayers()...)
	all = append(all, s.byPlaces(), s.byEnds())
	var withData []drawn
	for _, d := range all {
		if len(d.Chart.Series) == 0 {
			continue
		}
		if len(d.Chart.Series) == 1 { // a chart of one line has no legend
			d.Chart.Subtitle += ", by " + d.Chart.Series[0].Name
		}
		drawing, err := figure.Chart(d.Chart)
		if err != nil {
			return nil, err
		}
		f, err := figure.Draw(look, "", drawing)
		if err != nil {
			return nil, err
		}
		d.SVG = f.Bytes
		withData = append(withData, d)
	}
	return withData, nil
}

// lines returns a chart of lines from 0 upwards.
func lines(title, subtitle string, x, y chart.Axis) chart.Chart {
	zero := 0.0
	if y.Min == nil && y.Unit == "%" {
		y.Min = &zero
	}
	return chart.Chart{Kind: chart.Lines, Title: title, Subtitle: subtitle, X: x, Y: y}
}

// percent writes a share, with a space that does not break.
func percent(x float64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*x) }

// onAverage says the mean of each method: "rollout 12.0 %, value-zeroing 30.0 %".
func (s *scan) onAverage(of func(*methodStats) mean, write func(float64) string) string {
	var parts []string
	for i := range s.methods {
		if m := of(&s.methods[i]); m.n > 0 {
			parts = append(parts, s.name(i)+" "+write(m.value()))
		}
	}
	return strings.Join(parts, ", ")
}

// distribution is a chart of how many generated tokens have which share.
func (s *scan) distribution(
	title, what, how string, of func(*methodStats) *histogram,
) drawn {
	low, high := 0.0, 100.0
	d := drawn{
		Chart: lines(title, fmt.Sprintf("generated tokens by their share, in steps of %d %%",
			100/bins),
			chart.Axis{Title: "share", Unit: "%", Min: &low, Max: &high},
			chart.Axis{Title: "generated tokens", Unit: "%"}),
		Says: "On average this much " + what + ": " + s.onAverage(func(m *methodStats) mean {
			return of(m).mean
		}, percent) + ".",
		How: how,
	}
	for i := range s.methods {
		h := of(&s.methods[i])
		if h.n == 0 {
			continue
		}
		line := chart.Series{Name: s.name(i)}
		for b, n := range h.counts {
			line.X = append(line.X, 100*(float64(b)+0.5)/bins)
			line.Y = append(line.Y, 100*float64(n)/float64(h.n))
		}
		d.Chart.Series = append(d.Chart.Series, line)
	}
	return d
}

// means returns a line of means with their x, in percent.
func means(name string, all []mean, x func(int) float64) (line chart.Series, any bool) {
	line.Name = name
	for i, m := range all {
		if m.n > 0 {
			line.X = append(line.X, x(i))
			line.Y = append(line.Y, 100*m.value())
		}
	}
	return line, len(line.X) > 0
}

// bySteps is a chart of the share of the prompt by the number of the generated token.
func (s *scan) bySteps() drawn {
	d := drawn{
		Chart: lines("Share of the prompt by generated token",
			"mean over the texts that have so many generated tokens",
			chart.Axis{Title: "number of the generated token", Unit: "from 1", Whole: true},
			chart.Axis{Title: "share of the prompt", Unit: "%"}),
		How: fmt.Sprintf("Up to %d generated tokens of a text are counted.", firstSteps),
	}
	var parts []string
	for i := range s.methods {
		steps := s.methods[i].steps[:]
		line, ok := means(s.name(i), steps, func(t int) float64 { return float64(t + 1) })
		if !ok || len(line.X) < 2 {
			continue
		}
		d.Chart.Series = append(d.Chart.Series, line)
		end := len(line.X) - 1
		parts = append(parts, fmt.Sprintf("%s from %s of token %.0f to %s of token %.0f", line.Name,
			percent(line.Y[0]/100), line.X[0], percent(line.Y[end]/100), line.X[end]))
	}
	d.Says = "The share of the prompt goes: " + strings.Join(parts, ", ") + "."
	return d
}

// byLayers are two charts for each unit: the sum over the prompt after each layer, and the first
// token.
func (s *scan) byLayers() []drawn {
	var units []string
	for i, m := range s.manifest.Methods {
		if s.methods[i].several && !slices.Contains(units, m.Unit) {
			units = append(units, m.Unit)
		}
	}
	var all []drawn
	for _, unit := range units {
		all = append(all,
			s.layerChart(unit, "All prompt tokens by layer", "sum over prompt tokens",
				func(l *layerStats) mean { return l.totals }),
			s.layerChart(unit, "First prompt token by layer", "value of the first token",
				func(l *layerStats) mean { return l.firsts }))
	}
	return all
}

func (s *scan) layerChart(unit, title, y string, of func(*layerStats) mean) drawn {
	d := drawn{
		Chart: lines(title, "mean over generated tokens",
			chart.Axis{Title: "layer", Unit: "from 0", Whole: true},
			chart.Axis{Title: y, Unit: render.Visible(unit, 60)}),
	}
	var parts []string
	for i, m := range s.manifest.Methods {
		if !s.methods[i].several {
			d.How = "Methods that compute one layer alone are left out."
		}
		if m.Unit != unit || !s.methods[i].several {
			continue
		}
		line := chart.Series{Name: s.name(i)}
		for _, layer := range slices.Sorted(maps.Keys(s.methods[i].layers)) {
			v := of(s.methods[i].layers[layer]).value()
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				line.X, line.Y = append(line.X, float64(layer)), append(line.Y, v)
			}
		}
		if len(line.X) == 0 {
			continue
		}
		d.Chart.Series = append(d.Chart.Series, line)
		end := len(line.X) - 1
		parts = append(parts, fmt.Sprintf("%s from %.3g after layer %.0f to %.3g after layer %.0f",
			line.Name, line.Y[0], line.X[0], line.Y[end], line.X[end]))
	}
	d.Says = "The mean goes: " + strings.Join(parts, ", ") + "."
	return d
}

// byPlaces is a chart of which part of the prompt matters.
func (s *scan) byPlaces() drawn {
	low, high := 0.0, 100.0
	d := drawn{
		Chart: lines("Share by place in the prompt", fmt.Sprintf(
			"mean share of each %d %% of the prompt", 100/bins),
			chart.Axis{
				Title: "place in the prompt", Unit: "% of its tokens", Min: &low, Max: &high,
			},
			chart.Axis{Title: "share", Unit: "%"}),
		How: "The first token and control tokens are left out. A token of a short prompt covers " +
			"several places, and its share is divided among them.",
	}
	var parts []string
	for i := range s.methods {
		line, ok := means(s.name(i), s.methods[i].places[:], func(b int) float64 {
			return 100 * (float64(b) + 0.5) / bins
		})
		if !ok {
			continue
		}
		d.Chart.Series = append(d.Chart.Series, line)
		best := rowmath.Largest(line.Y)
		parts = append(parts, fmt.Sprintf("%s at %d to %d\u00a0%%", line.Name, best*100/bins,
			(best+1)*100/bins))
	}
	d.Says = "Most comes from these places: " + strings.Join(parts, ", ") + "."
	return d
}

// byEnds is a chart of the last tokens of the prompt.
func (s *scan) byEnds() drawn {
	d := drawn{
		Chart: lines("Share of the last prompt tokens", "mean over generated tokens",
			chart.Axis{
				Title: "distance from the end of the prompt", Unit: "tokens, 1 is the last",
				Reversed: true, Whole: true,
			},
			chart.Axis{Title: "share of one token", Unit: "%"}),
		How: "The first token and control tokens are left out. A prompt counts as far as it " +
			"goes.",
	}
	for i := range s.methods {
		line, ok := means(s.name(i), s.methods[i].ends[:], func(k int) float64 {
			return float64(k + 1)
		})
		if ok {
			d.Chart.Series = append(d.Chart.Series, line)
		}
	}
	d.Says = "The last prompt token has on average: " + s.onAverage(func(m *methodStats) mean {
		return m.ends[0]
	}, percent) + "."
	return d
}

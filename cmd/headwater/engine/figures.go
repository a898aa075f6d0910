package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// onScreen draws a picture for a notebook: a chart alone is as wide as a column. It has no version
// inside, so that a notebook has equal bytes with every build.
func onScreen(p *reproduction.Picture, draw func(figure.Options) (*figure.Figure, error)) error {
	o := figure.Options{Screen: true}
	if len(p.Charts) == 1 {
		o.Size, o.Font = render.Column, 8
	}
	for format, to := range map[figure.Format]*[]byte{figure.SVG: &p.SVG, figure.PNG: &p.PNG} {
		o.Format = format
		drawn, err := draw(o)
		if err != nil {
			return err
		}
		*to = drawn.Bytes
	}
	return nil
}

// servedFigures returns figures of documents for an engine: as JSON, with their pictures drawn.
func servedFigures(names []string) ([]server.Figure, error) {
	some, err := figures.Find(names...)
	if err != nil {
		return nil, err
	}
	var out []server.Figure
	for _, f := range some {
		out = append(out, server.Figure{ID: f.ID, Model: f.Model, Make: func(
			ctx context.Context, m trace.Model, progress func(trace.Progress),
		) ([]byte, error) {
			r, err := figures.Make(ctx, f, m, figures.Options{Progress: progress})
			if err != nil {
				return nil, err
			}
			for i := range r.Pictures {
				err := onScreen(&r.Pictures[i], func(o figure.Options) (*figure.Figure, error) {
					return figures.Draw(r, i, o, "")
				})
				if err != nil {
					return nil, err
				}
			}
			var b bytes.Buffer
			err = r.Write(&b)
			return b.Bytes(), err
		}})
	}
	return out, nil
}

// drawPicture draws a picture of a cell, which came as JSON: as a file in the format that its name
// ends with, or without a name for the notebook, as JSON. See [server.Figures].
func drawPicture(picture json.RawMessage, file string, look json.RawMessage) (
	data []byte, notes []string, err error,
) {
	var p reproduction.Picture
	if err := json.Unmarshal(picture, &p); err != nil {
		return nil, nil, trace.Usagef("the charts cannot be read: %v", err)
	}
	d, err := figure.Grid(p.Columns, p.Charts...)
	if err != nil {
		return nil, nil, &trace.UsageError{Package: "engine", Reason: err.Error()}
	}
	if file == "" {
		if err = onScreen(&p, func(o figure.Options) (*figure.Figure, error) {
			return figure.Draw(o, "", d)
		}); err == nil {
			data, err = json.Marshal(p.Drawn)
		}
		return data, nil, err
	}
	options, err := lookOf(file, look)
	if err != nil {
		return nil, nil, err
	}
	drawn, err := figure.Draw(options, export.ChartOrigin(cli.Release()), d)
	if err != nil {
		return nil, nil, err
	}
	contents := fmt.Sprintf("%.4g in, %s", figure.Inches(options.Size),
		message.Count(len(p.Charts), "chart"))
	return drawn.Bytes, append([]string{contents}, drawn.Warnings...), nil
}

// lookOf returns how the file of a chart looks.
func lookOf(file string, look json.RawMessage) (o figure.Options, err error) {
	format, err := export.FormatOf(file)
	if err == nil && !format.Figure() {
		err = trace.Usagef("%q is no figure; a chart is saved as .svg, .pdf, .png or .tex", file)
	}
	if err != nil {
		return o, err
	}
	if len(look) > 0 {
		if err := json.Unmarshal(look, &o); err != nil {
			return o, trace.Usagef("the look of the chart cannot be read: %v", err)
		}
	}
	o.Format = figure.Format(format)
	if err := o.Check(); err != nil {
		return o, &trace.UsageError{Package: "engine", Reason: err.Error()}
	}
	return o, nil
}

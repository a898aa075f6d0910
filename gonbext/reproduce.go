package gonbext

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"os/signal"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// Reproduction is a figure or a table of a document, made again: charts, tables and verdicts.
type Reproduction = reproduction.Reproduction

// Reproduce makes a figure or a table of a document again and shows it beside what the document
// claims and a verdict on each claim:
//
//	gonbext.Reproduce("s1-fig2")
//
// headwater figures --list lists the names. Figures of attention focus can show another layer or
// head, as in "s3-fig1,layer=3,head=2"; docs/figures-files.md lists these choices. A figure is made
// with the model given, or else with the one that the environment variable MODEL names, as after
// "%env MODEL smollm2" in a cell, or else with an embedded model of its own. If the figure does not
// fit the model, which has no mask token, say, or a context that is too short, a line says why the
// figure is left out. The engine keeps what it made, so the second time is quick. On an error it
// shows one line and ends the program; see [TryReproduce].
func Reproduce(figure string, model ...Model) *Reproduction {
	r, err := TryReproduce(figure, model...)
	if err != nil {
		newDisplay().exit(err)
	}
	return r
}

// TryReproduce is [Reproduce], with the error returned.
func TryReproduce(figure string, model ...Model) (*Reproduction, error) {
	r, err := reproduce(figure, model)
	return r, worded(err)
}

// reproduce is TryReproduce, with the error as it comes.
func reproduce(figure string, model []Model) (*Reproduction, error) {
	out := newDisplay()
	all, err := figures(out, []string{figure}, model)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, usagef("%q names %d figures; give one of their names, such as %s", figure,
			len(all), all[0].ID)
	}
	return all[0], out.reproduction(all[0])
}

// Verdicts makes figures of documents again and shows one table of their claims and verdicts. Names
// are those of figures or of documents, such as s0; without any, all figures are made. The model is
// that of MODEL, as with [Reproduce]. On an error it shows one line and ends the program.
func Verdicts(names ...string) []*Reproduction {
	out := newDisplay()
	all, err := figures(out, names, nil)
	if err != nil {
		out.exit(err)
	}
	out.table(reproduction.Verdicts(all...))
	return all
}

// modelVariable names the model of figures, so that one line changes that of a whole notebook.
const modelVariable = "MODEL"

// figures asks the engine for figures.
func figures(out *display, names []string, model []Model) ([]*Reproduction, error) {
	if len(model) > 1 {
		return nil, usagef("%d models are given; a figure is made with one", len(model))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := connect(ctx, out)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	which := engine.Model(append(model, Model{Name: os.Getenv(modelVariable)})[0])
	data, err := client.Figures(ctx, which, names, func(p trace.Progress) {
		out.live(p.Stage, func() render.Heatmap { return render.Heatmap{Status: p.String()} })
	})
	if err != nil {
		out.clear()
		return nil, interrupted(ctx, err)
	}
	drewOther("the latest picture is of figures that were made again: save a chart of what " +
		"Reproduce returned with gonbext.SaveChart")
	return reproduction.Read(bytes.NewReader(data))
}

// reproduction shows a figure: its claim, its charts and tables, its verdicts.
func (d *display) reproduction(r *Reproduction) error {
	d.heading(r)
	for _, p := range r.Pictures {
		if err := d.picture(p); err != nil {
			return err
		}
	}
	for _, t := range r.Tables {
		d.table(t)
	}
	if len(r.Checks) > 0 {
		d.table(r.CheckTable())
	}
	for _, n := range r.Notes {
		d.note(n, "")
	}
	return nil
}

// heading shows what the figure is and what the document claims.
func (d *display) heading(r *Reproduction) {
	from := fmt.Sprintf("%s, %s; model %s", r.Document, r.Place, r.Model)
	text := fmt.Sprintf("%s: %s\n%s\nClaim: %s\n", r.ID, r.Title, from, r.Claim)
	if r.LeftOut != "" {
		text += r.LeftOut + "\n"
	}
	if !d.notebook {
		fmt.Print(text)
		return
	}
	markup := fmt.Sprintf("<b>%s: %s</b><br><small>%s</small><blockquote>%s</blockquote>",
		html.EscapeString(r.ID), html.EscapeString(r.Title), html.EscapeString(from),
		html.EscapeString(r.Claim))
	if r.LeftOut != "" {
		markup += "<p>" + html.EscapeString(r.LeftOut) + "</p>"
	}
	d.stay(map[protocol.MIMEType]any{
		protocol.MIMETextHTML: words(markup), protocol.MIMETextPlain: text,
	})
}

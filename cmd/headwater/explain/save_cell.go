package explain

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// tokenParts is the value of By that leaves tokens as they are, also where the picture has words.
const tokenParts = "token"

// OriginOf returns what an explanation of a cell says of its origin; see [server.Config].
func OriginOf(r engine.Request, opts attribution.Options) (json.RawMessage, error) {
	made := export.NewMade(string(r.Text), opts, units.Grouping{}, r.Model.DType,
		cli.Release())
	if err := readShow(r.Show, &made.Show); err != nil {
		return nil, err
	}
	return made.Origin()
}

// OpeningOf returns the token that the picture of a cell opens at; see [server.Config].
func OpeningOf(e *attribution.Explanation, show json.RawMessage) int {
	var s render.Show
	_ = readShow(show, &s) // what is wrong with it was an error of OriginOf
	return s.Opening(e)
}

// EncodeFile makes a file of a picture of a cell; see [server.Encoder]. The first note is what the
// file has.
func EncodeFile(ctx context.Context, f server.File) (data []byte, notes []string, err error) {
	format, err := export.FormatOf(f.Name)
	if err != nil {
		return nil, nil, err
	}
	made, err := export.MadeOf(f.Explanation, cli.Release())
	if err != nil {
		return nil, nil, err
	}
	shown := made.Show
	if f.Show != nil {
		shown = render.Show{}
		if err := readShow(f.Show, &shown); err != nil {
			return nil, nil, err
		}
	}
	o := export.Options{Made: made} // whose options the graph of flow needs
	var own render.Show
	if o.Show, own, err = savedShow(shown, f.Asked, format); err != nil {
		return nil, nil, err
	}
	if o.Show, err = o.AtWord(f.Explanation); err != nil {
		return nil, nil, err
	}
	if f.Against != nil && o.View().Compares && !export.Compares(o.Show, format) {
		return nil, nil, trace.Usagef("%s would have one of the two explanations compared: save "+
			"each with gonbext.SaveExplanation and Kind \"heatmap\"", f.Name)
	}
	if own.Layer == nil && format.Figure() && !export.HasLayer(o.Show, f.Explanation) {
		o.Layer = nil // the picture shows another layer of this method too
	}
	if o.Show = o.Opened(f.Explanation); o.Token == nil && format == export.Neuronpedia {
		o.Token = format.Shown(render.Show{}).Opened(f.Explanation).Token // as the picture
	}
	if err := addRecorded(ctx, &o, format, f.Tracer, f.Explanation); err != nil {
		return nil, nil, err
	}
	e, err := groupedBy(o.By, f.Explanation, &o.Made)
	if err != nil {
		return nil, nil, err
	}
	if f.Against != nil && o.View().Compares {
		o.Against = &export.Against{}
		if o.Against.Made, err = export.MadeOf(f.Against, cli.Release()); err != nil {
			return nil, nil, err
		}
		o.Against.Explanation, err = groupedBy(o.By, f.Against, &o.Against.Made)
		if err != nil {
			return nil, nil, err
		}
	}
	o.By = "" // which the origin has
	data, notes, err = export.Encode(e, format, o)
	if err != nil {
		return nil, nil, err
	}
	contents, width := o.Describe(e, format)
	if width != "" {
		contents = width + ", " + contents
	}
	return data, append([]string{contents}, notes...), nil
}

// groupedBy returns an explanation with its tokens put together, and sets how it was made.
func groupedBy(parts string, e *attribution.Explanation, made *export.Made) (
	*attribution.Explanation, error,
) {
	if parts == tokenParts {
		for _, r := range e.Methods {
			if r.Spans {
				return nil, trace.Usagef("the tokens of this explanation are put together " +
					"already: explain without By to save them one by one")
			}
		}
		return e, nil
	}
	by, err := units.ParseGrouping(parts)
	if err != nil {
		return nil, err
	}
	if e, err = e.Group(by); err != nil {
		return nil, err
	}
	*made, err = export.MadeOf(e, cli.Release())
	return e, err
}

// savedShow returns what a file shows: what a cell asks for, and where that says nothing, what its
// picture shows. own is what the cell asks for alone.
func savedShow(shown render.Show, asked json.RawMessage, format export.Format) (
	show, own render.Show, err error,
) {
	show = shown
	if err := cmp.Or(readShow(asked, &show), readShow(asked, &own)); err != nil {
		return show, own, err
	}
	if own.Kind != "" && own.Kind != shown.Kind { // parts of the picture that no other kind has
		show.Tokens, show.AgainstMethod = own.Tokens, own.AgainstMethod
	}
	takes := show.View().Takes
	if own.Layer == nil && (takes["layer"] == 0 || takes["head"] != 0) {
		show.Layer = nil // that of the picture means nothing here
	}
	if own.Token != nil || own.Tokens != nil || own.Word != "" || takes["token"] == 0 {
		show.Token, show.Tokens, show.Word = own.Token, own.Tokens, own.Word
	}
	if export.Needs(show, format) != nil {
		if own.By != "" && own.By != tokenParts || own.Filter != nil {
			return show, own, trace.Usagef("%s shows tokens as the model has them: leave By and "+
				"Filter empty", show.Kind)
		}
		show.By, show.Filter = "", nil
	}
	if len(show.Filter) == 0 {
		show.Filter = nil
	}
	return show, own, export.CheckFor(show, format)
}

// readShow reads what a cell says of a picture into a value, which keeps what it does not say.
func readShow(text json.RawMessage, to *render.Show) error {
	if len(text) == 0 {
		return nil
	}
	if err := jsonread.Into(text, to); err != nil {
		return trace.Usagef("what the picture shows cannot be read: %s", message.NotJSON(err))
	}
	return nil
}

package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/export"
)

// tokenParts is the value of by that leaves tokens as they are, also where the picture has words.
const tokenParts = "token"

// cellFigure is what a figure of a cell shows: what export needs, and the parts that tokens are put
// together to.
type cellFigure struct {
	render.Show
	By string `json:"by"`

	ownLayer bool // Layer is what the cell asks for, and not that of the picture
}

// EncodeFile makes a file of an explanation of a cell; see [server.Encoder].
func EncodeFile(ctx context.Context, f server.File) (data []byte, notes []string, err error) {
	format, err := export.FormatOf(f.Name)
	if err != nil {
		return nil, nil, err
	}
	request := f.Explained.Request
	figure, err := figureOf(request.Show, f.Figure, format)
	if err != nil {
		return nil, nil, err
	}
	if err := figure.fits(f, format); err != nil {
		return nil, nil, err
	}
	if !figure.ownLayer && format.Figure() &&
		!export.HasLayer(figure.Show, f.Explained.Explanation) {
		figure.Layer = nil // the picture shows another layer of this method too
	}
	opts, err := request.ExplainOptions()
	if err != nil {
		return nil, nil, err
	}
	e := f.Explained.Explanation
	o := export.Options{Show: figure.Show}
	if o.Token == nil && export.NeedsFlow(o.Show, format) { // as the picture
		first := render.FirstWord(e)
		o.Token = &first
	}
	o.Made.Options = opts // which the graph of flow needs
	if err := addRecorded(ctx, &o, format, f.Tracer, e); err != nil {
		return nil, nil, err
	}
	by, err := figure.grouping()
	if err != nil {
		return nil, nil, err
	}
	if e, o.Made, err = madeInCell(f.Explained, opts, by); err != nil {
		return nil, nil, err
	}
	if f.Against != nil && figure.Kind == render.KindCompare {
		var b export.Against
		theirs, err := f.Against.Request.ExplainOptions()
		if err != nil {
			return nil, nil, err
		}
		if b.Explanation, b.Made, err = madeInCell(*f.Against, theirs, by); err != nil {
			return nil, nil, err
		}
		o.Against = &b
	}
	return export.Encode(e, format, o)
}

// madeInCell returns an explanation of a cell with its tokens put together, and how it was made.
func madeInCell(from server.Explained, opts attribution.Options, by attribution.Grouping) (
	*attribution.Explanation, export.Made, error,
) {
	e, err := from.Explanation.Group(by)
	if err != nil {
		return nil, export.Made{}, err
	}
	r := from.Request
	return e, export.NewMade(string(r.Text), opts, by, r.Model.DType, cli.Release()), nil
}

// figureOf returns what a cell asks for, and where that says nothing, what its picture shows.
func figureOf(shown, asked json.RawMessage, format export.Format) (f cellFigure, err error) {
	var own cellFigure
	var shownKind render.Kind
	for i, part := range []struct {
		text json.RawMessage
		to   *cellFigure
	}{{shown, &f}, {asked, &f}, {asked, &own}} {
		d := json.NewDecoder(bytes.NewReader(part.text))
		d.DisallowUnknownFields()
		if err := d.Decode(part.to); err != nil && !errors.Is(err, io.EOF) {
			return f, trace.Usagef("what the figure shows cannot be read: %v", err)
		}
		if i == 0 {
			shownKind = f.Kind
		}
	}
	if own.Kind != "" && own.Kind != shownKind { // parts of the picture that no other kind has
		if own.Tokens == nil {
			f.Tokens = nil
		}
		if own.AgainstMethod == "" {
			f.AgainstMethod = ""
		}
	}
	if own.Layer == nil && slices.Contains([]render.Kind{
		render.KindLayers, render.KindFlow, render.KindHeads, render.KindHead,
	}, f.Kind) {
		f.Layer = nil // that of the picture means nothing here
	}
	if own.Token == nil && (f.Kind == render.KindMaps || f.Kind == render.KindMap ||
		f.Kind == render.KindHeads && format == export.HTML) {
		f.Token = nil // there is no chosen one
	}
	if f.Tokens != nil && own.Tokens != nil && own.Token == nil {
		f.Token = nil
	}
	if export.AsModel(f.Show, format) {
		if own.By != "" && own.By != tokenParts || own.Filter != nil {
			return f, trace.Usagef("%s shows tokens as the model has them: leave By and Filter "+
				"empty", f.Kind)
		}
		f.By, f.Filter = "", nil
	}
	f.ownLayer = own.Layer != nil
	return f, export.CheckFor(f.Show, format)
}

// fits returns a usage error for a file that would have the numbers of one of two explanations.
func (f cellFigure) fits(file server.File, format export.Format) error {
	if f.Kind != render.KindCompare || file.Against == nil || export.Compares(f.Show, format) {
		return nil
	}
	return trace.Usagef("%s would have one of the two explanations compared: save each with "+
		"gonbext.SaveExplanation and Kind \"heatmap\" of Figure", file.Name)
}

// grouping returns the parts that tokens are put together to.
func (f cellFigure) grouping() (attribution.Grouping, error) {
	if f.By == tokenParts {
		f.By = ""
	}
	return attribution.ParseGrouping(f.By)
}

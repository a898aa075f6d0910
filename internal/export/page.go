package export

import (
	"bytes"
	"html"
	"io"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// writePage writes the page that the options name, with its origin in its head.
func (o Options) writePage(w io.Writer, e *attribution.Explanation, made string) error {
	picture, err := o.picture(e)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := render.Page(&page, picture); err != nil {
		return err
	}
	const charset = `<meta charset="utf-8">` // the first thing in its head
	before, after, ok := strings.Cut(page.String(), charset)
	if !ok {
		return pkg.Errorf("the page has no character set")
	}
	_, err = io.WriteString(w, before+charset+metaBegin+html.EscapeString(made)+metaEnd+after)
	return err
}

// picture returns the picture of an explanation, which shows the layer that the options name
// already, unless that is a layer of what was recorded.
func (o Options) picture(e *attribution.Explanation) (render.Picture, error) {
	show := o.Show
	if show.View().Record == nil {
		show.Layer = nil
	}
	return show.Picture(e, o.Recorded)
}

// Text writes the text of the picture that the options name, with top tokens of each row, those
// that stand out for 0, or all below 0. It returns a [trace.UsageError] if the options do not fit
// the explanation.
func (o Options) Text(
	w io.Writer, e *attribution.Explanation, look render.Terminal, top int,
) error {
	e, o, err := o.prepared(e, Text)
	if err != nil {
		return err
	}
	picture, err := o.picture(e)
	if err != nil {
		return err
	}
	if h, ok := picture.(render.Heatmap); ok {
		h.Top = top
		picture = h
	}
	return render.Text(w, picture, look)
}

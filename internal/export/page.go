package export

import (
	"bytes"
	"errors"
	"html"
	"io"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// writePage writes the page that the options name, with its origin in its head.
func (o Options) writePage(w io.Writer, e *attribution.Explanation, made string) error {
	from, err := o.page(e)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if _, err := from.WriteTo(&page); err != nil {
		return err
	}
	const charset = `<meta charset="utf-8">` // the first thing in its head
	before, after, ok := strings.Cut(page.String(), charset)
	if !ok {
		return errors.New("export: the page has no character set")
	}
	_, err = io.WriteString(w, before+charset+metaBegin+html.EscapeString(made)+metaEnd+after)
	return err
}

// picture returns what a page and a text show, a value that says what is wrong with it. The options
// are those that [CheckFor] has checked.
func (o Options) picture(e *attribution.Explanation) (any, error) {
	token := 0
	if o.Token != nil {
		token = *o.Token
	}
	if o.Token != nil || o.Tokens != nil {
		if err := o.hasTokens(e, token); err != nil {
			return nil, err
		}
	}
	palette := o.Look.Palette
	heatmap := render.Heatmap{
		Explanation: e, Token: o.Token, Filter: o.Filter, Palette: palette,
	}
	switch o.Kind {
	case render.KindLayers:
		l := render.Layers{Heatmap: heatmap, Tokens: o.Tokens}
		if o.Token != nil {
			l.Tokens = []int{token}
		}
		return l, l.Check()
	case render.KindFlow:
		if o.Flow == nil {
			return nil, errNoFlow
		}
		f := render.Flow{Explanation: e, Graph: o.Flow, Token: token, Palette: palette}
		return f, f.Check()
	case render.KindHeads:
		h, err := o.headsOf(e)
		if err != nil {
			return nil, err
		}
		h.Palette = palette
		return h, h.Check()
	case render.KindMaps, render.KindMap:
		method, err := o.method(e)
		if err != nil {
			return nil, err
		}
		m, err := o.mapsOf(e, method)
		if err != nil {
			return nil, err
		}
		m.Palette = palette
		return m, m.Check()
	case render.KindCompare:
		compared, err := o.comparison(e)
		if err != nil {
			return nil, err
		}
		compared.Token, compared.Palette = o.Token, palette
		heatmap = compared
	}
	return heatmap, nil
}

// page returns the page that the options name. It returns an error for one that would show an error
// in its place.
func (o Options) page(e *attribution.Explanation) (io.WriterTo, error) {
	shown, err := o.picture(e)
	if err != nil {
		return nil, err
	}
	switch s := shown.(type) {
	case render.Layers:
		return render.LayersPage{Layers: s}, nil
	case render.Flow:
		return render.FlowPage{Flow: s}, nil
	case render.Heads:
		return render.HeadsPage{Heads: s}, nil
	case render.Maps:
		return render.MapsPage{Maps: s}, nil
	case render.Heatmap:
		return render.Page{HTML: render.HTML{Heatmap: s}}, nil
	}
	panic("export: a picture without a page")
}

// Text returns the text of the picture that the options name. Width, Color and Top are those of
// look, whose heatmap is not read. It returns a [trace.UsageError] if the options do not fit the
// explanation.
func (o Options) Text(e *attribution.Explanation, look render.Text) (io.WriterTo, error) {
	e, o, err := o.prepared(e, Text)
	if err != nil {
		return nil, err
	}
	shown, err := o.picture(e)
	if err != nil {
		return nil, err
	}
	switch s := shown.(type) {
	case render.Layers:
		return render.LayersText{Layers: s, Width: look.Width}, nil
	case render.Flow:
		return render.FlowText{Flow: s, Width: look.Width}, nil
	case render.Heads:
		return render.HeadsText{Heads: s, Width: look.Width}, nil
	case render.Maps:
		return render.MapsText{Maps: s, Width: look.Width}, nil
	case render.Heatmap:
		look.Heatmap = s
		return look, nil
	}
	panic("export: a picture without a text")
}

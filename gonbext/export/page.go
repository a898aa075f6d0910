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

// page returns the page that the options name, which [Show.CheckFor] has checked. It returns an
// error for one that would show an error in its place.
func (o Options) page(e *attribution.Explanation) (io.WriterTo, error) {
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
	case Layers:
		l := render.Layers{Heatmap: heatmap, Tokens: o.Tokens}
		if o.Token != nil {
			l.Tokens = []int{token}
		}
		return render.LayersPage{Layers: l}, l.Check()
	case Graph:
		if o.Flow == nil {
			return nil, errNoFlow
		}
		f := render.Flow{Explanation: e, Graph: o.Flow, Token: token, Palette: palette}
		return render.FlowPage{Flow: f}, f.Check()
	case Heads:
		h, err := o.headsOf(e)
		if err != nil {
			return nil, err
		}
		h.Palette = palette
		return render.HeadsPage{Heads: h}, h.Check()
	case Maps, Map:
		method, err := o.method(e)
		if err != nil {
			return nil, err
		}
		m, err := o.mapsOf(e, method)
		if err != nil {
			return nil, err
		}
		m.Palette = palette
		return render.MapsPage{Maps: m}, m.Check()
	case Compare:
		compared, err := o.comparison(e)
		if err != nil {
			return nil, err
		}
		compared.Token, compared.Palette = o.Token, palette
		heatmap = compared
	}
	return render.Page{HTML: render.HTML{Heatmap: heatmap}}, nil
}

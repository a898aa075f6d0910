package gonbext

import (
	"context"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// Maps continues the prompt, as [Explain] does, and shows what every token of the text has from
// every token, by one method: one layer as a matrix, and up to twelve layers as thumbnails; see
// [render.Maps]. Layer of [View] opens a layer; default: the one that wrote the first word.
//
//	gonbext.Maps("the keys to the cabinet", gonbext.Options{Methods: []string{"raw"}})
//
// It returns the explanation. The settings are those of [Explain]; the method, value-zeroing by
// default, is one that is made of attention or of value-zeroing, and tokens cannot be put together.
// On an error Maps shows one line and ends the program; see [TryMaps].
func Maps(prompt string, settings ...Setting) *Explanation {
	out := newDisplay()
	e, err := maps(out, prompt, settings)
	if err != nil {
		out.exit(err)
	}
	return e
}

// TryMaps is [Maps], with the error returned.
func TryMaps(prompt string, settings ...Setting) (*Explanation, error) {
	out := newDisplay()
	defer out.clear()
	e, err := maps(out, prompt, settings)
	return e, worded(err)
}

// maps is TryMaps on a display, which may still hold a picture of progress after an error.
func maps(out *display, prompt string, settings []Setting) (*Explanation, error) {
	r, err := newRequest(settings)
	if err != nil {
		return nil, err
	}
	switch {
	case len(r.options.Methods) > 1:
		return nil, usagef("maps are of one method; name one in Methods of Options")
	case r.groups():
		return nil, usagef("maps show every token: leave By and Target empty")
	case len(r.options.Methods) == 0:
		r.options.Methods = []string{"value-zeroing"}
	}
	if _, err := attribution.MapTap(r.options.Methods[0]); err != nil {
		return nil, err
	}
	r.kind = mapsKind
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m, err := r.maps(ctx, out, prompt)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	out.show(m, render.MapsText{Maps: m, Width: plainColumns},
		render.MapsText{Maps: m, Width: columns()})
	return m.Explanation, nil
}

// mapsKind is the kind of figure of what [Maps] shows.
const mapsKind = "maps"

// maps asks the engine for the text and for what its maps are made of.
func (r request) maps(ctx context.Context, out *display, prompt string) (render.Maps, error) {
	e, err := r.explain(ctx, out, prompt)
	if err != nil {
		return render.Maps{}, err
	}
	method := r.options.Methods[0]
	recorder, err := e.Traced(tracer{r, out, e.Model})
	if err != nil {
		return render.Maps{}, err
	}
	of, err := attribution.MapOf(ctx, recorder, e.TokenIDs(), method, r.options)
	if err != nil {
		return render.Maps{}, err
	}
	m := render.Maps{
		Explanation: e, Method: method, Map: of, Layer: r.view.Layer, Palette: r.view.Palette,
	}
	return m, m.Check()
}

package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// A view is registered once, with a name and a picture, and what one takes is a field of Show, an
// option or a flag that the command has for pictures.
func TestRegisterView(t *testing.T) {
	picture := func(render.Show, *attribution.Explanation, any) (render.Picture, error) {
		return render.Heatmap{}, nil
	}
	for name, v := range map[string]render.View{
		"no name": {Picture: picture}, "no picture": {Name: "x"},
		"twice": {Name: render.KindHeatmap, Picture: picture},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is registered", name)
				}
			}()
			render.RegisterView(v)
		}()
	}
	shown := strings.Fields("token tokens layer head source sinks alignment against against-model " +
		"filter color top full")
	for _, kind := range render.Kinds() {
		v := render.Show{Kind: kind}.View()
		if v.Name != kind || v.Part != "" && !slices.Contains(render.Kinds(), v.Part) {
			t.Errorf("%s is the view %s, a part of %q", kind, v.Name, v.Part)
		}
		for name := range v.Takes {
			known := slices.ContainsFunc(attribution.OptionTable(),
				func(o attribution.Option) bool { return name == o.Flag || name == o.Key })
			if !known && !slices.Contains(shown, name) {
				t.Errorf("%s takes %q, which is neither a field of Show nor an option", kind, name)
			}
		}
	}
}

// A view refuses each field of Show that it does not take, and says which views take it; without
// what it records, it says what to do.
func TestTaken(t *testing.T) {
	one := 1
	for _, s := range []struct {
		show render.Show
		want string
	}{
		{render.Show{Kind: "lens", Layer: &one}, "layer 1; a picture of lens has all layers"},
		{render.Show{Kind: "patch", Token: &one}, "has all tokens; leave the token out"},
		{render.Show{Kind: "maps", Head: &one}, "a head is for a picture of the kind head"},
		{render.Show{Sinks: true}, "edges to sinks are for a picture of the kind flow"},
		{render.Show{Kind: "flow", Alignment: true}, "an alignment is for a picture of the kind heat"},
		{render.Show{AgainstMethod: "raw"}, "a method of side B is for a picture of the kind compare"},
		{render.Show{Kind: "heads", Tokens: []int{1}}, "several tokens are for a picture of layers"},
		{render.Show{Kind: "head", Head: &one}, "a head without a layer; give both"},
	} {
		if err := s.show.Check(); err == nil || !strings.Contains(err.Error(), s.want) {
			t.Errorf("%+v: error %v, want %q", s.show, err, s.want)
		}
	}
	e := &attribution.Explanation{Model: trace.Info{Layers: 1}}
	for _, kind := range render.Kinds() {
		s := render.Show{Kind: kind}
		r := s.View().Record
		if r == nil {
			continue
		}
		if _, err := s.Picture(e, nil); err == nil || !strings.Contains(err.Error(), r.Missing) {
			t.Errorf("%s without its record: error %v, want %q", kind, err, r.Missing)
		}
	}
}

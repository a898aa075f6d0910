package gonbext

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// Heads is [Explain] with the kind heads of [Show]: what every attention head of every layer looks
// at, in the prompt and in the generated tokens, and what it wrote into their logits, against
// Contrast of the options if that is given; see [render.Heads]. The only method of what it returns
// is raw. Methods cannot be chosen, and tokens cannot be put together. The text must be
// short enough for [render.CheckHeads].
func Heads(prompt string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindHeads, prompt, settings)
}

// FlowGraph is [Explain] with the kind flow of [Show]: how much can flow from one prompt token to
// one generated token through the attention of all layers: the layered graph, its widest path and
// its minimum cut; see [render.Flow]. Token and Source of [Show] choose the two.
//
//	gonbext.FlowGraph("the keys to the cabinet", gonbext.Options{MaxTokens: 1})
//
// The only method of what it returns is flow. Other methods cannot be chosen, and tokens cannot be
// put together. The text must be short enough for [render.CheckHeads].
func FlowGraph(prompt string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindFlow, prompt, settings)
}

// Maps is [Explain] with the kind maps of [Show]: what every token of the text has from every
// token, by one method: one layer as a matrix, and up to twelve layers as thumbnails; see
// [render.Maps]. Layer of [Show] opens a layer; default: the one that wrote the first word.
//
//	gonbext.Maps("the keys to the cabinet", gonbext.Options{Methods: []string{"raw"}})
//
// The method, value-zeroing by default, is one that is made of attention or of value-zeroing, and
// tokens cannot be put together.
func Maps(prompt string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindMaps, prompt, settings)
}

// Experts is [Explain] with the kind experts of [Show]: which experts of a mixture took each token
// of the text, in every layer, and how many tokens each expert took; see [render.Experts].
//
//	gonbext.Experts("the keys to the cabinet", gonbext.Model{Name: "allenai/OLMoE-1B-7B-0924"})
//
// Tokens cannot be put together. A model without experts is an error. Token of [Show] frames a
// generated token, and Layer opens a layer.
func Experts(prompt string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindExperts, prompt, settings)
}

// Lens is [Explain] with the kind lens of [Show]: what the model would have said after each layer
// where it predicts each token, or, with a Token or a Word of [Show], or {"lens": "opening"} as
// [Studies], at every position of the text before that token; see [render.Lens].
//
//	gonbext.Lens("the keys to the cabinet", gonbext.Show{Token: new(0)})
//
// The only method of what it returns is direct unless the options name others, and tokens cannot be
// put together.
func Lens(prompt string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindLens, prompt, settings)
}

// Patch is [Explain] with the kind patch of [Show]: how much of the difference between two prompts
// of equally many tokens each place of the model carries alone, for the first token that the model
// predicts after the clean one; see [render.Patch].
//
//	gonbext.Patch("the keys to the cabinet", "the key to the cabinet")
//
// In [Studies] "patch" names the places: residual, attention, feed-forward, heads or heads-last,
// queries, keys or values, path, which leads from each head to "patch-receiver", such as 23.3.key
// or the logits, or edges, which are not patched one at a time. "patch-direction" is the direction,
// and "patch-estimate" is alone, which estimates places by one gradient in place of runs, or
// atp-star, their sizes by AtP*. Contrast of the options is the token that the corrupted prompt
// leads to, by default the one that the model predicts after it. Tokens cannot be put together.
func Patch(clean, corrupted string, settings ...Setting) *Explanation {
	return explainOrExit(render.KindPatch, clean, append(settings, against(corrupted)))
}

// against is the corrupted prompt of [Patch] as a setting.
type against string

func (a against) set(r *request) string {
	r.options.Ask(patch.OtherOption, string(a))
	return "the corrupted prompt"
}

// fitKind sets the method of a picture that has its own, and returns an error for settings that the
// picture cannot show.
func (r *request) fitKind() error {
	v := r.show.View()
	var leave []string
	for _, setting := range []struct {
		name    string
		refused bool
	}{
		{"Methods", v.Methods < 0 && len(r.options.Methods) > 0},
		{"Lift", v.Methods < 0 && v.Takes["lift"] == 0 && r.options.Lift},
		{"By and Target", v.Takes["by"] == 0 && r.groups()},
		{"Layer", v.Takes["layer"] == 0 && r.show.Layer != nil},
	} {
		if setting.refused {
			leave = append(leave, setting.name)
		}
	}
	switch {
	case v.Part != "":
		return usagef("Kind %q is for files: a cell shows %ss, and gonbext.Save saves one", v.Name,
			v.Name)
	case leave != nil && v.Whole != "":
		return usagef("%s: leave %s empty", v.Whole, message.List(leave))
	case v.Methods > 0 && len(r.options.Methods) > v.Methods:
		return usagef("%s are of one method; name one in Methods of Options", v.Name)
	}
	return r.show.SetMethod(&r.options)
}

// tracer records tensors of the model of a request in the engine.
type tracer struct {
	request
	out *display
}

// Trace implements [trace.Tracer].
func (t tracer) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	return t.Run(ctx, ids, taps, nil)
}

// Run implements [trace.EditTracer].
func (t tracer) Run(ctx context.Context, ids []int, taps []trace.Tap, edits []trace.Edit) (
	[]trace.Tensor, error,
) {
	client, err := connect(ctx, t.out)
	if err != nil {
		return nil, err
	}
	tensors, _, err := client.Trace(ctx, t.model, engine.Input{IDs: ids, Edits: edits}, taps...)
	return tensors, err
}

// Draw draws an explanation once more: one of this cell, [Last], or one that your code made. A
// [Show] says how; without one it is drawn with the defaults. A picture of heads, flow, maps or
// experts needs the model, so only [Explain] draws it. On an error Draw shows one line and ends the
// program; see [TryDraw].
func Draw(e *Explanation, show ...Show) {
	if err := TryDraw(e, show...); err != nil {
		newDisplay().exit(err)
	}
}

// TryDraw is [Draw], with the error returned.
func TryDraw(e *Explanation, show ...Show) error {
	s, err := onlyShow(show)
	if err == nil {
		err = draw(e, s)
	}
	return worded(err)
}

// draw is TryDraw, with the error as it comes. It tells the engine what it drew.
func draw(e *Explanation, show render.Show) error {
	if err := show.Check(); err != nil {
		return err
	}
	if show.View().Record != nil {
		return usagef("a picture of %s needs the model: call gonbext.Explain with this Kind",
			show.Kind)
	}
	by, err := units.ParseGrouping(show.By)
	if err == nil && e != nil {
		e, err = e.Group(by)
	}
	if err != nil {
		return err
	}
	v, err := show.Picture(e, nil)
	if err != nil {
		return err
	}
	newDisplay().show(v)
	tellDrawn(e, show)
	return nil
}

// Layers shows M[t,:,:] of several generated tokens side by side: a line for each layer, a column
// for each prompt token; see [render.Layers]. tokens count from 0; default: the first 6 that are
// words. Methods that have one layer alone are left out, such as value-zeroing unless
// AllLayers is set:
//
//	e := gonbext.Explain("the keys to the cabinet", gonbext.Options{AllLayers: true})
//	gonbext.Layers(e, 0, 1)
//
// It is [Draw] with the kind layers, as [TryDraw] returns its error.
func Layers(e *Explanation, tokens ...int) {
	show := Show{Kind: render.KindLayers, Tokens: tokens}
	if len(tokens) == 1 {
		show.Token, show.Tokens = &tokens[0], nil
	}
	Draw(e, show)
}

// Compare shows two explanations beside each other and their difference. methods tell what is
// compared: nothing for the first method of a that b has too, one name for that method of
// both, or two names, the first for a and the second for b:
//
//	e := gonbext.Explain("the keys to the cabinet")
//	gonbext.Compare(e, e, "direct", "value-zeroing") // two methods
//	gonbext.Compare(e, e, "direct@2", "direct@5")    // two layers of one method
//
// After @ stands the layer of a side, counted from 0; without it each token has the layer that its
// picture shows. Layers of value-zeroing are there with AllLayers of [Options], and those of flow
// with AllLevels.
//
// Prompts of different lengths are aligned by their common tokens; see [render.Compare], which says
// how values are compared. On an error Compare shows one line and ends the program; see
// [TryCompare].
func Compare(a, b *Explanation, methods ...string) {
	if err := TryCompare(a, b, methods...); err != nil {
		newDisplay().exit(err)
	}
}

// TryCompare is [Compare], with the error returned.
func TryCompare(a, b *Explanation, methods ...string) error {
	show, err := compareOf(a, b, methods)
	if err == nil {
		err = draw(a, show)
	}
	return worded(err)
}

// compareOf returns what Compare shows.
func compareOf(a, b *Explanation, methods []string) (render.Show, error) {
	show := render.Show{Kind: render.KindCompare, Against: b}
	if a == nil || b == nil {
		return show, usagef("a comparison needs two explanations, and one is nil")
	}
	switch len(methods) {
	case 0:
	case 1:
		show.Method = methods[0]
	case 2:
		show.Method, show.AgainstMethod = methods[0], methods[1]
	default:
		return show, usagef("%d methods for two sides; name one or two", len(methods))
	}
	show, err := show.Sides(a)
	if a == b {
		show.Against = nil
	}
	return show, err
}

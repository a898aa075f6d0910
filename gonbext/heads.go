package gonbext

import (
	"context"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
)

// Heads continues the prompt, as [Explain] does, and shows what every attention head of every layer
// looks at, in the prompt and in the generated tokens. It returns the explanation, whose only
// method is raw. The settings are those of [Explain]; methods cannot be chosen, and tokens cannot
// be put together. The text must be short enough for [render.CheckHeads]. On an error Heads shows
// one line and ends the program; see [TryHeads].
func Heads(prompt string, settings ...Setting) *Explanation {
	out := newDisplay()
	e, err := heads(out, prompt, settings)
	if err != nil {
		out.exit(err)
	}
	return e
}

// TryHeads is [Heads], with the error returned.
func TryHeads(prompt string, settings ...Setting) (*Explanation, error) {
	out := newDisplay()
	defer out.clear()
	e, err := heads(out, prompt, settings)
	return e, worded(err)
}

// heads is TryHeads on a display, which may still hold a picture of progress after an error.
func heads(out *display, prompt string, settings []Setting) (*Explanation, error) {
	r, err := newRequest(settings)
	if err != nil {
		return nil, err
	}
	if len(r.options.Methods) > 0 || r.groups() || r.view.Layer != nil {
		return nil, usagef("heads are shown as they are: leave Methods, By and Target of " +
			"Options, and By and Layer of View, empty")
	}
	r.options.Methods, r.kind = []string{"raw"}, "heads"
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h, err := r.heads(ctx, out, prompt)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	out.show(h, render.HeadsText{Heads: h, Width: plainColumns},
		render.HeadsText{Heads: h, Width: columns()})
	return h.Explanation, nil
}

// heads asks the engine for the text and for the attention of its heads.
func (r request) heads(ctx context.Context, out *display, prompt string) (render.Heads, error) {
	e, err := r.explain(ctx, out, prompt)
	if err != nil {
		return render.Heads{}, err
	}
	m, err := e.Traced(tracer{r, out, e.Model})
	if err != nil {
		return render.Heads{}, err
	}
	tensors, err := m.Trace(ctx, e.TokenIDs(),
		[]trace.Tap{trace.Attention})
	if err != nil {
		return render.Heads{}, err
	}
	h := render.Heads{Explanation: e, Attention: tensors[0], Palette: r.view.Palette}
	return h, h.Check()
}

// tracer records tensors of the model of a request in the engine.
type tracer struct {
	request
	out  *display
	info trace.Info
}

// Trace implements [trace.Tracer], unless the attention of all heads over ids is too much to show;
// see [render.CheckHeads].
func (t tracer) Trace(ctx context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	if err := render.CheckHeads(t.info.Layers, t.info.Heads, len(ids)); err != nil {
		return nil, err
	}
	client, err := connect(ctx, t.out)
	if err != nil {
		return nil, err
	}
	tensors, _, err := client.Trace(ctx, t.model, engine.Input{IDs: ids}, taps...)
	return tensors, err
}

package gonbext

import (
	"context"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// FlowGraph continues the prompt, as [Explain] does, and shows how much can flow from one prompt
// token to one generated token through the attention of all layers: the layered graph, its widest
// path and its minimum cut; see [render.Flow]. Token and Source of [View] choose the two.
//
//	gonbext.FlowGraph("the keys to the cabinet", gonbext.Options{MaxTokens: 1})
//
// It returns the explanation, whose only method is flow. The settings are those of [Explain]; other
// methods cannot be chosen, and tokens cannot be put together. The text must be short enough for
// [render.CheckHeads]. On an error FlowGraph shows one line and ends the program; see
// [TryFlowGraph].
func FlowGraph(prompt string, settings ...Setting) *Explanation {
	out := newDisplay()
	e, err := flowGraph(out, prompt, settings)
	if err != nil {
		out.exit(err)
	}
	return e
}

// TryFlowGraph is [FlowGraph], with the error returned.
func TryFlowGraph(prompt string, settings ...Setting) (*Explanation, error) {
	out := newDisplay()
	defer out.clear()
	e, err := flowGraph(out, prompt, settings)
	return e, worded(err)
}

// flowGraph is TryFlowGraph on a display, which may still hold a picture of progress after an
// error.
func flowGraph(out *display, prompt string, settings []Setting) (*Explanation, error) {
	r, err := newRequest(settings)
	if err != nil {
		return nil, err
	}
	if len(r.options.Methods) > 0 || r.options.Lift || r.groups() || r.view.Layer != nil {
		return nil, usagef("a graph of flow has tokens and edges as they are: leave Methods, " +
			"Lift, By and Target of Options, and By and Layer of View, empty")
	}
	r.options.Methods, r.kind = []string{"flow"}, graphKind
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f, err := r.flowGraph(ctx, out, prompt)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	out.show(f, render.FlowText{Flow: f, Width: plainColumns},
		render.FlowText{Flow: f, Width: columns()})
	return f.Explanation, nil
}

// graphKind is the kind of figure of what [FlowGraph] shows.
const graphKind = "flow"

// flowGraph asks the engine for the text and for the attention of its heads.
func (r request) flowGraph(ctx context.Context, out *display, prompt string) (render.Flow, error) {
	e, err := r.explain(ctx, out, prompt)
	if err != nil {
		return render.Flow{}, err
	}
	f := render.Flow{Explanation: e, Token: render.FirstWord(e), Palette: r.view.Palette}
	if r.view.Token != nil {
		f.Token = *r.view.Token
	}
	ids, ends, err := e.FlowEnds(f.Token, r.view.Source, r.options.OwnRow)
	if err != nil {
		return f, err
	}
	m, err := e.Traced(tracer{r, out, e.Model})
	if err != nil {
		return f, err
	}
	tensors, err := m.Trace(ctx, ids, []trace.Tap{trace.Attention})
	if err != nil {
		return f, err
	}
	f.Graph, err = attribution.NewFlowGraph(ctx, attribution.InMemory(tensors), r.options, ends[0],
		ends[1])
	if err != nil {
		return f, err
	}
	return f, f.Check()
}

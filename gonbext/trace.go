package gonbext

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// Recording is the raw tensors of one pass over a text of T tokens.
type Recording struct {
	// Tokens are the T tokens, begin-of-text included if it was added; of token ids, the ids alone.
	Tokens []trace.Token
	// Tensors has one entry for each tap, in the order asked; shapes are those of the taps in
	// package trace.
	Tensors []trace.Tensor
}

// Tensor returns the tensor of a tap. It panics if that tap was not asked for.
func (r *Recording) Tensor(tap trace.Tap) trace.Tensor {
	for _, t := range r.Tensors {
		if t.Name == string(tap) {
			return t
		}
	}
	panic(fmt.Sprintf("gonbext: the recording has no tensor %q; ask for it when tracing", tap))
}

// String lists the tensors: "attention [6 8 5 5] (LHTS)".
func (r *Recording) String() string {
	var b strings.Builder
	b.WriteString(message.Count(len(r.Tokens), "token"))
	for _, t := range r.Tensors {
		fmt.Fprintf(&b, "\n%s %v (%s)", t.Name, t.Shape, t.Axes)
	}
	return b.String()
}

// Trace returns raw tensors of one pass of the embedded model over the prompt, such as
// [trace.Attention], [L,H,T,S]. On an error it shows one line and ends the program;
// see [TryTrace]. For another model see [Model.Trace].
func Trace(prompt string, taps ...trace.Tap) *Recording { return Model{}.Trace(prompt, taps...) }

// TryTrace is [Trace], with the error returned.
func TryTrace(prompt string, taps ...trace.Tap) (*Recording, error) {
	return Model{}.TryTrace(prompt, taps...)
}

// Trace is the function [Trace] with this model.
func (m Model) Trace(prompt string, taps ...trace.Tap) *Recording {
	return m.TraceEdited(prompt, nil, taps...)
}

// TryTrace is [Model.Trace], with the error returned.
func (m Model) TryTrace(prompt string, taps ...trace.Tap) (*Recording, error) {
	return m.TryTraceInput(engine.Input{Text: prompt}, taps...)
}

// TryTraceInput is [Model.TryTrace] on a text with or without control tokens, or on token ids.
func (m Model) TryTraceInput(in engine.Input, taps ...trace.Tap) (*Recording, error) {
	out := newDisplay()
	defer out.clear()
	r, err := m.trace(out, in, taps)
	return r, worded(err)
}

// trace is TryTraceInput on a display, which may still show progress afterwards.
func (m Model) trace(out *display, in engine.Input, taps []trace.Tap) (*Recording, error) {
	if err := checkTaps(taps); err != nil {
		return nil, err
	}
	if in.Text == "" && in.IDs == nil {
		return nil, usagef("the prompt is empty; give some text")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := connect(ctx, out)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	told := in.OnProgress
	in.OnProgress = func(p trace.Progress) {
		out.live(p.Stage, func() render.Heatmap { return render.Heatmap{Status: p.String()} })
		if told != nil {
			told(p)
		}
	}
	tensors, tokens, err := client.Trace(ctx, engine.Model(m), in, taps...)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if in.IDs != nil {
		for _, id := range in.IDs {
			tokens = append(tokens, trace.Token{ID: id})
		}
	}
	return &Recording{Tokens: tokens, Tensors: tensors}, nil
}

// Edit changes what a tap of the model has at some places, for Edits of [Options] and
// [TraceEdited]; see [trace.Edit]. Taps and changes are named as strings:
//
//	gonbext.Edit{Tap: "head-output", Layers: []int{3}, Heads: []int{1}, Change: "zero"}
//
// A change is zero, scale (by Factor), value or mean (of Value), or add (Factor times Value).
// [Recording.Edit] takes the numbers from another run.
type Edit = trace.Edit

// TraceEdited is [Trace] under edits.
func TraceEdited(prompt string, edits []Edit, taps ...trace.Tap) *Recording {
	return Model{}.TraceEdited(prompt, edits, taps...)
}

// TraceEdited is the function [TraceEdited] with this model.
func (m Model) TraceEdited(prompt string, edits []Edit, taps ...trace.Tap) *Recording {
	out := newDisplay()
	r, err := m.trace(out, engine.Input{Text: prompt, Edits: edits}, taps)
	if err != nil {
		out.exit(err)
	}
	out.clear()
	return r
}

// Edit returns an edit with the numbers that the run had at its places, whose tap must have been
// recorded, less those of other runs: the difference of two prompts, added, steers the model from
// the one to the other. On an error it shows one line and ends the program; see
// [Recording.TryEdit].
func (r *Recording) Edit(e Edit, less ...*Recording) Edit {
	e, err := r.TryEdit(e, less...)
	if err != nil {
		newDisplay().exit(err)
	}
	return e
}

// TryEdit is [Recording.Edit], with the error returned.
func (r *Recording) TryEdit(e Edit, less ...*Recording) (Edit, error) {
	for _, of := range append([]*Recording{r}, less...) {
		if !slices.ContainsFunc(of.Tensors, func(t trace.Tensor) bool {
			return t.Name == string(e.Tap)
		}) {
			return e, worded(usagef("the recording has no tensor %.40q; ask for it when tracing",
				e.Tap))
		}
	}
	all, err := e.From(r.Tensor(e.Tap))
	for _, of := range less {
		other, wrong := e.From(of.Tensor(e.Tap))
		if err == nil && wrong == nil && !slices.Equal(all.Shape, other.Shape) {
			wrong = usagef("edit of %s: one run has %v numbers there and the other %v", e,
				all.Shape, other.Shape)
		}
		if err = cmp.Or(err, wrong); err != nil {
			break
		}
		for i, x := range other.Value {
			all.Value[i] -= x
		}
	}
	return all, worded(err)
}

// checkTaps returns an error for none and for unknown ones.
func checkTaps(taps []trace.Tap) error {
	known := trace.Taps()
	for _, tap := range taps {
		if !slices.Contains(known, tap) {
			return usagef("unknown tap %.40q; %s", string(tap),
				message.KnownAre(tap, known))
		}
	}
	if len(taps) == 0 {
		return usagef("no tap asked for; known are %s", message.List(message.Names(known)))
	}
	return nil
}

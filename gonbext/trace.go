package gonbext

import (
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
	out := newDisplay()
	r, err := m.trace(out, engine.Input{Text: prompt}, taps)
	if err != nil {
		out.exit(err)
	}
	out.clear()
	return r
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

// checkTaps returns an error for none and for unknown ones.
func checkTaps(taps []trace.Tap) error {
	known := trace.Taps()
	for _, tap := range taps {
		if !slices.Contains(known, tap) {
			return usagef("unknown tap %.40q; %s", string(tap),
				message.KnownAre(string(tap), tapNames(known)))
		}
	}
	if len(taps) == 0 {
		return usagef("no tap asked for; known are %s", message.List(tapNames(known)))
	}
	return nil
}

// tapNames returns the names of taps.
func tapNames(taps []trace.Tap) []string {
	names := make([]string, len(taps))
	for i, tap := range taps {
		names[i] = string(tap)
	}
	return names
}

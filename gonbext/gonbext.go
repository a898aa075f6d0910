// Package gonbext is what a cell of a Go notebook (GoNB) calls to see where generated tokens come from:
//
//	e := gonbext.Explain("the keys to the cabinet")
//
// shows a heatmap that grows token by token and returns the numbers. The model runs in an engine, a process that the
// first cell starts and later cells find, so a cell links neither models nor backends and compiles quickly. The engine
// ends with the kernel. Interrupting the cell cancels what it asked for and keeps what is there.
//
// Functions that begin with Try return errors; the others show one line and end the cell with status 1. Outside of a
// notebook everything works the same and pictures are printed as text.
package gonbext

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// Explanation is the answer: tokens, and M[n,m,l] for each method, with accessors.
type Explanation = attribution.Explanation

// Options says what to run and how. The zero value is the default of every field: the embedded model, greedy decoding,
// the default methods. Fields without a comment here are those of [attribution.Options]; MaxTokens beside a Continuation, which
// is ignored there, is an error here.
type Options struct {
	// Model is a built-in name, the path of a checkpoint or a name of the Hub such as openai-community/gpt2; default: the embedded
	// model.
	Model string
	// Backend is go, xla, cuda, xla:path or cuda:path; default: go for the embedded model, xla for others if it is there.
	Backend string
	// DType is what weights are held in: float32, or bfloat16 for half the memory; default float32.
	DType string
	// MaxMemory is how many bytes the model and what it records may take; 0 is what the machine has left.
	MaxMemory int64
	// Filter hides prompt tokens from highlighting, not from the numbers; see [attribution.DefaultFilter].
	Filter attribution.Filter
	// Layer is the layer whose values highlight the prompt, 0-based; nil is the last one. One that the
	// model does not have, or that no method has, is an error. Beside other methods, one that has the last
	// layer alone, such as flow without AllLevels, shows that.
	Layer *int
	// By puts prompt tokens together: "word", "sentence", or bytes of the prompt as "0:8,12:23"; "" leaves tokens. The picture, what OnStep
	// sees and what is returned are of these parts; see [attribution.ParseGrouping] and [attribution.Explanation.GroupSpans].
	By string

	Methods      []string
	MaxTokens    int
	Continuation string
	Positions    []int
	Specials     trace.Specials
	Chat         bool
	Sampling     trace.Sampling
	Alternatives int
	Heads        trace.Heads
	PerHead      *int
	Residual     *float64
	FirstLayer   int
	LastLayer    *int
	AllLevels    bool
	Threshold    float64
	OwnRow       bool
	Lift         bool

	LocalLift, DropSink, MeasuredResidual bool
	Discard                               float64
	DiscardWhole                          bool
	Contrast                              string
	Scoring                               attribution.Scoring

	OnStep     func(*Explanation)
	OnProgress func(trace.Progress)
}

// attribution returns the part of the options that says what to compute.
func (o Options) attribution() attribution.Options {
	return attribution.Options{
		Methods: o.Methods, MaxTokens: o.MaxTokens, Continuation: o.Continuation, Positions: o.Positions,
		Specials: o.Specials, Chat: o.Chat, Sampling: o.Sampling, Alternatives: o.Alternatives, Heads: o.Heads, PerHead: o.PerHead,
		Residual: o.Residual, FirstLayer: o.FirstLayer, LastLayer: o.LastLayer, AllLevels: o.AllLevels,
		Threshold: o.Threshold, OwnRow: o.OwnRow, Lift: o.Lift, LocalLift: o.LocalLift, DropSink: o.DropSink,
		MeasuredResidual: o.MeasuredResidual, Discard: o.Discard, DiscardWhole: o.DiscardWhole, Contrast: o.Contrast, Scoring: o.Scoring, OnStep: o.OnStep, OnProgress: o.OnProgress,
	}
}

// engineModel is the model as the engine is asked for it.
func (o Options) engineModel() engine.Model {
	return engine.Model{Name: o.Model, Backend: o.Backend, DType: o.DType, MaxMemory: o.MaxMemory}
}

// heatmap returns the picture of an explanation.
func (o Options) heatmap(e *Explanation, status string) render.Heatmap {
	return render.Heatmap{Explanation: e, Filter: o.Filter, Layer: o.Layer, Status: status}
}

// Explain continues the prompt and shows where each generated token comes from, growing token by token, and returns the
// numbers. An encoder reads the prompt instead, and its predictions are explained: at each masked token, at its class, or at
// the Positions of the options. It takes one Options at most. On an error it shows one line and ends the program with status 1; see
// [TryExplain].
func Explain(prompt string, opts ...Options) *Explanation {
	out := newDisplay()
	e, err := explain(out, prompt, opts)
	if err != nil {
		out.fail(err)
		os.Exit(1)
	}
	return e
}

// TryExplain is [Explain], with the error returned. The explanation is nil unless there was a first token: one that
// failed or was interrupted later is shown as far as it got, with a remark, and returned with the error.
func TryExplain(prompt string, opts ...Options) (*Explanation, error) {
	out := newDisplay()
	defer out.clear()
	return explain(out, prompt, opts)
}

// explain is TryExplain on a display, which may still hold a picture of progress after an error.
func explain(out *display, prompt string, opts []Options) (*Explanation, error) {
	o, err := one(opts)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e, err := o.explain(ctx, out, prompt)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("gonbext: interrupted: %w", ctx.Err())
	}
	if err != nil && (e == nil || len(e.Steps) == 0) {
		return nil, err
	}
	if err != nil {
		e.Warnings = append(e.Warnings, remark(ctx, e, err))
	}
	out.final(o.heatmap(e, ""))
	return e, err
}

// remark says why an explanation ends early.
func remark(ctx context.Context, e *Explanation, err error) string {
	if ctx.Err() != nil {
		return "Interrupted after " + e.Made() + "."
	}
	return fmt.Sprintf("It ended after %s: %v.", e.Made(), err)
}

// explain asks the engine and shows what comes.
func (o Options) explain(ctx context.Context, out *display, prompt string) (*Explanation, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	by, err := o.division(prompt)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, out)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var latest *Explanation
	ask := o.attribution()
	ask.OnStep = func(e *Explanation) {
		e, err := o.shown(e, by)
		if err != nil {
			stop() // what is wrong comes again with the result
			return
		}
		latest = e
		out.live("tokens", func() render.Heatmap {
			return o.heatmap(e, doing(e)+", "+e.Made()+" so far")
		})
		if o.OnStep != nil {
			o.OnStep(e)
		}
	}
	ask.OnProgress = func(p trace.Progress) {
		out.live(p.Stage, func() render.Heatmap { return o.heatmap(latest, p.String()) })
		if o.OnProgress != nil {
			o.OnProgress(p)
		}
	}
	e, err := client.Explain(ctx, o.engineModel(), prompt, ask)
	if err != nil && (e == nil || len(e.Steps) == 0) {
		return e, o.hint(err)
	}
	divided, wrong := o.shown(e, by)
	if wrong != nil {
		return nil, wrong
	}
	return divided, o.hint(err)
}

// shown is an explanation as it is shown and returned: of the parts of the prompt that the options ask for.
// The error is about options that do not fit the model or its tokens.
func (o Options) shown(e *Explanation, by attribution.Grouping) (*Explanation, error) {
	if err := o.checkLayer(e); err != nil {
		return nil, err
	}
	return e.Group(by)
}

// division is what By says, as far as it fits the prompt. That of a chat becomes known when the model has it in its form of conversation.
func (o Options) division(prompt string) (attribution.Grouping, error) {
	by, err := attribution.ParseGrouping(o.By)
	if err == nil && !o.Chat {
		err = by.Fits(prompt)
	}
	return by, err
}

// doing says what a model is at.
func doing(e *Explanation) string {
	if e.Model.Bidirectional {
		return "reading"
	}
	return "generating"
}

// connect finds or starts the engine and shows what takes long.
func connect(ctx context.Context, out *display) (engine.Client, error) {
	return engine.Start{OnStage: func(stage string) {
		out.live(stage, func() render.Heatmap { return render.Heatmap{Status: stage} })
	}}.Connect(ctx)
}

// one returns the only options, or the default.
func one(opts []Options) (Options, error) {
	switch len(opts) {
	case 0:
		return Options{}, nil
	case 1:
		return opts[0], nil
	}
	return Options{}, fmt.Errorf("gonbext: %d Options given, at most one is taken", len(opts))
}

// Show shows an explanation once more, with the defaults of [render.Heatmap].
func Show(e *Explanation) { ShowHeatmap(render.Heatmap{Explanation: e}) }

// ShowHeatmap shows a picture: HTML in a notebook, else text on the standard output.
func ShowHeatmap(h render.Heatmap) { newDisplay().final(h) }

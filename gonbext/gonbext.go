// Package gonbext is what a cell of a Go notebook (GoNB) calls to see where generated tokens come
// from:
//
//	e := gonbext.Explain("the keys to the cabinet")
//
// shows a heatmap that grows token by token and returns the numbers. The model runs in an engine, a
// process that the first cell starts and later cells find, so a cell links neither models nor
// backends and compiles quickly. The engine ends with the kernel. Interrupting the cell cancels
// what it asked for and keeps the result so far.
//
// What to compute, which model to use and how to show it are three small structs, each optional:
//
//	gonbext.Explain("the keys to the cabinet",
//		gonbext.Options{Methods: []string{"rollout"}, MaxTokens: 3},
//		gonbext.Model{Name: "openai-community/gpt2"},
//		gonbext.Show{By: "word"})
//
// Functions that begin with Try return errors; the others show one line and end the cell. In a
// notebook server its status is then 0, because GoNB would print "exit status 1" twice below the
// line. It is 1 where CI is set, and under nbconvert if the machine is at fault and not what the
// cell asks for.
//
// Every cell is a program of its own, so values do not last: [Last] returns the latest explanation
// to a later cell. A variable that is declared outside of main is computed again in every later
// cell; "var e = gonbext.Explain(…)" there draws its picture each time, and [Last] returns it.
//
// Outside of a notebook everything works the same, pictures are printed as text, and the status
// after an error is 1.
package gonbext

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
)

// Explanation is the answer: tokens, and M[n,m,l] for each method, with accessors.
type Explanation = attribution.Explanation

// Options says what to compute. It has the fields of [attribution.Options], and its zero value is
// the default of every field: greedy decoding and the default methods.
type Options attribution.Options

// Studies are settings of what is computed beside the methods, by their names in [Options]:
//
//	gonbext.Options{Studies: gonbext.Studies{"prove": "all", "without": "system"}}
type Studies = attribution.Studies

// Model says which model runs, and on what. The zero value is the embedded model on the pure-Go
// backend.
type Model struct {
	// Name is a built-in name, the path of a checkpoint or of a GGUF file, smollm2,
	// ollama:NAME:TAG, or a name of the Hub such as openai-community/gpt2. Default: the embedded
	// model.
	Name string
	// Backend is go, xla, cuda, xla:path or cuda:path. Default: go for the embedded model; for
	// others xla if it is installed, else go.
	Backend string
	// DType is what weights are held in: float32, or bfloat16 for half the memory. Default:
	// float32.
	DType string
	// MaxMemory is how many bytes the model and what it records may take. Default: what the machine
	// has left.
	MaxMemory int64
}

// Show says how an explanation is divided and shown, in a cell and in a file. It has the fields of
// [render.Show], which are the flags of the command too: Kind is --view, and the others have the
// flags of their names. In a cell:
//
//   - Kind chooses the picture: heatmap, layers, compare, lens, patch, or one that needs the model
//     again, heads, flow, maps or experts. head and map, with one head and one layer, are for
//     files, and text is heatmap.
//   - By divides the prompt: the picture, what OnStep sees and what is returned have a value for
//     each part. With a method that takes tokens away, such as occlusion, it is By of [Options], so
//     that each part is taken away as one; [Last] then has these parts.
//   - Layer must be one that the model and some method have.
//   - Token, or Word by its word, is shown first, and a text on a terminal shows all of them.
//   - Size and Font are for the files that [Save] makes of the picture.
type Show render.Show

// Setting is what [Explain] takes beside the prompt: an [Options], a [Model] or a [Show], each at
// most once and in any order.
type Setting interface {
	// set puts the setting into a request and returns the name of its type.
	set(r *request) string
}

func (o Options) set(r *request) string {
	r.options = attribution.Options(o)
	return "Options"
}

func (m Model) set(r *request) string {
	r.model = engine.Model(m)
	return "Model"
}

func (s Show) set(r *request) string {
	r.show = render.Show(s)
	return "Show"
}

// request is what a cell asks for.
type request struct {
	options attribution.Options
	model   engine.Model
	show    render.Show
}

// newRequest puts settings together. Each type may be given once.
func newRequest(settings []Setting) (request, error) {
	var r request
	given := map[string]bool{}
	for _, s := range settings {
		if s == nil {
			return r, usagef("a setting is nil; give an Options, a Model or a Show")
		}
		kind := s.set(&r)
		if given[kind] {
			return r, usagef("two values of %s are given; put all of its fields into one", kind)
		}
		given[kind] = true
	}
	if r.show.Layer != nil || r.show.View().Takes["tokens"] != 0 {
		r.options.AllLayers = true // the layers that are shown must be there
	}
	if r.options.By == "" && r.options.Together() {
		r.options.By = r.show.By
	}
	return r, nil
}

// heatmap returns the picture of an explanation.
func (r request) heatmap(e *Explanation, status string) render.Heatmap {
	return render.Heatmap{
		Explanation: e, Filter: r.show.Filter, Layer: r.show.Layer, Token: r.show.Token,
		Look: r.show.Look(), Status: status, Alignment: r.show.Alignment,
	}
}

// Explain continues the prompt and shows where each generated token comes from, growing token by
// token, and returns the numbers. An encoder reads the prompt instead, and its predictions are
// explained: at each masked token, at its class, or at the Positions of the options. On an error it
// shows one line and ends the program; see [TryExplain].
func Explain(prompt string, settings ...Setting) *Explanation {
	return explainOrExit("", prompt, settings)
}

// TryExplain is [Explain], with the error returned. The explanation is nil unless there was a first
// token: one that failed or was interrupted later is shown as far as it got, with a remark, and
// returned with the error.
func TryExplain(prompt string, settings ...Setting) (*Explanation, error) {
	out := newDisplay()
	defer out.clear()
	e, err := explain(out, "", prompt, settings)
	return e, worded(err)
}

// explainOrExit is Explain with a picture of a kind.
func explainOrExit(kind render.Kind, prompt string, settings []Setting) *Explanation {
	out := newDisplay()
	e, err := explain(out, kind, prompt, settings)
	if err != nil {
		out.exit(err)
	}
	return e
}

// explain is TryExplain on a display and with a picture of a kind. The display may still hold a
// picture of progress after an error.
func explain(out *display, kind render.Kind, prompt string, settings []Setting) (
	*Explanation, error,
) {
	r, err := newRequest(settings)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		if r.show.Kind != "" && r.show.Kind != kind {
			return nil, usagef("Kind %q of Show, and the function shows %s: call gonbext.Explain",
				r.show.Kind, kind)
		}
		r.show.Kind = kind
	}
	if err := r.fitKind(); err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e, err := r.explain(ctx, out, prompt)
	err = interrupted(ctx, err)
	switch {
	case err == nil:
		v, err := r.view(ctx, out, e)
		if err != nil {
			return e, interrupted(ctx, err)
		}
		out.show(v)
		if r.show.Against != nil { // which the engine has not
			tellDrawn(e, r.show)
		}
		return e, nil
	case e == nil || len(e.Steps) == 0 || r.show.View().Record != nil:
		return nil, err
	}
	e.Warnings = append(e.Warnings, remark(ctx, e, err))
	h := r.heatmap(e, "")
	h.Next = next
	out.show(h)
	return e, err
}

// view returns the picture of an explanation.
func (r request) view(ctx context.Context, out *display, e *Explanation) (render.Picture, error) {
	show := r.show
	switch v := show.View(); {
	case v.Methods < 0: // others open with tokens of their own
		show = show.Opened(e)
	case v.Methods == 1:
		show.Method = r.options.Methods[0]
	}
	recorded, err := show.Record(ctx, tracer{r, out}, e, r.options)
	if err != nil {
		return nil, err
	}
	v, err := show.Picture(e, recorded)
	if h, is := v.(render.Heatmap); is && !show.View().Compares {
		h.Next = next
		v = h
	}
	return v, err
}

// next says in a picture of [Explain] how to see and keep more.
const next = `In a later cell: gonbext.Save("figure.pdf") saves this picture, and as well .svg, ` +
	`.png, .tex, .html to send, .csv, .json; gonbext.Layers(gonbext.Last()) shows it layer by ` +
	`layer; gonbext.Heads, with the prompt, what each attention head looks at; gonbext.Compare ` +
	`two methods, prompts or models.`

// interrupted returns an error that says so if the user has stopped the cell, and otherwise err.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return interruption{ctx.Err()}
	}
	return err
}

// interruption is the error of a cell that the user has stopped. It wraps the error of the context,
// whose text would tell a reader nothing.
type interruption struct{ cause error }

// Error implements error.
func (interruption) Error() string { return "gonbext: interrupted" }

// Unwrap returns the error of the context.
func (i interruption) Unwrap() error { return i.cause }

// remark says why an explanation ends early.
func remark(ctx context.Context, e *Explanation, err error) string {
	if ctx.Err() != nil {
		return "Interrupted after " + e.Made() + "."
	}
	return fmt.Sprintf("It ended after %s: %s.", e.Made(), wordsOf(err, fieldOf))
}

// explain asks the engine and shows what comes.
func (r request) explain(ctx context.Context, out *display, prompt string) (*Explanation, error) {
	if prompt == "" && len(r.options.Conversation.Messages) == 0 {
		return nil, usagef("the prompt is empty; give some text")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	by, err := r.grouping(prompt)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, out)
	if err != nil {
		return nil, err
	}
	if client.Show, err = showJSON(r.show); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ask := r.live(out, by, stop)
	e, err := client.Explain(ctx, r.model, prompt, ask)
	if errorkind.Of(err) == errorkind.Date {
		ask.Conversation.Date = time.Now().Format(time.DateOnly)
		e, err = client.Explain(ctx, r.model, prompt, ask)
	}
	if err != nil && (e == nil || len(e.Steps) == 0) {
		return e, r.hint(err)
	}
	divided, wrong := r.shown(e, by)
	if wrong != nil {
		return nil, wrong
	}
	if err == nil { // what was cut short may lack the token
		if wrong := r.show.CheckTokens(divided); wrong != nil {
			return nil, wrong
		}
	}
	return divided, r.hint(err)
}

// live returns the options with which each token and all progress are drawn on a display. What does
// not fit a view stops the run, and comes again with the result.
func (r request) live(
	out *display, by units.Grouping, stop func(),
) attribution.Options {
	var latest *Explanation
	var pace message.Pace
	ask := r.options
	ask.OnStep = func(e *Explanation) {
		e, err := r.shown(e, by)
		if err != nil {
			stop()
			return
		}
		latest = e
		pace.Add(time.Now())
		out.live("tokens", func() render.Heatmap { return r.heatmap(e, doing(e, pace)) })
		if r.options.OnStep != nil {
			r.options.OnStep(e)
		}
	}
	ask.OnProgress = func(p trace.Progress) {
		out.live(p.Stage, func() render.Heatmap { return r.heatmap(latest, p.String()) })
		if r.options.OnProgress != nil {
			r.options.OnProgress(p)
		}
	}
	return ask
}

// shown returns an explanation as it is shown: with the parts of the prompt that the view asks for.
// The error is about a view that does not fit the model or its tokens.
func (r request) shown(e *Explanation, by units.Grouping) (*Explanation, error) {
	if err := r.checkLayer(e); err != nil {
		return nil, err
	}
	return e.Group(by)
}

// grouping returns the grouping that By names, or an error if it does not fit the prompt. In a chat
// it is not checked here: the text is known only when the model has put the prompt into its chat
// template.
func (r request) grouping(prompt string) (units.Grouping, error) {
	if r.options.Pair != "" {
		prompt, _ = trace.JoinPair(prompt, r.options.Pair)
	}
	by, err := units.ParseGrouping(r.show.By)
	if err == nil && !r.options.InChat() {
		err = by.Fits(prompt)
	}
	return by, err
}

// doing says what a model is doing.
func doing(e *Explanation, pace message.Pace) string {
	if e.Model.Reads() {
		return "reading, " + e.Made() + " so far"
	}
	return "generating, " + e.Made() + " so far" + pace.String()
}

// connect finds or starts the engine and shows what takes long.
func connect(ctx context.Context, out *display) (engine.Client, error) {
	return engine.Start{OnStage: func(stage string) {
		out.live(stage, func() render.Heatmap { return render.Heatmap{Status: stage} })
	}}.Connect(ctx)
}

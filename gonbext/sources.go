package gonbext

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/sources"
)

// SourceOptions says what [Sources] asks and computes. The zero value of every field is its
// default.
type SourceOptions struct {
	// Names are the names of the documents, for a reader. Default: their numbers, from 1.
	Names []string
	// By divides the documents: "sentence", "paragraph", or bytes of the only document as
	// "0:80,95:120". Default: sentence.
	By string
	// Answer is the answer to explain. Default: the model's own, of at most MaxTokens tokens, 64
	// if it is 0.
	Answer    string
	MaxTokens int
	// Target is a part of the answer, a text that it contains once or bytes of it as "0:12".
	// Default: the whole answer.
	Target string
	// Chat puts the prompt into the model's chat template, as what a user says. A Conversation that
	// is not zero, with what comes before the prompt, turns it on.
	Chat         bool
	Conversation trace.Conversation
	// Template is the prompt, with {context} and {question} in it. Default: the documents,
	// Question: and Answer:, each on a line of its own.
	Template string
	// Specials says which control tokens are added to the prompt, if Chat does not.
	Specials trace.Specials
	// From and To are, for a model that translates, the languages of the documents and of the
	// answer, as in [Options].
	From, To string
	// Methods are context-cite and leave-one-out; default both. The first orders the list.
	Methods []string
	// Ablations is how many random halves of the documents context-cite fits, default 64, HeldOut
	// how many further ones measure how far the scores can be believed, default 32, and Passes the
	// most texts that leave-one-out asks for, default 64.
	Ablations, HeldOut, Passes int
	// Penalty is λ of the lasso of context-cite. Default: 0.01.
	Penalty *float64
	// Seed starts the random halves. Equal seeds give equal scores.
	Seed uint64
	// Palette is the name of the colours, as in [Show]; default blue-rust.
	Palette string
	// Top is how many sources are listed, the strongest first. Default: all up to 20, else 10.
	Top int
	// OnProgress, if not nil, is told what the model does.
	OnProgress func(trace.Progress)
}

// ask returns the question about documents.
func (o SourceOptions) ask(question string, documents []string) sources.Ask {
	return sources.Ask{
		Documents: documents, Names: o.Names, Question: question, By: o.By, Answer: o.Answer,
		MaxTokens: o.MaxTokens, Target: o.Target, Chat: o.Chat, Conversation: o.Conversation,
		Template: o.Template, Specials: o.Specials, From: o.From, To: o.To,
		Options: sources.Options{
			Methods: o.Methods, Ablations: o.Ablations, HeldOut: o.HeldOut, Passes: o.Passes,
			Penalty: o.Penalty, Seed: o.Seed, OnProgress: o.OnProgress,
		},
	}
}

// SourceSetting is what [Sources] takes beside the question and the documents: a [SourceOptions] or
// a [Model], each at most once and in any order.
type SourceSetting interface {
	// setSources puts the setting into a request and returns the name of its type.
	setSources(r *sourceRequest) string
}

// sourceRequest is what a cell asks for.
type sourceRequest struct {
	options SourceOptions
	model   engine.Model
}

func (o SourceOptions) setSources(r *sourceRequest) string {
	r.options = o
	return "SourceOptions"
}

func (m Model) setSources(r *sourceRequest) string {
	r.model = engine.Model(m)
	return "Model"
}

// Sources asks a question about documents and shows which of their sentences the answer came from:
// the documents, coloured by the score of each sentence, the strongest sentences, and how far the
// scores can be believed; see [render.Sources] and package sources, which also says what the
// scores cannot tell.
//
//	story := "mary has the red key . john has the blue lamp . anna has the old book ."
//	gonbext.Sources("who has the lamp ?", []string{story})
//
// The answer is the model's own unless Answer of [SourceOptions] gives one. [SaveSources] saves the
// picture. On an error Sources shows one line and ends the program; see [TrySources].
func Sources(question string, documents []string, settings ...SourceSetting) *sources.Result {
	out := newDisplay()
	r, err := sourcesOf(out, question, documents, settings)
	if err != nil {
		out.exit(err)
	}
	return r
}

// TrySources is [Sources], with the error returned.
func TrySources(question string, documents []string, settings ...SourceSetting) (
	*sources.Result, error,
) {
	out := newDisplay()
	defer out.clear()
	r, err := sourcesOf(out, question, documents, settings)
	return r, worded(err)
}

// sourcesOf is TrySources on a display, which may still hold a picture of progress after an error.
func sourcesOf(out *display, question string, documents []string, settings []SourceSetting) (
	*sources.Result, error,
) {
	var r sourceRequest
	given := map[string]bool{}
	for _, s := range settings {
		if s == nil {
			return nil, usagef("a setting is nil; give a SourceOptions or a Model")
		}
		kind := s.setSources(&r)
		if given[kind] {
			return nil, usagef("two values of %s are given; put all of its fields into one", kind)
		}
		given[kind] = true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result, err := r.sources(ctx, out, question, documents)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	o := r.options
	out.show(render.Sources{Result: result, Palette: o.Palette, Top: o.Top})
	drewOther("the latest picture is of sources: save it with gonbext.SaveSources and what " +
		"Sources returned")
	return result, nil
}

// sources asks the engine.
func (r sourceRequest) sources(ctx context.Context, out *display, question string,
	documents []string,
) (*sources.Result, error) {
	o := r.options
	ask := o.ask(question, documents)
	if err := ask.Check(); err != nil {
		return nil, err
	}
	if err := render.CheckPalette(o.Palette); err != nil {
		return nil, err
	}
	switch {
	case o.Top < 0:
		return nil, usagef("Top %d; want a number of sources, or 0 for the default", o.Top)
	case r.model.MaxMemory < 0:
		return nil, usagef("MaxMemory %d bytes; it must be positive, or 0 for what the machine "+
			"has left", r.model.MaxMemory)
	}
	ask.Options.OnProgress = func(p trace.Progress) {
		out.live(p.Stage, func() render.Heatmap { return render.Heatmap{Status: p.String()} })
		if o.OnProgress != nil {
			o.OnProgress(p)
		}
	}
	client, err := connect(ctx, out)
	if err != nil {
		return nil, err
	}
	result, err := client.Sources(ctx, r.model, ask)
	if errorkind.Of(err) == errorkind.Date {
		ask.Conversation.Date = time.Now().Format(time.DateOnly)
		result, err = client.Sources(ctx, r.model, ask)
	}
	return result, err
}

// SaveSources saves what [Sources] returned, in the format that the name of the file ends with:
// .html is the picture as a page, .json the numbers and texts, .txt the picture as text.
//
//	r := gonbext.Sources("who has the lamp ?", []string{story})
//	gonbext.SaveSources("lamp.html", r)
//
// A file that exists is replaced when the new one is complete. Of the settings, Palette and Top
// count. On an error it shows one line and ends the program; see [TrySaveSources].
func SaveSources(path string, r *sources.Result, settings ...SourceOptions) {
	f, err := saveSources(path, r, settings)
	f.tell(err)
}

// TrySaveSources is [SaveSources], with the error returned.
func TrySaveSources(path string, r *sources.Result, settings ...SourceOptions) error {
	_, err := saveSources(path, r, settings)
	return worded(err)
}

// saveSources is TrySaveSources, with the error as it comes.
func saveSources(path string, r *sources.Result, settings []SourceOptions) (
	f savedFile, err error,
) {
	if r == nil {
		return f, usagef("there are no sources to save: the result is nil")
	}
	if len(settings) > 1 {
		return f, usagef("two values of SourceOptions are given; put all of its fields into one")
	}
	o := append(settings, SourceOptions{})[0]
	if err := render.CheckPalette(o.Palette); err != nil {
		return f, err
	}
	form := strings.ToLower(filepath.Ext(path))
	if !slices.Contains([]string{".html", ".txt", ".json"}, form) {
		return f, usagef("%q ends with %.20q; sources are saved as .html, .json or .txt", path,
			form)
	}
	return saveFile(path, func(context.Context) ([]byte, []string, error) {
		var b bytes.Buffer
		var err error
		view := render.Sources{Result: r, Palette: o.Palette, Top: o.Top}
		switch form {
		case ".html":
			err = render.Page(&b, view)
		case ".txt":
			err = render.Text(&b, view, render.Terminal{})
		default:
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false) // as the command writes it
			err = e.Encode(r)
		}
		return b.Bytes(), []string{message.Count(len(r.Sources), "source")}, err
	})
}

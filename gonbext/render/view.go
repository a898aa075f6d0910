package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
)

// View is a kind of pictures. Each registers in the file that makes its pictures, and all that a
// command, a cell or a file takes and refuses of it is read from here.
type View struct {
	Name Kind
	// Help says what it shows, in the list of a command, and Contents is its name in a sentence,
	// "graph of flow"; default Name.
	Help, Contents string
	// Study is the name of the study whose findings it shows, "" for none: a file of tensors has
	// none. Other is the option of the study that another prompt is given by, "" for none. Compares
	// says that the view has two sides.
	Study, Other string
	Compares     bool
	// Part is the whole view of one that shows a part of it in a file, and in a cell nothing.
	Part Kind
	// Media are the media that have the view; default all.
	Media Media
	// Takes are the fields of [Show], by their names in lower case, and the options of
	// [attribution.OptionTable] that mean something for the view, each with the media in which it
	// does.
	Takes map[string]Media
	// Method is the method of an explanation whose picture names none; default that of the options.
	Method string
	// Methods is how many methods a cell may name, -1 for none; default any number.
	Methods int
	// Whole says in an error why a cell refuses to change what is shown: "heads are shown as they
	// are".
	Whole string
	// Chosen returns the method of names that a picture shows where s names none; nil is the first.
	Chosen func(s Show, names []string) (string, error)
	// Check returns a [trace.UsageError] if what s says does not fit together; nil returns none.
	Check func(s Show) error
	// Proves asks for a test by itself, where it is cheap.
	Proves bool
	// Record is what the picture shows that is recorded of a model beside the explanation, nil for
	// nothing.
	Record *Record
	// Options sets the options that the view needs, where they are not given, after the methods;
	// nil sets nothing. The error is a [trace.UsageError].
	Options func(s Show, o *attribution.Options) error
	// Opened sets in s what the picture opens with where s says nothing; nil sets nothing.
	Opened func(s Show, e *attribution.Explanation) Show
	// Picture returns the picture of an explanation, which is not nil, with what was recorded.
	Picture func(s Show, e *attribution.Explanation, recorded any) (Picture, error)
}

// Media are media of pictures.
type Media uint8

// The media.
const (
	InText Media = 1 << iota
	InPage
	InFigure
	// InNumbers are tables and other files of numbers, where they are of a view too.
	InNumbers
	InAll   = InText | InPage | InFigure
	inFiles = InAll | InNumbers
)

// Record is something that is recorded of a model beside an explanation.
type Record struct {
	// Name is the key of it in [Recorded] and, in a file, of its digest.
	Name string
	// Needed and Missing say in an error that a picture needs it, and what to do without it.
	Needed, Missing string
	// Check returns a [trace.UsageError] if a model has none of it, or too much over T tokens, 0 if
	// that number is not known; nil returns none.
	Check func(of trace.Info, T int) error
	// Of records it over the tokens of the text, with m, the model of an explanation under its
	// edits. opts are the options of the explanation.
	Of func(
		ctx context.Context, m trace.Tracer, s Show, e *attribution.Explanation,
		opts attribution.Options,
	) (any, error)
	// Numbers returns what a digest of it is made of.
	Numbers func(recorded any) []float64
}

// Recorded is what was recorded of a model beside an explanation, by the names of records.
type Recorded map[string]any

// views are the registered kinds of pictures.
var views = registry.Registry[*View]{Kind: "render: view"}

// RegisterView adds a kind of pictures. It panics if the name is not lower-case words joined by
// hyphens or is taken, or if the view has no picture.
func RegisterView(v View) {
	if v.Picture == nil {
		panic("render: view " + string(v.Name) + " has no picture")
	}
	if v.Media == 0 {
		v.Media = InAll
	}
	v.Contents = cmp.Or(v.Contents, string(v.Name))
	views.Register(string(v.Name), &v)
}

// Kinds returns the names of all views, the default first and the others sorted.
func Kinds() []Kind {
	all := []Kind{KindHeatmap}
	for _, name := range views.Names() {
		if name := Kind(name); name != KindHeatmap {
			all = append(all, name)
		}
	}
	return all
}

// KindsTaking returns the names of the views for which a field of [Show] or an option means
// something.
func KindsTaking(name string) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return Show{Kind: k}.View().Takes[name] == 0
	})
}

// View returns the view of s, the default one for a name that nobody registered.
func (s Show) View() *View {
	v, err := views.Lookup(string(s.Kind))
	if err != nil {
		v, _ = views.Lookup(string(KindHeatmap))
	}
	return v
}

// Record records with m, the model of an explanation, what its picture shows beside it; opts are
// those of the explanation. The text must be short enough for [CheckHeads], for experts of any
// length.
func (s Show) Record(
	ctx context.Context, m trace.Tracer, e *attribution.Explanation, opts attribution.Options,
) (Recorded, error) {
	r := s.View().Record
	if r == nil {
		return nil, nil
	}
	one, err := r.record(ctx, m, s, e, opts)
	if err != nil {
		return nil, err
	}
	return Recorded{r.Name: one}, nil
}

// record records one thing.
func (r *Record) record(
	ctx context.Context, m trace.Tracer, s Show, e *attribution.Explanation,
	opts attribution.Options,
) (any, error) {
	if r.Check != nil {
		if err := r.Check(e.Model, len(e.TokenIDs())); err != nil {
			return nil, err
		}
	}
	m, err := e.Traced(m)
	if err != nil {
		return nil, err
	}
	return r.Of(ctx, m, s, e, opts)
}

// tensorRecord records one tensor over the text of an explanation.
func tensorRecord(tap trace.Tap, r Record) *Record {
	r.Name = string(tap)
	r.Of = func(ctx context.Context, m trace.Tracer, _ Show, e *attribution.Explanation,
		_ attribution.Options,
	) (any, error) {
		tensors, err := m.Trace(ctx, e.TokenIDs(), []trace.Tap{tap})
		if err != nil {
			return nil, err
		}
		return &tensors[0], nil
	}
	r.Numbers = func(recorded any) []float64 {
		var all []float64
		for _, x := range recorded.(*trace.Tensor).Data {
			all = append(all, float64(x))
		}
		return all
	}
	return &r
}

// Opened returns s with what a picture of an explanation opens with where s says nothing: for flow,
// as other pictures do, the first generated token that is a word and no article, and for layers the
// first 6 that are words, and the first method that has layers.
func (s Show) Opened(e *attribution.Explanation) Show {
	if named, err := s.AtWord(e); err == nil {
		s = named
	}
	if open := s.View().Opened; open != nil {
		s = open(s, e)
	}
	return s
}

// Picture returns the picture of an explanation. It returns a [trace.UsageError] if the explanation
// lacks what s names, or r what the picture shows.
func (s Show) Picture(e *attribution.Explanation, r Recorded) (Picture, error) {
	if e == nil {
		return Heatmap{}, nil
	}
	if err := s.CheckTokens(e); err != nil {
		return nil, err
	}
	s, _ = s.AtWord(e)
	v, recorded := s.View(), any(nil)
	if v.Record != nil {
		if recorded = r[v.Record.Name]; recorded == nil {
			return nil, trace.Usagef("%s, which this explanation does not have; %s",
				v.Record.Needed, v.Record.Missing)
		}
	}
	p, err := v.Picture(s, e, recorded)
	if err != nil {
		return p, err
	}
	return p, p.Check()
}

// CheckTokens returns a [trace.UsageError] if an explanation lacks a generated token that s names.
func (s Show) CheckTokens(e *attribution.Explanation) error {
	s, err := s.AtWord(e)
	if err != nil {
		return err
	}
	all := s.Tokens
	if s.Token != nil {
		all = append([]int{*s.Token}, all...)
	}
	for _, t := range all {
		if t >= len(e.Steps) {
			return trace.Usagef("token %d; the explanation has %s, from 0", t, e.Made())
		}
	}
	return nil
}

// checkTaken returns an error for a field of s that the view does not take.
func (s Show) checkTaken() error {
	kind, takes := cmp.Or(s.Kind, KindHeatmap), s.View().Takes
	for _, field := range []struct {
		name  string
		given bool
		error string // with the views that take it in the place of %s
	}{
		{"token", s.Token != nil || s.Word != "",
			fmt.Sprintf("a picture of %s has all tokens; leave the token out", kind)},
		{"layer", s.Layer != nil, fmt.Sprintf("layer %d; a picture of %s has all layers",
			deref(s.Layer), kind)},
		{"head", s.Head != nil, fmt.Sprintf("head %d; a head is for", deref(s.Head))},
		{"against-model", s.Against != nil, "an explanation on side B is for"},
		{"against-model", s.AgainstMethod != "", "a method of side B is for"},
		{"alignment", s.Alignment, "an alignment is for"},
		{"sinks", s.Sinks, "edges to sinks are for"},
	} {
		if !field.given || takes[field.name] != 0 {
			continue
		}
		if strings.HasSuffix(field.error, " for") {
			field.error += " a picture of the kind " +
				message.List(message.Names(KindsTaking(field.name)))
		}
		return trace.Usagef("%s", field.error)
	}
	return nil
}

// deref returns a number, 0 for none.
func deref(x *int) int {
	if x == nil {
		return 0
	}
	return *x
}

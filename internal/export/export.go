// Package export writes explanations to files: figures for papers, tables for other programs, and
// the formats of Inseq and Neuronpedia.
//
//	data, remarks, err := export.Encode(e, export.SVG, export.Options{Made: made})
//
// [Formats] lists the formats. Equal inputs give equal bytes.
//
// Every format but CSV has a place for [Made]: the model, its hash, the tokens, the options, the
// backend and the version of the program, which are enough to make the file again. [Read] finds it.
// It holds no clock and no path of the machine.
//
// The package links gonum/plot and parquet-go. A cell asks the engine to write files.
package export

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/verdict"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("export")

// Format is a format of files, as the end of a file's name without the first dot.
type Format string

// The formats.
const (
	SVG         Format = "svg"
	PDF         Format = "pdf"
	PNG         Format = "png"
	TeX         Format = "tex"
	HTML        Format = "html"
	CSV         Format = "csv"
	Parquet     Format = "parquet"
	JSON        Format = "json"
	Inseq       Format = "inseq.json"
	Neuronpedia Format = "neuronpedia.json"
	// Text is a text for a terminal, which [Options.Text] writes. It has no place for [Made], so it
	// is not among [Formats].
	Text Format = "text"
)

// Formats returns all formats: figures first, then a page, then tables.
func Formats() []Format {
	return []Format{SVG, PDF, PNG, TeX, HTML, CSV, Parquet, JSON, Inseq, Neuronpedia}
}

// Figure reports whether the format is that of a figure.
func (f Format) Figure() bool {
	return slices.Contains(figure.Formats(), figure.Format(f))
}

// Picture reports whether a file of the format is a picture, which [render.Show] describes: a
// figure, a page or a text.
func (f Format) Picture() bool { return f.Figure() || f == HTML || f == Text }

// FormatOf returns the format that the end of a file's name means, in capitals too: one of
// [Formats], or of more, such as [Text]. Another end is a usage error that names the ends.
func FormatOf(path string, more ...Format) (format Format, err error) {
	name := strings.ToLower(filepath.Base(path))
	for _, f := range append(more, Formats()...) {
		// A format of two words ends as another does, so the longest end counts.
		if (strings.HasSuffix(name, f.ending()) || f == HTML && strings.HasSuffix(name, ".htm")) &&
			len(f) > len(format) {
			format = f
		}
	}
	if format != "" {
		return format, nil
	}
	base := filepath.Base(path)
	if path == "" {
		base = "" // Base makes it "."
	}
	return "", &trace.UsageError{Package: "export", Reason: fmt.Sprintf(
		"the name %s does not end as a known format does; %s", message.Quote(base),
		message.KnownAre(filepath.Ext(name), Endings(more...)))}
}

// Endings returns how the names of files end: of more, and of [Formats]. A page may end with .htm
// too.
func Endings(more ...Format) (all []string) {
	for _, f := range append(more, Formats()...) {
		all = append(all, f.ending())
	}
	return all
}

// ending is how the name of a file of the format ends.
func (f Format) ending() string {
	if f == Text {
		return ".txt"
	}
	return "." + string(f)
}

// Options are the picture or the numbers of a file, and its origin.
type Options struct {
	render.Show
	// Recorded has the records beside the explanation. The format Neuronpedia needs its Flow.
	render.Recorded
	// Against is side B of a comparison of two explanations; nil is another method of the same.
	Against *Against
	// Made is the origin of the explanation; see [NewMade].
	Made Made
}

// Against is the explanation on side B of a comparison.
type Against struct {
	Explanation *attribution.Explanation
	// Made is its origin; see [NewMade].
	Made Made
}

// CheckFor returns a [trace.UsageError] if there is no such picture in the format.
func CheckFor(o render.Show, f Format) error {
	err, v := o.Check(), o.View()
	if err != nil || f.media() == 0 || v.Media&f.media() != 0 {
		return err
	}
	return trace.Usagef("there is no page and no text of one %s; those of the kind %s have all "+
		"%[2]s", v.Name, v.Part)
}

// media returns the medium of a file of the format, 0 for one that is no picture.
func (f Format) media() render.Media {
	switch {
	case f.Figure():
		return render.InFigure
	case f == HTML:
		return render.InPage
	case f == Text:
		return render.InText
	}
	return 0
}

// Shown returns what a file of the format shows: Neuronpedia's has the graph of flow, whatever the
// picture is.
func (f Format) Shown(o render.Show) render.Show {
	if f == Neuronpedia {
		o.Kind = render.KindFlow
	}
	return o
}

// Needs returns what a file of the format needs of [Options.Recorded], nil for nothing.
func Needs(o render.Show, f Format) *render.Record {
	if f.Picture() || f == Neuronpedia {
		return f.Shown(o).View().Record
	}
	return nil
}

// HasLayer reports whether the method that a figure shows has the values of Layer, or whether there
// is no Layer.
func HasLayer(o render.Show, e *attribution.Explanation) bool {
	_, err := Options{Show: o}.atLayer(e, SVG)
	return err == nil
}

// Compares reports whether a file of the format is a comparison.
func Compares(o render.Show, f Format) bool { return f.Picture() && o.View().Compares }

// OfOneMethod reports whether a file of the format shows one method of several.
func OfOneMethod(o render.Show, f Format) bool {
	one := f.Picture() && o.View().Methods == 1
	return one || (f.Figure() || f == Inseq) && !Compares(o, f) && Needs(o, f) == nil
}

// sides returns the options of a comparison with the methods of both sides, and the explanation of
// side B at the layer that is shown.
func (o Options) sides(e *attribution.Explanation) (_ Options, err error) {
	if o.Against != nil {
		if err := check(o.Against.Explanation); err != nil {
			return o, err
		}
		o.Show.Against = o.Against.Explanation
	} else if _, err = o.method(e); err != nil {
		return o, err
	}
	if o.Show, err = o.Sides(e); err != nil {
		return o, err
	}
	b := o
	b.Method = o.AgainstMethod
	if o.Against == nil {
		_, err = b.atLayer(e, SVG) // the layer is there on side B too
		return o, err
	}
	if o.Show.Against, err = b.atLayer(o.Against.Explanation, SVG); err != nil {
		return o, fmt.Errorf("side B: %w", err)
	}
	o.Against = &Against{o.Show.Against, o.Against.Made}
	return o, nil
}

// method returns the method that a file shows, of a comparison that of side A.
func (o Options) method(e *attribution.Explanation) (string, error) {
	name := o.Method
	switch {
	case name == "" && o.View().Chosen != nil:
		var err error
		if name, err = o.View().Chosen(o.Show, e.Order); err != nil {
			return "", err
		}
	case o.View().Compares:
		side, err := compare.ParseSide(o.Method)
		if err != nil {
			return "", err
		}
		name = side.Method
	}
	if name == "" && len(e.Order) > 0 {
		name = e.Order[0]
	}
	if _, err := e.M(name); err != nil {
		return "", err
	}
	return name, nil
}

// Encode returns the bytes of a file and remarks on things that it cannot show. It returns a
// [trace.UsageError] if the options do not fit the explanation.
func Encode(e *attribution.Explanation, f Format, o Options) ([]byte, []string, error) {
	e, o, err := o.prepared(e, f)
	if err != nil {
		return nil, nil, err
	}
	made, err := o.Made.of(e, f, o)
	if err != nil {
		return nil, nil, err
	}
	e = withoutPath(e)
	if o.Against != nil {
		o.Against = &Against{withoutPath(o.Against.Explanation), o.Against.Made}
		o.Show.Against = o.Against.Explanation
	}
	remarks := o.remarks(e, f)
	var b bytes.Buffer
	switch {
	case f.Figure():
		fig, err := o.draw(e, figure.Format(f), made)
		if err != nil {
			return nil, nil, err
		}
		return fig.Bytes, append(fig.Warnings, remarks...), nil
	case f == HTML:
		err = o.writePage(&b, e, made)
	case f == CSV:
		err = writeCSV(&b, e)
	case f == Parquet:
		err = writeParquet(&b, e, made)
	case f == JSON:
		err = writeJSON(&b, e, made)
	case f == Inseq:
		err = o.writeInseq(&b, e, made)
	case f == Neuronpedia:
		err = o.writeNeuronpedia(&b, e, made)
	default:
		err = trace.Usagef("format %s is unknown; known are %v", message.Quote(string(f)),
			Formats())
	}
	if err != nil {
		return nil, nil, err
	}
	return b.Bytes(), remarks, nil
}

// Describe returns the contents of a file of an explanation, "matrix of direct", and the width of
// a figure, "6.75 in", "" for another format.
func (o Options) Describe(e *attribution.Explanation, f Format) (what, width string) {
	if f.Figure() {
		width = fmt.Sprintf("%.4g in", figure.Inches(o.Size))
	}
	methods := e.Order
	if sides, err := o.sides(e); err == nil && Compares(o.Show, f) {
		return "comparison of " + sides.Method + " and " + sides.AgainstMethod, width
	} else if method, err := o.method(e); err == nil && (OfOneMethod(o.Show, f) || width != "") {
		methods = []string{method}
	}
	v := f.Shown(o.Show).View()
	switch what = v.Contents; {
	case f == Neuronpedia, f.Picture() && v.Methods != 1 && (v.Record != nil || v.Method != ""):
		return what, width
	case !f.Picture():
		what = "values"
	}
	return what + " of " + message.List(methods), width
}

// prepared returns an explanation at the layer that the options name, and the options with both
// sides of a comparison.
func (o Options) prepared(
	e *attribution.Explanation, f Format,
) (*attribution.Explanation, Options, error) {
	if err := CheckFor(o.Show, f); err != nil {
		return nil, o, err
	}
	if err := check(e); err != nil {
		return nil, o, err
	}
	e, err := o.atLayer(e, f)
	if err == nil && Compares(o.Show, f) {
		o, err = o.sides(e)
	}
	return e, o, err
}

// remarks returns a sentence if the origin in a file has lost bytes: JSON has none that are not
// UTF-8. An origin that was JSON already has lost them too, but the tokens have not.
func (o Options) remarks(e *attribution.Explanation, f Format) []string {
	valid := o.Made.valid(e)
	if Compares(o.Show, f) && o.Against != nil {
		valid = valid && o.Against.Made.valid(o.Against.Explanation)
	}
	if f == CSV || valid {
		return nil
	}
	return []string{"Its text is not UTF-8. The file has U+FFFD in the place of such bytes, so " +
		"it cannot be made again."}
}

// valid reports whether the texts of an origin and its explanation are UTF-8.
func (m Made) valid(e *attribution.Explanation) bool {
	texts := m.Prompt + m.Options.Continuation + e.Prompt.Text
	if m.Options.Continuation != "" {
		for _, s := range e.Steps {
			texts += s.Text
		}
	}
	return utf8.ValidString(texts)
}

// atLayer returns an explanation that shows the layer that the options name. A method that lacks it
// keeps its own, as in pictures. A verdict on a row of another layer is left out. It is an error if
// the method that a figure shows lacks it, or all methods of another file do.
func (o Options) atLayer(e *attribution.Explanation, f Format) (*attribution.Explanation, error) {
	if o.Layer == nil || f.Picture() && o.View().Record != nil {
		return e, nil
	}
	method, err := o.method(e)
	if err != nil {
		return nil, err
	}
	methods := []string{method}
	if !f.Figure() && !Compares(o.Show, f) {
		methods = e.Order
	}
	if !slices.ContainsFunc(methods, func(name string) bool {
		return slices.Contains(e.Methods[name].Layers, *o.Layer)
	}) {
		r := e.Methods[method]
		have := fmt.Sprintf("has layers %d to %d", r.Layers[0], r.Layers[len(r.Layers)-1])
		if len(r.Layers) == 1 {
			have = fmt.Sprintf("has the values of one layer for each token; explain with %s, or "+
				"for flow %s, of the options", trace.Called("all layers", "AllLayers"),
				trace.Called("all levels", "AllLevels"))
		}
		return nil, trace.Usagef("layer %d; method %s %s", *o.Layer, message.Quote(method), have)
	}
	shown := *e
	shown.Steps, shown.Methods = slices.Clone(e.Steps), map[string]*attribution.Result{}
	for name, r := range e.Methods {
		shown.Methods[name] = r
		if !slices.Contains(r.Layers, *o.Layer) {
			continue
		}
		at := *r
		at.Shown = slices.Repeat([]int{*o.Layer}, r.Shape[0])
		shown.Methods[name] = &at
		for t := range shown.Steps {
			g := &shown.Steps[t]
			v := verdict.Of(*g)
			if v != nil && v.Method == name && r.Level(t) != at.Level(t) {
				g.Studies = g.Studies.Without(verdict.Name)
			}
		}
	}
	return &shown, nil
}

// withoutPath returns an explanation whose model has no folders in its name: they belong to one
// machine.
func withoutPath(e *attribution.Explanation) *attribution.Explanation {
	name, local := trace.WithoutFolder(e.Model.Name)
	if !local {
		return e
	}
	named := *e
	named.Model.Name = name
	return &named
}

// check returns an error if an explanation, which somebody may have edited, contradicts itself.
func check(e *attribution.Explanation) error {
	if e == nil {
		return pkg.Errorf("there is no explanation")
	}
	n, m := len(e.Steps), len(e.Prompt.Texts)
	if len(e.Prompt.Special) != m || len(e.Prompt.IDs) != m {
		return pkg.Errorf("%d prompt tokens have %d ids and %d marks of control tokens",
			m, len(e.Prompt.IDs), len(e.Prompt.Special))
	}
	for _, name := range e.Order {
		r := e.Methods[name]
		if r == nil {
			return pkg.Errorf("the explanation names method %s and has no values of it",
				message.Quote(name))
		}
		if err := r.Check(m); err != nil || r.Shape[0] != n {
			return pkg.Errorf("the values of method %s have shape %v, which does not fit "+
				"%d generated and %d prompt tokens", message.Quote(name), r.Shape, n, m)
		}
	}
	return nil
}

// draw draws the figure that the options name.
func (o Options) draw(
	e *attribution.Explanation, format figure.Format, made string,
) (*figure.Figure, error) {
	look := figure.Options{Format: format, Look: o.Look()}
	method, err := o.method(e)
	if err != nil {
		return nil, err
	}
	if o.View().Takes["tokens"] != 0 && o.Token == nil && len(o.Tokens) == 0 {
		o.Token = new(int)
	}
	picture, err := o.picture(e)
	if err != nil {
		return nil, err
	}
	f, err := render.FigureOf(picture, method)
	if err != nil {
		return nil, err
	}
	d, err := figure.Of(f)
	if err != nil {
		return nil, err
	}
	return figure.Draw(look, made, d)
}

// graphTexts returns the tokens of a flow graph: the prompt and then the answer.
func graphTexts(e *attribution.Explanation, g *attribution.FlowGraph) []string {
	texts := slices.Clone(e.Prompt.Texts)
	for _, s := range e.Steps {
		texts = append(texts, s.Text)
	}
	return texts[:min(g.Tokens, len(texts))]
}

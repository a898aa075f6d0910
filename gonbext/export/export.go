// Package export writes explanations to files: figures for papers, tables for other programs, and
// the formats of Inseq and Neuronpedia.
//
//	warnings, err := export.Save(e, "figure.svg", export.Options{Made: made})
//
// The end of the file's name says which format it is; [Formats] lists them. A file appears when it
// is complete. Equal inputs give equal bytes.
//
// Every format but CSV has a place for [Made]: the model, its hash, the tokens, the options, the
// backend and the version of the program, which are enough to make the file again. [Read] finds it.
// It holds no clock and no path of the machine.
//
// The package links gonum/plot and parquet-go. A cell asks the engine to write files.
package export

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/figure"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

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
)

// Formats returns all formats: figures first, then a page, then tables.
func Formats() []Format {
	return []Format{SVG, PDF, PNG, TeX, HTML, CSV, Parquet, JSON, Inseq, Neuronpedia}
}

// Figure reports whether the format is that of a figure.
func (f Format) Figure() bool {
	return slices.Contains(figure.Formats(), figure.Format(f))
}

// FormatOf returns the format that the end of a file's name means; upper case counts as lower case.
// The error, a [trace.UsageError], lists the formats.
func FormatOf(path string) (Format, error) {
	name := strings.ToLower(filepath.Base(path))
	var ends []string
	for _, f := range Formats() {
		ends = append(ends, "."+string(f))
	}
	// Formats of two words end as others do, so the longest end counts.
	for _, f := range []Format{Inseq, Neuronpedia} {
		if strings.HasSuffix(name, "."+string(f)) {
			return f, nil
		}
	}
	for _, f := range Formats() {
		if strings.HasSuffix(name, "."+string(f)) {
			return f, nil
		}
	}
	base := filepath.Base(path)
	if path == "" {
		base = "" // Base makes it "."
	}
	return "", &trace.UsageError{Package: "export", Reason: fmt.Sprintf(
		"the name %s does not end as a known format does; %s", message.Quote(base),
		message.KnownAre(filepath.Ext(name), ends))}
}

// Kind is what a figure shows.
type Kind string

// The kinds.
const (
	// Matrix has a row for each generated token and a column for each prompt token; the default.
	Matrix Kind = "matrix"
	// Text is the prompt as running text in colours, for each generated token.
	Text Kind = "text"
	// Layers has a row for each layer, for one generated token.
	Layers Kind = "layers"
	// Graph is the layered graph of attention flow, for one generated token.
	Graph Kind = "graph"
)

// Kinds returns the kinds of figures.
func Kinds() []Kind { return []Kind{Matrix, Text, Layers, Graph} }

// Show says what a file shows. The zero value of every field is its default.
type Show struct {
	// Kind is what a figure shows; default Matrix.
	Kind Kind `json:"kind,omitempty"`
	// Method is the method that figures and Inseq's format show; default the first one of the
	// explanation, and for graphs flow.
	Method string `json:"method,omitempty"`
	// Token is the generated token that Layers and Graph show, and that Text is limited to;
	// 0-based. Nil is the first one, and for Text all.
	Token *int `json:"token,omitempty"`
	// Layer is the layer whose values are shown, 0-based; of combined methods those up to it. Nil
	// is, for each token, the layer that pictures show.
	Layer *int `json:"layer,omitempty"`
	// Filter makes prompt tokens grey and leaves them out of the scale of the colours. It changes
	// no number.
	Filter attribution.Filter `json:"filter,omitempty"`
	// Source is the prompt token at the source of a flow graph, 0-based. Nil is the one with the
	// largest flow that is not the first.
	Source *int `json:"source,omitempty"`
	// Look is the size of a figure.
	Look figure.Options `json:"look,omitzero"`
}

// Options says what a file shows and where it comes from.
type Options struct {
	Show
	// Flow is the graph of attention flow, which the format Neuronpedia and the kind Graph need.
	Flow *attribution.FlowGraph
	// Made says how the explanation was made; see [NewMade].
	Made Made
}

// Check returns a [trace.UsageError] if a kind or a size is unknown or a number is out of range.
func (o Show) Check() error {
	if o.Kind != "" && !slices.Contains(Kinds(), o.Kind) {
		var names []string
		for _, k := range Kinds() {
			names = append(names, string(k))
		}
		return trace.Usagef("figure %s is unknown; %s", message.Quote(string(o.Kind)),
			message.KnownAre(string(o.Kind), names))
	}
	for _, number := range []struct {
		what string
		at   *int
	}{{"token", o.Token}, {"layer", o.Layer}, {"source", o.Source}} {
		if number.at != nil && *number.at < 0 {
			return trace.Usagef("%s %d; they count from 0", number.what, *number.at)
		}
	}
	if err := o.Look.Check(); err != nil {
		return trace.Usagef("%s", strings.TrimPrefix(err.Error(), "figure: "))
	}
	return nil
}

// NeedsFlow reports whether a file of the format needs [Options.Flow].
func (o Show) NeedsFlow(f Format) bool {
	return f == Neuronpedia || f.Figure() && o.Kind == Graph
}

// HasLayer reports whether the method that a figure shows has the values of Layer, or whether there
// is no Layer.
func (o Show) HasLayer(e *attribution.Explanation) bool {
	_, err := o.atLayer(e, SVG)
	return err == nil
}

// AsModel reports whether a file of the format shows tokens and edges as the model has them, so that
// tokens cannot be put together or filtered.
func (o Show) AsModel(f Format) bool { return o.NeedsFlow(f) }

// method returns the method that a file shows.
func (o Show) method(e *attribution.Explanation) (string, error) {
	name := o.Method
	if name == "" && len(e.Order) > 0 {
		name = e.Order[0]
	}
	if _, err := e.M(name); err != nil {
		return "", err
	}
	return name, nil
}

// Encode returns the bytes of a file and remarks on what it cannot show. It returns a
// [trace.UsageError] if the options do not fit the explanation.
func Encode(e *attribution.Explanation, f Format, o Options) ([]byte, []string, error) {
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	if err := check(e); err != nil {
		return nil, nil, err
	}
	e, err := o.atLayer(e, f)
	if err != nil {
		return nil, nil, err
	}
	made, err := o.Made.of(e, f, o)
	if err != nil {
		return nil, nil, err
	}
	e = withoutPath(e)
	var b bytes.Buffer
	switch {
	case f.Figure():
		fig, err := o.draw(e, figure.Format(f), made)
		if err != nil {
			return nil, nil, err
		}
		return fig.Bytes, fig.Warnings, nil
	case f == HTML:
		err = writeHTML(&b, e, made, o.Show)
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
	return b.Bytes(), nil, nil
}

// atLayer returns an explanation that shows the layer that the options name. A method that lacks it
// keeps its own, as in pictures. It is an error if the method that a figure shows lacks it, or all
// methods of another file do.
func (o Show) atLayer(e *attribution.Explanation, f Format) (*attribution.Explanation, error) {
	if o.Layer == nil {
		return e, nil
	}
	method, err := o.method(e)
	if err != nil {
		return nil, err
	}
	methods := []string{method}
	if !f.Figure() {
		methods = e.Order
	}
	if !slices.ContainsFunc(methods, func(name string) bool {
		return slices.Contains(e.Methods[name].Layers, *o.Layer)
	}) {
		r := e.Methods[method]
		have := fmt.Sprintf("has layers %d to %d", r.Layers[0], r.Layers[len(r.Layers)-1])
		if len(r.Layers) == 1 {
			have = "has the values of one layer for each token; explain with AllLayers, or for " +
				"flow AllLevels, of the options"
		}
		return nil, trace.Usagef("layer %d; method %s %s", *o.Layer, message.Quote(method), have)
	}
	shown := *e
	shown.Methods = map[string]*attribution.Result{}
	for name, r := range e.Methods {
		shown.Methods[name] = r
		if !slices.Contains(r.Layers, *o.Layer) {
			continue
		}
		at := *r
		at.Shown = slices.Repeat([]int{*o.Layer}, r.Shape[0])
		if !slices.Equal(at.Shown, r.Shown) {
			at.Generated = nil // which are those of the layers that were shown
		}
		shown.Methods[name] = &at
	}
	return &shown, nil
}

// withoutPath returns an explanation whose model has no folders in its name: they belong to one
// machine.
func withoutPath(e *attribution.Explanation) *attribution.Explanation {
	name, local := baseName(e.Model.Name)
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
		return errors.New("export: there is no explanation")
	}
	n, m := len(e.Steps), len(e.Prompt.Texts)
	if len(e.Prompt.Special) != m || len(e.Prompt.IDs) != m {
		return fmt.Errorf("export: %d prompt tokens have %d ids and %d marks of control tokens",
			m, len(e.Prompt.IDs), len(e.Prompt.Special))
	}
	for _, name := range e.Order {
		r := e.Methods[name]
		if r == nil {
			return fmt.Errorf("export: the explanation names method %s and has no values of it",
				message.Quote(name))
		}
		levels := r.Shape[2]
		fits := len(r.Layers) == levels && levels > 0
		if r.Shape[0] != n || r.Shape[1] != m || levels < 1 || !fits ||
			len(r.Data) != n*m*levels {
			return fmt.Errorf("export: the values of method %s have shape %v, which does not fit "+
				"%d generated and %d prompt tokens", message.Quote(name), r.Shape, n, m)
		}
	}
	return nil
}

// draw draws the figure that the options name.
func (o Options) draw(
	e *attribution.Explanation, f figure.Format, made string,
) (*figure.Figure, error) {
	look := o.Look
	look.Format = f
	method, err := o.method(e)
	if err != nil {
		return nil, err
	}
	token := 0
	if o.Token != nil {
		token = *o.Token
	} else if o.Kind == Text {
		token = figure.AllTokens
	}
	if token >= len(e.Steps) {
		return nil, trace.Usagef("token %d; the explanation has %s, from 0", token, e.Made())
	}
	var d figure.Drawing
	switch o.Kind {
	case Text:
		d, err = figure.Strip(e, method, token, o.Filter)
	case Layers:
		d, err = figure.LayerMap(e, method, token, o.Filter)
	case Graph:
		if o.Flow == nil {
			return nil, errNoFlow
		}
		d, err = figure.Graph(o.Flow, graphTexts(e, o.Flow), e.Steps[token].Text, e.Model.Name)
	default:
		d, err = figure.Matrix(e, method, o.Filter)
	}
	if err != nil {
		return nil, err
	}
	return figure.Draw(look, made, d)
}

var errNoFlow = trace.Usagef("a graph needs the widths of its edges, which this explanation " +
	"does not have; compute the method flow")

// graphTexts returns the tokens of a flow graph: the prompt and then the answer.
func graphTexts(e *attribution.Explanation, g *attribution.FlowGraph) []string {
	texts := slices.Clone(e.Prompt.Texts)
	for _, s := range e.Steps {
		texts = append(texts, s.Text)
	}
	return texts[:min(g.Tokens, len(texts))]
}

// Save writes an explanation to a file, whose name says the format, and returns remarks on what the
// file cannot show. An older file stays until the new one is complete. It returns a
// [trace.UsageError] for an unknown format or options that do not fit, and another error if the
// file cannot be written; it writes nothing then.
func Save(e *attribution.Explanation, path string, o Options) ([]string, error) {
	f, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	data, warnings, err := Encode(e, f, o)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(path, data); err != nil {
		return nil, fmt.Errorf("export: %s cannot be written: %w", path, err)
	}
	return warnings, nil
}

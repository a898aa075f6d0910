package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/export"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/figure"
	"github.com/headwater-ml/headwater/models"
)

// saveFlags are the flags of files that an explanation is saved to.
type saveFlags struct {
	paths []string
	show  export.Show
	// asView says that figures show what the view shows, also where no token is named.
	asView bool
	// addsFlow says that flow joins the default methods where a file needs it.
	addsFlow bool
}

// add adds the flags.
func (f *saveFlags) add(cmd *cobra.Command) {
	var ends []string
	for _, format := range export.Formats() {
		ends = append(ends, "."+string(format))
	}
	cmd.Flags().Func("save", "save to `FILE` as well, in the format that its name ends with: "+
		strings.Join(ends, " ")+"; repeatable", func(path string) error {
		if _, err := export.FormatOf(path); err != nil {
			return err
		}
		if slices.ContainsFunc(f.paths, sameFile(path)) {
			return errors.New("it is given twice")
		}
		f.paths = append(f.paths, path)
		return nil
	})
	cmd.Flags().StringVar((*string)(&f.show.Kind), "figure", "", "what a saved figure or page "+
		"shows: `"+strings.Join(namesOf(export.Kinds()), "|")+"`; graph is the "+
		"layered graph of flow (default that of --view, which is matrix for the heatmap)")
	cmd.Flags().StringVar((*string)(&f.show.Look.Size), "figure-size", "",
		"width of a saved figure: `column|double|slide` (default double)")
	cmd.Flags().Func("figure-font", fmt.Sprintf("`points` of text in a saved figure, from %d to "+
		"%d (default 7, 8 or 18, by size)", figure.MinFont, figure.MaxFont), func(s string) error {
		x, err := strconv.ParseFloat(s, 64)
		f.show.Look.Font = x
		if err != nil || x == 0 || (figure.Options{Font: x}).Check() != nil {
			return fmt.Errorf("want a number from %d to %d", figure.MinFont, figure.MaxFont)
		}
		return nil
	})
	cmd.Flags().StringVar(&f.show.Method, "figure-method", "", "method that a saved figure shows, "+
		"by `NAME` (default the first)")
	number := func(name, usage string, to **int) {
		cmd.Flags().Func(name, usage, func(s string) error {
			*to = new(int)
			return setWhole(*to, s, 0, maxIndex)
		})
	}
	cmd.Flags().Func("figure-token", "generated token that a saved figure shows, "+
		strings.Replace(render.TokenNumbers, "number", "`number`", 1)+"; layers takes several, "+
		"as 0,2 (default that of --view, else 0; for text all)",
		func(s string) error {
			tokens, err := render.ParseTokens(s)
			if f.show.Token, f.show.Tokens = nil, tokens; len(tokens) == 1 {
				f.show.Token, f.show.Tokens = &tokens[0], nil
			}
			return err
		})
	number("figure-layer", "layer whose values a saved figure shows, by its `number` from 0, and "+
		"for head and map theirs (default for each token the one that pictures show)",
		&f.show.Layer)
	number("figure-head", "attention head that a figure of head shows, by its `number` from 0, "+
		"with --figure-layer (default the one that --view heads opens)", &f.show.Head)
	number("figure-source", "prompt token at the source of a saved flow graph, by its `number` "+
		"from 0 (default the one with most flow that is not the first)", &f.show.Source)
}

// namesOf returns names as strings.
func namesOf[T ~string](all []T) []string {
	var names []string
	for _, name := range all {
		names = append(names, string(name))
	}
	return names
}

// checkNames refuses an unknown kind or size of a figure.
func (f *saveFlags) checkNames() error {
	for _, flag := range []struct {
		name, value string
		known       []string
	}{
		{"figure", string(f.show.Kind), namesOf(export.Kinds())},
		{"figure-size", string(f.show.Look.Size), namesOf(figure.Sizes())},
	} {
		if flag.value == "" {
			continue
		}
		if err := oneOf(flag.name, flag.value, flag.known...); err != nil {
			return err
		}
	}
	return nil
}

// sameFile returns a function that reports whether a path is another spelling of this one.
func sameFile(path string) func(string) bool {
	return func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) }
}

// figureFlags are the flags that say how figures look; they need a figure.
var figureFlags = []string{
	"figure", "figure-size", "figure-font", "figure-method", "figure-token", "figure-layer",
	"figure-head", "figure-source",
}

// check returns a usage error for flags that do not go with the files, as far as that is known
// before a model is open.
func (f *saveFlags) check(
	cmd *cobra.Command, opts attribution.Options, input, output string,
) error {
	if input != "" && len(f.paths) > 0 {
		return usagef("--save does not go with --input, which has a result for each line; " +
			"explain one prompt")
	}
	for _, name := range figureFlags {
		if cmd.Flags().Changed(name) && len(f.paths) == 0 {
			return usagef("--%s is for files: add --save FILE", name)
		}
		if cmd.Flags().Changed(name) && !slices.ContainsFunc(f.paths, shows(name)) {
			return usagef("--%s is for figures and pages, and %s has numbers alone", name,
				f.paths[0])
		}
	}
	if output != "" && slices.ContainsFunc(f.paths, sameFile(output)) {
		return usagef("--save and --output are both %s, and only one file can have that name",
			output)
	}
	if err := f.show.Check(); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	for _, path := range f.paths {
		format, err := export.FormatOf(path)
		if err != nil {
			return err
		}
		if f.show.NeedsFlow(format) && !slices.Contains(flowMethods(opts), "flow") &&
			(len(opts.Methods) > 0 || !f.addsFlow) {
			how := "add --methods flow"
			if f.asView && (f.show.Kind == export.Heads || f.show.Kind == export.Maps) {
				how = "its view shows another method; save it with --view flow"
			}
			return usagef("--save %s needs the graph of flow: %s", path, how)
		}
		if f.show.NeedsMap(format) && (f.show.Method != "" || len(opts.Methods) > 0) {
			if _, err := f.show.MapMethod(flowMethods(opts)); err != nil {
				return fmt.Errorf("--save %s: %w", path, err)
			}
		}
	}
	return f.checkMethod(flowMethods(opts))
}

// checkHead refuses --figure-head where a figure shows no head or its layer is missing, and a layer
// without a head, by the names of the flags.
func (f *saveFlags) checkHead() error {
	const both = "a head is named by --figure-layer and --figure-head"
	switch show := f.show; {
	case show.Head != nil && show.Kind != export.Head:
		return usagef("--figure-head %d is for --figure head: add that", *show.Head)
	case show.Kind != export.Head:
		return nil
	case show.Head != nil && show.Layer == nil:
		return usagef("--figure-head %d without --figure-layer; %s: give both, or none",
			*show.Head, both)
	case show.Head == nil && show.Layer != nil:
		return usagef("--figure-layer %d without --figure-head; %s: give both, or none",
			*show.Layer, both)
	}
	return nil
}

// checkMethod refuses a method of --figure-method that does not exist, or is not among those that
// an explanation has; have is empty if these are not known yet.
func (f *saveFlags) checkMethod(have []string) error {
	m := f.show.Method
	if side, err := render.ParseSide(m); err == nil && f.show.Kind == export.Compare {
		m = side.Method
	}
	if m == "" || slices.Contains(have, m) && m != attribution.Classic {
		return nil
	}
	if all, err := attribution.LookupMethods(m); m != similarityName && err != nil {
		return fmt.Errorf("--figure-method: %w", err)
	} else if len(all) > 1 {
		return usagef("--figure-method %s is several methods; name one of them", m)
	}
	if len(have) == 0 {
		return nil
	}
	return usagef("--figure-method %.60q is not among the methods, %s; name it in --methods too", m,
		strings.Join(have, ", "))
}

// addFlow adds flow to the default methods of a model if a file needs it and no method is named.
func (f *explainFlags) addFlow(info trace.Info) {
	needs := func(path string) bool {
		format, err := export.FormatOf(path)
		return err == nil && f.save.show.NeedsFlow(format)
	}
	if len(f.opts.Methods) == 0 && slices.ContainsFunc(f.save.paths, needs) {
		f.opts.Methods = append(attribution.DefaultMethods(info), "flow")
	}
}

// flowMethods returns the methods that the options name, with those of classic.
func flowMethods(opts attribution.Options) []string {
	var all []string
	for _, name := range opts.Methods {
		if name == attribution.Classic {
			all = append(all, "rollout", "flow", "value-zeroing")
		}
		all = append(all, name)
	}
	return all
}

// saves are the files that are being saved. They are created before the work begins, so that one
// that cannot be written costs nothing, and appear when all of them are complete.
type saves struct {
	flags saveFlags
	outs  []*output
}

// create creates unfinished files beside the final ones.
func (p *program) createSaves(ctx context.Context, f saveFlags) (*saves, error) {
	s := &saves{flags: f}
	for _, path := range f.paths {
		out, err := p.create(ctx, path)
		if err != nil {
			s.abandon()
			return nil, fmt.Errorf("--save: %w", err)
		}
		s.outs = append(s.outs, out)
	}
	return s, nil
}

// abandon removes what is unfinished.
func (s *saves) abandon() {
	for _, out := range s.outs {
		out.abandon()
	}
}

// shows returns a function that reports whether a flag for figures changes a file: a picture, or
// one of numbers that has the method, token, layer or source of the flag.
func shows(flag string) func(path string) bool {
	return func(path string) bool {
		format, err := export.FormatOf(path)
		switch {
		case err != nil || format.Picture():
			return true
		case format == export.Inseq:
			return flag == "figure-method" || flag == "figure-layer"
		case format == export.Neuronpedia:
			return flag == "figure-token" || flag == "figure-source"
		}
		return flag == "figure-layer" // a table has the rows of the layer shown
	}
}

// tokens returns the generated tokens that saved files show, if they are named.
func (f *saveFlags) tokens() []int {
	for _, path := range f.paths {
		format, err := export.FormatOf(path)
		if err == nil && format.Picture() {
			return append(slices.Clone(f.show.Tokens), listed(f.show.Token)...)
		}
	}
	return nil
}

// sources returns the prompt token at the source of saved graphs, if it is named.
func (f *saveFlags) sources() []int {
	for _, path := range f.paths {
		if format, err := export.FormatOf(path); err == nil && f.show.NeedsFlow(format) {
			return listed(f.show.Source)
		}
	}
	return nil
}

// fits returns a usage error if a model does not have the layers or the head that the flags name,
// or if its default methods lack the one of a figure.
func (f *explainFlags) fits(info trace.Info) error {
	methods := flowMethods(f.opts)
	if len(methods) == 0 {
		methods = attribution.DefaultMethods(info)
	}
	if err := f.save.checkMethod(methods); err != nil {
		return err
	}
	for _, s := range f.sides {
		if s.Layer != nil && *s.Layer >= info.Layers {
			return usagef("--methods %s; %.60q has layers 0 to %d", s, info.Name, info.Layers-1)
		}
	}
	for _, number := range []struct {
		flag, what string
		at         *int
		have       int
	}{
		{"figure-layer", "layers", f.save.show.Layer, info.Layers},
		{"figure-head", "heads", f.save.show.Head, info.Heads},
	} {
		if number.at != nil && *number.at >= number.have {
			return usagef("--%s %d; %.60q has %s 0 to %d", number.flag, *number.at, info.Name,
				number.what, number.have-1)
		}
	}
	return nil
}

// write makes all files of an explanation and then puts them in their places. against is side B of
// a comparison, or nil. m is the model, or has what was recorded of it.
func (s *saves) write(
	ctx context.Context, p *program, m any, e *attribution.Explanation, against *export.Against,
	made export.Made,
) error {
	if len(s.outs) == 0 {
		return nil
	}
	o := export.Options{Show: s.flags.showOf(e), Made: made, Against: against}
	for i, path := range s.flags.paths {
		format, _ := export.FormatOf(path) // checked when the flag was read
		if err := addRecorded(ctx, &o, format, m, e); err != nil {
			return fmt.Errorf("--save %s: %w", path, err)
		}
		data, warnings, err := export.Encode(e, format, o)
		if err != nil {
			return fmt.Errorf("--save %s: %w", path, err)
		}
		if against != nil && !o.Compares(format) {
			warnings = append(warnings, "it has the numbers of side A alone; explain B by itself "+
				"to save those of B")
		}
		for _, w := range warnings {
			p.say("note: %s: %s", filepath.Base(path), w)
		}
		if _, err := s.outs[i].Write(data); err != nil {
			return err
		}
	}
	for _, out := range s.outs {
		if err := out.commit(); err != nil {
			return err
		}
	}
	return nil
}

// showOf returns what files of an explanation show.
func (f *saveFlags) showOf(e *attribution.Explanation) export.Show {
	show := f.show
	if !f.asView || show.Token != nil || show.Tokens != nil {
		return show
	}
	switch show.Kind {
	case export.Graph:
		first := render.FirstWord(e)
		show.Token = &first
	case export.Layers:
		show.Tokens = render.FirstWords(e)
	}
	return show
}

// addRecorded adds what a file needs that is recorded of a model, unless it is there.
func addRecorded(
	ctx context.Context, o *export.Options, format export.Format, m any,
	e *attribution.Explanation,
) (err error) {
	if o.AsModel(format) && e.Grouped() {
		return usagef("%s shows tokens as the model has them, and this explanation has groups of "+
			"them: explain the prompt without By and Target", cmp.Or(o.Kind, export.Graph))
	}
	if o.NeedsFlow(format) && o.Flow == nil {
		o.Flow, err = flowGraph(ctx, m, e, o.Made.Options, o.Show)
	}
	if err == nil && o.NeedsAttention(format) && o.Attention == nil {
		var attention trace.Tensor
		attention, err = recordAttention(ctx, m, e, e.TokenIDs())
		o.Attention = &attention
	}
	if err == nil && o.NeedsMap(format) && o.Map == nil {
		o.Map, err = mapOf(ctx, m, e, o.Made.Options, o.Show)
	}
	return err
}

// mapOf returns the map of the method that a figure shows: one that was made of a file, or one of
// what is recorded of a model over a text that is short enough for a picture.
func mapOf(
	ctx context.Context, m any, e *attribution.Explanation, opts attribution.Options,
	show export.Show,
) (*attribution.Map, error) {
	method, err := show.MapMethod(e.Order)
	if err != nil {
		return nil, err
	}
	if r, ok := m.(recording); ok {
		return r.maps[method], nil
	}
	tracer, ok := m.(trace.Tracer)
	if !ok {
		return nil, errors.New("this model cannot record what maps are made of")
	}
	if tracer, err = e.Traced(tracer); err != nil {
		return nil, err
	}
	ids := e.TokenIDs()
	if err := render.CheckHeads(e.Model.Layers, e.Model.Heads, len(ids)); err != nil {
		return nil, err
	}
	return attribution.MapOf(ctx, tracer, ids, method, opts)
}

// flowGraph records the attention of a text and returns the graph of the flow from a prompt token
// to the target that predicts a generated token.
func flowGraph(
	ctx context.Context, m any, e *attribution.Explanation, opts attribution.Options,
	show export.Show,
) (*attribution.FlowGraph, error) {
	token := 0
	if show.Token != nil {
		token = *show.Token
	}
	ids, ends, err := e.FlowEnds(token, show.Source, opts.OwnRow)
	if err != nil {
		return nil, err
	}
	attention, err := recordAttention(ctx, m, e, ids)
	if err != nil {
		return nil, err
	}
	graph := opts
	graph.Methods, graph.Lift, graph.AllLevels = []string{"flow"}, false, false
	return attribution.NewFlowGraph(ctx, attribution.InMemory([]trace.Tensor{attention}), graph,
		ends[0], ends[1])
}

// recordAttention records the attention of all heads over a text that is short enough for a
// picture.
func recordAttention(
	ctx context.Context, m any, e *attribution.Explanation, ids []int,
) (trace.Tensor, error) {
	tracer, ok := m.(trace.Tracer)
	if !ok {
		return trace.Tensor{}, errors.New("this model cannot record its attention")
	}
	tracer, err := e.Traced(tracer)
	if err != nil {
		return trace.Tensor{}, err
	}
	if err := render.CheckHeads(e.Model.Layers, e.Model.Heads, len(ids)); err != nil {
		return trace.Tensor{}, err
	}
	tensors, err := tracer.Trace(ctx, ids, []trace.Tap{trace.Attention})
	if err != nil {
		return trace.Tensor{}, err
	}
	return tensors[0], nil
}

// made says how an explanation of this command is made.
func (f *explainFlags) made(m trace.Model, prompt string) export.Made {
	dtype := ""
	if model, ok := m.(*models.Model); ok {
		dtype = model.DType()
	}
	return export.NewMade(prompt, f.opts, attribution.Grouping{}, dtype, release())
}

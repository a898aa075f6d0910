package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/gonbext/export"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// The views of --view.
const (
	viewHeatmap = "heatmap"
	viewCompare = "compare"
	viewHeads   = "heads"
	viewLayers  = "layers"
	viewFlow    = "flow"
	viewMaps    = "maps"
)

var views = []string{viewHeatmap, viewCompare, viewHeads, viewLayers, viewFlow, viewMaps}

// methodsFlag adds --methods of a command with views, which sets them in o. A method may end with
// the layer that --view compare shows of it, as direct@5.
func (f *explainFlags) methodsFlag(cmd *cobra.Command, o *attribution.Options, byDefault string) {
	row := attribution.LookupOption("methods")
	usage := row.Usage() + "; see headwater methods" + byDefault + "; for the views compare and " +
		"maps also a method and a layer, as direct@5"
	cmd.Flags().Func(row.Flag, usage, func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			side, err := render.ParseSide(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			if side.Layer != nil {
				all, err := attribution.LookupMethods(side.Method)
				if err == nil && len(all) > 1 {
					err = fmt.Errorf("%s is several methods; name one of them before @",
						side.Method)
				}
				if err != nil {
					return err
				}
			}
			if err := row.Set(o, side.Method); err != nil {
				return err
			}
			f.sides = append(f.sides, side)
		}
		return nil
	})
}

// layered reports whether a method of --methods has a layer.
func (f *explainFlags) layered() bool {
	return slices.ContainsFunc(f.sides, func(s render.Side) bool { return s.Layer != nil })
}

// askLayers asks for what the sides show: each method once, and every layer of those of which only
// one would be computed.
func (f *explainFlags) askLayers() error {
	f.opts.Methods = nil
	for _, s := range f.sides {
		m, err := attribution.LookupMethod(s.Method)
		if err != nil {
			return err
		}
		if !slices.Contains(f.opts.Methods, s.Method) {
			f.opts.Methods = append(f.opts.Methods, s.Method)
		}
		if s.Layer == nil || m.Aggregation == "" {
			continue
		}
		a, err := aggregation.Lookup(m.Aggregation)
		if err != nil {
			return err
		}
		f.opts.AllLevels = f.opts.AllLevels || a.Info().TopOnly
	}
	f.opts.AllLayers = true
	return nil
}

// viewFlags adds the flags that choose a view and say what it shows.
func (f *explainFlags) viewFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.view, "view", viewHeatmap, "`"+strings.Join(views, "|")+"`: what is "+
		"shown in text and html; compare shows two methods, or two layers of one, and their "+
		"difference, heads what every "+
		"attention head looks at, layers some tokens layer by layer, flow the layered graph of "+
		"flow to one token, maps what every token has from every token in up to 12 layers")
	cmd.Flags().Func("token", "generated token that the views heatmap and compare show first in "+
		"html and the views layers and flow show, "+
		strings.Replace(render.TokenNumbers, "number", "`number`", 1)+"; layers takes several, "+
		"as 0,2 (default "+render.OneToken+"; for layers "+render.SomeTokens+")",
		func(s string) (err error) {
			f.tokens, err = render.ParseTokens(s)
			return err
		})
	cmd.Flags().Func("source", "prompt token that --view flow begins at, by its `number` from 0 "+
		"(default the one with the largest flow that is not the first)", func(s string) error {
		f.source = new(int)
		return setWhole(f.source, s, 0, maxIndex)
	})
}

// checkPalette refuses an unknown palette, and one for what has none. Saved figures have it too.
func (f *explainFlags) checkPalette() error {
	if f.palette == "" {
		return nil
	}
	if f.format != "html" && len(f.save.paths) == 0 {
		return usagef("--palette is for html and for saved figures: text and json have no palette")
	}
	f.save.show.Look.Palette = f.palette
	return oneOf("palette", f.palette, render.PaletteNames()...)
}

// withoutHeatmap are the views that show no heatmap of the prompt.
var withoutHeatmap = []string{viewHeads, viewLayers, viewFlow, viewMaps}

// unused are the options that change nothing in some views. saved says that they change numbers
// that --save writes, so they stay with it.
var unused = []struct {
	flag  string
	views []string
	why   string
	saved bool
}{
	{"color", withoutHeatmap, "its text has no colours", false},
	{"top", withoutHeatmap, "it says itself what is strongest", false},
	{"alternatives", withoutHeatmap, "it shows no other tokens", true},
	{"foils", []string{viewHeads}, "it shows attention as it is", true},
	{"all-layers", []string{viewLayers, viewMaps}, "it has all layers anyway", true},
	{"all-levels", []string{viewCompare, viewMaps}, "a layer after @ asks for it", true},
	{"own-row", []string{viewMaps}, "it has the rows of all tokens", true},
	{"measured-residual", []string{viewMaps}, "its maps have no such residual", false},
}

// checkUnused refuses options that change nothing in the view.
func (f *explainFlags) checkUnused(cmd *cobra.Command) error {
	for _, u := range unused {
		if slices.Contains(u.views, f.view) && cmd.Flags().Changed(u.flag) &&
			!(u.saved && len(f.save.paths) > 0) {
			return usagef("--%s does nothing for --view %s: %s", u.flag, f.view, u.why)
		}
	}
	return nil
}

// checkView refuses a comparison without two sides.
func (f *explainFlags) checkView() error {
	switch {
	case f.against != "" && f.againstModel != "":
		return usagef("--against compares two prompts and --against-model two models; give one")
	case f.compares() && f.view != viewCompare:
		return usagef("%s; it does not go with --view %s", f.comparison(), f.view)
	case !f.compares() && f.view == viewCompare && len(f.opts.Methods) != 0 &&
		len(f.opts.Methods) != 2: // without any, the two default ones
		return usagef("--view compare compares two methods, for example --methods " +
			"direct,rollout, or two layers of one, direct@2,direct@5; or give another " +
			"prompt by --against, or another model by --against-model")
	case f.layered() && f.view != viewCompare && f.view != viewMaps:
		return usagef("--methods: layers after @ are for the views %s and %s", viewCompare,
			viewMaps)
	case f.source != nil && f.view != viewFlow:
		return usagef("--source is for --view %s", viewFlow)
	case len(f.tokens) > 1 && f.view != viewLayers:
		return usagef("--token with several numbers is for --view %s", viewLayers)
	case len(f.tokens) > 0 && (f.view == viewHeads || f.view == viewMaps):
		return usagef("--token is for the views %s, %s, %s and %s; --view %s shows all tokens",
			viewHeatmap, viewCompare, viewLayers, viewFlow, f.view)
	case len(f.tokens) > 0 && f.view != viewFlow && f.view != viewLayers && f.format != "html":
		return usagef("--token is for --format html and for the views %s and %s; a text has all "+
			"tokens", viewLayers, viewFlow)
	case f.view == viewMaps:
		return f.checkMaps()
	case f.layered():
		return f.askLayers()
	case f.view == viewLayers:
		f.opts.AllLayers = true
		return nil
	case !f.traced():
		return nil
	case f.view == viewFlow && (len(f.opts.Methods) > 0 &&
		!slices.Equal(f.opts.Methods, []string{"flow"}) || f.opts.Lift || f.groups() ||
		f.filter):
		return usagef("--view flow shows a graph as it is, without --lift, --by, --target, " +
			"--filter and other --methods than flow")
	case f.view == viewHeads && (len(f.opts.Methods) > 0 || f.groups() || f.filter):
		return usagef("--view heads shows attention as it is, without --methods, --by, --target " +
			"and --filter")
	}
	f.opts.Methods = []string{"raw"}
	if f.view == viewFlow {
		f.opts.Methods = []string{"flow"}
	}
	return nil
}

// checkMaps refuses what maps do not show, and sets their method.
func (f *explainFlags) checkMaps() error {
	switch {
	case len(f.opts.Methods) > 1:
		return usagef("--view %s shows one method; name one, for example --methods rollout",
			viewMaps)
	case f.groups() || f.filter:
		return usagef("--view %s shows every token, without --by, --target and --filter", viewMaps)
	case len(f.opts.Methods) == 0:
		f.opts.Methods = []string{"value-zeroing"}
	}
	_, err := attribution.MapTap(f.opts.Methods[0])
	return err
}

// figureOfView is what a figure shows for each view, if nothing else is asked for.
var figureOfView = map[string]export.Kind{
	viewCompare: export.Compare, viewHeads: export.Heads, viewLayers: export.Layers,
	viewFlow: export.Graph, viewMaps: export.Maps,
}

// checkSaved sets what saved files show, and refuses those that would not show what the flags ask
// for. A figure and a page show what the view shows, unless --figure names a kind. Other files have
// numbers alone.
func (f *explainFlags) checkSaved() error {
	show := &f.save.show
	if err := f.save.checkNames(); err != nil {
		return err
	}
	if f.filter {
		show.Filter = attribution.DefaultFilter()
	}
	view := f.viewShow()
	if show.Kind == "" && f.view != viewHeatmap {
		f.save.asView, show.Kind = true, view.Kind
		show.Source = cmp.Or(show.Source, view.Source)
		show.Layer = cmp.Or(show.Layer, view.Layer)
		if show.Token == nil && show.Tokens == nil && f.view != viewCompare {
			show.Token, show.Tokens = view.Token, view.Tokens
		}
	}
	if f.view == viewCompare && f.layered() && show.Kind == export.Compare {
		if show.Method != "" {
			return usagef("--figure-method: --methods names both sides of the comparison with " +
				"their layers; leave it out")
		}
		show.Method, show.AgainstMethod = view.Method, view.AgainstMethod
	}
	if show.Layer != nil && show.Kind != export.Head && !show.NeedsMap(export.SVG) {
		f.opts.AllLayers = true // the layer that is shown must be there
	}
	if err := f.save.checkHead(); err != nil {
		return err
	}
	for _, path := range f.save.paths {
		format, err := export.FormatOf(path)
		if err != nil {
			return err
		}
		if err := show.CheckFor(format); err != nil {
			return fmt.Errorf("--save %s: %w", path, err)
		}
		switch {
		case f.compares() && show.Kind != export.Compare && format.Picture():
			return usagef("--save %s: %s; it does not go with --figure %s, which shows one: "+
				"leave --figure out for the comparison", path, f.comparison(), show.Kind)
		case show.AsModel(format) && (f.groups() || f.filter):
			return usagef("--save %s shows the tokens of the model as they are, without --by, "+
				"--target and --filter", path)
		case show.Compares(format) && !f.compares() && show.AgainstMethod == "" &&
			len(flowMethods(f.opts)) == 1:
			return usagef("--save %s compares two methods, and --methods has %s alone; name two, "+
				"or give another prompt by --against, or another model by --against-model", path,
				f.opts.Methods[0])
		case len(f.tokens) > 0 && format == export.HTML && show.Token == nil &&
			show.Tokens == nil && !(f.format == "html" && f.output != ""):
			return usagef("--token is for -o; --figure-token says which token --save %s shows "+
				"first", path)
		}
	}
	return nil
}

// viewShow returns what the view shows, as the flags say.
func (f *explainFlags) viewShow() export.Show {
	show := export.Show{Kind: figureOfView[f.view], Source: f.source}
	show.Look.Palette = f.palette
	if f.filter {
		show.Filter = attribution.DefaultFilter()
	}
	if show.Tokens = f.tokens; len(f.tokens) == 1 {
		show.Token, show.Tokens = &f.tokens[0], nil
	}
	switch {
	case f.view == viewMaps && f.layered():
		show.Layer = f.sides[0].Layer
	case f.view == viewCompare && f.layered():
		show.Method = f.sides[0].String()
		show.AgainstMethod = f.sides[min(1, len(f.sides)-1)].String()
	}
	return show
}

// pageShow returns what a page of -o shows: the view, and the tokens that it shows by default.
func (f *explainFlags) pageShow(e *attribution.Explanation) export.Show {
	return (&saveFlags{show: f.viewShow(), asView: true}).showOf(e)
}

// writePage writes what a view shows as a page, with its origin, as --save does.
func (p *program) writePage(
	ctx context.Context, w io.Writer, m any, f explainFlags, e *attribution.Explanation,
	against *export.Against, made export.Made,
) error {
	o := export.Options{Show: f.pageShow(e), Made: made, Against: against}
	if err := addRecorded(ctx, &o, export.HTML, m, e); err != nil {
		return err
	}
	page, _, err := export.Encode(e, export.HTML, o)
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

// groups reports whether tokens are grouped.
func (f *explainFlags) groups() bool { return f.opts.By != "" || f.opts.Target != "" }

// compares reports whether there is another prompt or model to compare with.
func (f *explainFlags) compares() bool { return f.against != "" || f.againstModel != "" }

// comparison says what --against or --against-model compares.
func (f *explainFlags) comparison() string {
	if f.againstModel != "" {
		return "--against-model compares two models"
	}
	return "--against compares two prompts"
}

// traced reports whether the view shows tensors, which are recorded once more.
func (f *explainFlags) traced() bool {
	return f.view == viewHeads || f.view == viewFlow || f.view == viewMaps
}

// checkTokens returns an error if the explanation lacks a token or the method that is to be shown
// or saved.
func (f *explainFlags) checkTokens(e *attribution.Explanation) error {
	if err := f.save.checkMethod(e.Order); err != nil {
		return err
	}
	for _, shown := range []struct {
		flag, what string
		numbers    []int
		have       int
	}{
		{"token", madeTokens(e), f.tokens, len(e.Steps)},
		{"source", "prompt tokens", listed(f.source), len(e.Prompt.Texts)},
		{"figure-token", madeTokens(e), f.save.tokens(), len(e.Steps)},
		{"figure-source", "prompt tokens", f.save.sources(), len(e.Prompt.Texts)},
	} {
		for _, n := range shown.numbers {
			if n >= shown.have {
				return usagef("--%s %d; %s", shown.flag, n, numbersOf(shown.what, shown.have))
			}
		}
	}
	return nil
}

// madeTokens names what a model made.
func madeTokens(e *attribution.Explanation) string {
	if e.Model.Reads() {
		return "predictions"
	}
	return "generated tokens"
}

// numbersOf says which numbers things have that count from 0; what is their name.
func numbersOf(what string, n int) string {
	switch n {
	case 0:
		return "there are no " + what
	case 1:
		return "the only one of the " + what + " is 0"
	}
	return fmt.Sprintf("the %s are 0 to %d", what, n-1)
}

// listed returns a list of the number, empty if there is none.
func listed(n *int) []int {
	if n == nil {
		return nil
	}
	return []int{*n}
}

// heatmap returns the picture of an explanation; other is that of --against or
// --against-model, or nil.
func (f *explainFlags) heatmap(e, other *attribution.Explanation) (render.Heatmap, error) {
	h := render.Heatmap{Explanation: e}
	interrupted := f.compares() && other == nil
	if f.view == viewCompare && !interrupted {
		a, b := render.Side{Explanation: e}, render.Side{Explanation: e}
		switch {
		case f.layered():
			a, b = f.sides[0], f.sides[min(1, len(f.sides)-1)]
			a.Explanation, b.Explanation = e, cmp.Or(other, e)
		case other != nil:
			b.Explanation = other
		case len(e.Order) > 1:
			b.Method = e.Order[1]
		}
		var err error
		if h, err = render.Compare(a, b); err != nil {
			return h, err
		}
	}
	h.Palette = f.palette
	if len(f.tokens) > 0 {
		h.Token = &f.tokens[0]
	}
	if f.filter {
		h.Filter = attribution.DefaultFilter()
	}
	return h, nil
}

// showTraced writes as text what the attention heads of a model look at in a text, the graph of
// flow, or what every token has from every token. m is the model, or has what was recorded of it.
func (p *program) showTraced(
	ctx context.Context, w io.Writer, m any, f explainFlags, e *attribution.Explanation,
) (err error) {
	show, width := f.pageShow(e), p.width(f)
	o := export.Options{Show: show, Made: export.Made{Options: f.opts}}
	if err := addRecorded(ctx, &o, export.HTML, m, e); err != nil {
		return err
	}
	var text interface {
		io.WriterTo
		Check() error
	}
	switch f.view {
	case viewFlow:
		flow := render.Flow{Explanation: e, Graph: o.Flow, Token: *show.Token}
		text = render.FlowText{Flow: flow, Width: width}
	case viewMaps:
		maps := render.Maps{
			Explanation: e, Method: f.opts.Methods[0], Map: o.Map, Layer: show.Layer,
		}
		text = render.MapsText{Maps: maps, Width: width}
	default:
		heads := render.Heads{Explanation: e, Attention: *o.Attention}
		text = render.HeadsText{Heads: heads, Width: width}
	}
	if err := text.Check(); err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}

// showLayers writes some tokens layer by layer.
func (p *program) showLayers(w io.Writer, f explainFlags, e *attribution.Explanation) error {
	l := render.Layers{Tokens: f.tokens}
	var err error
	if l.Heatmap, err = f.heatmap(e, nil); err != nil {
		return err
	}
	if err := l.Check(); err != nil {
		return err
	}
	var text io.WriterTo = render.LayersText{Layers: l, Width: p.width(f)}
	if f.format == "html" {
		text = render.LayersPage{Layers: l}
	}
	_, err = text.WriteTo(w)
	return err
}

// width returns the columns of a text: those of the flag, or of the terminal if it goes there.
func (p *program) width(f explainFlags) int {
	if f.width == 0 && (f.output == "" || f.output == "-") {
		return columns(p.stdout)
	}
	return f.width
}

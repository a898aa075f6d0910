package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
)

// methodsFlag adds --methods of a command with views, which sets them in o. A method may end with
// the layer that --view compare shows of it, as direct@5.
func (f *explainFlags) methodsFlag(
	cmd *cobra.Command, o *attribution.Options, byDefault string,
) {
	row := attribution.LookupOption("methods")
	usage := row.Usage() + "; see headwater methods" + byDefault + "; for the view compare also " +
		"a method and a layer, as direct@5"
	cmd.Flags().Func(row.Flag, usage, func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			side, err := compare.ParseSide(strings.TrimSpace(name))
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
	return slices.ContainsFunc(f.sides, func(s compare.Side) bool { return s.Layer != nil })
}

// askLayers asks for what the sides show: each method once, and every layer of those of which only
// one would be computed.
func (f *explainFlags) askLayers() error {
	f.show.Method = f.sides[0].String()
	f.show.AgainstMethod = f.sides[min(1, len(f.sides)-1)].String()
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
	flags := cmd.Flags()
	names := strings.Join(message.Names(render.Kinds()), "|")
	flags.StringVar((*string)(&f.show.Kind), "view", string(render.KindHeatmap),
		"`"+names+"`: what pictures show; "+viewHelp())
	flags.Func("token", "generated token of the views "+
		message.List(message.Names(render.KindsTaking("token")))+": the one that they show first, "+
		"frame or are about, and of which lens shows every position of the text, "+
		strings.Replace(render.TokenNumbers, "number", "`number`", 1)+"; "+
		message.List(message.Names(render.KindsTaking("tokens")))+" takes several, as 0,2 "+
		"(default "+render.OneToken+"; for layers "+render.SomeTokens+"; for text all)",
		f.show.SetTokens)
	number := func(name, usage string, to **int) {
		flags.Func(name, usage, func(s string) error {
			*to = new(int)
			return cli.SetWhole(*to, s, 0, cli.MaxIndex)
		})
	}
	number("source", "prompt token at which the graph of flow begins, by its `number` from 0 "+
		"(default the one with the largest flow that is not the first)", &f.show.Source)
	number("layer", "layer whose values are shown, by its `number` from 0, and for head and map "+
		"theirs (default for each token the one that pictures show)", &f.show.Layer)
	number("head", "attention head that the view head shows, by its `number` from 0, with --layer "+
		"(default the one that the view heads opens)", &f.show.Head)
	flags.StringVar((*string)(&f.show.Size), "size", "",
		"width of a figure: `"+strings.Join(message.Names(render.Sizes()), "|")+
			"`")
	flags.Lookup("size").DefValue = string(render.Double)
	flags.Func("font", fmt.Sprintf("`points` of text in a figure, from %d to %d (default 7, 8 or "+
		"18, by size)", render.MinFont, render.MaxFont), func(s string) (err error) {
		x, err := strconv.ParseFloat(s, 64)
		f.show.Font = x
		if err != nil || x == 0 || (render.Look{Font: x}).Check() != nil {
			return fmt.Errorf("want a number from %d to %d", render.MinFont, render.MaxFont)
		}
		return nil
	})
	flags.StringVar(&f.show.Palette, "palette", "", "colours of pages and figures: `"+
		strings.Join(render.PaletteNames(), "|")+"`")
	flags.Lookup("palette").DefValue = render.PaletteNames()[0]
	flags.StringVar(&f.show.Caption, "caption", "", "`text` in place of the line with the model "+
		"and the layers below the title of a figure and above a page, and a line of its own in "+
		"text; "+render.NoCaption+" leaves that line out")
	flags.BoolVar(&f.show.Sinks, "sinks", false, "draw the edges to sinks too in the graph of flow")
	flags.BoolVar(&f.show.Alignment, "alignment", false, "of a model of two stacks, draw which "+
		"token of the source has the largest value for each token of the target: lines in a page, "+
		"frames in a figure, a list in text")
	flags.StringVar(&f.color, "color", "auto", "colours in text: `auto|always|never`")
	cli.WholeFlag(flags, &f.width, "width", 60, 10000, "`columns` of text",
		"those of the terminal, else 100")
}

// The forms of a result, as far as flags tell them apart.
const (
	texts    = "text"
	pages    = "html"
	drawings = "svg, pdf, png, tex"
	tables   = "tables"           // with JSON and the format of Inseq
	graphs   = "neuronpedia.json" // a graph of flow
)

// formOf returns the form of a format.
func formOf(format export.Format) string {
	switch {
	case format == export.Text:
		return texts
	case format == export.HTML:
		return pages
	case format.Figure():
		return drawings
	case format == export.Neuronpedia:
		return graphs
	}
	return tables
}

var pictures = []string{texts, pages, drawings}

// viewHelp tells what each view shows.
func viewHelp() string {
	var all []string
	for _, kind := range render.Kinds() {
		if v := (render.Show{Kind: kind}).View(); v.Help != "" {
			all = append(all, string(kind)+" "+v.Help)
		}
	}
	return strings.Join(all, ", ")
}

// meaning is where a flag means something: in some forms of some views; no views are all of them.
type meaning struct {
	forms []string
	views []render.Kind
}

// flagMeanings say where flags mean something whatever the view, beside the media in which views
// take them; see [render.View]. Flags without any always do.
var flagMeanings = []struct {
	flag  string
	forms []string
}{
	{"view", pictures},
	{"token", []string{graphs}},
	{"source", []string{graphs}},
	{"layer", []string{tables}},
	{"sinks", nil},
	{"alignment", nil},
	{"caption", pictures},
	{"head", nil},
	{"against", nil},
	{"against-model", nil},
	{"filter", nil},
	{"palette", []string{pages, drawings}},
	{"size", []string{drawings}},
	{"font", []string{drawings}},
	{"color", nil},
	{"width", []string{texts}},
	{"top", nil},
	{"full", nil},
	{"by", nil},
	{"target", nil},
	{"methods", []string{tables, graphs}},
	{"lift", []string{tables, graphs}},
	{"lens", []string{tables}},
	{"patch", []string{tables}},
	{"head-kinds", []string{tables}},
	{"alternatives", []string{tables, graphs}},
	{"all-layers", []string{tables, graphs}},
	{"all-levels", []string{tables, graphs}},
	{"prove", []string{tables, graphs}},
	{"without", []string{tables}},
	{"prompt-scores", []string{tables}},
}

// meaningsOf returns where a flag means something: views with the same forms together.
func meaningsOf(flag string) (all []meaning) {
	for _, kind := range render.Kinds() {
		var forms []string
		for i, form := range []string{texts, pages, drawings, tables, graphs} {
			medium := min(render.InText<<i, render.InNumbers)
			if (render.Show{Kind: kind}).View().Takes[flag]&medium != 0 {
				forms = append(forms, form)
			}
		}
		at := slices.IndexFunc(all, func(m meaning) bool { return slices.Equal(m.forms, forms) })
		switch {
		case forms == nil:
		case at < 0:
			all = append(all, meaning{forms, []render.Kind{kind}})
		default:
			all[at].views = append(all[at].views, kind)
		}
	}
	for _, row := range flagMeanings {
		if row.flag == flag && row.forms != nil {
			all = append(all, meaning{forms: row.forms})
		}
	}
	return all
}

// shownAlways tells why some flags mean nothing for some views.
var shownAlways = map[string]string{
	"layer": "the views layers, flow, heads, lens and patch show every layer, and --view head, " +
		"with --layer and --head, shows one head in a figure",
	"methods": "heads and head show attention as the model computed it, whatever the method",
}

// checkMeanings refuses a flag that means nothing for any output.
func (f *explainFlags) checkMeanings(cmd *cobra.Command) error {
	for _, row := range flagMeanings {
		setting := attribution.LookupOption(row.flag)
		given := setting.Key != "" && setting.Given(&f.opts) || cli.Given(cmd, row.flag)
		if row.flag == "against" {
			given = f.against != "" // and is not the prompt of patching, which is an option
		}
		if !given || f.means(row.flag) {
			continue
		}
		flag := row.flag
		if setting.Key != "" {
			flag = "set " + setting.Key
		}
		err := fmt.Sprintf("--%s does nothing here (%s of the view %s): it is for %s", flag,
			strings.Join(message.Names(f.formats), ", "), f.show.Kind, f.usedFor(row.flag))
		if why := shownAlways[row.flag]; why != "" {
			err += "; " + why
		}
		return cli.Usagef("%s", err)
	}
	return nil
}

// means reports whether a flag means something for an output.
func (f *explainFlags) means(flag string) bool {
	return slices.ContainsFunc(meaningsOf(flag), func(m meaning) bool {
		return (m.views == nil || slices.Contains(m.views, f.show.Kind)) && f.has(m.forms)
	})
}

// has reports whether an output has one of some forms.
func (f *explainFlags) has(forms []string) bool {
	return f.any(func(format export.Format) bool { return slices.Contains(forms, formOf(format)) })
}

// usedFor tells what to type for a flag that means nothing here: a form in which it does of this
// view, and views of which it does in this form; without either, where it does at all.
func (f *explainFlags) usedFor(flag string) string {
	var forms, views, all []string
	for _, row := range meaningsOf(flag) {
		switch {
		case row.views == nil || slices.Contains(row.views, f.show.Kind):
			forms = append(forms, row.forms...)
		case f.has(row.forms):
			views = append(views, message.Names(row.views)...)
		default:
			all = append(all, strings.Join(row.forms, ", ")+" of --view "+
				strings.Join(message.Names(row.views), ", "))
		}
	}
	once := func(list []string) string { // in their order
		var names []string
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, ", ")
	}
	var parts []string
	if forms != nil {
		files := strings.NewReplacer(texts, "txt", tables, "json").Replace(once(forms))
		parts = append(parts, "-o a."+strings.ReplaceAll(files, ", ", ", a."))
	}
	if views != nil {
		parts = append(parts, "--view "+once(views))
	}
	if parts == nil {
		parts = all
	}
	return strings.Join(parts, ", or for ")
}

// checkView refuses what a view cannot show, and sets the options that it needs.
func (f *explainFlags) checkView() error {
	if err := f.show.SetMethod(&f.opts); err != nil {
		return err
	}
	switch {
	case f.against != "" && f.againstModel != "":
		return cli.Usagef("--against compares two prompts and --against-model two models; give one")
	case f.show.View().Compares && !f.compares() && len(f.opts.Methods) != 0 &&
		len(f.opts.Methods) != 2: // without any, the two default ones
		return cli.Usagef("--view compare compares two methods, for example --methods " +
			"direct,rollout, or two layers of one, direct@2,direct@5; or give another " +
			"prompt by --against, or another model by --against-model")
	case f.layered() && !f.show.View().Compares:
		return cli.Usagef("--methods: layers after @ are for the view %s; --layer is for the "+
			"others", render.KindCompare)
	case f.layered():
		return f.askLayers()
	case f.show.View().Record != nil: // all layers are there, whichever are explained
	case f.show.View().Takes["tokens"] != 0 || f.show.Layer != nil:
		f.opts.AllLayers = true // the layers that are shown must be there
	}
	return nil
}

// showOf returns what pictures of an explanation show.
func (f *explainFlags) showOf(e *attribution.Explanation) render.Show {
	show := f.show
	if show.Kind == render.KindHeatmap {
		show.Kind = ""
	}
	return show.Opened(e)
}

// groups reports whether tokens are grouped.
func (f *explainFlags) groups() bool { return f.opts.By != "" || f.opts.Target != "" }

// compares reports whether there is another prompt or model to compare with.
func (f *explainFlags) compares() bool { return f.against != "" || f.againstModel != "" }

// fits returns a usage error if a model does not have the layers or the head that the flags name.
func (f *explainFlags) fits(info trace.Info) error {
	if r := f.show.View().Record; r != nil && r.Check != nil {
		if err := r.Check(info, 0); err != nil {
			return err
		}
	}
	if f.show.Alignment && info.EncoderLayers == 0 {
		return cli.Usagef("--alignment links a target with its source, and %.60q has one stack: "+
			"leave it out", info.Name)
	}
	for _, s := range f.sides {
		if s.Layer != nil && *s.Layer >= info.Layers {
			return cli.Usagef("--methods %s; %.60q has layers 0 to %d", s, info.Name, info.Layers-1)
		}
	}
	for _, number := range []struct {
		flag, what string
		at         *int
		have       int
	}{
		{"layer", "layers", f.show.Layer, info.Layers},
		{"head", "heads", f.show.Head, info.Heads},
	} {
		if number.at != nil && *number.at >= number.have {
			return cli.Usagef("--%s %d; %.60q has %s 0 to %d", number.flag, *number.at, info.Name,
				number.what, number.have-1)
		}
	}
	return nil
}

// checkTokens returns an error if the explanation lacks a token that is to be shown.
func (f *explainFlags) checkTokens(e *attribution.Explanation) error {
	if _, err := f.show.AtWord(e); err != nil {
		return fmt.Errorf("--token: %w", err)
	}
	for _, shown := range []struct {
		flag, what string
		numbers    []int
		have       int
	}{
		{"token", madeTokens(e), append(listed(f.show.Token), f.show.Tokens...), len(e.Steps)},
		{"source", "prompt tokens", listed(f.show.Source), len(e.Prompt.Texts)},
	} {
		for _, n := range shown.numbers {
			if n >= shown.have {
				return cli.Usagef("--%s %d; %s", shown.flag, n, numbersOf(shown.what, shown.have))
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

// numbersOf returns the numbers of things that count from 0; what is their name.
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

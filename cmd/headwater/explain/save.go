package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// outputFlags are the files that results are written to, and the form of those whose names say
// none.
type outputFlags struct {
	paths   []string        // standard output is ""
	formats []export.Format // of each path
	format  string
	open    bool
}

// add adds the flags.
func (f *outputFlags) add(cmd *cobra.Command, more string) {
	cmd.Flags().VarP((*outputPaths)(f), "output", "o", "write to `FILE` in the form that its name "+
		"ends with: "+strings.Join(export.Endings(export.Text), " ")+"; repeatable; - is "+
		"standard output. A file appears when it is complete"+more)
	cmd.Flags().StringVar(&f.format, "format", "", "form on standard output and of files whose "+
		"names say none: `text|html|json` (default text)")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the files when they are written, as a click "+
		"on them does")
}

// outputPaths is the value of --output, which may be given several times.
type outputPaths outputFlags

// Set implements pflag.Value.
func (f *outputPaths) Set(path string) error {
	if path == "-" {
		path = ""
	}
	if slices.ContainsFunc(f.paths, func(other string) bool {
		return filepath.Clean(other) == filepath.Clean(path)
	}) {
		return errors.New("it is given twice")
	}
	f.paths = append(f.paths, path)
	return nil
}

// String implements pflag.Value.
func (f *outputPaths) String() string { return strings.Join(f.paths, ",") }

// Type implements pflag.Value.
func (f *outputPaths) Type() string { return "FILE" }

// check sets the formats. A name without an ending has the form of --format; one with an unknown
// ending is refused without --format.
func (f *outputFlags) check() error {
	if len(f.paths) == 0 {
		f.paths = []string{""}
	}
	err := cli.OneOf("format", cmp.Or(f.format, "text"), "text", "html", "json")
	if err != nil && slices.Contains(export.Formats(), export.Format(f.format)) {
		err = cli.Usagef("%v; for a file of this form give -o FILE.%s", err, f.format)
	}
	if err != nil {
		return err
	}
	for _, path := range f.paths {
		format, err := formatOf(path)
		if format == "" && f.format != "" {
			format, err = export.Format(f.format), nil
		}
		if err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		f.formats = append(f.formats, cmp.Or(format, export.Text))
	}
	if f.open && !slices.ContainsFunc(f.paths, func(path string) bool { return path != "" }) {
		return cli.Usagef("--open opens a file; name one by -o, such as -o page.html")
	}
	if f.format != "" && f.format != "text" &&
		!slices.Contains(f.formats, export.Format(f.format)) {
		return cli.Usagef("--format %s does nothing: the name of every file says another form",
			f.format)
	}
	return nil
}

// formatOf returns the format that the end of a file's name means, "" if it has none.
func formatOf(path string) (export.Format, error) {
	if filepath.Ext(path) == "" {
		return "", nil
	}
	return export.FormatOf(path, export.Text)
}

// any reports whether a format of the outputs is one that is asked for.
func (f *outputFlags) any(is func(export.Format) bool) bool {
	return slices.ContainsFunc(f.formats, is)
}

// checkFiles refuses files that cannot show what the flags ask for, as far as that is known before
// a model is open. addsFlow says that flow joins the default methods where a file needs it.
func (f *explainFlags) checkFiles(addsFlow bool) error {
	for i, format := range f.formats {
		name := cmp.Or(f.paths[i], "standard output")
		if err := export.CheckFor(f.show, format); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch needs := export.Needs(f.show, format); {
		case needs != nil && (f.groups() || f.show.Filter != nil):
			return cli.Usagef("%s shows the tokens of the model as they are, without --by, "+
				"--target and --filter", name)
		case needs == render.FlowRecord && (len(f.opts.Methods) > 0 || !addsFlow) &&
			!slices.Contains(namedMethods(f.opts), "flow"):
			return cli.Usagef("%s needs the graph of flow: name flow in --methods", name)
		}
	}
	return nil
}

// addFlow adds flow to the default methods of a model if a file needs it and no method is named.
func (f *explainFlags) addFlow(info trace.Info) {
	if len(f.opts.Methods) == 0 && slices.Contains(f.formats, export.Neuronpedia) {
		f.opts.Methods = append(attribution.DefaultMethods(info), "flow")
	}
}

// namedMethods returns the methods that the options name, with those of classic.
func namedMethods(opts attribution.Options) []string {
	var all []string
	for _, name := range opts.Methods {
		if name == attribution.Classic {
			all = append(all, "rollout", "flow", "value-zeroing")
		}
		all = append(all, name)
	}
	return all
}

// createOutputs creates the outputs, before the work begins, so that one that cannot be written
// costs nothing. All of them appear when all are complete.
func createOutputs(ctx context.Context, k *cli.Kit, f outputFlags) (outputSet, error) {
	var all outputSet
	for _, path := range f.paths {
		out, err := k.Create(ctx, path)
		if err != nil {
			all.abandon()
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// outputSet has the outputs of one explanation.
type outputSet []*cli.Output

// abandon removes what is unfinished.
func (r outputSet) abandon() {
	for _, out := range r {
		out.Abandon()
	}
}

// finish ends all of them as [cli.Output.Finish] does one, and opens the files if the flags say so.
func (r outputSet) finish(f outputFlags, err error) error {
	for _, out := range r {
		err = out.Finish(err)
	}
	if err == nil && f.open {
		return cli.OpenFiles(f.paths)
	}
	return err
}

// writeExplanation writes an explanation in every form. against is side B of a comparison, or nil.
// m is the model, or has what was recorded of it. stopped says that the explanation was cut short:
// it then goes to the texts, pages and JSON alone, without its origin.
func writeExplanation(
	ctx context.Context, k *cli.Kit, to outputSet, f *explainFlags, m any,
	e *attribution.Explanation, against *export.Against, made export.Made, stopped bool,
) error {
	o := export.Options{Show: f.showOf(e), Made: made, Against: against}
	if stopped {
		o.Show = render.Show{Filter: o.Filter, Palette: o.Palette, Caption: o.Caption}
	}
	for i, out := range to {
		path, format := f.paths[i], f.formats[i]
		var data []byte
		var notes []string
		var err error
		if !stopped {
			err = addRecorded(ctx, &o, format, m, e)
		}
		switch {
		case err != nil:
		case format == export.Text:
			err = writeText(k, out, f, path, e, o)
		case format == export.JSON && (path == "" || stopped):
			err = cli.WriteJSON(out, export.Document(e))
		case stopped && format == export.HTML:
			h := render.Heatmap{Explanation: e, Filter: o.Filter, Look: o.Look()}
			err = render.Page(out, h)
		case stopped:
			continue
		default:
			if data, notes, err = export.Encode(e, format, o); err == nil {
				_, err = out.Write(data)
			}
		}
		if against != nil && !stopped && !export.Compares(o.Show, format) {
			notes = append(notes, "it has the numbers of side A alone; explain B by itself to "+
				"save those of B")
		}
		if err != nil {
			return err
		}
		out.What, out.Size = o.Describe(e, format)
		named := len(f.sides) > 0 && len(e.Order) > 1
		if named && !stopped && export.OfOneMethod(o.Show, format) {
			notes = append(notes, fmt.Sprintf("it has the %s alone; to draw another of %s, name "+
				"it first in --methods", out.What, message.List(e.Order)))
		}
		for _, n := range notes {
			k.Say("note: %s: %s", cmp.Or(filepath.Base(path), "standard output"), n)
		}
		if stopped {
			if err := out.Keep(e.Made()); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeText writes the text of a picture.
func writeText(k *cli.Kit,
	out *cli.Output, f *explainFlags, path string, e *attribution.Explanation, o export.Options,
) error {
	look := render.Terminal{Width: f.width, Color: f.color == "always"}
	if path == "" {
		look.Color = cli.Colored(f.color, k.Stdout)
		look.Width = cmp.Or(f.width, cli.Columns(k.Stdout))
	}
	if f.full {
		f.top = -1
	}
	return o.Text(out, e, look, f.top)
}

// addRecorded adds what a file needs that is recorded of a model, unless it is there.
func addRecorded(
	ctx context.Context, o *export.Options, format export.Format, m any,
	e *attribution.Explanation,
) error {
	needs := export.Needs(o.Show, format)
	if needs != nil && e.Grouped() {
		return cli.Usagef("%s shows tokens as the model has them, and this explanation has groups "+
			"of them: explain the prompt without By and Target", format.Shown(o.Show).Kind)
	}
	if needs == nil || o.Recorded[needs.Name] != nil {
		return nil
	}
	show := format.Shown(o.Show)
	if r, ok := m.(recording); ok && show.View().Methods == 1 { // the maps of a file are there
		method, err := show.View().Chosen(show, e.Order)
		o.Recorded = render.Recorded{needs.Name: r.maps[method]}
		return err
	}
	tracer, ok := m.(trace.Tracer)
	if !ok {
		return errors.New("this model cannot record its attention")
	}
	more, err := show.Record(ctx, tracer, e, o.Made.Options)
	if o.Recorded == nil {
		o.Recorded = render.Recorded{}
	}
	maps.Copy(o.Recorded, more)
	return err
}

// made says how an explanation of this command is made.
func (f *explainFlags) made(m trace.Model, prompt string) export.Made {
	dtype := ""
	if model, ok := m.(*models.Model); ok {
		dtype = model.DType()
	}
	return export.NewMade(prompt, f.opts, units.Grouping{}, dtype, cli.Release())
}

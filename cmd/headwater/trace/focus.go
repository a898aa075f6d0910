package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/focus"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// focusFlags are the flags of headwater focus.
type focusFlags struct {
	cli.ModelFlags
	opts          attribution.Options // of which texts need Specials
	file, output  string
	inputs        []string
	ask           focusAsk
	layer, head   int
	bidirectional bool
	json          bool
}

func focusCommand(k *cli.Kit) *cobra.Command {
	f := focusFlags{layer: -1}
	cmd := &cobra.Command{
		Use:   "focus [flags] TEXT... | --file FILE | --input FILE",
		Short: "say what heads look at and how they change the residual stream",
		Long: "Focus computes the quantities of the ten figures of Attention Focus Plots (Rene " +
			"Claus).\n" +
			"Always: which heads look at the token itself, at the first token, or at a single " +
			"token (Figures 4-6), as means over the texts.\n" +
			"With --layer: what each of its heads adds to the residual stream (7-9), and what " +
			"the source that it looks at most could add (10).\n" +
			"With --head: also its rows, the three terms of each score, ranks and marked sources " +
			"(1-3).\n" +
			"With --input the tensors of each text come from a safetensors file of any program. " +
			"What can be computed from other tensors\n" +
			"may be missing, and tensors of one head need no axes L and H. The metadata may have " +
			"tokens, a JSON list of the S texts.\n" +
			tensorHelp() + "headwater trace writes such files, but for the output weight.",
		Example: `  headwater focus "the keys to the cabinet" "a dog barks"
  headwater focus --model smollm2 --file texts.txt --layer 14 --head 1 --json -o focus.json
  headwater focus --input terms.safetensors --layer 0 --head 0 --json`,
		Args: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportFocus(cmd.Context(), k, f, args)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.file, "file", "", "take the texts of `FILE`, one a line; - is "+
		"standard input")
	cmd.Flags().StringArrayVarP(&f.inputs, "input", "i", nil, "read the tensors of one text from "+
		"the safetensors `FILE`; may be given several times")
	cli.WholeFlag(cmd.Flags(), &f.layer, "layer", 0, cli.MaxIndex, "show the heads of this "+
		"`LAYER` in detail", "none")
	cmd.Flags().Func("head", "show this `HEAD` of --layer alone, with its rows: a number from 0, "+
		"or together for all heads (default each head, without rows)", func(s string) error {
		f.head = focus.Together
		if s != "together" && cli.SetWhole(&f.head, s, 0, cli.MaxIndex) != nil {
			return fmt.Errorf("want together or a whole number from 0 to %d", cli.MaxIndex)
		}
		f.ask.Head = &f.head
		return nil
	})
	cli.WholeFlag(cmd.Flags(), &f.ask.Ranks, "ranks", 1, cli.MaxTop, "break down the scores of "+
		"the sources of the first `K` ranks of each row", "1")
	cmd.Flags().Func("index", "read updates at `current|target`: the token itself, or the source "+
		"that it looks at most, as in the document's files (default current)",
		func(s string) (err error) {
			f.ask.Index, err = focus.ParseIndex(s)
			return err
		})
	cmd.Flags().BoolVar(&f.ask.ExcludeFirst, "exclude-first", false, "leave out updates of tokens "+
		"that look at the first token most")
	cmd.Flags().BoolVar(&f.FoldNormBias, "fold-norm-bias", false, "count the bias of the norm "+
		"before attention as part of the projections' biases: query-bias has it, content not")
	cmd.Flags().BoolVar(&f.DropKeyBias, "drop-key-bias", false, "leave out the part of scores "+
		"that comes from the bias of the key, which is the same for all sources")
	cmd.Flags().BoolVar(&f.bidirectional, "bidirectional", false, "with --input: targets see "+
		"later sources too; attention says so itself")
	textFlags(cmd, &f.opts)
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// tensorHelp lists the tensors of --input, a few on a line.
func tensorHelp() string {
	var b strings.Builder
	all := focus.Tensors()
	for i, x := range all {
		axes := strings.Join(strings.Split(x.Axes, ""), ",")
		fmt.Fprintf(&b, "  %-14s", x.Name)
		if i%3 < 2 && i+1 < len(all) {
			fmt.Fprintf(&b, " %-12s", "["+axes+"]")
		} else {
			fmt.Fprintf(&b, " [%s]\n", axes)
		}
	}
	return b.String()
}

// check checks what cobra does not.
func (f *focusFlags) check(cmd *cobra.Command, args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, f.file != "", len(f.inputs) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return cli.Usagef("focus needs one of texts, --file and --input; see %s --help",
			cmd.CommandPath())
	}
	if f.layer >= 0 {
		f.ask.Layer = &f.layer
	}
	switch {
	case f.ask.Head != nil && f.ask.Layer == nil:
		return cli.Usagef("--head goes with --layer: say which layer")
	case f.bidirectional && len(f.inputs) == 0:
		return cli.Usagef("--bidirectional goes with --input; a model knows it")
	}
	for _, name := range []string{"index", "exclude-first", "ranks"} {
		if cli.Given(cmd, name) && f.ask.Layer == nil {
			return cli.Usagef("--%s goes with --layer: say which layer", name)
		}
	}
	for _, name := range []string{
		"model", "backend", "dtype", "special", "fold-norm-bias", "drop-key-bias",
	} {
		if cli.Given(cmd, name) && len(f.inputs) > 0 {
			return cli.Usagef("--%s does not go with --input, which needs no model", name)
		}
	}
	for i, text := range args {
		if text == "" {
			return cli.Usagef("text %d is empty; give some text", i+1)
		}
	}
	return nil
}

// focusResult is what headwater focus --json writes.
type focusResult struct {
	Model *trace.Info `json:"model,omitempty"` // nil with --input
	*focusReport
}

// reportFocus computes the quantities and writes them.
func reportFocus(ctx context.Context, k *cli.Kit, f focusFlags, texts []string) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	r := focusResult{focusReport: newFocusReport(f.ask)}
	if len(f.inputs) > 0 {
		err = focusFiles(ctx, k, f, r.focusReport)
	} else {
		r.Model, err = focusModel(ctx, k, f, texts, r.focusReport)
	}
	if err != nil {
		return err
	}
	for _, reason := range r.LeftOut {
		k.Say("note: left out: %s", reason)
	}
	return out.Result(f.json, r, func(w io.Writer) error { return writeFocus(w, r) })
}

// focusFiles adds the texts of files to a report.
func focusFiles(ctx context.Context, k *cli.Kit, f focusFlags, r *focusReport) error {
	limit := models.LimitMemory(f.MaxMemory)
	cli.CollectWithin(limit.Left)
	line := k.Progress()
	defer line.Clear()
	kept := 0.0 // bytes of the results of the files so far
	for i, path := range f.inputs {
		if err := ctx.Err(); err != nil {
			return err
		}
		line.Show("file %d of %d", i+1, len(f.inputs))
		if err := f.addFile(k, r, path, limit, &kept); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds the text of a file to a report, and its bytes to those that results keep.
func (f focusFlags) addFile(
	k *cli.Kit, r *focusReport, path string, limit trace.Memory, kept *float64,
) error {
	file, err := checkpoint.Open(path)
	if err != nil {
		return err // it names the file
	}
	defer file.Close()
	if err := f.addTensors(k, r, file, limit, kept); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (f focusFlags) addTensors(
	k *cli.Kit, r *focusReport, file *checkpoint.File, limit trace.Memory, kept *float64,
) error {
	tensors, wide, err := focusTensors(file, limit, f.ask.Head != nil, kept)
	if err != nil {
		return err
	}
	if err := checkWindow(file); err != nil {
		return err
	}
	tokens, err := cli.TokensOf(file)
	if err != nil {
		return err
	}
	text, err := focus.New(tensors, focus.Options{
		Bidirectional: f.bidirectional, Sinks: cli.HasSinks(file), Float64: wide,
	})
	if err != nil {
		return err
	}
	if text.Sinks && !cli.HasSinks(file) {
		k.Say("note: rows of attention sum to less than 1. %s", trace.SinkRemark)
	}
	return r.add(text, tokens)
}

// rowBytes is what the rows of one head take for each pair of tokens: five float64, the numbers as
// text, up to 20 bytes each, and the buffer that grows while that is written.
const rowBytes = 300

// focusTensors reads the tensors of a file that package focus knows; wide has the numbers of those
// that are float64, by name. withRows says that the rows of a head are kept. It returns a
// [trace.MemoryError] before it reads a number if there is not enough memory.
func focusTensors(
	file *checkpoint.File, limit trace.Memory, withRows bool, kept *float64,
) (tensors []trace.Tensor, wide map[string][]float64, err error) {
	need := 0.0
	pairs := 0.0 // T·S
	wide = map[string][]float64{}
	var known []string
	for _, x := range focus.Tensors() {
		name := x.Name
		known = append(known, name)
		if !file.Has(name) {
			continue
		}
		shape, err := file.Shape(name)
		if err != nil {
			return nil, nil, err
		}
		numbers := 1.0
		for _, size := range shape {
			numbers *= float64(size)
		}
		need += 4 * numbers // float32
		if kind, err := file.DType(name); err == nil && kind == checkpoint.F64 {
			need, wide[name] = need+4*numbers, nil
		}
		if strings.HasSuffix(x.Axes, "TS") && len(shape) > 1 {
			pairs = float64(shape[len(shape)-2]) * float64(shape[len(shape)-1])
		}
		tensors = append(tensors, trace.Tensor{Name: name, Axes: x.Axes, Shape: shape})
	}
	if len(tensors) == 0 {
		return nil, nil, fmt.Errorf("it has no tensor that focus reads; these are %s, and it "+
			"has %s", cli.QuotedNames(known), cli.QuotedNames(file.Names()))
	}
	if withRows {
		*kept += rowBytes * pairs
	}
	need += *kept
	err = limit.Check(need, "focus on its tensors", "give fewer layers or tokens")
	if err != nil {
		return nil, nil, err
	}
	for i := range tensors {
		name := tensors[i].Name
		if _, ok := wide[name]; ok {
			wide[name], err = file.Float64(name)
		} else {
			tensors[i].Data, err = file.Float32(name)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return tensors, wide, nil
}

// checkWindow returns an error if probabilities would have to be computed from scores that
// headwater trace recorded with a window: it writes 0 for sources outside, which are no scores.
func checkWindow(file *checkpoint.File) error {
	n, ok := file.Metadata()[windowKey]
	if !ok || file.Has(string(trace.Attention)) {
		return nil
	}
	return fmt.Errorf("layers of this model see only the last %.20s tokens, and the file does not "+
		"say where terms and scores are 0 because a source is hidden; record attention too "+
		"(headwater trace --taps terms,attention)", n)
}

// focusModel adds texts that a model reads to a report.
func focusModel(
	ctx context.Context, k *cli.Kit, f focusFlags, texts []string, r *focusReport,
) (*trace.Info, error) {
	if f.file != "" {
		var err error
		if texts, err = textsOf(ctx, k, f.file); err != nil {
			return nil, err
		}
	}
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return nil, err
	}
	if err := f.fits(m.Info()); err != nil {
		return nil, err
	}
	var all [][]int
	var tokens [][]string
	for i, text := range texts {
		encoded, err := encode(m, text, f.opts)
		if err != nil {
			return nil, fmt.Errorf("text %d: %w", i+1, err)
		}
		ids, words := make([]int, len(encoded)), make([]string, len(encoded))
		for t, token := range encoded {
			ids[t], words[t] = token.ID, token.Text
		}
		if err := checkIDs(m.Info(), ids); err != nil {
			return nil, fmt.Errorf("text %d: %w", i+1, err)
		}
		all, tokens = append(all, ids), append(tokens, words)
	}
	line := k.Progress()
	defer line.Clear()
	line.Show("text 1 of %d", len(all))
	err = focus.RecordEach(ctx, m, all, func(k int, t *focus.Text) error {
		line.Show("text %d of %d", min(k+2, len(all)), len(all))
		return r.add(t, tokens[k])
	}, f.ask.parts()...)
	if err != nil {
		return nil, err
	}
	info := m.Info()
	return &info, nil
}

// fits returns a usage error for a layer or head that a model does not have, before it runs.
func (f focusFlags) fits(info trace.Info) error {
	if f.layer >= info.Layers {
		return cli.Usagef("--layer %d; %s has %d layers, from 0 to %d", f.layer, info.Name,
			info.Layers, info.Layers-1)
	}
	if f.head >= info.Heads {
		return cli.Usagef("--head %d; %s has %d heads, from 0 to %d", f.head, info.Name, info.Heads,
			info.Heads-1)
	}
	return nil
}

// textsOf reads texts, one a line; empty lines are skipped.
func textsOf(ctx context.Context, k *cli.Kit, path string) (texts []string, err error) {
	input, name, err := k.OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	for l, err := range cli.Lines(input, name) {
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(l.Text)) > 0 {
			texts = append(texts, string(l.Text))
		}
	}
	if len(texts) == 0 {
		return nil, cli.Usagef("%s has no text; give one a line", name)
	}
	return texts, nil
}

// writeFocus writes a report as tables.
func writeFocus(w io.Writer, r focusResult) error {
	var b bytes.Buffer
	tokens := 0
	for _, t := range r.Texts {
		tokens += t.Targets
	}
	fmt.Fprintf(&b, "%s of %s, %s of %s; means over the texts: of all heads, the largest, and its "+
		"head\n\n", message.Count(len(r.Texts), "text"), message.Count(tokens, "token"),
		message.Count(r.Layers, "layer"), message.Count(r.Heads, "head"))
	r.writeLines(&b)
	for _, x := range r.Rows {
		r.writeMarkers(&b, x)
	}
	r.writeUpdates(&b)
	r.writeEffects(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// writeLines writes the quantities of all layers.
func (r focusResult) writeLines(b *bytes.Buffer) {
	b.WriteString("     ")
	for _, f := range r.Lines {
		fmt.Fprintf(b, "  %20s", f.Quantity)
	}
	b.WriteString("\nlayer")
	for range r.Lines {
		fmt.Fprintf(b, "  %6s %6s %6s", "mean", "most", "head")
	}
	b.WriteByte('\n')
	for l := range r.Layers {
		fmt.Fprintf(b, "%5d", l)
		for _, f := range r.Lines {
			sum := 0.0
			for _, x := range f.Values[l] {
				sum += x
			}
			largest := slices.Max(f.Values[l])
			most := slices.Index(f.Values[l], largest) // the first among equals
			fmt.Fprintf(b, "  %6.3f %6.3f %6d", sum/float64(r.Heads), largest, most)
		}
		b.WriteByte('\n')
	}
}

// writeMarkers writes a line for each target with the sources that are marked.
func (r focusResult) writeMarkers(b *bytes.Buffer, x focusRows) {
	fmt.Fprintf(b, "\ntext %d, layer %d, %s: each token and the sources with half of its "+
		"attention, at most 11\n", x.Text, x.Layer, headName(x.Head))
	first, target := r.Texts[x.Text].Sources-r.Texts[x.Text].Targets, -1
	for _, m := range x.Markers {
		if m.Target != target {
			if target >= 0 {
				b.WriteByte('\n')
			}
			target = m.Target
			fmt.Fprintf(b, "  %s:", r.token(x.Text, first+target))
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %s %.3f", r.token(x.Text, m.Source), m.Probability)
	}
	b.WriteByte('\n')
}

// writeUpdates writes the means of updates.
func (r focusResult) writeUpdates(b *bytes.Buffer) {
	for i, u := range r.Updates {
		if i == 0 {
			fmt.Fprintf(b, "\nupdates of layer %d, means over tokens, read at the %s token\n",
				u.Layer, r.Index)
		}
		fmt.Fprintf(b, "  text %d, %-10s magnitude %s, cosine %s, %s\n", u.Text,
			headName(u.Head)+":", meanOf(u.Magnitude), meanOf(u.Alignment),
			message.Count(len(u.Target), "token"))
	}
}

// writeEffects writes the means of effects, of the first token and of all others.
func (r focusResult) writeEffects(b *bytes.Buffer) {
	for i, e := range r.Effects {
		if i == 0 {
			fmt.Fprintf(b, "\neffects of the sources that tokens of layer %d look at most, "+
				"means over tokens\n", e.Layer)
		}
		var zero, others []evaluate.Value
		for k, x := range e.Magnitude {
			if e.Source[k] == 0 {
				zero = append(zero, x)
			} else {
				others = append(others, x)
			}
		}
		fmt.Fprintf(b, "  text %d, %-10s of the first token %s (%s), of others %s (%s)\n", e.Text,
			headName(e.Head)+":", meanOf(zero), message.Count(len(zero), "token"), meanOf(others),
			message.Count(len(others), "token"))
	}
}

// token is a token of a text for a table.
func (r focusResult) token(text, at int) string {
	const most = 16
	if tokens := r.Texts[text].Tokens; tokens != nil {
		return fmt.Sprintf("%d %s", at, strconv.Quote(render.Visible(tokens[at], most)))
	}
	return strconv.Itoa(at)
}

// headName names a head for a table.
func headName(h int) string {
	if h == focus.Together {
		return "all heads"
	}
	return fmt.Sprintf("head %d", h)
}

// meanOf writes the mean of the numbers that are not NaN, "-" if there are none.
func meanOf(all []evaluate.Value) string {
	sum, n := 0.0, 0
	for _, x := range all {
		if !math.IsNaN(float64(x)) {
			sum, n = sum+float64(x), n+1
		}
	}
	if n == 0 {
		return "-"
	}
	return strconv.FormatFloat(sum/float64(n), 'f', 4, 64)
}

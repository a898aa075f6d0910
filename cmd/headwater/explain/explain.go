// Package explain has the commands that make explanations, from prompts, documents or recorded
// tensors, show and save them, and make them again.
package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/compare"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/models"
)

// explainFlags are the flags of headwater explain.
type explainFlags struct {
	cli.ModelFlags
	outputFlags
	opts       attribution.Options
	input      string
	messages   string // a file
	edits      string // a file
	editFile   cli.EditFile
	show       render.Show
	color      string
	width, top int
	full       bool
	filter     bool
	against    string
	// againstModel is the model of side B.
	againstModel string
	// sides are the methods of --methods with their layers.
	sides []compare.Side
}

// Commands are explain, and the commands that make, show or repeat what it makes in another way.
var Commands = cli.Family{
	explainCommand, contextCommand, attributeCommand, showCommand, reproduceCommand,
}

func explainCommand(k *cli.Kit) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] PROMPT",
		Short: "let a model continue a prompt and show where each token came from",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			err := k.ReadMessages(ctx, f.messages, &f.opts)
			if err == nil {
				f.editFile, err = k.ReadEdits(ctx, f.edits)
			}
			if err != nil {
				return err
			}
			if f.input != "" {
				return f.editFile.Named(explainAll(ctx, k, f))
			}
			return f.editFile.Named(explain(ctx, k, f, strings.Join(args, "")))
		},
	}
	cmd.Flags().SortFlags = false // those of one group stand together
	f.ModelFlags.Add(cmd)
	f.methodsFlag(cmd, &f.opts, " (default direct,value-zeroing; for encoders "+
		"rollout,value-zeroing; classic for rollout,flow,value-zeroing)")
	cli.OptionFlags(cmd, &f.opts, attribution.OptionTable(), flagGroups...)
	cli.MessagesFlag(cmd, &f.messages)
	cli.EditFlag(cmd, &f.edits)
	cmd.Flags().StringVarP(&f.input, "input", "i", "", "explain the prompts of `FILE`, a line "+
		"of JSON each; - is standard input")
	f.outputFlags.add(cmd, cli.PartialFlag)
	cli.WholeFlag(cmd.Flags(), &f.top, "top", 1, cli.MaxTop, "show in text only the strongest "+
		"tokens of each method, `K` of them, the strongest first", "")
	cmd.Flags().BoolVar(&f.full, "full", false, "show in text every token of each row, in order, "+
		"and not only those that stand out, up to 12")
	f.viewFlags(cmd)
	cmd.Flags().StringVar(&f.against, "against", "", "compare the first method with that of this "+
		"other `prompt`, which is given the same answer; of another length, it is aligned by the "+
		"tokens that both have; for the view patch the corrupted prompt, of as many tokens")
	cmd.Flags().StringVar(&f.againstModel, "against-model", "", "compare the first method with "+
		"that of this other `model` on the same prompt and answer; if it divides the text into "+
		"other tokens, they are compared by text")
	cmd.Flags().BoolVar(&f.filter, "filter", false, "grey out punctuation and words such as "+
		"\"and\" in pictures; no number changes")
	return cmd
}

// check checks what cobra does not, and sets the defaults that depend on other flags.
func (f *explainFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case f.input != "" && len(args) > 0:
		return cli.Usagef("explain takes a prompt or --input, not both")
	case f.input != "" && f.messages != "":
		return cli.Usagef(`--messages does not go with --input: write "messages" into its lines`)
	case f.input == "" && f.messages == "" && len(args) == 0:
		return cli.Usagef("explain needs a prompt, for example: " +
			`headwater explain "the keys to the cabinet"`)
	case len(args) > 1:
		return cli.Usagef("explain takes one prompt, got %s; put the prompt in quotes",
			message.Count(len(args), "argument"))
	case f.input == "" && f.messages == "" && args[0] == "":
		return cli.Usagef("the prompt is empty; give some text")
	case f.full && f.top > 0:
		return cli.Usagef("--full shows every token, and --top some; give one of the two")
	case f.input != "" && f.opts.Continuation != "":
		return cli.Usagef("--continuation does not go with --input: " +
			`write "continuation" into its lines`)
	case f.input != "" && len(f.opts.Positions) > 0:
		return cli.Usagef(`--position does not go with --input: write "positions" into its lines`)
	}
	if f.filter {
		f.show.Filter = attribution.DefaultFilter()
	}
	for _, kind := range render.Kinds() {
		v := render.Show{Kind: kind}.View()
		if v.Other != "" && f.opts.Studies[v.Study] != "" && !cmd.Flags().Changed("view") {
			f.show.Kind = kind
		}
	}
	if v := f.show.View(); v.Other != "" { // the other prompt is for the study, and not explained
		other := f.opts.Studies[v.Other]
		switch {
		case other != "" && f.against != "":
			return cli.Usagef("--against and --set %s are both the other prompt of the view %s; "+
				"give one of the two", v.Other, v.Name)
		case other == "" && f.against == "":
			return cli.Usagef("the view %s compares two prompts; give the other one, of as many "+
				"tokens, by --against", v.Name)
		}
		f.opts.Ask(v.Other, cmp.Or(f.against, other))
		f.against = ""
	}
	if f.compares() && !cmd.Flags().Changed("view") {
		f.show.Kind = render.KindCompare
	}
	if f.input != "" {
		f.format = cmp.Or(f.format, string(export.JSON))
		// There is no picture.
		f.opts.Ask(verdict.Option, cmp.Or(f.opts.Studies[verdict.Option], verdict.Off))
	}
	return cmp.Or(
		f.outputFlags.check(),
		f.checkInput(),
		f.checkShown(cmd, true),
		f.opts.Check(), // now, before a model is opened
		f.checkBy(args),
	)
}

// checkShown checks what is shown and where it is written.
func (f *explainFlags) checkShown(cmd *cobra.Command, addsFlow bool) error {
	err := cmp.Or(
		cli.OneOf("color", f.color, "auto", "always", "never"),
		cli.OneOf("view", string(f.show.Kind), message.Names(render.Kinds())...),
	)
	if err == nil && f.show.Size != "" {
		err = cli.OneOf("size", string(f.show.Size), message.Names(render.Sizes())...)
	}
	if err == nil && f.show.Palette != "" {
		err = cli.OneOf("palette", f.show.Palette, render.PaletteNames()...)
	}
	return cmp.Or(err, f.checkMeanings(cmd), f.checkView(), f.checkFiles(addsFlow))
}

// checkInput refuses another form than lines of JSON for the prompts of a file.
func (f *explainFlags) checkInput() error {
	switch {
	case f.input == "":
		return nil
	case len(f.paths) > 1:
		return cli.Usagef("--input writes its lines to one file; give --output once")
	case f.formats[0] != export.JSON:
		return cli.Usagef("--input writes a line of JSON for each prompt; %s does not go with it",
			f.formats[0])
	}
	return nil
}

// checkBy returns a usage error if spans do not fit the prompt, as far as that is known before it
// is put into a conversation.
func (f *explainFlags) checkBy(args []string) error {
	if f.opts.InChat() || f.messages != "" || len(args) == 0 {
		return nil
	}
	text := args[0]
	if f.opts.Pair != "" {
		text, _ = trace.JoinPair(text, f.opts.Pair)
	}
	by, err := units.ParseGrouping(f.opts.By)
	if err == nil {
		err = by.Fits(text)
	}
	if err != nil {
		return fmt.Errorf("--by: %w", err)
	}
	return nil
}

// explain explains one prompt. When interrupted it shows what there is so far.
func explain(ctx context.Context, k *cli.Kit, f explainFlags, prompt string) error {
	if prompt == "" && len(f.opts.Conversation.Messages) == 0 {
		return cli.Usagef("--messages: %s has no message; write one, or give a prompt", f.messages)
	}
	if f.opts.InChat() { // now, before a model is opened
		if _, err := f.opts.Conversation.Turns(prompt); err != nil {
			return err
		}
	}
	if err := f.opts.CheckPrompt(prompt); err != nil {
		return err
	}
	if err := f.checkOther(ctx, k); err != nil {
		return err
	}
	outs, err := createOutputs(ctx, k, f.outputFlags)
	if err != nil {
		return err
	}
	defer outs.abandon()
	if prompt != "" && strings.TrimSpace(prompt) == "" {
		k.Say("note: the prompt has nothing but blanks")
	}
	if f.against != "" && f.against == prompt {
		k.Say("note: both prompts are the same, and so is what a method says of them")
	}
	m, err := f.open(ctx, k)
	if err != nil {
		return err
	}
	defer sayCompiled(k, m)
	if f.opts.InChat() {
		f.opts.Conversation.Date = cli.Today(m, prompt, f.opts.Conversation)
	}
	f.addFlow(m.Info())
	if err := f.fits(m.Info()); err != nil {
		return err
	}
	return explainTo(ctx, k, outs, m, f, prompt)
}

// checkOther returns an error if the other model is not there or cannot be opened, before the first
// one is.
func (f *explainFlags) checkOther(ctx context.Context, k *cli.Kit) error {
	if f.againstModel == "" {
		return nil
	}
	bar := k.DownloadBar()
	defer bar.Done()
	_, _, err := models.Examine(ctx, f.againstModel, models.Options{
		Backend: f.Backend, DType: f.DType, MaxMemory: f.MaxMemory, NoDownload: f.FromFile,
		Progress: bar.Show,
	})
	if err != nil {
		return fmt.Errorf("--against-model: %w", err)
	}
	return nil
}

// open opens the model and reads the values of the edits, which must fit into the memory beside it.
func (f *explainFlags) open(ctx context.Context, k *cli.Kit) (*models.Model, error) {
	m, err := k.Open(ctx, f.ModelFlags)
	if err == nil {
		f.opts.Edits, err = f.editFile.Edits(m.Info(), m.Memory())
	}
	return m, err
}

// sayCompiled tells the user how long compiling took.
func sayCompiled(k *cli.Kit, m *models.Model) {
	graphs, took := m.Compiled()
	if m.Info().Backend == "go" || took < time.Second {
		return
	}
	kept, _ := backends.KeptGraphs() // headwater doctor says why there are none
	k.Say("%s", compileReport(graphs, took, kept))
}

// compileReport says how long compiling took, and that it is shorter the next time if graphs were
// kept.
func compileReport(graphs int, took time.Duration, kept int) string {
	text := fmt.Sprintf("compiling %s took %.1f s of this", message.Count(graphs, "graph"),
		took.Seconds())
	if kept > 0 {
		text += "; the next time most of them are loaded instead"
	}
	return text
}

// explainTo explains a prompt with an open model, and writes what comes of it.
func explainTo(
	ctx context.Context, k *cli.Kit, outs outputSet, m trace.Model, f explainFlags, prompt string,
) error {
	second := m // of a comparison
	if f.againstModel != "" {
		flags := f.ModelFlags
		flags.Model, flags.Pre = f.againstModel, ""
		opened, err := k.Open(ctx, flags)
		if err != nil {
			return fmt.Errorf("--against-model: %w", err)
		}
		if opened.Info().Reads() != m.Info().Reads() {
			return cli.Usagef("--against-model %.60q: a decoder and an encoder cannot be "+
				"compared: one continues a text and the other reads it", f.againstModel)
		}
		second = opened
		if f.opts.InChat() { // whose template may ask for the date where the first one does not
			f.opts.Conversation.Date = cli.Today(second, cmp.Or(f.against, prompt),
				f.opts.Conversation)
		}
	}
	f.opts.Opens = f.show.Opening
	e, err := watch(ctx, k, m, prompt, f.opts)
	if f.show.View().Study != "" && e != nil && errors.Is(err, trace.ErrUsage) {
		err = cmp.Or(f.checkTokens(e), err) // it was asked for as --token
	}
	if err != nil && !interrupted(ctx, e) {
		return err
	}
	if err != nil {
		e.Warnings = append(e.Warnings, "Stopped after "+e.Made()+".")
	}
	var against *export.Against
	if f.compares() && err == nil {
		text, b := cmp.Or(f.against, prompt), f
		b.opts = withAnswer(f.opts, e, second.Info().Hash == e.Model.Hash)
		other, err := watch(ctx, k, second, text, b.opts)
		if err != nil {
			return err
		}
		against = &export.Against{Explanation: other, Made: b.made(second, text)}
	}
	stopped := err != nil
	if !stopped { // what was cut short may lack the token
		if err := f.checkTokens(e); err != nil {
			return err
		}
	}
	failed := writeExplanation(ctx, k, outs, &f, m, e, against, f.made(m, prompt), stopped)
	return outs.finish(f.outputFlags, cmp.Or(failed, err))
}

// withAnswer returns the options of side B of a comparison: those of side A with the answer of A,
// so that the rows of both explain the same tokens. They are as they are if there is a
// continuation, and for an encoder. Control tokens of A mean something to the same model alone, and
// a character that A did not finish ends the answer.
func withAnswer(
	opts attribution.Options, a *attribution.Explanation, sameModel bool,
) attribution.Options {
	if opts.Continuation != "" || a.Model.Reads() {
		return opts
	}
	answer := ""
	for _, step := range a.Steps {
		if step.Special && !sameModel {
			break
		}
		answer += step.Text
	}
	for !utf8.ValidString(answer) {
		answer = answer[:len(answer)-1]
	}
	if answer != "" {
		opts.Continuation, opts.MaxTokens, opts.Sampling = answer, 0, trace.Sampling{}
	}
	return opts
}

// interrupted reports whether an explanation was cut short and has something to show.
func interrupted(ctx context.Context, e *attribution.Explanation) bool {
	return ctx.Err() != nil && e != nil && len(e.Steps) > 0
}

// longText is from how many tokens on a user is told what an explanation takes.
const longText = 1000

// sayLong tells a user who explains a long text what that takes. What is wrong with the text is
// said when it is explained.
func sayLong(k *cli.Kit, m trace.Model, prompt string, opts attribution.Options) {
	if talker, ok := m.(trace.Conversational); ok && opts.InChat() {
		prompt, _, _ = talker.Converse(opts.Conversation, prompt)
	}
	tokens, err := m.Encode(prompt, opts.Specials)
	if err != nil || len(tokens) < longText {
		return
	}
	methods := opts.Methods
	if len(methods) == 0 {
		methods = attribution.DefaultMethods(m.Info())
	}
	took := "this takes a while"
	seconds := float64(len(methods)) * verdict.Seconds(m.Info(), len(tokens), len(tokens))
	if minutes := int(min(seconds/60, 1e9)); minutes > 0 {
		took = "this takes " + message.Count(minutes, "minute") + " or more"
	}
	k.Say("%d tokens × %s (%s): %s, and half of the tokens about a quarter of it",
		len(tokens), message.Count(len(methods), "method"), message.List(methods), took)
}

// watch explains a prompt and shows how far it is.
func watch(
	ctx context.Context, k *cli.Kit, m trace.Model, prompt string, opts attribution.Options,
) (*attribution.Explanation, error) {
	sayLong(k, m, prompt, opts)
	for _, cost := range opts.StudyCosts(m.Info()) {
		k.Say("%s", cost)
	}
	line := k.Progress()
	defer line.Clear()
	opts.OnProgress = line.Report
	// The line is there before a first graph is compiled, which replaces it.
	line.Show("reading the prompt")
	var pace message.Pace
	opts.OnStep = func(e *attribution.Explanation) {
		pace.Add(time.Now())
		line.Show("token %d: %q%s", len(e.Steps), e.Steps[len(e.Steps)-1].Text, pace)
	}
	e, err := attribution.Explain(ctx, m, prompt, opts)
	if errors.Is(err, models.ErrNothingMasked) {
		err = cli.Usagef("%v (--position N); its tokens are %s", err, numbered(e.Prompt.Texts))
	}
	return e, err
}

// numbered lists tokens with their positions, the first few.
func numbered(texts []string) string {
	const most = 24
	var names []string
	for j, text := range texts[:min(len(texts), most)] {
		names = append(names, fmt.Sprintf("%d %s", j,
			strconv.Quote(render.Visible(strings.TrimPrefix(text, " "), 20))))
	}
	if len(texts) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// Package bench has headwater bench, which measures methods against known answers.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/tasks"
	"github.com/headwater-ml/headwater/models"
)

// benchFlags are the flags of headwater bench methods.
type benchFlags struct {
	cli.ModelFlags
	opts             evaluate.Options
	input, output    string
	given            []evaluate.Case // those of input
	resume           string
	cases, timed     int
	seed             uint64
	kinds            []string
	split            tasks.Split
	noContrast, json bool
	faithful, soft   bool
	randomized       bool
	planted, grammar bool
}

// maxBenchCases is how many cases of a kind one run takes.
const maxBenchCases = 5000

// maxBeam is how many sets the search for the best ranking keeps.
const maxBeam = 1000

// Commands is headwater bench.
var Commands = cli.Family{benchCommand}

func benchCommand(k *cli.Kit) *cobra.Command {
	bench := &cobra.Command{
		Use:   "bench",
		Short: "measure how far methods can be believed, and what layers know",
		Args:  cli.KnownCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Usagef("bench needs one of methods, cues and probe; see headwater bench " +
				"--help")
		},
	}
	bench.AddCommand(benchMethodsCommand(k), benchCuesCommand(k), benchProbeCommand(k),
		benchPeerCommand(k))
	return bench
}

func benchMethodsCommand(k *cli.Kit) *cobra.Command {
	f := benchFlags{}
	cmd := &cobra.Command{
		Use:   "methods [--methods NAMES] [--input FILE]",
		Short: "score methods on sentences whose evidence is known",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			f.setTaskDefaults(cmd.Flags().Changed)
			return bench(cmd.Context(), k, f)
		},
	}
	f.Add(cmd)
	cli.MethodsFlag(cmd, &f.opts.Explain, " (default all; for tasks those of explain)")
	cli.OptionFlags(cmd, &f.opts.Explain,
		attribution.OptionTable(attribution.MethodOptions, attribution.ScorerOptions))
	cmd.Flags().StringVarP(&f.input, "input", "i", "", "take the cases of this `FILE`, a line "+
		"of JSON each; - is standard input")
	cmd.Flags().BoolVar(&f.planted, "planted", false, "take the planted circuits, each a model "+
		"with a group of cases, instead of one model")
	cmd.Flags().BoolVar(&f.grammar, "grammar", false, "take sentences of the embedded model's "+
		"grammar for the model of --model, which was trained on them")
	f.cases, f.timed = 50, 8
	cli.WholeFlag(cmd.Flags(), &f.cases, "cases", 1, maxBenchCases,
		"take `N` sentences of each kind of the grammar, or of each circuit; of tasks, candidates",
		fmt.Sprintf("50, for tasks %d", taskCandidates))
	taskFlags(cmd, &f)
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "`number` that the sentences are drawn with, from "+
		"0 to 18446744073709551615; equal ones give equal sentences")
	cmd.Flags().BoolVar(&f.noContrast, "no-contrast", false,
		"let scorers explain the answer alone, without its foil")
	cmd.Flags().BoolVar(&f.faithful, "faithful", false, "also measure what the answer loses "+
		"without the tokens that each method names, and how often it changes")
	cli.WholeFlag(cmd.Flags(), &f.opts.Beam, "naopc", 0, maxBeam,
		"with --faithful, also measure between the worst and the best ranking of each text, "+
			"found by a beam of `N` sets beyond ten tokens", "0, none")
	cli.WholeFlag(cmd.Flags(), &f.opts.Ablations, "ablations", 0, maxBenchCases,
		"also measure how well added scores predict what `N` random ablations do, and what the "+
			"top tokens are worth", "0, none")
	cmd.Flags().Func("references", "also correlate every method with these `names` of methods, "+
		"joined by commas, such as occlusion,gradient", func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			m, err := attribution.LookupMethod(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			f.opts.References = append(f.opts.References, m.Name)
		}
		return nil
	})
	cmd.Flags().BoolVar(&f.soft, "soft", false, "with --faithful, take parts of embeddings away "+
		"as well, 8 draws each")
	cmd.Flags().BoolVar(&f.randomized, "randomized", false,
		"also compare with the same model after its weights were shuffled, which a "+
			"method should notice")
	cli.WholeFlag(cmd.Flags(), &f.timed, "timed", 0, maxBenchCases, "measure the time of `N` "+
		"sentences",
		fmt.Sprintf("8, for tasks %d", taskTimed))
	cmd.Flags().StringVar(&f.resume, "resume", "", "keep results in this `FILE`, case by case, "+
		"and go on where it ends")
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// check returns a usage error for flags that do not go together.
func (f *benchFlags) check(cmd *cobra.Command) error {
	switch {
	case f.opts.Explain.Contrast != "":
		return cli.Usagef("--contrast is each case's own here: name it in the cases of --input")
	case f.opts.Beam > 0 && !f.faithful:
		return cli.Usagef("--naopc is a part of --faithful")
	case f.soft && !f.faithful:
		return cli.Usagef("--soft is a part of --faithful")
	case f.planted && (f.input != "" || cli.Given(cmd, "model")):
		return cli.Usagef("--planted brings its own models and cases, without --model and "+
			"--input; --model %s is one of them alone", planted.Names()[0])
	case f.grammar && (f.planted || f.input != ""):
		return cli.Usagef("--grammar, --planted and --input each say which cases to take: give one")
	case f.planted && (f.randomized || f.timed > 0 && cli.Given(cmd, "timed")):
		return cli.Usagef("--randomized and --timed are measured on one model: name a "+
			"circuit, as in --model %s", planted.Names()[0])
	case !f.tasked() && (len(f.kinds) > 0 || f.split != ""):
		return cli.Usagef("--kinds and --split are for the tasks that a model of --model is " +
			"given, not for other cases")
	case f.input != "" && (cli.Given(cmd, "cases") || cli.Given(cmd, "seed")):
		return cli.Usagef("--cases and --seed are for sentences that are drawn, and " +
			"--input gives others")
	}
	return nil
}

// benchReport is what headwater bench methods --json writes.
type benchReport struct {
	Model trace.Info `json:"model"`
	// Rules say of planted circuits what decides their answers, by group.
	Rules map[string]string `json:"rules,omitempty"`
	// Tasks are the tasks that were measured, if any were.
	Tasks *taskChoice `json:"tasks,omitempty"`
	*evaluate.Report
	// Alignment is how well methods align words, if the model translates.
	Alignment *evaluate.WordReport `json:"alignment,omitempty"`
	// Randomized is the correlation of each method with itself after the weights were shuffled.
	Randomized map[string]evaluate.Summary `json:"randomized,omitempty"`
	// Cost is what a token costs by each method; it is a measurement and differs from run to run.
	Cost map[string]cost `json:"cost,omitempty"`
}

// bench measures and writes.
func bench(ctx context.Context, k *cli.Kit, f benchFlags) (err error) {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	if f.input != "" { // now, before a model is opened
		if f.given, err = readCases(ctx, k, f.input); err != nil {
			return err
		}
	}
	parts, err := benchParts(ctx, k, f)
	if err != nil {
		return err
	}
	m, cases, info := parts[0].model, joined(parts), describe(parts)
	scored := slices.DeleteFunc(slices.Clone(cases),
		func(c evaluate.Case) bool { return c.Selection })
	opts := f.options()
	line := k.Progress()
	defer line.Clear()
	opts.OnProgress = line.Report
	kept, err := openKept(f.resume, info, m.DType(), cases, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	opts.Done, opts.OnResult = kept.done, kept.add
	report := benchReport{Model: info, Rules: rules(parts), Tasks: f.taskChoice()}
	if report.Report, err = measure(ctx, parts, opts); err != nil {
		return err
	}
	if toy, ok := f.translator(); ok {
		if report.Alignment, err = alignWords(ctx, f, m, toy, opts); err != nil {
			return err
		}
	}
	if f.randomized {
		if report.Randomized, err = randomize(ctx, k, f, m, cases, opts); err != nil {
			return err
		}
	}
	if f.timed > 0 && !f.planted {
		line.Show("measuring time")
		if report.Cost, err = costs(ctx, m, spread(scored, f.timed), opts,
			f.timedTokens()); err != nil {
			return err
		}
	}
	line.Clear()
	return out.Result(f.json, report, report.write)
}

// options are those of the evaluation.
func (f *benchFlags) options() evaluate.Options {
	opts := f.opts
	opts.Methods, opts.Explain.Methods = opts.Explain.Methods, nil
	if _, ok := f.translator(); ok && len(opts.Methods) == 0 {
		opts.Methods = alignmentMethods
	}
	if len(opts.Methods) == 0 {
		for _, m := range attribution.Methods() {
			opts.Methods = append(opts.Methods, m.Name)
		}
	}
	opts.Faithful, opts.Scoring, opts.Alone = f.faithful, opts.Explain.Scoring, f.noContrast
	opts.Others, opts.SkipFirst = tasks.Changes, f.input != ""
	if f.soft {
		opts.Draws = 8
	}
	if f.planted || f.circuit() {
		opts.Ties, opts.Least = plantedTies, plantedLeast
	}
	return opts
}

// randomize compares with shuffled weights.
func randomize(
	ctx context.Context, k *cli.Kit, f benchFlags, m *models.Model, cases []evaluate.Case,
	opts evaluate.Options,
) (map[string]evaluate.Summary, error) {
	f.Shuffle = 1
	other, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return nil, err
	}
	return evaluate.Randomize(ctx, m, other, cases, opts)
}

// spread returns n of the cases, evenly.
func spread(cases []evaluate.Case, n int) []evaluate.Case {
	n = min(n, len(cases))
	var some []evaluate.Case
	for i := range n {
		some = append(some, cases[i*len(cases)/n])
	}
	return some
}

// write writes tables for people.
func (r benchReport) write(w io.Writer) error {
	fmt.Fprintf(w, "%s on %s (%s); the model would have chosen the answer in %d.\n",
		message.Count(r.Cases, "case"), r.Model.Name, r.Model.Backend, r.Chosen)
	if r.Unproven > 0 {
		fmt.Fprintf(w, "%d more are not scored: changing words does not prove their evidence.\n",
			r.Unproven)
	}
	if r.Model.Note != "" {
		fmt.Fprintf(w, "%s\n", r.Model.Note)
	}
	for _, group := range r.Groups {
		if rule, ok := r.Rules[group]; ok {
			fmt.Fprintf(w, "  %s: %s\n", group, rule)
		}
	}
	if r.Tasks != nil {
		fmt.Fprintf(w, "Tasks of the %s half, seed %d.\n", r.Tasks.Split, r.Tasks.Seed)
	}
	if err := r.WriteProofs(w); err != nil {
		return err
	}
	for _, measure := range r.Measures {
		if r.Tasks != nil {
			if err := r.writeTaskTable(w, measure); err != nil {
				return err
			}
			continue
		}
		if err := r.WriteTable(w, measure.Name); err != nil {
			return err
		}
	}
	if err := r.WriteLayers(w); err != nil {
		return err
	}
	if err := r.writeAlignment(w); err != nil {
		return err
	}
	if err := r.writeRandomized(w); err != nil {
		return err
	}
	return r.writeCost(w)
}

// writeRandomized writes how alike methods are with shuffled weights.
func (r benchReport) writeRandomized(w io.Writer) error {
	if r.Randomized == nil {
		return nil
	}
	fmt.Fprint(w, "\nrank correlation with the scores after the weights were shuffled "+
		"(near 0 is good)\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range r.Methods {
		if s, ok := r.Randomized[name]; ok {
			fmt.Fprintf(t, "%s\t%s\n", name, s)
		}
	}
	return t.Flush()
}

// writeCost writes what a token costs.
func (r benchReport) writeCost(w io.Writer) error {
	if r.Cost == nil {
		return nil
	}
	what := "one token after its prompt"
	if r.Tasks != nil {
		what = fmt.Sprintf("%d tokens after their prompt", taskTokens)
	}
	fmt.Fprintf(w, "\ncost of explaining %s (medians of this run on this machine)\n\n", what)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "method\tms\tof plain generation\n")
	for _, name := range slices.Concat([]string{plainLine}, r.Methods) {
		if c, ok := r.Cost[name]; ok {
			fmt.Fprintf(t, "%s\t%.2f\t%.1f×\n", name, c.Milliseconds, c.Multiple)
		}
	}
	return t.Flush()
}

// Package corpus has headwater corpus: explanations of a data set, in shards that many machines
// share.
package corpus

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// Commands is headwater corpus.
var Commands = cli.Family{corpusCommand}

func corpusCommand(k *cli.Kit) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "corpus",
		Short: "explain a data set in shards, with one process or many tasks of a scheduler",
		Args:  cli.KnownCommand,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("corpus needs what to do; known are plan, run, missing, verify, " +
				"merge, report and template, as in headwater corpus plan texts.jsonl FOLDER")
		},
	}
	cmd.AddCommand(corpusPlanCommand(k), corpusRunCommand(k), corpusMissingCommand(k),
		corpusVerifyCommand(k), corpusMergeCommand(k), corpusReportCommand(k),
		corpusTemplateCommand(k))
	return cmd
}

// placeArguments refuses another number of arguments than the names say.
func placeArguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return cli.Usagef("%s needs %s, got %s; see %s --help", cmd.Name(),
				strings.Join(names, " and "), message.Count(len(args), "argument"),
				cmd.CommandPath())
		}
		return nil
	}
}

// withCorpus opens the corpus of a place.
func withCorpus(ctx context.Context, name string, use func(*corpus.Corpus) error) error {
	place, err := corpus.OpenPlace(name)
	if err != nil {
		return err
	}
	c, err := corpus.Open(ctx, place)
	if err != nil {
		return err
	}
	return use(c)
}

// corpusPlanFlags are the flags of headwater corpus plan.
type corpusPlanFlags struct {
	cli.ModelFlags
	opts          attribution.Options
	format        string
	shards, tasks int
}

func corpusPlanCommand(k *cli.Kit) *cobra.Command {
	f := corpusPlanFlags{shards: 64}
	cmd := &cobra.Command{
		Use:   "plan [flags] INPUT CORPUS",
		Short: "read an input once and write the manifest of its shards",
		Args:  placeArguments("INPUT", "CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return planCorpus(cmd.Context(), k, f, args[0], args[1])
		},
	}
	f.Add(cmd)
	cli.MethodsFlag(cmd, &f.opts, " (default direct,value-zeroing; for encoders "+
		"rollout,value-zeroing)")
	cli.OptionFlags(cmd, &f.opts, slices.DeleteFunc(attribution.OptionTable(),
		func(r attribution.Option) bool { return slices.Contains(notOfCorpus, r.Name) }))
	cmd.Flags().StringVar(&f.format, "format", "", "read every file of the input as `"+
		strings.Join(corpus.Formats(), "|")+"` (default what the end of its name says)")
	cli.WholeFlag(cmd.Flags(), &f.shards, "shards", 1, corpus.MaxShards,
		"divide the records into `N` shards", "64")
	cli.WholeFlag(cmd.Flags(), &f.tasks, "tasks", 1, corpus.MaxShards,
		"let `N` tasks of a scheduler share the shards",
		fmt.Sprintf("the number of shards, at most %d", corpus.DefaultTasks))
	return cmd
}

// notOfCorpus are options that each record has for itself.
var notOfCorpus = []string{"continuation", "positions", "pair"}

// check returns a usage error for values that no input and no model could fit.
func (f *corpusPlanFlags) check() error {
	if f.format != "" {
		if err := cli.OneOf("format", f.format, corpus.Formats()...); err != nil {
			return err
		}
	}
	return f.opts.Check()
}

// planCorpus reads the input and writes the manifest.
func planCorpus(ctx context.Context, k *cli.Kit, f corpusPlanFlags, input, to string) error {
	source, err := corpus.OpenSource(ctx, input, f.format)
	if err != nil {
		return err
	}
	sayLeftOut(k, source.LeftOut)
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	info := m.Info()
	// Any record may have messages.
	f.opts.Conversation.Date = cli.Today(m, "hi", f.opts.Conversation)
	if len(f.opts.Methods) == 0 {
		f.opts.Methods = attribution.DefaultMethods(info)
	}
	line := k.Progress()
	defer line.Clear()
	plan, err := corpus.MakePlan(ctx, source, corpus.Settings{
		Version: cli.Release(), Options: f.opts, Shards: f.shards, Tasks: f.tasks,
		Model: corpus.Model{
			Name: cmp.Or(f.Model, models.Default), Hash: info.Hash, Family: info.Family,
			Backend: info.Backend, DType: ownDType(f.DType),
		},
		Try: func(ctx context.Context, r corpus.Record) (*attribution.Explanation, error) {
			opts := corpus.OptionsOf(f.opts, r)
			if opts.Continuation == "" && !info.Reads() {
				opts.MaxTokens = 1
			}
			if opts.Target != "" { // its sentence or tokens may be further than that
				opts.Target = "answer"
			}
			return attribution.Explain(ctx, m, r.Prompt, opts)
		},
		OnRecord: func(records int64) {
			if records%1000 == 0 {
				line.Show("reading the input: %d records", records)
			}
		},
	})
	if err != nil {
		return err
	}
	line.Clear()
	place, err := corpus.OpenPlace(to)
	if err != nil {
		return err
	}
	c, err := corpus.Create(ctx, place, plan)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(k.Stdout, "%s: %s in %s, %s of work, manifest %.12s\n", place,
		message.Count(plan.Input.Records, "record"), message.Count(len(plan.Shards), "shard"),
		message.Count(c.Manifest.Tasks, "task"), plan.Hash)
	return err
}

// sayLeftOut names the parts of an input that are not read, in a line for each reason.
func sayLeftOut(k *cli.Kit, all []corpus.LeftOut) {
	count := map[string]int{}
	for _, one := range all {
		count[one.Why]++
	}
	for _, one := range all {
		n := count[one.Why]
		if n == 0 {
			continue // said already
		}
		count[one.Why] = 0
		what := one.Name
		if n > 1 {
			what = fmt.Sprintf("%d files of the input, such as %s", n, one.Name)
		}
		advice := ""
		if one.Why == corpus.UnknownName {
			advice = "; --format reads it"
		}
		k.Say("left out %s: %s%s", what, one.Why, advice)
	}
}

// ownDType returns the type of the weights, "" for the default.
func ownDType(dtype string) string {
	if dtype == "float32" {
		return ""
	}
	return dtype
}

// corpusRunFlags are the flags of headwater corpus run.
type corpusRunFlags struct {
	cli.ModelFlags
	input              string
	workers            int
	task, tasks, shard int // -1, 0 and -1 if they are not given
}

func corpusRunCommand(k *cli.Kit) *cobra.Command {
	f := corpusRunFlags{workers: 1, task: -1, shard: -1}
	cmd := &cobra.Command{
		Use:   "run [flags] CORPUS",
		Short: "make the shards of a corpus, or those of one task",
		Long: "Run makes the shards that are not complete: all of them, or those of one task. " +
			"The number of the task comes from --task,\nelse from the first of these variables " +
			"that is set: " + strings.Join(taskVariables, ", ") + ".\nThe number of tasks comes " +
			"from --tasks, " + tasksVariable + " or the manifest. Task t of T makes the shards " +
			"t, t+T, t+2T, ….",
		Example: `  headwater corpus run corpus
  headwater corpus run --workers 2 --task 0 --tasks 4 corpus`,
		Args: placeArguments("CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.shard >= 0 && (f.task >= 0 || f.tasks > 0) {
				return cli.Usagef("--shard makes one shard; it does not go with --task and --tasks")
			}
			if f.tasks > 0 && f.task < 0 && taskFromEnvironment() == "" {
				return cli.Usagef("--tasks %d needs the number of this task: --task, from 0 to %d",
					f.tasks, f.tasks-1)
			}
			ctx := cmd.Context()
			return withCorpus(ctx, args[0], func(c *corpus.Corpus) error {
				err := runCorpus(ctx, k, f, c)
				if err != nil && ctx.Err() != nil {
					err = &corpus.RetryError{Err: fmt.Errorf("%w; the shards that are complete "+
						"stay, and the same command makes the others", err)}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&f.input, "input", "", "read the input at `PLACE` (default where it was "+
		"planned)")
	cli.WholeFlag(cmd.Flags(), &f.workers, "workers", 1, 256, "make `N` shards at the same time "+
		"with one copy of the model", "1")
	cli.WholeFlag(cmd.Flags(), &f.task, "task", 0, corpus.MaxShards, "make the shards of task `I`",
		"")
	cli.WholeFlag(cmd.Flags(), &f.tasks, "tasks", 1, corpus.MaxShards, "there are `N` tasks", "")
	cli.WholeFlag(cmd.Flags(), &f.shard, "shard", 0, corpus.MaxShards-1, "make shard `S` alone", "")
	cmd.Flags().StringVarP(&f.Model, "model", "m", "", "open `MODEL`, which must be the one of "+
		"the plan (default by the name in the manifest)")
	f.AddPre(cmd)
	cli.MaxMemoryFlag(cmd, &f.MaxMemory, "weights and what a run records")
	f.AddBackend(cmd)
	return cmd
}

// The variables that say which task of a scheduler this is, and how many there are. What Slurm says
// about the size of an array is not among them: when a part of an array is submitted again, it is
// the size of that part.
var taskVariables = []string{
	"HEADWATER_SHARD_INDEX", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX",
	"AWS_BATCH_JOB_ARRAY_INDEX",
}

const tasksVariable = "HEADWATER_SHARDS"

// taskFromEnvironment returns the name of the variable that has the number of the task, "" if none
// is set.
func taskFromEnvironment() string {
	for _, name := range taskVariables {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// shards returns the shards to make.
func (f *corpusRunFlags) shards(c *corpus.Corpus) ([]int, error) {
	n := len(c.Manifest.Shards)
	if f.shard >= n {
		return nil, cli.Usagef("--shard %d; the corpus has %s, from 0", f.shard,
			message.Count(n, "shard"))
	}
	if f.shard >= 0 {
		return []int{f.shard}, nil
	}
	task, tasks, from := f.task, f.tasks, "--task"
	if tasks == 0 {
		tasks = c.Manifest.Tasks
		if text := os.Getenv(tasksVariable); text != "" {
			if err := cli.SetWhole(&tasks, text, 1, corpus.MaxShards); err != nil {
				return nil, cli.Usagef("%s %.60q: %v", tasksVariable, text, err)
			}
		}
	}
	if name := taskFromEnvironment(); task < 0 && name != "" {
		from = name
		if err := cli.SetWhole(&task, os.Getenv(name), 0, corpus.MaxShards); err != nil {
			return nil, cli.Usagef("%s %.60q: %v", name, os.Getenv(name), err)
		}
	}
	if task < 0 {
		return c.ShardsOf(0, 1), nil
	}
	if task >= tasks {
		return nil, cli.Usagef("%s is %d, but the number of tasks is %d, and they count from 0; "+
			"submit these, or set --tasks or %s", from, task, tasks, tasksVariable)
	}
	return c.ShardsOf(task, tasks), nil
}

// runCorpus makes shards.
func runCorpus(ctx context.Context, k *cli.Kit, f corpusRunFlags, c *corpus.Corpus) error {
	shards, err := f.shards(c)
	if err != nil {
		return err
	}
	r := &corpus.Runner{Corpus: c, Shards: shards, Workers: f.workers}
	pending, err := r.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		k.Say("%s complete", areAll(len(shards), "shard"))
		return nil
	}
	m, err := openPlanned(ctx, k, f.ModelFlags, c.Manifest)
	if err != nil {
		return err
	}
	input := c.Manifest.Input
	r.Source, err = corpus.OpenSource(ctx, cmp.Or(f.input, input.Place), input.Format)
	if err != nil {
		return err
	}
	r.Explainer = corpus.Together{
		Model: m, Options: c.Manifest.Options, Methods: c.Manifest.MethodNames(),
	}
	bar := newCorpusBar(k)
	r.OnProgress = bar.show
	stats, err := r.Run(ctx)
	bar.done(stats)
	return err
}

// areAll says "the shard is" or "all 3 shards are".
func areAll(n int, what string) string {
	if n == 1 {
		return "the " + what + " is"
	}
	return fmt.Sprintf("all %d %ss are", n, what)
}

// openPlanned opens the model of a manifest, and refuses another one.
func openPlanned(
	ctx context.Context, k *cli.Kit, f cli.ModelFlags, plan *corpus.Manifest,
) (*models.Model, error) {
	f.FromFile = f.Model == ""
	f.Model, f.DType = cmp.Or(f.Model, plan.Model.Name), plan.Model.DType
	f.Backend = cmp.Or(f.Backend, plan.Model.Backend)
	if plan.Version != cli.Release() {
		return nil, fmt.Errorf("the plan was made by version %s of headwater, and this is "+
			"%s, which may compute other numbers; use that version, or plan again in an empty "+
			"folder",
			plan.Version, cli.Release())
	}
	m, err := k.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	info := m.Info()
	if info.Hash != plan.Model.Hash {
		return nil, fmt.Errorf("the plan is for the model %s with the hash %.12s…; %s has "+
			"%.12s…; open that model by --model, or plan again in an empty folder", plan.Model.Name,
			plan.Model.Hash, f.Model, info.Hash)
	}
	if info.Backend != plan.Model.Backend {
		return nil, fmt.Errorf("the plan is for the backend %s, and this is %s, which "+
			"computes other digits; give --backend %s", plan.Model.Backend, info.Backend,
			plan.Model.Backend)
	}
	return m, nil
}

// corpusBar shows how far a corpus is: a bar where someone watches, and a line in the end.
type corpusBar struct {
	k     *cli.Kit
	width int // 0: nobody watches
	began time.Time
	bar   *progressbar.ProgressBar
}

func newCorpusBar(k *cli.Kit) *corpusBar {
	return &corpusBar{k: k, width: cli.Columns(k.Stderr), began: time.Now()}
}

// show is for [corpus.Runner.OnProgress].
func (b *corpusBar) show(at corpus.Stats) {
	if b.width == 0 {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(max(at.Of, 1),
			progressbar.OptionSetDescription("records"), progressbar.OptionSetWriter(b.k.Stderr),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("records"),
			progressbar.OptionSetWidth(max(10, min(40, b.width-75))),
			progressbar.OptionThrottle(cli.BarPeriod), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(true))
	}
	_ = b.bar.Set64(at.Records) // a bar that cannot be drawn is no reason to stop
}

// done removes the bar and reports the work and its speed.
func (b *corpusBar) done(s corpus.Stats) {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	took := max(time.Since(b.began).Seconds(), 1e-3)
	text := fmt.Sprintf("%s written, %d complete before", message.Count(s.Written, "shard"),
		s.Skipped)
	if s.Bad > 0 {
		text += fmt.Sprintf(", %d bad", s.Bad)
	}
	b.k.Say("%s; %s, %d with an error, in %.1f s: %.1f records/s, %.0f tokens/s", text,
		message.Count(s.Records, "record"), s.Errors, took, float64(s.Records)/took,
		float64(s.Tokens)/took)
}

func corpusMissingCommand(k *cli.Kit) *cobra.Command {
	tasks, list := 0, false
	cmd := &cobra.Command{
		Use:   "missing [flags] CORPUS",
		Short: "print which tasks have shards that are not complete",
		Args:  placeArguments("CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withCorpus(ctx, args[0], func(c *corpus.Corpus) error {
				return missingCorpus(ctx, k, c, cmp.Or(tasks, c.Manifest.Tasks), list)
			})
		},
	}
	cli.WholeFlag(cmd.Flags(), &tasks, "tasks", 1, corpus.MaxShards, "there are `N` tasks",
		"as in the manifest")
	cmd.Flags().BoolVar(&list, "list", false, "print the numbers of the shards, one a line")
	return cmd
}

// missingCorpus prints what is missing.
func missingCorpus(
	ctx context.Context, k *cli.Kit, c *corpus.Corpus, tasks int, list bool,
) error {
	missing, shards, err := c.MissingTasks(ctx, tasks)
	if err != nil {
		return err
	}
	k.Say("%d of %d shards and %d of %d tasks are missing", len(shards), len(c.Manifest.Shards),
		len(missing), tasks)
	if list {
		for _, s := range shards {
			if _, err := fmt.Fprintln(k.Stdout, s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(k.Stdout, "--array=%s\n", corpus.NumberRanges(missing))
	return err
}

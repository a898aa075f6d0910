package corpus

import (
	"cmp"
	"context"
	_ "embed"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

// jobFlags are the flags of headwater corpus template, and what a job file is made of.
type jobFlags struct {
	Name, Place, Image, Claim, Mount, Queue, Time string
	Workers, CPUs, Parallel, Tasks                int
	memory                                        int64
}

// Memory returns the memory of one task in mebibytes.
func (f jobFlags) Memory() int64 { return f.memory >> 20 }

// Last returns the number of the last task.
func (f jobFlags) Last() int { return f.Tasks - 1 }

// The exit statuses, for the job files.
func (f jobFlags) Bad() int   { return cli.StatusBadShard }
func (f jobFlags) Retry() int { return cli.StatusRetry }
func (f jobFlags) Usage() int { return cli.StatusUsage }

// The schedulers for which there are job files.
const (
	slurmJob      = "slurm"
	kubernetesJob = "kubernetes"
)

func corpusTemplateCommand(k *cli.Kit) *cobra.Command {
	f := jobFlags{
		Name: "headwater-corpus", Mount: "/data", Time: "24:00:00", Workers: 1, CPUs: 2,
		Parallel: 100, memory: 8 << 30,
	}
	cmd := &cobra.Command{
		Use:   "template [flags] slurm|kubernetes CORPUS",
		Short: "print a job file that makes the shards of a corpus",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := placeArguments("slurm or kubernetes", "CORPUS")(cmd, args); err != nil {
				return err
			}
			if args[0] != slurmJob && args[0] != kubernetesJob {
				return cli.Usagef("template %.60q is unknown; %s", args[0],
					message.KnownAre(args[0], []string{kubernetesJob, slurmJob}))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args[0], args[1]); err != nil {
				return err
			}
			return writeJob(cmd.Context(), k, f, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "name", f.Name, "call the job `NAME`")
	flags.StringVar(&f.Place, "as", "", "call the corpus `PLACE` in the tasks (default CORPUS)")
	flags.StringVar(&f.Queue, "queue", "", "the partition of Slurm, or the `QUEUE` of Kueue")
	flags.StringVar(&f.Time, "time", f.Time, "the longest time of a task of Slurm, as `HH:MM:SS`")
	flags.StringVar(&f.Image, "image", "", "the `IMAGE` that has headwater and the model")
	flags.StringVar(&f.Claim, "claim", "", "the persistent volume `CLAIM` that has the corpus")
	flags.StringVar(&f.Mount, "mount", f.Mount, "the `PATH` of that volume in the tasks")
	cli.WholeFlag(flags, &f.Workers, "workers", 1, 256, "let each task make `N` shards at the "+
		"same time", "1")
	cli.WholeFlag(flags, &f.CPUs, "cpus", 1, 1024, "ask for `N` cores for each task", "2")
	cli.WholeFlag(flags, &f.Parallel, "parallel", 1, corpus.MaxShards, "run at most `N` tasks "+
		"together",
		"100")
	flags.Func("memory", "ask for `SIZE` of memory for each task, such as 16GB (default 8GiB)",
		func(s string) (err error) {
			f.memory, err = message.ParseBytes(s)
			return err
		})
	return cmd
}

var (
	jobName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	jobTime = regexp.MustCompile(`^([0-9]+-)?[0-9]{1,3}:[0-9]{2}:[0-9]{2}$`)
	plain   = regexp.MustCompile(`^[A-Za-z0-9@:_./-]*$`)
)

// check returns a usage error for values that a job file cannot have.
func (f *jobFlags) check(scheduler, place string) error {
	f.Place = cmp.Or(f.Place, place)
	switch {
	case !jobName.MatchString(f.Name):
		return cli.Usagef("--name %.60q: want small letters, digits and hyphens, at most 52",
			f.Name)
	case !jobTime.MatchString(f.Time):
		return cli.Usagef("--time %.60q: want HH:MM:SS or D-HH:MM:SS", f.Time)
	case f.memory < 1<<20:
		return cli.Usagef("--memory %d bytes; want at least 1MiB", f.memory)
	case !plain.MatchString(f.Queue + f.Image + f.Claim + f.Mount):
		return cli.Usagef("--queue, --image, --claim and --mount have letters, digits and @:_./- " +
			"only")
	case strings.ContainsAny(f.Place, "\n\r\x00"):
		return cli.Usagef("--as %.60q: a path on one line is wanted", f.Place)
	case scheduler != kubernetesJob:
		return nil
	case f.Image == "":
		return cli.Usagef("template kubernetes needs --image, with headwater and the model in it")
	case f.Claim == "" && !strings.Contains(f.Place, "://"):
		return cli.Usagef("tasks of Kubernetes do not see the folder %.60q; give --claim for the "+
			"volume that has it, or use a bucket", f.Place)
	}
	return nil
}

// writeJob writes the job file of a scheduler.
func writeJob(ctx context.Context, k *cli.Kit, f jobFlags, scheduler, name string) error {
	return withCorpus(ctx, name, func(c *corpus.Corpus) error {
		f.Tasks = c.Manifest.Tasks
		f.Parallel = min(f.Parallel, f.Tasks)
		if scheduler == kubernetesJob {
			return fillJob(k.Stdout, kubernetesFile, f)
		}
		return fillJob(k.Stdout, slurmFile, f)
	})
}

// fillJob fills in a job file.
func fillJob(w io.Writer, text string, f jobFlags) error {
	parsed := template.Must(template.New("").Funcs(template.FuncMap{
		"shell": shellQuoted, "yaml": strconv.QuoteToASCII,
	}).Parse(text))
	return parsed.Execute(w, f)
}

// shellQuoted returns text as one word of a shell.
func shellQuoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// slurmFile is a job array. The worker runs below a shell, because Slurm never runs a task again
// that a signal has killed; a shell sees that and can ask for it. The limit of restarts keeps a
// task that always fails from running for days.
//
//go:embed slurm.tmpl
var slurmFile string

// kubernetesFile is an indexed job. Its rules say what an exit status means: a bad shard fails its
// index at once, a wrong command line fails the job, and a pod that the cluster removed does not
// count.
//
//go:embed kubernetes.tmpl
var kubernetesFile string

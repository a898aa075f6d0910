package corpus

import (
	"cmp"
	"context"
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
		Long: "Template prints a job file with one task for each task of the manifest. Tasks " +
			"that end with 75 or are killed run again, and\na task that ends with 42 does not.\n" +
			"Slurm: the tasks must see CORPUS and the input by the same paths. Kubernetes: name " +
			"the image, and for a folder the\nclaim of the volume that has it; --as is its path " +
			"there.",
		Example: `  headwater corpus template slurm corpus > job.sh
  headwater corpus template kubernetes s3://results/pile/ --image headwater:1 --queue team`,
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
const slurmFile = `#!/bin/bash
# Makes the shards of a corpus. Submit it with: sbatch FILE
# Afterwards submit what is missing, until nothing is printed:
#   headwater corpus missing {{shell .Place}}
#   sbatch $(headwater corpus missing {{shell .Place}}) FILE
# Administrators can have the same in slurm.conf: JobRequeue=1 and RequeueExit={{.Retry}},137
#SBATCH --job-name={{.Name}}
#SBATCH --array=0-{{.Last}}%{{.Parallel}}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={{.Name}}-%A-%a.log
#SBATCH --cpus-per-task={{.CPUs}}
#SBATCH --mem={{.Memory}}M
#SBATCH --time={{.Time}}
#SBATCH --signal=B:TERM@60
{{- if .Queue}}
#SBATCH --partition={{.Queue}}
{{- end}}

headwater corpus run --workers {{.Workers}} {{shell .Place}} &
worker=$!
# The worker ends between two texts and says {{.Retry}}: try again.
trap 'kill -TERM "$worker" 2>/dev/null' TERM
wait "$worker"
status=$?
while kill -0 "$worker" 2>/dev/null; do
	wait "$worker"
	status=$?
done

# {{.Retry}} is try again, and above 128 a signal ended the worker. {{.Bad}} is a bad shard,
# which always fails.
if [ "$status" = {{.Retry}} ] || [ "$status" -gt 128 ]; then
	if [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ] && scontrol requeue "$SLURM_JOB_ID"; then
		sleep 60 # Slurm ends this script
	fi
fi
exit "$status"
`

// kubernetesFile is an indexed job. Its rules say what an exit status means: a bad shard fails its
// index at once, a wrong command line fails the job, and a pod that the cluster removed does not
// count.
const kubernetesFile = `# Makes the shards of a corpus. Submit it with: kubectl create -f FILE
# Afterwards submit it again under another name if this prints something:
#   headwater corpus missing CORPUS
apiVersion: batch/v1
kind: Job
metadata:
  name: {{yaml .Name}}
{{- if .Queue}}
  labels:
    kueue.x-k8s.io/queue-name: {{yaml .Queue}}
{{- end}}
spec:
{{- if .Queue}}
  suspend: true # Kueue starts it
{{- end}}
  completionMode: Indexed
  completions: {{.Tasks}}
  parallelism: {{.Parallel}}
  backoffLimitPerIndex: 5
  maxFailedIndexes: {{.Tasks}}
  podFailurePolicy:
    rules:
    - action: FailIndex # {{.Bad}}: a shard is bad, it would always fail
      onExitCodes:
        containerName: headwater
        operator: In
        values: [{{.Bad}}]
    - action: FailJob # {{.Usage}}: the command line is wrong, for every task
      onExitCodes:
        containerName: headwater
        operator: In
        values: [{{.Usage}}]
    - action: Ignore # the cluster took the node away
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
      containers:
      - name: headwater
        image: {{yaml .Image}}
        command: ["headwater", "corpus", "run", "--workers", "{{.Workers}}", {{yaml .Place}}]
        resources:
          requests:
            cpu: "{{.CPUs}}"
            memory: "{{.Memory}}Mi"
          limits:
            memory: "{{.Memory}}Mi"
{{- if .Claim}}
        volumeMounts:
        - name: data
          mountPath: {{yaml .Mount}}
      volumes:
      - name: data
        persistentVolumeClaim:
          claimName: {{yaml .Claim}}
{{- end}}
`

package corpus

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// corpusTexts are six records, two of them wrong.
const corpusTexts = `{"id":"keys","text":"the keys to the cabinet"}
{"id":1,"text":"the boys near the car"}
{"text":"no id"}
{"id":"forced","prompt":"the keys to the cabinet","continuation":" are"}
{"id":"keys","text":"the key to the cabinets"}
{"id":"dog","text":"the dog"}
`

// plannedCorpus writes an input and its plan, and returns both.
func plannedCorpus(t *testing.T, flags ...string) (input, to string) {
	t.Helper()
	dir := t.TempDir()
	input, to = filepath.Join(dir, "texts.jsonl"), filepath.Join(dir, "corpus")
	clitest.Write(t, input, []byte(corpusTexts))
	args := append([]string{
		"corpus", "plan", input, to, "--backend", "go", "--methods", "rollout,value-zeroing",
		"--max-tokens", "2", "--shards", "4",
	}, flags...)
	out := headwater.Output(t, args...)
	if !strings.Contains(out, "6 records in 4 shards, ") {
		t.Errorf("plan says %q", out)
	}
	return input, to
}

// The rows of a corpus are the numbers of headwater explain, in the order of the input.
func TestCorpus(t *testing.T) {
	_, to := plannedCorpus(t)
	if out := headwater.Output(t, "corpus", "missing", to); out != "--array=0-3\n" {
		t.Errorf("missing before the run says %q", out)
	}
	headwater.Output(t, "corpus", "run", to, "--workers", "2")
	if out := headwater.Output(t, "corpus", "missing", to); out != "" {
		t.Errorf("missing after the run says %q", out)
	}
	out := headwater.Output(t, "corpus", "verify", to)
	if !strings.HasPrefix(out, "4 shards, 6 records, 2 with an error\nsha256 of all shards ") {
		t.Errorf("verify says %q", out)
	}
	all := filepath.Join(t.TempDir(), "all.parquet")
	headwater.Output(t, "corpus", "merge", "-o", all, to)
	if text := clitest.Read(t, all); !bytes.HasPrefix(text, []byte("PAR1")) {
		t.Errorf("the merged file begins with %.4q", text)
	}
	rows := corpusRows(t, to)
	for _, c := range []struct {
		place string
		id    string
		wrong bool
		args  []string
	}{
		{"1", "keys", false, []string{"--max-tokens", "2", "the keys to the cabinet"}},
		{"2", "1", false, []string{"--max-tokens", "2", "the boys near the car"}},
		{"3", "", true, nil},
		{"4", "forced", false, []string{"--continuation", " are", "the keys to the cabinet"}},
		{"5", "keys", true, nil},
		{"6", "dog", false, []string{"--max-tokens", "2", "the dog"}},
	} {
		row := rows[c.place]
		if row.ID != c.id || (row.Result.Err != "") != c.wrong {
			t.Errorf("record %s has the id %q and the error %q", c.place, row.ID, row.Result.Err)
		}
		if !c.wrong {
			compareRow(t, row, c.args)
		}
	}
}

// corpusRow is a record and what a shard says of it.
type corpusRow struct {
	corpus.Record
	corpus.Result
}

// corpusRows returns the rows of a corpus by the numbers of their records.
func corpusRows(t *testing.T, to string) map[string]corpusRow {
	t.Helper()
	place, err := corpus.OpenPlace(to)
	must(t, err)
	c, err := corpus.Open(t.Context(), place)
	must(t, err)
	rows := map[string]corpusRow{}
	for shard := range c.Manifest.Shards {
		err := c.Rows(t.Context(), shard, func(r corpus.Record, result corpus.Result) error {
			rows[strconv.FormatInt(r.Number, 10)] = corpusRow{r, result}
			return nil
		})
		must(t, err)
	}
	if int64(len(rows)) != c.Manifest.Input.Records {
		t.Errorf("%d rows of %d records", len(rows), c.Manifest.Input.Records)
	}
	return rows
}

// compareRow compares a row with headwater explain.
func compareRow(t *testing.T, row corpusRow, args []string) {
	t.Helper()
	e := headwater.Explained(t, append([]string{"--methods", "rollout,value-zeroing"}, args...)...)
	if len(row.Texts) != len(e.Steps) || len(e.Steps) == 0 {
		t.Fatalf("%q: %d tokens, want %d", row.ID, len(row.Texts), len(e.Steps))
	}
	m := len(e.Prompt.IDs)
	for i, method := range []string{"rollout", "value-zeroing"} {
		r := e.Methods[method]
		for step := range e.Steps {
			for j, want := range r.Row(step, r.Level(step))[:m] {
				got := row.Methods[i].Scores[step*m+j]
				if got != float32(want) {
					t.Errorf("%q: %s of token %d, %d is %v, want %v", row.ID, method, step, j, got,
						float32(want))
				}
			}
		}
	}
}

// Targets and spans of a corpus are those of headwater explain, and its report takes them. A record
// whose text does not have what the target names has an error.
func TestCorpusTargets(t *testing.T) {
	groups := []string{"--by", "word", "--target", "0:2"}
	_, to := plannedCorpus(t, groups...)
	headwater.Output(t, "corpus", "run", to)
	rows := corpusRows(t, to)
	compareRow(t, rows["1"], append(groups, "--max-tokens", "2", "the keys to the cabinet"))
	if texts := rows["1"].Texts; len(texts) != 1 || len(strings.Fields(texts[0])) != 2 {
		t.Errorf("the target is %q", texts)
	}
	const want = "target 0:2; there is 1 generated token, from 0"
	if err := rows["4"].Result.Err; !strings.Contains(err, want) { // one token is given
		t.Errorf("record 4: error %q, want %q", err, want)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	headwater.Output(t, "corpus", "report", "-o", page, to)
	if !bytes.Contains(clitest.Read(t, page), []byte("sum over the target")) {
		t.Error("the report does not say what a value is")
	}
}

// A plan names the parts of its input that it leaves out, once for each reason.
func TestCorpusSaysWhatIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"in/a.txt", "in/README.md", "in/b.md", "other/c.txt"} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		clitest.Write(t, path, []byte("the keys\n"))
	}
	if err := os.Symlink("../other", filepath.Join(dir, "in", "sub")); err != nil {
		t.Skip(err)
	}
	status, _, stderr := headwater.Execute(t, "", "corpus", "plan", filepath.Join(dir, "in"),
		filepath.Join(dir, "out"), "--backend", "go", "--methods", "rollout")
	for _, want := range []string{
		"left out 2 files of the input, such as README.md: the name does not say what it is; " +
			"--format reads it\n",
		"left out sub: it is a link to a folder, which is not followed",
	} {
		if status != cli.StatusOK || !strings.Contains(stderr, want) {
			t.Errorf("status %d, says %q, want %q", status, stderr, want)
		}
	}
}

// Tasks that find their numbers in the variables of schedulers make the corpus of one process.
func TestCorpusTasks(t *testing.T) {
	input, alone := plannedCorpus(t, "--tasks", "4")
	headwater.Output(t, "corpus", "run", alone)
	want := headwater.Output(t, "corpus", "verify", alone)
	to := filepath.Join(t.TempDir(), "corpus")
	headwater.Output(t, "corpus", "plan", input, to, "--backend", "go", "--methods",
		"rollout,value-zeroing", "--max-tokens", "2", "--shards", "4", "--tasks", "4")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "1") // of a part that was submitted again: not used
	for _, c := range []struct{ variable, task, missing string }{
		{"SLURM_ARRAY_TASK_ID", "1", "--array=0,2,3\n"},
		{"JOB_COMPLETION_INDEX", "2", "--array=0,3\n"},
		{"AWS_BATCH_JOB_ARRAY_INDEX", "3", "--array=0\n"},
		{"HEADWATER_SHARD_INDEX", "0", ""},
	} {
		t.Setenv(c.variable, c.task)
		headwater.Output(t, "corpus", "run", to)
		if out := headwater.Output(t, "corpus", "missing", to); out != c.missing {
			t.Errorf("%s=%s: missing says %q, want %q", c.variable, c.task, out, c.missing)
		}
		if c.variable != "HEADWATER_SHARD_INDEX" {
			t.Setenv(c.variable, "")
		}
	}
	if got := headwater.Output(t, "corpus", "verify", to); got != want {
		t.Errorf("verify says %q, want %q", got, want)
	}
	// A task that is not there, by a number of tasks that is not that of the manifest.
	t.Setenv("HEADWATER_SHARDS", "2")
	t.Setenv("HEADWATER_SHARD_INDEX", "2")
	status, _, stderr := headwater.Execute(t, "", "corpus", "run", to)
	if status != cli.StatusUsage || !strings.Contains(stderr, "HEADWATER_SHARD_INDEX is 2, but "+
		"the number of tasks is 2, and they count from 0; submit these") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// The statuses by which a scheduler decides.
func TestCorpusStatuses(t *testing.T) {
	input, to := plannedCorpus(t)
	refused := func(name string, want int, say string, args ...string) {
		t.Helper()
		status, _, stderr := headwater.Execute(t, "", args...)
		if status != want || !strings.Contains(stderr, say) {
			t.Errorf("%s: status %d, error %q; want %d, %q", name, status, stderr, want, say)
		}
	}
	refused("another model", cli.StatusError, "the plan is for the model tiny with the hash",
		"corpus", "run", to, "--model", "tiny-alibi")
	refused("merge too early", cli.StatusError, "4 of 4 shards are missing or damaged: 0-3; "+
		"headwater corpus missing "+to+" prints which tasks to submit again", "corpus", "merge",
		"-o", filepath.Join(t.TempDir(), "all.parquet"), to)
	refused("verify too early", cli.StatusError, "4 of 4 shards are not as the manifest says; "+
		"headwater corpus missing "+to+" prints", "corpus", "verify", to)
	refused("shard beyond all", cli.StatusUsage, "--shard 4; the corpus has 4 shards", "corpus",
		"run", to, "--shard", "4")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := cli.Run(interrupted, headwater, []string{"corpus", "run", to}, nil, &stdout, &stderr)
	if status != cli.StatusRetry || !strings.Contains(stderr.String(), "interrupted; the shards "+
		"that are complete stay") {
		t.Errorf("interrupted: status %d, %s; want %d", status, &stderr, cli.StatusRetry)
	}
	clitest.Write(t, input, []byte(corpusTexts+"\n"))
	refused("changed input", cli.StatusBadShard, "has changed since the plan", "corpus", "run", to)
	clitest.Write(t, input, []byte(corpusTexts))
	headwater.Output(t, "corpus", "run", to, "--shard", "1")
	name := filepath.Join(to, filepath.FromSlash(corpus.ShardName(1)))
	other := filepath.Join(to, filepath.FromSlash(corpus.ShardName(2)))
	must(t, os.Rename(name, other))
	// By its footer it is another shard, so it is damaged and is made again.
	headwater.Output(t, "corpus", "run", to)
	headwater.Output(t, "corpus", "verify", to)
	must(t, os.RemoveAll(input))
	// nothing is left to do, and no input is needed
	headwater.Output(t, "corpus", "run", to)
	// An interruption that comes too late changes nothing.
	stderr.Reset()
	status = cli.Run(interrupted, headwater, []string{"corpus", "run", to}, nil, &stdout, &stderr)
	if status != cli.StatusOK || !strings.Contains(stderr.String(), "all 4 shards are complete") {
		t.Errorf("interrupted at the end: status %d, %s", status, &stderr)
	}
}

// A page of a corpus that is not complete, with a word that is in no text.
func TestCorpusReport(t *testing.T) {
	_, to := plannedCorpus(t)
	page := filepath.Join(t.TempDir(), "page.html")
	args := []string{"corpus", "report", "-o", page, "--word", "cabinet", "--word", "zebra", to}
	status, _, stderr := headwater.Execute(t, "", args...)
	if status != cli.StatusError || !strings.Contains(stderr, "none of the 4 shards in") {
		t.Errorf("before the run: status %d, %s", status, stderr)
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("there is a page of nothing")
	}
	headwater.Output(t, "corpus", "run", to)
	must(t, os.Remove(filepath.Join(to, filepath.FromSlash(corpus.ShardName(1)))))
	status, _, stderr = headwater.Execute(t, "", args...)
	for _, want := range []string{
		"note: 1 of 4 shards are missing or damaged", `note: the word "zebra" is in no text`,
	} {
		if status != 0 || !strings.Contains(stderr, want) {
			t.Errorf("status %d, %s; want %s", status, stderr, want)
		}
	}
	text := clitest.Read(t, page)
	for _, want := range []string{"1 of 4 shards", "zebra", "value-zeroing", "max_tokens 2"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page has no %q", want)
		}
	}
	status, _, stderr = headwater.Execute(t, "", "corpus", "report", "-o", page, "--method",
		"rolout", to)
	if status != cli.StatusUsage || !strings.Contains(stderr, "--method: the corpus has no "+
		`method "rolout"; did you mean rollout?`) {
		t.Errorf("status %d, %s", status, stderr)
	}
	if !bytes.Equal(clitest.Read(t, page), text) {
		t.Error("a command that failed changed the page")
	}
}

func TestCorpusRefusals(t *testing.T) {
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"report to nowhere", []string{"corpus", "report", "OUT"}, "", 2, "report needs --output"},
		{"report of no corpus", []string{"corpus", "report", "OUT", "-o", "OUT"}, "", 1, "has no manifest.json; plan the corpus first"},
		{"report beside nothing", []string{"corpus", "report", "OUT", "-o", "/no/such/page.html"}, "", 1, "the directory /no/such/ does not exist"},
		{"empty word", []string{"corpus", "report", "OUT", "-o", "page.html", "--word", " "}, "", 2, "--word: word 1 is empty"},
		{"top", []string{"corpus", "report", "OUT", "-o", "page.html", "--top", "0"}, "", 2, "want a whole number from 1 to 1000"},
		{"nothing to do", []string{"corpus"}, "", 2, "corpus needs what to do"},
		{"unknown command", []string{"corpus", "paln"}, "", 2, `unknown command "paln"; did you mean plan?`},
		{"no corpus", []string{"corpus", "plan", "in"}, "", 2, "plan needs INPUT and CORPUS, got 1 argument;"},
		{"no plan", []string{"corpus", "run", "OUT"}, "", 1, "has no manifest.json; plan the corpus first"},
		{"no input", []string{"corpus", "plan", "/nope", "OUT"}, "", 1, "the input /nope: no such file or directory"},
		{"format", []string{"corpus", "plan", ".", "OUT", "--format", "json"}, "", 2, `--format "json" is unknown; did you mean jsonl?`},
		{"no shards", []string{"corpus", "plan", ".", "OUT", "--shards", "0"}, "", 2, `--shards "0": want a whole number from 1 to 100000`},
		{"continuation of all", []string{"corpus", "plan", ".", "OUT", "--continuation", "a"}, "", 2, "unknown flag: --continuation"},
		{"options", []string{"corpus", "plan", ".", "OUT", "--max-tokens", "0"}, "", 2, `--max-tokens "0": want`},
		{"task and shard", []string{"corpus", "run", "OUT", "--task", "1", "--shard", "2"}, "", 2, "--shard makes one shard"},
		{"tasks without a task", []string{"corpus", "run", "OUT", "--tasks", "3"}, "", 2, "--tasks 3 needs the number of this task: --task, from 0 to 2"},
		{"merge to nowhere", []string{"corpus", "merge", "OUT"}, "", 2, "merge needs --output"},
		{"scheduler", []string{"corpus", "template", "k8s", "OUT"}, "", 2, `template "k8s" is unknown`},
		{"image", []string{"corpus", "template", "kubernetes", "OUT"}, "", 2, "needs --image"},
		{"folder of a pod", []string{"corpus", "template", "kubernetes", "OUT", "--image", "i"}, "", 2, "do not see the folder"},
		{"name of a job", []string{"corpus", "template", "slurm", "OUT", "--name", "A b"}, "", 2, `--name "A b": want small letters`},
		{"line break", []string{"corpus", "template", "slurm", "OUT", "--queue", "a\nb"}, "", 2, "letters, digits and @:_./- only"},
		{"no bucket", []string{"corpus", "run", "s3://"}, "", 1, "the bucket s3:// cannot be opened"},
		{"bucket of Google", []string{"corpus", "run", "gs://b/c"}, "", 1, "s3://BUCKET/FOLDER?endpoint=storage.googleapis.com"},
		{"bucket of Azure", []string{"corpus", "run", "azblob://b/c"}, "", 1, "mount it with blobfuse2"},
	})
}

// The job of Slurm is a script that ends with the status of the worker, and asks for another run
// exactly if that may help.
func TestSlurmTemplate(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	_, to := plannedCorpus(t, "--tasks", "3")
	text := headwater.Output(t, "corpus", "template", "slurm", to, "--queue", "gpu",
		"--as", "/it's here", "--workers", "4")
	for _, want := range []string{
		"#SBATCH --array=0-2%3\n", "#SBATCH --requeue\n", "#SBATCH --partition=gpu\n",
		`headwater corpus run --workers 4 '/it'\''s here' &`, "RequeueExit=75,137",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the job has no %q:\n%s", want, text)
		}
	}
	dir := t.TempDir()
	job := filepath.Join(dir, "job.sh")
	clitest.Write(t, job, []byte(text))
	for program, script := range map[string]string{
		"headwater": "#!/bin/sh\n[ \"$5\" = \"/it's here\" ] || exit 9\n" +
			"[ $END -gt 128 ] && kill -9 $$\nexit $END\n",
		"scontrol": "#!/bin/sh\necho \"$@\" >>" + filepath.Join(dir, "requeued") + "\n",
		"sleep":    "#!/bin/sh\n",
	} {
		path := filepath.Join(dir, program)
		clitest.Write(t, path, []byte(script))
		if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		end, restarts string
		requeued      bool
	}{
		{"0", "", false},
		{"1", "", false},
		{"42", "", false},
		{"75", "", true},
		{"75", "4", true},
		{"75", "5", false},
		{"137", "", true},
	} {
		os.Remove(filepath.Join(dir, "requeued"))
		cmd := exec.Command(bash, job)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
			"END="+c.end, "SLURM_JOB_ID=7", "SLURM_RESTART_COUNT="+c.restarts)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); strconv.Itoa(got) != c.end {
			t.Errorf("status %s becomes %d: %s", c.end, got, out)
		}
		asked, err := os.ReadFile(filepath.Join(dir, "requeued"))
		if (err == nil) != c.requeued || c.requeued && string(asked) != "requeue 7\n" {
			t.Errorf("status %s after %q restarts asks for %q, want %v", c.end, c.restarts, asked,
				c.requeued)
		}
	}
}

func TestKubernetesTemplate(t *testing.T) {
	_, to := plannedCorpus(t, "--tasks", "3")
	plain := headwater.Output(t, "corpus", "template", "kubernetes", to, "--image",
		"repo/image:1", "--as", "s3://b/c?region=x")
	for _, want := range []string{
		"completionMode: Indexed", "completions: 3\n", "backoffLimitPerIndex: 5",
		"restartPolicy: Never", "values: [42]", "values: [2]", "type: DisruptionTarget",
		`command: ["headwater", "corpus", "run", "--workers", "1", "s3://b/c?region=x"]`,
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("the job has no %q:\n%s", want, plain)
		}
	}
	queued := headwater.Output(t, "corpus", "template", "kubernetes", to, "--image", "i",
		"--claim", "data-claim", "--queue", "team")
	for _, want := range []string{
		`kueue.x-k8s.io/queue-name: "team"`, "suspend: true", `claimName: "data-claim"`,
		`mountPath: "/data"`,
	} {
		if !strings.Contains(queued, want) || strings.Contains(plain, want) {
			t.Errorf("%q should be in the job with a queue and a claim alone:\n%s", want, queued)
		}
	}
}

// BenchmarkCorpusRun makes a corpus of short texts with one worker: what is not the model's work
// should be little of it.
func BenchmarkCorpusRun(b *testing.B) {
	const texts = 2048
	dir := b.TempDir()
	input := filepath.Join(dir, "texts.jsonl")
	var lines bytes.Buffer
	random, grammar, kinds := rand.New(rand.NewPCG(1, 2)), tiny.New(tiny.Train), tiny.Kinds()
	for i := range texts {
		document := grammar.Document(random, kinds[i%len(kinds)])
		fmt.Fprintf(&lines, "{\"id\":%d,\"text\":%q}\n", i, document.Prompt(document.Answers[0]))
	}
	must(b, os.WriteFile(input, lines.Bytes(), 0o600))
	headwater := func(args ...string) {
		var out, problems bytes.Buffer
		args = append([]string{"corpus"}, args...)
		if status := cli.Run(b.Context(), headwater, args, nil, &out,
			&problems); status != cli.StatusOK {
			b.Fatalf("headwater %q: status %d, %s", args, status, &problems)
		}
	}
	for i := range b.N {
		b.StopTimer()
		to := filepath.Join(dir, strconv.Itoa(i))
		headwater("plan", input, to, "--backend", "go", "--methods", "rollout", "--shards", "4")
		b.StartTimer()
		headwater("run", to)
	}
	b.ReportMetric(texts*float64(b.N)/b.Elapsed().Seconds(), "texts/s")
}

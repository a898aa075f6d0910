// Package cluster runs headwater corpus as schedulers do: as tasks that start in any order, twice,
// on several machines, and are killed at any time. Whatever happens to them, every record must be
// there once, and the merged file must have the bytes that one undisturbed process writes.
//
// TestShell needs nothing but a shell. TestSlurm starts a real cluster on loopback and takes
// minutes, so it runs only where HEADWATER_SLURM is set; run.sh installs Slurm and sets it.
package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/internal/e2e/command"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// The statuses with which headwater corpus run ends.
const (
	succeeded = 0
	badShard  = 42
	tryAgain  = 75
)

// corpus is a corpus in a folder, and the command that makes it.
type corpus struct {
	t       *testing.T
	command string
	folder  string
}

// texts is an input whose records take a given number of words each. The records differ in length,
// as those of a real data set do.
func texts(t *testing.T, records, words int) string {
	t.Helper()
	people := []string{"mary", "john", "alice", "peter", "susan", "david"}
	things := []string{"key", "lamp", "book", "umbrella", "ball", "letter", "cup"}
	colors := []string{"red", "blue", "green", "white", "black"}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for r := range records {
		var prompt strings.Builder
		length := words/2 + r*7%(words/2+1)
		for w := 0; w < length; w += 6 {
			fmt.Fprintf(&prompt, "%s has the %s %s . ", people[(r+w)%len(people)],
				colors[(r/3+w)%len(colors)], things[(r/2+w)%len(things)])
		}
		fmt.Fprintf(&prompt, "who has the %s ?", things[r/2%len(things)])
		record := map[string]string{"id": recordID(r), "text": prompt.String()}
		must(t, enc.Encode(record))
	}
	path := filepath.Join(t.TempDir(), "texts.jsonl")
	must(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

func recordID(r int) string { return fmt.Sprintf("text-%04d", r) }

// plan makes the plan of a corpus in a new folder.
func plan(t *testing.T, command, input, folder string, args ...string) corpus {
	t.Helper()
	c := corpus{t, command, folder}
	c.must(slices.Concat([]string{"plan", input, folder, "--backend", "go"}, args)...)
	return c
}

// must runs headwater corpus with arguments, which has to succeed, and returns what it prints.
func (c corpus) must(args ...string) string {
	c.t.Helper()
	stdout, stderr, status := c.run(nil, args...)
	if status != succeeded {
		c.t.Fatalf("headwater corpus %s ends with status %d: %s", strings.Join(args, " "), status,
			stderr)
	}
	return stdout
}

// run runs headwater corpus with arguments and more variables of the environment.
func (c corpus) run(env []string, args ...string) (stdout, stderr string, status int) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.command, append([]string{"corpus"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// merged checks a finished corpus and returns the hash of its merged file.
func (c corpus) merged(records int) string {
	c.t.Helper()
	c.must("verify", c.folder)
	path := filepath.Join(c.t.TempDir(), "merged.parquet")
	c.must("merge", c.folder, "-o", path)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	rows, err := parquet.Read[struct {
		ID    string  `parquet:"id"`
		Error *string `parquet:"error,optional"`
	}](bytes.NewReader(text), int64(len(text)))
	if err != nil {
		c.t.Fatal(err)
	}
	count := make(map[string]int)
	for _, row := range rows {
		count[row.ID]++
		if row.Error != nil {
			c.t.Errorf("%s: %s", row.ID, *row.Error)
		}
	}
	want := make(map[string]int)
	for r := range records {
		want[recordID(r)] = 1
	}
	if !maps.Equal(count, want) {
		c.t.Errorf("the merged file has the records %v, want each of %d once", count, records)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// unfinished returns the files of shards that are not complete.
func (c corpus) unfinished() []string {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.folder, "shards", ".*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return paths
}

// task is the environment of a task under a scheduler that sets no variables of its own.
func task(t, of int) []string {
	return []string{
		"HEADWATER_SHARD_INDEX=" + strconv.Itoa(t), "HEADWATER_SHARDS=" + strconv.Itoa(of),
	}
}

// headwater returns the path of the command.
func headwater(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs some dozens of commands")
	}
	return command.Path(t)
}

// missingTasks returns the numbers of the tasks that must be submitted again.
func (c corpus) missingTasks(args ...string) []string {
	c.t.Helper()
	out := c.must(slices.Concat([]string{"missing", c.folder}, args)...)
	_, list, found := strings.Cut(strings.TrimSpace(out), "--array=")
	if !found {
		return nil
	}
	var tasks []string
	for part := range strings.SplitSeq(list, ",") {
		var first, last int
		if n, _ := fmt.Sscanf(part, "%d-%d", &first, &last); n < 2 {
			last = first
		}
		for ; first <= last; first++ {
			tasks = append(tasks, strconv.Itoa(first))
		}
	}
	return tasks
}

// writer returns the number of the process that writes an unfinished file, which its name has.
func writer(path string) int {
	found := regexp.MustCompile(`\.(\d+)-\d+\.tmp$`).FindStringSubmatch(path)
	if found == nil {
		return 0
	}
	pid, _ := strconv.Atoi(found[1])
	return pid
}

var must = testhelp.Must // ends a test at an error

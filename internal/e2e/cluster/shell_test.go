package cluster

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestShell runs the tasks of a corpus in a loop of the shell: each twice, in a random order, and
// some are killed in the middle of a shard.
func TestShell(t *testing.T) {
	const (
		records = 30
		tasks   = 5
		kills   = 3
	)
	bin, input := headwater(t), texts(t, records, 40)
	alone := plan(t, bin, input, filepath.Join(t.TempDir(), "alone"), "--shards", "10")
	alone.must("run", alone.folder)
	want := alone.merged(records)

	c := plan(t, bin, input, filepath.Join(t.TempDir(), "corpus"), "--shards", "10")
	var order []string
	for i := range 2 * tasks {
		order = append(order, strconv.Itoa(i%tasks))
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	loop := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `
		for task in "$@"; do
			HEADWATER_SHARD_INDEX=$task HEADWATER_SHARDS=$TASKS "$HEADWATER" corpus run "$CORPUS"
			echo "status $?"
		done`, "sh"}, order...)...)
	loop.Env = append(os.Environ(), "TASKS="+strconv.Itoa(tasks), "HEADWATER="+bin,
		"CORPUS="+c.folder)
	ended := make(chan struct{})
	killed := make(chan int)
	go func() { killed <- killWorkers(c, kills, ended) }()
	out, err := loop.Output()
	close(ended)
	if n := <-killed; n != kills {
		t.Fatalf("%d workers were killed, want %d: the test does not test", n, kills)
	}
	must(t, err)
	// 128 + 9 is how a shell says that a program was killed.
	if n := strings.Count(string(out), "status 137\n"); n != kills {
		t.Errorf("%d tasks ended because they were killed, want %d:\n%s", n, kills, out)
	}
	if n := strings.Count(string(out), "status 0\n"); n != len(order)-kills {
		t.Errorf("%d tasks succeeded, want %d:\n%s", n, len(order)-kills, out)
	}
	for _, number := range c.missingTasks("--tasks", strconv.Itoa(tasks)) {
		n, err := strconv.Atoi(number)
		must(t, err)
		if _, stderr, status := c.run(task(n, tasks), "run", c.folder); status != succeeded {
			t.Errorf("task %d, submitted again, ends with status %d: %s", n, status, stderr)
		}
	}
	if left := c.missingTasks(); len(left) != 0 {
		t.Errorf("missing names the tasks %v of a finished corpus", left)
	}
	if got := c.merged(records); got != want {
		t.Error("the merged file differs from that of one undisturbed process")
	}
}

// killWorkers kills n workers, each in the middle of a shard, and returns how many it killed.
func killWorkers(c corpus, n int, ended <-chan struct{}) int {
	killed := make(map[int]bool)
	for len(killed) < n {
		select {
		case <-ended:
			return len(killed)
		case <-time.After(time.Millisecond):
		}
		for _, path := range c.unfinished() {
			pid := writer(path)
			if pid == 0 || killed[pid] || len(killed) == n {
				continue
			}
			if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
				killed[pid] = true
			}
		}
	}
	return len(killed)
}

// TestTwoWorkersForOneTask is what happens when a scheduler believes a node to be lost that still
// works: the same task runs twice at the same time.
func TestTwoWorkersForOneTask(t *testing.T) {
	const records = 16
	bin, input := headwater(t), texts(t, records, 40)
	alone := plan(t, bin, input, filepath.Join(t.TempDir(), "alone"), "--shards", "2")
	alone.must("run", alone.folder)
	want := alone.merged(records)

	c := plan(t, bin, input, filepath.Join(t.TempDir(), "corpus"), "--shards", "2")
	type outcome struct {
		stderr string
		status int
	}
	outcomes := make(chan outcome)
	for range 2 {
		go func() {
			_, stderr, status := c.run(nil, "run", c.folder)
			outcomes <- outcome{stderr, status}
		}()
	}
	for range 2 {
		if o := <-outcomes; o.status != succeeded {
			t.Errorf("a worker ends with status %d: %s", o.status, o.stderr)
		}
	}
	if left := c.unfinished(); len(left) != 0 {
		t.Errorf("unfinished files are left: %v", left)
	}
	if got := c.merged(records); got != want {
		t.Error("the merged file differs from that of one process")
	}
}

package corpus_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/bucket/buckettest"
)

// The bytes of a corpus do not depend on the number of workers, on how tasks divide the shards, or
// on whether it is a folder or a bucket.
func TestEqualBytes(t *testing.T) {
	input := texts(t, 300)
	m := plan(t, input, 9, 0)
	p, _ := folder(t)
	want := whole(t, create(t, p, m), input)
	for _, c := range []struct {
		name           string
		tasks, workers int
		bucket         bool
	}{
		{"four workers", 1, 4, false},
		{"three tasks", 3, 1, false},
		{"more tasks than shards", 20, 2, false},
		{"a bucket", 2, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := folder(t)
			if c.bucket {
				p = bucketPlace(t, buckettest.New(t), "some/folder")
			}
			made := create(t, p, m)
			for task := c.tasks - 1; task >= 0; task-- {
				r := runner(t, made, input, made.ShardsOf(task, c.tasks))
				r.Workers = c.workers
				if _, err := r.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := verified(t, made); got != want {
				t.Errorf("sha256 %s, want %s", got, want)
			}
		})
	}
}

// Every record is in the corpus once, and a second run does nothing.
func TestEveryRecordOnce(t *testing.T) {
	input := texts(t, 200)
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 5, 0))
	first, err := runner(t, c, input, c.ShardsOf(0, 1)).Run(t.Context())
	must(t, err)
	// texts adds 3 wrong records for each 50; the empty lines between them are none.
	if want := int64(200 + 4*3); first.Records != want || first.Written != 5 {
		t.Errorf("%d records in %d shards, want %d in 5", first.Records, first.Written, want)
	}
	before := verified(t, c)
	second, err := runner(t, c, input, c.ShardsOf(0, 1)).Run(t.Context())
	if err != nil || second.Skipped != 5 || second.Written != 0 || second.Records != 0 {
		t.Errorf("the second run: %+v, %v; want 5 skipped", second, err)
	}
	if after := verified(t, c); after != before {
		t.Errorf("sha256 %s after the second run, want %s", after, before)
	}
}

// A task that is interrupted leaves what was complete and no half of a shard.
func TestInterrupted(t *testing.T) {
	input := texts(t, 300)
	p, dir := folder(t)
	c := create(t, p, plan(t, input, 6, 0))
	ctx, cancel := context.WithCancel(t.Context())
	r := runner(t, c, input, c.ShardsOf(0, 1))
	var groups int
	r.Explainer = fake{before: func(ctx context.Context) error {
		if groups++; groups == 4 { // in the fourth shard
			cancel()
		}
		return ctx.Err()
	}}
	stats, err := r.Run(ctx)
	if !errors.Is(err, context.Canceled) || stats.Written < 1 || stats.Written > 5 {
		t.Fatalf("interrupted: %+v, %v", stats, err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "shards"))
	if err != nil || len(names) != stats.Written {
		t.Errorf("%d files for %d shards: %v", len(names), stats.Written, err)
	}
	missing, shards, err := c.MissingTasks(t.Context(), 3)
	if err != nil || len(shards) != 6-stats.Written || len(missing) == 0 {
		t.Errorf("missing tasks %v, shards %v, %v", missing, shards, err)
	}
	other, _ := folder(t)
	want := whole(t, create(t, other, c.Manifest), input)
	if got := whole(t, c, input); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
}

// Two runs of one shard at the same time end well, with the bytes of one of them.
func TestTwoOfOneShard(t *testing.T) {
	input := texts(t, 100)
	m := plan(t, input, 1, 0)
	for _, bucket := range []bool{false, true} {
		p, _ := folder(t)
		if bucket {
			p = bucketPlace(t, buckettest.New(t), "")
		}
		c := create(t, p, m)
		var begun, done sync.WaitGroup
		begun.Add(2)
		for range 2 {
			r := runner(t, c, input, []int{0})
			var once sync.Once
			r.Explainer = fake{before: func(context.Context) error {
				once.Do(func() {
					begun.Done()
					begun.Wait() // both have seen that the shard is missing
				})
				return nil
			}}
			done.Go(func() {
				stats, err := r.Run(t.Context())
				if err != nil || stats.Written+stats.Skipped != 1 {
					t.Errorf("bucket %v: %+v, %v", bucket, stats, err)
				}
			})
		}
		done.Wait()
		verified(t, c)
	}
}

// workerEnv is set in the processes that TestKilledProcesses starts: the input and the folder.
const workerEnv = "HEADWATER_TEST_CORPUS_WORKER"

// TestWorkerProcess is a task of TestKilledProcesses, and nothing otherwise.
func TestWorkerProcess(t *testing.T) {
	input, dir, ok := strings.Cut(os.Getenv(workerEnv), "|")
	if !ok {
		t.Skip("it is a worker of TestKilledProcesses")
	}
	task, err := strconv.Atoi(os.Getenv("HEADWATER_SHARD_INDEX"))
	must(t, err)
	p, err := corpus.OpenPlace(dir)
	must(t, err)
	c, err := corpus.Open(t.Context(), p)
	must(t, err)
	r := runner(t, c, input, c.ShardsOf(task, c.Manifest.Tasks))
	r.Explainer = fake{before: func(ctx context.Context) error {
		return wait(ctx, 20*time.Millisecond)
	}}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a scheduler does: tasks run as processes in random order, two at a time, some are killed in
// the middle and some run twice. Then what is missing runs again. The bytes are those of one
// process, and no unfinished file is left.
func TestKilledProcesses(t *testing.T) {
	const tasks = 8
	input := texts(t, 400)
	m := plan(t, input, 16, tasks)
	alone, _ := folder(t)
	want := whole(t, create(t, alone, m), input)

	p, dir := folder(t)
	c := create(t, p, m)
	random := rand.New(rand.NewPCG(3, 4))
	queue := append(random.Perm(tasks), random.Perm(tasks)[:3]...)
	killed, rounds := 0, 0
	for ; len(queue) > 0 && rounds < 5; rounds++ {
		killed += workers(t, input, dir, queue, rounds == 0)
		var err error
		if queue, _, err = c.MissingTasks(t.Context(), tasks); err != nil {
			t.Fatal(err)
		}
	}
	if killed == 0 || rounds < 2 {
		t.Fatalf("%d workers killed and %d rounds; the test proves nothing", killed, rounds)
	}
	if got := verified(t, c); got != want {
		t.Errorf("sha256 %s after %d rounds, want %s", got, rounds, want)
	}
	files, err := os.ReadDir(filepath.Join(dir, "shards"))
	if err != nil || len(files) != len(m.Shards) {
		t.Errorf("%d files in the end, want %d: %v", len(files), len(m.Shards), err)
	}
}

// workers runs tasks as processes, two at a time, and kills every third one if kill is set. It
// returns how many it has killed.
func workers(t *testing.T, input, dir string, queue []int, kill bool) (killed int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range 2 {
		all.Go(func() {
			for i := range next {
				//nolint:gosec // the program is this test
				cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
				cmd.Env = append(os.Environ(), workerEnv+"="+input+"|"+dir,
					"HEADWATER_SHARD_INDEX="+strconv.Itoa(queue[i]))
				if err := cmd.Start(); err != nil {
					t.Error(err)
					continue
				}
				if kill && i%3 == 0 {
					killMidway(dir, cmd.Process)
					mu.Lock()
					killed++
					mu.Unlock()
				}
				if err := cmd.Wait(); err != nil && (!kill || i%3 != 0) {
					t.Errorf("task %d: %v", queue[i], err)
				}
			}
		})
	}
	for i := range queue {
		next <- i
	}
	close(next)
	all.Wait()
	return killed
}

// killMidway kills a process as soon as it is writing a shard, or after two seconds.
func killMidway(dir string, p *os.Process) {
	own := "." + strconv.Itoa(p.Pid) + "-"
	for range 400 {
		entries, _ := os.ReadDir(filepath.Join(dir, "shards"))
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".tmp") && strings.Contains(e.Name(), own) {
				_ = p.Kill()
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = p.Kill()
}

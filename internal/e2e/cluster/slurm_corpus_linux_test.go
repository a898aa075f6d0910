package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// arraySize is the size of the arrays that Slurm gets, in tasks.
const arraySize = 8

// anyTasks means that any tasks may be missing after an array.
const anyTasks = -1

// TestSlurm submits the job file that the command writes to a real Slurm and disturbs the cluster
// while the tasks run. Submitting again what headwater corpus missing names is all that a user has
// to do afterwards.
func TestSlurm(t *testing.T) {
	if os.Getenv("HEADWATER_SLURM") == "" {
		t.Skip("takes minutes: internal/e2e/cluster/run.sh installs Slurm and sets HEADWATER_SLURM")
	}
	const records = 96
	bin, input := headwater(t), texts(t, records, 90)
	alone := plan(t, bin, input, filepath.Join(t.TempDir(), "alone"), "--shards", "16")
	alone.must("run", alone.folder)
	want := alone.merged(records)

	s := startSlurm(t)
	env := s.recordStarts(bin)
	for _, c := range []struct {
		name    string
		disturb func(s *slurm, c corpus, job string)
		// starts is how many workers must have been started in the end, and missing how many tasks
		// must be missing after the array, or the test tests nothing; anyTasks if that is chance.
		starts, missing int
		// again is how often what is missing is submitted again. Only a killed controller makes a
		// task that does not start, and that its user has to take back.
		again int
	}{
		{"nothing happens", func(*slurm, corpus, string) {}, arraySize, 0, 0},
		{"a task is cancelled", (*slurm).cancelLast, arraySize, 1, 1},
		{"a worker is killed", (*slurm).killWorker, arraySize + 1, 0, 0},
		{"a node is lost", (*slurm).loseNode, arraySize + 1, 0, 0},
		{"the controller restarts", (*slurm).restartController, arraySize, 0, 0},
		{"the controller is killed", (*slurm).killController, arraySize, anyTasks, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			folder := s.path(strings.ReplaceAll(c.name, " ", "-"))
			plan := plan(t, bin, input, folder, "--shards", "16",
				"--tasks", strconv.Itoa(arraySize))
			job := folder + ".sh"
			text := plan.must("template", "slurm", folder)
			must(t, os.WriteFile(job, []byte(text), 0o755))
			start := time.Now()
			id := s.submit(s.dir, job, env)
			s.eventually("each node writes a shard", func() bool {
				return len(s.writers(plan)) == nodes
			})
			c.disturb(s, plan, id)
			ended, all := s.waitAtMost(id, patience/2)
			if !all && c.again > 1 {
				s.takeBack(id)
			} else if !all {
				t.Fatalf("the array has not ended after %v: %v", patience/2, ended)
			}
			missing := plan.missingTasks()
			t.Logf("after %.0f s: %v, missing %v, %d starts", time.Since(start).Seconds(), ended,
				missing, s.starts(folder))
			if len(missing) != c.missing && c.missing != anyTasks {
				t.Errorf("the tasks %v are missing, want %d", missing, c.missing)
			}
			for again := 0; len(missing) > 0 && again < c.again; again++ {
				id := s.submit(s.dir, job, env, "--array="+strings.Join(missing, ","))
				if ended, all := s.waitAtMost(id, time.Minute); all {
					t.Logf("submitted again: %v", ended)
				} else {
					t.Logf("submitted again: does not end in a minute: %v", ended)
					s.takeBack(id)
				}
				missing = plan.missingTasks()
			}
			if n := s.starts(folder); n < c.starts {
				t.Errorf("%d workers were started, want at least %d", n, c.starts)
			}
			if len(missing) > 0 {
				t.Errorf("the tasks %v are missing after they were submitted again", missing)
			}
			if got := plan.merged(records); got != want {
				t.Error("the merged file differs from that of one undisturbed process")
			}
		})
	}
}

// recordStarts makes a command headwater that notes each start and then is the real one. It returns
// the variables of a user who calls it.
func (s *slurm) recordStarts(bin string) []string {
	s.t.Helper()
	if err := os.Mkdir(s.path("bin"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$SLURM_ARRAY_TASK_ID $SLURMD_NODENAME $*\" >>%s\n"+
		"exec %s \"$@\"\n", s.path("starts"), bin)
	if err := os.WriteFile(s.path("bin/headwater"), []byte(script), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return []string{"PATH=" + s.path("bin") + ":" + os.Getenv("PATH")}
}

// starts returns how many workers were started for a corpus.
func (s *slurm) starts(folder string) int {
	s.t.Helper()
	text, err := os.ReadFile(s.path("starts"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), folder+"\n")
}

// writers returns the processes that write a shard at this moment, by their nodes.
func (s *slurm) writers(c corpus) map[string]int {
	s.t.Helper()
	found := make(map[string]int)
	for _, path := range c.unfinished() {
		pid := writer(path)
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue // it has ended
		}
		for v := range strings.SplitSeq(string(env), "\x00") {
			if node, ok := strings.CutPrefix(v, "SLURMD_NODENAME="); ok {
				found[node] = pid
			}
		}
	}
	return found
}

// cancelLast takes the last task out of the array, as a user does by mistake.
func (s *slurm) cancelLast(_ corpus, job string) {
	s.t.Helper()
	if _, err := s.try("scancel", job+"_"+strconv.Itoa(arraySize-1)); err != nil {
		s.t.Fatal(err)
	}
}

// killWorker ends a worker in the middle of a shard, as a machine does that has no memory left.
func (s *slurm) killWorker(c corpus, _ string) {
	s.t.Helper()
	s.eventually("a worker is killed", func() bool {
		for _, node := range slices.Sorted(maps.Keys(s.writers(c))) {
			if syscall.Kill(s.writers(c)[node], syscall.SIGKILL) == nil {
				return true
			}
		}
		return false
	})
}

// loseNode ends a node whose task is in the middle of a shard. The node returns after the test.
func (s *slurm) loseNode(c corpus, _ string) {
	s.t.Helper()
	s.eventually("n2 writes a shard", func() bool { return s.writers(c)["n2"] != 0 })
	s.crash("n2")
	s.t.Cleanup(func() {
		s.startNode("n2")
		s.waitForNodes(nodes)
	})
}

// restartController ends the controller as an administrator does who installs a new version.
func (s *slurm) restartController(corpus, string) {
	s.t.Helper()
	end(s.t, s.controller, syscall.SIGTERM)
	time.Sleep(time.Second)
	s.startController()
}

// killController ends the controller as a crash does. Slurm saves its state at most every 5 s,
// which is no setting (SAVE_MAX_WAIT in its source). It forgets what it was told later: the array,
// or that its tasks run, and then it starts them again and drains the nodes, which know their
// numbers. The user takes the array back, and the administrator resumes the nodes.
func (s *slurm) killController(_ corpus, job string) {
	s.t.Helper()
	end(s.t, s.controller, syscall.SIGKILL)
	time.Sleep(time.Second)
	s.startController()
	s.eventually("the controller answers", func() bool {
		_, err := s.try("sinfo")
		return err == nil
	})
	time.Sleep(5 * time.Second) // in which the nodes say what they run
	s.takeBack(job)
}

// takeBack cancels a job, as its user does, and resumes the nodes, as an administrator does.
func (s *slurm) takeBack(job string) {
	s.t.Helper()
	if _, err := s.try("scancel", job); err != nil {
		s.t.Log(err) // the controller may have forgotten it
	}
	s.eventually("the workers end", func() bool { return len(s.processes("")) == 0 })
	for n := range nodes {
		_, err := s.try("scontrol", "update", "NodeName="+nodeName(n), "State=RESUME")
		s.t.Logf("resume %s: %v", nodeName(n), err) // refused if the node is not drained
	}
	s.waitForNodes(nodes)
}

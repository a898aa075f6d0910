package cluster

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	nodes = 3
	// slots is how many tasks a node runs at once, whatever the machine has.
	slots = 2
	// patience is how long the slowest thing may take that is waited for: a node that Slurm has to
	// miss, with its tasks run again, takes half a minute on an idle machine.
	patience = 4 * time.Minute
)

// slurm is a cluster of this test alone: every daemon listens on loopback and keeps its files in
// one folder. Several daemons stand for several machines.
type slurm struct {
	t          *testing.T
	dir        string
	controller *exec.Cmd
	daemons    map[string]*exec.Cmd // by the name of the node
	all        []*exec.Cmd          // what was started, those that have ended included
}

// startSlurm starts a cluster and ends it after the test. It needs no right that the user lacks.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	// The path of munge's socket must be short, and every user must be able to reach it.
	dir, err := os.MkdirTemp("/tmp", "slurm-")
	must(t, err)
	s := &slurm{t: t, dir: dir, daemons: make(map[string]*exec.Cmd)}
	t.Cleanup(func() {
		if t.Failed() {
			s.showLogs()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	must(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"state", "log", "munge"} {
		must(t, os.Mkdir(s.path(name), 0o755))
	}
	s.endWithTest()
	s.configure()
	s.authenticate()
	t.Cleanup(s.stop)
	s.startController()
	for n := range nodes {
		s.startNode(nodeName(n))
	}
	s.waitForNodes(nodes)
	return s
}

// endWithTest ends all processes of the cluster if a signal ends the test.
func (s *slurm) endWithTest() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	s.t.Cleanup(func() {
		signal.Stop(signals)
		close(signals)
	})
	go func() {
		if _, interrupted := <-signals; !interrupted {
			return
		}
		for _, cmd := range s.all {
			_ = cmd.Process.Kill() // it may have ended by now
		}
		for _, p := range s.processes("") {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		os.RemoveAll(s.dir)
		os.Exit(1)
	}()
}

func nodeName(n int) string { return "n" + strconv.Itoa(n+1) }

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) config() string { return s.path("slurm.conf") }

// configure writes slurm.conf. It is that of an ordinary cluster, but for waits that are as short
// as Slurm allows.
func (s *slurm) configure() {
	s.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		s.t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	user, err := exec.Command("id", "-un").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	ports := freePorts(s.t, nodes+1)
	var b bytes.Buffer
	fmt.Fprintf(&b, `ClusterName=headwater
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=%[3]s
SlurmdUser=%[3]s
AuthType=auth/munge
# A task that runs again waits this long. Below 5 the default of 120 s would hold.
AuthInfo=socket=%[4]s/munge/socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
StateSaveLocation=%[4]s/state
SlurmdSpoolDir=%[4]s/spool-%%n
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd-%%n.pid
ReturnToService=2
SlurmdTimeout=6
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
`, host, ports[0], strings.TrimSpace(string(user)), s.dir)
	for n := range nodes {
		fmt.Fprintf(&b, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d "+
			"RealMemory=%d State=UNKNOWN\n", nodeName(n), host, ports[n+1], slots, nodeMemory)
		if err := os.Mkdir(s.path("spool-"+nodeName(n)), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	b.WriteString("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
	if err := os.WriteFile(s.config(), b.Bytes(), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// nodeMemory is the memory that a node claims, in MiB. Nothing limits a task to it.
const nodeMemory = 64000

// freePorts returns ports of loopback that nothing listens on.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close() // after all of them are chosen, so that they differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// authenticate starts munge with a key of its own.
func (s *slurm) authenticate() {
	s.t.Helper()
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		s.t.Fatal(err)
	}
	folder := s.path("munge")
	if err := os.WriteFile(folder+"/key", key, 0o600); err != nil {
		s.t.Fatal(err)
	}
	munged := s.start("munged", "munged", "--foreground", "--key-file", folder+"/key",
		"--socket", folder+"/socket", "--pid-file", folder+"/pid", "--log-file", folder+"/log",
		"--seed-file", folder+"/seed")
	s.t.Cleanup(func() { end(s.t, munged, syscall.SIGTERM) })
	s.eventually("munge opens its socket", func() bool {
		_, err := os.Stat(folder + "/socket")
		return err == nil
	})
}

func (s *slurm) startController() {
	s.t.Helper()
	s.controller = s.start("slurmctld", "slurmctld", "-D", "-f", s.config())
}

func (s *slurm) startNode(name string) {
	s.t.Helper()
	s.daemons[name] = s.start("slurmd-"+name, "slurmd", "-D", "-N", name, "-f", s.config())
}

// start starts a daemon, which ends with this process. Its messages go to a file.
func (s *slurm) start(log, name string, args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := daemon(name)
	if err != nil {
		s.t.Fatal(err)
	}
	file, err := os.OpenFile(s.path("log/"+log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, file, file
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, cmd)
	return cmd
}

// daemon finds a program that is not on every user's path.
func daemon(name string) (string, error) {
	for _, path := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: internal/e2e/cluster/run.sh installs it", name)
}

// end sends a signal to a daemon and waits for its end, which it forces after a while.
func end(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
	force := time.AfterFunc(20*time.Second, func() {
		t.Errorf("%s does not end", cmd.Path)
		_ = cmd.Process.Kill() // it may have ended by now
	})
	defer force.Stop()
	_ = cmd.Wait() // the status of a daemon that was told to end says nothing
}

// stop cancels all tasks and ends the daemons of the cluster, in the order that they need.
func (s *slurm) stop() {
	user := strconv.Itoa(os.Getuid())
	if _, err := s.try("scancel", "-f", "-u", user); err != nil {
		s.t.Log(err)
	}
	for range 50 {
		left, err := s.try("squeue", "-h", "-o", "%i")
		if err == nil && left == "" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, cmd := range s.daemons {
		end(s.t, cmd, syscall.SIGTERM)
	}
	end(s.t, s.controller, syscall.SIGTERM)
	// A slurmstepd whose slurmd was killed tries to reach it forever.
	for _, p := range s.processes("") {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended by now
	}
}

// process is a process of the cluster: a worker, the shell that runs the job file, or the
// slurmstepd above them.
type process struct {
	pid, parent int
	name        string
}

// processes returns the processes of tasks on a node, or on all nodes for an empty name. They are
// known by their environment, which names this cluster.
func (s *slurm) processes(node string) []process {
	s.t.Helper()
	var found []process
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range paths {
		env, err := os.ReadFile(path + "/environ")
		if err != nil {
			continue // another user's, or it has ended
		}
		names := strings.Split(string(env), "\x00")
		ours := slices.Contains(names, "SLURM_CONF="+s.config())
		task := slices.ContainsFunc(names, func(v string) bool {
			return strings.HasPrefix(v, "SLURM_JOB_ID=")
		})
		status, err := os.ReadFile(path + "/stat")
		if err != nil || !ours {
			continue
		}
		// PID (name, which may hold blanks) state parent ...
		open, shut := bytes.IndexByte(status, '('), bytes.LastIndexByte(status, ')')
		fields := strings.Fields(string(status[shut+1:]))
		p := process{name: string(status[open+1 : shut])}
		p.pid, _ = strconv.Atoi(filepath.Base(path))
		p.parent, _ = strconv.Atoi(fields[1])
		if !task && p.name != "slurmstepd" {
			continue
		}
		if node == "" || slices.Contains(names, "SLURMD_NODENAME="+node) {
			found = append(found, p)
		}
	}
	return found
}

// crash ends a node as a loss of power does: its daemon, the slurmstepd of each task and the tasks
// themselves end at once, and nobody reports anything.
func (s *slurm) crash(node string) {
	s.t.Helper()
	cmd := s.daemons[node]
	if err := cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	s.eventually("the tasks of "+node+" end", func() bool {
		tasks := s.processes(node)
		for _, p := range tasks {
			if parent, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.parent)); err == nil &&
				strings.HasPrefix(string(parent), "slurmstepd") {
				_ = syscall.Kill(p.parent, syscall.SIGKILL) // before it can report
			}
		}
		for _, p := range tasks {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended by now
		}
		return len(tasks) == 0
	})
}

// waitForNodes waits until n nodes can run tasks.
func (s *slurm) waitForNodes(n int) {
	s.t.Helper()
	s.eventually(fmt.Sprint(n, " nodes are up"), func() bool {
		out, err := s.try("sinfo", "-h", "-t", "idle,mixed,allocated", "-o", "%D")
		sum := 0
		for field := range strings.FieldsSeq(out) {
			up, _ := strconv.Atoi(field)
			sum += up
		}
		return err == nil && sum == n
	})
}

// submit gives a job file to the cluster as a user does and returns the number of the job.
func (s *slurm) submit(folder, file string, env []string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("sbatch", slices.Concat([]string{"--parsable"}, args, []string{file})...)
	cmd.Dir, cmd.Env = folder, append(s.environment(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("sbatch %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// states returns how many tasks of a job are in each state.
func (s *slurm) states(job string) (map[string]int, error) {
	out, err := s.try("scontrol", "show", "job", job)
	if err != nil {
		return nil, err
	}
	count := make(map[string]int)
	for _, found := range regexp.MustCompile(`JobState=(\S+)`).FindAllStringSubmatch(out, -1) {
		count[found[1]]++
	}
	return count, nil
}

// waitAtMost waits for the end of all tasks of a job. It returns how many tasks are in each state
// then, none of a job that Slurm does not know, and whether all of them have ended.
func (s *slurm) waitAtMost(job string, limit time.Duration) (count map[string]int, all bool) {
	all = within(limit, func() bool {
		left, err := s.try("squeue", "-h", "-j", job, "-o", "%i")
		if err != nil && strings.Contains(err.Error(), "Invalid job id") {
			return len(s.processes("")) == 0 // the controller has forgotten it
		}
		// Workers on a node that was lost may still be at work.
		return err == nil && left == "" && len(s.processes("")) == 0
	})
	count, err := s.states(job)
	if err != nil {
		s.t.Log(err)
	}
	if !all {
		queue, err := s.try("squeue")
		s.t.Logf("the queue: %s, %v; workers: %v", queue, err, s.processes(""))
	}
	return count, all
}

// environment is that of a user of the cluster.
func (s *slurm) environment() []string {
	return append(os.Environ(), "SLURM_CONF="+s.config())
}

// try runs a program of Slurm's and returns what it prints. It fails while the controller is away.
func (s *slurm) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = s.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// eventually waits until a condition holds.
func (s *slurm) eventually(what string, holds func() bool) {
	s.t.Helper()
	eventually(s.t, what, holds)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !within(patience, holds) {
		t.Fatalf("waited %v in vain: %s", patience, what)
	}
}

// within reports whether a condition holds before the time is over.
func within(limit time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// showLogs prints the last lines of each daemon and each task.
func (s *slurm) showLogs() {
	for _, pattern := range []string{"log/*", "*/*.log", "*/*.out"} {
		paths, err := filepath.Glob(s.path(pattern))
		if err != nil {
			s.t.Error(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				s.t.Error(err)
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			s.t.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	}
}

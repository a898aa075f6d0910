// Package storage runs headwater corpus on a server of S3 on loopback that fails in every way that
// networks and servers do. It is a module of its own, so that nobody who uses Headwater depends on
// the server.
package storage

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	records = 24
	shards  = 4
	// tryAgain is the status of a task that met what may pass.
	tryAgain = 75
)

// TestWithoutFaults compares a corpus in a bucket with one in a folder.
func TestWithoutFaults(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newCommand(s)
	text, err := os.ReadFile(h.input)
	if err != nil {
		t.Fatal(err)
	}
	s.store("in/texts.jsonl", text)
	for i, input := range []string{h.input, s.place("in/texts.jsonl")} {
		folder := fmt.Sprintf("corpus-%d", i)
		h.plan(input, s.place(folder))
		if got := h.missing(s.place(folder)); len(got) != shards {
			t.Errorf("the tasks %v are missing of a plan, want %d", got, shards)
		}
		h.must("run", s.place(folder))
		h.check(s, folder)
		h.must("run", s.place(folder)) // everything is there
		s.onceEach()
	}
	h.plan(s.place("in"), s.place("of-a-folder")) // the bucket is listed
	if paths := s.shards(); len(paths) != 2*shards {
		t.Errorf("the bucket has the shards %v, want %d", paths, 2*shards)
	}
}

// TestPassingFaults lets the first requests of every object fail, each in the same way.
func TestPassingFaults(t *testing.T) {
	for _, f := range []fault{refuse, busy, cutUpload, loseReply, cutReply, slow} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			passingFaults(t, f)
		})
	}
}

func passingFaults(t *testing.T, f fault) {
	s := newServer(t)
	h := newCommand(s)
	once := func(r *http.Request, before int) fault {
		if f == cutUpload && !isUpload(r) || before > 0 && f != slow {
			return none
		}
		return f
	}
	place := s.place("corpus")
	for _, args := range [][]string{
		{"plan", h.input, place, "--shards", fmt.Sprint(shards), "--backend", "go"},
		{"run", place},
	} {
		s.fail(once)
		h.again(args...)
		if s.failed(f) == 0 {
			t.Errorf("no request of %s failed: the test does not test", args[0])
		}
	}
	s.fail(once)
	h.check(s, "corpus")
	s.onceEach()
}

// TestLastingFaults lets every request fail. The command must end with a status and a message from
// which a user and a scheduler know what to do, and when all is well again the rest must be done.
func TestLastingFaults(t *testing.T) {
	for _, c := range []struct {
		fault  fault
		status int
	}{
		{refuse, tryAgain},
		{busy, tryAgain},
		{cutReply, tryAgain},
		{denied, 1},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			lastingFault(t, c.fault, c.status)
		})
	}
}

func lastingFault(t *testing.T, f fault, want int) {
	s, h, place := planned(t)
	h.must("run", place, "--shard", "0")
	always := func(*http.Request, int) fault { return f }
	for _, args := range [][]string{
		{"run", place},
		{"missing", place},
		{"verify", place},
		{"merge", place, "-o", filepath.Join(t.TempDir(), "all.parquet")},
	} {
		s.fail(always)
		h.givesUp(want, args...)
	}
	s.calm()
	h.must("run", place)
	h.check(s, "corpus")
	s.onceEach()
}

// TestUploadsFail lets reading succeed and all uploads fail.
func TestUploadsFail(t *testing.T) {
	for _, c := range []struct {
		fault  fault
		status int
	}{{busy, tryAgain}, {denied, 1}} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			s, h, place := planned(t)
			s.fail(func(r *http.Request, _ int) fault {
				if isUpload(r) {
					return c.fault
				}
				return none
			})
			h.givesUp(c.status, "run", place)
			s.calm()
			h.must("run", place)
			h.check(s, "corpus")
			s.onceEach()
		})
	}
}

// TestNoBucket names a bucket that does not exist.
func TestNoBucket(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newCommand(s)
	place := strings.Replace(s.place("corpus"), bucket, "no-"+bucket, 1)
	_, stderr, status := h.run("plan", h.input, place, "--backend", "go")
	if status != 1 || !strings.Contains(stderr, "there is no such bucket; check its name") {
		t.Errorf("plan ends with status %d: %s", status, stderr)
	}
	h.readable(stderr)
}

// TestNoAccount runs without an account.
func TestNoAccount(t *testing.T) {
	h := command{t, []string{
		"HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true",
	}, built.path, built.input}
	stdout, stderr, status := h.run("missing", "s3://corpora/c?region=us-east-1")
	if status == 0 || stdout != "" ||
		!strings.Contains(stderr, "the client finds no account (AWS_ACCESS_KEY_ID") {
		t.Errorf("status %d, %q", status, stdout+stderr)
	}
	h.readable(stderr)
}

// TestFaultInTheMiddle lets the server go away after the first shards.
func TestFaultInTheMiddle(t *testing.T) {
	t.Parallel()
	s, h, place := planned(t)
	uploads := 0
	s.fail(func(r *http.Request, _ int) fault {
		if isUpload(r) {
			uploads++
		}
		if uploads > shards/2 {
			return busy
		}
		return none
	})
	h.givesUp(tryAgain, "run", place)
	s.calm()
	if got := h.missing(place); len(got) != shards-shards/2 {
		t.Errorf("the tasks %v are missing, want %d", got, shards-shards/2)
	}
	h.must("run", place)
	h.check(s, "corpus")
	s.onceEach()
}

// TestShardsCannotBeRead cuts every answer about a shard. A shard that did not arrive whole is not
// one that is damaged: no worker may make it again.
func TestShardsCannotBeRead(t *testing.T) {
	s, h, place := planned(t)
	h.must("run", place)
	for _, f := range []fault{cutReply, refuse, busy} {
		s.fail(func(r *http.Request, _ int) fault {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".parquet") {
				return f
			}
			return none
		})
		for _, verb := range []string{"run", "verify"} {
			stdout, stderr, status := h.run(verb, place)
			if status != tryAgain {
				t.Errorf("%v: %s ends with status %d, want %d: %s%s", f, verb, status, tryAgain,
					stdout, stderr)
			}
			h.readable(stderr)
		}
		if s.failed(f) == 0 {
			t.Errorf("%v: no request failed", f)
		}
	}
	s.calm()
	h.check(s, "corpus")
	s.onceEach()
}

// TestKilledUpload kills a worker while the server has its request.
func TestKilledUpload(t *testing.T) {
	s, h, place := planned(t)
	s.fail(func(r *http.Request, _ int) fault {
		if r.Method == http.MethodPut {
			return stall
		}
		return none
	})
	worker := h.start("run", place)
	<-s.stalled
	if err := worker.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = worker.Wait() // it was killed
	s.calm()
	if got := h.missing(place); len(got) != shards {
		t.Errorf("the tasks %v are missing, want %d", got, shards)
	}
	h.must("run", place)
	h.check(s, "corpus")
	s.onceEach()
}

// TestTwoWorkers lets two workers make the same shards at the same time. One upload of each wins,
// and both workers succeed.
func TestTwoWorkers(t *testing.T) {
	s, h, place := planned(t)
	type outcome struct {
		stderr string
		status int
	}
	outcomes := make(chan outcome)
	for range 2 {
		go func() {
			_, stderr, status := h.run("run", place)
			outcomes <- outcome{stderr, status}
		}()
	}
	for range 2 {
		if o := <-outcomes; o.status != 0 {
			t.Errorf("a worker ends with status %d: %s", o.status, o.stderr)
		}
	}
	h.check(s, "corpus")
	s.onceEach()
}

// TestDamagedShard is a shard that somebody has cut or exchanged.
func TestDamagedShard(t *testing.T) {
	s, h, place := planned(t)
	h.must("run", place)
	paths := s.shards()
	if len(paths) != shards {
		t.Fatalf("the bucket has the shards %v, want %d", paths, shards)
	}
	first, second := s.object(paths[0]), s.object(paths[1])
	flipped := bytes.Clone(first)
	flipped[len(flipped)/3] ^= 1
	for _, c := range []struct {
		name string
		body []byte
	}{
		{"cut in the middle", first[:len(first)/2]},
		{"empty", nil},
		{"another shard", second},
		{"one bit flipped", flipped},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.replace(paths[0], c.body)
			defer s.replace(paths[0], first)
			for _, args := range [][]string{
				{"verify", place},
				{"merge", place, "-o", filepath.Join(t.TempDir(), "all.parquet")},
			} {
				stdout, stderr, status := h.run(args...)
				t.Logf("%s: status %d: %s%s", args[0], status, stdout, stderr)
				if status != 1 {
					t.Errorf("%s of a damaged shard ends with status %d, want 1", args[0], status)
				}
				if args[0] == "verify" && !strings.Contains(stdout, filepath.Base(paths[0])) {
					t.Errorf("%s does not name %s", args[0], paths[0])
				}
				h.readable(stdout + stderr)
			}
		})
	}
}

// command is the headwater command with an account of a server and an input.
type command struct {
	t           *testing.T
	account     []string
	path, input string
}

var built struct {
	path, input string
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "storage-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		built.path, built.input = os.Getenv("HEADWATER_BIN"), filepath.Join(dir, "texts.jsonl")
		if built.path == "" {
			built.path = filepath.Join(dir, "headwater")
			build := exec.Command("go", "build", "-buildvcs=false", "-o", built.path,
				"./cmd/headwater")
			build.Dir = "../../.."
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
				return 1
			}
		}
		var b strings.Builder
		for r := range records {
			fmt.Fprintf(&b, `{"id": "text-%d", "text": "mary has the key .%s who has the key ?"}`+
				"\n", r, strings.Repeat(" john has the blue lamp .", r%4))
		}
		if err := os.WriteFile(built.input, []byte(b.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// planned returns a server of the test's own with the plan of a corpus, and the command.
func planned(t *testing.T) (s *server, h command, place string) {
	t.Helper()
	s = newServer(t)
	h = newCommand(s)
	place = s.place("corpus")
	h.plan(h.input, place)
	return s, h, place
}

func newCommand(s *server) command {
	return command{s.t, account, built.path, built.input}
}

// run runs headwater corpus with arguments.
func (h command) run(args ...string) (stdout, stderr string, status int) {
	h.t.Helper()
	cmd := h.command(args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.t.Error(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// start starts headwater corpus with arguments.
func (h command) start(args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(args...)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

// command returns headwater corpus with arguments and with an account of the server.
func (h command) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), h.path, append([]string{"corpus"}, args...)...)
	cmd.Env = append(os.Environ(), h.account...)
	return cmd
}

// again runs headwater corpus with arguments as a scheduler does, which tries three times.
func (h command) again(args ...string) {
	h.t.Helper()
	status := tryAgain
	for attempt := 0; status == tryAgain && attempt < 3; attempt++ {
		var stderr string
		if _, stderr, status = h.run(args...); status != 0 {
			h.t.Logf("%s ends with status %d: %s", args[0], status, stderr)
			h.readable(stderr)
		}
	}
	if status != 0 {
		h.t.Fatalf("%s ends with status %d", args[0], status)
	}
}

// givesUp runs headwater corpus with arguments, which has to end soon with a message; run ends with
// a status.
func (h command) givesUp(want int, args ...string) {
	h.t.Helper()
	start := time.Now()
	_, stderr, status := h.run(args...)
	took := time.Since(start)
	h.t.Logf("%s, after %.1f s, status %d: %s", args[0], took.Seconds(), status,
		strings.TrimSpace(stderr))
	if args[0] == "run" && status != want {
		h.t.Errorf("run ends with status %d, want %d", status, want)
	} else if status == 0 {
		h.t.Errorf("%s ends with status 0", args[0])
	}
	if !strings.Contains(stderr, bucket) {
		h.t.Error("the message does not name the bucket")
	}
	if want == 1 && !strings.Contains(stderr, "the bucket refuses access; check its name, ") {
		h.t.Error("the message does not say what to check")
	}
	h.readable(stderr)
	// The patience of the command is 30 s, and the machine may do other things.
	if limit := time.Minute; took > limit {
		h.t.Errorf("%s took more than %v to give up", args[0], limit)
	}
}

// must runs headwater corpus with arguments, which has to succeed, and returns what it prints.
func (h command) must(args ...string) string {
	h.t.Helper()
	stdout, stderr, status := h.run(args...)
	if status != 0 {
		h.t.Fatalf("headwater corpus %s ends with status %d: %s", strings.Join(args, " "), status,
			stderr)
	}
	return stdout
}

func (h command) plan(input, place string) {
	h.t.Helper()
	h.must("plan", input, place, "--shards", fmt.Sprint(shards), "--backend", "go")
}

func (h command) missing(place string) []string {
	h.t.Helper()
	_, list, found := strings.Cut(strings.TrimSpace(h.must("missing", place)), "--array=")
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
			tasks = append(tasks, fmt.Sprint(first))
		}
	}
	return tasks
}

// check compares a finished corpus of the bucket with one that was made in a folder.
func (h command) check(s *server, folder string) {
	h.t.Helper()
	if left := h.missing(s.place(folder)); len(left) != 0 {
		h.t.Errorf("the tasks %v are missing", left)
	}
	h.must("verify", s.place(folder))
	merged := filepath.Join(h.t.TempDir(), "merged.parquet")
	h.must("merge", s.place(folder), "-o", merged)
	got, err := os.ReadFile(merged)
	if err != nil {
		h.t.Fatal(err)
	}
	if !bytes.Equal(got, h.inFolder()) {
		h.t.Error("the merged file of the bucket differs from that of a folder")
	}
}

// inFolder returns the merged file of a corpus that was made in a folder, once for all tests.
func (h command) inFolder() []byte {
	h.t.Helper()
	local.Do(func() {
		folder := filepath.Join(h.t.TempDir(), "local")
		h.plan(h.input, folder)
		h.must("run", folder)
		h.must("merge", folder, "-o", folder+".parquet")
		var err error
		if local.merged, err = os.ReadFile(folder + ".parquet"); err != nil {
			h.t.Fatal(err)
		}
	})
	if local.merged == nil {
		h.t.Fatal("there is no corpus in a folder to compare with")
	}
	return local.merged
}

var local struct {
	sync.Once
	merged []byte
}

// readable checks that a message is for people: short, and without the words of a program.
func (h command) readable(message string) {
	h.t.Helper()
	if len(message) > 1500 {
		h.t.Errorf("the message has %d bytes: %s", len(message), message)
	}
	var bad []string
	for _, word := range []string{
		"goroutine", "panic", "runtime error", "nil pointer", "context deadline", "%!",
		"operation error", "https response error", "HostID",
	} {
		if strings.Contains(message, word) {
			bad = append(bad, word)
		}
	}
	if bad != nil {
		h.t.Errorf("the message has %q: %s", bad, message)
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// binaryVariable is the environment variable that names a program to start as the engine, so that
// none is built.
const binaryVariable = "HEADWATER_ENGINE"

// Start says how to find the engine or to start it. The zero value is right for a notebook's cell.
type Start struct {
	// PID is the process that the engine belongs to and ends with; default: the parent, which for a
	// cell is the kernel.
	PID int
	// Binary is the program to start, with the command line of headwater serve. Default: this
	// program itself if it called [SetOwn]; else the program that HEADWATER_ENGINE names; else the
	// command headwater, which is built first.
	Binary string
	// Idle ends an engine that gets no request for that long; default 2 hours.
	Idle time.Duration
	// Wait is how long a started engine may take until it answers; default 1 minute.
	Wait time.Duration
	// OnStage, if not nil, is told what takes long, in words for a user: "building the engine".
	OnStage func(string)
}

const (
	defaultIdle = 2 * time.Hour
	defaultWait = time.Minute
	poll        = 20 * time.Millisecond

	infoPatience = 10 * time.Second // for an engine, which should answer at once
	lockPatience = 15 * time.Minute // for another program that builds or starts the engine
)

// serveArguments returns the command line that makes the command headwater an engine.
func serveArguments(socket string, pid int, idle time.Duration) []string {
	return []string{
		"serve", "--socket", socket, "--watch", fmt.Sprint(pid), "--idle", idle.String(),
	}
}

// Connect returns a client of an engine that answers. If several processes call it at once, one of
// them starts the engine and the others wait.
func (s Start) Connect(ctx context.Context) (Client, error) {
	c, err := s.find()
	if err != nil {
		return Client{}, err
	}
	if running, err := s.answers(ctx, c); running || err != nil {
		return c, err
	}
	unlock, err := s.lock(ctx, lockFile(c.Socket),
		"waiting for another cell that starts the engine")
	if err != nil {
		return Client{}, err
	}
	defer unlock()
	if running, err := s.answers(ctx, c); running || err != nil {
		return c, err
	}
	if err := s.launch(ctx, c); err != nil {
		return Client{}, err
	}
	return c, nil
}

// Running returns a client of the engine if one answers. It starts none: ok is false if there is
// none. An error says that something listens and does not answer, or that ctx ended.
func (s Start) Running(ctx context.Context) (c Client, ok bool, err error) {
	if c, err = s.find(); err != nil {
		return Client{}, false, err
	}
	ok, err = s.answers(ctx, c)
	return c, ok, err
}

// answers reports whether an engine answers. An engine of another version, which refuses, counts:
// the request will say why. If something listens and does not answer, or ctx ends, answers returns
// an error.
func (s Start) answers(ctx context.Context, c Client) (bool, error) {
	c.Patience = min(infoPatience, s.wait())
	_, err := c.Info(ctx)
	var refused *Error
	if err == nil || errors.As(err, &refused) {
		return true, nil
	}
	if ctx.Err() != nil { // not to be taken for an engine that is not there
		return false, pkg.Errorf("%w", ctx.Err())
	}
	var silent *SilentError
	if errors.As(err, &silent) {
		return false, fmt.Errorf("%w; its log is %s", silent, logFile(c.Socket))
	}
	return false, nil
}

// lock locks a file until unlock is called or the process ends. Building an engine takes minutes,
// so lock waits at most lockPatience for who has it, and says so in the words of waiting.
func (s Start) lock(ctx context.Context, path, waiting string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	began, told := time.Now(), false
	for {
		locked, err := tryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err == nil && time.Since(began) > lockPatience {
			err = fmt.Errorf("another program has locked it for %v, perhaps the kernel of another "+
				"notebook: end it", lockPatience)
		}
		if err != nil {
			f.Close()
			return nil, pkg.Errorf("locking %s: %w", path, err)
		}
		if !told && time.Since(began) > time.Second {
			told = true
			s.stage(waiting)
		}
		if err := pause(ctx); err != nil {
			f.Close()
			return nil, err
		}
	}
}

// pause waits a moment.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return pkg.Errorf("interrupted while waiting for the engine: %w", context.Cause(ctx))
	case <-time.After(poll):
		return nil
	}
}

// launch starts an engine and waits until it answers.
func (s Start) launch(ctx context.Context, c Client) error {
	binary, release, err := s.binary(ctx)
	if err != nil {
		return err
	}
	sweep(filepath.Dir(c.Socket))
	stopOthers(ctx, c.Socket)
	s.stage("starting the engine")
	exited, err := s.spawn(binary, c.Socket)
	release()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(s.wait())
	for {
		if running, err := s.answers(ctx, c); running || err != nil {
			return err
		}
		select {
		case err := <-exited:
			return pkg.Errorf("%s ended before it was ready (%v)%s",
				filepath.Base(binary), err, lastLines(c.Socket))
		default:
		}
		if time.Now().After(deadline) {
			return pkg.Errorf("%s did not answer within %v%s",
				filepath.Base(binary), s.wait(), lastLines(c.Socket))
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (s Start) wait() time.Duration {
	if s.Wait == 0 {
		return defaultWait
	}
	return s.Wait
}

// sweep removes the files in the directory that belong to engines of processes that have ended.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		pid, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if start, err := startOf(pid); err == nil && start == "" {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// spawn starts the engine.
func (s Start) spawn(binary, socket string) (exited <-chan error, err error) {
	arguments := serveArguments
	if s.isOwn() {
		arguments = own.Arguments
	}
	return s.run(binary, arguments(socket, s.PID, s.idle()), socket)
}

// idle is when an engine without requests ends.
func (s Start) idle() time.Duration {
	if s.Idle == 0 {
		return defaultIdle
	}
	return s.Idle
}

// run starts a program in a session of its own. Its output goes to the log of the engine, because a
// notebook's cell does not end while a child has its standard output. It gets no pipe of the kernel
// for the same reason.
func (s Start) run(binary string, arguments []string, socket string) (
	exited <-chan error, err error,
) {
	log, err := os.OpenFile(logFile(socket), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, arguments...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = environment(os.Environ())
	cmd.Dir = filepath.Dir(socket)
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return nil, pkg.Errorf("starting %s: %w", binary, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done, nil
}

// pathVariables name files and folders. The engine runs in the folder of its socket, where a
// relative path would be another one.
var pathVariables = []string{
	"HEADWATER_XLA", "HEADWATER_CUDA", "HEADWATER_MODELS", "HEADWATER_COMPILE_CACHE",
	"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN_PATH", "OLLAMA_MODELS",
	"XDG_CACHE_HOME", "TMPDIR",
}

// environment returns the environment of an engine: without the pipe of the kernel, and with
// absolute paths.
func environment(environ []string) []string {
	env := without(environ, "GONB_PIPE")
	for i, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if !slices.Contains(pathVariables, name) || value == "" || value == "off" ||
			strings.ContainsAny(value[:1], "~$") { // the Hub's library expands these
			continue
		}
		if path, err := filepath.Abs(value); err == nil {
			env[i] = name + "=" + path
		}
	}
	return env
}

// without returns an environment without the variables whose name begins with prefix.
func without(environ []string, prefix string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, prefix) {
			kept = append(kept, v)
		}
	}
	return kept
}

// lastLines returns the end of the engine's log for an error: the lines from the last panic on, or
// the last lines.
func lastLines(socket string) string {
	data, err := os.ReadFile(logFile(socket))
	log := strings.TrimSpace(string(data))
	if err != nil || log == "" {
		return "; its log is empty"
	}
	if strings.HasSuffix(log, ": listening") { // nothing after its start, as when it is killed
		return "; its log does not say why"
	}
	const lines, limit = 10, 2000
	if at := strings.LastIndex("\n"+log, "\npanic: "); at >= 0 {
		all := strings.SplitN(log[at:min(len(log), at+limit)], "\n", lines+1)
		return "; its log ends:\n" + strings.Join(all[:min(len(all), lines)], "\n")
	}
	all := strings.Split(log[max(0, len(log)-limit):], "\n")
	return "; its log ends:\n" + strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (s Start) stage(what string) {
	if s.OnStage != nil {
		s.OnStage(what)
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Variable is the environment variable that names a binary to start as the engine, instead of building one.
const Variable = "HEADWATER_ENGINE"

// Start says how to find the engine or to start it. The zero value is right for a notebook's cell.
type Start struct {
	// PID is the process that the engine belongs to and ends with; default: the parent, which for a cell is the kernel.
	PID int
	// Binary is started with the arguments of [Arguments]; default: this program itself, if it called [SetOwn], else what
	// HEADWATER_ENGINE names, else the command headwater, built first, which takes a moment only if something changed.
	Binary string
	// Idle ends an engine that nobody asks for that long; default 2 hours.
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
	patience    = 10 * time.Second // with an engine that should answer at once

	lockPatience = 15 * time.Minute // with another program that builds or starts it
)

// Arguments are the command line of an engine: what a binary must understand to be one.
func Arguments(socket string, pid int, idle time.Duration) []string {
	return []string{"serve", "--socket", socket, "--watch", fmt.Sprint(pid), "--idle", idle.String()}
}

// Connect returns a client of an engine that answers. Of several processes that come at once, one starts it and the
// others wait.
func (s Start) Connect(ctx context.Context) (Client, error) {
	socket, err := s.find()
	if err != nil {
		return Client{}, err
	}
	c := Client{Socket: socket}
	if there, err := s.answers(ctx, c); there || err != nil {
		return c, err
	}
	unlock, err := s.lock(ctx, lockFile(socket))
	if err != nil {
		return Client{}, err
	}
	defer unlock()
	if there, err := s.answers(ctx, c); there || err != nil {
		return c, err
	}
	if err := s.launch(ctx, c); err != nil {
		return Client{}, err
	}
	return c, nil
}

// answers reports whether an engine is there; one that refuses (another version) is, and the request
// will say why. One that listens and says nothing is an error.
func (s Start) answers(ctx context.Context, c Client) (bool, error) {
	c.Patience = min(patience, s.wait())
	_, err := c.Info(ctx)
	var refused *Error
	if err == nil || errors.As(err, &refused) {
		return true, nil
	}
	var silent *SilentError
	if errors.As(err, &silent) && ctx.Err() == nil {
		return false, fmt.Errorf("%w; its log is %s", silent, logFile(c.Socket))
	}
	return false, nil
}

// lock takes the lock on a file, which ends with the process at the latest. To build an engine takes
// minutes at most, so that it does not wait longer than lockPatience for another cell that starts one.
func (s Start) lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	began, told := time.Now(), false
	for {
		held, err := tryLock(f)
		if held {
			return func() { f.Close() }, nil
		}
		if err == nil && time.Since(began) > lockPatience {
			err = fmt.Errorf("another program has held it for %v: end it, or restart the kernel", lockPatience)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("engine: locking %s: %w", path, err)
		}
		if !told && time.Since(began) > time.Second {
			told = true
			s.stage("waiting for another cell that starts the engine")
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
		return fmt.Errorf("engine: interrupted while waiting for the engine: %w", context.Cause(ctx))
	case <-time.After(poll):
		return nil
	}
}

// launch starts an engine and waits until it answers.
func (s Start) launch(ctx context.Context, c Client) error {
	binary, err := s.binary(ctx)
	if err != nil {
		return err
	}
	sweep(filepath.Dir(c.Socket))
	stopOthers(ctx, c.Socket)
	s.stage("starting the engine")
	exited, err := s.spawn(binary, c.Socket)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(s.wait())
	for {
		if there, err := s.answers(ctx, c); there || err != nil {
			return err
		}
		select {
		case err := <-exited:
			return fmt.Errorf("engine: %s ended before it was ready (%v)%s", filepath.Base(binary), err, lastLines(c.Socket))
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("engine: %s did not answer within %v%s", filepath.Base(binary), s.wait(), lastLines(c.Socket))
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

// sweep removes what engines of processes that are gone have left in the directory.
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

// spawn starts the engine in a session of its own. Its output goes to a file: a notebook's cell does not end while a
// child holds its standard output. It must not hold the kernel's pipes either.
func (s Start) spawn(binary, socket string) (exited <-chan error, err error) {
	log, err := os.OpenFile(logFile(socket), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer log.Close()
	idle := s.Idle
	if idle == 0 {
		idle = defaultIdle
	}
	arguments := Arguments
	if s.isOwn() {
		arguments = own.Arguments
	}
	cmd := exec.Command(binary, arguments(socket, s.PID, idle)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = without(os.Environ(), "GONB_PIPE")
	cmd.Dir = filepath.Dir(socket)
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("engine: starting %s: %w", binary, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done, nil
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

// lastLines returns the end of the engine's log for an error: what follows a panic, or the last lines.
func lastLines(socket string) string {
	data, err := os.ReadFile(logFile(socket))
	log := strings.TrimSpace(string(data))
	if err != nil || log == "" {
		return "; its log is empty"
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

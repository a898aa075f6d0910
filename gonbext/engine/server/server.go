// Package server is an engine: it keeps models open and answers the requests of package engine on a unix socket.
//
// It sees models through the interfaces of package attribution only; who opens them is the caller's business:
//
//	err := server.Serve(ctx, server.Config{Socket: path, Watch: pid, Open: open})
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// Opener opens a model; empty fields are defaults. progress is told of what takes long, such as a download. A model that also is an
// [attribution.Tracer] can be traced.
type Opener func(ctx context.Context, which engine.Model, progress func(trace.Progress)) (attribution.Model, error)

// Config says what to serve and for how long.
type Config struct {
	// Socket is the path to listen on, in a directory that only this user can enter. It is removed in the end.
	Socket string
	// Watch is a process whose end ends the engine; 0: none.
	Watch int
	// Idle ends an engine that has had nothing to do for so long; 0: never.
	Idle time.Duration
	// Open opens the models that requests name. Each is opened once and kept.
	Open Opener
	// Log gets a line for each event worth one, and the stack of a panic; nil: nothing is logged.
	Log io.Writer
}

// grace is how long requests may take to notice that they are cancelled.
const grace = 5 * time.Second

// watchEvery is how often the watched process is looked at.
const watchEvery = time.Second

// ErrRunning is a socket on which another engine answers.
var ErrRunning = errors.New("server: an engine answers there already")

// Serve answers requests until ctx is done, the watched process is gone, nothing was asked for Idle, a client sent a
// stop request, or the process got SIGINT, SIGTERM or SIGHUP; all of these return nil. Requests that are running are
// cancelled. An error means that it could not listen.
func Serve(ctx context.Context, c Config) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	listener, err := listen(ctx, c.Socket)
	if err != nil {
		return err
	}
	s := &server{Config: c, stop: cancel, models: models{open: c.Open}, last: time.Now()}
	if s.Log == nil {
		s.Log = io.Discard
	}
	s.logf("listening")
	go s.watch(ctx)
	context.AfterFunc(ctx, func() { listener.Close() }) // also removes the socket
	s.accept(ctx, listener)
	cancel(errors.New("the listener failed"))
	s.wait()
	s.logf("ends: %v", context.Cause(ctx))
	if errors.Is(context.Cause(ctx), errGone) {
		for _, file := range engine.Files(c.Socket) {
			_ = os.Remove(file)
		}
	}
	return nil
}

// listen opens the socket. A file left by an engine that is gone is replaced.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if _, err := (engine.Client{Socket: path}).Info(ctx); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrRunning, path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("server: %s is in the way: it is no socket", path)
		}
		_ = os.Remove(path)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return listener, nil
}

// server is a running engine.
type server struct {
	Config
	stop    context.CancelCauseFunc
	models  models
	running sync.WaitGroup

	mu       sync.Mutex
	active   int
	requests int
	last     time.Time // when the latest request began or ended
}

// accept serves connections until the listener is closed.
func (s *server) accept(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil {
				s.logf("accepting: %v", err)
			}
			return
		}
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			defer conn.Close()
			s.serve(ctx, conn)
		}()
	}
}

// wait waits for the requests that are running, for as long as grace lasts.
func (s *server) wait() {
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(grace):
		s.logf("a request does not end; leaving it")
	}
}

// serve answers the request of one connection.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	var r engine.Request
	hangUp := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	err := engine.Receive(conn, &r)
	hangUp()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			s.logf("request: %v", err)
			s.fail(conn, err)
		}
		return
	}
	number := s.begin()
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // the client sends nothing more: this returns when it hangs up
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	if err := s.answer(ctx, conn, r, number); err != nil {
		s.logf("%s: %v", r.Kind, err)
		s.fail(conn, err)
		return
	}
	_ = s.send(conn, engine.Event{Done: true}) // a client that is gone does not care
}

// answer runs one request. A panic is an error of that request alone.
func (s *server) answer(ctx context.Context, w io.Writer, r engine.Request, number int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logf("panic in %s: %v\n%s", r.Kind, p, debug.Stack())
			err = fmt.Errorf("the engine met a bug in %s and gave up this request: %v", panicked(), p)
		}
	}()
	if r.Version != engine.Version && r.Kind != engine.KindStop {
		return fmt.Errorf("the engine that runs speaks protocol %d and this program %d: "+
			"restart the kernel, or end the engine with process id %d", engine.Version, r.Version, os.Getpid())
	}
	switch r.Kind {
	case engine.KindExplain:
		return s.explain(ctx, w, r)
	case engine.KindTrace:
		return s.trace(ctx, w, r)
	case engine.KindInfo:
		return s.send(w, engine.Event{Status: &engine.Status{
			Version: engine.Version, PID: os.Getpid(), Models: s.models.names(), Requests: number,
		}})
	case engine.KindStop:
		s.stop(errors.New("a client asked for it"))
		return nil
	}
	return fmt.Errorf("the engine does not know the request %.40q", string(r.Kind))
}

// panicked returns the function that panicked, for a deferred function that recovers: a plugin's, perhaps.
func panicked() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	began := false
	for {
		f, more := frames.Next()
		if began && !strings.HasPrefix(f.Function, "runtime.") {
			return f.Function
		}
		began = began || f.Function == "runtime.gopanic"
		if !more {
			return "code unknown"
		}
	}
}

// send writes an event.
func (s *server) send(w io.Writer, e engine.Event) error { return engine.Send(w, e) }

// fail sends an error; that the client is gone is no news.
func (s *server) fail(w io.Writer, err error) {
	_ = s.send(w, engine.Event{Failure: &engine.Failure{
		Message: err.Error(), Usage: errors.Is(err, attribution.ErrUsage),
	}})
}

// begin counts a request and returns how many came before it.
func (s *server) begin() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.requests++
	s.last = time.Now()
	return s.requests - 1
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.last = time.Now()
}

// idle returns for how long there has been nothing to do.
func (s *server) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active > 0 {
		return 0
	}
	return time.Since(s.last)
}

var (
	errGone = errors.New("the process that it belongs to is gone")
	errIdle = errors.New("nobody asked for anything")
)

// watch ends the engine when the watched process is gone or nothing is asked for too long.
func (s *server) watch(ctx context.Context) {
	started := engine.StartOf(s.Watch)
	tick := watchEvery
	if s.Idle > 0 {
		tick = min(tick, s.Idle)
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if s.Watch != 0 && (started == "" || engine.StartOf(s.Watch) != started) {
			s.stop(errGone)
			return
		}
		if s.Idle > 0 && s.idle() >= s.Idle {
			s.stop(errIdle)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *server) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Log, "%s engine %d: %s\n",
		time.Now().Format(time.RFC3339), os.Getpid(), fmt.Sprintf(format, args...))
}

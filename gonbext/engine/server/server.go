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
// [attribution.Tracer] can be traced. One that is [Limitable] is opened once for all limits of memory, and one that is [Weighted]
// counts for [Config.Bytes].
type Opener func(ctx context.Context, which engine.Model, progress func(trace.Progress)) (attribution.Model, error)

// Config says what to serve and for how long.
type Config struct {
	// Socket is the path to listen on, in a directory that only this user can enter. It is removed in the end.
	Socket string
	// Watch is a process whose end ends the engine; 0: none.
	Watch int
	// Idle ends an engine that has had nothing to do for so long; 0: never.
	Idle time.Duration
	// Open opens the models that requests name. Each is opened once and kept, as far as Models and Bytes
	// allow.
	Open Opener
	// Name, if not nil, returns a model in the one way to write it that stands for all, so that it is
	// opened once.
	Name func(engine.Model) engine.Model
	// Models is how many models are kept at most; 0: 4. The least recently used one leaves.
	Models int
	// Bytes is how many bytes the weights of the models that are kept may take together; 0: no limit. One
	// model may take more.
	Bytes int64
	// Patience is how long a client may take to send its request, or to read what it is sent; 0: 30
	// seconds.
	Patience time.Duration
	// Log gets a line for each event worth one, and the stack of a panic; nil: nothing is logged.
	Log io.Writer
}

// grace is how long requests may take to notice that they are cancelled.
const grace = 5 * time.Second

// watchEvery is how often the watched process and the socket are looked at.
const watchEvery = time.Second

// defaultModels is how many models are kept: as many as requests can use at once, so that one that is
// not in use can leave when another is opened.
const defaultModels = maxRunning

// ErrRunning is a socket on which another engine answers.
var ErrRunning = errors.New("server: an engine answers there already")

// Serve answers requests until ctx is done, the watched process is gone, nothing was asked for Idle, a
// client sent a stop request, the socket is no longer this engine's, or the process got SIGINT, SIGTERM
// or SIGHUP; all of these return nil. Requests that are running are cancelled; without the socket, which
// nobody can reach any more, they end first. An error means that it could not listen, or can no longer.
func Serve(ctx context.Context, c Config) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	listener, err := listen(ctx, c.Socket)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	s := newServer(c, cancel)
	s.logf("listening")
	go s.watch(ctx, listener)
	context.AfterFunc(ctx, func() { listener.Close() }) // also removes the socket, if it is still ours
	err = s.accept(ctx, listener)
	cancel(err)
	s.wait()
	s.logf("ends: %v", context.Cause(ctx))
	if errors.Is(context.Cause(ctx), errGone) {
		for _, file := range engine.Files(c.Socket) {
			_ = os.Remove(file)
		}
	}
	return err
}

// newServer returns a server with the defaults filled in.
func newServer(c Config, stop context.CancelCauseFunc) *server {
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	if c.Models <= 0 {
		c.Models = defaultModels
	}
	return &server{
		Config: c, stop: stop, last: time.Now(),
		models: models{open: c.Open, name: c.Name, most: c.Models, bytes: c.Bytes},
		places: make(chan struct{}, maxRunning),
	}
}

// server is a running engine.
type server struct {
	Config
	stop    context.CancelCauseFunc
	models  models
	running sync.WaitGroup
	places  chan struct{} // holds a token for each request that uses a model

	mu          sync.Mutex
	connections int
	active      int
	requests    int
	last        time.Time // when the latest request began or ended
}

// accept serves connections until the listener is closed, which returns nil if ctx is done. What passes
// by itself, such as too many open files, does not end it.
func (s *server) accept(ctx context.Context, listener net.Listener) error {
	const first, longest = 5 * time.Millisecond, time.Second
	wait := time.Duration(0)
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case err != nil && !passing(err):
			return fmt.Errorf("server: accepting connections: %w", err)
		case err != nil:
			if wait == 0 { // once, and not for every attempt
				s.logf("accepting: %v; trying again", err)
			}
			wait = min(max(2*wait, first), longest)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			continue
		}
		wait = 0
		s.take(ctx, conn)
	}
}

// passing is whether an error of Accept is about one client or a shortage, and not about the listener.
func passing(err error) bool {
	for _, e := range []error{
		syscall.ECONNABORTED, syscall.EINTR, syscall.EAGAIN,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// take serves a connection, or refuses it if there are too many.
func (s *server) take(ctx context.Context, conn net.Conn) {
	c := newConnection(ctx, conn, s.Patience)
	if !s.connect() {
		c.patience = lastWords // it fits into the buffer of the socket
		s.fail(c, fmt.Errorf("the engine serves %d connections, the limit: end some of the programs "+
			"that ask it, or try again", maxConnections))
		c.Close()
		c.cancel(nil)
		return
	}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer s.disconnect()
		defer c.cancel(nil)
		defer c.Close()
		s.serve(ctx, c)
	}()
}

// connect counts a connection, unless there are too many.
func (s *server) connect() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections >= maxConnections {
		return false
	}
	s.connections++
	return true
}

func (s *server) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections--
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

// serve answers the request of one connection. ctx is that of the engine.
func (s *server) serve(ctx context.Context, c *connection) {
	r, err := c.receive()
	if err != nil {
		if !errors.Is(err, io.EOF) && c.ctx.Err() == nil {
			s.logf("request: %v", err)
			s.fail(c, err)
		}
		return
	}
	number := s.begin()
	defer s.end()
	ended, end := context.WithCancel(c.ctx)
	defer end()
	go c.watch() // until the connection is closed
	go c.beat(ended, r.Alive)
	if err := s.answer(c.ctx, c, r, number); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("the engine ends: %w", context.Cause(ctx))
		}
		s.logf("%.40s: %v", r.Kind, err)
		s.fail(c, err)
		return
	}
	_ = s.send(c, engine.Event{Done: true}) // a client that is gone does not care
}

// place waits until the request may use a model, and returns the function that gives the place back.
func (s *server) place(ctx context.Context, w io.Writer) (func(), error) {
	give := func() { <-s.places }
	select {
	case s.places <- struct{}{}:
		return give, nil
	default:
	}
	s.progress(w)(trace.Progress{
		Stage: "waiting until one of the other requests ends", Unit: "request",
		Done: maxRunning, Total: maxRunning,
	})
	select {
	case s.places <- struct{}{}:
		return give, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
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
	if err := r.Check(); err != nil {
		return err
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
	}
	return nil // the check knows no other kind
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

// maxMessage is how many bytes of an error are sent: what is longer repeats what a user has written.
const maxMessage = 16 << 10

// fail sends an error; that the client is gone is no news.
func (s *server) fail(w io.Writer, err error) {
	message := err.Error()
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	_ = s.send(w, engine.Event{Failure: &engine.Failure{
		Message: message, Usage: errors.Is(err, attribution.ErrUsage), Kind: trace.KindOf(err),
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

// busy reports whether a request is running.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active > 0
}

var (
	errGone = errors.New("the process that it belongs to is gone")
	errIdle = errors.New("nobody asked for anything")
	errLost = errors.New("its socket was removed or replaced")
)

// watch ends the engine when the watched process is gone or nothing is asked for too long, and when its
// socket is gone and the last request has ended: nobody can ask it for anything then.
func (s *server) watch(ctx context.Context, own *socket) {
	started := engine.StartOf(s.Watch)
	tick := watchEvery
	if s.Idle > 0 {
		tick = min(tick, s.Idle)
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	lost := false
	for {
		if s.Watch != 0 && !engine.Lives(s.Watch, started) {
			s.stop(errGone)
			return
		}
		if s.Idle > 0 && s.idle() >= s.Idle {
			s.stop(errIdle)
			return
		}
		if !lost && !own.there() {
			lost = true
			s.logf("%v; it ends after the last request", errLost)
		}
		if lost && !s.busy() {
			s.stop(errLost)
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

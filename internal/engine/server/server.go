// Package server is an engine: it keeps models open and answers the requests of package engine on a
// unix socket.
//
// It uses models through the interfaces of package attribution/trace. The caller says how to open
// them:
//
//	err := server.Serve(ctx, server.Config{Socket: path, Watch: pid, Open: open})
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("server")

// Opener opens a model. Empty fields of which are defaults. It calls progress during work that
// takes long, such as a download. Four optional methods of the model count:
//
//   - A model that is an [trace.Tracer] can be traced.
//   - The weights of a [trace.Budgeted] model count for [Config.Bytes].
//   - Within(maxMemory int64) (trace.Model, error) returns the model, with the same weights,
//     as a request with that [engine.Model.MaxMemory] may use it, or an error if the weights alone
//     take more. Such a model is opened once for all limits.
//   - Watched(progress func(trace.Progress)) (watched trace.Model, stop func()) returns the model
//     as one request uses it: it tells progress what takes long, until stop is called.
//
// The error wraps [ErrMemory] if the model would fit after others have been closed.
type Opener func(
	ctx context.Context, which engine.Model, progress func(trace.Progress),
) (trace.Model, error)

// Encoder returns the bytes of a file of an explanation and notes: what the file has, then remarks.
type Encoder func(ctx context.Context, f File) (data []byte, notes []string, err error)

// File is what an [Encoder] makes a file of.
type File struct {
	engine.Picture
	// Name is the name of the file, whose end says the format.
	Name string
	// Asked is what the file shows where that differs from the picture, as Show does. It may be
	// empty.
	Asked json.RawMessage
	// Tracer is the model of the explanation, which records what a picture shows beside it.
	Tracer trace.Tracer
}

// Figure is a figure of a document that the engine can make.
type Figure struct {
	// ID names it, and Model is the model that it is made with if the request names none.
	ID, Model string
	// Make returns the figure as JSON. It calls progress during long work.
	Make func(ctx context.Context, m trace.Model, progress func(trace.Progress)) ([]byte, error)
}

// Figures are the figures of documents that an engine makes, and what draws pictures.
type Figures struct {
	// Find returns the figures with some names. The error lists the known names.
	Find func(names []string) ([]Figure, error)
	// Draw returns a picture, given as JSON, and remarks on it: in the format that the name of the
	// file ends with and with a look, the JSON form of figure.Options; without a name as a PNG for
	// a notebook.
	Draw func(picture json.RawMessage, file string, look json.RawMessage) (
		data []byte, notes []string, err error,
	)
}

// Config is what to serve and for how long.
type Config struct {
	// Socket is the path to listen on, in a directory that only this user can enter. The engine
	// removes it when it ends.
	Socket string
	// Watch is the pid of a process whose end ends the engine; 0: none.
	Watch int
	// Idle ends an engine that has had nothing to do for so long; 0: never.
	Idle time.Duration
	// Open opens the models that requests name. Each is opened once and stays open, within the
	// limits Models and Bytes.
	Open Opener
	// Name, if not nil, returns the same value for all ways to name one model, so that it is opened
	// once.
	Name func(engine.Model) engine.Model
	// Encode makes files of explanations; nil: the engine makes none. Origin returns what each
	// explanation says of its origin, which it needs.
	Encode Encoder
	Origin func(engine.Request, attribution.Options) (json.RawMessage, error)
	// Opens returns the generated token that a picture opens at; see [attribution.Options.Opens].
	Opens func(e *attribution.Explanation, show json.RawMessage) int
	// Figures makes figures of documents; the zero value makes none.
	Figures Figures
	// Models is how many models stay open at most; 0: 4. The least recently used one is closed.
	Models int
	// Bytes is how many bytes the weights of the open models may take together; 0: no limit. A
	// single model may take more.
	Bytes int64
	// Memory is how many bytes the open models and what their runs record may take together. A
	// model that needs more is refused, whatever its request allows. 0: what requests allow.
	Memory int64
	// Build is the version of the program, for messages.
	Build string
	// Patience is how long a client may take to send its request, or to read an event; 0: 30
	// seconds.
	Patience time.Duration
	// Release returns the memory that this process holds and does not use to the system; nil: that
	// of Go. It is called when a model has been closed, and when the engine has had nothing to do
	// for a few seconds, once until there is work again.
	Release func()
	// Log gets one line for each error and for the start and the end, and the stack of a panic;
	// nil: nothing is logged.
	Log io.Writer
}

const (
	// grace is how long requests may take to end after they are cancelled.
	grace = 5 * time.Second
	// watchEvery is how often the engine looks at the watched process and the socket.
	watchEvery = time.Second
	// defaultModels is as many models as requests can use at once, so that one of them is unused
	// when another is opened.
	defaultModels = maxRunning
)

// Serve answers requests until one of these happens, and returns nil:
//
//   - ctx is done, or a client sends a stop request
//   - the watched process ends, or no request arrives for Idle
//   - the process gets SIGINT, SIGTERM or SIGHUP
//   - the socket is removed or replaced
//
// It cancels the running requests, except after the loss of its socket: then it lets them end.
// Serve returns an error if it cannot listen, or no longer accepts connections.
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
	context.AfterFunc(ctx, func() { listener.Close() }) // this also removes the socket
	err = s.accept(ctx, listener)
	cancel(err)
	s.wait()
	s.logf("ends: %v", context.Cause(ctx))
	if errors.Is(context.Cause(ctx), errWatchedEnded) {
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
	if c.Memory > 0 && (c.Bytes == 0 || c.Bytes > c.Memory) {
		c.Bytes = c.Memory
	}
	if c.Release == nil {
		c.Release = debug.FreeOSMemory
	}
	return &server{
		Config: c, stop: stop, began: time.Now(), changed: time.Now(),
		models: models{
			open: c.Open, name: c.Name, most: c.Models, bytes: c.Bytes, memory: c.Memory,
			release: c.Release,
		},
		slots: make(chan struct{}, maxRunning),
	}
}

// server is a running engine.
type server struct {
	Config
	stop    context.CancelCauseFunc
	models  models
	last    last
	uploads uploads
	figures madeFigures
	running sync.WaitGroup
	began   time.Time
	slots   chan struct{} // has a value for each request that uses a model

	mu       sync.Mutex
	serving  int           // connections whose request has come
	waiting  []*connection // the others, the oldest first
	active   int           // requests
	working  int           // of them, those that are work
	requests int           // all so far
	changed  time.Time     // when the latest work began or ended
	rested   time.Time     // changed when Release was called
}

// accept serves connections until the listener is closed, and returns nil if ctx is done. Errors
// that pass by themselves, such as too many open files, do not end it.
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
		case err != nil && !isTemporary(err):
			return pkg.Errorf("accepting connections: %w", err)
		case err != nil:
			if wait == 0 { // one line, not one for every attempt
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
		s.handle(ctx, conn)
	}
}

// isTemporary reports whether an error of Accept is about one client or a shortage, and not about
// the listener.
func isTemporary(err error) bool {
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

// handle serves a connection in a goroutine, or refuses it if there are too many.
func (s *server) handle(ctx context.Context, conn net.Conn) {
	c := newConnection(ctx, conn, s.Patience)
	if !s.connect(c) {
		c.patience = lastPatience // the answer fits into the buffer of the socket
		s.fail(c, errTooMany)
		c.Close()
		c.cancel(nil)
		return
	}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer s.disconnect(c)
		defer c.cancel(nil)
		defer c.Close()
		s.serve(ctx, c)
	}()
}

var errTooMany = fmt.Errorf("the engine serves %d connections, the limit: end some of the "+
	"programs that ask it, or try again", maxConnections)

// connect counts a connection, unless there are too many that are served. Instead of the one that
// has sent no request for longest, the new one waits for its request.
func (s *server) connect(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving+len(s.waiting) >= maxConnections {
		if len(s.waiting) == 0 {
			return false
		}
		s.waiting[0].cancel(errTooMany)
		s.waiting = s.waiting[1:]
	}
	s.waiting = append(s.waiting, c)
	return true
}

// received reports whether a connection whose request has come still has its place.
func (s *server) received(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, c)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.serving++
	c.served = true
	return true
}

func (s *server) disconnect(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.served {
		s.serving--
	} else if i := slices.Index(s.waiting, c); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// wait waits until the running requests have ended, at most for grace.
func (s *server) wait() {
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(grace):
		s.logf("a request does not end; the engine ends without it")
	}
}

// serve answers the request of one connection. ctx is that of the engine.
func (s *server) serve(ctx context.Context, c *connection) {
	r, err := c.receive()
	switch {
	case err == nil && s.received(c):
		s.serveRequest(ctx, c, r)
	case c.ctx.Err() != nil && ctx.Err() == nil: // it made room for another one
		s.fail(c, context.Cause(c.ctx))
	case !errors.Is(err, io.EOF) && c.ctx.Err() == nil:
		s.logf("request: %v", err)
		s.fail(c, err)
	}
}

// serveRequest answers a request.
func (s *server) serveRequest(ctx context.Context, c *connection, r engine.Request) {
	number, end := s.begin(r.Kind)
	defer end()
	working, stop := context.WithCancel(c.ctx)
	defer stop()
	go c.watch() // until the connection is closed
	go c.keepAlive(working, r.Alive)
	if err := s.answer(c.ctx, c, r, number); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("the engine ends: %w", context.Cause(ctx))
		}
		s.logf("%.40s: %v", r.Kind, err)
		s.fail(c, err)
		return
	}
	_ = c.send(engine.Event{Done: true}) // the client may have closed the connection
}

// acquire waits until the request may use a model. The caller calls free when it no longer does.
func (s *server) acquire(ctx context.Context, c *connection) (free func(), err error) {
	free = func() { <-s.slots }
	select {
	case s.slots <- struct{}{}:
		return free, nil
	default:
	}
	c.progress(trace.Progress{
		Stage: "waiting until one of the other requests ends", Unit: "request",
		Done: maxRunning, Total: maxRunning,
	})
	select {
	case s.slots <- struct{}{}:
		return free, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer runs one request. After a panic only that request fails.
func (s *server) answer(
	ctx context.Context, c *connection, r engine.Request, number int,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logf("panic in %s: %v\n%s", r.Kind, p, debug.Stack())
			err = fmt.Errorf("a bug in %s ended this request: %v", panicked(), p)
		}
	}()
	if r.Version != engine.Version && r.Kind != engine.KindStop {
		return fmt.Errorf("the running engine speaks protocol %d and this program %d: "+
			"restart the kernel, or end the engine, process %d",
			engine.Version, r.Version, os.Getpid())
	}
	if err := r.Check(); err != nil {
		return err
	}
	switch r.Kind {
	case engine.KindExplain:
		return s.explain(ctx, c, r)
	case engine.KindTrace:
		return s.trace(ctx, c, r)
	case engine.KindSources:
		return s.sources(ctx, c, r)
	case engine.KindLast:
		return s.last.send(c)
	case engine.KindPart:
		return s.uploads.add(r)
	case engine.KindPicture:
		p, err := s.uploads.take(r)
		if err == nil {
			s.last.drew(p, r.Model)
		}
		return err
	case engine.KindSave:
		return s.save(ctx, c, r)
	case engine.KindFigures:
		return s.makeFigures(ctx, c, r)
	case engine.KindDraw:
		return s.draw(c, r)
	case engine.KindInfo:
		return c.send(engine.Event{Status: s.status(number)})
	case engine.KindStop:
		s.stop(errors.New("a client asked for it"))
	}
	return nil // Check refuses every other kind
}

// panicked returns the name of the function that panicked. A deferred function that recovers calls
// it.
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
			return "unknown code"
		}
	}
}

// maxMessage is how many bytes of an error are sent. A longer one repeats what the user wrote.
const maxMessage = 16 << 10

// fail sends an error.
func (s *server) fail(c *connection, err error) {
	text := message.Words(err, nil)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	failure := engine.Error{
		Message: text, Usage: errors.Is(err, trace.ErrUsage), Reason: errorkind.Of(err),
	}
	if len(text) < maxMessage { // with all of its words
		errors.As(err, &failure.Wrong)
	}
	_ = c.send(engine.Event{Failure: &failure})
}

// begin counts a request and returns how many came before it, and what to call at its end. A
// request for the status is no work: who only looks does not keep an engine running.
func (s *server) begin(kind engine.Kind) (number int, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	work := kind != engine.KindInfo && kind != engine.KindStop
	s.active++
	s.requests++
	if work {
		s.working++
		s.changed = time.Now()
	}
	return s.requests - 1, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		if work {
			s.working--
			s.changed = time.Now()
		}
	}
}

// restAfter is how long there is no work before [Config.Release] is called, so that the next cell
// of somebody who works finds memory that is ready. Tests change it.
var restAfter = 5 * time.Second

// rest calls Release if there has been no work for long enough, and there was some since the last
// time.
func (s *server) rest() {
	s.mu.Lock()
	due := s.working == 0 && s.rested.Before(s.changed) && time.Since(s.changed) >= restAfter
	if due {
		s.rested = s.changed
	}
	s.mu.Unlock()
	if due {
		s.Release()
	}
}

// idle returns how long there has been no work.
func (s *server) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working > 0 {
		return 0
	}
	return time.Since(s.changed)
}

// busy reports whether a request is running.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active > 0
}

var (
	errWatchedEnded = errors.New("the process that it belongs to has ended")
	errIdle         = errors.New("it got no request")
	errSocketLost   = errors.New("its socket was removed or replaced")
)

// watch ends the engine when the watched process has ended or no request arrives for too long. If
// the socket is lost, no client can reach the engine, and watch ends it after the last request.
func (s *server) watch(ctx context.Context, listener *socket) {
	watched := engine.Alive(s.Watch)
	tick := watchEvery
	if s.Idle > 0 {
		tick = min(tick, s.Idle)
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	lost := false
	for {
		s.rest()
		if s.Watch != 0 && !watched() {
			s.stop(errWatchedEnded)
			return
		}
		if s.Idle > 0 && s.idle() >= s.Idle {
			s.stop(errIdle)
			return
		}
		if !lost && !listener.exists() {
			lost = true
			s.logf("%v; it ends after the last request", errSocketLost)
		}
		if lost && !s.busy() {
			s.stop(errSocketLost)
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

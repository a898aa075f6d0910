package server

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// broken is a listener that first fails with each of its errors, then gives one connection, and
// then always fails with its last error.
type broken struct {
	net.Listener
	errs []error
	conn net.Conn
	last error
	n    int
}

func (b *broken) Accept() (net.Conn, error) {
	b.n++
	switch {
	case b.n <= len(b.errs):
		err := os.NewSyscallError("accept4", b.errs[b.n-1])
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: err}
	case b.n == len(b.errs)+1:
		return b.conn, nil
	}
	return nil, b.last
}

// TestAcceptGoesOn checks that temporary errors do not end the engine, and that a permanent one
// does.
func TestAcceptGoesOn(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	var log strings.Builder
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := newServer(Config{Log: &log}, cancel)
	gone := errors.New("the listener is gone")
	listener := &broken{conn: here, last: gone, errs: []error{
		syscall.EMFILE, syscall.ECONNABORTED, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR,
	}}
	done := make(chan error, 1)
	go func() { done <- s.accept(ctx, listener) }()
	var ev engine.Event
	go func() {
		request := engine.Request{Version: engine.Version, Kind: engine.KindInfo}
		_ = json.NewEncoder(there).Encode(request)
	}()
	if err := gob.NewDecoder(there).Decode(&ev); err != nil || ev.Status == nil {
		t.Errorf("after errors that pass: %+v, %v", ev, err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, gone) {
			t.Errorf("error %v, want %v", err, gone)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the server still asks a listener that is closed")
	}
	if n := strings.Count(log.String(), "trying again"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}

// A listener that always fails neither keeps the engine from ending nor the processor busy.
func TestAcceptEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newServer(Config{}, cancel)
	errs := make([]error, 10_000)
	for i := range errs {
		errs[i] = syscall.EMFILE
	}
	listener := &broken{errs: errs}
	time.AfterFunc(200*time.Millisecond, func() { cancel(nil) })
	if err := s.accept(ctx, listener); err != nil || listener.n > 10 {
		t.Errorf("%d attempts, %v; want few", listener.n, err)
	}
}

// TestFailuresAreNotKept checks that the engine keeps nothing of a model that could not be opened
// or whose opening was cancelled.
func TestFailuresAreNotKept(t *testing.T) {
	m := models{most: 2, open: func(
		ctx context.Context, which engine.Model, _ func(trace.Progress),
	) (trace.Model, error) {
		if which.Backend == "slow" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("no such model")
	}}
	for i := range 20 {
		if _, _, err := m.get(t.Context(), engine.Model{Name: fmt.Sprint(i)}, nil); err == nil {
			t.Fatal("a model came")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	done := make(chan error)
	for range 5 { // one opens it, the others wait
		go func() {
			_, _, err := m.get(ctx, engine.Model{Backend: "slow"}, nil)
			done <- err
		}()
	}
	for range 5 {
		if err := <-done; err == nil {
			t.Error("a model came")
		}
	}
	if len(m.all) != 0 {
		t.Errorf("%d entries stay", len(m.all))
	}
}

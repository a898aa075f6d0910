package server_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// dial connects to an engine until the test ends.
func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	return conn
}

// sent is a request as a client sends it.
func sent(t *testing.T, r engine.Request) []byte {
	t.Helper()
	r.Version = engine.Version
	b, err := json.Marshal(r)
	must(t, err)
	return b
}

// goroutines waits until no more than n goroutines are left.
func goroutines(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		now := runtime.NumGoroutine()
		if now <= n {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", now, n, buf[:runtime.Stack(buf, true)])
		}
	}
}

// TestHalfRequests checks that the engine gives up clients that send no complete request in time,
// and keeps nothing of them.
func TestHalfRequests(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{}), Patience: 200 * time.Millisecond})
	before := runtime.NumGoroutine()
	whole := sent(t, engine.Request{Kind: engine.KindInfo})
	for name, send := range map[string]func(net.Conn){
		"nothing":           func(net.Conn) {},
		"half a request":    func(c net.Conn) { _, _ = c.Write(whole[:len(whole)/2]) },
		"spaces":            func(c net.Conn) { drip(c, bytes.Repeat([]byte(" "), 100)) },
		"one byte a moment": func(c net.Conn) { drip(c, whole) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, client.Socket)
			go send(conn)
			var ev engine.Event
			events := gob.NewDecoder(conn)
			err := events.Decode(&ev)
			if err != nil || ev.Failure == nil ||
				ev.Failure.Message != "no request came within 200ms" {
				t.Errorf("answer %+v, %v; want a failure", ev.Failure, err)
			}
			if err := events.Decode(&ev); err == nil {
				t.Error("the connection stays open")
			}
		})
	}
	t.Cleanup(func() { goroutines(t, before) })
}

// drip sends a byte every 20 ms until the other side hangs up.
func drip(c net.Conn, b []byte) {
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestClientsThatHangUp sends many broken requests and counts the goroutines that are left.
func TestClientsThatHangUp(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	before := runtime.NumGoroutine()
	whole := sent(t, engine.Request{
		Kind: engine.KindExplain, Text: []byte("a b c"), Options: []byte(`{"max_tokens":3}`),
	})
	for i := range 200 {
		conn, err := net.Dial("unix", client.Socket)
		must(t, err)
		_, _ = conn.Write(whole[:i*len(whole)/199])
		conn.Close()
	}
	// Clients that wait to be accepted occupy places until the engine has seen that they are gone.
	eventually(t, func() bool {
		_, err := client.Info(t.Context())
		return err == nil
	})
	goroutines(t, before)
}

// TestClientsThatDoNotRead checks that many clients that do not read occupy no place for long.
func TestClientsThatDoNotRead(t *testing.T) {
	var log syncBuffer
	client, _ := serve(t, server.Config{
		Open: one(&wordModel{}), Patience: time.Second, Log: &log,
	})
	before := runtime.NumGoroutine()
	const clients = 6
	for range clients {
		conn := dial(t, client.Socket)
		// Two tensors of three tokens, 10 MB: more than a socket holds.
		if _, err := conn.Write(sent(t, engine.Request{
			Kind: engine.KindTrace, IDs: []int{0, 1, 2}, Taps: []trace.Tap{trace.Logits, trace.Final},
		})); err != nil {
			t.Fatal(err)
		}
	}
	e, err := client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{MaxTokens: 1})
	if err != nil || len(e.Steps) != 1 {
		t.Errorf("a client that reads: %v", err)
	}
	eventually(t, func() bool {
		return strings.Count(log.String(), "does not read what it is sent for 1s") == clients
	})
	goroutines(t, before)
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The engine does not give up a client with a slow OnStep while it sends only signs of life.
func TestSlowOnStep(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{}), Patience: 300 * time.Millisecond})
	client.Patience = 300 * time.Millisecond
	e, err := client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{
		MaxTokens: 3, OnStep: func(*attribution.Explanation) { time.Sleep(500 * time.Millisecond) },
	})
	if err != nil || len(e.Steps) != 3 {
		t.Errorf("error %v, want three tokens", err)
	}
}

// Connections that send nothing keep nobody out: the oldest of them ends for each new one.
func TestIdleConnections(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	var all []net.Conn
	for range 200 {
		all = append(all, dial(t, client.Socket))
		if _, err := client.Info(t.Context()); err != nil {
			t.Fatalf("beside %d idle connections: %v", len(all), err)
		}
	}
	var ev engine.Event
	if err := gob.NewDecoder(all[0]).Decode(&ev); err != nil || ev.Failure == nil ||
		!strings.Contains(ev.Failure.Message, "serves 64 connections, the limit") {
		t.Errorf("the oldest one got %+v, %v", ev, err)
	}
	last := all[len(all)-1] // it is still there
	ev = engine.Event{}
	info := engine.Request{Version: engine.Version, Kind: engine.KindInfo}
	must(t, json.NewEncoder(last).Encode(info))
	if err := gob.NewDecoder(last).Decode(&ev); err != nil || ev.Status == nil {
		t.Errorf("the newest one got %+v, %v", ev, err)
	}
}

func TestTooManyConnections(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	refused := func() bool {
		_, err := client.Info(t.Context())
		var said *engine.Error
		if err != nil && (!errors.As(err, &said) ||
			!strings.Contains(said.Message, "serves 64 connections, the limit")) {
			t.Fatalf("error %v", err)
		}
		return err != nil
	}
	request := func() {
		running.Go(func() {
			for ctx.Err() == nil { // one that has just come may lose its place to the next
				_, _ = client.Explain(ctx, engine.Model{}, "a b", attribution.Options{MaxTokens: 3})
			}
		})
	}
	for range 63 {
		request()
	}
	eventually(t, func() bool { return !refused() }) // the place of the last one is free again
	request()
	eventually(t, refused)
	cancel()
	running.Wait()
	eventually(t, func() bool { return !refused() })
}

// TestPlaces checks that a fifth request waits while four use models, says so, and can be
// cancelled.
func TestPlaces(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	ask := func(ctx context.Context, progress func(trace.Progress), step func()) error {
		_, err := client.Explain(ctx, engine.Model{}, "a b", attribution.Options{
			MaxTokens: 2, OnProgress: progress, OnStep: func(*attribution.Explanation) { step() },
		})
		return err
	}
	var first sync.WaitGroup
	began := make(chan struct{}, 8)
	for range 4 {
		first.Go(func() {
			if err := ask(t.Context(), nil, func() { began <- struct{}{} }); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		<-began
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := func(p trace.Progress) {
		if strings.HasPrefix(p.Stage, "waiting until one of the other requests ends") {
			cancel()
		}
	}
	if err := ask(ctx, waiting, func() { t.Error("it runs") }); !errors.Is(err, context.Canceled) {
		t.Errorf("the fifth: %v, want context.Canceled", err)
	}
	if _, err := client.Info(t.Context()); err != nil { // which needs no place
		t.Error(err)
	}
	close(m.gate)
	first.Wait()
	if err := ask(t.Context(), nil, func() {}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestPanicOfAnOpener checks that a panic while a model opens frees its place.
func TestPanicOfAnOpener(t *testing.T) {
	client, _ := serve(t, server.Config{
		Models: 1,
		Open: func(
			_ context.Context, which engine.Model, _ func(trace.Progress),
		) (trace.Model, error) {
			if which.Name == "good" {
				return &wordModel{}, nil
			}
			panic("no model")
		},
	})
	for i := range 9 {
		name := engine.Model{Name: fmt.Sprint("bad", i)}
		_, err := client.Explain(t.Context(), name, "a", attribution.Options{})
		if err == nil || !strings.Contains(err.Error(), "no model") {
			t.Fatalf("error %v, want the panic", err)
		}
	}
	_, err := client.Explain(t.Context(), engine.Model{Name: "good"}, "a",
		attribution.Options{MaxTokens: 1})
	if err != nil {
		t.Error(err)
	}
}

// TestWireIsChecked checks that a request that no model can fulfil is refused before one is opened.
func TestWireIsChecked(t *testing.T) {
	client, _ := serve(t, server.Config{
		Open: func(context.Context, engine.Model, func(trace.Progress)) (trace.Model, error) {
			t.Error("a model is opened")
			return nil, errors.New("no model")
		},
	})
	explain := func(options string) engine.Request {
		return engine.Request{Kind: engine.KindExplain, Text: []byte("a"), Options: []byte(options)}
	}
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		request engine.Request
		want    string
	}{
		"max tokens":      {explain(`{"max_tokens":-5}`), "max tokens -5; it must be in [1,4096]"},
		"many tokens":     {explain(`{"max_tokens":1000000}`), "max tokens 1000000"},
		"more than int":   {explain(`{"max_tokens":1e400}`), `option "max_tokens" cannot be a number 1e400`},
		"a text":          {explain(`{"max_tokens":"x"}`), `option "max_tokens" cannot be a string`},
		"threshold":       {explain(`{"threshold":-1}`), "threshold -1"},
		"layer":           {explain(`{"first_layer":-1}`), "first layer -1"},
		"unknown option":  {explain(`{"magic":1}`), `knows no option "magic": it is not of the same version, restart the kernel`},
		"no object":       {explain(`[1]`), "the options are of JSON type array; want an object"},
		"unknown method":  {explain(`{"methods":["rolout"]}`), `unknown method "rolout"; `},
		"long method":     {explain(`{"methods":["` + long + `"]}`), "unknown method"},
		"prompt":          {engine.Request{Kind: engine.KindExplain, Text: make([]byte, 1<<20+1), Options: []byte("{}")}, "prompt of 1048577 bytes; at most 1048576"},
		"model name":      {engine.Request{Kind: engine.KindTrace, Model: engine.Model{Name: long}}, "model name of 5000 bytes; at most 4096"},
		"backend":         {engine.Request{Kind: engine.KindTrace, Model: engine.Model{Backend: long}}, "backend name of 5000 bytes"},
		"data type":       {engine.Request{Kind: engine.KindTrace, Model: engine.Model{DType: long}}, "name of a data type of 5000 bytes; at most 64"},
		"max memory":      {engine.Request{Kind: engine.KindTrace, Model: engine.Model{MaxMemory: -1}}, "max memory -1 bytes"},
		"token id":        {engine.Request{Kind: engine.KindTrace, IDs: []int{1, -7}}, "token id -7 at index 1"},
		"many ids":        {engine.Request{Kind: engine.KindTrace, IDs: make([]int, 1<<20+1)}, "1048577 token ids; at most 1048576"},
		"specials":        {engine.Request{Kind: engine.KindTrace, Specials: 9}, "specials 9"},
		"unknown tap":     {engine.Request{Kind: engine.KindTrace, Taps: []trace.Tap{"nonsense"}}, `unknown tap "nonsense"; known are [scores`},
		"too many taps":   {engine.Request{Kind: engine.KindTrace, Taps: make([]trace.Tap, 1000)}, "1000 taps; there are"},
		"unknown request": {engine.Request{Kind: "dance"}, `does not know the request "dance"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := raw(t, client.Socket, func(conn net.Conn) error {
				_, err := conn.Write(sent(t, c.request))
				return err
			})
			if !strings.Contains(got, c.want) || len(got) > 3000 {
				t.Errorf("failure %.500q of %d bytes, want %q", got, len(got), c.want)
			}
		})
	}
	// A client finds the same errors itself, also for values that the protocol cannot carry.
	_, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{MaxTokens: -5})
	if !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v, want a usage error", err)
	}
}

// TestUnknownNamesArrive checks that the error about an unknown name reaches the client unchanged.
func TestUnknownNamesArrive(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	for _, name := range []string{"rolout", "attention+rolout", "atention+rollout", "nonsense"} {
		_, want := attribution.LookupMethod(name)
		_, got := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{Methods: []string{name}})
		if want == nil || got == nil || got.Error() != message.Words(want, nil) ||
			!errors.Is(got, trace.ErrUsage) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got != nil && !strings.Contains(got.Error(), "known are ") {
			t.Errorf("%s: %v lists no known names", name, got)
		}
	}
}

// TestAliveWhileItWorks checks that a request may take much longer than the client's patience.
func TestAliveWhileItWorks(t *testing.T) {
	client, _ := serve(t, server.Config{
		Open: func(context.Context, engine.Model, func(trace.Progress)) (trace.Model, error) {
			time.Sleep(time.Second)
			return &wordModel{}, nil
		},
	})
	client.Patience = 400 * time.Millisecond
	_, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{MaxTokens: 1})
	if err != nil {
		t.Error(err)
	}
}

// TestRequestEndsWithoutTheSocket checks that a running request is answered although the socket is
// removed, and that the engine ends then.
func TestRequestEndsWithoutTheSocket(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	var log syncBuffer
	client, wait := serve(t, server.Config{Open: one(m), Log: &log})
	e, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{
		MaxTokens: 2, OnStep: func(e *attribution.Explanation) {
			if len(e.Steps) == 1 {
				if err := os.Remove(client.Socket); err != nil {
					t.Error(err)
				}
				eventually(t, func() bool {
					return strings.Contains(log.String(), "it ends after the last request")
				})
				m.gate <- struct{}{}
			}
		},
	})
	if err != nil || len(e.Steps) != 2 {
		t.Errorf("the request: %v", err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

// TestReplacedSocket checks that a file that another program put in place of the socket stays.
func TestReplacedSocket(t *testing.T) {
	client, wait := serve(t, server.Config{Open: one(&wordModel{})})
	must(t, os.Remove(client.Socket))
	other, err := net.Listen("unix", client.Socket)
	must(t, err)
	defer other.Close()
	if err := wait(); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(client.Socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("the other socket: %v", err)
	}
}

// A long error does not fill a cell.
func TestLongError(t *testing.T) {
	client, _ := serve(t, server.Config{
		Open: func(context.Context, engine.Model, func(trace.Progress)) (trace.Model, error) {
			return nil, errors.New(strings.Repeat("ä", 1<<20))
		},
	})
	_, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
	if err == nil || len(err.Error()) > 17<<10 || !strings.HasSuffix(err.Error(), "ä…") {
		t.Errorf("error of %d bytes", len(fmt.Sprint(err)))
	}
}

// TestNothingMoreIsSent checks that a client that sends more than one request cancels it, at once
// or while it runs.
func TestNothingMoreIsSent(t *testing.T) {
	m := &wordModel{gate: make(chan struct{}), ended: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	whole := sent(t, engine.Request{
		Kind: engine.KindExplain, Text: []byte("a"), Options: []byte(`{"max_tokens":9}`),
	})
	got := raw(t, client.Socket, func(conn net.Conn) error {
		_, err := conn.Write(append(bytes.Clone(whole), 'x'))
		return err
	})
	if want := "the client sent something after its request"; got != want {
		t.Errorf("failure %q, want %q", got, want)
	}
	conn := dial(t, client.Socket)
	if _, err := conn.Write(whole); err != nil {
		t.Fatal(err)
	}
	events := gob.NewDecoder(conn)
	for began := false; !began; {
		var ev engine.Event
		must(t, events.Decode(&ev))
		began = ev.Step
	}
	if _, err := conn.Write([]byte{'x'}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.ended:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on")
	}
}

var must = testhelp.Must // ends a test at an error

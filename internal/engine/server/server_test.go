package server_test

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// wordModel is a model of one layer that reads words and answers with the words of the prompt, one
// after another. Every row of attention is uniform. It is not a language model, but it keeps the
// contract of one.
type wordModel struct {
	// gate, if not nil, must yield a value before each step but the first.
	gate chan struct{}
	// ended is closed when a run is over.
	ended chan struct{}
}

func (m *wordModel) Info() trace.Info {
	return trace.Info{
		Name: "words", Hash: "00ff", Family: "none", Backend: "go",
		Layers: 1, Heads: 1, Width: 1, Vocab: 100,
	}
}

func (m *wordModel) Encode(text string, _ trace.Specials) ([]trace.Token, error) {
	var tokens []trace.Token
	for i, w := range strings.Fields(text) {
		tokens = append(tokens, trace.Token{ID: i, Text: " " + w, End: 1})
	}
	return tokens, nil
}

func (m *wordModel) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		if m.ended != nil {
			defer close(m.ended)
		}
		if ids[0] == 0 && len(ids) == 13 {
			panic("thirteen words")
		}
		if ask.Progress != nil {
			ask.Progress(trace.Progress{
				Stage: "preparing prompt rows", Unit: "layer", Done: 1, Total: 1,
			})
		}
		for n := range ask.MaxTokens {
			if n > 0 && m.gate != nil {
				select {
				case <-m.gate:
				case <-ctx.Done():
				}
			}
			if err := ctx.Err(); err != nil {
				yield(trace.Step{}, err)
				return
			}
			if !yield(step(len(ids), n, ask), nil) {
				return
			}
		}
	}
}

// step feeds the prompt of m tokens, or the token of step n.
func step(m, n int, ask trace.Ask) trace.Step {
	s := trace.Step{First: m + n - 1, Count: 1}
	if n == 0 {
		s.First, s.Count = 0, m
	}
	for range ask.Mixings {
		r := trace.Rows{First: s.First, L: 1, H: 1, N: s.Count, S: m + n}
		for i := range r.N {
			for j := range r.S {
				x := float32(0)
				if j <= s.First+i {
					x = 1 / float32(s.First+i+1)
				}
				r.Data = append(r.Data, x)
			}
		}
		s.Rows = append(s.Rows, r)
	}
	s.Next = &trace.Prediction{
		Token: trace.Token{ID: n, Text: fmt.Sprintf(" w%d\xe2", n)}, Probability: 0.5,
		Alternatives: []trace.Alternative{{Token: trace.Token{ID: 7, Text: "x"}, Probability: 0.25}},
	}
	return s
}

func (m *wordModel) Trace(_ context.Context, ids []int, taps []trace.Tap) ([]trace.Tensor, error) {
	var all []trace.Tensor
	for _, tap := range taps {
		t := trace.Tensor{Name: string(tap), Axes: "TV", Shape: []int{len(ids), 400_000}}
		for i := range len(ids) * 400_000 { // of three tokens: more than one piece
			t.Data = append(t.Data, float32(i%1000)/3)
		}
		all = append(all, t)
	}
	return all, nil
}

// serve runs an engine on a socket of its own until the test ends and returns a client and a
// function that waits for its end.
func serve(t *testing.T, c server.Config) (engine.Client, func() error) {
	t.Helper()
	c.Socket = filepath.Join(testhelp.ShortDir(t), "e.sock")
	ctx, cancel := context.WithCancel(t.Context())
	var end error
	done := make(chan struct{})
	go func() {
		defer close(done)
		end = server.Serve(ctx, c)
	}()
	wait := func() error {
		t.Helper()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the engine does not end")
		}
		return end
	}
	t.Cleanup(func() {
		cancel()
		_ = wait()
	})
	client := engine.Client{Socket: c.Socket}
	eventually(t, func() bool { _, err := client.Info(t.Context()); return err == nil })
	return client, wait
}

var eventually = testhelp.Eventually // waits until a function returns true

// one opens the same model for every name.
func one(m trace.Model) server.Opener {
	return func(context.Context, engine.Model, func(trace.Progress)) (trace.Model, error) {
		return m, nil
	}
}

func TestExplainEqualsDirect(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	head, residual := 0, 0.0
	for name, opts := range map[string]attribution.Options{
		"default": {MaxTokens: 4},
		"all":     {MaxTokens: 3, Methods: []string{"raw", "flow", "rollout"}, PerHead: &head, Residual: &residual},
		"lift":    {MaxTokens: 3, Methods: []string{"rollout"}, Lift: true},
		"groups":  {MaxTokens: 3, Methods: []string{"rollout", "raw"}, By: "0:2", Target: "1:3"},
	} {
		t.Run(name, func(t *testing.T) {
			type seen struct {
				Steps, Rows int
				Progress    string
			}
			record := func(into *[]seen) attribution.Options {
				o := opts
				o.OnStep = func(e *attribution.Explanation) {
					*into = append(*into, seen{len(e.Steps), e.Methods[e.Order[0]].Shape[0], ""})
				}
				o.OnProgress = func(p trace.Progress) {
					*into = append(*into, seen{Progress: p.String()})
				}
				return o
			}
			var wantSeen, gotSeen []seen
			want, err := attribution.Explain(t.Context(), &wordModel{}, "a b\xff c",
				record(&wantSeen))
			must(t, err)
			got, err := client.Explain(t.Context(), engine.Model{}, "a b\xff c", record(&gotSeen))
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("through the socket (-direct +engine):\n%s", diff)
			}
			if diff := cmp.Diff(wantSeen, gotSeen); diff != "" {
				t.Errorf("OnStep and OnProgress (-direct +engine):\n%s", diff)
			}
			direct, _ := json.Marshal(want)
			remote, _ := json.Marshal(got)
			if string(direct) != string(remote) {
				t.Errorf("JSON differs:\n%s\n%s", direct, remote)
			}
		})
	}
}

// reader is an encoder of two layers that predicts at the first token and then at the positions
// asked for.
type reader struct{ wordModel }

func (m *reader) Info() trace.Info {
	return trace.Info{
		Name: "reader", Head: trace.MaskedToken, Bidirectional: true,
		Layers: 2, Heads: 1, Width: 1, Vocab: 100,
	}
}

func (m *reader) Steps(_ context.Context, ids []int, ask trace.Ask) iter.Seq2[trace.Step, error] {
	return func(yield func(trace.Step, error) bool) {
		T := len(ids)
		for i, at := range ask.Positions {
			s := trace.Step{First: T, Next: &trace.Prediction{
				Token: trace.Token{ID: i, Text: "\xe2"}, Position: at, Probability: 0.5,
			}}
			if i == 0 {
				s.First, s.Count = 0, T
				for range ask.Mixings {
					r := trace.Rows{L: 2, H: 1, N: T, S: T}
					for k := range 2 * T * T {
						r.Data = append(r.Data, float32(1+k%7))
					}
					s.Rows = append(s.Rows, r)
				}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Predictions, also at position 0, and maps arrive unchanged, also maps that take several events.
func TestExplainEncoderEqualsDirect(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&reader{})})
	long := strings.Repeat("a ", 800)
	for name, opts := range map[string]attribution.Options{
		"short":     {Methods: []string{"raw", "flow", "value-zeroing"}, Positions: []int{1, 0, 2}},
		"long":      {Methods: []string{"raw"}, Positions: []int{799}},
		"no map":    {Methods: []string{"flow"}, Positions: []int{0}},
		"the first": {Methods: []string{"raw"}, Positions: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			text := "a b c"
			switch name {
			case "long":
				text = long
			case "no map":
				text = long[:2*70]
			}
			want, err := attribution.Explain(t.Context(), &reader{}, text, opts)
			must(t, err)
			got, err := client.Explain(t.Context(), engine.Model{}, text, opts)
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("through the socket (-direct +engine):\n%s", diff)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	var steps []int
	e, err := client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{
		MaxTokens: 3, Methods: []string{"rollout"},
		OnStep: func(e *attribution.Explanation) {
			steps = append(steps, len(e.Steps))
			if len(e.Steps) < 3 {
				m.gate <- struct{}{} // the model goes on only after its token was seen here
			}
		},
	})
	if err != nil || len(e.Steps) != 3 {
		t.Fatalf("%d steps, %v", len(e.Steps), err)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, steps); diff != "" {
		t.Error(diff)
	}
}

func TestCancelMidway(t *testing.T) {
	m := &wordModel{gate: make(chan struct{}), ended: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	ctx, cancel := context.WithCancel(t.Context())
	e, err := client.Explain(ctx, engine.Model{}, "a b", attribution.Options{
		MaxTokens: 5, Methods: []string{"rollout"},
		OnStep: func(*attribution.Explanation) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if e == nil || len(e.Steps) != 1 || e.Methods["rollout"].Shape != [3]int{1, 2, 1} {
		t.Errorf("explanation so far = %+v, want one token", e)
	}
	select {
	case <-m.ended: // nobody opens the gate: only the cancelled context ends the run
	case <-time.After(10 * time.Second):
		t.Error("the run goes on in the engine")
	}
	if _, err := client.Info(t.Context()); err != nil {
		t.Errorf("after a cancelled request: %v", err)
	}
}

// thrower is the function that panics over a prompt of thirteen words.
const thrower = "github.com/headwater-ml/headwater/internal/engine/server_test.(*wordModel)."

func TestPanicIsAnError(t *testing.T) {
	var log strings.Builder
	client, wait := serve(t, server.Config{Open: one(&wordModel{}), Log: &log})
	_, err := client.Explain(t.Context(), engine.Model{}, strings.Repeat("x ", 13),
		attribution.Options{MaxTokens: 1})
	if err == nil || !strings.Contains(err.Error(), "thirteen words") ||
		!strings.Contains(err.Error(), "a bug in "+thrower) ||
		strings.Contains(err.Error(), "goroutine") {
		t.Errorf("error = %v, want the panic without a stack", err)
	}
	_, err = client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{MaxTokens: 1})
	if err != nil {
		t.Errorf("after a panic: %v", err)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log has no stack:\n%s", log.String())
	}
}

func TestUsageErrorStaysOne(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	_, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{Methods: []string{"nonsense"}})
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "rollout") {
		t.Errorf("error = %v, want a usage error that lists the methods", err)
	}
}

func TestTrace(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	want, _ := (&wordModel{}).Trace(t.Context(), []int{0, 1, 2}, []trace.Tap{trace.Logits, trace.Final})
	got, tokens, err := client.Trace(t.Context(), engine.Model{}, engine.Input{Text: "a b c"},
		trace.Logits, trace.Final)
	must(t, err)
	if len(got) != len(want) || len(tokens) != 3 {
		t.Fatalf("%d tensors, %d tokens; want %d, 3", len(got), len(tokens), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.Axes != w.Axes || !slices.Equal(g.Shape, w.Shape) ||
			!slices.Equal(g.Data, w.Data) {
			t.Errorf("tensor %s %s %v differs from %s %s %v", g.Name, g.Axes, g.Shape, w.Name,
				w.Axes, w.Shape)
		}
	}
	if got, tokens, err = client.Trace(t.Context(), engine.Model{}, engine.Input{IDs: []int{5}}, trace.Final); err != nil || tokens != nil || got[0].Shape[0] != 1 {
		t.Errorf("of ids: %v, %v", tokens, err)
	}
}

// modelAlone is a model that does not implement [trace.Tracer].
type modelAlone struct{ trace.Model }

func TestTraceRefused(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(modelAlone{&wordModel{}})})
	_, _, err := client.Trace(t.Context(), engine.Model{}, engine.Input{Text: "a"}, trace.Final)
	if err == nil || !strings.Contains(err.Error(), `model "words" cannot record tensors`) {
		t.Errorf("error = %v", err)
	}
}

// raw sends something to an engine and returns the failure that comes back.
func raw(t *testing.T, socket string, send func(net.Conn) error) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	must(t, err)
	defer conn.Close()
	must(t, send(conn))
	var ev engine.Event
	if err := gob.NewDecoder(conn).Decode(&ev); err != nil || ev.Failure == nil {
		t.Fatalf("event %+v, %v; want a failure", ev, err)
	}
	return ev.Failure.Message
}

func send(c net.Conn, text string) error {
	_, err := io.WriteString(c, text)
	return err
}

func TestRefusals(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&wordModel{})})
	for _, c := range []struct {
		name, want string
		send       func(net.Conn) error
	}{
		{
			"another version", "speaks protocol 12 and this program 99: restart the kernel",
			func(c net.Conn) error { return send(c, `{"Version":99,"Kind":"info"}`) },
		},
		{
			"another version with other fields",
			"speaks protocol 12 and this program 13: restart the kernel",
			func(c net.Conn) error {
				return send(c, `{"Version":13,"Kind":"explain","Magic":[1]}`)
			},
		},
		{"unknown request", `does not know the request "dance"`, func(c net.Conn) error { return send(c, `{"Version":12,"Kind":"dance"}`) }},
		{
			"broken options",
			"the request cannot be read: the program that sent it is not of the same version",
			func(c net.Conn) error {
				return send(c, `{"Version":12,"Kind":"explain","Options":{]`)
			},
		},
		{"a text for a number", "the request cannot be read: the program", func(c net.Conn) error { return send(c, `{"Version":"5"}`) }},
		{
			"too long", "the request is longer than the limit of 8388608 bytes",
			func(c net.Conn) error {
				// The engine may close the connection before the end.
				_ = send(c, `{"Text":"`+strings.Repeat("a", 8<<20))
				return nil
			},
		},
		{"no JSON", "the request cannot be read", func(c net.Conn) error { return send(c, "\x00\x00\x00\x03xyz") }},
		{
			"cut", "the request ends after 12 bytes",
			func(c net.Conn) error {
				err := send(c, `{"Version":8`)
				_ = c.(*net.UnixConn).CloseWrite()
				return err
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := raw(t, client.Socket, c.send); !strings.Contains(got, c.want) {
				t.Errorf("failure %q, want %q", got, c.want)
			}
		})
	}
	if _, err := client.Info(t.Context()); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func TestSocketIsPrivateAndRemoved(t *testing.T) {
	client, wait := serve(t, server.Config{Open: one(&wordModel{})})
	info, err := os.Stat(client.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket mode %v, %v; want 0600", info.Mode(), err)
	}
	err = server.Serve(t.Context(), server.Config{Socket: client.Socket})
	if err == nil || !strings.Contains(err.Error(), "an engine answers there already") {
		t.Errorf("a second engine on the socket: %v", err)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(client.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	must(t, os.WriteFile(client.Socket, nil, 0o600))
	err = server.Serve(t.Context(), server.Config{Socket: client.Socket})
	if err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file in the way: %v", err)
	}
}

// An engine without work calls Release once after each time that there was some, and perhaps before
// the first.
func TestRests(t *testing.T) {
	defer server.RestAfter(200 * time.Millisecond)()
	var rests atomic.Int32
	client, wait := serve(t, server.Config{
		Open: one(&wordModel{}), Release: func() { rests.Add(1) },
	})
	for range 2 {
		before := rests.Load()
		if _, err := client.Explain(t.Context(), engine.Model{}, "a b",
			attribution.Options{MaxTokens: 2}); err != nil {
			t.Fatal(err)
		}
		for start := time.Now(); rests.Load() == before; time.Sleep(10 * time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatal("it does not rest")
			}
		}
		time.Sleep(2500 * time.Millisecond) // the engine looks every second
	}
	if n := rests.Load(); n > 3 {
		t.Errorf("it rests %d times", n)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestEndsWithTheWatchedProcess(t *testing.T) {
	kernel := exec.Command("sleep", "60")
	if err := kernel.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	_, wait := serve(t, server.Config{Open: one(&wordModel{}), Watch: kernel.Process.Pid})
	_ = kernel.Process.Kill()
	_ = kernel.Wait()
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestEndsWhenIdle(t *testing.T) {
	m := &wordModel{gate: make(chan struct{})}
	const idle = 300 * time.Millisecond
	client, wait := serve(t, server.Config{Open: one(m), Idle: idle})
	if _, err := client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{
		MaxTokens: 2,
		OnStep: func(e *attribution.Explanation) {
			if len(e.Steps) == 1 {
				// The model is busy for longer than the limit.
				time.AfterFunc(2*idle, func() { m.gate <- struct{}{} })
			}
		},
	}); err != nil {
		t.Errorf("a long request: %v", err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

package engine_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// answer listens on a socket until the test ends. It reads each request, calls reply and closes the
// connection.
func answer(t *testing.T, socket string, reply func(engine.Request, *gob.Encoder)) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if r, err := engine.ReadRequest(conn); err == nil {
				reply(r, gob.NewEncoder(conn))
			}
			conn.Close()
		}
	}()
}

// answering returns a client whose engine answers every request with these events, and a channel of
// the requests.
func answering(t *testing.T, events ...engine.Event) (engine.Client, <-chan engine.Request) {
	t.Helper()
	socket := filepath.Join(engine.ShortDir(t), "e.sock")
	requests := make(chan engine.Request, 10)
	answer(t, socket, func(r engine.Request, encoder *gob.Encoder) {
		requests <- r
		for _, e := range events {
			_ = encoder.Encode(e)
		}
	})
	return engine.Client{Socket: socket}, requests
}

func failure(message string) engine.Event {
	return engine.Event{Failure: &engine.Error{Message: message}}
}

// begun is the first part of an explanation of two prompt tokens by two methods, without rows.
func begun() *attribution.Explanation {
	result := func(unit string) *attribution.Result {
		return &attribution.Result{
			Options: map[string]string{"residual": "0.5"}, Layers: []int{5}, Shape: [3]int{0, 2, 1}, Unit: unit,
		}
	}
	return &attribution.Explanation{
		Model:   trace.Info{Name: "words", Hash: "00ff", Layers: 6},
		Prompt:  attribution.Prompt{Text: "a\xff b", IDs: []int{3, 4}, Texts: []string{"a\xff", " b"}},
		Order:   []string{"rollout", "occlusion"},
		Methods: map[string]*attribution.Result{"rollout": result("share"), "occlusion": result("nats")},
	}
}

// token is the next part of that explanation: one token with its rows.
func token(text string, rollout, occlusion, other []float64) *attribution.Explanation {
	return &attribution.Explanation{
		Steps: []attribution.GeneratedToken{{ID: 7, Text: text, Probability: 0.5}},
		Methods: map[string]*attribution.Result{
			"rollout": {
				Shape: [3]int{1, 2, 1}, Rows: [][]float64{rollout}, OtherMass: other, Shown: []int{0},
			},
			"occlusion": {
				Shape: [3]int{1, 2, 1}, Rows: [][]float64{occlusion}, OtherMass: []float64{0}, Shown: []int{0},
				Explained: occlusion[:1], Residue: []float64{0},
			},
		},
		Warnings: []string{"after " + text},
	}
}

// TestExplanationGrows sends an explanation in parts and compares the result with the whole. Bytes
// that are not UTF-8, NaN, infinity and the sign of zero do not change on the way.
func TestExplanationGrows(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	client, _ := answering(
		t,
		engine.Event{}, // a sign of life
		engine.Event{Progress: &trace.Progress{Stage: "reading"}},
		engine.Event{Explanation: begun()},
		engine.Event{Step: true, Explanation: token(
			"\xe2", []float64{0.25, math.NaN()}, []float64{math.Inf(-1), 1e-310}, []float64{0.5},
		)},
		engine.Event{},
		engine.Event{Step: true, Explanation: token(
			"z", []float64{negativeZero, 1, 0.125}, []float64{3, 4}, []float64{0.125},
		)},
		engine.Event{Done: true},
	)
	var seen []string
	opts := attribution.Options{
		OnStep: func(e *attribution.Explanation) {
			seen = append(seen, fmt.Sprint(len(e.Steps), e.Methods["rollout"].Shape[0], e.Warnings))
		},
		OnProgress: func(p trace.Progress) { seen = append(seen, p.Stage) },
	}
	got, err := client.Explain(t.Context(), engine.Model{Name: "words"}, "a\xff b", opts)
	must(t, err)
	want := begun()
	want.Version = attribution.Version
	for _, text := range []string{"\xe2", "z"} {
		want.Steps = append(want.Steps, attribution.GeneratedToken{
			ID: 7, Text: text, Probability: 0.5, Alternatives: []attribution.Alternative{},
		})
	}
	rollout, occlusion := want.Methods["rollout"], want.Methods["occlusion"]
	rollout.Shape, occlusion.Shape = [3]int{2, 2, 1}, [3]int{2, 2, 1}
	rollout.Rows = [][]float64{{0.25, math.NaN()}, {negativeZero, 1, 0.125}}
	occlusion.Rows = [][]float64{{math.Inf(-1), 1e-310}, {3, 4}}
	occlusion.Explained, occlusion.Residue = []float64{math.Inf(-1), 3}, []float64{0, 0}
	rollout.Shown, occlusion.Shown = []int{0, 0}, []int{0, 0}
	rollout.OtherMass, occlusion.OtherMass = []float64{0.5, 0.125}, []float64{0, 0}
	want.Warnings = []string{"after z"}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("explanation (-want +got):\n%s", diff)
	}
	if !math.Signbit(got.Methods["rollout"].Rows[1][0]) {
		t.Error("the zero lost its sign")
	}
	wantSeen := []string{"reading", "1 1 [after \xe2]", "2 2 [after z]"}
	if diff := cmp.Diff(wantSeen, seen); diff != "" {
		t.Errorf("OnProgress and OnStep (-want +got):\n%s", diff)
	}
}

// TestExplanationOfAnEncoder checks that position 0 differs from no position, and that maps arrive.
func TestExplanationOfAnEncoder(t *testing.T) {
	first := begun()
	first.Model.Bidirectional = true
	zero, one := 0, 1
	m := &attribution.Map{Layers: []int{5}, Shape: [3]int{1, 2, 2}, Data: []float64{1, 0, 0.5, 0.5}, Unit: "share", Facts: attribution.Facts{Quantity: attribution.Share}}
	client, _ := answering(
		t,
		engine.Event{Explanation: first},
		engine.Event{Explanation: &attribution.Explanation{Maps: map[string]*attribution.Map{"rollout": m}}},
		engine.Event{Explanation: &attribution.Explanation{
			Steps: []attribution.GeneratedToken{{ID: 1, Position: &zero}, {ID: 2, Position: &one}},
		}},
		engine.Event{Done: true},
	)
	e, err := client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{})
	must(t, err)
	if diff := cmp.Diff(map[string]*attribution.Map{"rollout": m}, e.Maps); diff != "" {
		t.Errorf("maps (-want +got):\n%s", diff)
	}
	for i, s := range e.Steps {
		if s.Position == nil || *s.Position != i {
			t.Errorf("prediction %d is at position %v", i, s.Position)
		}
	}
}

// TestRequests checks that each call sends one request with exactly these fields.
func TestRequests(t *testing.T) {
	client, requests := answering(
		t, engine.Event{Explanation: begun(), Status: &engine.Status{PID: 7, Models: []string{"a"}}},
		engine.Event{Done: true},
	)
	client.Patience = 10 * time.Second
	model := engine.Model{
		Name: "org/name@main", Backend: "xla", DType: "bfloat16", MaxMemory: 1 << 40,
	}
	residual := 0.0
	status := engine.Status{}
	for _, c := range []struct {
		name string
		call func() error
		want engine.Request
	}{
		{"explain", func() error {
			_, err := client.Explain(t.Context(), model, "a\xff", attribution.Options{
				Residual: &residual, Continuation: "\xe2", Methods: []string{"rollout"},
			})
			return err
		}, engine.Request{
			Kind: engine.KindExplain, Model: model, Name: model.Name, Text: []byte("a\xff"),
			Continuation: []byte("\xe2"),
			Options:      []byte(`{"methods":["rollout"],"residual":0}`),
		}},
		{"trace of a text", func() error {
			_, _, err := client.Trace(t.Context(), model,
				engine.Input{Text: "\xe2", Specials: trace.SpecialsOff})
			return err
		}, engine.Request{
			Kind: engine.KindTrace, Model: model, Text: []byte("\xe2"), Specials: trace.SpecialsOff,
		}},
		{"trace of ids", func() error {
			_, _, err := client.Trace(t.Context(), model, engine.Input{IDs: []int{5, 0}}, trace.Final)
			if err == nil || !strings.Contains(err.Error(), "the engine sent 0 tensors, want 1") {
				return fmt.Errorf("error %w, want one about the missing tensor", err)
			}
			return nil
		}, engine.Request{
			Kind: engine.KindTrace, Model: model, IDs: []int{5, 0}, Taps: []trace.Tap{trace.Final}, Text: []byte{},
		}},
		{"last", func() error {
			_, err := client.Last(t.Context())
			return err
		}, engine.Request{Kind: engine.KindLast}},
		{"info", func() (err error) {
			status, err = client.Info(t.Context())
			return err
		}, engine.Request{Kind: engine.KindInfo}},
		{"stop", func() error { return client.Stop(t.Context()) }, engine.Request{Kind: engine.KindStop}},
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, c.call())
			got := <-requests
			c.want.Version, c.want.Alive = engine.Version, 2*time.Second // a fifth of the patience
			if string(got.Options) == "null" {
				got.Options = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(engine.Status{PID: 7, Models: []string{"a"}}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestBrokenEngine gives a client events that no engine should send.
func TestBrokenEngine(t *testing.T) {
	rows := func(method string, n int, rows ...[]float64) engine.Event {
		return engine.Event{Explanation: &attribution.Explanation{
			Methods: map[string]*attribution.Result{method: {Shape: [3]int{n, 2, 1}, Rows: rows}},
		}}
	}
	begin := engine.Event{Explanation: begun()}
	for _, c := range []struct {
		name   string
		events []engine.Event
		want   string
	}{
		{"nothing", nil, `engine: the engine ended in the middle of "explain": run the cell again, which starts another one; its log is empty`},
		{"an end in the middle", []engine.Event{begin}, `engine: the engine ended in the middle of "explain"`},
		{"a step of nothing", []engine.Event{{Step: true}}, "no explanation before the first token or the end"},
		{"the end of nothing", []engine.Event{{Done: true}}, "no explanation before the first token or the end"},
		{"rows of no method", []engine.Event{begin, rows("x", 0)}, `rows of "x", which it did not begin`},
		{"a short row", []engine.Event{begin, rows("rollout", 1, []float64{1})}, `rows of "rollout": shape [1 2 1] with 1 rows does not fit 2 prompt tokens`},
		{"a long row", []engine.Event{begin, rows("rollout", 1, make([]float64, 4))}, `does not fit`},
		{"less than no row", []engine.Event{begin, rows("rollout", -1)}, `shape [-1 2 1] with 0 rows`},
		{"a long map", []engine.Event{begin, {Explanation: &attribution.Explanation{
			Maps: map[string]*attribution.Map{"raw": {Shape: [3]int{1, 1, 1}, Data: []float64{1, 2}}},
		}}}, `a map of "raw" with 2 values, want 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, _ := answering(t, c.events...)
			_, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	tensor := func(name string, bytes int, shape ...int) engine.Event {
		tensor := &trace.Tensor{Name: name, Shape: shape}
		return engine.Event{Tensor: tensor, Piece: make([]byte, bytes)}
	}
	for _, c := range []struct {
		name   string
		events []engine.Event
		want   string
	}{
		{"no tensor", []engine.Event{{Done: true}}, "the engine sent 0 tensors, want 1"},
		{"a piece of nothing", []engine.Event{{Piece: make([]byte, 4)}}, "4 bytes that belong to no tensor"},
		{"half a number", []engine.Event{tensor("final", 3, 1)}, "3 bytes that belong to no tensor"},
		{"a short tensor", []engine.Event{tensor("final", 4, 2, 1), {Done: true}}, `tensor "final" has 1 values, its shape [2 1] says 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, _ := answering(t, c.events...)
			_, _, err := client.Trace(t.Context(), engine.Model{}, engine.Input{Text: "a"}, "final")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// TestTensorsArriveInPieces checks that two tensors arrive unchanged, one of them in two pieces.
func TestTensorsArriveInPieces(t *testing.T) {
	client, _ := answering(
		t,
		engine.Event{Input: []trace.Token{{ID: 3, Text: "\xe2", End: 1}}},
		engine.Event{Tensor: &trace.Tensor{Name: "final", Axes: "TD", Shape: []int{1, 2}}},
		engine.Event{Piece: []byte{0, 0, 0x80, 0x3f}}, // 1 in little-endian float32
		engine.Event{Piece: []byte{0, 0, 0x80, 0xff}}, // -Inf
		engine.Event{Tensor: &trace.Tensor{Name: "logits", Axes: "TV", Shape: []int{1, 0}}},
		engine.Event{Done: true},
	)
	tensors, tokens, err := client.Trace(t.Context(), engine.Model{}, engine.Input{Text: "\xe2"},
		trace.Final, trace.Logits)
	must(t, err)
	want := []trace.Tensor{
		{Name: "final", Axes: "TD", Shape: []int{1, 2}, Data: []float32{1, float32(math.Inf(-1))}},
		{Name: "logits", Axes: "TV", Shape: []int{1, 0}},
	}
	if diff := cmp.Diff(want, tensors); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]trace.Token{{ID: 3, Text: "\xe2", End: 1}}, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// TestErrorsKeepTheirKind checks that a caller can distinguish a wrong request, a failure in the
// engine, a missing engine and its own interruption.
func TestErrorsKeepTheirKind(t *testing.T) {
	usage := engine.Event{Failure: &engine.Error{Message: "unknown method", Usage: true}}
	for name, c := range map[string]struct {
		event engine.Event
		usage bool
	}{"usage": {usage, true}, "other": {failure("the disk is full"), false}} {
		client, _ := answering(t, engine.Event{Explanation: begun()}, c.event)
		e, err := client.Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
		var refused *engine.Error
		if !errors.As(err, &refused) || err.Error() != c.event.Failure.Message ||
			errors.Is(err, trace.ErrUsage) != c.usage {
			t.Errorf("%s: error %v", name, err)
		}
		if e == nil || e.Model.Name != "words" {
			t.Errorf("%s: the explanation so far is %+v", name, e)
		}
	}
	_, err := engine.Client{Socket: filepath.Join(engine.ShortDir(t), "e.sock")}.Info(t.Context())
	if !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "engine: no engine answers: ") {
		t.Errorf("nobody listens: error %v", err)
	}
	why := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	client, _ := answering(t, engine.Event{Explanation: begun(), Step: true})
	_, err = client.Explain(ctx, engine.Model{}, "a", attribution.Options{
		OnStep: func(*attribution.Explanation) { cancel(why) },
	})
	if !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "engine: explain interrupted: ") {
		t.Errorf("interrupted: error %v", err)
	}
}

// TestRefusedBeforeSending checks that an invalid request is a usage error and never reaches a
// socket.
func TestRefusedBeforeSending(t *testing.T) {
	client := engine.Client{Socket: "/nowhere/e.sock"}
	for name, c := range map[string]struct {
		model   engine.Model
		options attribution.Options
		want    string
	}{
		"NaN":       {engine.Model{}, attribution.Options{Threshold: math.NaN()}, "threshold NaN"},
		"memory":    {engine.Model{MaxMemory: -1}, attribution.Options{}, "max memory -1 bytes"},
		"not UTF-8": {engine.Model{Name: "a\xff"}, attribution.Options{}, `model name "a\xff" is not UTF-8`},
	} {
		_, err := client.Explain(t.Context(), c.model, "a", c.options)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestUnreadableAnswer checks that a client names the process and gives advice if the answer is not
// a stream of events. An engine of protocol 4 sends the length of a frame first, as here.
func TestUnreadableAnswer(t *testing.T) {
	socket := filepath.Join(engine.ShortDir(t), "e.sock")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := engine.ReadRequest(conn); err == nil {
			_, _ = conn.Write([]byte("\x00\x00\x00\x03xyz"))
		}
	}()
	_, err = engine.Client{Socket: socket}.Info(t.Context())
	want := fmt.Sprintf("cannot read what the engine, process %d, sent", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "end that process and restart the kernel") {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestSilentError: an error tells what a user can do, whether or not the system names the process.
func TestSilentError(t *testing.T) {
	for pid, want := range map[int]string{
		0: "engine: the engine at /a.sock has not answered for 20s: it is stopped or hangs; " +
			"end the engine's process and run the cell again",
		7: "engine: the engine, process 7, has not answered for 20s: it is stopped or hangs; " +
			"run headwater engine stop --force 7, or end that process, and run the cell again",
	} {
		err := &engine.SilentError{PID: pid, Socket: "/a.sock", Silence: 20 * time.Second}
		if err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

// TestModelPaths checks that a relative path is sent as an absolute one and shown as the caller
// wrote it.
func TestModelPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.MkdirAll("dir/model", 0o700))
	directory, err := os.Getwd()
	must(t, err)
	abs := filepath.Join(directory, "dir", "model")
	client, requests := answering(t, engine.Event{Explanation: begun()}, engine.Event{Done: true})
	for in, want := range map[string]struct{ sent, shown string }{
		"": {"", "words"}, "tiny": {"tiny", "words"}, "./dir/model": {abs, "./dir/model"},
		"dir/model": {abs, "dir/model"}, "/a/b": {"/a/b", "words"}, "org/name@main": {"org/name@main", "words"},
		"./nothing": {filepath.Join(directory, "nothing"), "./nothing"}, ".": {directory, "."},
	} {
		e, err := client.Explain(t.Context(), engine.Model{Name: in}, "a", attribution.Options{})
		must(t, err)
		if got := <-requests; got.Model.Name != want.sent || e.Model.Name != want.shown {
			t.Errorf("model %q is asked for as %q and shown as %q, want %v", in, got.Model.Name,
				e.Model.Name, want)
		}
	}
}

package engine_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// TestBrokenEngine gives a client events that no engine should send.
func TestBrokenEngine(t *testing.T) {
	method := &engine.Method{Name: "rollout", Layers: []int{0}, Prompt: 2}
	for _, c := range []struct {
		name   string
		events []engine.Event
		want   string
	}{
		{"nothing", nil, "it ended in the middle of \"explain\""},
		{"no beginning", []engine.Event{{Step: true}}, "results before it began"},
		{"done without a beginning", []engine.Event{{Done: true}}, "results before it began"},
		{"a row of no method", []engine.Event{{Begin: &engine.Begin{}}, {Row: &engine.Row{Method: "x"}}}, `a row of "x", which it did not begin`},
		{
			"a short row",
			[]engine.Event{{Begin: &engine.Begin{}}, {Method: method}, {Row: &engine.Row{Method: "rollout", Data: []float64{1}}}},
			`a row of "rollout" with 1 values, want 2`,
		},
		{"a map before the beginning", []engine.Event{{Map: &engine.Map{}}}, "results before it began"},
		{"a part of no map", []engine.Event{{Begin: &engine.Begin{}}, {MapPart: []float64{1}}}, "1 values that belong to no map"},
		{"a part before the beginning", []engine.Event{{MapPart: []float64{1}}}, "1 values that belong to no map"},
		{
			"a long map",
			[]engine.Event{{Begin: &engine.Begin{}}, {Map: &engine.Map{Name: "raw", Layers: []int{0}, Tokens: 1}}, {MapPart: []float64{1, 2}}},
			`a map of "raw" with 2 values, want 1`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := answering(t, c.events...).Explain(t.Context(), engine.Model{}, "a", attribution.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	for _, c := range []struct {
		name   string
		events []engine.Event
		want   string
	}{
		{"no tensor", []engine.Event{{Done: true}}, "it sent 0 tensors, want 1"},
		{"a piece of nothing", []engine.Event{{Piece: make([]byte, 4)}}, "4 bytes that belong to no tensor"},
		{"half a number", []engine.Event{{Tensor: &engine.TensorHead{Shape: []int{1}}, Piece: make([]byte, 3)}}, "3 bytes that belong to no tensor"},
		{
			"a short tensor",
			[]engine.Event{{Tensor: &engine.TensorHead{Name: "final", Shape: []int{2, 1}}, Piece: make([]byte, 4)}, {Done: true}},
			`tensor "final" has 1 values, its shape [2 1] says 2`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := answering(t, c.events...).Trace(t.Context(), engine.Model{}, engine.Input{Text: "a"}, "final")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// answering is a client of something that answers one request with these events and hangs up.
func answering(t *testing.T, events ...engine.Event) engine.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "hw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "e.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var r engine.Request
		if err := engine.Receive(conn, &r); err != nil {
			return
		}
		for _, ev := range events {
			_ = engine.Send(conn, ev)
		}
	}()
	return engine.Client{Socket: socket}
}

func TestModelPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("dir/model", 0o700); err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs("dir/model")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"": "", "tiny": "tiny", "./dir/model": abs, "dir/model": abs, "/a/b": "/a/b", "org/name@main": "org/name@main",
		"./nothing": filepath.Join(filepath.Dir(filepath.Dir(abs)), "nothing"),
	} {
		var got engine.Request
		dir, err := os.MkdirTemp("", "hw")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("unix", filepath.Join(dir, "e.sock"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = engine.Receive(conn, &got)
			_ = engine.Send(conn, engine.Event{Begin: &engine.Begin{}, Done: true})
			_, _ = io.Copy(io.Discard, conn)
		}()
		_, err = engine.Client{Socket: listener.Addr().String()}.Explain(t.Context(), engine.Model{Name: in}, "a", attribution.Options{})
		<-done
		listener.Close()
		os.RemoveAll(dir)
		if err != nil || got.Model.Name != want {
			t.Errorf("model %q is asked for as %q, %v; want %q", in, got.Model.Name, err, want)
		}
	}
}

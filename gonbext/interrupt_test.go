package gonbext_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// TestInterruptAnyStage interrupts a cell while the engine does something else than to generate.
// The cell ends at once, whether the engine can stop or not.
func TestInterruptAnyStage(t *testing.T) {
	for _, stage := range []string{
		"downloading model.safetensors, file 2 of 3", "loading the weights",
		"compiling a layer of the prompt, last time 4.1 s", "preparing prompt rows",
	} {
		t.Run(stage, func(t *testing.T) {
			hungUp := make(chan struct{})
			k := newKernel(t, func(conn *engineConn, _ engine.Request) {
				conn.send(engine.Event{Progress: &trace.Progress{Stage: stage}})
				_, _ = io.Copy(io.Discard, conn)
				close(hungUp)
			})
			var interrupted time.Time
			k.shown = func(cell *os.Process, d protocol.DisplayData) {
				if strings.Contains(fmt.Sprint(d.Data), stage) {
					interrupted = time.Now()
					_ = cell.Signal(os.Interrupt)
				}
			}
			r := k.run("explain", true)
			if took := time.Since(interrupted); took > time.Second {
				t.Errorf("the cell ended %v after it was interrupted", took)
			}
			left := saved(r.displays)
			want := "gonbext: interrupted</div>"
			if strings.HasPrefix(stage, "compiling") {
				want = "gonbext: interrupted; the engine finishes what XLA has begun to compile, " +
					"for later cells</div>"
			}
			if r.status != 1 || len(left) != 1 || !strings.Contains(fmt.Sprint(left[0]), want) {
				t.Errorf("status %d, saved %v; want one line: %s", r.status, left, want)
			}
			<-hungUp // the request is cancelled
		})
	}
}

// TestInterruptOthers interrupts cells that do not explain: they say so in one line.
func TestInterruptOthers(t *testing.T) {
	for _, cell := range []string{"reproduce", "chart", "heads", "flow graph"} {
		t.Run(cell, func(t *testing.T) {
			asked := make(chan bool, 1)
			k := newKernel(t, func(conn *engineConn, _ engine.Request) {
				asked <- true
				_, _ = io.Copy(io.Discard, conn)
			})
			k.started = func(cell *os.Process) {
				<-asked
				_ = cell.Signal(os.Interrupt)
			}
			r := k.run(cell, true)
			left := fmt.Sprint(saved(r.displays))
			if r.status != 1 || !strings.Contains(left, "gonbext: interrupted") ||
				strings.Contains(left, "context") {
				t.Errorf("status %d, stderr %q, saved %.300s; want one line that says interrupted",
					r.status, r.stderr, left)
			}
		})
	}
}

// TestStageCounts shows how long a stage has lasted that brings no news, and saves nothing of it.
func TestStageCounts(t *testing.T) {
	counted := make(chan struct{}, 10)
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		conn.send(engine.Event{Progress: &trace.Progress{Stage: "compiling"}})
		<-counted
		begin(conn)
		step(conn, " are")
		conn.send(engine.Event{Done: true})
	})
	k.shown = func(_ *os.Process, d protocol.DisplayData) {
		if strings.Contains(fmt.Sprint(d.Data), "compiling, 1 s so far") {
			counted <- struct{}{}
		}
	}
	r := k.run("explain", true)
	left := saved(r.displays)
	if r.status != 0 || len(left) != 1 || strings.Contains(fmt.Sprint(left), "so far") {
		t.Errorf("status %d, saved %v; want one picture without a time", r.status, left)
	}
}

func TestInterrupt(t *testing.T) {
	hungUp := make(chan struct{})
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		begin(conn)
		step(conn, " are")
		_, _ = io.Copy(io.Discard, conn)
		close(hungUp)
	})
	k.shown = func(cell *os.Process, d protocol.DisplayData) {
		if strings.Contains(fmt.Sprint(d.Data), "1 token so far") {
			_ = cell.Signal(os.Interrupt)
		}
	}
	r := k.run("explain", true)
	if r.status != 1 || r.stdout != "" {
		t.Errorf("status %d, stdout %q; want 1 and nothing", r.status, r.stdout)
	}
	left := saved(r.displays)
	if len(left) != 2 || !strings.Contains(fmt.Sprint(left[0]), "Interrupted after 1 token.") ||
		!strings.Contains(fmt.Sprint(left[1]), "gonbext: interrupted") {
		t.Errorf("saved %v\nwant the picture so far with a remark, then one line", left)
	}
	select {
	case <-hungUp:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on")
	}
}

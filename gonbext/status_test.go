package gonbext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// TestStatus ends a cell by errors of every kind, where somebody reads the line of the error and
// where nobody does.
func TestStatus(t *testing.T) {
	usage := engine.Error{Message: "no method", Usage: true}
	model := engine.Error{Message: "no model", Reason: errorkind.Model}
	machine := engine.Error{Message: "no memory", Reason: errorkind.Memory}
	for _, c := range []struct {
		name       string
		failure    engine.Error
		notebook   bool
		ci, server string
		want       int
	}{
		{"usage under nbconvert", usage, true, "", "", 0},
		{"model under nbconvert", model, true, "", "", 0},
		{"machine under nbconvert", machine, true, "", "", 1},
		{"machine in a server", machine, true, "", "a.ipynb", 0},
		{"usage in continuous integration", usage, true, "true", "", 1},
		{"machine in a server in continuous integration", machine, true, "true", "a.ipynb", 1},
		{"usage in a shell", usage, false, "", "", 1},
		{"machine in a shell of a server", machine, false, "", "a.ipynb", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKernel(t, func(conn *engineConn, _ engine.Request) {
				conn.send(engine.Event{Failure: &c.failure})
			})
			t.Setenv("CI", c.ci)
			t.Setenv("JPY_SESSION_NAME", c.server)
			r := k.run("explain", c.notebook)
			shown := r.stderr
			if c.notebook {
				shown = fmt.Sprint(saved(r.displays))
			}
			if r.status != c.want || !strings.Contains(shown, c.failure.Message) ||
				c.notebook && r.stderr != "" {
				t.Errorf("status %d, shows %q and stderr %q; want status %d", r.status, shown,
					r.stderr, c.want)
			}
		})
	}
}

// TestLast asks for the latest explanation, which the engine sends as a whole.
func TestLast(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind != engine.KindLast {
			t.Errorf("the cell asks %q, want %q", r.Kind, engine.KindLast)
		}
		begin(conn)
		step(conn, " are")
		conn.send(engine.Event{Done: true})
	})
	if r := k.run("last", false); r.status != 0 || r.stdout != "again 1\n" {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// TestLastStartsNoEngine checks that a cell that asks for the latest explanation first is told so
// at once: an engine that starts has none.
func TestLastStartsNoEngine(t *testing.T) {
	k := newKernel(t, nil)
	dir := t.TempDir() // no engine listens there
	t.Setenv("TMPDIR", dir)
	t.Setenv("HEADWATER_ENGINE", "/nothing")
	r := k.run("last", false)
	const want = "gonbext: there is no explanation yet: run a cell with Explain first\n"
	if r.status != 1 || r.stderr != want {
		t.Errorf("status %d, stderr %q, want %q", r.status, r.stderr, want)
	}
}

func TestOutsideOfANotebook(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind == engine.KindTrace {
			conn.send(engine.Event{
				Input: []trace.Token{{ID: 1}}, Tensor: &trace.Tensor{Name: "final", Axes: "TD", Shape: []int{1, 2}},
				Piece: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40},
			})
			conn.send(engine.Event{Done: true})
			return
		}
		begin(conn)
		step(conn, " are")
		conn.send(failure("the disk is full"))
	})
	for _, c := range []struct {
		cell, stdout, stderr string
		status               int
	}{
		{"explain", "note  It ended after 1 token: the disk is full.\n", "gonbext: the disk is full\n", 1},
		{"try", "steps 1, error gonbext: the disk is full\n", "", 0},
		{"two options", "", "gonbext: two values of Options are given; put all of its fields into one\n", 1},
		{"trace", "1 token\nfinal [1 2] (TD) [1 2]\n", "", 0},
		{"unknown tap", "", "gonbext: unknown tap \"nonsense\"; known are scores, terms, attention, attention-mean, query, key, value, context, head-output, head-added, value-output, attention-output, hidden-after-attention, feed-forward-output, hidden, router, experts, encoder-output, final, logits, value-zeroing\n", 1},
		{"show", "note  shown\n", "", 0},
	} {
		t.Run(c.cell, func(t *testing.T) {
			r := k.run(c.cell, false)
			if !strings.HasSuffix(r.stdout, c.stdout) || c.stdout == "" && r.stdout != "" ||
				r.stderr != c.stderr || r.status != c.status {
				t.Errorf("stdout %q, stderr %q, status %d", r.stdout, r.stderr, r.status)
			}
		})
	}
}

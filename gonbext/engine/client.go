package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Client asks the engine that listens on Socket. Each request has a connection of its own, so a Client is safe for
// concurrent use and need not be closed.
type Client struct {
	Socket string
	// Patience is how long the engine may be silent, until a request fails with a [*SilentError]; 0 is
	// 20 seconds. An engine that works says so every fifth part of it, however long a request takes.
	Patience time.Duration
}

// Explain is [attribution.Explain] in the engine: rows arrive token by token, and o.OnStep and o.OnProgress are called
// as there; the engine gives up a client that reads nothing for half a minute, so OnStep should not take
// that long. If it fails or ctx is done after the first token, the explanation so far is returned with the error.
func (c Client) Explain(
	ctx context.Context, m Model, prompt string, o attribution.Options,
) (*attribution.Explanation, error) {
	if err := o.Check(); err != nil { // NaN, for one, could not be sent
		return nil, err
	}
	continuation := o.Continuation
	o.Continuation = ""
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("engine: options: %w", err)
	}
	a := assembler{options: o, name: m.Name}
	err = c.do(ctx, Request{
		Kind: KindExplain, Model: m, Text: []byte(prompt), Options: options,
		Continuation: []byte(continuation),
	}, a.take)
	return a.e, err
}

// Input is what a trace runs on: a text, or token ids.
type Input struct {
	Text     string
	Specials trace.Specials
	// IDs, if not nil, are used instead of Text.
	IDs []int
}

// Trace records tensors of one pass over the input: one for each tap, in the order asked. The tokens are those of the
// text; nil for ids.
func (c Client) Trace(ctx context.Context, m Model, in Input, taps ...trace.Tap) ([]trace.Tensor, []trace.Token, error) {
	var t tensors
	err := c.do(ctx, Request{
		Kind: KindTrace, Model: m, Text: []byte(in.Text), Specials: in.Specials, IDs: in.IDs, Taps: taps,
	}, t.take)
	if err == nil {
		err = t.complete(len(taps))
	}
	if err != nil {
		return nil, nil, err
	}
	return t.list, t.tokens, nil
}

// Info returns what the engine says of itself. It is also how to find out whether it answers.
func (c Client) Info(ctx context.Context) (Status, error) {
	var s Status
	err := c.do(ctx, Request{Kind: KindInfo}, func(e *Event) error {
		if e.Status != nil {
			s = *e.Status
		}
		return nil
	})
	return s, err
}

// Stop ends the engine, whatever its version.
func (c Client) Stop(ctx context.Context) error {
	return c.do(ctx, Request{Kind: KindStop}, func(*Event) error { return nil })
}

// do sends a request and gives its events to take, until the last one. When ctx is done it closes the
// connection, which cancels the request in the engine, and returns an error that wraps the cause.
func (c Client) do(ctx context.Context, r Request, take func(*Event) error) error {
	patience := c.patience()
	r.Version, r.Model.Name = Version, absolute(r.Model.Name)
	r.Alive = patience / 5 // so that a busy machine may delay a few of them
	if err := r.Check(); err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return fmt.Errorf("engine: no engine answers: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	impatient := &impatient{conn, patience}
	err = send(impatient, r, MaxRequest)
	if errors.Is(err, syscall.EPIPE) { // an engine that hangs up before it has read all may have said why
		err = nil
	}
	for err == nil {
		var e Event
		if err = Receive(impatient, &e); err != nil {
			break
		}
		if err = take(&e); err != nil || e.Done {
			return err
		}
		if e.Failure != nil {
			return &Error{*e.Failure}
		}
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("engine: %s interrupted: %w", r.Kind, context.Cause(ctx))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &SilentError{PID: peer(conn), Socket: c.Socket, Silence: patience}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("engine: it ended in the middle of %q%s", r.Kind, lastLines(c.Socket))
	}
	return err
}

// defaultSilence is how long an engine may be silent: many times as long as it takes to say that it is
// alive on a machine that is busy, and shorter than a user waits.
const defaultSilence = 20 * time.Second

func (c Client) patience() time.Duration {
	if c.Patience <= 0 {
		return defaultSilence
	}
	return c.Patience
}

// impatient is a connection whose reads and writes fail when nothing moves for too long.
type impatient struct {
	conn     net.Conn
	patience time.Duration
}

// Read gives the engine new time with every call, so that a client that is slow itself does not blame
// the engine.
func (i *impatient) Read(b []byte) (int, error) {
	if err := i.conn.SetReadDeadline(time.Now().Add(i.patience)); err != nil {
		return 0, err
	}
	return i.conn.Read(b)
}

func (i *impatient) Write(b []byte) (int, error) {
	if err := i.conn.SetWriteDeadline(time.Now().Add(i.patience)); err != nil {
		return 0, err
	}
	return i.conn.Write(b)
}

// SilentError says that an engine listens and does not answer: it is stopped (SIGSTOP), or hangs. One
// that works sends signs of life.
type SilentError struct {
	// PID is the engine's process; 0 where the system does not say which it is.
	PID int
	// Socket is where it listens.
	Socket string
	// Silence is how long it said nothing.
	Silence time.Duration
}

// Error says what to do, in one line.
func (e *SilentError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("engine: the engine at %s has not answered for %v: it is stopped or hangs; "+
			"restart the kernel, and end the engine's process", e.Socket, e.Silence)
	}
	return fmt.Sprintf("engine: the engine, process %d, has not answered for %v: it is stopped or hangs; "+
		"restart the kernel, and end process %d", e.PID, e.Silence, e.PID)
}

// absolute makes a model's path independent of the working directory, which the engine does not share. What names no file and does not
// begin like a path is left as it is: it may be a name of the Hub.
func absolute(name string) string {
	if !strings.ContainsRune(name, filepath.Separator) && name != "." && name != ".." {
		return name
	}
	if _, err := os.Stat(name); err != nil && !strings.HasPrefix(name, ".") {
		return name
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

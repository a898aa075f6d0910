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

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Client asks the engine that listens on Socket. Each request has a connection of its own, so a Client is safe for
// concurrent use and need not be closed.
type Client struct {
	Socket string
}

// Explain is [attribution.Explain] in the engine: rows arrive token by token, and o.OnStep and o.OnProgress are called
// as there. If it fails or ctx is done after the first token, the explanation so far is returned with the error.
func (c Client) Explain(
	ctx context.Context, m Model, prompt string, o attribution.Options,
) (*attribution.Explanation, error) {
	if err := o.Check(); err != nil {
		return nil, err // JSON would refuse NaN in its own words
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

// do sends a request and gives its events to take, until the last one. When ctx is done it closes the connection, which
// cancels the request in the engine, and returns an error that wraps the cause.
func (c Client) do(ctx context.Context, r Request, take func(*Event) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return fmt.Errorf("engine: no engine answers: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r.Version, r.Model.Name = Version, absolute(r.Model.Name)
	err = Send(conn, r)
	for err == nil {
		var e Event
		if err = Receive(conn, &e); err != nil {
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
	case errors.Is(err, io.EOF):
		return fmt.Errorf("engine: it ended in the middle of %q%s", r.Kind, lastLines(c.Socket))
	}
	return err
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

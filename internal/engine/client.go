package engine

import (
	"context"
	"encoding/gob"
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
	"github.com/headwater-ml/headwater/internal/sources"
)

// Client asks the engine that listens on Socket. Each request has a connection of its own, so a
// Client is safe for concurrent use and need not be closed.
type Client struct {
	Socket string
	// Patience is how long the engine may be silent before a request fails with a [*SilentError];
	// 0 is 20 seconds. An engine that works sends something five times as often, however long a
	// request takes.
	Patience time.Duration
	// Show says how the caller shows what Explain returns, for [Client.Save], in the JSON form of
	// render.Show. Nil says nothing.
	Show json.RawMessage
}

// Explain is [attribution.Explain] in the engine. Rows arrive token by token, and o.OnStep and
// o.OnProgress are called as there. OnStep should return within half a minute: the engine cancels
// the request of a client that does not read for longer. If the request fails or ctx is done after
// the first token, Explain returns the explanation so far together with the error.
func (c Client) Explain(
	ctx context.Context, m Model, prompt string, o attribution.Options,
) (*attribution.Explanation, error) {
	if err := o.Check(); err != nil { // JSON has no NaN, for example
		return nil, err
	}
	continuation := o.Continuation
	o.Continuation = ""
	options, err := json.Marshal(o)
	if err != nil {
		return nil, pkg.Errorf("options: %w", err)
	}
	answer := explaining{options: o, name: m.Name, path: absolute(m.Name)}
	err = c.do(ctx, Request{
		Kind: KindExplain, Model: m, Name: m.Name, Text: []byte(prompt), Options: options,
		Continuation: []byte(continuation), Show: c.Show,
	}, answer.add)
	return answer.e, err
}

// Last returns the latest explanation that the engine made, complete or not, for whichever client.
// The error says that there is none, or that it was too large to keep; errors.Is finds
// [trace.ErrUsage] in it.
func (c Client) Last(ctx context.Context) (*attribution.Explanation, error) {
	var answer explaining
	if err := c.do(ctx, Request{Kind: KindLast}, answer.add); err != nil {
		return nil, err
	}
	return answer.e, nil
}

// Save returns the bytes of a file of a picture, in the format that the file's name ends with, and
// notes: what the file has, then remarks on what it cannot show. A nil p is the latest picture of
// the kernel, and so is the explanation of one that has none; see [Client.Drew]. show is what the
// file shows where that differs from the picture, the JSON form of render.Show. Errors are those of
// [Client.Last], and those of a format or a picture that is unknown.
func (c Client) Save(ctx context.Context, file string, show json.RawMessage, p *Picture) (
	data []byte, notes []string, err error,
) {
	r := Request{Kind: KindSave, File: file, Show: show}
	if p != nil {
		if r, err = c.upload(ctx, r, *p); err != nil {
			return nil, nil, err
		}
	}
	return c.file(ctx, r, nil)
}

// Drew tells the engine what was drawn last, which [Client.Save] saves.
func (c Client) Drew(ctx context.Context, p Picture) error {
	r, err := c.upload(ctx, Request{Kind: KindPicture}, p)
	if err != nil {
		return err
	}
	return c.do(ctx, r, func(*Event) error { return nil })
}

// file returns the pieces of a file, joined, and the notes on it.
func (c Client) file(ctx context.Context, r Request, progress func(trace.Progress)) (
	data []byte, notes []string, err error,
) {
	err = c.do(ctx, r, func(ev *Event) error {
		data, notes = append(data, ev.Piece...), append(notes, ev.Notes...)
		if ev.Progress != nil && progress != nil {
			progress(*ev.Progress)
		}
		return nil
	})
	return data, notes, err
}

// Sources is [sources.Ask.Explain] in the engine; ask.Options.OnProgress is called as there.
func (c Client) Sources(ctx context.Context, m Model, ask sources.Ask) (*sources.Result, error) {
	if err := ask.Check(); err != nil { // JSON has no NaN and changes what is not UTF-8
		return nil, err
	}
	options, err := json.Marshal(ask)
	if err != nil {
		return nil, pkg.Errorf("question: %w", err)
	}
	r := Request{Kind: KindSources, Model: m, Name: m.Name, Options: options}
	var result *sources.Result
	err = c.do(ctx, r, func(ev *Event) error {
		if ev.Progress != nil && ask.Options.OnProgress != nil {
			ask.Options.OnProgress(*ev.Progress)
		}
		if ev.Sources != nil {
			result = ev.Sources
		}
		return nil
	})
	if err == nil && result == nil {
		err = pkg.Errorf("the engine sent no scores of sources")
	}
	if err != nil {
		return nil, err
	}
	if absolute(m.Name) != m.Name { // no picture has an absolute path
		result.Model.Name = m.Name
	}
	complete(result)
	return result, nil
}

// complete puts back what gob does not send: empty slices, and pointers to 0.
func complete(r *sources.Result) {
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	for i := range r.Methods {
		if s := &r.Methods[i]; s.Method == sources.ContextCite && s.Intercept == nil {
			s.Intercept = new(float64)
		}
	}
}

// Figures makes figures of documents again on a model, or each on its own default model if no model
// is named. names are those of figures or of documents; none means all figures. The result has one
// [reproduction.Reproduction] as JSON for each figure, in the order of the documents. progress, if
// not nil, is called during the work. The error lists the known names if one is unknown.
//
// [reproduction.Reproduction]: https://pkg.go.dev/github.com/headwater-ml/headwater/internal/reproduction
func (c Client) Figures(
	ctx context.Context, m Model, names []string, progress func(trace.Progress),
) (data []byte, err error) {
	data, _, err = c.file(ctx, Request{Kind: KindFigures, Model: m, Figures: names}, progress)
	return data, err
}

// Draw returns a picture, given as JSON, in the format that the file's name ends with, and remarks
// on what it cannot show; without a name for a notebook, as the JSON form of reproduction.Drawn.
// look is the JSON form of figure.Options; nil takes the defaults. The error names what is wrong
// with the data.
func (c Client) Draw(ctx context.Context, file string, picture, look json.RawMessage) (
	data []byte, notes []string, err error,
) {
	return c.file(ctx, Request{Kind: KindDraw, File: file, Options: picture, Show: look}, nil)
}

// Input is what a trace runs on: a text, or token ids.
type Input struct {
	Text     string
	Specials trace.Specials
	// IDs, if not nil, are used instead of Text.
	IDs []int
	// Edits are those under which the model runs.
	Edits []trace.Edit
	// OnProgress, if not nil, is called during work that takes long.
	OnProgress func(trace.Progress)
}

// Trace records tensors of one pass over the input: one for each tap, in the order asked. The
// tokens are those of the text, or nil if the input is ids.
func (c Client) Trace(
	ctx context.Context, m Model, in Input, taps ...trace.Tap,
) ([]trace.Tensor, []trace.Token, error) {
	answer := tracing{onProgress: in.OnProgress}
	err := c.do(ctx, Request{
		Kind: KindTrace, Model: m,
		Text: []byte(in.Text), Specials: in.Specials, IDs: in.IDs, Taps: taps, Edits: in.Edits,
	}, answer.add)
	if err == nil {
		err = answer.check(len(taps))
	}
	if err != nil {
		return nil, nil, err
	}
	return answer.tensors, answer.tokens, nil
}

// Info returns the status of the engine. It is also the way to find out whether one answers.
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

// do sends a request and calls add with each event, up to the last one. When ctx is done it closes
// the connection, which cancels the request in the engine, and returns an error that wraps the
// cause.
func (c Client) do(ctx context.Context, r Request, add func(*Event) error) error {
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	r.Version, r.Model.Name = Version, absolute(r.Model.Name)
	r.Model.Backend = absoluteBackend(r.Model.Backend)
	r.Alive = c.Patience / 5 // a busy machine may delay a few of them
	if err := r.Check(); err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return pkg.Errorf("no engine answers: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	timed := &timedConn{Conn: conn, patience: c.Patience}
	err = json.NewEncoder(timed).Encode(r)
	if errors.Is(err, syscall.EPIPE) { // the engine may have said why before it hung up
		err = nil
	}
	events := gob.NewDecoder(timed)
	for err == nil {
		var e Event
		if err = events.Decode(&e); err != nil {
			break
		}
		if err := add(&e); err != nil || e.Done {
			return err
		}
		if e.Failure != nil {
			return e.Failure
		}
	}
	return c.explain(ctx, r.Kind, timed, err)
}

// absoluteBackend makes the path of a plugin in the name of a backend independent of the working
// directory.
func absoluteBackend(name string) string {
	kind, path, _ := strings.Cut(name, ":")
	if path == "" || kind != "xla" && kind != "cuda" {
		return name
	}
	if absolute, err := filepath.Abs(path); err == nil {
		return kind + ":" + absolute
	}
	return name
}

// explain returns the error of a request for which conn failed with err, or brought something that
// is no event.
func (c Client) explain(ctx context.Context, kind Kind, conn *timedConn, err error) error {
	switch {
	case ctx.Err() != nil:
		return pkg.Errorf("%s interrupted: %w", kind, context.Cause(ctx))
	case conn.err == nil:
		return pkg.Errorf("this program cannot read what the engine, process %d, sent: it is not "+
			"of the same version, end that process and restart the kernel", peer(conn.Conn))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &SilentError{PID: peer(conn.Conn), Socket: c.Socket, Silence: c.Patience}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET):
		return pkg.Errorf("the engine ended in the middle of %q: run the cell again, "+
			"which starts another one%s", kind, lastLines(c.Socket))
	}
	return pkg.Errorf("%w", err)
}

// defaultPatience is many times as long as an engine on a busy machine takes to show that it works,
// and shorter than a user waits.
const defaultPatience = 20 * time.Second

// timedConn is a connection whose reads and writes fail when nothing moves for too long. Every call
// has the whole time again, so a client that is slow itself does not count as a silent engine.
type timedConn struct {
	net.Conn
	patience time.Duration
	err      error // of the latest call
}

// Read implements io.Reader.
func (c *timedConn) Read(b []byte) (n int, err error) {
	if c.err = c.SetReadDeadline(time.Now().Add(c.patience)); c.err == nil {
		n, c.err = c.Conn.Read(b)
	}
	return n, c.err
}

// Write implements io.Writer.
func (c *timedConn) Write(b []byte) (n int, err error) {
	if c.err = c.SetWriteDeadline(time.Now().Add(c.patience)); c.err == nil {
		n, c.err = c.Conn.Write(b)
	}
	return n, c.err
}

// SilentError says that an engine listens and does not answer: it is stopped (SIGSTOP), or it
// hangs.
type SilentError struct {
	// PID is the engine's process; 0 if the system does not say.
	PID int
	// Socket is where it listens.
	Socket string
	// Silence is how long it said nothing.
	Silence time.Duration
}

// Error returns what to do, in one line.
func (e *SilentError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("engine: the engine at %s has not answered for %v: "+
			"it is stopped or hangs; end the engine's process and run the cell again", e.Socket,
			e.Silence)
	}
	return fmt.Sprintf("engine: the engine, process %d, has not answered for %v: "+
		"it is stopped or hangs; run headwater engine stop --force %d, or end that process, and "+
		"run the cell again", e.PID, e.Silence, e.PID)
}

// absolute makes a path of a model independent of the working directory, which the engine does not
// share. A name that is not a file and does not begin with a dot stays as it is: it may be a name
// on the Hub.
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

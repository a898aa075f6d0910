package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// patience is how long a bucket may take to answer a request, with all that the client tries again
// in this time. Some clients would try again forever. A scheduler can start a program again that
// has ended, and does nothing about one that waits.
const patience = 30 * time.Second

// slowestUpload is how fast an upload has to be, in bytes a second, after its patience.
const slowestUpload = 256 << 10

// request is a request to a bucket that is given up after its limit.
type request struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

// errPatience is the cause of the end of a request that took too long.
var errPatience = errors.New("the request took too long")

// begin begins a request that sends so many bytes. The caller ends it.
func begin(ctx context.Context, bytes int64) *request {
	r := &request{limit: patience + time.Duration(bytes)*time.Second/slowestUpload}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.timer = time.AfterFunc(r.limit, func() { r.cancel(errPatience) })
	return r
}

// end ends the request and returns its error.
func (r *request) end(err error) error {
	err = r.pause(err)
	r.cancel(nil)
	return err
}

// more starts the clock again: a piece of the answer has come.
func (r *request) more() { r.timer.Reset(r.limit) }

// pause stops the clock until the next piece is read, and returns the error of the last one: a
// lateError if that is why it ended.
func (r *request) pause(err error) error {
	r.timer.Stop()
	if err != nil && errors.Is(context.Cause(r.ctx), errPatience) {
		return &lateError{r.limit, err}
	}
	return err
}

// lateError is the error of a request that took too long. It is not the error of a context, which
// means that the user ended the program.
type lateError struct {
	limit time.Duration
	err   error // what the client says of it
}

// Error returns what happened until then.
func (e *lateError) Error() string {
	text := fmt.Sprintf("no success within %v", e.limit.Round(time.Second))
	if errors.Is(innermost(e.err), context.Canceled) {
		return text
	}
	return fmt.Sprintf("%s: %v", text, bucketCause(e.err))
}

// patientReader reads what a request answers. Each piece may take as long as a request.
type patientReader struct {
	r       io.ReadCloser
	request *request
}

// Read reads the next piece.
func (p *patientReader) Read(b []byte) (int, error) {
	p.request.more()
	n, err := p.r.Read(b)
	return n, p.request.pause(err)
}

// Close ends the request.
func (p *patientReader) Close() error { return p.request.end(p.r.Close()) }

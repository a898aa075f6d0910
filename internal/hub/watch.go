package hub

import (
	"context"
	"io"
	"time"
)

// watch ends a request when its server has been silent for too long.
type watch struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
}

// newWatch returns the watch of one request. The headers of the answer must come within
// [wholePatience].
func newWatch(ctx context.Context, patience time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(wholePatience(patience), func() { cancel(errSilent) })
	return &watch{ctx: ctx, cancel: cancel, timer: timer, patience: patience}
}

// wholePatience is how long a request may take until its headers are there. A request that is not
// for the bytes of a file must be complete in that time. It is a multiple of patience because every
// redirect has headers of its own, each with its own limit.
func wholePatience(patience time.Duration) time.Duration { return (maxRedirects + 1) * patience }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// reader returns a reader of r. Every byte that it reads gives the server new time.
func (w *watch) reader(r io.Reader) io.Reader {
	w.timer.Reset(w.patience)
	return &watched{r, w}
}

type watched struct {
	r io.Reader
	w *watch
}

func (r *watched) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if n > 0 {
		r.w.timer.Reset(r.w.patience)
	}
	return n, err
}

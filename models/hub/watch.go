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

// newWatch returns the watch of one request, which is to be done with its headers in good time.
func newWatch(ctx context.Context, patience time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(wholePatience(patience), func() { cancel(errSilent) })
	return &watch{ctx: ctx, cancel: cancel, timer: timer, patience: patience}
}

// wholePatience is how long a request may take until its headers are there, and one that is about a file
// or a repository, and not for its bytes, in all: the headers of each redirect have a limit of their own,
// and there are several of them one after the other.
func wholePatience(patience time.Duration) time.Duration { return (maxRedirects + 1) * patience }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// reader returns r; every read of it that brings something gives the server new time.
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

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

func newWatch(ctx context.Context, patience time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	// The headers have a limit of their own, several redirects one after the other.
	timer := time.AfterFunc((maxRedirects+1)*patience, func() { cancel(errSilent) })
	return &watch{ctx: ctx, cancel: cancel, timer: timer, patience: patience}
}

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

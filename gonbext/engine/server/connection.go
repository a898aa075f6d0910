package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/headwater-ml/headwater/gonbext/engine"
)

const (
	// maxConnections is how many clients may be connected at once: cells of a kernel run one after the
	// other, so that a few are many. Those who wait for a place count.
	maxConnections = 64
	// maxRunning is how many requests may use models at once.
	maxRunning = 4
	// defaultPatience is how long a client may take to send a request, or to read what it is sent.
	defaultPatience = 30 * time.Second
	// lastWords is how long the end of the engine waits for a client to read.
	lastWords = time.Second
	// aliveAtMost and aliveAtLeast bound how often a client gets a sign of life.
	aliveAtMost  = 20 * time.Millisecond
	aliveAtLeast = 10 * time.Second
)

// errNotRead ends a request whose client does not read.
var errNotRead = errors.New("server: the client does not read what it is sent")

// connection is that of one client, whose request is over when ctx is done. It is safe for concurrent
// use: what is given to Write at once is written at once, and a sign of life never comes within.
type connection struct {
	net.Conn
	ctx      context.Context
	cancel   context.CancelCauseFunc
	patience time.Duration

	mu   sync.Mutex
	dead error // why nothing can be written any more
}

func newConnection(ctx context.Context, conn net.Conn, patience time.Duration) *connection {
	ctx, cancel := context.WithCancelCause(ctx)
	return &connection{Conn: conn, ctx: ctx, cancel: cancel, patience: patience}
}

// receive reads the request, the whole of which must come in time.
func (c *connection) receive() (engine.Request, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return engine.Request{}, fmt.Errorf("server: %w", err)
	}
	// If the engine ends, what has come so far is all.
	hangUp := context.AfterFunc(c.ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer hangUp()
	r, err := engine.ReceiveRequest(c.Conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && c.ctx.Err() == nil {
		return r, fmt.Errorf("server: no request came within %v", c.patience)
	}
	return r, err
}

// watch ends the request when the client hangs up, or sends more than the one request.
func (c *connection) watch() {
	_ = c.SetReadDeadline(time.Time{})
	var more [1]byte
	if n, _ := c.Read(more[:]); n > 0 {
		c.cancel(errors.New("server: the client sent something after its request"))
		return
	}
	c.cancel(errors.New("server: the client has hung up"))
}

// Write writes a frame. A client that does not read it in time is given up: its request ends, and every
// later Write fails at once.
func (c *connection) Write(frame []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return 0, c.dead
	}
	c.setWriteDeadline(c.patience)
	// A Write that is waiting when the engine ends has a moment more, and no more than that.
	hurry := context.AfterFunc(c.ctx, func() { _ = c.SetWriteDeadline(time.Now().Add(lastWords)) })
	defer hurry()
	n, err := c.Conn.Write(frame)
	if err != nil {
		c.dead = err
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			c.dead = fmt.Errorf("%w for %v", errNotRead, c.patience)
		}
		c.cancel(c.dead)
		err = c.dead
	}
	return n, err
}

// setWriteDeadline lets the next write take so long, or lastWords if the request is over.
func (c *connection) setWriteDeadline(patience time.Duration) {
	if c.ctx.Err() != nil {
		patience = min(patience, lastWords)
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
}

// beat sends signs of life until ctx is done.
func (c *connection) beat(ctx context.Context, every time.Duration) {
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(min(max(every, aliveAtMost), aliveAtLeast))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.alive()
		}
	}
}

// alive sends a sign of life, unless the client is being sent something or does not read: a client that
// is slow to read has enough of them, and is given up only when there is news for it.
func (c *connection) alive() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if c.dead != nil {
		return
	}
	const moment = 10 * time.Millisecond
	_ = c.SetWriteDeadline(time.Now().Add(moment))
	if n, err := c.Conn.Write(engine.SignOfLife[:]); err != nil && n > 0 {
		c.dead = err // a part of it is there, so that nothing can follow
		c.cancel(err)
	}
}

package server

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

const (
	// maxConnections is how many clients may be connected at once, those included that wait. The
	// cells of a kernel run one after the other, so few are needed. One that has sent no request
	// makes room for a new one.
	maxConnections = 64
	// maxRunning is how many requests may use models at once.
	maxRunning = 4
	// defaultPatience is how long a client may take to send a request or to read an event.
	defaultPatience = 30 * time.Second
	// lastPatience is how long the end of the engine waits for a client to read.
	lastPatience = time.Second
	// minAlive and maxAlive limit how often a client that gets no news gets an empty event.
	minAlive = 20 * time.Millisecond
	maxAlive = 10 * time.Second
)

// connection is the connection of one client, whose request ends with ctx. It is safe for
// concurrent use.
type connection struct {
	net.Conn
	ctx      context.Context
	cancel   context.CancelCauseFunc
	patience time.Duration
	served   bool // its request has come; changes with the lock of the server

	mu     sync.Mutex
	events *gob.Encoder // writes to unsent
	unsent bytes.Buffer
	err    error // why nothing can be written any more
}

func newConnection(ctx context.Context, conn net.Conn, patience time.Duration) *connection {
	c := &connection{Conn: conn, patience: patience}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.events = gob.NewEncoder(&c.unsent)
	return c
}

// receive reads the request, which must arrive completely in time.
func (c *connection) receive() (engine.Request, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return engine.Request{}, pkg.Errorf("%w", err)
	}
	// If the engine ends, it does not wait for the rest.
	stop := context.AfterFunc(c.ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer stop()
	r, err := engine.ReadRequest(c.Conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && c.ctx.Err() == nil {
		return r, pkg.Errorf("no request came within %v", c.patience)
	}
	return r, err
}

// watch ends the request when the client closes the connection or sends anything more.
func (c *connection) watch() {
	_ = c.SetReadDeadline(time.Time{})
	var more [1]byte
	if n, _ := c.Read(more[:]); n > 0 {
		c.cancel(pkg.Errorf("the client sent something after its request"))
		return
	}
	c.cancel(pkg.Errorf("the client closed the connection"))
}

// send sends an event. If the client does not read it in time, its request ends, and every later
// send fails at once.
func (c *connection) send(e engine.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if err := c.events.Encode(e); err != nil {
		return pkg.Errorf("encoding an event: %w", err)
	}
	patience := c.patience
	if c.ctx.Err() != nil {
		patience = min(patience, lastPatience)
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	// If the engine ends while this waits, it waits little longer.
	stop := context.AfterFunc(c.ctx, func() {
		_ = c.SetWriteDeadline(time.Now().Add(lastPatience))
	})
	defer stop()
	err := c.write()
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			err = pkg.Errorf("the client does not read what it is sent for %v", c.patience)
		}
		c.err = err
		c.cancel(err)
	}
	return err
}

// write writes what is unsent. What does not fit in time stays for the next write.
func (c *connection) write() error {
	n, err := c.Write(c.unsent.Bytes())
	c.unsent.Next(n)
	return err
}

// progress tells the client how far a piece of work is. The next event will notice a closed
// connection.
func (c *connection) progress(p trace.Progress) { _ = c.send(engine.Event{Progress: &p}) }

// keepAlive shows the client that the engine works, until ctx is done.
func (c *connection) keepAlive(ctx context.Context, every time.Duration) {
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(min(max(every, minAlive), maxAlive))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.sendEmpty()
		}
	}
}

// sendEmpty sends an empty event, unless the client is being sent something or does not read. A
// client that reads slowly is given up only when there is news for it.
func (c *connection) sendEmpty() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if c.unsent.Len() == 0 && c.events.Encode(engine.Event{}) != nil {
		return
	}
	const moment = 10 * time.Millisecond
	_ = c.SetWriteDeadline(time.Now().Add(moment))
	_ = c.write()
}

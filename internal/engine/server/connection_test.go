package server

import (
	"bytes"
	"encoding/gob"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/engine"
)

// TestUnsentBytesStay checks that an empty event does not break the stream if a client leaves no
// room for it, or only room for a part. The rest of it is sent before the next event.
func TestUnsentBytesStay(t *testing.T) {
	here, there := net.Pipe() // without a buffer: a write ends when it is read
	defer there.Close()
	defer here.Close()
	c := newConnection(t.Context(), here, 10*time.Second)
	c.sendEmpty() // nobody reads
	all := c.unsent.Len()
	begin := make([]byte, 5)
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(there, begin)
		read <- err
	}()
	for reading := true; reading; {
		c.sendEmpty() // this does not add another event
		select {
		case err := <-read:
			if reading = false; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	if left := c.unsent.Len(); left != all-len(begin) {
		t.Errorf("%d bytes of %d are unsent after %d were read", left, all, len(begin))
	}
	sent := make(chan error, 1)
	go func() { sent <- c.send(engine.Event{Done: true}) }()
	events := gob.NewDecoder(io.MultiReader(bytes.NewReader(begin), there))
	for i, done := range []bool{false, true} {
		var ev engine.Event
		if err := events.Decode(&ev); err != nil || ev.Done != done {
			t.Errorf("event %d: %+v, %v; want done %v", i, ev, err, done)
		}
	}
	if err := <-sent; err != nil || c.unsent.Len() > 0 {
		t.Errorf("sending: %v, %d bytes unsent", err, c.unsent.Len())
	}
}

// TestSendGivesUp checks that a client that reads nothing for as long as the patience loses its
// request, and that every later event fails at once.
func TestSendGivesUp(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	c := newConnection(t.Context(), here, 20*time.Millisecond)
	err := c.send(engine.Event{Done: true})
	if err == nil ||
		!strings.Contains(err.Error(), "the client does not read what it is sent for 20ms") {
		t.Errorf("error %v", err)
	}
	if c.ctx.Err() == nil {
		t.Error("the request goes on")
	}
	began := time.Now()
	c.patience = time.Minute
	if again := c.send(engine.Event{}); again != err || time.Since(began) > 10*time.Second {
		t.Errorf("the next event: %v after %v, want %v at once", again, time.Since(began), err)
	}
}

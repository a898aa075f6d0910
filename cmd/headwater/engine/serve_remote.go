package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine"
)

// remoteSilence is how long an engine for another machine runs without a line of its input, of
// which there is one every second.
const remoteSilence = 2 * time.Minute

var (
	errInputEnded  = errors.New("the other machine closed the connection")
	errInputSilent = errors.New("nothing came from the other machine")
)

// serveRemote serves a notebook of another machine, at the other end of ssh: it makes the folder of
// the socket, says when it listens, and ends with its input.
func serveRemote(ctx context.Context, k *cli.Kit, c local.Config) error {
	dir := filepath.Dir(c.Socket)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer os.RemoveAll(dir)
	// When the connection breaks nobody reads the log any more. That must not end the program
	// before it has removed the folder.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(watchInput(ctx, k.Stdin, remoteSilence)) }()
	c.Ready = func() { fmt.Fprintln(k.Stdout, engine.ReadyLine(c.Build)) }
	return local.Serve(ctx, c)
}

// watchInput returns why the input ended: it was closed, or it was silent for too long.
func watchInput(ctx context.Context, input io.Reader, silence time.Duration) error {
	news, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b := make([]byte, 64)
		for {
			if _, err := input.Read(b); err != nil {
				return
			}
			select {
			case news <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-news:
		case <-ended:
			return errInputEnded
		case <-time.After(silence):
			return errInputSilent
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

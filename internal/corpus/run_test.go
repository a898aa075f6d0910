package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/corpus"
)

// windowed explains windows as fake does, and tells them apart: before is called with the number of
// the window, from 0.
type windowed struct {
	fake
	before func(ctx context.Context, window int) error
}

func (w windowed) Explain(
	ctx context.Context, records []corpus.Record, each func(int, corpus.Result),
) error {
	if err := w.before(ctx, int(records[0].Number-1)/corpus.WindowRecords); err != nil {
		return err
	}
	return w.fake.Explain(ctx, records, each)
}

// oneShard plans texts of some windows as one shard. The last window has 10 records.
func oneShard(t *testing.T, windows int) (c *corpus.Corpus, input, dir string) {
	t.Helper()
	var b strings.Builder
	for i := range (windows-1)*corpus.WindowRecords + 10 {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"text %d\"}\n", i, i)
	}
	input = filepath.Join(t.TempDir(), "texts.jsonl")
	write(t, input, b.String())
	p, dir := folder(t)
	return create(t, p, plan(t, input, 1, 0)), input, dir
}

// runWindows runs the one shard of a corpus.
func runWindows(
	ctx context.Context, t *testing.T, c *corpus.Corpus, input string,
	before func(ctx context.Context, window int) error,
) error {
	t.Helper()
	r := runner(t, c, input, []int{0})
	r.Explainer = windowed{before: before}
	_, err := r.Run(ctx)
	return err
}

// waitFor waits until a channel is closed.
func waitFor(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return errors.New("nothing happened for a minute")
	}
}

// The bytes of a shard are the same whether one window is explained after the other or the second
// one is explained first.
func TestWindowsEqualBytes(t *testing.T) {
	c, input, _ := oneShard(t, 4)
	want := whole(t, c, input)
	ended := make([]chan struct{}, 4)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	var one sync.Mutex
	for name, before := range map[string]func(context.Context, int) error{
		"one at a time": func(_ context.Context, window int) error {
			one.Lock()
			defer one.Unlock()
			return nil
		},
		"the second first": func(ctx context.Context, window int) error {
			if window%2 == 1 {
				close(ended[window])
				return nil
			}
			if err := waitFor(ctx, ended[window+1]); err != nil {
				return err
			}
			return wait(ctx, 10*time.Millisecond)
		},
	} {
		p, _ := folder(t)
		again := create(t, p, c.Manifest)
		if err := runWindows(t.Context(), t, again, input, before); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := verified(t, again); got != want {
			t.Errorf("%s: sha256 %s, want %s", name, got, want)
		}
	}
}

// Two windows are explained at the same time and never more: the third one begins when the first
// one has ended, even if the second one has ended long before.
func TestWindowsAtOnce(t *testing.T) {
	c, input, _ := oneShard(t, 4)
	var mu sync.Mutex
	var begun []int
	both := make(chan struct{})
	err := runWindows(t.Context(), t, c, input, func(ctx context.Context, window int) error {
		mu.Lock()
		begun = append(begun, window)
		mu.Unlock()
		if window == 1 {
			close(both)
		}
		if window > 0 {
			return nil
		}
		if err := waitFor(ctx, both); err != nil {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil { // a third one would begin
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if len(begun) != 2 {
			t.Errorf("the windows %v began before the first one ended, want two", begun)
		}
		return nil
	})
	must(t, err)
	slices.Sort(begun)
	if !slices.Equal(begun, []int{0, 1, 2, 3}) {
		t.Errorf("the windows %v were explained, want each once", begun)
	}
	last := int64(0)
	err = c.Rows(t.Context(), 0, func(r corpus.Record, _ corpus.Result) error {
		if last++; r.Number != last {
			t.Errorf("row %d is that of record %d", last, r.Number)
		}
		return nil
	})
	must(t, err)
}

// A run that is interrupted while two windows are explained ends both, and leaves no half of a
// shard.
func TestWindowsInterrupted(t *testing.T) {
	c, input, dir := oneShard(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var running int
	third := make(chan struct{})
	err := runWindows(ctx, t, c, input, func(ctx context.Context, window int) error {
		mu.Lock()
		running++
		mu.Unlock()
		defer func() {
			mu.Lock()
			running--
			mu.Unlock()
		}()
		switch window {
		case 2:
			close(third)
		case 3:
			if err := waitFor(ctx, third); err != nil {
				return err
			}
			cancel()
			<-ctx.Done()
			// It is slow to end.
			return errors.Join(ctx.Err(), wait(context.WithoutCancel(ctx), 20*time.Millisecond))
		default:
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the run was interrupted", err)
	}
	if running != 0 { // no lock: nothing may run any more
		t.Errorf("%d windows are still being explained", running)
	}
	noFiles(t, dir)
	other, otherInput, _ := oneShard(t, 5)
	if got, want := whole(t, c, input), whole(t, other, otherInput); got != want {
		t.Errorf("sha256 %s after the interruption, want %s", got, want)
	}
}

// noFiles checks that a corpus has no shard, and no half of one.
func noFiles(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "shards"))
	if err != nil || len(entries) > 0 {
		t.Errorf("the folder of the shards has %v, %v; want no file", entries, err)
	}
}

// The error of a shard is that of its first window that has one, whichever ends first.
func TestWindowsError(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed []int // windows
		want   string
	}{
		{"in the second window", []int{1}, "window 1 failed"},
		{"in both, the second first", []int{0, 1}, "window 0 failed"},
		{"in the last window", []int{2}, "window 2 failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, input, dir := oneShard(t, 3)
			second := make(chan struct{})
			err := runWindows(t.Context(), t, made, input,
				func(ctx context.Context, window int) error {
					if window == 1 {
						defer close(second)
					}
					if window == 0 {
						if err := waitFor(ctx, second); err != nil {
							return err
						}
					}
					if slices.Contains(c.failed, window) {
						return &corpus.ShardError{Err: fmt.Errorf("window %d failed", window)}
					}
					return nil
				})
			bad := (*corpus.ShardError)(nil)
			if !errors.As(err, &bad) {
				t.Errorf("error %v, want that of the shard", err)
			}
			checkError(t, "run", err, c.want)
			noFiles(t, dir)
		})
	}
}

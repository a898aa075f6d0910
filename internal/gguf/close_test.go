package gguf

import (
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// TestCloseWhileComparing closes files while two of their tensors are compared, which reads both
// at the same time. Neither call waits for the other without end.
func TestCloseWhileComparing(t *testing.T) {
	const size = 1 << 24 // bytes of a tensor, which are compared in several pieces
	data := make([]byte, 2*size)
	for range 20 {
		p := &part{raw: checkpoint.RawFromBytes("two.gguf", data)}
		f := &File{name: "two.gguf", parts: []*part{p}, tensors: map[string]tensor{
			"a": {part: p, shape: []int{size / 4}, size: size},
			"b": {part: p, shape: []int{size / 4}, size: size, offset: size},
		}}
		var both sync.WaitGroup
		both.Go(func() { _, _ = f.sameBytes("a", "b") }) // an error if the file is closed first
		both.Go(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		ended := make(chan bool)
		go func() { both.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the two calls wait for each other")
		}
		_, err := f.sameBytes("a", "b")
		if want := "gguf: two.gguf: file already closed"; err == nil || err.Error() != want {
			t.Errorf("error %v of a closed file, want %q", err, want)
		}
	}
}

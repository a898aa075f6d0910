package gguf

import (
	"sync"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/models/gguf/gguftest"
)

// TestCloseWhileComparing closes files while two of their tensors are compared, which reads both
// at the same time. Neither call waits for the other without end.
func TestCloseWhileComparing(t *testing.T) {
	const n = 1 << 22 // numbers: the bytes are compared in several pieces
	values := make([]float32, n)
	file := gguftest.File{Version: 3, Tensors: []gguftest.Tensor{
		gguftest.Float32("a", []int{n}, values), gguftest.Float32("b", []int{n}, values),
	}}.Bytes()
	for range 20 {
		f, err := FromBytes("two.gguf", file)
		if err != nil {
			t.Fatal(err)
		}
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
		_, err = f.sameBytes("a", "b")
		if want := "gguf: two.gguf: file already closed"; err == nil || err.Error() != want {
			t.Errorf("error %v of a closed file, want %q", err, want)
		}
	}
}

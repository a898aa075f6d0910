//go:build unix

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// A named pipe is refused at once, and so is every other thing that is no regular file.
func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("text"), 0o600))
	must(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := atomicfile.ReadRegular(pipe, 10)
		ended <- err
	}()
	select {
	case err := <-ended:
		const want = "pipe: it is not a regular file (p---------)"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a named pipe: error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a named pipe makes the program wait")
	}
	if _, _, err := atomicfile.OpenRegular(dir); err == nil {
		t.Error("a folder is opened")
	}
	_, err = atomicfile.ReadRegular(filepath.Join(dir, "none"), 10)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	if got, err := atomicfile.ReadRegular(file, 4); err != nil || string(got) != "text" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := atomicfile.ReadRegular(file, 3); err == nil ||
		!strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("a file that is too large: error %v", err)
	}
}

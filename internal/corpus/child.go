package corpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// trialName is the name by which this program knows that it is the child of [tryParquet].
const trialName = "headwater-parquet-trial"

// maxReader is how many bytes of memory reading a Parquet file may take.
const maxReader = 512 << 20

// The child does nothing else, and its parent may be any program that links this package: so it
// begins here and not in a main function.
func init() {
	if os.Args[0] == trialName {
		readOnTrial(os.Stdin)
	}
}

// tryParquet returns an error if reading a Parquet file takes more than maxReader. A file of a few
// kilobytes can have pages, runs of equal values and texts with a common beginning that take
// gigabytes, and the library that reads them has no limit. So a child process reads the file first.
func tryParquet(ctx context.Context, file *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return &RetryError{fmt.Errorf("cannot be read by a process of its own: %w",
			atomicfile.Cause(err))}
	}
	child := exec.CommandContext(ctx, self)
	child.Args, child.Stdin = []string{trialName}, file
	row, err := child.Output()
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &exit):
		return &RetryError{fmt.Errorf("cannot be read by a process of its own: %w",
			atomicfile.Cause(err))}
	}
	return fmt.Errorf("takes more than %d MiB of memory to read (after row %s); write it with "+
		"smaller pages, or split its texts", maxReader>>20, cmp.Or(string(row), "0"))
}

// readOnTrial reads the records of a file and ends this process: with success unless that takes
// more than maxReader. What else is wrong, the parent finds itself.
func readOnTrial(file *os.File) {
	debug.SetMemoryLimit(maxReader / 2) // of what is in use, little is garbage
	var row atomic.Int64
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for ; ; time.Sleep(time.Millisecond) {
			if metrics.Read(heap); heap[0].Value.Uint64() > maxReader {
				tooLarge(row.Load())
			}
		}
	}()
	_ = recovered(func() error {
		size, err := file.Seek(0, 2)
		if err != nil {
			return err
		}
		f, err := openParquet(file, size)
		if err != nil {
			return err
		}
		return readRecords(context.Background(), f, "", func(r Record) error {
			if row.Load() == 0 {
				checkPeak(0)
			}
			row.Store(r.Number)
			return nil
		})
	})
	checkPeak(row.Load())
	os.Exit(0)
}

// checkPeak ends the child if the heap was far too large between two looks, by the largest size
// that it has had. As much as is in use may be garbage.
func checkPeak(row int64) {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapSys > 2*maxReader {
		tooLarge(row)
	}
}

// tooLarge ends the child after a row.
func tooLarge(row int64) {
	fmt.Print(row)
	os.Exit(1)
}

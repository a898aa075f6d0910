package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// Output is where a result goes: standard output, or a file that appears under its name when it is
// complete. Until then it has another name in the same directory, so that an older file stays.
//
// The results that were complete before an error or a signal are kept under another name,
// path.partial: a file with the name that the user gave is never incomplete.
type Output struct {
	*bufio.Writer // of a sink
	sink          *sink
	// What is what a file has and Size how large it is, "" for its bytes, as [Output.Finish] tells
	// the user.
	What, Size string
	say        func(format string, args ...any)
	// path is the file to replace and temp the one that is written, both empty for what is written
	// in place.
	path, temp string
}

// sink writes to a file and remembers how much of it is complete. It is locked, because a signal
// may end the output while something writes.
type sink struct {
	mu   sync.Mutex
	w    io.Writer // nil until a file that is created with its first byte
	file *os.File  // nil for standard output, until w is there, and after the end
	// create sets w and file, nil for an output that is open from the start. A program that is
	// killed before it has a result leaves no file behind.
	create func() error
	name   string // for messages
	size   int64  // bytes written
	// whole is how many bytes are complete results. results counts these results: "3 results", or
	// empty if there are none.
	whole   int64
	results string
	failed  error // the first error of a write
}

// OutputFlag is the help of -o in every command.
const OutputFlag = "write to `FILE`, which appears when it is complete"

// PartialFlag is added to it in commands whose results can be kept one by one.
const PartialFlag = "; what an error or Ctrl-C leaves is in FILE.partial"

// partialEnd is the end of the name of a file with some of the results.
const partialEnd = ".partial"

// Write writes to the file. Its error names the output and what to do.
func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return 0, s.failed
	}
	n, err := 0, s.open()
	if err == nil {
		if n, err = s.w.Write(b); err != nil {
			err = fmt.Errorf("%s: %w", s.name, atomicfile.Cause(err))
		}
	}
	s.size += int64(n)
	if err != nil {
		s.failed = err
		if errors.Is(err, syscall.ENOSPC) {
			s.failed = fmt.Errorf("%w; free some space, or write to another disk", s.failed)
		}
		err = s.failed
	}
	return n, err
}

// open creates the file that is not there yet. The sink is locked.
func (s *sink) open() error {
	if s.w != nil {
		return nil
	}
	if err := s.create(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// Create opens the output that -o names, standard output if that is empty or "-". The caller ends
// it with Commit or Finish, and with Abandon where that may not be reached.
func (k *Kit) Create(ctx context.Context, path string) (*Output, error) {
	if path == "" || path == "-" {
		return newOutput(&sink{w: k.Stdout, name: "standard output"}), nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.createBeside(path)
	case err != nil:
		return nil, fmt.Errorf("output %s: %w", path, atomicfile.Cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("output %s is a directory; name a file in it", path)
	case info.Mode().IsRegular():
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("output %s: %w", path, atomicfile.Cause(err))
		}
		return k.createBeside(path)
	}
	// A device or a pipe cannot be replaced.
	f, err := openUntil(ctx, path, os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", path, atomicfile.Cause(err))
	}
	return newOutput(&sink{w: f, file: f, name: "output " + path}), nil
}

func newOutput(s *sink) *Output {
	return &Output{Writer: bufio.NewWriter(s), sink: s}
}

// createBeside makes an output of an unfinished file in the folder of path, which it tries at once
// and creates with the first byte.
func (k *Kit) createBeside(path string) (*Output, error) {
	dir, base := filepath.Split(path)
	if base == "" {
		return nil, fmt.Errorf("output %s is no file's name", path)
	}
	f, err := atomicfile.Create(path)
	if _, missing := os.Stat(filepath.Clean(dir)); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("output %s: the directory %s does not exist; make it, or "+
			"name a file in another one", path, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("output %s: no file can be created in that "+
			"directory (%w); name a file in another one", path, atomicfile.Cause(err))
	}
	f.Abandon()
	o := newOutput(&sink{name: "output " + path})
	o.path, o.say = path, k.Say
	o.sink.create = func() error {
		f, err := atomicfile.Create(path)
		if err != nil {
			return err
		}
		o.sink.w, o.sink.file, o.temp = f, f.File, f.Name()
		return nil
	}
	unfinished.add(o)
	return o, nil
}

// Keep says that all that was written is complete, and what it is, such as "3 results".
func (o *Output) Keep(what string) error {
	if err := o.Flush(); err != nil {
		return err
	}
	o.sink.mu.Lock()
	defer o.sink.mu.Unlock()
	o.sink.whole, o.sink.results = o.sink.size, what
	return nil
}

// Result writes a result, as JSON or by text for people, and commits the output.
func (o *Output) Result(asJSON bool, value any, text func(io.Writer) error) error {
	var err error
	if asJSON {
		err = WriteJSON(o, value)
	} else {
		err = text(o)
	}
	if err != nil {
		return err
	}
	return o.Commit()
}

// Commit ends the output and puts the file in its place.
func (o *Output) Commit() error {
	return o.Finish(nil)
}

// Finish ends the output. Without an error the file is put in its place, and the user is told what
// it is. With one, what Keep was
// told of is put under the name of a part, and the error says so.
func (o *Output) Finish(err error) error {
	flushed := o.Flush()
	o.sink.mu.Lock()
	defer o.sink.mu.Unlock()
	defer o.end()
	s := o.sink
	if s.failed != nil {
		err = s.failed // whatever failed later failed for that
	} else if err == nil {
		err = flushed
	}
	if err == nil && s.create != nil {
		err = s.open() // a result without a byte is a file, too
	}
	if s.file == nil {
		return err
	}
	if err != nil {
		return o.part(err)
	}
	if err := s.file.Close(); err != nil {
		return o.part(fmt.Errorf("%s: %w", s.name, atomicfile.Cause(err)))
	}
	if o.temp == "" {
		return nil
	}
	if err := os.Rename(o.temp, o.path); err != nil {
		return o.part(fmt.Errorf("%s: %w", s.name, atomicfile.Cause(err)))
	}
	o.temp = ""
	about := cmp.Or(o.Size, message.FormatBytes(s.size))
	if o.What != "" {
		about += ", " + o.What
	}
	o.say("wrote %s: %s", o.path, about)
	return nil
}

// part puts what is complete under the name of a part, and returns the error with what became of
// it. The sink is locked.
func (o *Output) part(err error) error {
	if o.temp == "" || o.sink.results == "" {
		return err
	}
	what, partial := o.sink.results, o.path+partialEnd
	o.sink.file.Close() // the second time it does nothing
	if err := os.Truncate(o.temp, o.sink.whole); err != nil {
		return fmt.Errorf("%w; %s before it could not be kept: %w",
			err, what, atomicfile.Cause(err))
	}
	if failed := os.Rename(o.temp, partial); failed != nil {
		return fmt.Errorf("%w; %s before it could not be kept in %s: %w",
			err, what, partial, atomicfile.Cause(failed))
	}
	o.temp = ""
	err = fmt.Errorf("%w; what was complete, %s, is in %s", err, what, partial)
	if _, missing := os.Stat(o.path); missing == nil {
		err = fmt.Errorf("%w, and %s is as it was", err, o.path)
	}
	return err
}

// Abandon removes what was not committed. After Finish it does nothing.
func (o *Output) Abandon() {
	o.sink.mu.Lock()
	defer o.sink.mu.Unlock()
	o.end()
}

// end closes the file and removes it if it is unfinished. The sink is locked.
func (o *Output) end() {
	if o.sink.file == nil && o.sink.create == nil {
		return
	}
	o.sink.file.Close() // without a file or the second time it does nothing
	o.sink.file, o.sink.create = nil, nil
	if o.sink.failed == nil {
		o.sink.failed = fmt.Errorf("%s has ended", o.sink.name)
	}
	if o.temp != "" {
		os.Remove(o.temp)
	}
	unfinished.remove(o)
}

// unfinished are the files that are being written: what a signal that ends the program at once must
// not leave behind. It is one for the process, as signals are.
var unfinished outputs

// outputs is a set of outputs. It is safe for concurrent use.
type outputs struct {
	mu  sync.Mutex
	all []*Output
}

// add adds a file. While there is one, standard error that nobody reads any more must not end the
// program, as a broken pipe does unless it is ignored: the file may still become complete.
func (u *outputs) add(o *Output) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.all) == 0 {
		signal.Ignore(syscall.SIGPIPE)
	}
	u.all = append(u.all, o)
}

func (u *outputs) remove(o *Output) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := len(u.all)
	u.all = slices.DeleteFunc(u.all, func(other *Output) bool { return other == o })
	if before > 0 && len(u.all) == 0 {
		signal.Reset(syscall.SIGPIPE)
	}
}

// rescueTime is how long the program waits for a write that is under way before it ends at once.
const rescueTime = time.Second

// rescue keeps what is complete of every file and removes the rest, because the program ends now. A
// disk that does not answer keeps it no longer than rescueTime.
func (u *outputs) rescue() {
	u.mu.Lock()
	all := slices.Clone(u.all)
	u.mu.Unlock()
	for _, o := range all {
		end := time.Now().Add(rescueTime)
		for !o.sink.mu.TryLock() {
			if time.Now().After(end) {
				return
			}
			time.Sleep(time.Millisecond)
		}
		_ = o.part(nil) // there is no time to say it
		o.end()
		o.sink.mu.Unlock()
	}
}

// WriteJSON writes a value on one line. Text stays readable: < is not written as an escape.
func WriteJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

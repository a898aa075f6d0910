package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
)

// storage gives access to the bytes of one file. It is safe for concurrent use.
type storage interface {
	// each calls use with the bytes from begin to end, in order, in pieces of step bytes; the last
	// piece may be shorter. A piece is valid only during the call. It returns an error if some of
	// the bytes are missing.
	each(begin, end, step int64, use func([]byte) error) error
	io.Closer
}

// newStorage returns the storage of an open file and owns the file: a mapping if the file is on
// disk and the system supports it, otherwise a reader.
func newStorage(f io.Closer, r io.ReaderAt, size int64) storage {
	if file, ok := f.(*os.File); ok {
		if data, err := mapFile(file, size); err == nil {
			return &mapped{data: data, file: file}
		}
	}
	return &readable{r: r, Closer: f}
}

// readable is a file that is read in pieces. It needs no lock: [io.ReaderAt] allows reads at the
// same time.
type readable struct {
	r io.ReaderAt
	io.Closer
}

func (s *readable) each(begin, end, step int64, use func([]byte) error) error {
	buf := make([]byte, min(step, end-begin))
	for off := begin; off < end; off += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), end-off)]
		n, err := s.r.ReadAt(buf, off)
		if n < len(buf) { // reaching the end of the file with a full buf is not an error
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(buf), off, err)
		}
		if err := use(buf); err != nil {
			return err
		}
	}
	return nil
}

// mapped is bytes in memory: a mapped file or, if file is nil, a slice of the caller.
type mapped struct {
	mu   sync.RWMutex // held by readers, so that nothing is unmapped while they read
	data []byte
	file *os.File
	// unreleased are the bytes that were read since pages were last given back.
	unreleased struct {
		sync.Mutex
		begin, end, n int64 // between begin and end; n counts some twice
	}
}

func (m *mapped) each(begin, end, step int64, use func([]byte) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	// Only after Close: the offsets were compared with the size of the file when it was opened.
	if end > int64(len(m.data)) {
		return fs.ErrClosed
	}
	for off := begin; off < end; off += step {
		stop := min(off+step, end)
		if err := m.piece(off, stop, use); err != nil {
			return err
		}
	}
	return nil
}

// piece calls use with data[off:stop]. For a mapped file it then gives pages back and checks
// whether the file has become shorter: the bytes of a shortened file are zeros in its last page,
// and reading further pages is a fault.
func (m *mapped) piece(off, stop int64, use func([]byte) error) error {
	data := m.data[off:stop:stop]
	if m.file == nil {
		return use(data)
	}
	err := guard(data, use)
	unmapped := m.release(off, stop)
	info, statErr := m.file.Stat()
	if statErr == nil && info.Size() < int64(len(m.data)) {
		return fmt.Errorf("the file was cut from %d to %d bytes while it was open: %w", len(m.data),
			info.Size(), io.ErrUnexpectedEOF)
	}
	return errors.Join(err, unmapped, statErr)
}

// release gives back the pages of what was read, data[off:stop] now, when that is enough: it makes
// all processors forget pages, so it costs more than to read a row of a matrix.
func (m *mapped) release(off, stop int64) error {
	u := &m.unreleased
	u.Lock()
	defer u.Unlock()
	if u.n == 0 {
		u.begin, u.end = off, stop
	}
	u.begin, u.end, u.n = min(u.begin, off), max(u.end, stop), u.n+stop-off
	if u.n < releaseAfter {
		return nil
	}
	u.n = 0
	return releasePages(m.data, max(0, u.begin-releaseMargin),
		min(u.end+releaseMargin, int64(len(m.data))))
}

const (
	// releaseAfter is how many bytes are read before their pages are given back.
	releaseAfter = 4 << 20
	// releaseMargin is how many bytes before and after them are given back too. When a page is
	// touched, the system also maps its neighbours from its cache, up to 2 MiB at once. Without
	// this, a tenth of a file stayed in the memory of this program.
	releaseMargin = 4 << 20
)

// guard calls use with data. It returns an error if reading data causes a fault, because the file
// was shortened or its disk fails. Other panics are passed on.
func guard(data []byte, use func([]byte) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface{ Addr() uintptr })
		if !ok || !within(data, fault.Addr()) {
			panic(r)
		}
		err = errors.New("memory fault in the mapped file: it was cut or its disk fails")
	}()
	return use(data)
}

// Close unmaps and closes the file. For a slice of the caller it only drops the reference.
func (m *mapped) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := m.data
	m.data = nil
	if m.file == nil || data == nil {
		return nil
	}
	return errors.Join(unmapFile(data), m.file.Close())
}

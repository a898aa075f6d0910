package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/corpus"
)

// OpenInput opens a file with text, standard input if its name is "-", and returns its name. A
// text in UTF-16 that begins with its mark is read as UTF-8, and a mark is left out. The caller
// closes the file, and names its flag if there is an error. Reading ends with ctx, and so does
// waiting for another program to open a named pipe.
func (k *Kit) OpenInput(ctx context.Context, path string) (io.ReadCloser, string, error) {
	file, name, err := k.openBytes(ctx, path)
	if err != nil {
		return nil, name, err
	}
	return struct {
		io.Reader
		io.Closer
	}{corpus.AsUTF8(file), file}, name, nil
}

// openBytes is OpenInput for what the file has.
func (k *Kit) openBytes(ctx context.Context, path string) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(&impatient{ctx: ctx, r: k.Stdin}), "standard input", nil
	}
	file, err := openUntil(ctx, path, os.O_RDONLY)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
	}
	info, err := file.Stat()
	switch {
	case err == nil && info.IsDir():
		file.Close()
		return nil, "", fmt.Errorf("%s is a directory; name a file", path)
	case err == nil && info.Mode().IsRegular():
		return file, path, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{&impatient{ctx: ctx, r: file}, file}, path, nil
}

// openUntil opens a file, or returns the error of ctx if that ends first: to open a named pipe
// waits until another program opens its other end.
func openUntil(ctx context.Context, path string, flag int) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	got := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(path, flag, 0)
		got <- opened{file, err}
	}()
	select {
	case o := <-got:
		return o.file, o.err
	case <-ctx.Done():
		return nil, ctx.Err() // the program ends soon, and its files with it
	}
}

// impatient reads until ctx is done: a terminal or a pipe may never answer.
type impatient struct {
	ctx  context.Context
	r    io.Reader
	rest []byte
	err  error
}

// Read reads what has arrived. When ctx ends, the goroutine that waits for r may go on; it has a
// buffer of its own.
func (i *impatient) Read(b []byte) (int, error) {
	if len(i.rest) == 0 && i.err == nil {
		type piece struct {
			data []byte
			err  error
		}
		got := make(chan piece, 1)
		go func() {
			data := make([]byte, 1<<16)
			n, err := i.r.Read(data)
			got <- piece{data[:n], err}
		}()
		select {
		case p := <-got:
			i.rest, i.err = p.data, p.err
		case <-i.ctx.Done():
			return 0, i.ctx.Err()
		}
	}
	n := copy(b, i.rest)
	if i.rest = i.rest[n:]; len(i.rest) > 0 || n > 0 {
		return n, nil
	}
	return 0, i.err
}

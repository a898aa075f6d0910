package hub

import (
	"context"
	"crypto/sha1" // what git names its blobs by
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	gohash "hash"
	"io"
	"net/http"
	"os"
	"time"
)

// part is a blob that is being downloaded.
type part struct {
	file *os.File
	disk func(io.Writer) io.Writer
	r    remote
	n    int64 // bytes that are there
	sum  gohash.Hash
}

// openPart opens and hashes the bytes that an earlier call left, if there are any.
func openPart(ctx context.Context, path string, r remote) (*part, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	p := &part{file: f, r: r}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && info.Size() > r.size {
		err = f.Truncate(0)
	}
	if err == nil {
		p.begin()
		p.n, err = io.Copy(p.sum, &stoppable{ctx, f})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// stoppable is a reader that returns an error when ctx ends.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// begin starts the hash from the first byte.
func (p *part) begin() { p.n, p.sum = 0, newSum(p.r.etag, p.r.size) }

// newSum starts a hash of the same kind as etag, for size bytes: SHA-256 of the content, or the git
// blob id.
func newSum(etag string, size int64) gohash.Hash {
	if len(etag) == 2*sha256.Size {
		return sha256.New()
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", size) // a hash never returns an error
	return sum
}

// Write appends bytes and adds those that were written to the hash.
func (p *part) Write(b []byte) (int, error) {
	var w io.Writer = p.file
	if p.disk != nil {
		w = p.disk(w)
	}
	n, err := w.Write(b)
	p.sum.Write(b[:n])
	p.n += int64(n)
	return n, err
}

// restart throws away the bytes so far.
func (p *part) restart() error {
	p.begin()
	_, err := p.file.Seek(0, io.SeekStart)
	return errors.Join(err, p.file.Truncate(0))
}

func (p *part) hash() string { return hex.EncodeToString(p.sum.Sum(nil)) }
func (p *part) right() bool  { return p.n == p.r.size && p.hash() == p.r.etag }

// remove deletes the file, so that no later call continues with wrong bytes.
func (p *part) remove() error { return os.Remove(p.file.Name()) }

// finish closes the file and renames it to path. Before that it waits until the bytes are on the
// disk, so they survive a crash of the machine.
func (p *part) finish(path string) error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	return os.Rename(p.file.Name(), path)
}

// receive downloads the rest of p.
func (c *client) receive(ctx context.Context, p *part) error {
	c.report(p)
	return c.try(ctx, p.n, func() (int64, error) {
		if p.n == p.r.size {
			return p.n, nil
		}
		err := c.get(ctx, p)
		return p.n, err
	})
}

func (c *client) report(p *part) {
	if c.opts.Progress != nil {
		c.opts.Progress(Progress{
			File: p.r.file, Done: p.n, Size: p.r.size, Number: p.r.number,
			Count: p.r.count,
		})
	}
}

// get asks once for the bytes from p.n on.
func (c *client) get(ctx context.Context, p *part) error {
	watch := newWatch(ctx, c.opts.Patience)
	defer watch.stop()
	req, err := http.NewRequestWithContext(watch.ctx, http.MethodGet, c.address(p.r), nil)
	if err != nil {
		return pkg.Errorf("%s: %w", c.ref, err)
	}
	if p.n > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.n))
	}
	resp, err := c.do(c.http, req, p.r.file)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := c.position(resp, p); err != nil {
		return err
	}
	return c.copy(watch, resp, p)
}

// position makes p end where the body of the answer begins.
func (c *client) position(resp *http.Response, p *part) error {
	size := resp.ContentLength
	if resp.StatusCode == http.StatusPartialContent {
		var from, to int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to,
			&size); err != nil || from != p.n {
			return pkg.Errorf("%s %s: asked for the bytes from %d on, %s answers with %q", c.ref,
				p.r.file, p.n, resp.Request.URL.Host, shortened(resp.Header.Get("Content-Range")))
		}
	} else if p.n > 0 { // the server ignores ranges
		if err := p.restart(); err != nil {
			return c.diskError(p.r.file, err)
		}
	}
	if size >= 0 && size != p.r.size {
		return pkg.Errorf("%s %s: %s offers %d bytes, the Hub has %d", c.ref, p.r.file,
			resp.Request.URL.Host, size, p.r.size)
	}
	return nil
}

// copy appends the body of the answer to p.
func (c *client) copy(watch *watch, resp *http.Response, p *part) error {
	body := io.LimitReader(&stoppable{watch.ctx, watch.reader(resp.Body)}, p.r.size-p.n+1)
	buf := make([]byte, 1<<18)
	pace := pace{least: c.opts.MinSpeed, window: c.window, since: time.Now()}
	for {
		n, err := body.Read(buf)
		if p.n+int64(n) > p.r.size {
			return pkg.Errorf("%s %s: more bytes come than the %d that the Hub has", c.ref,
				p.r.file, p.r.size)
		}
		if n > 0 {
			if _, err := p.Write(buf[:n]); err != nil {
				return c.diskError(p.r.file, err)
			}
			c.report(p)
		}
		var tooSlow *slow
		if p.n < p.r.size && errors.As(pace.add(n, time.Now()), &tooSlow) {
			return c.tooSlow(p, resp.Request.URL.Host, tooSlow)
		}
		if err == io.EOF && p.n < p.r.size {
			err = io.ErrUnexpectedEOF
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.failed(watch.ctx, resp.Request.URL, err)
		}
	}
}

package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// download brings the files of a revision that are missing, the weights last. It returns the
// snapshot.
func (c *client) download(ctx context.Context, revision string) (string, error) {
	l, err := c.list(ctx, revision)
	if err != nil {
		return "", err
	}
	if !slices.Contains(l.files, configFile) {
		return "", pkg.Errorf("%s is not a model of transformers: it has no %s", c.ref, configFile)
	}
	single, err := checkWeights(l.files)
	var other *notConverted
	if errors.As(err, &other) {
		return "", pkg.Errorf("%s: %w: %s", c.ref, other, c.ref.convert())
	}
	if err != nil {
		return "", pkg.Errorf("%s: %w", c.ref, err)
	}
	files, weights := small(l.files), []string{weightsFile}
	if !single {
		files, weights = append(files, indexFile), nil
	}
	if err := c.fetchAll(ctx, l, files, 0, len(files)+len(weights)); err != nil {
		return "", err
	}
	if !single {
		if weights, err = c.listedShards(l); err != nil {
			return "", err
		}
	}
	if err := c.fetchAll(ctx, l, weights, len(files), len(files)+len(weights)); err != nil {
		return "", err
	}
	return c.repo.snapshot(l.commit), c.finish(l)
}

// listedShards returns the shards in the list of shards that was just downloaded.
func (c *client) listedShards(l listing) ([]string, error) {
	files, err := c.repo.shards(l.commit)
	if err != nil {
		return nil, pkg.Errorf("%s: %w", c.ref, err)
	}
	listed := slices.Sorted(slices.Values(l.files)) // both may be long
	for _, f := range files {
		if _, ok := slices.BinarySearch(listed, f); !ok {
			return nil, pkg.Errorf("%s: %s names %s, which the repository does not have",
				c.ref, indexFile, f)
		}
	}
	return files, nil
}

// finish records which optional files the commit does not have, then which commit the revision
// means.
func (c *client) finish(l listing) error {
	for _, f := range optional {
		if slices.Contains(l.files, f) {
			continue
		}
		if err := c.repo.markAbsent(l.commit, f); err != nil {
			return c.diskError(f, err)
		}
	}
	if err := c.repo.setRef(c.ref.Revision, l.commit); err != nil {
		return c.diskError("refs/"+c.ref.Revision, err)
	}
	return nil
}

// fetchAll downloads files one after another. before is how many of the count files come before
// these.
func (c *client) fetchAll(ctx context.Context, l listing, files []string, before, count int) error {
	for i, f := range files {
		if c.repo.has(l.commit, f) {
			continue
		}
		r := remote{file: f, commit: l.commit, size: -1, number: before + i + 1, count: count}
		if size, ok := l.sizes[f]; ok {
			r.size = size
		}
		if err := c.describe(ctx, &r); err != nil {
			return err
		}
		if err := c.fetch(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// remote is one file of the Hub.
type remote struct {
	file, commit  string
	etag          string // the hash of the content: SHA-256, or that of git
	size          int64  // −1 if it is not known yet
	number, count int
}

var hash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// address is the URL of the file at its commit. What it returns never changes.
func (c *client) address(r remote) string {
	parts := strings.Split(r.file, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.endpoint.String() + "/" + c.ref.Repo + "/resolve/" + r.commit + "/" +
		strings.Join(parts, "/")
}

// describe asks for the hash and the size of a file. For a large file they are in the answer that
// redirects to its storage, so that redirect is not followed.
func (c *client) describe(ctx context.Context, r *remote) error {
	asking := *c.http
	asking.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.Response.Header.Get("X-Linked-Etag") != "" || req.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		return checkRedirect(req, via)
	}
	return c.try(ctx, 0, func() (int64, error) {
		ctx, done := c.limited(ctx)
		defer done()
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, c.address(*r), nil)
		if err != nil {
			return 0, pkg.Errorf("%s: %w", c.ref, err)
		}
		resp, err := c.do(&asking, req, r.file)
		if err != nil {
			return 0, err
		}
		return 0, errors.Join(r.read(resp), resp.Body.Close())
	})
}

// read takes the hash and the size from the answer to describe.
func (r *remote) read(resp *http.Response) error {
	h := resp.Header
	etag, size := h.Get("X-Linked-Etag"), h.Get("X-Linked-Size")
	if etag == "" {
		etag = h.Get("ETag")
	}
	if size == "" && resp.StatusCode == http.StatusOK {
		size = h.Get("Content-Length")
	}
	r.etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	if !hash.MatchString(r.etag) {
		return pkg.Errorf("%s: %s gives %q as its ETag, not a hash: this is not a Hub; look "+
			"at HF_ENDPOINT", r.file, resp.Request.URL.Host, shortened(etag))
	}
	if size == "" && r.size >= 0 {
		return nil
	}
	var n int64
	if _, err := fmt.Sscanf(size, "%d", &n); err != nil || n < 0 {
		return pkg.Errorf("%s: %s gives %q as its size", r.file, resp.Request.URL.Host,
			shortened(size))
	}
	if r.size >= 0 && r.size != n {
		return pkg.Errorf("%s: the Hub lists %d bytes and offers %d", r.file, r.size, n)
	}
	r.size = n
	return nil
}

// fetch puts one file into the snapshot. It holds a lock that the Python tools use too.
func (c *client) fetch(ctx context.Context, r remote) (err error) {
	for _, dir := range []string{filepath.Dir(c.repo.blob(r.etag)), c.repo.locks} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return c.diskError(r.file, err)
		}
	}
	lock := flock.New(filepath.Join(c.repo.locks, r.etag+".lock"), flock.SetPermissions(0o664))
	if err := c.lock(ctx, lock, r); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	blob := c.repo.blob(r.etag)
	// A blob with another size was damaged later. A damaged blob with the right size is found by
	// Check only.
	if info, err := os.Stat(blob); err != nil || info.Size() != r.size ||
		!c.repo.check.hasHash(blob, r.etag, r.file) {
		if err := c.makeBlob(ctx, r); err != nil {
			return err
		}
	}
	if err := c.repo.link(r.commit, r.file, r.etag); err != nil {
		return c.diskError(r.file, err)
	}
	return nil
}

// lockPatience is how long another download may hold the lock on a file without adding a byte. It
// is longer than it takes to read a hundred gigabytes that an earlier call left.
const lockPatience = 10 * time.Minute

// lock waits for the lock on a file as long as the download that holds it makes progress.
// [flock.Flock.TryLockContext] waits too, but cannot tell a slow download from one that hangs.
func (c *client) lock(ctx context.Context, lock *flock.Flock, r remote) error {
	lastSize := int64(-1)
	for since := time.Now(); ; {
		locked, err := lock.TryLock()
		if err != nil {
			return c.diskError(r.file, err)
		}
		if locked {
			return nil
		}
		if info, err := os.Stat(c.repo.blob(r.etag) + incomplete); err == nil &&
			info.Size() != lastSize {
			lastSize, since = info.Size(), time.Now()
		}
		if time.Since(since) > c.lockPatience {
			return pkg.Errorf("%s: another program holds %s and has downloaded nothing for %v: "+
				"end it, and try again", c.ref, r.file, c.lockPatience)
		}
		select {
		case <-ctx.Done():
			return pkg.Errorf("%s: waiting for another download of %s: %w", c.ref, r.file,
				ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// incomplete is the end of the name of a blob that is not complete.
const incomplete = ".incomplete"

// makeBlob downloads the content of a file. If bytes that an earlier call left are wrong, they are
// downloaded again, once.
func (c *client) makeBlob(ctx context.Context, r remote) error {
	p, err := openPart(ctx, c.repo.blob(r.etag)+incomplete, r)
	if err != nil {
		return c.diskError(r.file, err)
	}
	p.disk = c.disk
	if err := c.receiveRight(ctx, p); err != nil {
		return errors.Join(err, p.file.Close())
	}
	if err := p.finish(c.repo.blob(r.etag)); err != nil {
		return c.diskError(r.file, err)
	}
	return nil
}

// receiveRight fills p with bytes that have the right hash. If they have another hash, it removes
// them.
func (c *client) receiveRight(ctx context.Context, p *part) error {
	resumed := p.n > 0
	err := c.receive(ctx, p)
	if err == nil && resumed && !p.right() {
		if err := p.restart(); err != nil {
			return c.diskError(p.r.file, err)
		}
		err = c.receive(ctx, p)
	}
	if err == nil && !p.right() {
		err = pkg.Errorf("%s %s: the downloaded bytes are not those of the Hub: their hash is %s, "+
			"not %s; try again", c.ref, p.r.file, p.hash(), p.r.etag)
		err = errors.Join(err, p.remove())
	}
	return err
}

// diskError adds the file to an error of the cache and, if the disk is full, what to do.
func (c *client) diskError(file string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return pkg.Errorf("%s %s: %w: the bytes so far are kept; make room in %s, or set "+
			"HF_HOME to another disk, and try again", c.ref, file, err, c.opts.Cache)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return pkg.Errorf("%s %s: %w", c.ref, file, err)
	}
	return pkg.Errorf("%s %s: the cache cannot be written: %w; set HF_HOME to another folder",
		c.ref, file, err)
}

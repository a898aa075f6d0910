package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/corpus/bucket"
)

// Place is a folder or a bucket. Names in it are relative and have slashes. It is safe for
// concurrent use.
type Place struct {
	name   string // what the user calls it
	folder string // its path; "" for a bucket
	bucket *bucket.Bucket
	prefix string // of the keys in the bucket, "" or with a slash at the end
}

// OpenPlace opens a folder, which need not exist, or a bucket: a path, file:///path, or the address
// of a bucket such as s3://bucket/folder?region=eu-west-1; see [bucket.Open].
func OpenPlace(name string) (*Place, error) {
	folder, address, err := splitPlace(name)
	if err != nil {
		return nil, err
	}
	if address == nil {
		return &Place{name: name, folder: folder}, nil
	}
	switch address.Scheme {
	case "s3":
	case "gs":
		return nil, pkg.Errorf("%s: a bucket of Google is opened as "+
			"s3://BUCKET/FOLDER?endpoint=storage.googleapis.com, with an HMAC key in "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or as a folder that gcsfuse mounts", name)
	case "azblob":
		return nil, pkg.Errorf("%s: a container of Azure is opened as a folder; mount it "+
			"with blobfuse2 and give the path", name)
	default:
		return nil, pkg.Errorf("%s: there are no buckets of the kind %.20q; known are "+
			"s3:// and file://", name, address.Scheme)
	}
	b, err := bucket.Open(address)
	if err != nil {
		return nil, pkg.Errorf("the bucket %s cannot be opened: %w", name, err)
	}
	prefix := strings.Trim(address.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &Place{name: name, bucket: b, prefix: prefix}, nil
}

// splitPlace returns the path that a name means, or the address of a bucket.
func splitPlace(name string) (folder string, bucket *url.URL, err error) {
	if name == "" {
		return "", nil, pkg.Errorf("the name of a folder or bucket is empty")
	}
	if !strings.Contains(name, "://") {
		return filepath.Clean(name), nil, nil
	}
	address, err := url.Parse(name)
	if err != nil {
		return "", nil, pkg.Errorf("%s is no address of a bucket", name)
	}
	if address.Scheme != "file" {
		if strings.Contains(name, "#") { // what follows would be lost
			return "", nil, pkg.Errorf("%s: the address of a bucket has no #; write %%23 "+
				"if it is in the name of a folder", name)
		}
		return "", address, nil
	}
	if address.Host != "" && address.Host != "localhost" || address.Path == "" {
		return "", nil, pkg.Errorf("%s: want file:///folder, with three slashes", name)
	}
	if address.RawQuery != "" || address.ForceQuery || strings.Contains(name, "#") {
		return "", nil, pkg.Errorf("%s: the address of a folder has no ? and #; write "+
			"%%3F and %%23 if they are in its name, or give its path", name)
	}
	return filepath.FromSlash(path.Clean(address.Path)), nil, nil
}

// String returns what the user calls it.
func (p *Place) String() string { return p.name }

// path returns where a name of a folder is.
func (p *Place) path(name string) string {
	return filepath.Join(p.folder, filepath.FromSlash(name))
}

// object is a file of a place.
type object struct {
	name  string
	bytes int64
}

// list returns the files of the place and of the folders in it, sorted by name, and what is there
// but cannot be read. Hidden files and folders, whose names begin with a dot, are in neither. A
// folder that does not exist has no files.
func (p *Place) list(ctx context.Context) (files []object, leftOut []LeftOut, err error) {
	if p.bucket != nil {
		files, err = p.listBucket(ctx)
	} else {
		files, leftOut, err = p.listFolder(ctx)
	}
	slices.SortFunc(files, func(a, b object) int { return strings.Compare(a.name, b.name) })
	return files, leftOut, err
}

func (p *Place) listBucket(ctx context.Context) ([]object, error) {
	var all []object
	request := begin(ctx, 0)
	err := p.bucket.List(request.ctx, p.prefix, func(key string, bytes int64) {
		request.more()
		if name := strings.TrimPrefix(key, p.prefix); !hidden(name) {
			all = append(all, object{name, bytes})
		}
	})
	if err = request.end(err); err != nil {
		return nil, p.failed("be listed", "", err)
	}
	return all, nil
}

func (p *Place) listFolder(ctx context.Context) (files []object, leftOut []LeftOut, err error) {
	root, err := filepath.EvalSymlinks(p.folder) // WalkDir follows no link
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, p.failed("be listed", "", err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		gone := errors.Is(err, fs.ErrNotExist) // since its folder was read
		if err != nil && !gone {
			return err
		}
		if path != root && hidden(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() && !gone {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		info, err := os.Stat(path) // of what a link leads to
		switch {
		case err != nil:
			leftOut = append(leftOut, LeftOut{name, Unreadable})
		case info.IsDir():
			leftOut = append(leftOut, LeftOut{name, LinkToFolder})
		case !info.Mode().IsRegular():
			leftOut = append(leftOut, LeftOut{name, Unreadable})
		default:
			files = append(files, object{name, info.Size()})
		}
		return nil
	})
	if err != nil {
		return nil, nil, p.failed("be listed", "", err)
	}
	return files, leftOut, nil
}

// hidden is whether some part of a name begins with a dot.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// open opens a file from its beginning. The error wraps [fs.ErrNotExist] if there is none.
func (p *Place) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if p.bucket == nil {
		f, _, err := p.openRegular(name)
		return f, err
	}
	return p.rangeReader(ctx, name, 0, -1)
}

// rangeReader reads a piece of a file of a bucket, up to its end if length is negative.
func (p *Place) rangeReader(
	ctx context.Context, name string, offset, length int64,
) (io.ReadCloser, error) {
	request := begin(ctx, 0)
	r, err := p.bucket.Read(request.ctx, p.prefix+name, offset, length)
	if err != nil {
		return nil, p.failed("be read", name, request.end(err))
	}
	return &patientReader{r, request}, request.pause(nil)
}

// openRegular opens a file of a folder, and returns its size. What is no regular file is refused:
// to open a named pipe waits for another program.
func (p *Place) openRegular(name string) (*os.File, int64, error) {
	info, err := os.Stat(p.path(name))
	if err != nil {
		return nil, 0, p.failed("be read", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, pkg.Errorf("%s in %s is not a regular file (%s); remove it, or "+
			"copy what it gives to a file", name, p.name, info.Mode().Type())
	}
	f, err := os.Open(p.path(name))
	if err != nil {
		return nil, 0, p.failed("be read", name, err)
	}
	return f, info.Size(), nil
}

// randomFile is a file that can be read anywhere.
type randomFile interface {
	io.ReaderAt
	io.Closer
}

// openAt opens a file that is read in any order, and returns its size. A file of a bucket is read
// by ranges.
func (p *Place) openAt(ctx context.Context, name string) (randomFile, int64, error) {
	if p.bucket != nil {
		request := begin(ctx, 0)
		size, err := p.bucket.Size(request.ctx, p.prefix+name)
		if err = request.end(err); err != nil {
			return nil, 0, p.failed("be read", name, err)
		}
		return &ranges{ctx: ctx, place: p, name: name, size: size}, size, nil
	}
	return p.openRegular(name)
}

// ranges reads pieces of a file in a bucket.
type ranges struct {
	ctx   context.Context
	place *Place
	name  string
	size  int64
}

// ReadAt reads one piece, by one request.
func (r *ranges) ReadAt(b []byte, offset int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	in, err := r.place.rangeReader(r.ctx, r.name, offset, int64(len(b)))
	if err != nil {
		return 0, err
	}
	defer in.Close()
	n, err := io.ReadFull(in, b)
	switch {
	case int64(n) == min(r.size-offset, int64(len(b))) && err != nil:
		err = io.EOF // the file ends here; if less came, the connection did
	case err != nil:
		err = r.place.failed("be read", r.name, err)
	}
	return n, err
}

// Close does nothing: no request is open between two pieces.
func (*ranges) Close() error { return nil }

// read returns a whole file of at most limit bytes.
func (p *Place) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := p.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, p.failed("be read", name, err)
	}
	if int64(len(data)) > limit {
		return nil, pkg.Errorf("%s in %s has more than %d bytes", name, p, limit)
	}
	return data, nil
}

// target is a file that is being written and appears under its name when it is complete.
type target struct {
	io.Writer
	place *Place
	name  string
	file  *atomicfile.File // of a folder
	spool *scratchFile     // of a bucket: the bytes until they are sent
}

// create begins a file. The caller ends it by commit or abandon.
func (p *Place) create(name string) (*target, error) {
	t := &target{place: p, name: name}
	if p.bucket != nil {
		spool, err := scratch()
		if err != nil {
			return nil, err
		}
		t.spool, t.Writer = spool, spool
		return t, nil
	}
	at := p.path(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil { //nolint:gosec // the umask decides
		return nil, p.failed("be written", name, err)
	}
	f, err := atomicfile.Create(at)
	if err != nil {
		return nil, p.failed("be written", name, err)
	}
	t.file, t.Writer = f, f
	return t, nil
}

// errExists is the error if a file of a bucket exists and was not replaced.
var errExists = errors.New("it exists already")

// commit gives the file its name. In a folder it replaces an older one. In a bucket it is one
// upload that fails with errExists if there is a file; replace then uploads it all the same. The
// caller abandons the file in any case.
func (t *target) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.file == nil {
		return t.upload(ctx, false)
	}
	// A machine that loses power after the rename must not be left with an empty file.
	err := t.file.Sync()
	if err == nil {
		err = t.file.Commit()
	}
	if err != nil {
		return t.place.failed("be written", t.name, err)
	}
	return nil
}

// replace uploads a file of a bucket in place of one that exists.
func (t *target) replace(ctx context.Context) error { return t.upload(ctx, true) }

func (t *target) upload(ctx context.Context, replace bool) error {
	info, err := t.spool.Stat()
	if err != nil {
		return scratchFailed(err)
	}
	request := begin(ctx, info.Size())
	err = t.place.bucket.Write(request.ctx, t.place.prefix+t.name, t.spool, info.Size(), replace)
	err = request.end(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bucket.ErrExists):
		return errExists
	}
	return t.place.failed("be written", t.name, err)
}

// abandon removes what was written. After commit it does nothing to the file of a folder.
func (t *target) abandon() {
	if t.file != nil {
		t.file.Abandon()
	}
	if t.spool != nil {
		t.spool.Close()
	}
}

// scratchFile is a temporary file that nobody else sees. It is gone when it is closed.
type scratchFile struct {
	*os.File
	named bool // the system keeps its name until it is closed
}

// scratch returns a temporary file. Where the system allows it, it has no name, so that a program
// that is killed leaves nothing behind.
func scratch() (*scratchFile, error) {
	f, err := os.CreateTemp("", "headwater-corpus-*")
	if err != nil {
		return nil, &RetryError{pkg.Errorf("no temporary file can be created: %w; TMPDIR "+
			"names another folder", atomicfile.Cause(err))}
	}
	return &scratchFile{f, os.Remove(f.Name()) != nil}, nil // Windows removes no open file
}

// Close closes and removes the file.
func (f *scratchFile) Close() error {
	err := f.File.Close()
	if f.named {
		os.Remove(f.Name())
	}
	return err
}

// scratchFailed returns the error of a temporary file.
func scratchFailed(err error) error {
	return &RetryError{pkg.Errorf("a temporary file failed: %w", atomicfile.Cause(err))}
}

// localFile is a file of this machine that can be read anywhere, a temporary one if it is a copy.
type localFile struct {
	randomFile
	size int64
}

// localCopy copies what in reads into a temporary file.
func localCopy(in *countedReader) (*localFile, error) {
	out, err := scratch()
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(out, in)
	if err != nil {
		out.Close()
		if in.err != nil {
			return nil, in.err
		}
		return nil, &RetryError{pkg.Errorf("a temporary copy of %s failed: %w", in.name,
			atomicfile.Cause(err))}
	}
	return &localFile{out, size}, nil
}

// failed returns the error of a file: what cannot happen to it, and what to do.
func (p *Place) failed(what, name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	where := p.name
	if name != "" {
		where = name + " in " + p.name
	}
	text := fmt.Sprintf("corpus: %s cannot %s", where, what)
	if p.bucket != nil && !errors.Is(err, fs.ErrNotExist) {
		return bucketFailed(what, text, err)
	}
	err = atomicfile.Cause(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w", text, err)
	}
	return &RetryError{fmt.Errorf("%s: %w", text, err)}
}

// bucketFailed returns the error of a file in a bucket. What cannot be written because it is not
// found is the bucket.
func bucketFailed(what, text string, err error) error {
	const account = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	cause := bucketCause(err)
	answer := &bucket.Answer{}
	errors.As(err, &answer)
	missing := answer.Status == http.StatusNotFound && answer.Code != "NoSuchUpload"
	switch {
	case answer.Code == "NoSuchBucket" || missing && what == "be written":
		return fmt.Errorf("%s: there is no such bucket; check its name, or create it: %w", text,
			cause)
	case refused(answer):
		return fmt.Errorf("%s: the bucket refuses access; check its name, the account (%s) and "+
			"its permissions: %w", text, account, cause)
	case errors.Is(err, bucket.ErrNoAccount):
		// A machine of the cloud that has one may not have answered.
		return &RetryError{fmt.Errorf("%s: the client finds no account (%s): %w", text, account,
			cause)}
	case missing:
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	case wrong(answer):
		return fmt.Errorf("%s: %w", text, cause)
	}
	return &RetryError{fmt.Errorf("%s: %w", text, cause)}
}

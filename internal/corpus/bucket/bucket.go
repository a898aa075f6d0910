// Package bucket reads and writes the objects of a bucket whose server speaks the protocol of
// Amazon S3: that of Amazon, MinIO, Cloudflare R2, Google's S3 interface and others.
package bucket

import (
	"context"
	"crypto/md5" //nolint:gosec // a checksum that every server compares
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/minio/minio-go/v7"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("bucket")

// Bucket is a bucket that [Open] has opened. It is safe for concurrent use.
type Bucket struct {
	core minio.Core
	name string
}

// ErrExists is the error of [Bucket.Write] if there is an object that it must not replace.
var ErrExists = pkg.Errorf("the object exists already")

// Answer is an answer of the server that is an error.
type Answer struct {
	Status        int    // of HTTP
	Code, Message string // "" if there are none
}

// Error returns the code and the message.
func (a *Answer) Error() string {
	what := a.Code
	if what == "" {
		what = strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
	}
	if a.Message == "" || a.Message == what {
		return "the server answers " + what
	}
	return fmt.Sprintf("the server answers %s: %s", what, strings.TrimSuffix(a.Message, "."))
}

// answered returns an error of the client as an [Answer] if it is one of the server.
func answered(err error) error {
	if r := (minio.ErrorResponse{}); errors.As(err, &r) {
		return &Answer{r.StatusCode, r.Code, r.Message}
	}
	return err
}

// List calls each with the key and the size in bytes of every object whose key begins with a
// prefix. It ends with the first error, which is that of ctx, of the server or of the connection.
func (b *Bucket) List(
	ctx context.Context, prefix string, each func(key string, bytes int64),
) error {
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: true}
	for o := range b.core.ListObjectsIter(ctx, b.name, options) {
		if o.Err != nil {
			return answered(o.Err)
		}
		each(o.Key, o.Size)
	}
	return ctx.Err() // the client ends the list without an error
}

// Size returns the size of an object in bytes.
func (b *Bucket) Size(ctx context.Context, key string) (int64, error) {
	about, err := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	return about.Size, answered(err)
}

// Read reads an object from an offset, at most length bytes, or up to its end if length is
// negative. ctx ends the reader as well, which the caller closes. length is not 0.
func (b *Bucket) Read(
	ctx context.Context, key string, offset, length int64,
) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	switch {
	case length > 0:
		options.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		options.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	r, _, _, err := b.core.GetObject(ctx, b.name, key, options)
	if err != nil {
		return nil, answered(err)
	}
	return r, nil
}

// maxWhole is the size in bytes up to which an object is written by one request.
const maxWhole = 64 << 20

// abortTime is how long it may take to remove the parts of an upload that has failed, also if the
// user has interrupted it.
const abortTime = 5 * time.Second

// Write writes an object of size bytes, which appears when it is complete. If replace is not set,
// the server refuses it if the object exists, and the error is [ErrExists].
func (b *Bucket) Write(
	ctx context.Context, key string, data io.ReaderAt, size int64, replace bool,
) error {
	// The sums below are signed, so that nothing else has to protect the bytes.
	options := minio.PutObjectOptions{DisableContentSha256: true}
	if !replace {
		options.SetMatchETagExcept("*")
	}
	var err error
	if size <= maxWhole {
		err = b.writeWhole(ctx, key, io.NewSectionReader(data, 0, size), options)
	} else {
		err = b.writeParts(ctx, key, data, size, options)
	}
	err = answered(err)
	if a := (*Answer)(nil); errors.As(err, &a) && a.Status == http.StatusPreconditionFailed {
		return ErrExists
	}
	return err
}

func (b *Bucket) writeWhole(
	ctx context.Context, key string, data *io.SectionReader, options minio.PutObjectOptions,
) error {
	sumMD5, sumSHA256, err := sums(data)
	if err == nil {
		_, err = b.core.PutObject(ctx, b.name, key, data, data.Size(), sumMD5, sumSHA256, options)
	}
	return err
}

// writeParts writes an object by several requests. The client has a function for it, which does not
// send the condition with the last request, where the server looks at it.
func (b *Bucket) writeParts(
	ctx context.Context, key string, data io.ReaderAt, size int64, options minio.PutObjectOptions,
) (err error) {
	n, partSize, lastSize, err := minio.OptimalPartInfo(size, 0)
	if err != nil {
		return err
	}
	id, err := b.core.NewMultipartUpload(ctx, b.name, key, minio.PutObjectOptions{})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // the server would keep the parts, which cost money
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
			defer cancel()
			_ = b.core.AbortMultipartUpload(ctx, b.name, key, id)
		}
	}()
	parts := make([]minio.CompletePart, n)
	for i := range parts {
		bytes := partSize
		if i == n-1 {
			bytes = lastSize
		}
		part := io.NewSectionReader(data, int64(i)*partSize, bytes)
		sumMD5, sumSHA256, err := sums(part)
		if err != nil {
			return err
		}
		sent, err := b.core.PutObjectPart(ctx, b.name, key, id, i+1, part, bytes,
			minio.PutObjectPartOptions{
				Md5Base64: sumMD5, Sha256Hex: sumSHA256, DisableContentSha256: true,
			})
		if err != nil {
			return err
		}
		parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: sent.ETag}
	}
	_, err = b.core.CompleteMultipartUpload(ctx, b.name, key, id, parts, options)
	return err
}

// sums returns the checksums that a request has in its header. The reader is at its beginning
// again.
func sums(data *io.SectionReader) (sumMD5, sumSHA256 string, err error) {
	short, long := md5.New(), sha256.New() //nolint:gosec // see the import
	if _, err := io.Copy(io.MultiWriter(short, long), data); err != nil {
		return "", "", err
	}
	_, err = data.Seek(0, io.SeekStart)
	return base64.StdEncoding.EncodeToString(short.Sum(nil)), hex.EncodeToString(long.Sum(nil)), err
}

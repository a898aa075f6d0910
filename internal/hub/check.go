package hub

import (
	"context"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// check compares files of the cache with the hashes that their blobs are named by. A nil check
// accepts every file.
type check struct {
	ctx    context.Context
	report func(Progress)
	passed map[string]bool // by blob
}

// accepts returns whether the file at path, in a snapshot, has the bytes that its blob is named
// for. A file that is not a link to a blob, as other programs may leave it, passes, because there
// is no hash to compare it with.
func (k *check) accepts(path, file string) bool {
	if k == nil {
		return true
	}
	blob, err := os.Readlink(path)
	if err != nil {
		return true
	}
	passed, known := k.passed[blob]
	if !known {
		passed = k.hasHash(path, filepath.Base(blob), file)
		k.passed[blob] = passed
	}
	return passed
}

// hasHash returns whether the bytes of the file at path have the hash etag; file is its name in the
// repository. A file that cannot be read does not.
func (k *check) hasHash(path, etag, file string) bool {
	if k == nil || !hash.MatchString(etag) {
		return true
	}
	f, info, err := atomicfile.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := newSum(etag, info.Size())
	at := Progress{File: file, Size: info.Size(), Checking: true}
	for buf := make([]byte, 1<<20); ; {
		n, err := (&stoppable{k.ctx, f}).Read(buf)
		sum.Write(buf[:n])
		at.Done += int64(n)
		if k.report != nil && n > 0 {
			k.report(at)
		}
		if err != nil {
			return err == io.EOF && hex.EncodeToString(sum.Sum(nil)) == etag
		}
	}
}

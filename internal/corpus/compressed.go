package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
)

// gzipMagic are the bytes with which every file of gzip begins. No text in UTF-8 begins with them.
const gzipMagic = "\x1f\x8b"

// otherMagics are the beginnings of files that are compressed in ways that are not read. None of
// them is that of a text or of lines of JSON.
var otherMagics = []struct{ name, begin string }{
	{"zstd", "\x28\xb5\x2f\xfd"},
	{"xz", "\xfd7zXZ\x00"},
	{"zip", "PK\x03\x04"},
	{"lz4", "\x04\x22\x4d\x18"},
}

// uncompressedName returns the name of a file without the ending .gz.
func uncompressedName(name string) string {
	if strings.EqualFold(path.Ext(name), ".gz") {
		return name[:len(name)-len(".gz")]
	}
	return name
}

// lines returns the lines of a file, which are decompressed if the file begins as gzip does: a
// server may have decompressed a file whose name ends in .gz. No more than a buffer is in memory,
// however much comes out.
func (s *Source) lines(in *countedReader) (io.Reader, error) {
	b := bufio.NewReaderSize(in, lineBuffer)
	begin, err := b.Peek(len("\xfd7zXZ\x00"))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, other := range otherMagics {
		if bytes.HasPrefix(begin, []byte(other.begin)) {
			return nil, pkg.Errorf("the input %s in %s is compressed by %s, which is not "+
				"read; decompress it, or compress it by gzip", in.name, s.name, other.name)
		}
	}
	if !bytes.HasPrefix(begin, []byte(gzipMagic)) {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, s.damaged(in, err)
	}
	z.Multistream(false)
	return &inflater{z: z, packed: b, of: in, source: s}, nil
}

// inflater decompresses the parts of a file, one after another.
type inflater struct {
	z      *gzip.Reader
	packed *bufio.Reader // what z reads
	of     *countedReader
	source *Source
}

// Read reads.
func (i *inflater) Read(b []byte) (int, error) {
	for {
		n, err := i.z.Read(b)
		end := errors.Is(err, io.EOF)
		if end {
			end, err = i.next()
		}
		switch {
		case end:
			return n, io.EOF
		case err != nil:
			return n, i.source.damaged(i.of, err)
		case n > 0:
			return n, nil
		}
	}
}

// next begins the next part. end reports whether there is none. Zeros between and behind parts,
// with which some programs fill blocks of a tape, are no part, as for gzip itself.
func (i *inflater) next() (end bool, err error) {
	for {
		c, err := i.packed.ReadByte()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if c == 0 {
			continue
		}
		if err := i.packed.UnreadByte(); err != nil {
			return false, err
		}
		err = i.z.Reset(i.packed)
		i.z.Multistream(false)
		return false, err
	}
}

// damaged returns the error of a file that cannot be decompressed: that of the disk or the bucket,
// if there is one.
func (s *Source) damaged(in *countedReader, err error) error {
	if in.err != nil {
		return in.err
	}
	why := strings.TrimPrefix(err.Error(), "gzip: ")
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		why = "it ends too early"
	}
	return pkg.Errorf("the input %s in %s is damaged: what gzip compressed cannot be read "+
		"beyond byte %d (%s); repair or remove it", in.name, s.name, in.n, why)
}

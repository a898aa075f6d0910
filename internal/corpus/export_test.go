package corpus

import (
	"bytes"
	"context"
	"io"
)

// ReadLines reads the records of a text or of lines of JSON.
func ReadLines(in io.Reader, name, format string, each func(Record) error) error {
	read := jsonRecord
	if format == FormatText {
		read = textRecord
	}
	return readLines(context.Background(), in, name, read, each)
}

// ShardOf returns the shard of a record.
func ShardOf(r Record, n int) int { return r.shard(n) }

// Seal sets the hash of a manifest that a test has changed.
func Seal(m *Manifest) { m.Hash, _ = m.digest() }

// The limits that tests reach.
const (
	MaxLine       = maxLine
	MergeAtOnce   = mergeAtOnce
	WindowRecords = windowRecords
)

// ReadParquet reads a Parquet file in memory.
func ReadParquet(ctx context.Context, data []byte, name string, each func(Record) error) error {
	local := bytes.NewReader(data)
	file, err := openParquet(local, int64(len(data)))
	if err != nil {
		return err
	}
	return readRecords(ctx, file, name, each)
}

// ReadSource reads the records of an input.
func ReadSource(ctx context.Context, s *Source, each func(Record) error) error {
	for _, file := range s.files {
		if _, err := s.read(ctx, file, file.Name, each); err != nil {
			return err
		}
	}
	return nil
}

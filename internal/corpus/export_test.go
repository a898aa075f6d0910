package corpus

import (
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

// ReadSource reads the records of an input.
func ReadSource(ctx context.Context, s *Source, each func(Record) error) error {
	for _, file := range s.files {
		if _, err := s.read(ctx, file, file.Name, each); err != nil {
			return err
		}
	}
	return nil
}

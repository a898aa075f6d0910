package corpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// mergeAtOnce is how many files are merged together. More are merged in rounds, through temporary
// files.
const mergeAtOnce = 32

// Merge writes the rows of all shards as one Parquet file, in the order of the input: by file, then
// by record. It has 16 rows and a page of each column of 32 files in memory, however many shards
// there are. The file ends with the same hash of its rows as every other merge of this corpus. A
// shard that is not complete is an error.
func (c *Corpus) Merge(ctx context.Context, w io.Writer, onRow func(rows int64)) error {
	open, err := c.incomplete(ctx)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return c.needed(open)
	}
	var sources []mergeSource
	for shard := range c.Manifest.Shards {
		sources = append(sources, mergeSource{
			fmt.Sprintf("%s in %s", ShardName(shard), c.Place), howToRepair,
			func() (*localFile, error) { return c.local(ctx, shard) },
		})
	}
	for len(sources) > mergeAtOnce {
		var next []mergeSource
		for len(sources) > 0 {
			some := sources[:min(mergeAtOnce, len(sources))]
			sources = sources[len(some):]
			file, err := scratch()
			if err != nil {
				return err
			}
			defer file.Close()
			if err := c.mergeSome(ctx, file, some, nil); err != nil {
				return err
			}
			size, err := file.Seek(0, io.SeekEnd)
			if err != nil {
				return scratchFailed(err)
			}
			next = append(next, mergeSource{
				"a temporary file", "try again, with TMPDIR on another disk",
				func() (*localFile, error) { return &localFile{file, size}, nil },
			})
		}
		sources = next
	}
	return c.mergeSome(ctx, w, sources, onRow)
}

// maxNamed is how many shards an error names.
const maxNamed = 20

// needed returns the error of a merge without some shards.
func (c *Corpus) needed(open []int) error {
	named := NumberRanges(open[:min(len(open), maxNamed)])
	if more := len(open) - maxNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return pkg.Errorf("%d of %d shards are missing or damaged: %s; headwater corpus "+
		"missing %s prints which tasks to submit again, and headwater corpus run makes the shards",
		len(open), len(c.Manifest.Shards), named, c.Place)
}

// mergeSource is a file to merge, its name in errors, and what to do if it is damaged.
type mergeSource struct {
	name, repair string
	open         func() (*localFile, error)
}

// mergeSome merges files that are each in the order of the input.
func (c *Corpus) mergeSome(
	ctx context.Context, w io.Writer, sources []mergeSource, onRow func(int64),
) error {
	order := map[string]int{}
	for i, f := range c.Manifest.Input.Files {
		order[f.Name] = i
	}
	var all []*merged
	defer func() {
		for _, one := range all {
			one.close()
		}
	}()
	for _, source := range sources {
		file, err := source.open()
		if err != nil {
			return err
		}
		one := &merged{source: source, file: file, order: order}
		all = append(all, one)
		if err := one.open(c); err != nil {
			return err
		}
	}
	remembered := &writeError{w: w}
	out := newRowWriter(remembered, c.Manifest, "")
	for rows := int64(1); ; rows++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := slices.MinFunc(all, earlier)
		if first.end {
			break
		}
		if err := out.write(first.row); err != nil {
			return remembered.failed(err)
		}
		if onRow != nil {
			onRow(rows)
		}
		if err := first.next(); err != nil {
			return err
		}
	}
	if err := out.close(); err != nil {
		return remembered.failed(err)
	}
	return nil
}

// writeError remembers the error of a writer, which Parquet's writer puts into words of its own.
type writeError struct {
	w   io.Writer
	err error
}

// Write writes.
func (k *writeError) Write(b []byte) (int, error) {
	n, err := k.w.Write(b)
	if err != nil {
		k.err = err
	}
	return n, err
}

// failed returns the error of a merged file that cannot be written.
func (k *writeError) failed(err error) error {
	return &RetryError{pkg.Errorf("the merged file cannot be written: %w",
		atomicfile.Cause(cmp.Or(k.err, err)))}
}

// merged is a file that is merged, and its next row.
type merged struct {
	source mergeSource
	file   *localFile
	order  map[string]int // of the input files
	rows   *rowReader

	row    parquet.Row
	input  int
	record int64
	end    bool
}

// open reads the first row.
func (m *merged) open(c *Corpus) error {
	return m.guarded(func() error {
		f, err := c.parquet(m.file)
		if err != nil {
			return err
		}
		m.rows = newRows(f)
		return m.advance()
	})
}

// next reads the next row.
func (m *merged) next() error { return m.guarded(m.advance) }

func (m *merged) guarded(read func() error) error {
	if err := recovered(read); err != nil {
		return pkg.Errorf("%s %w; %s", m.source.name, err, m.source.repair)
	}
	return nil
}

func (m *merged) advance() error {
	row, err := m.rows.next()
	if errors.Is(err, io.EOF) {
		m.end = true
		return m.rows.check()
	}
	if err != nil {
		return err
	}
	place := placeOf(row)
	m.row, m.input, m.record = row, m.order[place.file], place.record
	return nil
}

func (m *merged) close() {
	if m.rows != nil {
		m.rows.close()
	}
	m.file.Close()
}

// earlier compares files by their next row; those without one come last.
func earlier(a, b *merged) int {
	switch {
	case a.end:
		return 1
	case b.end:
		return -1
	}
	return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.record, b.record))
}

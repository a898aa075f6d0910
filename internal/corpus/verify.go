package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Verdict is what [Corpus.Verify] found.
type Verdict struct {
	// Shards and Records count what was read, and Errors the rows without scores.
	Shards  int   `json:"shards"`
	Records int64 `json:"records"`
	Errors  int64 `json:"errors"`
	// Problems are shards that are not as the manifest says, one sentence each.
	Problems []string `json:"problems"`
	// SHA256 is the hash of the bytes of all shards in their order, hexadecimal; "" if there are
	// problems. Two corpora with the same hash have the same bytes.
	SHA256 string `json:"sha256"`
}

// Verify reads every shard and compares its rows with the manifest: how many they are, their ids,
// the hash in the footer and the columns. It has one page of each column in memory. The error is
// that of a disk, a bucket or ctx; what is wrong with a shard is in the verdict.
func (c *Corpus) Verify(ctx context.Context, onShard func(done int)) (*Verdict, error) {
	v, all := &Verdict{Problems: []string{}}, sha256.New()
	for shard := range c.Manifest.Shards {
		if onShard != nil {
			onShard(shard)
		}
		state, why, err := c.state(ctx, shard)
		if err != nil {
			return nil, err
		}
		if state != Complete {
			v.problem(shard, why)
			continue
		}
		local, err := c.local(ctx, shard)
		if err != nil {
			return nil, err
		}
		wrong, err := c.verifyShard(ctx, shard, local, v)
		if err == nil && wrong == "" {
			_, err = io.Copy(all, io.NewSectionReader(local, 0, local.size))
		}
		local.Close()
		if err != nil {
			return nil, err
		}
		if wrong != "" {
			v.problem(shard, wrong)
		}
		v.Shards++
	}
	if len(v.Problems) == 0 {
		v.SHA256 = hex.EncodeToString(all.Sum(nil))
		whole := map[int]bool{}
		for shard := range c.Manifest.Shards {
			whole[shard] = true
		}
		c.sweep(whole)
	}
	return v, nil
}

func (v *Verdict) problem(shard int, why string) {
	v.Problems = append(v.Problems, fmt.Sprintf("%s: %s", ShardName(shard), why))
}

// verifyShard compares the rows of a shard with the manifest and counts them.
func (c *Corpus) verifyShard(
	ctx context.Context, shard int, local *localFile, v *Verdict,
) (wrong string, err error) {
	ids, count := sha256.New(), int64(0)
	var rows *rowReader
	err = recovered(func() error {
		f, err := c.parquet(local)
		if err != nil {
			return err
		}
		rows = newRows(f)
		return rows.each(ctx, func(row parquet.Row) error {
			place := placeOf(row)
			addID(ids, place.file, place.record, place.id)
			if !row[errorColumn].IsNull() {
				v.Errors++
			}
			count++
			return nil
		})
	})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "it " + err.Error(), nil
	}
	v.Records += count
	want := c.Manifest.Shards[shard]
	switch sum := hex.EncodeToString(ids.Sum(nil)); {
	case count != want.Records:
		return fmt.Sprintf("it has %d rows, the manifest %d", count, want.Records), nil
	case sum != want.IDs:
		return "its ids are not those of the manifest", nil
	}
	if err := rows.check(); err != nil {
		return "it " + err.Error(), nil
	}
	return "", nil
}

// howToRepair is what to do about a shard that is damaged within.
const howToRepair = "remove that file, and headwater corpus run makes it again"

// The first columns, which are one value each in every row.
const (
	idColumn = iota
	fileColumn
	recordColumn
	errorColumn
)

// rowPlace is the record that a row belongs to.
type rowPlace struct {
	id, file string
	record   int64
}

// placeOf returns which record a row belongs to.
func placeOf(row parquet.Row) rowPlace {
	return rowPlace{
		string(row[idColumn].ByteArray()), string(row[fileColumn].ByteArray()),
		row[recordColumn].Int64(),
	}
}

// rowsAtOnce is how many rows are read together.
const rowsAtOnce = 16

// rowReader reads the rows of a file one by one and hashes them.
type rowReader struct {
	file   *parquet.File
	hash   *rowHash // of the rows that next returned
	groups []parquet.RowGroup
	rows   parquet.Rows
	buffer []parquet.Row
	have   []parquet.Row
}

func newRows(f *parquet.File) *rowReader {
	return &rowReader{
		file: f, hash: newRowHash(), groups: f.RowGroups(),
		buffer: make([]parquet.Row, rowsAtOnce),
	}
}

// each calls do with every row and closes the rows. A row is valid until do returns.
func (r *rowReader) each(ctx context.Context, do func(parquet.Row) error) error {
	defer r.close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(row); err != nil {
			return err
		}
	}
}

// next returns the next row, which is valid until the call after rowsAtOnce others.
func (r *rowReader) next() (parquet.Row, error) {
	for len(r.have) == 0 {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		n, err := r.rows.ReadRows(r.buffer)
		r.have = r.buffer[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, damaged(err)
		}
		if n == 0 {
			r.close()
		}
	}
	row := r.have[0]
	r.have = r.have[1:]
	r.hash.add(row)
	return row, nil
}

// check compares the hash of all rows, once they were read, with the one in the footer. Pages have
// checksums of their own, but not their headers.
func (r *rowReader) check() error {
	sum := r.hash.sum()
	if inFooter, _ := r.file.Lookup(RowsKey); sum != inFooter {
		return &damageError{fmt.Sprintf("has rows with the hash %.12s…, and its footer says "+
			"%.12q…", sum, inFooter)}
	}
	return nil
}

func (r *rowReader) close() {
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
}

// local returns a shard as a file of this machine; one of a bucket is copied.
func (c *Corpus) local(ctx context.Context, shard int) (*localFile, error) {
	name := ShardName(shard)
	if c.Place.bucket == nil {
		file, size, err := c.Place.openAt(ctx, name)
		if err != nil {
			return nil, err
		}
		return &localFile{file, size}, nil
	}
	in, err := c.Place.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return localCopy(&countedReader{ctx: ctx, r: in, place: c.Place, name: name})
}

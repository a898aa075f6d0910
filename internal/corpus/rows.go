package corpus

import (
	"context"

	"github.com/parquet-go/parquet-go"
)

// Rows calls each with every record of a shard and what is known of it, in the order of the input.
// A record has File, Number and ID, and the Err of its row; what it said is Text in the result.
// Rows has one page of each column in memory.
func (c *Corpus) Rows(ctx context.Context, shard int, each func(Record, Result) error) error {
	local, err := c.local(ctx, shard)
	if err != nil {
		return err
	}
	defer local.Close()
	wrong := error(nil) // of each, which is no damage of the shard
	err = recovered(func() error {
		f, err := c.parquet(local)
		if err != nil {
			return err
		}
		rows := newRows(f)
		err = rows.each(ctx, func(row parquet.Row) error {
			wrong = each(c.values(row))
			return wrong
		})
		if err != nil {
			return err
		}
		return rows.check()
	})
	if wrong != nil || ctx.Err() != nil || err == nil {
		return err
	}
	return pkg.Errorf("%s in %s %w; %s", ShardName(shard), c.Place, err, howToRepair)
}

// values returns what a row says; see [Result.lists] for the order of the columns.
func (c *Corpus) values(row parquet.Row) (Record, Result) {
	place := placeOf(row)
	record := Record{ID: place.id, File: place.file, Number: place.record}
	if v := row[errorColumn]; !v.IsNull() {
		record.Err = string(v.ByteArray())
	}
	r := rowParts{row: row[errorColumn+1:]}
	result := Result{Err: record.Err, Text: string(r.next()[0].ByteArray())}
	result.Methods = make([]Scores, len(c.Manifest.Methods))
	for _, list := range result.lists() {
		values := r.next()
		switch list := list.(type) {
		case *[]int32:
			*list = listOf(values, parquet.Value.Int32)
		case *[]float32:
			*list = listOf(values, parquet.Value.Float)
		case *[]float64:
			*list = listOf(values, parquet.Value.Double)
		case *[]string:
			*list = listOf(values, func(v parquet.Value) string { return string(v.ByteArray()) })
		}
	}
	return record, result
}

// rowParts takes a row apart by its columns.
type rowParts struct{ row []parquet.Value }

// next returns the values of the next column: one, or those of a list.
func (r *rowParts) next() []parquet.Value {
	n := 1
	for n < len(r.row) && r.row[n].Column() == r.row[0].Column() {
		n++
	}
	values := r.row[:n]
	r.row = r.row[n:]
	return values
}

// listOf returns a list; an empty one is a single null.
func listOf[T any](values []parquet.Value, read func(parquet.Value) T) []T {
	if values[0].IsNull() {
		return nil
	}
	list := make([]T, len(values))
	for i, v := range values {
		list[i] = read(v)
	}
	return list
}

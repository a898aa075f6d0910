package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// shardsFolder is the folder of the shards in the place of a corpus.
const shardsFolder = "shards"

// ShardName returns the name of a shard in the place of a corpus: "shards/00017.parquet".
func ShardName(shard int) string { return fmt.Sprintf("%s/%05d.parquet", shardsFolder, shard) }

// The keys in the footer of a shard: the hash of its manifest, that of its rows, and its number,
// which a merged file does not have.
const (
	ManifestKey = "headwater.manifest"
	RowsKey     = "headwater.rows"
	ShardKey    = "headwater.shard"
)

// groupBytes is about how many bytes of rows, before compression, are written as one row group. A
// row group is in memory until it is written.
const groupBytes = 8 << 20

// rowWriter writes the rows of a shard or of a merged file.
type rowWriter struct {
	out     *parquet.GenericWriter[any]
	methods int // how many
	rows    *rowHash
	buffer  parquet.Row
	size    int // bytes of the rows since the last row group
}

// newRowWriter begins a file. shard is its number as text, "" for a merged file.
func newRowWriter(w io.Writer, m *Manifest, shard string) *rowWriter {
	out := parquet.NewGenericWriter[any](w, schemaOf(m.MethodNames()),
		parquet.CreatedBy("headwater", "", ""), parquet.Compression(&parquet.Zstd),
		parquet.KeyValueMetadata(ManifestKey, m.Hash))
	if shard != "" {
		out.SetKeyValueMetadata(ShardKey, shard)
	}
	return &rowWriter{out: out, methods: len(m.Methods), rows: newRowHash()}
}

// add writes the row of a record and its result.
func (w *rowWriter) add(r *Record, result *Result) error {
	w.buffer = w.row(w.buffer[:0], r, result)
	return w.write(w.buffer)
}

// write writes a row as it was read from another file.
func (w *rowWriter) write(row parquet.Row) error {
	if _, err := w.out.WriteRows([]parquet.Row{row}); err != nil {
		return err
	}
	w.size += w.rows.add(row)
	if w.size < groupBytes {
		return nil
	}
	w.size = 0
	return w.out.Flush()
}

// close writes the end of the file.
func (w *rowWriter) close() error {
	w.out.SetKeyValueMetadata(RowsKey, w.rows.sum())
	return w.out.Close()
}

// row appends the values of a row, column after column.
func (w *rowWriter) row(row parquet.Row, r *Record, result *Result) parquet.Row {
	problem := r.Err
	if problem == "" {
		problem = result.Err
	}
	if problem != "" {
		result = &Result{}
	}
	errorValue := parquet.NullValue()
	if problem != "" {
		errorValue = parquet.ValueOf(valid(problem))
	}
	b := rowBuilder{row: row}
	b.one(parquet.ValueOf(r.ID))
	b.one(parquet.ValueOf(r.File))
	b.one(parquet.ValueOf(r.Number))
	b.optional(errorValue)
	b.one(parquet.ValueOf(valid(result.Text)))
	whole := *result // a row with an error has empty lists for every method
	whole.Methods = make([]Scores, w.methods)
	copy(whole.Methods, result.Methods)
	for _, list := range whole.lists() {
		switch list := list.(type) {
		case *[]int32:
			addList(&b, *list)
		case *[]float32:
			addList(&b, *list)
		case *[]float64:
			addList(&b, *list)
		case *[]string:
			texts := make([]string, len(*list))
			for i, text := range *list {
				texts[i] = valid(text)
			}
			addList(&b, texts)
		}
	}
	return b.row
}

// valid returns text that is UTF-8: a token may be a part of a character.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// rowBuilder makes a row. column is the next column.
type rowBuilder struct {
	row    parquet.Row
	column int
}

// one adds a value that is always there.
func (b *rowBuilder) one(v parquet.Value) {
	b.row = append(b.row, v.Level(0, 0, b.column))
	b.column++
}

// optional adds a value or null.
func (b *rowBuilder) optional(v parquet.Value) {
	level := 1
	if v.IsNull() {
		level = 0
	}
	b.row = append(b.row, v.Level(0, level, b.column))
	b.column++
}

// addList adds a list. Each value has the definition level 1, and all but the first the repetition
// level 1; an empty list is one null of level 0.
func addList[T int32 | float32 | float64 | string](b *rowBuilder, values []T) {
	if len(values) == 0 {
		b.row = append(b.row, parquet.NullValue().Level(0, 0, b.column))
	}
	for i, v := range values {
		b.row = append(b.row, parquet.ValueOf(v).Level(min(i, 1), 1, b.column))
	}
	b.column++
}

// rowHash is the SHA-256 of rows: for each value its column, levels and bytes.
type rowHash struct {
	h      hash.Hash
	buffer []byte
}

func newRowHash() *rowHash { return &rowHash{h: sha256.New()} }

// add adds a row and returns how many bytes were hashed.
func (r *rowHash) add(row parquet.Row) int {
	b := r.buffer[:0]
	for _, v := range row {
		b = binary.LittleEndian.AppendUint16(b, uint16(v.Column())) //nolint:gosec // few columns
		b = append(b, byte(v.RepetitionLevel()), byte(v.DefinitionLevel()))
		switch {
		case v.IsNull():
			b = append(b, 0)
		case v.Kind() == parquet.ByteArray:
			b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(len(v.ByteArray())))
			b = append(b, v.ByteArray()...)
		case v.Kind() == parquet.Float:
			b = binary.LittleEndian.AppendUint32(append(b, 2), math.Float32bits(v.Float()))
		case v.Kind() == parquet.Double:
			b = binary.LittleEndian.AppendUint64(append(b, 3), math.Float64bits(v.Double()))
		case v.Kind() == parquet.Int32:
			b = binary.LittleEndian.AppendUint32(append(b, 4), v.Uint32())
		default:
			b = binary.LittleEndian.AppendUint64(append(b, 5), v.Uint64())
		}
	}
	r.h.Write(b)
	r.buffer = b
	return len(b)
}

func (r *rowHash) sum() string { return hex.EncodeToString(r.h.Sum(nil)) }

// State is the state of a shard in the place of a corpus.
type State int

// The states of a shard. A damaged one is made again; a foreign one belongs to another manifest.
const (
	Missing State = iota
	Complete
	Damaged
	Foreign
)

// leastParquet is the size of a Parquet file without rows and columns: "PAR1" at its beginning and
// end, and the size of the footer.
const leastParquet = 12

// state returns what a shard is, by its footer alone, and what is wrong with it.
func (c *Corpus) state(ctx context.Context, shard int) (State, string, error) {
	file, size, err := c.Place.openAt(ctx, ShardName(shard))
	if errors.Is(err, fs.ErrNotExist) {
		return Missing, "it is missing", nil
	}
	if err != nil {
		return Missing, "", err
	}
	defer file.Close()
	if size < leastParquet {
		return Damaged, fmt.Sprintf("it is no whole Parquet file (%d bytes)", size), nil
	}
	state, why := Damaged, ""
	failed := &failingReader{r: file}
	err = recovered(func() error {
		f, err := openParquet(failed, size)
		if err != nil {
			return err
		}
		state, why = c.judge(shard, f)
		return nil
	})
	if failed.err != nil {
		return Missing, "", failed.err
	}
	if err != nil {
		return Damaged, "it " + err.Error(), ctx.Err()
	}
	return state, why, nil
}

// judge compares the footer of a shard with the manifest.
func (c *Corpus) judge(shard int, f *parquet.File) (State, string) {
	if hash, _ := f.Lookup(ManifestKey); hash != c.Manifest.Hash {
		return Foreign, fmt.Sprintf("it belongs to another manifest (%.12q…, not %.12s…)", hash,
			c.Manifest.Hash)
	}
	if number, _ := f.Lookup(ShardKey); number != strconv.Itoa(shard) {
		return Damaged, fmt.Sprintf("it is shard %.20q by its footer; it was renamed", number)
	}
	if rows, want := f.NumRows(), c.Manifest.Shards[shard].Records; rows != want {
		return Damaged, fmt.Sprintf("it has %d rows, the manifest %d", rows, want)
	}
	return Complete, ""
}

// failingReader keeps the first error of a read that is not the end of the file: the Parquet reader
// does not tell a file that is cut from a bucket that does not answer.
type failingReader struct {
	r   io.ReaderAt
	err error
}

// ReadAt reads.
func (f *failingReader) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.r.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) && f.err == nil {
		if offset >= 0 {
			f.err = err
		}
	}
	return n, err
}

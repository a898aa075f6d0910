package corpus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/message"
)

// readParquet calls each with every row of a Parquet file. The file is copied into a temporary one
// first: Parquet is read from its end, and the hash is of the bytes that were read.
func (s *Source) readParquet(
	ctx context.Context, in *countedReader, of InputFile, each func(Record) error,
) error {
	local, err := localCopy(in)
	if err != nil {
		return err
	}
	defer local.Close()
	if err := tryParquet(ctx, local.randomFile.(*scratchFile).File); err != nil {
		return pkg.Errorf("the input %s in %s %w", in.name, s.name, err)
	}
	err = recovered(func() error {
		begin := make([]byte, len(gzipMagic))
		if _, err := local.ReadAt(begin, 0); err == nil && string(begin) == gzipMagic {
			return &damageError{"is compressed by gzip as a whole, which is read of lines only; " +
				"decompress it (Parquet compresses its pages itself)"}
		}
		file, err := openParquet(local, local.size)
		if err != nil {
			return err
		}
		return readRecords(ctx, file, of.Name, each)
	})
	if damage := (*damageError)(nil); errors.As(err, &damage) {
		return pkg.Errorf("the input %s in %s %w; repair or remove it", in.name, s.name, err)
	}
	return err
}

// openParquet opens a file without its indexes, which nothing here needs.
func openParquet(r io.ReaderAt, size int64) (*parquet.File, error) {
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true))
	if err != nil {
		why := "its end, which tells what it has, cannot be read" // and not the reader's chain
		if file := (*fs.PathError)(nil); errors.As(err, &file) {
			why = file.Err.Error()
		}
		return nil, &damageError{"is no whole Parquet file (" + why + ")"}
	}
	return f, nil
}

// parquet opens a shard, and compares its columns with those that the manifest says.
func (c *Corpus) parquet(shard *localFile) (*parquet.File, error) {
	f, err := openParquet(shard, shard.size)
	if err != nil {
		return nil, err
	}
	if !parquet.EqualNodes(f.Schema(), schemaOf(c.Manifest.MethodNames())) {
		return nil, &damageError{"has other columns than the manifest says"}
	}
	return f, nil
}

// damageError is a fault of a Parquet file: "is no whole Parquet file".
type damageError struct{ what string }

func (e *damageError) Error() string { return e.what }

// recovered turns a panic of the Parquet reader, which some damaged files cause, into an error.
func recovered(read func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error: // its text is about the reader's code
			err = &damageError{"is damaged (its sizes contradict one another)"}
		default:
			err = &damageError{fmt.Sprintf("is damaged (%v)", r)}
		}
	}()
	return read()
}

// damaged returns the error of a file in which something cannot be read.
func damaged(err error) error {
	return &damageError{fmt.Sprintf("is damaged (%v)", atomicfile.Cause(err))}
}

// readRecords reads the rows of an open file.
func readRecords(
	ctx context.Context, file *parquet.File, name string, each func(Record) error,
) error {
	at := map[string]parquet.LeafColumn{}
	lists := map[string][]parquet.LeafColumn{}
	for _, column := range inputColumns {
		if countOf(file.Root(), column) > 1 {
			return &damageError{fmt.Sprintf("has two columns %q; rename or remove one", column)}
		}
		leaf, ok := file.Schema().Lookup(column)
		if lists[column] = messageLeaves(file.Schema(), column); lists[column] != nil {
			continue
		}
		if !ok {
			if countOf(file.Root(), column) > 0 {
				return &damageError{fmt.Sprintf("has a column %q that is a list or a group; want "+
					"a column of strings", column)}
			}
			continue
		}
		if logicalType(leaf.Node) == "NULL" {
			continue // it has no values
		}
		if wrong := wrongType(column, leaf.Node); wrong != "" {
			return &damageError{fmt.Sprintf("has a column %q of type %v; want %s", column,
				leaf.Node.Type(), wrong)}
		}
		at[column] = leaf
	}
	if _, ok := at["id"]; !ok {
		if countOf(file.Root(), "id") > 0 {
			return &damageError{`has a column "id" without values; give each row a different one`}
		}
		return &damageError{`has no column "id"; add one with a different value in each row`}
	}
	known := func(column string) bool {
		_, ok := at[column]
		return ok || lists[column] != nil
	}
	if !slices.ContainsFunc(slices.Concat(promptKeys, messageKeys), known) {
		var names []string
		for _, f := range file.Schema().Fields() {
			names = append(names, message.Quote(f.Name()))
		}
		return &damageError{fmt.Sprintf("has no column of texts: %s; rename one of its columns, %s",
			message.List(slices.Concat(promptKeys, messageKeys)),
			message.List(names[:min(len(names), mostNamed)]))}
	}
	number := int64(0)
	for _, group := range file.RowGroups() {
		if err := readGroup(ctx, group, at, lists, name, &number, each); err != nil {
			return err
		}
	}
	return nil
}

// messageLeaves returns the texts of the messages of a column, a list of groups, nil if it is not
// one.
func messageLeaves(schema *parquet.Schema, column string) (leaves []parquet.LeafColumn) {
	for _, path := range schema.Columns() {
		leaf, ok := schema.Lookup(path...)
		if !ok || path[0] != column || !slices.Contains(messageKeys, column) {
			continue
		}
		if leaf.MaxRepetitionLevel != 1 || len(path) > 4 { // tool calls, say
			return nil
		}
		if wrongType("", leaf.Node) == "" {
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

// countOf returns how many columns of the top level have a name.
func countOf(root *parquet.Column, name string) (n int) {
	for _, c := range root.Columns() {
		if c.Name() == name {
			n++
		}
	}
	return n
}

// logicalType returns what the values of a column mean, "" if the file does not say it.
func logicalType(node parquet.Node) string {
	if l := node.Type().LogicalType(); l != nil {
		return l.String()
	}
	return ""
}

// isUnsigned is whether the whole numbers of a column have no sign.
func isUnsigned(node parquet.Node) bool {
	logical := logicalType(node)
	return strings.HasPrefix(logical, "INT(") && strings.HasSuffix(logical, ",false)")
}

// wrongType returns which type a column should have, "" if it has it.
func wrongType(column string, node parquet.Node) string {
	if node.Repeated() {
		return "one value a row"
	}
	kind, logical := node.Type().Kind(), logicalType(node)
	isText := kind == parquet.ByteArray && (logical == "" || logical == "STRING")
	isNumber := (kind == parquet.Int32 || kind == parquet.Int64) && (logical == "" ||
		strings.HasPrefix(logical, "INT(")) || kind == parquet.Float || kind == parquet.Double
	switch {
	case isText || column == "id" && isNumber:
		return ""
	case column == "id":
		return "strings or whole numbers; convert the column"
	}
	return "strings; convert the column"
}

// readGroup reads the rows of one row group, column by column in step.
func readGroup(
	ctx context.Context, group parquet.RowGroup, at map[string]parquet.LeafColumn,
	lists map[string][]parquet.LeafColumn, name string, number *int64, each func(Record) error,
) error {
	g := openGroup(group, at, lists)
	defer g.close()
	for range group.NumRows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		*number++
		r := Record{File: name, Number: *number}
		row, wrong, err := g.row(ctx, &r)
		if err != nil {
			return err
		}
		if len(r.ID) > MaxID {
			wrong = errTooLong(&r)
		}
		if wrong == nil && r.ID == "" {
			wrong = errors.New("there is no id; give each record one")
		}
		if wrong == nil {
			wrong = r.SetTexts(row)
		}
		if wrong != nil {
			r.Err = wrong.Error()
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// groupReader reads the rows of a row group: columns of one value a row, and of messages.
type groupReader struct {
	columns  map[string]*cells
	messages map[string][]*cells
}

func openGroup(
	group parquet.RowGroup, at map[string]parquet.LeafColumn,
	lists map[string][]parquet.LeafColumn,
) *groupReader {
	g := &groupReader{map[string]*cells{}, map[string][]*cells{}}
	for column, leaves := range lists {
		for _, leaf := range leaves {
			g.messages[column] = append(g.messages[column], &cells{
				pages: group.ColumnChunks()[leaf.ColumnIndex].Pages(), leaf: leaf,
			})
		}
	}
	for column, leaf := range at {
		g.columns[column] = &cells{
			pages: group.ColumnChunks()[leaf.ColumnIndex].Pages(), unsigned: isUnsigned(leaf.Node),
		}
	}
	return g
}

func (g *groupReader) close() {
	for _, c := range slices.Concat(slices.Collect(maps.Values(g.columns)),
		slices.Concat(slices.Collect(maps.Values(g.messages))...)) {
		c.close()
	}
}

// row reads the next row: its texts by column, and the id, which it sets. wrong is what is wrong
// with this row alone.
func (g *groupReader) row(
	ctx context.Context, r *Record,
) (row map[string]json.RawMessage, wrong, err error) {
	row = map[string]json.RawMessage{}
	broken := func(column string, err error) error {
		if ctx.Err() != nil {
			return err
		}
		return &damageError{fmt.Sprintf("is damaged at row %d, column %q (%v)", r.Number, column,
			err)}
	}
	for _, column := range inputColumns {
		if leaves := g.messages[column]; leaves != nil {
			text, bad, err := listOfMessages(ctx, leaves)
			if wrong == nil && bad != nil {
				wrong = fmt.Errorf("the column %q %w", column, bad)
			}
			if err != nil {
				return nil, nil, broken(column, err)
			}
			row[column] = text
		}
		c := g.columns[column]
		if c == nil {
			continue
		}
		v, err := c.next()
		if err != nil {
			return nil, nil, broken(column, err)
		}
		text, err := c.text(v)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("the column %q %w", column, err)
		}
		if column == "id" {
			r.ID = text
		} else if row[column], err = json.Marshal(text); err != nil {
			return nil, nil, err
		}
		if text == "" {
			row[column] = nil
		}
	}
	return row, wrong, nil
}

// text returns a value as text, "" for null.
func (c *cells) text(v parquet.Value) (string, error) {
	switch {
	case v.IsNull():
		return "", nil
	case v.Kind() == parquet.Int32 && c.unsigned:
		return strconv.FormatUint(uint64(v.Uint32()), 10), nil
	case v.Kind() == parquet.Int64 && c.unsigned:
		return strconv.FormatUint(v.Uint64(), 10), nil
	case v.Kind() == parquet.Int32:
		return strconv.Itoa(int(v.Int32())), nil
	case v.Kind() == parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), nil
	case v.Kind() == parquet.Float:
		return wholeText(float64(v.Float()))
	case v.Kind() == parquet.Double:
		return wholeText(v.Double())
	case len(v.ByteArray()) > maxLine:
		return "", fmt.Errorf("has %d bytes; at most %d (%d MiB) are read; split the text",
			len(v.ByteArray()), maxLine, maxLine>>20)
	case !utf8.Valid(v.ByteArray()):
		return "", errors.New("is not valid UTF-8; convert it")
	}
	return string(v.ByteArray()), nil // a copy: the page is read into the same memory again
}

// wholeText returns a whole number without a point.
func wholeText(x float64) (string, error) {
	n, ok := message.WholeNumber(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		return "", fmt.Errorf("has %v; want strings or whole numbers", x)
	}
	return strconv.FormatInt(n, 10), nil
}

// cells reads the values of a column that has one in each row.
type cells struct {
	pages    parquet.Pages
	page     parquet.Page
	values   parquet.ValueReader
	buffer   [64]parquet.Value
	have     []parquet.Value
	unsigned bool               // whole numbers have no sign
	leaf     parquet.LeafColumn // of a list, whose rows have several values
}

// mostMessages is how many messages of a row are read.
const mostMessages = 10_000

// listOfMessages reads the messages of a row, as JSON, from the columns of their texts. wrong is
// what is wrong with the row alone.
func listOfMessages(
	ctx context.Context, columns []*cells,
) (list json.RawMessage, wrong, err error) {
	var all []string // the keys of each message, with commas before them
	size := 0
	for _, c := range columns {
		for i := 0; ; i++ {
			if i > 0 {
				if more, err := c.more(); err != nil {
					return nil, nil, err
				} else if !more {
					break
				}
			}
			v, err := c.next()
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, nil, err
			}
			if v.DefinitionLevel() < c.leaf.MaxDefinitionLevel {
				continue
			}
			text, err := c.text(v)
			if size += len(text); i >= mostMessages || size > maxLine {
				err = fmt.Errorf("has more than %d messages or %d bytes", mostMessages, maxLine)
			}
			if wrong = cmp.Or(wrong, err); wrong != nil {
				continue // to the next row
			}
			for len(all) <= i {
				all = append(all, "")
			}
			key, _ := json.Marshal(c.leaf.Path[len(c.leaf.Path)-1]) // strings are JSON
			value, _ := json.Marshal(text)
			all[i] += "," + string(key) + ":" + string(value)
		}
	}
	for i, keys := range all {
		all[i] = "{" + strings.TrimPrefix(keys, ",") + "}"
	}
	return json.RawMessage("[" + strings.Join(all, ",") + "]"), wrong, nil
}

// more reports whether the next value is of the same row. The error is one of reading it.
func (c *cells) more() (bool, error) {
	v, err := c.next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.have = append([]parquet.Value{v}, c.have...)
	return v.RepetitionLevel() > 0, nil
}

// next returns the next value, which is valid until the next call.
func (c *cells) next() (parquet.Value, error) {
	for len(c.have) == 0 {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return parquet.Value{}, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buffer[:])
		c.have = c.buffer[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return parquet.Value{}, err
		}
		if n == 0 {
			parquet.Release(c.page)
			c.page, c.values = nil, nil
		}
	}
	v := c.have[0]
	c.have = c.have[1:]
	return v, nil
}

func (c *cells) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.pages.Close()
}

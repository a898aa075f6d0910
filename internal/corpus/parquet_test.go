package corpus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
)

// A column of messages is a list of groups with texts, as data sets have it, or JSON.
func TestParquetMessages(t *testing.T) {
	type turn struct {
		Role    string  `parquet:"role"`
		Content *string `parquet:"content,optional"`
		Weight  int     `parquet:"weight"`
	}
	type row struct {
		ID       string `parquet:"id"`
		Messages []turn `parquet:"messages,list"`
	}
	q, bad, long := "q", "\xff", strings.Repeat("x", 100)
	var rows []row
	var want []corpus.Record
	for i := range 50 { // several pages
		id := strconv.Itoa(i)
		rows = append(rows, row{id, []turn{{"user", &q, 1}, {"assistant", &long, 0}}},
			row{id + "b", []turn{{"user", &q, 1}}}, row{id + "e", []turn{{"user", &bad, 1}, {"user", &q, 1}}},
			row{id + "c", nil}, row{id + "d", []turn{{"user", nil, 1}}})
		want = append(want, corpus.Record{ID: id, Messages: question, Continuation: long},
			corpus.Record{ID: id + "b", Messages: question},
			corpus.Record{
				ID: id + "e", Err: `the column "messages" is not valid UTF-8; convert it`,
			},
			corpus.Record{ID: id + "c", Err: `the key "messages" has no messages`},
			corpus.Record{ID: id + "d", Messages: []trace.Message{{Role: "user", Object: []byte(`{"role":"user"}`)}}})
	}
	type other struct {
		ID            string `parquet:"id"`
		Conversations string `parquet:"conversations"`
	}
	for name, c := range map[string]struct {
		path string
		want []corpus.Record
	}{
		"list": {writeParquet(t, rows), want},
		"JSON": {
			writeParquet(t, []other{{"a", `[{"from":"human","value":"q"},{"from":"gpt","value":"b"}]`}}),
			[]corpus.Record{{ID: "a", Messages: question, Continuation: "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(c.path)
			must(t, err)
			for i := range c.want {
				c.want[i].File, c.want[i].Number = "f", int64(i+1)
			}
			var got []corpus.Record
			err = corpus.ReadParquet(t.Context(), data, "f", func(r corpus.Record) error {
				got = append(got, r)
				return nil
			})
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// writeParquet writes rows as a Parquet file and returns its path.
func writeParquet[T any](t *testing.T, rows []T) string {
	t.Helper()
	return writeParquetPages(t, 64, rows)
}

// writeParquetPages writes pages of so many bytes.
func writeParquetPages[T any](t *testing.T, bytesOfPage int, rows []T) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.PageBufferSize(bytesOfPage))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	path := filepath.Join(t.TempDir(), "in.parquet")
	write(t, path, b.String())
	return path
}

type numberedRow struct {
	Label []string `parquet:"label"`
	Text  *string  `parquet:"text,optional"`
	ID    int64    `parquet:"id"`
}

// Records of Parquet are those of JSON, whatever the order and the pages of the columns.
func TestReadParquet(t *testing.T) {
	var rows []numberedRow
	var lines strings.Builder
	for i := range 300 {
		text := strings.Repeat("the keys ", 1+i%5)
		rows = append(rows, numberedRow{make([]string, i%4), &text, int64(i)})
		lines.WriteString(`{"id":` + name("%d", i) + `,"text":"` + text + "\"}\n")
	}
	rows[7].Text = nil
	path := writeParquet(t, rows)
	m := plan(t, path, 3, 0)
	if m.Input.Records != 300 || m.Input.Files[0].Format != corpus.FormatParquet {
		t.Errorf("input %+v", m.Input)
	}
	p, _ := folder(t)
	c := create(t, p, m)
	stats, err := runner(t, c, path, c.ShardsOf(0, 1)).Run(t.Context())
	if err != nil || stats.Errors != 1 || stats.Records != 300 {
		t.Errorf("%+v, %v; want 300 records, 1 with an error", stats, err)
	}
	verified(t, c)

	other := filepath.Join(t.TempDir(), "in.jsonl")
	write(t, other, lines.String())
	for i, contents := range plan(t, other, 3, 0).Shards {
		if contents.Records != m.Shards[i].Records {
			t.Errorf("shard %d has %d records of JSON, %d of Parquet", i, contents.Records,
				m.Shards[i].Records)
		}
	}
}

type (
	rowOf[I, T any] struct {
		ID   I `parquet:"id"`
		Text T `parquet:"text"`
	}
	noIDRow struct {
		Text string `parquet:"text"`
	}
	noTextRow struct {
		ID string `parquet:"id"`
	}
	twiceRow struct {
		ID    string `parquet:"id"`
		Text  string `parquet:"text"`
		Other string `parquet:"texu"`
	}
)

// Whole numbers without a sign are ids too.
func TestUnsignedIDs(t *testing.T) {
	for path, want := range map[string]string{
		writeParquet(t, []rowOf[uint64, string]{{1 << 63, "x"}}): "9223372036854775808",
		writeParquet(t, []rowOf[uint32, string]{{1 << 31, "x"}}): "2147483648",
	} {
		if got := merged(t, path); len(got) != 1 || got[0].ID != want || got[0].Prompt != "x" {
			t.Errorf("%+v, want the id %s", got, want)
		}
	}
}

// Data frames write the ids 1 and 2 as 1.0 and 2.0 if a third is missing. Fractions are no ids.
func TestIDsWithAPoint(t *testing.T) {
	const wrong = `the column "id" has 1.5; want strings or whole numbers`
	for _, path := range []string{
		writeParquet(t, []rowOf[float64, string]{{1, "x"}, {1.5, "y"}, {-20, "z"}}),
		writeParquet(t, []rowOf[float32, string]{{1, "x"}, {1.5, "y"}, {-20, "z"}}),
	} {
		var ids, errs []string
		for _, r := range merged(t, path) {
			ids = append(ids, r.ID)
			if r.Err != "" {
				errs = append(errs, r.Err)
			}
		}
		slices.Sort(ids)
		if !slices.Equal(ids, []string{"", "-20", "1"}) || !slices.Equal(errs, []string{wrong}) {
			t.Errorf("ids %q, errors %q", ids, errs)
		}
	}
}

// A column without any value, as pandas writes one of nothing but None, is as if it were absent.
// pyarrow 26 wrote the file: ids a and b, texts x and y, and a continuation of the type null.
func TestNullColumn(t *testing.T) {
	got := merged(t, filepath.Join("testdata", "nulls.parquet"))
	if len(got) != 2 || got[1].ID != "b" || got[1].Prompt != "y" || got[1].Err != "" {
		t.Errorf("%+v", got)
	}
}

// A file that cannot be read as records ends the plan, and the error names file and column.
func TestUnreadableParquet(t *testing.T) {
	good := writeParquet(t, []rowOf[string, int64]{{"a", 1}})
	data, err := os.ReadFile(good)
	must(t, err)
	cut := filepath.Join(t.TempDir(), "in.parquet")
	write(t, cut, string(data[:len(data)/2]))
	// The writer of this test refuses two columns of one name.
	data, err = os.ReadFile(writeParquet(t, []twiceRow{{"a", "x", "y"}}))
	must(t, err)
	twice := filepath.Join(t.TempDir(), "in.parquet")
	write(t, twice, strings.ReplaceAll(string(data), "texu", "text"))
	// pyarrow 26 wrote the file: an id of the type null, and texts x and y.
	data, err = os.ReadFile(filepath.Join("testdata", "null-id.parquet"))
	must(t, err)
	nulls := filepath.Join(t.TempDir(), "in.parquet")
	write(t, nulls, string(data))
	for _, c := range []struct{ name, path, want string }{
		{"id of truths", writeParquet(t, []rowOf[bool, string]{{true, "x"}}), `has a column "id" of type BOOLEAN; want strings or whole numbers; convert the column`},
		{"a column twice", twice, `has two columns "text"; rename or remove one`},
		{"text of numbers", good, `has a column "text" of type INT(64,true); want strings; convert the column`},
		{"text of lists", writeParquet(t, []rowOf[string, []string]{{"a", nil}}), `has a column "text"`},
		{"ids of nulls", nulls, `has a column "id" without values; give each row a different one`},
		{"no id", writeParquet(t, []noIDRow{{"x"}}), `has no column "id"; add one`},
		{"no text", writeParquet(t, []noTextRow{{"x"}}), `has no column of texts: prompt, text, question, messages, conversations; rename one of its columns, "id"`},
		{"cut", cut, "is no whole Parquet file (its end, which tells what it has, cannot be read); repair"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := corpus.MakePlan(t.Context(), source(t, c.path), settings(2, 0))
			checkError(t, c.name, err, "in.parquet", c.want)
		})
	}
}

type packedRow struct {
	ID   int64  `parquet:"id"`
	Text string `parquet:"text,zstd"`
}

// page is a page of a hostile file.
type page struct {
	header format.PageHeader
	body   []byte // before it is compressed
}

// textPage is a page of one text of n letters, in a dictionary or not.
func textPage(n int, dictionary bool) page {
	body := bytes.Repeat([]byte("a"), 4+n)
	binary.LittleEndian.PutUint32(body, uint32(n))
	p := page{body: body, header: format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(body)),
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 1}),
	}}
	if dictionary {
		p.header.Type, p.header.DataPageHeader.Valid = format.DictionaryPage, false
		p.header.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: 1})
	}
	return p
}

// writeHostile writes a file of one row, whose column of texts has certain pages. size is what the
// file says of their bytes, 0 for the truth.
func writeHostile(t *testing.T, size int64, codec format.CompressionCodec, pages ...page) string {
	t.Helper()
	path := writeParquet(t, []packedRow{{1, "x"}})
	data, err := os.ReadFile(path)
	must(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	column := &f.Metadata().RowGroups[0].Columns[1].MetaData
	column.DataPageOffset, column.DictionaryPageOffset, column.Codec = int64(len(data)), 0, codec
	var protocol thrift.CompactProtocol
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(&protocol, v)
		must(t, err)
		return b
	}
	for _, p := range pages {
		body, err := parquet.LookupCompressionCodec(codec).Encode(nil, p.body)
		must(t, err)
		p.header.CompressedPageSize = int32(len(body))
		data = slices.Concat(data, marshal(p.header), body)
	}
	if column.TotalCompressedSize = size; size == 0 {
		column.TotalCompressedSize = int64(len(data)) - column.DataPageOffset
	}
	footer := marshal(f.Metadata())
	data = append(data, footer...)
	data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
	write(t, path, string(data))
	return path
}

// Files of some kilobytes whose pages, runs or texts take gigabytes are refused by a process that
// reads them first, whatever their headers say; this process takes no memory for them.
func TestLargePages(t *testing.T) {
	large := textPage(520<<20, false)
	lying, words := large, textPage(1, true)
	lying.header.UncompressedPageSize = 100
	words.body, words.header.UncompressedPageSize = large.body, large.header.UncompressedPageSize
	many := textPage(1, false)
	many.header.DataPageHeader.V.NumValues = 1 << 30
	shared := page{body: commonBeginnings(2_000_000, 1000)}
	shared.header.UncompressedPageSize = int32(len(shared.body))
	shared.header.DataPageHeader = thrift.New(format.DataPageHeader{
		NumValues: 2_000_000, Encoding: format.DeltaByteArray,
	})
	for name, path := range map[string]string{
		"a page":              writeHostile(t, 0, format.Zstd, large),
		"a dictionary":        writeHostile(t, 0, format.Zstd, words, textPage(1, false)),
		"zstd that lies":      writeHostile(t, 0, format.Zstd, lying),
		"brotli that lies":    writeHostile(t, 0, format.Brotli, lying),
		"up to the end":       writeHostile(t, math.MaxInt64, format.Zstd, large),
		"many values":         writeHostile(t, 0, format.Zstd, many),
		"a beginning of 1 KB": writeHostile(t, 0, format.Uncompressed, shared),
	} {
		t.Run(name, func(t *testing.T) {
			if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
				t.Fatalf("the file has %d bytes, %v; want a small one", info.Size(), err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := corpus.MakePlan(t.Context(), source(t, path), settings(2, 0))
			runtime.ReadMemStats(&after)
			checkError(t, name, err, "in.parquet", "takes more than 512 MiB of memory to read "+
				"(after row 0); write it with smaller pages, or split its texts")
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("%d bytes allocated", took)
			}
		})
	}
}

// commonBeginnings is a page of DELTA_BYTE_ARRAY with one text of n bytes, which all others repeat:
// the lengths of beginnings, the lengths of the rest, and the rest of the first text.
func commonBeginnings(texts, n int) []byte {
	beginnings, rests := make([]int32, texts), make([]int32, texts)
	for i := 1; i < texts; i++ {
		beginnings[i] = int32(n)
	}
	rests[0] = int32(n)
	var packed delta.BinaryPackedEncoding
	first, _ := packed.EncodeInt32(nil, beginnings)
	second, _ := packed.EncodeInt32(nil, rests)
	return slices.Concat(first, second, make([]byte, n))
}

// Texts of the largest size are read, in a page of 160 MB of each kind.
func TestManyLongTexts(t *testing.T) {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text"`
	}
	type dictionary struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,dict,zstd"`
	}
	type shared struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,delta,snappy"`
	}
	text := func(i int) string { return strings.Repeat(string(rune('a'+i)), 1<<24) }
	var rows []row
	var dictionaries []dictionary
	var shareds []shared
	for i := range 10 {
		rows = append(rows, row{int64(i), text(i)})
		dictionaries = append(dictionaries, dictionary{int64(i), text(i)})
		shareds = append(shareds, shared{int64(i), text(i)})
	}
	for name, path := range map[string]string{
		"plain": writeParquetPages(t, 1<<28, rows), "dictionary": writeParquetPages(t, 1<<28, dictionaries),
		"delta": writeParquetPages(t, 1<<28, shareds),
	} {
		n := 0
		err := corpus.ReadSource(t.Context(), source(t, path), func(r corpus.Record) error {
			if want := text(n); r.Err != "" || r.Prompt != want {
				t.Errorf("%s: row %d has %d bytes, error %q", name, n, len(r.Prompt), r.Err)
			}
			n++
			return nil
		})
		if err != nil || n != 10 {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
}

// A text that is as long as no line may be is a record with an error.
func TestLongParquetText(t *testing.T) {
	path := writeParquet(t, []packedRow{{1, "x"}, {2, strings.Repeat("a", 1<<24+1)}, {3, "y"}})
	var all []corpus.Record
	err := corpus.ReadSource(t.Context(), source(t, path), func(r corpus.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil || len(all) != 3 || all[0].Err != "" || all[2].Prompt != "y" {
		t.Fatalf("%d records, %v", len(all), err)
	}
	const want = `the column "text" has 16777217 bytes; at most 16777216 (16 MiB) are read; ` +
		"split the text"
	if all[1].Err != want || all[1].ID != "2" {
		t.Errorf("record %s: error %q, want %q", all[1].ID, all[1].Err, want)
	}
}

// A damaged file never panics and never hangs.
func FuzzParquetInput(f *testing.F) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[numberedRow](&b)
	text := "the keys"
	_, err := w.Write([]numberedRow{{nil, &text, 1}, {[]string{"a"}, nil, 2}})
	must(f, errors.Join(err, w.Close()))
	f.Add(b.Bytes())
	for i := 0; i < b.Len(); i += 5 {
		damaged := bytes.Clone(b.Bytes())
		damaged[i] ^= 0x5a
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		path := filepath.Join(t.TempDir(), "in.parquet")
		write(t, path, string(data))
		m, err := corpus.MakePlan(t.Context(), source(t, path), settings(2, 0))
		if err == nil && m.Input.Records < 1 {
			t.Errorf("a plan of %d records", m.Input.Records)
		}
	})
}

// A Parquet file is not copied to its end after the context ended.
func TestInterruptedParquet(t *testing.T) {
	dir := t.TempDir()
	// The last line has no end, so that nothing looks at the context between the two files.
	write(t, filepath.Join(dir, "a.jsonl"),
		`{"id":"1","text":"a"}`+"\n"+`{"id":"2","text":"b"}`)
	write(t, filepath.Join(dir, "b.parquet"), "no Parquet")
	ctx, stop := context.WithCancel(t.Context())
	set := settings(1, 0)
	set.OnRecord = func(n int64) {
		if n == 2 { // the first is explained on trial, which looks at the context itself
			stop()
		}
	}
	_, err := corpus.MakePlan(ctx, source(t, dir), set)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

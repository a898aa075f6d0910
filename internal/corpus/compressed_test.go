package corpus_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/corpus"
)

// compressed returns what gzip makes of a text.
func compressed(t *testing.T, text io.Reader) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, text); err != nil {
		t.Fatal(err)
	}
	must(t, z.Close())
	return b.String()
}

// merged returns the rows of a corpus of an input, without the name of its file, in the order of
// their numbers: the file decides the shards of records that have no id.
func merged(t *testing.T, input string) []corpus.Record {
	t.Helper()
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 3, 0))
	whole(t, c, input)
	return rowsOf(t, c)
}

// rowsOf returns the rows of a corpus as merged does.
func rowsOf(t *testing.T, c *corpus.Corpus) []corpus.Record {
	t.Helper()
	var all []corpus.Record
	for shard := range c.Manifest.Shards {
		err := c.Rows(t.Context(), shard, func(r corpus.Record, result corpus.Result) error {
			r.Prompt = result.Text
			r.File, r.Err = "", strings.ReplaceAll(r.Err, r.File, "FILE")
			all = append(all, r)
			return nil
		})
		must(t, err)
	}
	slices.SortFunc(all, func(a, b corpus.Record) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// A file that gzip compressed is read as what it was made of, whatever its name is, in one part or
// in several.
func TestCompressedInput(t *testing.T) {
	plainPath := texts(t, 60)
	data, err := os.ReadFile(plainPath)
	must(t, err)
	text, want := string(data), merged(t, plainPath)
	half := len(text) / 2
	for _, c := range []struct{ name, file, text string }{
		{"one part", "a.jsonl.gz", compressed(t, strings.NewReader(text))},
		{"two parts", "a.ndjson.GZ", compressed(t, strings.NewReader(text[:half])) + compressed(t, strings.NewReader(text[half:]))},
		{"zeros behind it", "a.jsonl.gz", compressed(t, strings.NewReader(text)) + strings.Repeat("\x00", 1<<17)},
		{"zeros between parts", "a.jsonl.gz", compressed(t, strings.NewReader(text[:half])) +
			"\x00\x00" + compressed(t, strings.NewReader("")) +
			compressed(t, strings.NewReader(text[half:]))},
		{"a name that does not say it", "a.jsonl", compressed(t, strings.NewReader(text))},
		{"a name that is wrong", "a.json.gz", text},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			write(t, path, c.text)
			if diff := gocmp.Diff(want, merged(t, path)); diff != "" {
				t.Errorf("(-uncompressed +compressed):\n%s", diff)
			}
			file := plan(t, path, 3, 0).Input.Files[0]
			if file.Bytes != int64(len(c.text)) || file.SHA256 != fileHash(t, path) {
				t.Errorf("the manifest has %+v, want %d bytes as they are in the file", file,
					len(c.text))
			}
		})
	}
	path := filepath.Join(t.TempDir(), "b.txt.gz")
	write(t, path, compressed(t, strings.NewReader("one line\nanother")))
	m := plan(t, path, 1, 0)
	if f := m.Input.Files[0]; f.Format != corpus.FormatText || f.Records != 2 {
		t.Errorf("a compressed text is %+v", f)
	}
}

// What is compressed in another way or is damaged is refused with the name of the file.
func TestUnreadableCompression(t *testing.T) {
	good := compressed(t, strings.NewReader(strings.Repeat(`{"id":"a","text":"x y"}`+"\n", 500)))
	flipped := []byte(good)
	flipped[len(flipped)-6] ^= 1 // of the checksum
	for _, c := range []struct{ name, file, text, want string }{
		{"cut", "a.jsonl.gz", good[:len(good)/2], "(it ends too early); repair or remove it"},
		{"cut in its header", "a.jsonl.gz", good[:5], "beyond byte 5 (it ends too early)"},
		{"flipped", "a.jsonl.gz", string(flipped), "(invalid checksum); repair or remove it"},
		{"more behind it", "a.jsonl.gz", good + "more", "(it ends too early); repair or remove it"},
		{"zstd", "a.txt", "\x28\xb5\x2f\xfd\x00\x00\x00", "compressed by zstd, which is not read; decompress it, or compress it by gzip"},
		{"zip", "a.txt", "PK\x03\x04\x00\x00\x00", "compressed by zip"},
		{"Parquet", "a.parquet.gz", good, "compressed by gzip as a whole, which is read of lines only; decompress it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			write(t, path, c.text)
			_, err := corpus.MakePlan(t.Context(), source(t, path), settings(2, 0))
			checkError(t, c.name, err, c.file, c.want)
		})
	}
	// No byte of a file makes the reader panic or hang.
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	for i := range len(good) {
		changed := []byte(good)
		changed[i] ^= 0x5a
		write(t, path, string(changed))
		m, err := corpus.MakePlan(t.Context(), source(t, path), settings(2, 0))
		if err == nil && m.Input.Records != 500 {
			t.Errorf("byte %d changed: %d records", i, m.Input.Records)
		}
	}
}

// A short file that becomes a line of 256 MiB is one record with an error, and is never in memory.
// Reading it ends with its context.
func TestCompressedBomb(t *testing.T) {
	const line = 256 << 20
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	bomb := compressed(t, longLine(line))
	write(t, path, bomb)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := plan(t, path, 1, 0)
	runtime.ReadMemStats(&after)
	if m.Input.Records != 3 || len(bomb) > line/500 {
		t.Errorf("%d records of a file of %d bytes, want 3", m.Input.Records, len(bomb))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*corpus.MaxLine {
		t.Errorf("%d bytes allocated for a line of %d", took, line)
	}
	ctx, stop := context.WithCancel(t.Context())
	set := settings(1, 0)
	set.OnRecord = func(int64) { stop() } // the first record comes before the long line
	_, err := corpus.MakePlan(ctx, source(t, path), set)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped in the middle of the line: error %v", err)
	}
}

package corpus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/internal/corpus"
)

// pythonSaysOfShards prints what a reader in Python finds, as JSON.
const pythonSaysOfShards = `
import glob, json, sys
import pyarrow.parquet as pq
files = sorted(glob.glob(sys.argv[1] + "/shards/*.parquet"))
rows = [r for f in files for r in pq.read_table(f).to_pylist()]
rows.sort(key=lambda r: r["record"])
merged = pq.read_table(sys.argv[2]).to_pylist()
meta = pq.ParquetFile(files[0]).schema_arrow.metadata
print(json.dumps({
    "equal": rows == merged, "rows": len(rows),
    "errors": sum(r["error"] is not None for r in rows),
    "manifest": meta[b"headwater.manifest"].decode(),
    "columns": pq.ParquetFile(files[0]).schema_arrow.names,
    "first": rows[0],
}))
`

// The shards and the merged file are what another implementation of Parquet reads.
func TestPyArrow(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if exec.Command(python, "-c", "import pyarrow").Run() != nil {
		t.Skip("pyarrow is not installed: internal/setup/requirements.txt has it")
	}
	c, _, dir := written(t, 120, 4)
	all := filepath.Join(t.TempDir(), "all.parquet")
	merge(t, c, all)
	//nolint:gosec // the program is python3
	out, err := exec.Command(python, "-c", pythonSaysOfShards, dir, all).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Equal    bool
		Rows     int64
		Errors   int64
		Manifest string
		Columns  []string
		First    map[string]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v, err := c.Verify(t.Context(), nil)
	must(t, err)
	if !got.Equal || got.Rows != v.Records || got.Errors != v.Errors || got.Errors == 0 ||
		got.Manifest != c.Manifest.Hash {
		t.Errorf("pyarrow reads %d rows, %d with an error, merged equal: %v, manifest %.12s",
			got.Rows, got.Errors, got.Equal, got.Manifest)
	}
	want := []string{
		"id", "file", "record", "error", "text", "prompt_ids", "prompt_texts", "prompt_begin",
		"prompt_end", "ids", "texts", "probability", "entropy", "surprisal", "rank", "kl",
		"gain", "prompt_entropy", "prompt_surprisal", "prompt_rank", "warnings", "scores_m",
		"generated_m", "shown_m", "layers_m", "totals_m", "firsts_m",
	}
	if diff := cmp.Diff(want, got.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	text, _ := got.First["text"].(string)
	e := explanation(corpus.Record{Prompt: text})
	result := corpus.ResultOf(e, []string{"m"}).Methods[0]
	scores, _ := got.First["scores_m"].([]any)
	if len(scores) != len(result.Scores) || len(scores) == 0 {
		t.Fatalf("%d scores, want %d", len(scores), len(result.Scores))
	}
	for i, x := range scores {
		if x != float64(result.Scores[i]) {
			t.Errorf("score %d is %v, want %v", i, x, result.Scores[i])
		}
	}
}

// merge writes the merged file of a corpus.
func merge(t *testing.T, c *corpus.Corpus, path string) {
	t.Helper()
	var b bytes.Buffer
	must(t, c.Merge(t.Context(), &b, nil))
	write(t, path, b.String())
}

// mergedRow is what the tests read of a merged file.
type mergedRow struct {
	ID     string  `parquet:"id"`
	File   string  `parquet:"file"`
	Record int64   `parquet:"record"`
	Error  *string `parquet:"error,optional"`
}

// A merged file has every record once and in the order of the input, also if there are more shards
// than are merged at once; its bytes do not depend on the number of shards.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"z.jsonl", "a.jsonl"} {
		text, err := os.ReadFile(texts(t, 90))
		must(t, err)
		write(t, filepath.Join(dir, file), strings.ReplaceAll(string(text), `"id":`, `"id":`+
			map[bool]string{true: "1", false: "2"}[file == "a.jsonl"]))
	}
	var first []mergedRow
	for _, shards := range []int{1, 7, 3*corpus.MergeAtOnce + 1} {
		p, _ := folder(t)
		c := create(t, p, plan(t, dir, shards, 0))
		whole(t, c, dir)
		path := filepath.Join(t.TempDir(), "all.parquet")
		merge(t, c, path)
		rows, err := parquet.ReadFile[mergedRow](path)
		must(t, err)
		if int64(len(rows)) != c.Manifest.Input.Records {
			t.Fatalf("%d rows of %d records", len(rows), c.Manifest.Input.Records)
		}
		if !slices.IsSortedFunc(rows, func(a, b mergedRow) int {
			return strings.Compare(name("%s %09d", a.File, a.Record),
				name("%s %09d", b.File, b.Record))
		}) {
			t.Errorf("%d shards: the rows are not in the order of the input", shards)
		}
		if first == nil {
			first = rows
		}
		if diff := cmp.Diff(first, rows); diff != "" {
			t.Errorf("%d shards (-1 shard +got):\n%s", shards, diff)
		}
	}
}

func TestMergeNeedsAllShards(t *testing.T) {
	input := texts(t, 50)
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 4, 0))
	if _, err := runner(t, c, input, []int{1, 2}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkError(t, "merge", c.Merge(t.Context(), &bytes.Buffer{}, nil),
		"2 of 4 shards are missing or damaged: 0,3; headwater corpus missing "+p.String()+" prints")
	// Many shards are not all named.
	p, _ = folder(t)
	c = create(t, p, plan(t, input, 50, 0))
	if _, err := runner(t, c, input, []int{1, 2, 3, 40}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkError(t, "merge", c.Merge(t.Context(), &bytes.Buffer{}, nil),
		"46 of 50 shards are missing or damaged: 0,4-22 and 26 more; ")
}

// full is a disk that is full after some bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left; free some")
	}
	return len(b), nil
}

// The error of a merge onto a full disk is about the disk, and not about how Parquet is written.
func TestMergeOntoFullDisk(t *testing.T) {
	c, _, dir := written(t, 2000, 2)
	var b bytes.Buffer
	must(t, c.Merge(t.Context(), &b, nil))
	const want = "corpus: the merged file cannot be written: no space left; free some"
	for left := 0; left < b.Len(); left += b.Len()/30 + 1 {
		err := c.Merge(t.Context(), &full{left}, nil)
		if err == nil || err.Error() != want {
			t.Errorf("after %d of %d bytes, merging %s: error %v, want %s", left, b.Len(), dir, err,
				want)
		}
	}
}

// The second record of an id has an error that names the first, wherever the two are.
func TestSecondOfOneID(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":"x","text":"the keys"}`+"\n")
	write(t, filepath.Join(dir, "b.jsonl"), "\n"+`{"id":"x","text":"the cabinet"}`)
	p, _ := folder(t)
	c := create(t, p, plan(t, dir, 8, 0))
	whole(t, c, dir)
	path := filepath.Join(t.TempDir(), "all.parquet")
	merge(t, c, path)
	rows, err := parquet.ReadFile[mergedRow](path)
	must(t, err)
	const want = "the id is also that of a.jsonl record 1; give each record its own"
	if len(rows) != 2 || rows[0].Error != nil || rows[1].Error == nil || *rows[1].Error != want ||
		rows[1].ID != "x" || rows[1].Record != 2 {
		t.Errorf("rows %+v", rows)
	}
}

package corpus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/bucket/buckettest"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
)

// What a shard keeps of an explanation, computed by hand.
func TestResultOf(t *testing.T) {
	e := &attribution.Explanation{
		Prompt: attribution.Prompt{
			Text: "a bc", IDs: []int{5, 6}, Texts: []string{"a", " bc"},
			Offsets: [][2]int{{0, 1}, {1, 4}},
		},
		Studies: attribution.Findings{
			scores.Name: &scores.Prompt{nil, {Entropy: 5, Surprisal: 6, Rank: 7}},
		},
		Steps: []attribution.GeneratedToken{
			{ID: 7, Text: "d", Probability: 0.5}, {
				ID: 8, Text: "e", Probability: 0.125,
				Scores: &trace.TokenScores{Entropy: 2, Surprisal: 3, Rank: 4},
				Studies: attribution.Findings{
					without.Name: &without.Difference{KL: 0.5, Gain: -0.25},
				},
			},
		},
		Warnings: []string{"A remark."},
		Order:    []string{"m"},
		Methods: map[string]*attribution.Result{"m": {
			Layers: []int{0, 3}, Shape: [3]int{2, 2, 2}, Shown: []int{3, 0},
			Rows: [][]float64{
				{0.25, 0.75}, {0.5, 0.125},
				{1, -4, 0.5, 0.25}, {2, 8, 1, 1},
			},
		}},
	}
	want := corpus.Result{
		Text: "a bc", PromptIDs: []int32{5, 6}, PromptTexts: []string{"a", " bc"},
		PromptBegin: []int32{0, 1}, PromptEnd: []int32{1, 4},
		IDs: []int32{7, 8}, Texts: []string{"d", "e"}, Probability: []float64{0.5, 0.125},
		Warnings: []string{"A remark."},
		// A token without scores has the rank 0.
		Scores: corpus.TokenScores{
			Entropy: []float64{0, 2}, Surprisal: []float64{0, 3}, Rank: []int32{0, 4},
		},
		KL: []float64{0.5}, Gain: []float64{-0.25},
		PromptScores: corpus.TokenScores{
			Entropy: []float64{0, 5}, Surprisal: []float64{0, 6}, Rank: []int32{0, 7},
		},
		Methods: []corpus.Scores{{
			Scores:    []float32{0.5, 0.125, 1, -4}, // layer 3 of token 0, layer 0 of token 1
			Generated: []float32{0, 0.75},
			Shown:     []int32{3, 0}, Layers: []int32{0, 3},
			Totals: []float32{1, 0.625, -3, 10},
			Firsts: []float32{0.25, 0.5, 1, 2},
		}},
	}
	if diff := cmp.Diff(want, corpus.ResultOf(e, []string{"m"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestColumnOf(t *testing.T) {
	for method, want := range map[string]string{
		"rollout": "rollout", "value-zeroing": "value_zeroing", "a+b.2": "a_b_2",
	} {
		if got := corpus.ColumnOf(method); got != want {
			t.Errorf("ColumnOf(%q) = %q, want %q", method, got, want)
		}
	}
}

// A shard of a record is decided by the first 8 bytes of a SHA-256; the numbers are from Python:
// int.from_bytes(hashlib.sha256(b"id\0" + id).digest()[:8]) % n.
func TestShardOf(t *testing.T) {
	for _, c := range []struct {
		r    corpus.Record
		n    int
		want int
	}{
		{corpus.Record{ID: "a"}, 64, 8},
		{corpus.Record{ID: "17"}, 1000, 860},
		{corpus.Record{File: "f", Number: 3}, 64, 35},
		{corpus.Record{ID: "a"}, 1, 0},
	} {
		if got := corpus.ShardOf(c.r, c.n); got != c.want {
			t.Errorf("%+v of %d: shard %d, want %d", c.r, c.n, got, c.want)
		}
	}
}

func TestNumberRanges(t *testing.T) {
	for _, c := range []struct {
		numbers []int
		want    string
	}{
		{nil, ""},
		{[]int{3, 17, 42}, "3,17,42"},
		{[]int{0, 1, 2, 3}, "0-3"},
		{[]int{0, 1, 5, 6, 7, 9}, "0,1,5-7,9"},
	} {
		if got := corpus.NumberRanges(c.numbers); got != c.want {
			t.Errorf("NumberRanges(%v) = %q, want %q", c.numbers, got, c.want)
		}
	}
}

// A shard whose footer fits but whose columns do not is an error for everybody who reads rows.
func TestOtherColumns(t *testing.T) {
	c, _, dir := written(t, 50, 2)
	var b bytes.Buffer
	w := parquet.NewGenericWriter[mergedRow](&b,
		parquet.KeyValueMetadata(corpus.ManifestKey, c.Manifest.Hash),
		parquet.KeyValueMetadata(corpus.ShardKey, "1"))
	if _, err := w.Write(make([]mergedRow, c.Manifest.Shards[1].Records)); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	damage(t, dir, 1, func([]byte) []byte { return b.Bytes() })
	const want = "has other columns than the manifest says"
	v, err := c.Verify(t.Context(), nil)
	if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], want) {
		t.Errorf("verify: %+v, %v; want one problem", v, err)
	}
	checkError(t, "merge", c.Merge(t.Context(), &bytes.Buffer{}, nil), want)
	checkError(t, "rows", c.Rows(t.Context(), 1, func(corpus.Record, corpus.Result) error {
		return nil
	}), want)
}

// damage changes the file of a shard.
func damage(t *testing.T, dir string, shard int, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(corpus.ShardName(shard)))
	data, err := os.ReadFile(path)
	must(t, err)
	write(t, path, string(change(data)))
}

// A shard that was cut is missing, is made again, and has the bytes it had. Nothing else changes.
func TestCutShard(t *testing.T) {
	input := texts(t, 100)
	p, dir := folder(t)
	c := create(t, p, plan(t, input, 4, 0))
	want := whole(t, c, input)
	for _, kept := range []int{0, 3, 200, -1} {
		damage(t, dir, 2, func(b []byte) []byte { return b[:(kept+len(b))%len(b)] })
		v, err := c.Verify(t.Context(), nil)
		if err != nil || len(v.Problems) != 1 || v.SHA256 != "" ||
			!strings.HasPrefix(v.Problems[0], "shards/00002.parquet: it is no whole Parquet file") {
			t.Errorf("%d bytes kept: verify says %q, %v", kept, v.Problems, err)
		}
		missing, shards, err := c.MissingTasks(t.Context(), 4)
		if err != nil || !slices.Equal(missing, []int{2}) || !slices.Equal(shards, []int{2}) {
			t.Errorf("%d bytes kept: missing %v, %v, %v", kept, missing, shards, err)
		}
		stats, err := runner(t, c, input, c.ShardsOf(0, 1)).Run(t.Context())
		if err != nil || stats.Written != 1 || stats.Skipped != 3 {
			t.Errorf("%d bytes kept: %+v, %v", kept, stats, err)
		}
		if got := verified(t, c); got != want {
			t.Errorf("%d bytes kept: sha256 %s, want %s", kept, got, want)
		}
	}
}

// In a bucket a shard that was cut is replaced, although uploads do not replace files otherwise.
func TestCutShardInBucket(t *testing.T) {
	input := texts(t, 60)
	s := buckettest.New(t)
	c := create(t, bucketPlace(t, s, "c"), plan(t, input, 3, 0))
	want := whole(t, c, input)
	key := "c/" + corpus.ShardName(1)
	data := s.Object(key)
	s.Set(key, data[:len(data)/2])
	if got := whole(t, c, input); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
}

// Verify finds a byte that changed within the rows, which the footer does not show.
func TestFlippedByte(t *testing.T) {
	c, _, dir := written(t, 100, 2)
	for _, at := range []int{100, 1000, 2000} {
		damage(t, dir, 1, func(b []byte) []byte { b[at] ^= 1; return b })
		v, err := c.Verify(t.Context(), nil)
		if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], "00001") {
			t.Errorf("byte %d: verify says %q, %v", at, v.Problems, err)
		}
		damage(t, dir, 1, func(b []byte) []byte { b[at] ^= 1; return b })
	}
	verified(t, c)
}

// Nobody reads rows whose hash is not the one in the footer: the checksum of a page says nothing
// about its header. The error names the shard.
func TestOtherRows(t *testing.T) {
	c, p, dir := written(t, 100, 2)
	damage(t, dir, 1, func(b []byte) []byte {
		at := bytes.LastIndex(b, []byte(corpus.RowsKey))
		at += len(corpus.RowsKey) + bytes.IndexAny(b[at+len(corpus.RowsKey):], "0123456789abcdef")
		for i := range 64 {
			b[at+i] = '0'
		}
		return b
	})
	const want = `has rows with the hash `
	v, err := c.Verify(t.Context(), nil)
	if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], want) {
		t.Errorf("verify: %+v, %v; want one problem", v, err)
	}
	const said = `…, and its footer says "000000000000"…; remove that file, and headwater ` +
		"corpus run makes it again"
	where := "corpus: shards/00001.parquet in " + p.String() + " "
	checkError(t, "merge", c.Merge(t.Context(), &bytes.Buffer{}, nil), where, want, said)
	checkError(t, "rows", c.Rows(t.Context(), 1, func(corpus.Record, corpus.Result) error {
		return nil
	}), where, want, said)
}

// What is wrong within a shard is said without the code of the reader and without the path of the
// file, wherever a byte of the columns' sizes, in the second half, was changed.
func TestDamageSaid(t *testing.T) {
	c, _, dir := written(t, 20, 1)
	var whole []byte
	damage(t, dir, 0, func(b []byte) []byte { whole = bytes.Clone(b); return b })
	for at := len(whole) / 2; at < len(whole)-8; at += 5 {
		damage(t, dir, 0, func([]byte) []byte {
			b := bytes.Clone(whole)
			b[at] = 0xff
			return b
		})
		v, err := c.Verify(t.Context(), nil)
		must(t, err)
		said := strings.Join(v.Problems, "; ")
		for _, never := range []string{"runtime error", "goroutine", dir} {
			if strings.Contains(said, never) {
				t.Errorf("byte %d: verify says %q", at, said)
			}
		}
	}
}

// Shards that changed their places are found by their footers.
func TestSwappedShards(t *testing.T) {
	c, _, dir := written(t, 100, 2)
	var first []byte
	damage(t, dir, 0, func(b []byte) []byte { first = b; return b })
	damage(t, dir, 1, func([]byte) []byte { return first })
	v, err := c.Verify(t.Context(), nil)
	if err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], "it is shard") {
		t.Errorf("verify says %q, %v", v.Problems, err)
	}
}

// A shard of another manifest is never replaced.
func TestForeignShard(t *testing.T) {
	input := texts(t, 60)
	ours, dir := folder(t)
	c := create(t, ours, plan(t, input, 2, 0))
	theirs, other := folder(t)
	set := settings(2, 0)
	set.Options.MaxTokens = 3
	m, err := corpus.MakePlan(t.Context(), source(t, input), set)
	must(t, err)
	whole(t, create(t, theirs, m), input)
	data, err := os.ReadFile(filepath.Join(other, "shards", "00001.parquet"))
	must(t, err)
	path := filepath.Join(dir, "shards", "00001.parquet")
	write(t, path, string(data))
	_, err = runner(t, c, input, c.ShardsOf(0, 1)).Run(t.Context())
	bad := (*corpus.ShardError)(nil)
	if !errors.As(err, &bad) || bad.Shard != 1 {
		t.Errorf("error %v, want that shard 1 is bad", err)
	}
	checkError(t, "run", err, "belongs to another manifest", "use an empty folder")
	_, _, err = c.MissingTasks(t.Context(), 2)
	checkError(t, "missing", err, "belongs to another manifest")
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Errorf("the shard was changed: %v", err)
	}
}

// A plan of another model, input or option does not go into the same folder; the same plan does.
func TestAnotherPlan(t *testing.T) {
	input := texts(t, 40)
	p, dir := folder(t)
	m := plan(t, input, 2, 0)
	create(t, p, m)
	before := fileHash(t, filepath.Join(dir, corpus.ManifestName))
	create(t, p, plan(t, input, 2, 0))
	for _, c := range []struct {
		want   string
		change func(*corpus.Manifest)
	}{
		{"the model differs", func(m *corpus.Manifest) { m.Model.Hash = "4567" }},
		{"the backend differs", func(m *corpus.Manifest) { m.Model.Backend = "xla" }},
		{"the version of the program differs", func(m *corpus.Manifest) { m.Version = "2" }},
		{"an option differs", func(m *corpus.Manifest) { m.Options.MaxTokens = 3 }},
	} {
		other := *m
		c.change(&other)
		corpus.Seal(&other)
		_, err := corpus.Create(t.Context(), p, &other)
		checkError(t, c.want, err, "has the manifest of another plan", c.want,
			"use an empty folder")
	}
	_, err := corpus.Create(t.Context(), p, plan(t, input, 3, 0))
	checkError(t, "shards", err, "the number of shards differs")
	_, err = corpus.Create(t.Context(), p, plan(t, texts(t, 41), 2, 0))
	checkError(t, "input", err, "the input differs")
	if after := fileHash(t, filepath.Join(dir, corpus.ManifestName)); after != before {
		t.Error("the manifest was changed")
	}
}

func TestParseManifest(t *testing.T) {
	m := plan(t, texts(t, 20), 2, 0)
	text, err := m.JSON()
	must(t, err)
	if again, err := corpus.ParseManifest(text); err != nil || again.Hash != m.Hash {
		t.Errorf("%v, %v", again, err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"not JSON", "{", "", "it is not valid JSON"},
		{"another form", `"form": 1`, `"form": 2`, "it has form 2; this program reads form 1"},
		{"unknown key", `"version"`, `"verse"`, `unknown field "verse"`},
		{"changed", `"hash": "0123"`, `"hash": "0124"`, "it has been changed: its hash is "},
		{"no tasks", `"tasks": 2`, `"tasks": 0`, "it has 2 shards and 0 tasks; want 1 to 100000"},
		// The number of tasks is not part of the hash, and missing shards are sought task by task.
		{"many tasks", `"tasks": 2`, `"tasks": 9223372036854775807`, "9223372036854775807 tasks; want 1 to 100000 of each"},
		{"a form that is text", `"form": 1`, `"form": "1"`, `it is no object whose "form" is a whole number`},
	} {
		_, err := corpus.ParseManifest([]byte(strings.Replace(string(text), c.from, c.to, 1)))
		checkError(t, c.name, err, c.want)
	}
	p, dir := folder(t)
	_, err = corpus.Open(t.Context(), p)
	checkError(t, "none", err, "has no manifest.json; plan the corpus first")
	write(t, filepath.Join(dir, corpus.ManifestName), "x")
	_, err = corpus.Open(t.Context(), p)
	checkError(t, "damaged", err, "manifest.json in "+dir, "it is not valid JSON")
}

// An input that changed after the plan would give other shards.
func TestChangedInput(t *testing.T) {
	input := texts(t, 40)
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 2, 0))
	text, err := os.ReadFile(input)
	must(t, err)
	write(t, input, string(text)+`{"id":"new","text":"x"}`)
	_, err = runner(t, c, input, []int{1}).Run(t.Context())
	bad := (*corpus.ShardError)(nil)
	if !errors.As(err, &bad) {
		t.Errorf("error %v, want a bad shard", err)
	}
	checkError(t, "run", err, "texts.jsonl", "has changed since the plan", "restore it")
	states, err := c.States(t.Context(), []int{1})
	if err != nil || states[0].State != corpus.Missing {
		t.Errorf("shard 1 is %v: %v", states, err)
	}
}

// A shard that cannot be made does not keep the others from being made.
func TestBadShard(t *testing.T) {
	input := texts(t, 200)
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 4, 0))
	r := runner(t, c, input, c.ShardsOf(0, 1))
	groups := 0
	r.Explainer = fake{before: func(context.Context) error {
		if groups++; groups == 1 {
			return &corpus.ShardError{Err: errors.New("too little memory")}
		}
		return nil
	}}
	stats, err := r.Run(t.Context())
	checkError(t, "run", err, "corpus: shard 0: too little memory")
	if stats.Bad != 1 || stats.Written != 3 {
		t.Errorf("%+v, want 1 bad and 3 written", stats)
	}
	_, shards, err := c.MissingTasks(t.Context(), 4)
	if err != nil || !slices.Equal(shards, []int{0}) {
		t.Errorf("missing %v, %v", shards, err)
	}
}

// What a killed process left is no shard, and goes when its shard is complete. What is beside other
// shards stays: another process may be writing it.
func TestStaleFiles(t *testing.T) {
	input := texts(t, 60)
	p, dir := folder(t)
	c := create(t, p, plan(t, input, 2, 0))
	stale := filepath.Join(dir, "shards", ".00000.parquet.4194304-0.tmp")
	busy := filepath.Join(dir, "shards", ".00001.parquet.4194304-0.tmp")
	write(t, stale, "half of a shard")
	write(t, busy, "half of a shard")
	if _, err := runner(t, c, input, []int{0}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the file of a complete shard is still there")
	}
	if _, err := os.Stat(busy); err != nil {
		t.Errorf("the file of a shard that is missing: %v", err)
	}
	if _, err := runner(t, c, input, []int{1}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	verified(t, c)
	if _, err := os.Stat(busy); err == nil {
		t.Error("the file of the second shard is still there")
	}
}

// A folder that cannot be written to is no reason to try again.
func TestFolderIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "x")
	p, err := corpus.OpenPlace(path)
	must(t, err)
	if _, err := corpus.Create(t.Context(), p, plan(t, texts(t, 5), 1, 0)); err == nil {
		t.Error("a corpus was created in a file")
	}
}

// Rows returns what was written, record by record.
func TestRows(t *testing.T) {
	input := texts(t, 60)
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 3, 0))
	whole(t, c, input)
	rows, wrong := int64(0), 0
	for shard := range c.Manifest.Shards {
		last := int64(0)
		err := c.Rows(t.Context(), shard, func(r corpus.Record, got corpus.Result) error {
			if r.Number <= last || r.File != "texts.jsonl" {
				t.Errorf("%s record %d after %d", r.File, r.Number, last)
			}
			last = r.Number
			rows++
			if r.Err != "" {
				wrong++
				return nil
			}
			want := corpus.ResultOf(explanation(corpus.Record{Prompt: got.Text}), []string{"m"})
			if diff := cmp.Diff(want, got); diff != "" || got.Text == "" {
				t.Errorf("record %q (-want +got):\n%s", r.ID, diff)
			}
			return nil
		})
		must(t, err)
	}
	if rows != c.Manifest.Input.Records || wrong == 0 {
		t.Errorf("%d rows, %d with an error; want %d rows", rows, wrong, c.Manifest.Input.Records)
	}
	stop := errors.New("enough")
	err := c.Rows(t.Context(), 0, func(corpus.Record, corpus.Result) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want that of the caller", err)
	}
}

// grouped notes how many bytes the shortest and the longest text of each call have, by window.
type grouped struct {
	fake
	mu    sync.Mutex
	calls [2][][3]int
}

func (g *grouped) Explain(
	ctx context.Context, records []corpus.Record, each func(int, corpus.Result),
) error {
	first, last := records[0], records[len(records)-1]
	window := int(first.Number-1) / corpus.WindowRecords
	g.mu.Lock()
	g.calls[window] = append(g.calls[window],
		[3]int{len(records), len(first.Prompt), len(last.Prompt)})
	g.mu.Unlock()
	return g.fake.Explain(ctx, records, each)
}

// Texts that may run as many at a time are explained together, and a long text alone does not make
// a small batch of all others.
func TestGroups(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		words := 1 + i%40 // of 2 bytes
		switch i {
		case 10:
			words = 20_000
		case 100, 280:
			words = 200
		}
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":%q}\n", i, strings.Repeat("a ", words))
	}
	input := filepath.Join(t.TempDir(), "texts.jsonl")
	write(t, input, b.String())
	p, _ := folder(t)
	c := create(t, p, plan(t, input, 1, 0))
	r := runner(t, c, input, []int{0})
	var g grouped
	r.Explainer = &g
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Windows of 256 and 44 records: up to 256 bytes, up to 512, and the longest.
	want := [2][][3]int{
		{{254, 2, 80}, {1, 400, 400}, {1, 40_000, 40_000}},
		{{43, 4, 80}, {1, 400, 400}},
	}
	if diff := cmp.Diff(want, g.calls); diff != "" {
		t.Errorf("records, shortest and longest of each call (-want +got):\n%s", diff)
	}
	verified(t, c)
}

// What is no regular file is not opened: a named pipe would wait for another program forever.
func TestShardIsNoFile(t *testing.T) {
	c, _, dir := written(t, 20, 2)
	shard := filepath.Join(dir, filepath.FromSlash(corpus.ShardName(1)))
	must(t, os.Remove(shard))
	must(t, os.Mkdir(shard, 0o755))
	_, _, err := c.MissingTasks(t.Context(), 2)
	checkError(t, "missing", err, "is not a regular file (d---------); remove it")
}

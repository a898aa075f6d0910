package corpus_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/bucket/buckettest"
)

// lineRecords reads lines.
func lineRecords(t *testing.T, format, text string) []corpus.Record {
	t.Helper()
	var all []corpus.Record
	err := corpus.ReadLines(strings.NewReader(text), "f", format, func(r corpus.Record) error {
		all = append(all, r)
		return nil
	})
	must(t, err)
	return all
}

// question is a conversation of one message.
var question = []trace.Message{{Role: "user", Content: "q"}}

func TestReadJSON(t *testing.T) {
	const wantObject = `; want one object a line, such as {"id": …, "text": …}`
	for _, c := range []struct {
		name, line string
		want       corpus.Record
	}{
		{"a text", `{"id":"a","text":"x y"}`, corpus.Record{ID: "a", Prompt: "x y"}},
		{"a whole number", `{"id":17,"text":"x"}`, corpus.Record{ID: "17", Prompt: "x"}},
		{"the largest whole number", `{"id":18446744073709551615,"text":"x"}`, corpus.Record{ID: "18446744073709551615", Prompt: "x"}},
		{"a whole number with a point", `{"id":1.0,"text":"x"}`, corpus.Record{ID: "1", Prompt: "x"}},
		{"a whole number with an exponent", `{"id":-1.7E+1,"text":"x"}`, corpus.Record{ID: "-17", Prompt: "x"}},
		{"a whole number that may be another", `{"id":9007199254740994.0,"text":"x"}`, corpus.Record{Err: "the id is a number; want a string or a whole number of at most 64 bits"}},
		{"a continuation", `{"id":"a","prompt":"x","continuation":" y"}`, corpus.Record{ID: "a", Prompt: "x", Continuation: " y"}},
		{"other keys", `{"label":[1,{"id":2}],"text":"x","id":"a","ID":"b"}`, corpus.Record{ID: "a", Prompt: "x"}},
		{"nulls", `{"id":"a","text":"x","prompt":null,"continuation":null}`, corpus.Record{ID: "a", Prompt: "x"}},
		{"escapes", `{"id":"a","text":"\u00e9\ud83d\ude00"}`, corpus.Record{ID: "a", Prompt: "é😀"}},
		{"carriage return", "{\"id\":\"a\",\"text\":\"x\"}\r", corpus.Record{ID: "a", Prompt: "x"}},
		{"no id", `{"text":"x"}`, corpus.Record{Err: "there is no id; give each record one"}},
		{"empty id", `{"id":"","text":"x"}`, corpus.Record{Err: "the id is empty; give each record one"}},
		{"id is a list", `{"id":[1],"text":"x"}`, corpus.Record{Err: "the id is a list; want a string or a whole number of at most 64 bits"}},
		{"id is too large", `{"id":18446744073709551616,"text":"x"}`, corpus.Record{Err: "the id is a number; want a string or a whole number of at most 64 bits"}},
		{"id is a fraction", `{"id":1.5,"text":"x"}`, corpus.Record{Err: "the id is a number; want a string or a whole number of at most 64 bits"}},
		{"id beyond all", `{"id":"` + strings.Repeat("x", 1025) + `","text":"x"}`, corpus.Record{Err: "the id has 1025 bytes; at most 1024"}},
		{"no text", `{"id":"a","body":"x"}`, corpus.Record{ID: "a", Err: "there is no text; give a prompt or a text that is not empty, or messages; the keys are body, id"}},
		{"question and answer", `{"id":"a","question":"q","answer":"b"}`, corpus.Record{ID: "a", Prompt: "q", Continuation: "b"}},
		{"prompt and completion", `{"id":"a","prompt":"q","completion":"b"}`, corpus.Record{ID: "a", Prompt: "q", Continuation: "b"}},
		{"two answers", `{"id":"a","prompt":"q","completion":"b","answer":"c"}`, corpus.Record{ID: "a", Err: "there are a completion and a answer, which mean the same; give one of them"}},
		{"messages", `{"id":"a","messages":[{"role":"user","content":"q"}],"tools":[1]}`, corpus.Record{ID: "a", Messages: question, Tools: json.RawMessage("[1]")}},
		{"tools in a string", `{"id":"a","messages":[{"role":"user","content":"q"}],"tools":"[1]"}`, corpus.Record{ID: "a", Messages: question, Tools: json.RawMessage("[1]")}},
		{"a prompt with tools", `{"id":"a","prompt":"p","tools":[1]}`, corpus.Record{ID: "a", Prompt: "p", Tools: json.RawMessage("[1]")}},
		{"a call at the end", `{"id":"a","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{}]}]}`, corpus.Record{ID: "a", Messages: append(question[:1:1], trace.Message{Role: "assistant", Object: json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[{}]}`)}), Err: "the messages end with the assistant's, which is not a text alone, so it cannot be explained; leave it out to let the model answer"}},
		{"messages and an answer", `{"id":"a","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}`, corpus.Record{ID: "a", Messages: question, Continuation: "b"}},
		{"messages in a string", `{"id":"a","messages":"[{\"role\":\"user\",\"content\":\"q\"}]"}`, corpus.Record{ID: "a", Messages: question}},
		{"messages and a prompt", `{"id":"a","messages":[{"role":"user","content":"q"}],"prompt":"p"}`, corpus.Record{ID: "a", Messages: question, Prompt: "p"}},
		{"ShareGPT", `{"id":"a","conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"b"}]}`, corpus.Record{ID: "a", Messages: question, Continuation: "b"}},
		{"a message without a role", `{"id":"a","messages":[{"content":"q"}]}`, corpus.Record{ID: "a", Err: `the key "messages": messages[0]: the key "role" is missing`}},
		{"no messages", `{"id":"a","messages":[]}`, corpus.Record{ID: "a", Err: `the key "messages" has no messages`}},
		{"messages twice", `{"id":"a","messages":[{"role":"user","content":"q"}],"conversations":[{"from":"human","value":"q"}]}`, corpus.Record{ID: "a", Messages: question, Err: "there are messages and conversations, which mean the same; give one of them"}},
		{"an answer twice", `{"id":"a","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"b"}],"answer":"b"}`, corpus.Record{ID: "a", Messages: []trace.Message{{Role: "user", Content: "q"}, {Role: "assistant", Content: "b"}}, Err: "there are a continuation and messages that end with the assistant's, which mean the same; give one of them"}},
		{"empty text", `{"id":"a","text":""}`, corpus.Record{ID: "a", Err: "there is no text; give a prompt or a text that is not empty, or messages; the keys are id, text"}},
		{"text is a number", `{"id":"a","text":3}`, corpus.Record{ID: "a", Err: `the key "text" is a number; want a string`}},
		{"two texts", `{"id":"a","text":"x","prompt":"y"}`, corpus.Record{ID: "a", Err: "there are a prompt and a text, which mean the same; give one of them"}},
		{"continuation of a text", `{"id":"a","text":"x","continuation":"y"}`, corpus.Record{ID: "a", Err: "a continuation needs a prompt, not a text"}},
		{"a key twice", `{"id":"a","id":"b","text":"x"}`, corpus.Record{Err: `the line cannot be read: key "id" comes twice` + wantObject}},
		{"half a character", `{"id":"a","text":"\ud800"}`, corpus.Record{ID: "a", Err: `the key "text": \ud800 at byte 2 is the first half of a character; the second one must follow it`}},
		{"no JSON", `hello`, corpus.Record{Err: `the line cannot be read: not valid JSON at byte 1: unexpected "hello"` + wantObject}},
		{"a list", `["a"]`, corpus.Record{Err: `the line cannot be read: ["a"] is not an object` + wantObject}},
		{"cut", `{"id":"a","text":"x"`, corpus.Record{Err: "the line cannot be read: not valid JSON at byte 21: the text ends too early: is it cut off?" + wantObject}},
		{"two objects", `{"id":"a","text":"x"} {"id":"b"}`, corpus.Record{Err: "the line cannot be read: not valid JSON: there is more after the value" + wantObject}},
		{"not UTF-8", "{\"id\":\"a\",\"text\":\"\xff\"}", corpus.Record{Err: "the line is not valid UTF-8; convert the file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.File, c.want.Number = "f", 2
			got := lineRecords(t, corpus.FormatJSONL, "\n"+c.line+"\n\n")
			if diff := cmp.Diff([]corpus.Record{c.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadText(t *testing.T) {
	want := []corpus.Record{
		{File: "f", Number: 1, ID: "f:1", Prompt: "one line"},
		{File: "f", Number: 3, ID: "f:3", Prompt: "  another"},
	}
	got := lineRecords(t, corpus.FormatText, "one line\r\n   \n  another")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A byte order mark before the first line is no part of it, also in a file that gzip compressed,
// and tells that a file is in UTF-16. One anywhere else is a part of its line.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	want := []corpus.Record{
		{File: "f", Number: 1, ID: "f:1", Prompt: "the keys"},
		{File: "f", Number: 2, ID: "f:2", Prompt: mark + "mary"},
	}
	got := lineRecords(t, corpus.FormatText, mark+"the keys\r\n"+mark+"mary")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if got := lineRecords(t, corpus.FormatText, mark); len(got) != 0 {
		t.Errorf("a mark alone is %v", got)
	}
	const line = `{"id":"a","text":"x 𝔸"}`
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(line)) {
		little = binary.LittleEndian.AppendUint16(little, unit)
		big = binary.BigEndian.AppendUint16(big, unit)
	}
	for _, text := range []string{mark + line, string(little), string(big)} {
		path := filepath.Join(t.TempDir(), "a.jsonl.gz")
		write(t, path, compressed(t, strings.NewReader(text)))
		all := merged(t, path)
		if len(all) != 1 || all[0].ID != "a" || all[0].Err != "" || all[0].Prompt != "x 𝔸" {
			t.Errorf("compressed lines of JSON %q are %+v", text, all)
		}
	}
}

// longLine is a line of n bytes between two others.
func longLine(n int64) io.Reader {
	return io.MultiReader(strings.NewReader("{\"id\":\"a\",\"text\":\"x\"}\n"),
		io.LimitReader(letters{}, n-1), strings.NewReader("\n{\"id\":\"b\",\"text\":\"y\"}"))
}

// letters is the letter a, again and again.
type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// A line of 1 GB is one record with an error, and is never in memory.
func TestLineOfOneGigabyte(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all []corpus.Record
	err := corpus.ReadLines(longLine(1<<30), "f", corpus.FormatJSONL, func(r corpus.Record) error {
		all = append(all, r)
		return nil
	})
	runtime.ReadMemStats(&after)
	if err != nil || len(all) != 3 || all[0].ID != "a" || all[2].ID != "b" || all[2].Number != 3 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	const want = "the line has 1073741824 bytes; at most 16777216 (16 MiB) are read; split the text"
	if all[1].Err != want {
		t.Errorf("error %q, want %q", all[1].Err, want)
	}
	// A buffer that doubles until it has 16 MiB, and nothing of the rest.
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*corpus.MaxLine {
		t.Errorf("%d bytes allocated for a line of 1 GB", took)
	}
}

// writeManifest writes the manifest of some corpus into a folder.
func writeManifest(t *testing.T, dir string) {
	t.Helper()
	text, err := plan(t, texts(t, 3), 2, 0).JSON()
	must(t, err)
	write(t, filepath.Join(dir, corpus.ManifestName), string(text))
}

// What is beside a manifest, or beside a file that has only its name, is read like all else, apart
// from the shards of a corpus. A file that is named alone is read whatever its name is.
func TestDataBesideManifests(t *testing.T) {
	const line = `{"id":"a","text":"x"}`
	dir := t.TempDir()
	writeManifest(t, filepath.Join(dir, "corpus"))
	write(t, filepath.Join(dir, "other", corpus.ManifestName), line)
	for _, name := range []string{
		"corpus/a.jsonl", "corpus/shards/00000.parquet", "corpus/shards/00001.jsonl",
		"corpus/shards/1.parquet", "corpus/shards/deep/00001.parquet",
		"corpus/myshards/00001.parquet", "other/shards/00000.parquet",
	} {
		write(t, filepath.Join(dir, name), line)
	}
	s, err := corpus.OpenSource(t.Context(), dir, corpus.FormatJSONL)
	must(t, err)
	m, err := corpus.MakePlan(t.Context(), s, settings(2, 0))
	must(t, err)
	var got []string
	for _, f := range m.Input.Files {
		got = append(got, f.Name)
	}
	want := []string{
		"corpus/a.jsonl", "corpus/myshards/00001.parquet", "corpus/shards/00001.jsonl",
		"corpus/shards/1.parquet", "corpus/shards/deep/00001.parquet",
		"other/shards/00000.parquet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	leftOut := []corpus.LeftOut{
		{Name: "corpus/manifest.json", Why: corpus.PlanFile},
		{Name: "other/manifest.json", Why: corpus.PlanFile},
	}
	if diff := cmp.Diff(leftOut, s.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	alone := plan(t, filepath.Join(dir, "other", corpus.ManifestName), 2, 0)
	if alone.Input.Records != 1 {
		t.Errorf("a file that is named alone has %d records, want 1", alone.Input.Records)
	}
}

// A folder is read in the order of its names, and what is no input is left out.
func TestFolderInput(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b", "2.jsonl"), `{"id":"b2","text":"x"}`)
	write(t, filepath.Join(dir, "b.txt"), "x y\nz")
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":"a","text":"x"}`+"\n")
	write(t, filepath.Join(dir, "README.md"), "no input")
	writeManifest(t, filepath.Join(dir, "corpus"))
	write(t, filepath.Join(dir, "corpus", "shards", "00000.parquet"), "of a corpus in the input")
	write(t, filepath.Join(dir, ".hidden", "c.jsonl"), `{"id":"c","text":"x"}`)
	s := source(t, dir)
	m, err := corpus.MakePlan(t.Context(), s, settings(2, 0))
	must(t, err)
	var got []string
	for _, f := range m.Input.Files {
		got = append(got, name("%s %s %d", f.Name, f.Format, f.Records))
	}
	want := []string{"a.jsonl jsonl 1", "b.txt text 2", "b/2.jsonl jsonl 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	leftOut := []corpus.LeftOut{
		{Name: "README.md", Why: corpus.UnknownName},
		{Name: "corpus/manifest.json", Why: corpus.PlanFile},
	}
	if diff := cmp.Diff(leftOut, s.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// A folder that is a link is read as the folder it leads to. Links in it that lead to folders or to
// nothing are left out and named, and the files beside them are read.
func TestLinksInInput(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "other", "b.jsonl"), `{"id":"b","text":"x"}`)
	write(t, filepath.Join(dir, "data", "a.jsonl"), `{"id":"a","text":"x"}`)
	for name, to := range map[string]string{
		"data/dangling.jsonl": "/nonexistent", "data/loop.jsonl": "loop.jsonl",
		"data/sub": "../other", "data/c.jsonl": "../other/b.jsonl", "link": "data",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	want := []corpus.LeftOut{
		{Name: "dangling.jsonl", Why: corpus.Unreadable},
		{Name: "loop.jsonl", Why: corpus.Unreadable},
		{Name: "sub", Why: corpus.LinkToFolder},
	}
	for _, folder := range []string{"data", "link"} {
		input := filepath.Join(dir, folder)
		s := source(t, input)
		if diff := cmp.Diff(want, s.LeftOut); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", folder, diff)
		}
		var got []string
		for _, f := range plan(t, input, 2, 0).Input.Files {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff([]string{"a.jsonl", "c.jsonl"}, got); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", folder, diff)
		}
	}
}

// An input in a bucket: a folder, one file, and the same manifest as for a folder of this machine.
func TestBucketInput(t *testing.T) {
	input := texts(t, 30)
	text, err := os.ReadFile(input)
	must(t, err)
	want := plan(t, input, 2, 0)
	server := buckettest.New(t)
	server.Set("in/texts.jsonl", text)
	for _, folder := range []string{"in", "in/texts.jsonl"} {
		s := source(t, server.Address(folder))
		got, err := corpus.MakePlan(t.Context(), s, settings(2, 0))
		must(t, err)
		if got.Hash != want.Hash {
			t.Errorf("%s: manifest %s, want %s: %+v", folder, got.Hash, want.Hash, got.Input)
		}
	}
	_, err = corpus.OpenSource(t.Context(), server.Address("no"), "")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such key: %v", err)
	}
}

// A run opens the file that it is given, also if it was planned under another name, and not what
// has the planned name beside it.
func TestRenamedInput(t *testing.T) {
	var rows []numberedRow
	for i := range 20 {
		text := name("the keys %d", i)
		rows = append(rows, numberedRow{nil, &text, int64(i)})
	}
	for _, input := range []string{texts(t, 20), writeParquet(t, rows)} {
		want := merged(t, input)
		data, err := os.ReadFile(input)
		must(t, err)
		dir := t.TempDir()
		renamed := filepath.Join(dir, "renamed"+filepath.Ext(input))
		write(t, renamed, string(data))
		write(t, filepath.Join(dir, filepath.Base(input)), "another file")
		p, _ := folder(t)
		c := create(t, p, plan(t, input, 3, 0))
		whole(t, c, renamed)
		if diff := cmp.Diff(want, rowsOf(t, c)); diff != "" {
			t.Errorf("(-planned +renamed):\n%s", diff)
		}
	}
}

// ending is a context that ends after it was looked at so many times.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// Reading ends with its context in the middle of a long line.
func TestInterruptedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	write(t, path, strings.Repeat("x", 8<<20))
	_, err := corpus.MakePlan(&ending{t.Context(), 20}, source(t, path), settings(1, 0))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestRefusedInput(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty", "a.jsonl"), "\n\n")
	write(t, filepath.Join(dir, "wrong", "a.jsonl"), "x\ny\n")
	write(t, filepath.Join(dir, "other.csv"), "id,text\n")
	for _, c := range []struct{ name, input, format, want string }{
		{"missing", filepath.Join(dir, "none"), "", "none: no such file or directory"},
		{"unknown name", filepath.Join(dir, "other.csv"), "", "does not say what it is; name its format: jsonl, parquet, text"},
		{"unknown format", dir, "json", `format "json" is unknown; did you mean jsonl? known are jsonl, parquet, text`},
		{"no records", filepath.Join(dir, "empty"), "", "empty has no records"},
		{"all wrong", filepath.Join(dir, "wrong"), "", "2 are wrong, and 0 failed; the last one is a.jsonl record 2: the line cannot be read: not valid JSON"},
		{"no driver", "ftp://host/folder", "", "ftp://host/folder: there are no buckets of the kind"},
		{"file with a fragment", "file:///folder#1", "", "the address of a folder has no ? and #; write %3F"},
		{"bucket with a fragment", "s3://texts/a#b", "", "s3://texts/a#b: the address of a bucket has no #; write %23"},
		{"file with a query", "file:///folder?a=1", "", "the address of a folder has no ? and #"},
		{"file with a host", "file://host/folder", "", "want file:///folder, with three slashes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := corpus.OpenSource(t.Context(), c.input, c.format)
			if err == nil {
				_, err = corpus.MakePlan(t.Context(), s, settings(2, 0))
			}
			checkError(t, c.name, err, c.want)
		})
	}
}

// A manifest, which is JSON, cannot have the name of a file that is not valid UTF-8, so that no run
// would find the file.
func TestNameThatIsNoText(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "caf\xe9.txt")
	if err := os.WriteFile(path, []byte("the keys\n"), 0o600); err != nil {
		t.Skip(err) // a file system of names in UTF-8
	}
	for _, input := range []string{dir, path} {
		_, err := corpus.MakePlan(t.Context(), source(t, input), settings(2, 0))
		checkError(t, input, err, `the file "caf\xe9.txt", whose name is not valid UTF-8; rename`)
	}
}

// A plan whose options fit no record is given up after a while, and not for one that is too long.
func TestPlanTries(t *testing.T) {
	input := texts(t, 300)
	set := settings(2, 0)
	tries := 0
	set.Try = func(context.Context, corpus.Record) (*attribution.Explanation, error) {
		tries++
		return nil, errors.New("head 99; there are 8")
	}
	_, err := corpus.MakePlan(t.Context(), source(t, input), set)
	checkError(t, "always", err, "none of the first 100 records can be explained", "head 99")
	good := settings(2, 0).Try
	set.Try = func(ctx context.Context, r corpus.Record) (*attribution.Explanation, error) {
		if tries++; tries < 150 {
			return nil, errors.New("too long")
		}
		return good(ctx, r)
	}
	if _, err := corpus.MakePlan(t.Context(), source(t, input), set); err != nil || tries != 150 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

// A bucket that refuses ends the program with what to do; one that does not answer can be tried
// again.
func TestRefusingBucket(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   string
		retry  bool
	}{
		{403, "AccessDenied", "the bucket refuses access; check its name, the account (", false},
		{500, "InternalError", "cannot be", true},
		{503, "SlowDown", "cannot be", true},
		{400, "InvalidArgument", "cannot be", false},
		{501, "NotImplemented", "cannot be", false},
	} {
		s := buckettest.New(t)
		s.Refuse = func(*http.Request) (int, string) { return c.status, c.code }
		_, list := corpus.OpenSource(t.Context(), s.Address("c"), "")
		_, open := corpus.Open(t.Context(), bucketPlace(t, s, "c"))
		for _, err := range []error{list, open} {
			checkError(t, c.code, err, "s3://corpora/c", c.want, "the server answers "+c.code)
			retry := (*corpus.RetryError)(nil)
			if errors.As(err, &retry) != c.retry {
				t.Errorf("%v: %v, want to try again: %v", c.code, err, c.retry)
			}
		}
	}
}

// What is no folder and no bucket of S3 is refused with what to do instead.
func TestOtherBuckets(t *testing.T) {
	for name, want := range map[string]string{
		"gs://texts":       "?endpoint=storage.googleapis.com, with an HMAC key in",
		"azblob://texts/a": "mount it with blobfuse2",
		"ftp://texts":      `the kind "ftp"; known are s3:// and file://`,
		"s3://":            "the bucket s3:// cannot be opened: bucket: Bucket name",
	} {
		_, err := corpus.OpenPlace(name)
		checkError(t, name, err, want)
	}
}

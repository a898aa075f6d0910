package corpus_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/bucket/buckettest"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// fake explains a text without a model: its tokens are its words, and the scores are made of their
// lengths. before, if not nil, is called before each group.
type fake struct{ before func(context.Context) error }

func (f fake) Explain(
	ctx context.Context, records []corpus.Record, each func(int, corpus.Result),
) error {
	if f.before != nil {
		if err := f.before(ctx); err != nil {
			return err
		}
	}
	for i, r := range slices.Backward(records) { // any order is allowed
		if strings.Contains(r.Prompt, "unexplainable") {
			each(i, corpus.Result{Err: "the text cannot be explained"})
			continue
		}
		each(i, corpus.ResultOf(explanation(r), []string{"m"}))
	}
	return nil
}

// explanation is what the fake says of a record: two generated tokens by two layers.
func explanation(r corpus.Record) *attribution.Explanation {
	e := &attribution.Explanation{Order: []string{"m"}, Methods: map[string]*attribution.Result{}}
	e.Prompt.Text = r.Prompt
	words := strings.Fields(r.Prompt)
	at := 0
	for i, word := range words {
		begin := at + strings.Index(r.Prompt[at:], word)
		at = begin + len(word)
		e.Prompt.IDs = append(e.Prompt.IDs, i)
		e.Prompt.Texts = append(e.Prompt.Texts, word)
		e.Prompt.Offsets = append(e.Prompt.Offsets, [2]int{begin, at})
	}
	result := &attribution.Result{
		Layers: []int{0, 1}, Shape: [3]int{2, len(words), 2}, Unit: "share of length", Facts: attribution.Facts{Quantity: attribution.Share},
		Shown: []int{1, 0},
	}
	for t := range 2 {
		e.Steps = append(e.Steps, attribution.GeneratedToken{
			ID: t, Text: "next", Probability: 1 / float64(len(r.Prompt)+t),
		})
		for k := range 2 {
			var row []float64
			for _, word := range words {
				row = append(row, float64(len(word)*(t+1)+k)/float64(len(r.Prompt)))
			}
			result.Rows = append(result.Rows, append(row, []float64{0.25, 0.75}[k:k+t]...))
		}
	}
	e.Methods["m"] = result
	return e
}

// texts writes an input of n records as lines of JSON, among them wrong ones, and returns its path.
func texts(t *testing.T, n int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"the", "keys", "to", "cabinet", "are", "unexplainable", "é", "世界"}
	var b strings.Builder
	for i := range n {
		var text []string
		for range 1 + random.IntN(12) {
			text = append(text, words[random.IntN(len(words))])
		}
		line, err := json.Marshal(map[string]any{"id": i, "text": strings.Join(text, " ")})
		must(t, err)
		b.Write(line)
		b.WriteByte('\n')
		if i%50 == 7 {
			b.WriteString("{\"text\":\"no id\"}\n\nno JSON\n{\"id\":\"3\",\"text\":\"again\"}\n")
		}
	}
	path := filepath.Join(t.TempDir(), "texts.jsonl")
	write(t, path, b.String())
	return path
}

// bucketPlace opens a folder of the bucket of a server.
func bucketPlace(t *testing.T, s *buckettest.Server, folder string) *corpus.Place {
	t.Helper()
	p, err := corpus.OpenPlace(s.Address(folder))
	must(t, err)
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// source opens an input.
func source(t *testing.T, path string) *corpus.Source {
	t.Helper()
	s, err := corpus.OpenSource(t.Context(), path, "")
	must(t, err)
	return s
}

// settings are those of a plan for the fake.
func settings(shards, tasks int) corpus.Settings {
	return corpus.Settings{
		Version: "test", Shards: shards, Tasks: tasks,
		Model: corpus.Model{Name: "fake", Hash: "0123", Family: "fake", Backend: "go"},
		Try: func(_ context.Context, r corpus.Record) (*attribution.Explanation, error) {
			return explanation(r), nil
		},
	}
}

// plan makes a manifest of an input.
func plan(t *testing.T, input string, shards, tasks int) *corpus.Manifest {
	t.Helper()
	m, err := corpus.MakePlan(t.Context(), source(t, input), settings(shards, tasks))
	must(t, err)
	return m
}

// folder is a new folder as a place.
func folder(t *testing.T) (*corpus.Place, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "corpus")
	p, err := corpus.OpenPlace(dir)
	must(t, err)
	return p, dir
}

// create writes a manifest into a place.
func create(t *testing.T, p *corpus.Place, m *corpus.Manifest) *corpus.Corpus {
	t.Helper()
	c, err := corpus.Create(t.Context(), p, m)
	must(t, err)
	return c
}

// runner makes some shards of a corpus with the fake.
func runner(t *testing.T, c *corpus.Corpus, input string, shards []int) *corpus.Runner {
	t.Helper()
	return &corpus.Runner{
		Corpus: c, Source: source(t, input), Explainer: fake{}, Shards: shards, Workers: 1,
	}
}

// whole makes all shards in one process and returns the hash of their bytes.
func whole(t *testing.T, c *corpus.Corpus, input string) string {
	t.Helper()
	if _, err := runner(t, c, input, c.ShardsOf(0, 1)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return verified(t, c)
}

// written makes a corpus of so many texts whose shards are complete in a new folder.
func written(t *testing.T, count, shards int) (*corpus.Corpus, *corpus.Place, string) {
	t.Helper()
	input := texts(t, count)
	p, dir := folder(t)
	c := create(t, p, plan(t, input, shards, 0))
	whole(t, c, input)
	return c, p, dir
}

// verified returns the hash of the bytes of all shards, which must be as the manifest says.
func verified(t *testing.T, c *corpus.Corpus) string {
	t.Helper()
	v, err := c.Verify(t.Context(), nil)
	must(t, err)
	if len(v.Problems) > 0 || v.Records != c.Manifest.Input.Records ||
		v.Shards != len(c.Manifest.Shards) {
		t.Fatalf("verify: %d of %d records, %d shards, problems %q", v.Records,
			c.Manifest.Input.Records, v.Shards, v.Problems)
	}
	return v.SHA256
}

// fileHash returns the SHA-256 of a file.
func fileHash(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// wait waits, but not longer than ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkError checks that an error says something.
func checkError(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %v, want %q", what, err, w)
		}
	}
}

// name is a name for a subtest.
func name(format string, args ...any) string { return fmt.Sprintf(format, args...) }

var must = testhelp.Must // ends a test at an error

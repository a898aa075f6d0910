package report_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/report"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// words explains a text without a model: its tokens are its words, each generated token comes from
// token j by the length of the word, and from generated tokens by 1.
type words struct{ generated int }

func (w words) Explain(
	_ context.Context, records []corpus.Record, each func(int, corpus.Result),
) error {
	for i, r := range records {
		if strings.Contains(r.Prompt, "refused") {
			each(i, corpus.Result{Err: "the text is refused <b>"})
			continue
		}
		each(i, w.result(r.Prompt))
	}
	return nil
}

func (w words) result(text string) corpus.Result {
	r := corpus.Result{Text: text}
	x := corpus.Scores{Layers: []int32{0, 1}}
	at := 0
	for _, word := range strings.Split(text, " ") {
		r.PromptIDs, r.PromptTexts = append(r.PromptIDs, 1), append(r.PromptTexts, word)
		r.PromptBegin = append(r.PromptBegin, int32(at))
		r.PromptEnd = append(r.PromptEnd, int32(at+len(word)))
		at += len(word) + 1
	}
	for range w.generated {
		r.IDs, r.Texts = append(r.IDs, 2), append(r.Texts, " next</i>")
		r.Probability = append(r.Probability, 0.5)
		for _, word := range r.PromptTexts {
			x.Scores = append(x.Scores, float32(len(word)))
		}
		x.Generated, x.Shown = append(x.Generated, 1), append(x.Shown, 1)
		x.Totals, x.Firsts = append(x.Totals, 0.25, 0.5), append(x.Firsts, 0, 0.125)
	}
	r.Methods = []corpus.Scores{x, x}
	return r
}

// planned is a corpus of texts, each with its number as its id, none of it made.
func planned(t *testing.T, texts []string) (*corpus.Corpus, *corpus.Source) {
	t.Helper()
	var b bytes.Buffer
	for i, text := range texts {
		line, err := json.Marshal(map[string]any{"id": i, "text": text})
		must(t, err)
		b.Write(append(line, '\n'))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "texts.jsonl")
	must(t, os.WriteFile(path, b.Bytes(), 0o600))
	source, err := corpus.OpenSource(t.Context(), path, "")
	must(t, err)
	m, err := corpus.MakePlan(t.Context(), source, corpus.Settings{
		Version: "test", Shards: 3, Tasks: 1,
		Model: corpus.Model{Name: filepath.Join(dir, "model"), Hash: "0123", Family: "fake"},
		Try: func(context.Context, corpus.Record) (*attribution.Explanation, error) {
			return &attribution.Explanation{
				Order: []string{"long", "<b>"}, Methods: map[string]*attribution.Result{
					"long": {Unit: "share of length"}, "<b>": {Unit: "<i>"},
				},
			}, nil
		},
	})
	must(t, err)
	place, err := corpus.OpenPlace(filepath.Join(dir, "corpus"))
	must(t, err)
	c, err := corpus.Create(t.Context(), place, m)
	must(t, err)
	return c, source
}

// made is a corpus of texts of which some shards are made; nil makes all.
func made(t *testing.T, texts []string, generated int, shards []int) *corpus.Corpus {
	t.Helper()
	c, source := planned(t, texts)
	if shards == nil {
		shards = c.ShardsOf(0, 1)
	}
	r := &corpus.Runner{
		Corpus: c, Source: source, Explainer: words{generated}, Shards: shards, Workers: 1,
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// written returns the page of a corpus.
func written(t *testing.T, c *corpus.Corpus, o report.Options) (string, *report.Found) {
	t.Helper()
	var b bytes.Buffer
	found, err := report.Write(t.Context(), &b, c, o)
	must(t, err)
	return b.String(), found
}

// wants fails the test for what a page does not have.
func wants(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The numbers of a corpus that can be computed by hand.
func TestWrite(t *testing.T) {
	texts := []string{"a bbb", "a bb c", "refused", "bbb a", "a"}
	c := made(t, texts, 1, nil)
	page, found := written(t, c, report.Options{})
	if found.Records != 5 || found.Errors != 1 || found.Incomplete != 0 || found.Shards != 3 {
		t.Errorf("found %+v", found)
	}
	// Strongest without the first token: 3/5, 2/5 and 1/5. First: 1/5, 1/5, 3/5 and 1/2. Prompt:
	// 4/5, 4/5, 4/5 and 1/2.
	wants(t, page,
		"<h1>Corpus texts.jsonl</h1>", "<dd>model (fake", "texts.jsonl (5 records)",
		"5 in 3 shards; 8 prompt tokens and 4 generated tokens",
		"1 record without scores<ul><li>1: the text is refused &lt;b&gt;</li>",
		"<td>long<td>share of length<td class=n>4<td class=n>40.0\u00a0%<td class=n>37.5\u00a0%"+
			"<td class=n>72.5\u00a0%<td class=n>27.5\u00a0%<td class=n>0",
		"All prompt tokens by layer", "long from 0.25 after layer 0 to 0.5 after layer 1",
		"All 3 texts are listed",
		"<summary class=row><span>1</span><span>0</span><span>60.0\u00a0%</span>"+
			"<span>next&lt;/i&gt;</span><span>0.500</span><span>a bbb</span>",
		"<summary class=row><span>3</span><span>3</span><span>20.0\u00a0%</span>",
	)
	if n := strings.Count(page, "<figure>"); n != 9 {
		t.Errorf("%d charts, want 9", n)
	}
	again, _ := written(t, c, report.Options{})
	if again != page {
		t.Error("the second page has other bytes")
	}
	other, _ := written(t, made(t, texts, 1, nil), report.Options{})
	if other != page {
		t.Error("the page of the same corpus in another folder has other bytes")
	}
}

// Words are found by their bytes, and one that is nowhere is said.
func TestWriteWords(t *testing.T) {
	c := made(t, []string{"a bbb cc", "cc bbb", "bbbb"}, 2, nil)
	page, found := written(t, c, report.Options{
		Method: "<b>", Top: 1, Words: []string{"bbb cc", "<u>gone"},
	})
	if len(found.NeverSeen) != 1 || found.NeverSeen[0] != "<u>gone" {
		t.Errorf("never seen: %q", found.NeverSeen)
	}
	wants(t, page,
		"<tr><td>bbb cc<td class=n>1<td class=n>71.4\u00a0%<td class=n>71.4\u00a0%</tr>",
		"The word <b>&lt;u&gt;gone</b> is in no text with scores",
		"Texts in which most comes from bbb cc, &lt;u&gt;gone", "by &lt;b&gt;. One text is listed",
		`<i class="q16 m" title="42.9`+"\u00a0"+`%">bbb</i>`,
	)
}

// What is missing is said, and without a shard there is no page.
func TestWriteIncomplete(t *testing.T) {
	texts := []string{"a b", "b c", "c d", "d e", "e f", "f g"}
	c := made(t, texts, 1, []int{1})
	page, found := written(t, c, report.Options{})
	if found.Incomplete != 2 || found.Records != c.Manifest.Shards[1].Records {
		t.Errorf("found %+v", found)
	}
	wants(t, page, "<b>2 of 3 shards are missing or damaged.</b>")
	none, _ := planned(t, texts)
	_, err := report.Write(t.Context(), &bytes.Buffer{}, none, report.Options{})
	if err == nil || !strings.Contains(err.Error(), "none of the 3 shards") {
		t.Errorf("without a shard: %v", err)
	}
	_, err = report.Write(t.Context(), &bytes.Buffer{}, c, report.Options{Method: "lang"})
	var unknown *report.MethodError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "did you mean long?") {
		t.Errorf("unknown method: %v", err)
	}
}

// Nothing in a corpus is markup, the page loads nothing, and its script is the one that its policy
// allows.
func TestWriteHostile(t *testing.T) {
	hostile := []string{
		`<script>alert(1)</script> "><img/src=x> '&amp; ` + "\x00\x07\x1b[31m \u202e \u2028 b",
		"</details></main><style>*{display:none}</style> https://example.com/x b",
		strings.Repeat("<b>", 3000) + " b",
	}
	page, _ := written(t, made(t, hostile, 2, nil), report.Options{Words: []string{"b", "<b>"}})
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(script) != 1 {
		t.Fatalf("%d scripts, want 1", len(script))
	}
	sum := sha256.Sum256([]byte(script[0][1]))
	wants(t, page, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'",
		"default-src 'none'", "&lt;script&gt;alert(1)&lt;/script&gt;", "⟨U+202E⟩", "␛[31m")
	for _, bad := range []string{"<script>alert", "<img/", "\x00", "\x1b", "\u202e", "\u2028"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	// The page has these tags once, whatever the texts say, and no source but data.
	for tag, want := range map[string]int{"<style>": 1, "</main>": 1, "</html>": 1} {
		if n := strings.Count(page, tag); n != want {
			t.Errorf("%d times %s, want %d", n, tag, want)
		}
	}
	for _, m := range regexp.MustCompile(`<[^>]*\b(?:src|href|action)="([^"]{0,5})`).
		FindAllStringSubmatch(page, -1) {
		if m[1] != "data:" {
			t.Errorf("a tag has the address %q", m[1])
		}
	}
}

// 50 texts of 100 tokens are less than 2 MB, and longer texts are cut.
func TestWriteSize(t *testing.T) {
	const limit = 2 << 20
	for _, tokens := range []int{100, 600} {
		var texts []string
		for i := range 80 {
			texts = append(texts, strings.Repeat("some words ", tokens/2)+strings.Repeat("x", i))
		}
		page, _ := written(t, made(t, texts, 16, nil), report.Options{})
		t.Logf("%d tokens: %d bytes", tokens, len(page))
		if len(page) > limit {
			t.Errorf("50 texts of %d tokens are %d bytes; want at most %d", tokens, len(page),
				limit)
		}
		if n := strings.Count(page, "<div class=pic"); n != 50 {
			t.Errorf("%d pictures, want 50", n)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    report.Options
		want string
	}{
		{report.Options{Top: report.MaxTop + 1}, "1001 texts; want 1 to 1000"},
		{report.Options{Words: []string{"a", " \t"}}, "word 2 is empty"},
		{report.Options{Words: []string{strings.Repeat("a", 201)}}, "word 1 has 201 bytes"},
		{report.Options{Words: []string{"a", "a"}}, `the word "a" is given twice`},
		{report.Options{Words: make([]string, 21)}, "21 words; at most 20"},
	} {
		if err := c.o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

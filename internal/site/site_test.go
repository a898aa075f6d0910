package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDocuments makes the site of the documents, whose links build follows, with pictures of a
// program that writes its arguments: every document of docs has a page, nothing is loaded from
// elsewhere, and two runs have the same bytes.
func TestDocuments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "head water")
	script := "#!/bin/sh\nfor a; do [ \"$last\" = -o ] && echo \"$@\" >$a; last=$a; done\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the live page needs a shell")
	}
	files, err := build(os.DirFS("../.."), program)
	if err != nil {
		t.Fatal(err)
	}
	again, err := build(os.DirFS("../.."), program)
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("another run has other bytes; error %v", err)
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(documents) < 20 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	for _, document := range documents {
		name := "docs/" + strings.TrimSuffix(filepath.Base(document), ".md") + ".html"
		if files[name] == nil {
			t.Errorf("no links lead from README.md to %s", name)
		}
	}
	loaded := regexp.MustCompile(`(?:src="|<link|url\()(?:https?:)?//`)
	links := regexp.MustCompile(`(?:href|src)="([^":#]*)(?:#[^"]*)?"`)
	for name, data := range files {
		if loaded.Match(data) {
			t.Errorf("%s loads something from elsewhere", name)
		}
		for _, m := range links.FindAllSubmatch(data, -1) {
			to := filepath.ToSlash(filepath.Join(filepath.Dir(name), string(m[1])))
			if strings.HasSuffix(name, ".html") && len(m[1]) > 0 && files[to] == nil {
				t.Errorf("%s leads to %s, which is not there", name, to)
			}
		}
	}
	page := string(files["docs/live.html"])
	for _, want := range []string{
		`<a href="../index.html">Headwater</a>`, `<a href="../docs/live.html" aria-current="page">Live`,
		`<iframe src="live/toy.html"`, `<iframe src="live/heads.html"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the live page lacks %s", want)
		}
	}
	if got := string(files["docs/live/heads.html"]); !strings.Contains(got, "--contrast  John -o") {
		t.Errorf("the picture of heads was made by %q", got)
	}
	if got := string(files["docs/figures.html"]); !strings.Contains(got,
		`src="../docs/figures/s0-mass.svg"`) || files["docs/figures/s0-mass.svg"] == nil {
		t.Error("the gallery has no pictures")
	}
}

// A link to a heading is written as GitHub names it, and one that leads nowhere is an error.
func TestLinks(t *testing.T) {
	checkout := fstest.MapFS{
		"README.md": {Data: []byte("# A\n\n[B](docs/b.md#what-it-is--f_1-1) [c](c.go)\n<b>x</b>")},
		"docs/b.md": {Data: []byte("# B\n\n## What it is, `f_1`\n\n## What it is: & f_1!\n\n" +
			"## What it is?  f_1\n[A](../README.md) [up](#b)")},
		"c.go": {},
	}
	files, err := build(checkout, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{
		"docs/b.html", "index.html",
	}) {
		t.Errorf("the files are %q", got)
	}
	page := string(files["index.html"])
	for _, want := range []string{
		`<a href="docs/b.html#what-it-is--f_1-1">B</a>`, `<a href="` + repository + `c.go">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<b>x") {
		t.Error("HTML of a document reaches the page")
	}
	for _, dead := range []string{"[x](docs/x.md)", "[x](docs/b.md#x)", "[x](d.go)", "![x](x.svg)"} {
		checkout["README.md"].Data = []byte("# A\n\n[B](docs/b.md) " + dead)
		if _, err := build(checkout, ""); err == nil {
			t.Errorf("%s leads nowhere, and is no error", dead)
		}
	}
}

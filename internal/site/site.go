// Site writes the documents of a checkout as pages that a browser opens without a server: README.md
// as the first page, every document that links lead to from there, and their pictures. Equal
// documents give equal bytes.
//
//	go run ./internal/site -o out/site -headwater .cache/bin/headwater
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"log"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// repository has the files of the checkout that are no pages.
const repository = "https://github.com/headwater-ml/headwater/blob/main/"

// live is the document that has the pages which its blocks of commands write.
const live = "docs/live.md"

var (
	//go:embed page.html
	layout       string
	pageTemplate = template.Must(template.New("page").Parse(layout))
	markdown     = goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
)

func main() {
	out := flag.String("o", "out/site", "`folder` to write into")
	program := flag.String("headwater", "", "`program` that makes the live pictures; none without")
	flag.Parse()
	files, err := build(os.DirFS("."), *program)
	for name, data := range files {
		at := filepath.Join(*out, filepath.FromSlash(name))
		err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o644), err)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// site is the documents of a checkout, by their names, such as docs/views.md, in the order in which
// links from README.md lead to them, and the files of the site.
type site struct {
	checkout fs.FS
	pages    map[string]*page
	order    []string
	files    map[string][]byte
}

// page is a document as it was parsed. Anchors are the names of its headings.
type page struct {
	source  []byte
	root    ast.Node
	title   string
	anchors anchors
}

// build returns the files of the site by their names. It returns an error for a link that leads
// nowhere. Without a program there are no live pictures.
func build(checkout fs.FS, program string) (map[string][]byte, error) {
	s := site{checkout, map[string]*page{}, []string{"README.md"}, map[string][]byte{}}
	for i := 0; i < len(s.order); i++ {
		if err := s.parse(s.order[i]); err != nil {
			return nil, err
		}
	}
	for _, name := range s.order {
		if err := s.write(name, program); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.files, nil
}

// parse reads a document, and notes those that it links to.
func (s *site) parse(name string) (err error) {
	p := &page{anchors: anchors{}}
	if p.source, err = fs.ReadFile(s.checkout, name); err != nil {
		return err
	}
	p.root = markdown.Parser().Parse(text.NewReader(p.source),
		parser.WithContext(parser.NewContext(parser.WithIDs(p.anchors))))
	s.pages[name] = p
	return ast.Walk(p.root, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if enters && n.Level == 1 {
				p.title = string(n.Lines().Value(p.source))
			}
		case *ast.Link:
			to, _, local := target(name, n.Destination)
			if enters && local && path.Ext(to) == ".md" && !slices.Contains(s.order, to) {
				s.order = append(s.order, to)
			}
		}
		return ast.WalkContinue, nil
	})
}

// target returns the file of the checkout and the heading that a link leads to; local is false of
// one that leads to another site.
func target(from string, link []byte) (name, anchor string, local bool) {
	u, err := url.Parse(string(link))
	switch {
	case err != nil || u.Scheme != "":
		return "", "", false
	case u.Path == "":
		return from, u.Fragment, true
	}
	return path.Join(path.Dir(from), u.Path), u.Fragment, true
}

// fileOf is the file of a document in the site.
func fileOf(document string) string {
	return strings.TrimSuffix(strings.Replace(document, "README.", "index.", 1), ".md") + ".html"
}

// relative is the link from the page of a document to a file of the site.
func relative(document, to string) string {
	return strings.Repeat("../", strings.Count(document, "/")) + to
}

// write writes the page of a document, with the pictures that it shows.
func (s *site) write(name, program string) error {
	p := s.pages[name]
	err := ast.Walk(p.root, func(n ast.Node, enters bool) (_ ast.WalkStatus, err error) {
		switch n := n.(type) {
		case *ast.Link:
			if enters {
				n.Destination, err = s.link(name, n.Destination)
			}
		case *ast.Image:
			if to, _, local := target(name, n.Destination); local && enters {
				s.files[to], err = fs.ReadFile(s.checkout, to)
				n.Destination = []byte(relative(name, to))
			}
		}
		return ast.WalkContinue, err
	})
	var body, out bytes.Buffer
	err = errors.Join(err, markdown.Renderer().Render(&body, p.source, p.root))
	written := body.String()
	if err == nil && name == live && program != "" {
		written, err = s.show(written, p, program)
	}
	var items []map[string]any
	for _, to := range s.order {
		if strings.Count(to, "/") == 0 || path.Dir(to) == "docs" {
			items = append(items, map[string]any{
				"Link": relative(name, fileOf(to)), "Title": s.pages[to].title, "Here": to == name,
			})
		}
	}
	err = errors.Join(err, pageTemplate.Execute(&out, map[string]any{
		"Title": p.title, "Items": items,
		"Body": template.HTML(written), //nolint:gosec // without the HTML of documents
	}))
	s.files[fileOf(name)] = out.Bytes()
	return err
}

// link returns where a link of a document leads in the site.
func (s *site) link(from string, destination []byte) ([]byte, error) {
	to, anchor, local := target(from, destination)
	if !local {
		return destination, nil
	}
	p, page := s.pages[to], relative(from, fileOf(to))
	switch {
	case p == nil:
		_, err := fs.Stat(s.checkout, to)
		return []byte(repository + to), err
	case anchor == "":
		return []byte(page), nil
	case !p.anchors[anchor]:
		return nil, fmt.Errorf("a link leads to %s, which has no heading #%s", to, anchor)
	}
	return []byte(page + "#" + url.PathEscape(anchor)), nil
}

// saved is the page that a command of the live page writes.
var saved = regexp.MustCompile(`-o (\w+\.html) `)

// show runs each block of commands of the live page, and puts the pages that it writes below it. A
// block of SmolLM2 that fails is left as it is: the model may not be there.
func (s *site) show(body string, p *page, program string) (string, error) {
	program, err := filepath.Abs(program)
	folder, wrong := os.MkdirTemp("", "site")
	defer os.RemoveAll(folder)
	err = errors.Join(err, wrong)
	parts, i := strings.SplitAfter(body, "</pre>\n"), 0
	for n := p.root.FirstChild(); n != nil && err == nil; n = n.NextSibling() {
		if n.Kind() != ast.KindFencedCodeBlock {
			continue
		}
		commands := string(n.Lines().Value(p.source))
		// $0 is the program.
		run := exec.Command("sh", "-ec", `headwater() { "$0" "$@"; }`+"\n"+commands, program)
		run.Dir = folder
		if out, wrong := run.CombinedOutput(); wrong != nil {
			fmt.Fprintf(os.Stderr, "%s%s", commands, out)
			if !strings.Contains(commands, "smollm2") {
				err = wrong
			}
		} else if m := saved.FindStringSubmatch(commands); m != nil {
			s.files["docs/live/"+m[1]], err = os.ReadFile(filepath.Join(folder, m[1]))
			parts[i] += fmt.Sprintf(`<p><iframe src="live/%s" title="%[1]s" loading="lazy">`+
				`</iframe><br><a href="live/%[1]s">Open it alone</a></p>`, m[1])
		}
		i++
	}
	return strings.Join(parts, ""), err
}

// anchors makes the names of headings as GitHub does, which the links of documents use.
type anchors map[string]bool

// Generate implements [parser.IDs].
func (names anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' || unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, string(heading))
	name = strings.ReplaceAll(name, " ", "-")
	free := name
	for i := 1; names[free]; i++ {
		free = fmt.Sprintf("%s-%d", name, i)
	}
	names[free] = true
	return []byte(free)
}

// Put implements [parser.IDs].
func (names anchors) Put(name []byte) { names[string(name)] = true }

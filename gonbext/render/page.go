package render

import (
	"bytes"
	"fmt"
	"io"

	"github.com/headwater-ml/headwater/attribution"
)

// pageMaxBytes is how large the picture of a document is at most by default. A file has more room
// than the cell of a notebook.
const pageMaxBytes = 5_000_000

// inPage returns the limit of the picture of a document; one that is not above 0 is the default.
func inPage(limit int) int {
	if limit <= 0 {
		return pageMaxBytes
	}
	return limit
}

// toDo says how a reader gets what the limit leaves out.
func (b *page) toDo() string {
	if b.limit < pageMaxBytes {
		return "Save the picture as a page, which has more room, or take a shorter text."
	}
	return "Take a shorter text."
}

// withoutRoom writes what does not work, because its numbers would make the picture too large.
func (b *page) withoutRoom(what string) {
	b.printf(`<div style="%s">%s: with its numbers the picture would be larger than %s bytes. `+
		`%s</div>`, small, what, thousands(b.limit), b.toDo())
}

// noClicks is what withoutRoom says of a picture without its script.
const noClicks = "Clicks show nothing here"

// Page is a heatmap as an HTML document: the [HTML] of a notebook with a title and a character set.
// It is light or dark as the reader's system is. MaxBytes is 5,000,000 by default.
type Page struct {
	HTML
	// Title is the title of the document; default: the prompt.
	Title string
}

// WriteTo writes the document. The only error is that of w. The title is the only text outside of
// the picture, and it is escaped like every token.
func (r Page) WriteTo(w io.Writer) (int64, error) {
	title := r.Title
	if title == "" {
		title = titleOf(r.Explanation)
	}
	r.MaxBytes = inPage(r.MaxBytes)
	return writePage(w, title, r.HTML)
}

// titleOf returns the title of a document about an explanation, "" without one.
func titleOf(e *attribution.Explanation) string {
	if e == nil {
		return ""
	}
	return e.Prompt.Text
}

// writeChecked writes the picture that draw returns or, if the values do not fit, the error in its
// place. The only error is that of w.
func writeChecked(w io.Writer, wrong error, draw func() *page) (int64, error) {
	if wrong == nil {
		return draw().WriteTo(w)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<div class="`+class+`">%s</div>`+"\n", escape(wrong.Error(), 1000))
	return b.WriteTo(w)
}

// writePage writes a document with a picture.
func writePage(w io.Writer, title string, picture io.WriterTo) (int64, error) {
	// A document without a title is not valid HTML.
	if title == "" {
		title = "Headwater"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<meta name="color-scheme" content="light dark"><title>%s</title></head>
<body style="margin:20px auto;max-width:1320px;padding:0 20px;background:light-dark(#fff,#111418)">
`, escape(title, 120))
	if _, err := picture.WriteTo(&b); err != nil {
		return 0, err
	}
	b.WriteString("</body>\n</html>\n")
	return b.WriteTo(w)
}

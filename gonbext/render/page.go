package render

import (
	"bytes"
	"fmt"
	"io"
)

// Page is a heatmap as a file of its own: the HTML of a notebook in a document with a title and its character set.
type Page struct {
	HTML
	// Title is the title of the document; default: the prompt.
	Title string
}

// WriteTo writes the document. The only error is that of w.
func (r Page) WriteTo(w io.Writer) (int64, error) {
	title := r.Title
	if title == "" && r.Explanation != nil {
		title = r.Explanation.Prompt.Text
	}
	if title == "" {
		title = "Headwater"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>%s</title></head>
<body style="%s;margin:16px">
`, escape(title, 120), panel)
	if _, err := r.HTML.WriteTo(&b); err != nil {
		return 0, err
	}
	b.WriteString("</body>\n</html>\n")
	return b.WriteTo(w)
}

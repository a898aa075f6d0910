package render

import (
	"bytes"
	"fmt"
	"io"
)

// Page is a heatmap as an HTML document: the [HTML] of a notebook with a title, a character set,
// and a style sheet with dark colours for readers whose system has a dark theme.
type Page struct {
	HTML
	// Title is the title of the document; default: the prompt.
	Title string
}

// WriteTo writes the document. The only error is that of w. The title is the only text outside of
// the picture, and it is escaped like every token.
func (r Page) WriteTo(w io.Writer) (int64, error) {
	title := r.Title
	if title == "" && r.Explanation != nil {
		title = r.Explanation.Prompt.Text
	}
	// A document without a title is not valid HTML.
	if title == "" {
		title = "Headwater"
	}
	var body, b bytes.Buffer
	// The body is made first, because the style sheet has only the colours that are in it.
	fmt.Fprintf(&body, "<body style=\"%s;margin:16px\">\n", panel)
	if _, err := r.HTML.WriteTo(&body); err != nil {
		return 0, err
	}
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>%s</title>
<style>
%s
</style></head>
%s</body>
</html>
`, escape(title, 120), darkSheet(body.String()), body.Bytes())
	return b.WriteTo(w)
}

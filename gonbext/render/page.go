package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/headwater-ml/headwater/attribution"
)

// pageMaxBytes is how large the picture of a document is at most by default. A file has more room
// than the cell of a notebook.
const pageMaxBytes = 5_000_000

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

// inWhole returns what packs data of a script as a whole, or says that clicks show nothing.
func inWhole(data func() any) func(limit int) (code, missing string) {
	return func(limit int) (code, missing string) {
		if code = packWithin(limit, data()); code == "" {
			missing = noClicks
		}
		return code, missing
	}
}

// Picture is a value such as a [Heatmap] or [Sources], which [HTML], [Page], [Text] and [FigureOf]
// write. Equal pictures give equal bytes. One whose values do not fit gives a picture that says so.
type Picture interface {
	// Check returns a [trace.UsageError] if the values do not fit, or lack what the picture shows.
	Check() error
	// draw works out what is written; Check has found nothing.
	draw() drawer
}

// drawer is a picture worked out, which the writers write. A [Board] is one.
type drawer interface {
	// markup returns the picture as one div of about MaxBytes of the view, or room if it has none.
	markup(room int) *page
	// plain returns the picture as text.
	plain(look Terminal) *text
	// title is the title of a page of the picture.
	title() string
	// figure works out the figure, of one method where the picture has several.
	figure(method string) (Figure, error)
}

// Figure is a picture worked out for a figure: one of its parts.
type Figure struct {
	// Matrix are matrices side by side or a graph, Squares small ones of layers, and Strip a text
	// in colours before generated token Token, or nil before each.
	Matrix, Squares, Strip *Drawn
	Token                  *int
	// Heads is the picture that is no matrix.
	Heads *Heads
}

// FigureOf works out the figure of a picture, of one method where it has several. The error is that
// of its Check, or says that there is no such figure.
func FigureOf(p Picture, method string) (Figure, error) {
	if err := p.Check(); err != nil {
		return Figure{}, err
	}
	return p.draw().figure(method)
}

// HTML writes a picture for a notebook as one div. The only error is that of w.
//
// All of a picture is there without a script. Where scripts run, one adds touch: any token can be
// chosen, by click or keys. Where style sheets are removed, colours remain, and where all styles
// are removed, the text and the numbers. If it would be larger than MaxBytes of the view, 480,000
// by default, which notebooks show without delay, parts are left out, those that a reader can do
// without first; a sentence in their place says so.
func HTML(w io.Writer, v Picture) error {
	_, err := w.Write(div(v, defaultMaxBytes))
	return err
}

// Page writes a picture as an HTML document. It is light or dark as the reader's system is, and
// has up to 5,000,000 bytes where MaxBytes of the view says nothing. The only error is that of w.
// The title is the only text outside of the picture, and it is escaped like every token.
func Page(w io.Writer, v Picture) error {
	title := "Headwater" // without one it is not valid HTML
	if v.Check() == nil {
		title = cmp.Or(v.draw().title(), title)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<meta name="color-scheme" content="light dark"><title>%s</title></head>
<body style="margin:20px auto;max-width:1320px;padding:0 20px;background:light-dark(#fff,#111418)">
`, escape(title, 120))
	b.Write(div(v, pageMaxBytes))
	b.WriteString("</body>\n</html>\n")
	_, err := b.WriteTo(w)
	return err
}

// div returns a picture as one div, or the error in its place.
func div(v Picture, room int) []byte {
	if err := v.Check(); err != nil {
		return fmt.Appendf(nil, `<div class="hm `+NoMathematics+`">%s</div>`+"\n",
			escape(err.Error(), 1000))
	}
	return v.draw().markup(room).Bytes()
}

// Terminal is where a text is shown. The zero value of every field is its default.
type Terminal struct {
	// Width is the number of columns; default 100, at least 60.
	Width int
	// Color turns ANSI colours on.
	Color bool
	// MaxBytes, if above 0, is the limit of a text of a heatmap, layers or sources, in bytes. A
	// larger one of a heatmap lists only the strongest tokens of each row, as with Top, and after
	// that leaves out the first tokens of the answer, which a sentence says; one of layers has no
	// lines of layers, and one of sources lists fewer of them, at least one.
	MaxBytes int
}

// Text writes a picture for a terminal. The only error is that of w.
func Text(w io.Writer, v Picture, look Terminal) error {
	t := newText(look)
	if err := v.Check(); err != nil {
		t.wrapped("", Visible(err.Error(), 1000))
	} else {
		t = v.draw().plain(look)
	}
	_, err := t.WriteTo(w)
	return err
}

// titleOf returns the title of a document about an explanation, "" without one.
func titleOf(e *attribution.Explanation) string {
	if e == nil {
		return ""
	}
	return e.Prompt.Text
}

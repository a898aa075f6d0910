package hostile

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/net/html"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/export/figure"
)

// markupOf is what documents of plain texts have: their scripts, style sheets, and elements with
// the attributes of each. A document of hostile texts may have no other.
type markupOf struct {
	scripts, styles []string
	attributes      map[string]bool
}

// learn adds what a document of plain texts has.
func (m *markupOf) learn(t *testing.T, document string) {
	t.Helper()
	if m.attributes == nil {
		m.attributes = map[string]bool{}
	}
	for n := range parsed(t, document).Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		m.attributes[n.Data] = true
		for _, a := range n.Attr {
			m.attributes[n.Data+" "+a.Key] = true
		}
		switch n.Data {
		case "script":
			if !isData(n) {
				m.scripts = add(m.scripts, content(n))
			}
		case "style":
			m.styles = add(m.styles, content(n))
		}
	}
}

// isData reports whether a script element holds the packed data of a picture, which no browser
// runs: digits of base64 alone.
func isData(n *html.Node) bool {
	return slices.Contains(n.Attr, html.Attribute{Key: "type", Val: "text/plain"}) &&
		base64Digits.MatchString(content(n))
}

var base64Digits = regexp.MustCompile(`^[A-Za-z0-9+/=]*$`)

// add adds a text to a list unless it is there.
func add(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// parsed returns a document as browsers read it.
func parsed(t *testing.T, document string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(document))
	must(t, err)
	return root
}

// blockOf returns the element around a text that begins a line of its own. An isolate in a text
// acts up to its end and no further.
func blockOf(n *html.Node) *html.Node {
	inline := []string{"b", "u", "i", "span", "small", "button"}
	for n = n.Parent; slices.Contains(inline, n.Data); {
		n = n.Parent
	}
	return n
}

// isCode reports whether a text is that of a script or a style sheet.
func isCode(n *html.Node) bool { return n.Parent.Data == "script" || n.Parent.Data == "style" }

// content returns the text inside an element.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && (!isCode(d) || d.Parent == n) {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

var (
	// active finds what a style could ask for or do. Pictures of our own are data.
	active = regexp.MustCompile(`(?i)url\s*\(|@import|expression|javascript:|position:\s*fixed`)
	// address are attributes that ask for something.
	address = []string{
		"src", "href", "srcset", "action", "formaction", "background", "poster", "data", "cite",
		"srcdoc", "ping", "xlink:href", "manifest", "codebase",
	}
)

// check checks that a document has the scripts, styles, elements and attributes of plain ones and
// no others, that it asks for no address, and that no character in it acts by itself.
func (m *markupOf) check(t *testing.T, name, document string) {
	t.Helper()
	checked := map[*html.Node]bool{}
	for n := range parsed(t, document).Descendants() {
		switch n.Type {
		case html.CommentNode:
			t.Fatalf("%s has a comment %.80q", name, n.Data)
		case html.TextNode:
			if block := blockOf(n); !isCode(n) && !checked[block] {
				checked[block] = true
				checkPrintable(t, name, content(block))
			}
		case html.ElementNode:
			m.checkElement(t, name, n)
		}
	}
}

func (m *markupOf) checkElement(t *testing.T, name string, n *html.Node) {
	t.Helper()
	if !m.attributes[n.Data] {
		t.Fatalf("%s has an element <%s>", name, n.Data)
	}
	switch n.Data {
	case "script":
		if !isData(n) && !slices.Contains(m.scripts, content(n)) {
			t.Fatalf("%s has a script %.80q", name, content(n))
		}
	case "style":
		if !slices.Contains(m.styles, content(n)) {
			t.Fatalf("%s has a style sheet %.80q", name, content(n))
		}
	}
	for _, a := range n.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on") || !m.attributes[n.Data+" "+a.Key]:
			t.Fatalf("%s has <%s %s=%.80q>", name, n.Data, a.Key, a.Val)
		case slices.Contains(address, a.Key) && !strings.HasPrefix(a.Val, "data:image/"):
			t.Fatalf("%s asks for %s=%.80q", name, a.Key, a.Val)
		case a.Key == "style" && active.MatchString(a.Val):
			t.Fatalf("%s has the style %.80q", name, a.Val)
		case a.Key == "id" || a.Key == "class":
			if strings.ContainsFunc(a.Val, func(r rune) bool {
				return r > 0x7e || strings.ContainsRune("<>&\"'()", r)
			}) {
				t.Fatalf("%s has the %s %.80q", name, a.Key, a.Val)
			}
		}
	}
}

// isolate and endIsolate stand around names from right to left, which would otherwise reorder what
// is beside them.
const isolate, endIsolate = '\u2068', '\u2069'

// checkPrintable checks that no character of a text acts by itself. Spaces that are wider or do not
// break lines are ours.
func checkPrintable(t *testing.T, name, s string) {
	t.Helper()
	depth := 0
	for i, c := range s {
		switch {
		case c == isolate:
			depth++
		case c == endIsolate && depth > 0:
			depth--
		case !unicode.IsPrint(c) && !strings.ContainsRune("\n\u00a0\u2009\u202f", c):
			t.Errorf("%s: rune %U at byte %d of %.60q acts", name, c, i, s[max(0, i-20):])
			return
		}
	}
	if depth > 0 {
		t.Errorf("%s: an isolate does not end in %.200q", name, s)
	}
}

// checkFile checks a file of an explanation in its format.
func checkFile(
	t *testing.T, own *markupOf, f export.Format, file []byte, e *attribution.Explanation,
	o export.Options,
) {
	t.Helper()
	made, err := export.Read(file)
	if f != export.CSV && (err != nil || made.Prompt != o.Made.Prompt) {
		t.Fatalf("%s: its origin is %+v, %v; want the prompt %.200q", f, made, err, o.Made.Prompt)
	}
	switch f {
	case export.HTML:
		own.check(t, "HTML file", string(file))
	case export.CSV:
		checkCSV(t, file, e)
	case export.Parquet:
		checkParquet(t, file, e)
	case export.JSON:
		var got attribution.Explanation
		if err := json.Unmarshal(file, &got); err != nil {
			t.Fatalf("JSON: %v", err)
		}
		for j, want := range e.Prompt.Texts {
			if got.Prompt.Texts[j] != want { // also bytes that are no text
				t.Fatalf("JSON: token %d is %.80q, want %.80q", j, got.Prompt.Texts[j], want)
			}
		}
	case export.Inseq, export.Neuronpedia:
		if !json.Valid(file) {
			t.Fatalf("%s is no valid JSON", f)
		}
		tokens := jsonStrings(t, file)
		for j, want := range e.Prompt.Texts {
			if want = strings.ToValidUTF8(want, "\ufffd"); !tokens[want] {
				t.Fatalf("%s lacks token %d, %.80q", f, j, want)
			}
		}
	default:
		about, _, err := figure.About(file)
		must(t, err)
		checkFigure(t, figure.Format(f), file, about)
	}
}

// jsonStrings returns all strings of a JSON file.
func jsonStrings(t *testing.T, file []byte) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(file)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		if s, ok := token.(string); ok {
			all[s] = true
		}
	}
}

// The columns of CSV that hold texts.
const methodColumn, targetColumn, sourceColumn, unitColumn = 0, 5, 8, 10

// checkCSV checks that every text comes back, and that no cell is a formula.
func checkCSV(t *testing.T, file []byte, e *attribution.Explanation) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatalf("CSV: %v", err)
	}
	for i, row := range rows[1:] {
		for _, k := range []int{methodColumn, targetColumn, sourceColumn, unitColumn} {
			seen := strings.TrimLeftFunc(row[k], func(r rune) bool {
				return unicode.IsSpace(r) || !unicode.IsPrint(r)
			})
			if strings.IndexAny(seen, "=+-@|%") == 0 {
				t.Fatalf("CSV: the cell %.80q of line %d is a formula", row[k], i)
			}
		}
		if i >= prompts {
			continue
		}
		// The reader drops the first half of a line end of two bytes.
		want := strings.ToValidUTF8(e.Prompt.Texts[i], "\ufffd")
		want = strings.NewReplacer("\r\n", "\n", "\x00", "␀").Replace(want)
		if got := row[sourceColumn]; got != want && got != "'"+want {
			t.Fatalf("CSV: token %d is %.80q, want %.80q", i, got, want)
		}
	}
}

func checkParquet(t *testing.T, file []byte, e *attribution.Explanation) {
	t.Helper()
	type row struct {
		Source string `parquet:"source_text"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatalf("Parquet: %v", err)
	}
	for j, text := range e.Prompt.Texts {
		if want := strings.ToValidUTF8(text, "\ufffd"); rows[j].Source != want {
			t.Fatalf("Parquet: token %d is %.80q, want %.80q", j, rows[j].Source, want)
		}
	}
}

// checkFigure checks a figure in its format, and that no text passes for its origin.
func checkFigure(t *testing.T, f figure.Format, file []byte, about string) {
	t.Helper()
	if got, _, err := figure.About(file); err != nil || got != about {
		t.Fatalf("%s: its origin is %.80q, %v; want %.80q", f, got, err, about)
	}
	switch f {
	case figure.SVG:
		checkSVG(t, file)
	case figure.TeX:
		checkTeX(t, string(file))
	case figure.PDF:
		checkPDF(t, file, about)
	case figure.PNG:
		checkPNG(t, file)
	}
}

// checkSVG checks that an SVG is XML with the elements of a drawing and no address.
func checkSVG(t *testing.T, file []byte) {
	t.Helper()
	elements := []string{"svg", "metadata", "g", "path", "text", "title"}
	for d := xml.NewDecoder(bytes.NewReader(file)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("SVG: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, x.Name.Local) {
				t.Fatalf("SVG: element %s", x.Name.Local)
			}
			for _, a := range x.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" ||
					a.Name.Local == "style" && active.MatchString(a.Value) {
					t.Fatalf("SVG: attribute %s=%.80q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			checkPrintable(t, "SVG", string(x))
		case xml.Comment:
			t.Fatalf("SVG: comment %.80q", x)
		}
	}
}

var (
	// control finds a control word of TeX.
	control = regexp.MustCompile(`\\([A-Za-z@]+|.)`)
	// controls are the control words with which figures are drawn and characters are written.
	controls = regexp.MustCompile(`^(text[a-z]+|quotedblleft|pgf[a-z@]*|color|definecolor|begin|` +
		`end|documentclass|usepackage|renewcommand|familydefault|sfdefault|ldots|times|div|` +
		`(right|left|up|down)arrow|leq|geq|approx|infty|Sigma|Delta|S|P|guilsingl(left|right)|` +
		`pounds|selectfont|fontsize|bfseries|[{}$&#%_])$`)
)

// checkTeX checks that TeX has the commands of a drawing alone, and no active character.
func checkTeX(t *testing.T, file string) {
	t.Helper()
	var body []string
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "%") {
			body = append(body, line)
		}
	}
	all := strings.Join(body, "")
	for _, m := range control.FindAllStringSubmatch(all, -1) {
		if !controls.MatchString(m[1]) {
			t.Fatalf("TeX: the command %s", m[0])
		}
	}
	if n := strings.Count(all, `\end{document}`); n != 1 ||
		!strings.HasSuffix(all, "\\end{document}\n") {
		t.Fatalf("TeX: the document ends %d times", n)
	}
	depth := 0
	rest := control.ReplaceAllString(all, "")
	rest = strings.NewReplacer("% path", "", "$$", "").Replace(rest)
	for i, c := range rest {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case strings.ContainsRune(`^&~#_%\`, c), c < 0x20 && c != '\n', c == 0x7f:
			t.Fatalf("TeX: %q acts in %.60q", c, rest[max(0, i-30):])
		}
	}
	if depth != 0 {
		t.Fatalf("TeX: the braces do not match")
	}
}

// checkPDF checks that outside of its drawing and its origin a PDF names nothing that acts.
func checkPDF(t *testing.T, file []byte, about string) {
	t.Helper()
	if !bytes.HasPrefix(file, []byte("%PDF-")) ||
		!bytes.HasSuffix(bytes.TrimSpace(file), []byte("%%EOF")) {
		t.Fatalf("PDF: it begins with %.10q and ends with %.10q", file, file[max(0, len(file)-10):])
	}
	streams := regexp.MustCompile(`(?s)stream\r?\n.*?endstream`)
	rest := streams.ReplaceAllString(string(file), "")
	for _, key := range []string{
		"/JS", "/JavaScript", "/URI", "/Launch", "/OpenAction", "/AA", "/EmbeddedFile ",
		"/Filespec", "/GoTo",
		"/SubmitForm", "/Annots",
	} {
		if at := strings.Index(rest, key); at >= 0 {
			t.Fatalf("PDF: it has %.40q", rest[at:])
		}
	}
}

// checkPNG checks that a PNG is a picture with its origin and nothing else beside the pixels.
func checkPNG(t *testing.T, file []byte) {
	t.Helper()
	if _, err := png.Decode(bytes.NewReader(file)); err != nil {
		t.Fatalf("PNG: %v", err)
	}
	const signature, frame = 8, 12 // of a chunk: length, name and checksum
	for at := signature; at+frame <= len(file); {
		n := int(binary.BigEndian.Uint32(file[at:]))
		if name := string(file[at+4 : at+8]); !slices.Contains(
			[]string{"IHDR", "PLTE", "pHYs", "tEXt", "IDAT", "IEND"}, name) {
			t.Fatalf("PNG: chunk %q", name)
		}
		at += n + frame
	}
}

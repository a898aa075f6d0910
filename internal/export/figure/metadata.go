package figure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The origin of a figure is a text of printable ASCII, usually JSON, without the
// characters <, > and &. It stands in the metadata of SVG, in the information of PDF, in a text
// chunk of PNG and in comments of TeX.

// MaxAbout is the largest origin that is read from a file, in bytes.
const MaxAbout = 16 << 20

const (
	svgBegin = `<metadata id="headwater">`
	svgEnd   = `</metadata>`
	pdfKey   = "/Headwater ("
	pngKey   = "Headwater"
	texMark  = "%headwater "
)

// checkAbout returns an error if a text cannot stand in every format.
func checkAbout(about string) error {
	for i, r := range about {
		if r < 0x20 || r > 0x7e || strings.ContainsRune("<>&", r) {
			return pkg.Errorf("the origin has %q at byte %d; want printable ASCII "+
				"without <, > and &", r, i)
		}
	}
	return nil
}

var errNoOrigin = errors.New("it is not a figure that Headwater saved, or it was cut short, or " +
	"its origin was removed")

// About returns the origin inside a figure of any format, and the format.
func About(file []byte) (about string, f Format, err error) {
	switch {
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		about, f = pngAbout(file), PNG
	case bytes.HasPrefix(file, []byte("%PDF-")):
		about, f = pdfAbout(file), PDF
	case bytes.HasPrefix(file, []byte("<?xml")) || bytes.HasPrefix(file, []byte("<svg")):
		f = SVG
		if _, rest, ok := bytes.Cut(file, []byte(svgBegin)); ok {
			inner, _, _ := bytes.Cut(rest, []byte(svgEnd))
			about = string(inner)
		}
	case bytes.HasPrefix(file, []byte(texMark)):
		about, f = texAbout(file), TeX
	default:
		return "", "", fmt.Errorf("it is no SVG, PDF, PNG or TeX figure of Headwater")
	}
	if len(about) > MaxAbout {
		return "", f, fmt.Errorf("its origin has %d bytes; at most %d are read", len(about),
			MaxAbout)
	}
	if about == "" {
		return "", f, errNoOrigin
	}
	return about, f, nil
}

// svgText finds the texts of the canvas: their style, whether they are bold, size and characters. A
// text cannot contain a quotation mark or "<", so this is always an element.
var svgText = regexp.MustCompile(`style="font-family:Liberation Sans;font-variant:normal;` +
	`(font-weight:(normal|bold);[^"]*?font-size:([0-9.]+)px[^"]*)">([^<]*)<`)

// svgTexts replaces the one font of the canvas by a list, for machines without Liberation Sans, and
// gives every text the length that the figure was laid out for: another font may be wider.
// Characters that Liberation Sans lacks have no known width, so their texts have no length; the
// marks of spaces and line ends are alike in most fonts. XML makes one space of several; a text
// with several keeps them.
func svgTexts(body string) string {
	return svgText.ReplaceAllStringFunc(body, func(element string) string {
		found := svgText.FindStringSubmatch(element)
		text, length := html.UnescapeString(found[4]), ""
		size, err := strconv.ParseFloat(found[3], 64)
		f := face(10, false)
		known := !strings.ContainsFunc(text, func(r rune) bool {
			return r != spaceMark && r != '↵' && !hasGlyph(f, r)
		})
		if err == nil && known && utf8.RuneCountInString(text) > 1 {
			length = fmt.Sprintf(` textLength="%.5g" lengthAdjust="spacingAndGlyphs"`,
				width(text, size, found[2] == "bold"))
		}
		if strings.Contains(text, "  ") || strings.Trim(text, " ") != text {
			length += ` xml:space="preserve"`
		}
		const fonts = `style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;`
		return fonts + found[1] + `"` + length + `>` + found[4] + `<`
	})
}

// svgPath finds the paths that the canvas wrote.
var svgPath = regexp.MustCompile(`(<path [^>]*)/>`)

// titled gives the paths of an SVG the titles of their shapes. The first path is the white page,
// and the others are the shapes that are no texts, in order.
func (p *page) titled(file []byte) []byte {
	titles := []string{""}
	for _, s := range p.shapes {
		if s.text == "" {
			titles = append(titles, s.title)
		}
	}
	i := -1
	return svgPath.ReplaceAllFunc(file, func(element []byte) []byte {
		if i++; i >= len(titles) || titles[i] == "" {
			return element
		}
		var b bytes.Buffer
		b.Write(element[:len(element)-len("/>")])
		b.WriteString("><title>")
		b.WriteString(html.EscapeString(titles[i]))
		b.WriteString("</title></path>")
		return b.Bytes()
	})
}

// svgWith adds the origin and the fonts to an SVG.
func svgWith(file []byte, about string) ([]byte, error) {
	at := bytes.Index(file, []byte("<svg"))
	end := -1
	if at >= 0 {
		end = bytes.IndexByte(file[at:], '>')
	}
	if end < 0 {
		return nil, pkg.Errorf("the canvas wrote no SVG")
	}
	end += at + 1
	body := string(file[end:])
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	b.Write(file[at:end])
	fmt.Fprintf(&b, "\n%s%s%s", svgBegin, about, svgEnd)
	b.WriteString(svgTexts(body))
	return b.Bytes(), nil
}

// pdfDate finds the dates that the canvas writes, which are those of the clock.
var (
	pdfDate = regexp.MustCompile(`Date \(D:\d{14}\)`)
	pdfTail = regexp.MustCompile(`/Size (\d+)\n/Root (\d+) 0 R\n`)
)

// pdfWith removes the clock from a PDF and appends its origin, as an update with a new dictionary
// of information.
func pdfWith(file []byte, about string) ([]byte, error) {
	tail := bytes.LastIndex(file, []byte("\ntrailer\n"))
	start := bytes.LastIndex(file, []byte("startxref\n"))
	if tail < 0 || start < tail {
		return nil, pkg.Errorf("the canvas wrote no PDF")
	}
	found := pdfTail.FindSubmatch(file[tail:])
	previous, _, ok := strings.Cut(string(file[start+len("startxref\n"):]), "\n")
	if found == nil || !ok {
		return nil, pkg.Errorf("the canvas wrote another PDF than expected")
	}
	size, err := strconv.Atoi(string(found[1]))
	if err != nil {
		return nil, pkg.Errorf("the PDF of the canvas has size %.20q", found[1])
	}
	// The dates are in the information that the update replaces.
	info := bytes.LastIndex(file, []byte("/CreationDate "))
	if info >= 0 {
		fixed := pdfDate.ReplaceAll(file[info:], []byte("Date (D:19700101000000)"))
		file = append(bytes.Clone(file[:info]), fixed...)
	}
	var b bytes.Buffer
	b.Write(file)
	at := b.Len()
	fmt.Fprintf(&b, "%d 0 obj\n<<\n/Creator (Headwater)\n%s%s)\n>>\nendobj\n", size, pdfKey,
		pdfEscape.Replace(about))
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n%d 1\n%010d 00000 n \ntrailer\n<<\n/Size %d\n/Root %s 0 R\n"+
		"/Info %d 0 R\n/Prev %s\n>>\nstartxref\n%d\n%%%%EOF\n",
		size, at, size+1, found[2], size, previous, xref)
	return b.Bytes(), nil
}

var pdfEscape = strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`)

func pdfAbout(file []byte) string {
	at := bytes.LastIndex(file, []byte(pdfKey))
	if at < 0 {
		return ""
	}
	var b strings.Builder
	for i := at + len(pdfKey); i < len(file); i++ {
		switch file[i] {
		case ')':
			return b.String()
		case '\\':
			if i++; i == len(file) {
				return ""
			}
		}
		b.WriteByte(file[i])
	}
	return "" // it does not end
}

// pngWith adds the resolution and the origin to a PNG, behind its first chunk.
func pngWith(file []byte, dpi int, about string) []byte {
	const head = 8 + 25 // the signature and the first chunk
	perMetre := make([]byte, 9)
	dots := uint32(float64(dpi)/0.0254 + 0.5)
	binary.BigEndian.PutUint32(perMetre, dots)
	binary.BigEndian.PutUint32(perMetre[4:], dots)
	perMetre[8] = 1
	out := bytes.Clone(file[:head])
	out = appendChunk(out, "pHYs", perMetre)
	out = appendChunk(out, "tEXt", []byte(pngKey+"\x00"+about))
	return append(out, file[head:]...)
}

func appendChunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data))) //nolint:gosec // a short text
	body := append([]byte(kind), data...)
	out = append(out, body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

func pngAbout(file []byte) string {
	for at := 8; at+12 <= len(file); {
		n := int64(binary.BigEndian.Uint32(file[at:]))
		if n > int64(len(file)-at-12) {
			return ""
		}
		data := file[at+8 : at+8+int(n)]
		if string(file[at+4:at+8]) == "tEXt" {
			if key, text, ok := bytes.Cut(data, []byte{0}); ok && string(key) == pngKey {
				return string(text)
			}
		}
		at += 12 + int(n)
	}
	return ""
}

// texNumber finds lengths that TeX cannot read, such as 1.8e-15pt. No text has one, because its
// hyphens are in braces.
var texNumber = regexp.MustCompile(`\{-?[0-9.]+e-[0-9]+pt\}`)

// texWith makes a document of a picture, with its origin in comments. Lines are short, because TeX
// reads no line of any length.
func texWith(picture []byte, about string) []byte {
	const most = 900
	var b bytes.Buffer
	for len(about) > 0 {
		n := min(most, len(about))
		fmt.Fprintf(&b, "%s%s|\n", texMark, about[:n]) // editors remove spaces at the end of a line
		about = about[n:]
	}
	b.WriteString(texHead)
	at := max(bytes.Index(picture, []byte(`\begin{pgfpicture}`)), 0)
	b.Write(texNumber.ReplaceAll(picture[at:], []byte("{0pt}")))
	b.WriteString(texTail)
	return b.Bytes()
}

func texAbout(file []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(file)) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), texMark)
		if !ok {
			break
		}
		b.WriteString(strings.TrimSuffix(rest, "|"))
	}
	return b.String()
}

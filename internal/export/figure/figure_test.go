package figure_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

const about = `{"model":"a (b) \\ c","ids":[1,2]}`

var prompt = []string{"The", " key", " to", " é", " 中文", " the", "\n", " $x_1$"}

// Every drawing in every format gives the same bytes twice, holds its origin, and nothing of the
// clock.
func TestSameBytes(t *testing.T) {
	years := regexp.MustCompile(`D:20\d\d|20[23]\d-\d\d`)
	for name, d := range drawings(t, prompt...) {
		for _, f := range figure.Formats() {
			for _, size := range render.Sizes() {
				if f != figure.SVG && size != render.Column {
					continue // the layout of a size is that of SVG
				}
				o := figure.Options{Format: f, Look: render.Look{Size: size}}
				first, err := figure.Draw(o, about, d)
				if err != nil {
					t.Fatalf("%s %s: %v", name, f, err)
				}
				second, err := figure.Draw(o, about, d)
				if err != nil || !bytes.Equal(first.Bytes, second.Bytes) {
					t.Errorf("%s %s %s: two runs differ (%v)", name, f, size, err)
				}
				if f != figure.PNG && years.Match(first.Bytes) {
					t.Errorf("%s %s: the file has a date: %s", name, f,
						years.Find(first.Bytes))
				}
				got, format, err := figure.About(first.Bytes)
				if got != about || format != f || err != nil {
					t.Errorf("%s %s: About = %q, %s, %v; want %q", name, f, got, format, err, about)
				}
			}
		}
	}
}

// A PNG with its added chunks is one that others read, and has 300 dots in an inch.
func TestPNG(t *testing.T) {
	o := figure.Options{Format: figure.PNG, Look: render.Look{Size: render.Column}}
	f, err := figure.Draw(o, about, drawings(t, prompt...)["matrix"])
	must(t, err)
	img, err := png.Decode(bytes.NewReader(f.Bytes))
	must(t, err)
	if w := img.Bounds().Dx(); w != 975 { // 3.25 inches
		t.Errorf("a column is %d pixels wide, want 975", w)
	}
}

// The offsets of the dictionary of information that is added to a PDF are right.
func TestPDFUpdate(t *testing.T) {
	f, err := figure.Draw(figure.Options{Format: figure.PDF}, about,
		drawings(t, prompt...)["strip"])
	must(t, err)
	text := string(f.Bytes)
	var at, xref int
	tail := text[strings.LastIndex(text, "\nxref\n")+1:]
	var number int
	if _, err := fmt.Sscanf(tail, "xref\n%d 1\n%d", &number, &at); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(text[strings.LastIndex(text, "startxref"):], "startxref\n%d",
		&xref); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text[at:], fmt.Sprintf("%d 0 obj\n", number)) {
		t.Errorf("the object is not at its offset: %.30q", text[at:])
	}
	if !strings.HasPrefix(text[xref:], "xref\n") {
		t.Errorf("the table is not at its offset: %.30q", text[xref:])
	}
}

// hostile are pieces that end, escape or confuse the formats.
var hostile = []string{
	"<script>alert(1)</script>", "</text></svg>", "]]>", "<!--", "-->", "&lt;", "&#x3c;script", `"`,
	"'", "`", "\\", "\\input{/etc/passwd}", "\\write18{id}", "^^5c", "{", "}", "$", "%", "#", "&", "_",
	"~", "\x00", "\x1b[31m", "\u202e", "\u200b", "\ufeff", "\uffff", "\ud7ff", "\xff\xfe", "\r\n",
	"\n", "\t", "https://example.com/x.png", "javascript:1", "url(x)", "style=\"font-family:",
	"<metadata id=\"headwater\">{}</metadata>", "%headwater {}|", "/Headwater (x)", "{1e-9pt}", "中",
	"ع", "😀", "e\u0301\u0301\u0301\u0301\u0301", "\U000e0001", "onload=x", "\\end{document}",
}

var (
	script = regexp.MustCompile(`(?i)<script|<image|<a[ >]|<foreignObject|javascript:[^<]*"|href=`)
	// command finds what TeX would execute: a control word that no part of our writer has.
	command = regexp.MustCompile(`\\(input|write|end\{document\}.)`)
)

// 10,000 hostile texts leave valid XML without a script or a request, and TeX without a command of
// theirs. No text can pass for the origin of a figure.
func TestHostileTexts(t *testing.T) {
	const texts, perFigure = 10_000, 50
	r := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < texts; n += perFigure {
		all := make([]string, perFigure)
		for i := range all {
			for range 1 + r.IntN(4) {
				all[i] += hostile[r.IntN(len(hostile))]
			}
		}
		e := explanation(all...)
		e.Model.Name, e.Model.Note = all[0], all[1]
		e.Steps[0].Text = all[2]
		matrix, err := heatmap(e, "rollout", nil)
		must(t, err)
		strip, err := strip(e, "direct", 0, nil)
		must(t, err)
		for _, f := range []figure.Format{figure.SVG, figure.TeX} {
			fig, err := figure.Draw(figure.Options{Format: f}, about, matrix, strip)
			if err != nil {
				t.Fatalf("%q: %v", all, err)
			}
			if got, _, err := figure.About(fig.Bytes); got != about {
				t.Fatalf("About = %q, %v after %q", got, err, all)
			}
			if f == figure.SVG {
				checkXML(t, fig.Bytes, all)
			} else {
				checkTeX(t, fig.Bytes, all)
			}
		}
	}
}

func checkXML(t *testing.T, file []byte, texts []string) {
	t.Helper()
	if m := script.Find(file); m != nil {
		t.Fatalf("the SVG has %q after %q", m, texts)
	}
	for d := xml.NewDecoder(bytes.NewReader(file)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the SVG is no valid XML: %v after %q", err, texts)
		}
		if e, ok := token.(xml.StartElement); ok && !strings.Contains(
			" svg metadata g path text ", " "+e.Name.Local+" ") {
			t.Fatalf("the SVG has an element %q after %q", e.Name.Local, texts)
		}
	}
}

func checkTeX(t *testing.T, file []byte, texts []string) {
	t.Helper()
	body := string(file)
	if m := command.FindString(strings.TrimSuffix(body, "\\end{document}\n")); m != "" {
		t.Fatalf("the TeX has the command %q after %q", m, texts)
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\\':
			i++
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '^' || c == '&' || c == '~' || c == '#' || c == '_':
			t.Fatalf("the TeX has %q, which is active, after %q", body[max(0, i-40):i+1], texts)
		case c == '%' && i > 0 && body[i-1] != '\n' && !strings.HasPrefix(body[i:], "% path"):
			t.Fatalf("the TeX has a comment in a line, %q, after %q", body[max(0, i-40):i+1], texts)
		case c >= 0x80:
		case c < 0x20 && c != '\n':
			t.Fatalf("the TeX has the control character %q", c)
		}
	}
	if depth != 0 {
		t.Fatalf("the braces of the TeX do not match after %q", texts)
	}
}

// What a format cannot draw is named once, and SVG keeps it.
func TestLostCharacters(t *testing.T) {
	d := drawings(t, prompt...)["strip"]
	for f, want := range map[figure.Format]string{
		figure.SVG: "", figure.PDF: "2 characters (中文)", figure.PNG: "2 characters (中文)",
		figure.TeX: "2 characters (中文)",
	} {
		fig, err := figure.Draw(figure.Options{Format: f}, about, d)
		must(t, err)
		got := strings.Join(fig.Warnings, " ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: warnings %q, want %q in them", f, got, want)
		}
		if f == figure.SVG && !bytes.Contains(fig.Bytes, []byte("中文")) {
			t.Error("the SVG lost 中文")
		}
		if f == figure.TeX && !bytes.Contains(fig.Bytes, []byte(`\guilsinglleft{}4E2D`)) {
			t.Error("the TeX has no code point of 中")
		}
	}
}

// The line between the texts of two prompts and the mark where a target begins are our own signs,
// so every format has them.
func TestOwnSigns(t *testing.T) {
	d := drawings(t, "the", "key│keys", "▸")["strip"]
	for _, f := range []figure.Format{figure.SVG, figure.PDF, figure.PNG, figure.TeX} {
		fig, err := figure.Draw(figure.Options{Format: f}, about, d)
		must(t, err)
		if got := strings.Join(fig.Warnings, " "); strings.Contains(got, "glyph") {
			t.Errorf("%s: warnings %q", f, got)
		}
		if f == figure.TeX && !bytes.Contains(fig.Bytes, []byte(`key\textbar{}keys`)) {
			t.Error("the TeX has no line between the texts")
		}
		if f == figure.TeX && !bytes.Contains(fig.Bytes, []byte(`$\triangleright$`)) {
			t.Error("the TeX has no begin of a target")
		}
	}
}

// Tokens of spaces have a mark in every format, and a text with several spaces keeps them in XML.
func TestSpaces(t *testing.T) {
	label := regexp.MustCompile(`>([^<]+)</text>`)
	for _, token := range []string{" ", "  ", strings.Repeat(" ", 64)} {
		for name, d := range drawings(t, "a", token, "b") {
			if name != "matrix" && name != "layers" && name != "strip" && name != "graph" {
				continue // a chart's names are its own
			}
			fig, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d)
			must(t, err)
			marked := false
			for _, found := range label.FindAllSubmatch(fig.Bytes, -1) {
				if len(bytes.TrimSpace(found[1])) == 0 {
					t.Errorf("%s: %q has the label %q", name, token, found[1])
				}
				marked = marked || bytes.HasPrefix(found[1], []byte("␣"))
			}
			if regexp.MustCompile(`px"[^>]*>␣␣`).Match(fig.Bytes) &&
				!regexp.MustCompile(`textLength="[^>]*>␣␣`).Match(fig.Bytes) {
				t.Errorf("%s: a row of marks has no length, so that it may cover others", name)
			}
			if !marked {
				t.Errorf("%s: %q has no mark", name, token)
			}
			tex, err := figure.Draw(figure.Options{Format: figure.TeX}, about, d)
			if err != nil || !bytes.Contains(tex.Bytes, []byte(`\textvisiblespace{}`)) {
				t.Errorf("%s: the TeX of %q has no mark (%v)", name, token, err)
			}
			// A PNG and a PDF draw the mark: it looks neither like nothing nor like "_".
			for _, f := range []figure.Format{figure.PNG, figure.PDF} {
				fig, err := figure.Draw(figure.Options{Format: f}, about, d)
				if err != nil || fig.Warnings != nil {
					t.Fatalf("%s %s: %v, %v", name, f, fig.Warnings, err)
				}
				bar := drawings(t, "a", strings.Repeat("_", len(token)), "b")[name]
				other, err := figure.Draw(figure.Options{Format: f}, about, bar)
				if err != nil || bytes.Equal(fig.Bytes, other.Bytes) {
					t.Errorf("%s %s: %q looks like underscores (%v)", name, f, token, err)
				}
			}
		}
	}
	d, err := figure.Chart(chart.Chart{
		Kind: chart.Bars, X: chart.Axis{Categories: []string{"a  b", "c d"}},
		Series: []chart.Series{{Y: []float64{1, 2}}},
	})
	must(t, err)
	fig, err := figure.Draw(figure.Options{Format: figure.SVG}, about, d)
	if err != nil || !bytes.Contains(fig.Bytes, []byte(`xml:space="preserve">a  b<`)) ||
		bytes.Count(fig.Bytes, []byte("xml:space")) != 1 {
		t.Errorf("one of the two names has several spaces, which the SVG does not keep (%v)", err)
	}
}

// Of many columns of a chart the strongest are named, beside each other where they are neighbours,
// with a line to each and a remark on how many they are.
func TestManyColumns(t *testing.T) {
	draw := func(columns int) string {
		m := &chart.Matrix{Rows: []string{"row"}}
		for j := range columns {
			x := 0.01
			switch {
			case slices.Contains([]int{0, 7, 200, 201, 202, 203, 204, 399}, j):
				x = 0.9
			case j == 100:
				x = 0.1 // weaker, but there is room
			}
			m.Columns, m.Data = append(m.Columns, fmt.Sprintf("w%d", j)), append(m.Data, x)
		}
		d, err := figure.Chart(chart.Chart{Kind: chart.Heatmap, Matrix: m})
		return strings.Join(textsOf(t, figure.Options{}, d, err), " ")
	}
	const named = "w0 w7 w100 w200 w201 w202 w203 w204 w399 9 of 400 columns are named, the " +
		"strongest first."
	if got := draw(400); !strings.Contains(got, named) {
		t.Errorf("of 400 columns: %s, want %s", got, named)
	}
	if got := draw(8); strings.Contains(got, "columns are named") {
		t.Errorf("all columns are named, but there is a remark: %s", got)
	}
}

// A figure folds its columns as a page does: those within 3 of one that stands out stay, and the
// others are counted. A title that is longer than the rows is not cut.
func TestFolds(t *testing.T) {
	texts := make([]string, 400)
	for j := range texts {
		if texts[j] = fmt.Sprintf(" w%d", j); j%4 == 3 {
			texts[j] += "."
		}
	}
	e := explanation(texts...)
	e.Order = []string{"rollout"}
	fill(e.Methods["rollout"], func(int) float64 { return 0.01 })
	for _, j := range []int{0, 200, 399} {
		e.Methods["rollout"].Row(1, 2)[j] = 0.9
	}
	matrix, err := heatmap(e, "rollout", nil)
	maps, mapsErr := layers(e, "rollout", []int{1}, nil)
	for name, names := range map[string][]string{
		"matrix": textsOf(t, figure.Options{}, matrix, err),
		"layers": textsOf(t, figure.Options{}, maps, mapsErr),
	} {
		slices.Sort(names)
		names = slices.DeleteFunc(names, func(s string) bool {
			return !strings.HasPrefix(s, "w") && !strings.HasPrefix(s, "⋯")
		})
		const want = "w0 w1 w196 w197 w198 w199. w2 w200 w201 w202 w203. w204 w205 w206 w207. w3. " +
			"w396 w397 w398 w399. w4 w5 w6 w7. ⋯ 47 sentences ⋯ 47 sentences"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the columns %s are named, want %s", name, got, want)
		}
	}
	all := textsOf(t, figure.Options{}, matrix, nil)
	if !slices.Contains(all, "generated token ↓") {
		t.Errorf("the title of the rows is cut: %q", all)
	}
}

// A file that is no figure, lost its origin or is cut off is an error that says so.
func TestAboutRefusals(t *testing.T) {
	fig, err := figure.Draw(figure.Options{Format: figure.PNG}, about,
		drawings(t, prompt...)["matrix"])
	must(t, err)
	huge := bytes.Clone(fig.Bytes)
	copy(huge[33:], []byte{0xff, 0xff, 0xff, 0xff}) // the length of the chunk behind the first
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "no SVG, PDF, PNG or TeX figure", nil},
		{"text", "no SVG, PDF, PNG or TeX figure", []byte("hello")},
		{"plain svg", "it is not a figure that Headwater saved, or it was cut short", []byte("<svg></svg>")},
		{"plain pdf", "it is not a figure that Headwater saved, or it was cut short", []byte("%PDF-1.3\n")},
		{"open pdf", "it is not a figure that Headwater saved, or it was cut short", []byte("%PDF-1.3\n/Headwater (a\\")},
		{"cut png", "it is not a figure that Headwater saved, or it was cut short", fig.Bytes[:20]},
		{"huge chunk", "it is not a figure that Headwater saved, or it was cut short", huge},
	} {
		_, _, err := figure.About(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What cannot be drawn, and options out of range, are errors with the value and what is known.
// TestPalettes draws a matrix and its scale in each palette: the default has the bytes of no name,
// and the others differ from it in every format.
func TestPalettes(t *testing.T) {
	d := drawings(t, "the", " keys")["matrix"]
	for _, format := range []figure.Format{figure.SVG, figure.PDF, figure.PNG, figure.TeX} {
		seen := map[string]string{}
		for _, palette := range append(render.PaletteNames(), "") {
			o := figure.Options{Format: format, Look: render.Look{Palette: palette}}
			f, err := figure.Draw(o, about, d)
			must(t, err)
			same := seen[string(f.Bytes)]
			if palette == "" && same != render.PaletteNames()[0] {
				t.Errorf("%s: without a palette the file is that of %q", format, same)
			}
			if palette != "" && same != "" {
				t.Errorf("%s: %s and %s give the same file", format, palette, same)
			}
			seen[string(f.Bytes)] = palette
		}
	}
}

func TestRefusals(t *testing.T) {
	e := explanation(prompt...)
	bad := explanation(prompt...)
	bad.Methods["rollout"].Rows = bad.Methods["rollout"].Rows[:3]
	d := drawings(t, prompt...)["matrix"]
	for _, c := range []struct {
		want string
		make func() error
	}{
		{`no method "raw"; it has rollout, direct`, func() error {
			_, err := heatmap(e, "raw", nil)
			return err
		}},
		{"does not fit 2 generated and 8 prompt tokens", func() error {
			_, err := heatmap(bad, "rollout", nil)
			return err
		}},
		{"token 2; the explanation has tokens 0 to 1", func() error {
			_, err := strip(e, "rollout", 2, nil)
			return err
		}},
		{"there are no values of several layers of direct", func() error {
			_, err := layers(e, "direct", []int{0}, nil)
			return err
		}},
		{"token 2; the explanation has 2 tokens", func() error {
			_, err := figure.Heads(heads(e, 2, 1, 2))
			return err
		}},
		{"layer 3, head 0; the model has layers 0 to 2 and heads 0 to 1", func() error {
			_, err := head(heads(e, 3, 2, 0).OpenHead(&[2]int{3, 0}))
			return err
		}},
		{"does not fit a text of 10 tokens", func() error {
			h := heads(e, 2, 1)
			h.Attention.Data = h.Attention.Data[1:]
			_, err := figure.Heads(h)
			return err
		}},
		{"generated token 2; the explanation has 2 tokens", func() error {
			_, err := layers(e, "rollout", []int{0, 2}, nil)
			return err
		}},
		{"251001 cells; at most 250000 can be drawn", func() error {
			_, err := figure.Matrix(render.Drawn{
				Columns: make([]render.DrawnColumn, 501),
				Panels:  []render.DrawnPanel{{Rows: make([]render.DrawnRow, 501)}},
			})
			return err
		}},
		{`unknown size "poster"; known are column, double, slide`, func() error {
			_, err := figure.Draw(figure.Options{Look: render.Look{Size: "poster"}}, about, d)
			return err
		}},
		{`unknown size "colum"; did you mean column?`, func() error {
			_, err := figure.Draw(figure.Options{Look: render.Look{Size: "colum"}}, about, d)
			return err
		}},
		{`unknown palette "green"; did you mean green-purple?`, func() error {
			_, err := figure.Draw(figure.Options{Look: render.Look{Palette: "green"}}, about, d)
			return err
		}},
		{"font size 3; want 4 to 48 points", func() error {
			_, err := figure.Draw(figure.Options{Look: render.Look{Font: 3}}, about, d)
			return err
		}},
		{`unknown format "gif"`, func() error {
			_, err := figure.Draw(figure.Options{Format: "gif"}, about, d)
			return err
		}},
		{"printable ASCII", func() error {
			_, err := figure.Draw(figure.Options{Format: figure.SVG}, "</metadata>", d)
			return err
		}},
	} {
		if err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}

// An axis of whole numbers has no marks between them, however few there are.
func TestWholeTicks(t *testing.T) {
	drawn := func(whole bool) string {
		drawing, err := figure.Chart(chart.Chart{
			Kind: chart.Lines, X: chart.Axis{Title: "tokens", Whole: whole},
			Y:      chart.Axis{Title: "share"},
			Series: []chart.Series{{Name: "a", X: []float64{1, 2}, Y: []float64{10, 20}}},
		})
		must(t, err)
		f, err := figure.Draw(figure.Options{Format: figure.SVG}, "", drawing)
		must(t, err)
		return string(f.Bytes)
	}
	if svg := drawn(false); !strings.Contains(svg, ">1.8<") {
		t.Fatalf("the axis has no mark at 1.8, so that this test says nothing:\n%s", svg)
	}
	svg := drawn(true)
	if strings.Contains(svg, ">1.8<") || !strings.Contains(svg, ">1<") ||
		!strings.Contains(svg, ">2<") {
		t.Errorf("the marks of an axis of whole numbers are not 1 and 2:\n%s", svg)
	}
}

// A plot in a file has the proportion that it has in a notebook: with half the height the area
// between the axes is half as high.
func TestHeight(t *testing.T) {
	rows := func(height float64) int {
		drawing, err := figure.Chart(chart.Chart{
			Kind: chart.Lines, Height: height,
			Series: []chart.Series{{Name: "a", X: []float64{1, 2}, Y: []float64{10, 20}}},
		})
		must(t, err)
		f, err := figure.Draw(figure.Options{Format: figure.PNG}, "", drawing)
		must(t, err)
		img, err := png.Decode(bytes.NewReader(f.Bytes))
		must(t, err)
		return img.Bounds().Dy()
	}
	flat, middle, high := rows(60), rows(120), rows(240)
	if low, more := middle-flat, high-middle; low < 100 || more < 2*low-3 || more > 2*low+3 {
		t.Errorf("%d, %d and %d pixels for heights 60, 120 and 240; want steps of one and two",
			flat, middle, high)
	}
	if same := rows(0); same == middle {
		t.Errorf("%d pixels by default and with a height of 120", same)
	}
}

var must = testhelp.Must // ends a test at an error

package gonbext_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/engine"
)

// TestSave saves what the engine sends, in one piece or several, and nothing after an error.
func TestSave(t *testing.T) {
	for name, c := range map[string]struct {
		events                []engine.Event
		file, stdout, message string // of the file and of the cell
	}{
		"pieces": {
			[]engine.Event{
				{Piece: []byte("<svg>")},
				{},
				{Piece: []byte("</svg>")},
				{Notes: []string{"6.75 in, matrix of direct", "a glyph is missing"}},
				{Done: true},
			},
			"<svg></svg>",
			"wrote figure.svg: 6.75 in, matrix of direct\nfigure.svg: a glyph is missing\n", "",
		},
		"unknown format": {
			[]engine.Event{{Failure: &engine.Error{Message: "no such format", Usage: true}}},
			"", "", "no such format",
		},
		"half": {
			[]engine.Event{{Piece: []byte("<svg>")}, {Failure: &engine.Error{
				Message: "it ended", Usage: true,
			}}},
			"", "", "it ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HEADWATER_TEST_FILE", filepath.Join(dir, "figure.svg"))
			var asked engine.Request
			k := newKernel(t, func(conn *engineConn, r engine.Request) {
				asked = r
				for _, ev := range c.events {
					conn.send(ev)
				}
			})
			r := k.run("save", c.message != "") // a cell that shows nothing opens no pipe
			if asked.Kind != engine.KindSave || asked.File != "figure.svg" ||
				string(asked.Show) != `{"kind":"text"}` || asked.Picture != nil {
				t.Errorf("asked for %+v", asked)
			}
			files, err := os.ReadDir(dir)
			must(t, err)
			if c.message != "" {
				shown := saved(r.displays)
				if len(files) > 0 || len(shown) != 1 ||
					!strings.Contains(fmt.Sprint(shown[0]), c.message) {
					t.Errorf("files %v, shown %v, want %q alone", files, shown, c.message)
				}
				return
			}
			data, err := os.ReadFile(filepath.Join(dir, "figure.svg"))
			if err != nil || string(data) != c.file || len(files) != 1 || r.stdout != c.stdout {
				t.Errorf("%q, %v, stdout %q, files %v", data, err, r.stdout, files)
			}
		})
	}
}

// TestSavePreview shows an image of a small file in a cell, if browsers know its format.
func TestSavePreview(t *testing.T) {
	large := strings.Repeat("x", 100_001)
	for _, c := range []struct{ file, data, want string }{
		{"a.svg", "<svg/>", "data:image/svg+xml;base64,PHN2Zy8+"},
		{"A.PNG", "\x89PNG", "data:image/png;base64,iVBORw=="},
		{"a.pdf", "%PDF", ""},
		{"a.csv", "1,2", ""},
		{"a.svg", large, ""},
	} {
		t.Setenv("HEADWATER_TEST_FILE", filepath.Join(t.TempDir(), c.file))
		k := newKernel(t, func(conn *engineConn, _ engine.Request) {
			conn.send(engine.Event{Piece: []byte(c.data), Notes: []string{"3.25 in, <heads>"}})
			conn.send(engine.Event{Done: true})
		})
		shown := saved(k.run("save", true).displays)
		text := fmt.Sprint(shown)
		if len(shown) != 1 || !strings.Contains(text, "wrote "+c.file+": 3.25 in, &lt;heads&gt;") ||
			strings.Contains(text, "<img") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s of %d bytes shows %.300q, want %q", c.file, len(c.data), text, c.want)
		}
	}
}

// TestSaveRefuses does not ask the engine for a file that cannot be written.
func TestSaveRefuses(t *testing.T) {
	t.Setenv("HEADWATER_TEST_FILE", filepath.Join(t.TempDir(), "no", "figure.svg"))
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		t.Errorf("asked for %+v", r)
		conn.send(engine.Event{Done: true})
	})
	r := k.run("save", true)
	shown := saved(r.displays)
	if len(shown) != 1 ||
		!strings.Contains(fmt.Sprint(shown[0]), "cannot be written: no such file") {
		t.Errorf("shown %v", shown)
	}
}

// saveChosen is a cell that saves the first of two explanations, and what cannot be saved.
func saveChosen() {
	file := os.Getenv("HEADWATER_TEST_FILE")
	layer := 0
	e := gonbext.Explain("the keys", gonbext.Show{
		By: "word", Layer: &layer, Filter: attribution.Filter{","}, Palette: "perceptual",
	})
	gonbext.Explain("the keys")
	gonbext.SaveExplanation(file, e, gonbext.Show{By: "token", Filter: attribution.Filter{}})
	gonbext.SaveExplanation(file, gonbext.Last())
	e.Methods["rollout"].Rows[0][0] = 7
	gonbext.SaveExplanation(file, e)
	_, err := gonbext.TrySaveExplanation(file, nil)
	fmt.Println(err)
}

// TestSaveChosen sends the explanation that is saved, also one that the cell changed, and tells the
// engine how each one was shown.
func TestSaveChosen(t *testing.T) {
	t.Setenv("HEADWATER_TEST_FILE", filepath.Join(t.TempDir(), "figure.svg"))
	var shown, asked []string
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		switch r.Kind {
		case engine.KindExplain:
			shown = append(shown, string(r.Show))
		case engine.KindSave:
			asked = append(asked, sent(t, r)+string(r.Show))
			conn.send(engine.Event{Piece: []byte("<svg/>"), Done: true})
			return
		}
		begin(conn)
		row(conn, " are", 0.25, 0.75)
		conn.send(engine.Event{Done: true})
	})
	r := k.run("save chosen", true)
	const (
		view = `{"by":"word","layer":0,"filter":[","],"palette":"perceptual"}`
		none = `{}`
	)
	if want := []string{view, none}; !slices.Equal(shown, want) {
		t.Errorf("the engine was told %q of the pictures, want %q", shown, want)
	}
	want := []string{`0.25 {"by":"token","filter":[]}`, `0.25 ` + none, `7 ` + none}
	if !slices.Equal(asked, want) || !strings.Contains(r.stdout, "it is nil") {
		t.Errorf("asked for %q, want %q; %s", asked, want, r.stdout)
	}
}

// TestSaveComparison sends both explanations of a comparison, and one head.
func TestSaveComparison(t *testing.T) {
	t.Setenv("HEADWATER_TEST_FILE", filepath.Join(t.TempDir(), "figure.svg"))
	number := 0.0
	var asked []string
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind == engine.KindSave {
			asked = append(asked, sent(t, r)+string(r.Show))
			conn.send(engine.Event{Piece: []byte("<svg/>"), Done: true})
			return
		}
		number++
		begin(conn)
		row(conn, " are", number, 0.75)
		conn.send(engine.Event{Done: true})
	})
	r := k.run("save comparison", false)
	want := []string{
		`1 2 {"kind":"compare","method":"rollout"}`,
		`1 {"kind":"head","tokens":[0,1],"layer":3,"head":0}`,
		`2 {"kind":"compare"}`,
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q; %s", asked, want, r.stderr)
	}
	if want := "Against is for the kind compare"; !strings.Contains(r.stdout, want) {
		t.Errorf("%q lacks %q", r.stdout, want)
	}
}

// saveComparison is a cell that saves a comparison and one head.
func saveComparison() {
	file := os.Getenv("HEADWATER_TEST_FILE")
	a, b := gonbext.Explain("the keys"), gonbext.Explain("the keys")
	gonbext.SaveExplanation(file, a, gonbext.Show{
		Kind: "compare", Method: "rollout", Against: b,
	})
	layer, head := 3, 0
	gonbext.SaveExplanation(file, a, gonbext.Show{
		Kind: "head", Layer: &layer, Head: &head, Tokens: []int{0, 1},
	})
	_, err := gonbext.TrySaveExplanation(file, a, gonbext.Show{Against: b})
	fmt.Println(err)
	gonbext.Save(file, gonbext.Show{Kind: "compare", Against: b}) // with the latest picture
}

// TestSaveChart has the engine draw a chart, and asks for none that cannot be drawn or written.
func TestSaveChart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	t.Setenv("HEADWATER_TEST_FILE", file)
	var asked []engine.Request
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		asked = append(asked, r)
		conn.send(engine.Event{Piece: []byte("<svg/>"), Notes: []string{"alike in grey"}})
		conn.send(engine.Event{Done: true})
	})
	r := k.run("save chart", false)
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "<svg/>" {
		t.Errorf("the file has %q, %v; %s", data, err, r.stderr)
	}
	if len(asked) != 1 || asked[0].Kind != engine.KindDraw || asked[0].File != "chart.svg" ||
		string(asked[0].Show) != `{"size":"column"}` ||
		!strings.Contains(string(asked[0].Options), `"own"`) {
		t.Errorf("asked for %+v", asked)
	}
	for _, want := range []string{
		"chart.svg: alike in grey", `unknown kind "pie"`, "a chart has Size, Font and Palette",
		"cannot be written",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q lacks %q", r.stdout, want)
		}
	}
}

// saveChart is a cell that saves a chart.
func saveChart() {
	file := os.Getenv("HEADWATER_TEST_FILE")
	c := chart.Chart{Kind: chart.Lines, Title: "own", Series: []chart.Series{{
		X: []float64{0, 1}, Y: []float64{0, 1},
	}}}
	gonbext.SaveChart(file, c, gonbext.Show{Size: "column"})
	_, err := gonbext.TrySaveChart(file, chart.Chart{Kind: "pie"})
	fmt.Println(err)
	_, err = gonbext.TrySaveChart(file, c, gonbext.Show{Kind: "heatmap"})
	fmt.Println(err)
	_, err = gonbext.TrySaveChart(filepath.Join(file, "no", "a.svg"), c)
	fmt.Println(err)
}

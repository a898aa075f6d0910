package gonbext_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/engine"
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
				{Notes: []string{"a glyph is missing"}},
				{Done: true},
			},
			"<svg></svg>", "figure.svg: a glyph is missing\n", "",
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
				string(asked.Options) != `{"kind":"text","look":{}}` {
				t.Errorf("asked for %+v", asked)
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
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

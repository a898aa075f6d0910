package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// A chart of a cell is drawn in the format of its name, and says that a cell drew it.
func TestDrawPicture(t *testing.T) {
	const picture = `{"columns":1,"charts":[{"Kind":"lines","Series":[{"X":[0,1],"Y":[1,2]}]}]}`
	t.Chdir(t.TempDir())
	for _, file := range []string{"a.svg", "a.pdf", "a.png", "a.tex"} {
		data, _, err := drawPicture(json.RawMessage(picture), file,
			json.RawMessage(`{"size":"column"}`))
		must(t, err)
		must(t, os.WriteFile(file, data, 0o600))
		_, _, said := headwater.Execute(t, "", "reproduce", file)
		if !strings.Contains(said, file+": it is a chart that a cell drew with headwater") {
			t.Errorf("reproduce says %q", said)
		}
	}
	for _, c := range []struct{ file, look, want string }{
		{"a.csv", "", "a chart is saved as .svg, .pdf, .png or .tex"},
		{"a.bmp", "", "known are .svg"},
		{"a.svg", `{"size":"colum"}`, "did you mean column"},
		{"a.svg", `[]`, "cannot be read"},
	} {
		_, _, err := drawPicture(json.RawMessage(picture), c.file, json.RawMessage(c.look))
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want a usage error with %q", c.file, c.look, err, c.want)
		}
	}
	notebook, _, err := drawPicture(json.RawMessage(picture), "", nil)
	must(t, err)
	var drawn reproduction.Drawn
	if must(t, json.Unmarshal(notebook, &drawn)); !bytes.HasPrefix(drawn.PNG, []byte("\x89PNG")) ||
		!bytes.HasPrefix(drawn.SVG, []byte("<?xml")) {
		t.Errorf("for a notebook: %.8q, %.8q", drawn.PNG, drawn.SVG)
	}
}

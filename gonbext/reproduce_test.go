package gonbext_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// figure answers requests for figures and pictures.
func figure(t *testing.T) func(*engineConn, engine.Request) {
	r := &gonbext.Reproduction{
		Head:  reproduction.Head{ID: "s0-matrix", Title: "the matrix", Claim: "it <has> a shape"},
		Model: "tiny",
		Pictures: []reproduction.Picture{{
			Columns: 1, Drawn: reproduction.Drawn{SVG: []byte("<svg/>"), PNG: []byte("\x89PNG")},
			Charts: []chart.Chart{{Kind: chart.Heatmap, Title: "map", Matrix: &chart.Matrix{
				Rows: []string{"is"}, Columns: []string{"key"}, Data: []float64{0.5},
			}}},
		}},
		Checks: []reproduction.Check{{
			ID: "shape", Claim: "shape", Stated: "1", Found: "2", Verdict: reproduction.Differs,
			Why: "a reason",
		}},
		Notes: []string{"a <remark>"},
	}
	var b bytes.Buffer
	must(t, r.Write(&b))
	return func(conn *engineConn, q engine.Request) {
		if q.Kind == engine.KindDraw {
			piece, err := json.Marshal(r.Pictures[0].Drawn)
			must(t, err)
			conn.send(engine.Event{Piece: piece})
		} else {
			progress := trace.Progress{Stage: "making figures", Unit: "figure", Done: 1, Total: 1}
			conn.send(engine.Event{Progress: &progress})
			conn.send(engine.Event{Piece: b.Bytes()})
		}
		conn.send(engine.Event{Done: true})
	}
}

// In a notebook a figure is its claim, its charts as SVG and PNG without HTML, which JupyterLab
// would prefer, and a table of verdicts.
func TestReproduceInNotebook(t *testing.T) {
	r := newKernel(t, figure(t)).run("reproduce", true)
	if r.status != 0 || r.stderr != "" {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	left := saved(r.displays)
	if len(left) != 4 {
		t.Fatalf("a notebook saves %d displays, want claim, chart, verdicts and remark", len(left))
	}
	text := left[3][protocol.MIMETextHTML]
	if !strings.Contains(text.(string), "a &lt;remark&gt;") {
		t.Errorf("the remark is %q", text)
	}
	if text := left[0][protocol.MIMETextHTML]; !strings.Contains(text.(string), "it &lt;has&gt;") {
		t.Errorf("the claim is %q", text)
	}
	checkBundle(t, left[1])
	if text := left[2][protocol.MIMETextHTML]; !strings.Contains(text.(string), "a reason") {
		t.Errorf("the verdicts are %q", text)
	}
}

// The time of a stage is not shown any more once the figure has come, while the cell goes on.
func TestReproduceStopsTheClock(t *testing.T) {
	r := newKernel(t, figure(t)).run("reproduce and wait", true)
	left := saved(r.displays)
	if r.status != 0 || len(left) != 4 || strings.Contains(fmt.Sprint(left), "so far") {
		t.Errorf("status %d, and a notebook saves %d displays, want 4: %v", r.status, len(left),
			left)
	}
}

// checkBundle checks the forms of a chart.
func checkBundle(t *testing.T, bundle map[protocol.MIMEType]any) {
	t.Helper()
	if len(bundle) != 3 || bundle[protocol.MIMETextHTML] != nil {
		t.Errorf("a chart has the forms %v", bundle)
	}
	if svg, ok := bundle[protocol.MIMEImageSVG].(string); !ok || svg != "<svg/>" {
		t.Errorf("the drawing is %v", bundle[protocol.MIMEImageSVG])
	}
	if png, ok := bundle[protocol.MIMEImagePNG].([]byte); !ok || string(png) != "\x89PNG" {
		t.Errorf("the picture is %v", bundle[protocol.MIMEImagePNG])
	}
	if text, ok := bundle[protocol.MIMETextPlain].(string); !ok || text == "" {
		t.Error("there is no text")
	}
}

// A chart of a cell's own numbers is shown in the same forms, gaps included; one that cannot be
// drawn is an error of one line.
func TestShowChart(t *testing.T) {
	k := newKernel(t, figure(t))
	left := saved(k.run("chart", true).displays)
	if len(left) != 1 {
		t.Fatalf("a notebook saves %d displays, want 1", len(left))
	}
	checkBundle(t, left[0])
	r := k.run("bad chart", false)
	if r.status != 1 || !strings.Contains(r.stderr, `unknown kind "pie"`) {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// The variable MODEL names the model of figures that are given none.
func TestReproduceModel(t *testing.T) {
	asked := make(chan string, 1)
	answer := figure(t)
	k := newKernel(t, func(conn *engineConn, q engine.Request) {
		asked <- q.Model.Name
		answer(conn, q)
	})
	for _, want := range []string{"smollm2", ""} {
		t.Setenv("MODEL", want)
		k.run("reproduce", false)
		if got := <-asked; got != want {
			t.Errorf("MODEL=%s: model %q is asked for", want, got)
		}
	}
}

// Outside of a notebook everything is printed.
func TestReproduceAsText(t *testing.T) {
	r := newKernel(t, figure(t)).run("reproduce", false)
	for _, want := range []string{
		"s0-matrix: the matrix", "Claim: it <has> a shape", "[heatmap] map", "differs", "a reason",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the text has no %q:\n%s", want, r.stdout)
		}
	}
}

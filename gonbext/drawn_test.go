package gonbext_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/engine"
)

// draw is a cell that draws a picture of every kind.
func draw() {
	e := gonbext.Explain("the keys")
	w := gonbext.Explain("the keys", gonbext.Show{By: "word"})
	gonbext.Layers(e, 0)
	gonbext.Layers(e)
	gonbext.Compare(e, e, "rollout@1", "flow")
	gonbext.Compare(e, gonbext.Last())
	layer := 1
	gonbext.Draw(w, gonbext.Show{
		Layer: &layer, Method: "flow", Palette: "perceptual", Filter: attribution.Filter{","},
	})
	gonbext.Draw(w)
	_ = gonbext.TryCompare(e, w, "no method") // which draws nothing
	gonbext.Compare(e, w)
	fmt.Println(gonbext.TryDraw(e, gonbext.Show{Kind: "heads"}))
	gonbext.Draw(w, gonbext.Show{Kind: "compare", Against: e, Method: "flow"})
	other := *e
	e.Methods["rollout"].Rows[0][0] = 7 // what a cell changes is drawn and saved as it is
	gonbext.Layers(&other, 0)
	gonbext.ShowChart(chart.Chart{Kind: chart.Lines, Series: []chart.Series{{
		X: []float64{0, 1}, Y: []float64{0, 1},
	}}})
}

// TestDrawn tells the engine which picture a cell drew last, so that Save saves that one, or says
// why not.
func TestDrawn(t *testing.T) {
	number := 0.0
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		switch r.Kind {
		case engine.KindExplain:
			number++
		case engine.KindLast:
		default:
			conn.send(engine.Event{Piece: []byte("png"), Done: true})
			return
		}
		none, row := attribution.Result{Layers: []int{0, 1}, Shape: [3]int{0, 2, 2}, Unit: "share", Facts: attribution.Facts{Quantity: attribution.Share}},
			attribution.Result{Shape: [3]int{1}, Rows: [][]float64{{number, 0.9}, {0.2, 0.8}}, OtherMass: []float64{0, 0}}
		conn.send(engine.Event{Explanation: &attribution.Explanation{
			Prompt: attribution.Prompt{
				Text: "the keys", Texts: []string{"the", " keys"}, IDs: []int{1, 2},
				Special: []bool{false, false}, Offsets: [][2]int{{0, 3}, {3, 8}},
			},
			Order:   []string{"rollout", "flow"},
			Methods: map[string]*attribution.Result{"rollout": &none, "flow": &none},
		}})
		for _, text := range []string{" are", " here"} {
			conn.send(engine.Event{Step: true, Explanation: &attribution.Explanation{
				Steps:   []attribution.GeneratedToken{{ID: 3, Text: text, Probability: 0.5}},
				Methods: map[string]*attribution.Result{"rollout": &row, "flow": &row},
			}})
		}
		conn.send(engine.Event{Done: true})
	})
	r := k.run("draw", false)
	want := []string{
		`1 {"kind":"layers","token":0}`,
		`1 {"kind":"layers"}`,
		`1 {"kind":"compare","method":"rollout@1","against_method":"flow"}`,
		`1 2 {"kind":"compare","method":"rollout","against_method":"rollout"}`,
		`2 {"method":"flow","layer":1,"filter":[","],"palette":"perceptual"}`,
		`2 {}`,
		`1 2 {"kind":"compare","method":"rollout","against_method":"rollout"}`,
		`2 1 {"kind":"compare","method":"flow"}`,
		`7 {"kind":"layers","token":0}`,
		`the latest picture is a chart: save it with gonbext.SaveChart and the chart`,
	}
	same := func(want, got string) bool { return strings.HasPrefix(got, want) }
	if !slices.EqualFunc(want, k.drawn, same) {
		t.Errorf("the engine was told\n%s\nwant\n%s\n%s", strings.Join(k.drawn, "\n"),
			strings.Join(want, "\n"), r.stderr)
	}
	if want := "a picture of heads needs the model"; !strings.Contains(r.stdout, want) {
		t.Errorf("%q lacks %q", r.stdout, want)
	}
}

// TestDrawnWithoutEngine draws where there is no engine to tell.
func TestDrawnWithoutEngine(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, is, err := (engine.Start{}).Running(context.Background()); is || err != nil {
		t.Skipf("an engine answers, or it is not known: %v", err)
	}
	if err := gonbext.TryDraw(layered(), gonbext.Show{Kind: "layers"}); err != nil {
		t.Error(err)
	}
}
